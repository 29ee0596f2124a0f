#include "wharf/pipeline/dataplane/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace wharf::pipeline {
namespace {

const std::vector<std::string> kModels = {"a", "b"};

absl::StatusCode CodeOf(std::string_view csv) { return ParseArrivalTrace(csv, kModels).status().code(); }

double RateOf(const std::vector<Arrival>& arrivals, int model, double seconds) {
  return static_cast<double>(std::count_if(arrivals.begin(), arrivals.end(),
                                           [model](const Arrival& one) { return one.model == model; })) /
         seconds;
}

bool ByTime(const std::vector<Arrival>& arrivals) {
  return std::is_sorted(arrivals.begin(), arrivals.end(),
                        [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
}

// Variance over mean of the counts in windows of `window` seconds; 1 for a Poisson process.
double Dispersion(const std::vector<Arrival>& arrivals, double seconds, double window) {
  std::vector<double> counts(static_cast<size_t>(seconds / window));
  for (const Arrival& one : arrivals) {
    const auto index = static_cast<size_t>(Seconds(one.at.since_epoch) / window);
    if (index < counts.size()) ++counts[index];
  }
  double mean = 0, square = 0;
  for (const double count : counts) mean += count / static_cast<double>(counts.size());
  for (const double count : counts) square += (count - mean) * (count - mean) / static_cast<double>(counts.size());
  return square / mean;
}

TEST(Arrivals, PoissonHasItsRatesAndDispersion) {
  const std::vector<Arrival> arrivals = PoissonArrivals({1000, 250}, 100, 1);
  EXPECT_TRUE(ByTime(arrivals));
  EXPECT_NEAR(RateOf(arrivals, 0, 100), 1000, 4 * std::sqrt(1000.0 / 100));
  EXPECT_NEAR(RateOf(arrivals, 1, 100), 250, 4 * std::sqrt(250.0 / 100));
  EXPECT_NEAR(Dispersion(arrivals, 100, 0.05), 1, 0.15);
}

TEST(Arrivals, TheSameSeedGivesTheSame) {
  const auto same = [](const std::vector<Arrival>& a, const std::vector<Arrival>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Arrival& x, const Arrival& y) { return x.at == y.at && x.model == y.model; });
  };
  EXPECT_TRUE(same(PoissonArrivals({100, 50}, 10, 3), PoissonArrivals({100, 50}, 10, 3)));
  EXPECT_FALSE(same(PoissonArrivals({100, 50}, 10, 3), PoissonArrivals({100, 50}, 10, 4)));
  EXPECT_TRUE(same(*BurstyArrivals({100}, {}, 10, 3), *BurstyArrivals({100}, {}, 10, 3)));
}

TEST(Arrivals, BurstsKeepTheMean) {
  const auto arrivals = BurstyArrivals({1000}, {2, 0.25, 0.1}, 400, 1);
  ASSERT_TRUE(arrivals.ok());
  EXPECT_TRUE(ByTime(*arrivals));
  EXPECT_NEAR(RateOf(*arrivals, 0, 400), 1000, 40);
  EXPECT_GT(Dispersion(*arrivals, 400, 0.05), 5);
}

TEST(Arrivals, BurstsThatLeaveNothingAreRefused) {
  EXPECT_EQ(BurstyArrivals({1}, {5, 0.25, 1}, 1, 1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(BurstyArrivals({1}, {0.5, 0.25, 1}, 1, 1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ArrivalTrace, IsScaledToTheRateAndRepeated) {
  const auto trace = ParseArrivalTrace("time_s,model\n1,a\n1.5,b\n2,a\n", kModels);
  ASSERT_TRUE(trace.ok());
  const std::vector<Arrival> arrivals = TraceArrivals(*trace, {20, 10}, 1, 1);
  EXPECT_TRUE(ByTime(arrivals));
  EXPECT_NEAR(RateOf(arrivals, 0, 1), 20, 1);
  EXPECT_NEAR(RateOf(arrivals, 1, 1), 10, 1);
  EXPECT_EQ(arrivals[0].at, TimePoint{FromSeconds(0.05)});
  EXPECT_EQ(arrivals[1].model, 1);
}

TEST(ArrivalTrace, WithoutModelsDrawsThemByRate) {
  const auto trace = ParseArrivalTrace("time_s\n0.1\n0.2\r\n", kModels);
  ASSERT_TRUE(trace.ok());
  const std::vector<Arrival> arrivals = TraceArrivals(*trace, {3000, 1000}, 5, 1);
  EXPECT_NEAR(RateOf(arrivals, 0, 5), 3000, 100);
  EXPECT_NEAR(RateOf(arrivals, 1, 5), 1000, 100);
}

TEST(ArrivalTrace, WhatIsNoTraceIsRefused) {
  for (const char* csv :
       {"", "time\n1\n", "time_s\n", "time_s\n0\n", "time_s\nx\n", "time_s\n-1\n", "time_s\nnan\n", "time_s\n1e300\n",
        "time_s\n2\n1\n", "time_s\n1,a\n", "time_s,model\n1\n", "time_s,model\n1,c\n", "time_s\n\n1\n"}) {
    EXPECT_EQ(CodeOf(csv), absl::StatusCode::kInvalidArgument) << csv;
  }
}

}  // namespace
}  // namespace wharf::pipeline
