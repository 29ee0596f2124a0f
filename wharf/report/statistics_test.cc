#include "wharf/report/statistics.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <cmath>

#include <algorithm>

namespace wharf::report {
namespace {

TEST(Statistics, Known) {
  EXPECT_EQ(Median({}), 0);
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Mean({1, 2, 6}), 3);
  EXPECT_EQ(Mean({}), 0);
  EXPECT_EQ(Percentile({}, 0.95), 0);
  EXPECT_EQ(Percentile({5}, 0.95), 5);
  EXPECT_EQ(Percentile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}, 0.95), 19);
  EXPECT_EQ(Percentile({2, 1}, 0.5), 1);
  EXPECT_EQ(Percentile({2, 1}, 1), 2);
}

TEST(Statistics, SpreadIsTheStandardDeviation) {
  EXPECT_DOUBLE_EQ(Summarize({2, 4, 9}).mean, 5);
  EXPECT_DOUBLE_EQ(Summarize({2, 4, 9}).spread, std::sqrt(13));
  EXPECT_EQ(Summarize({3}).spread, 0);
  EXPECT_EQ(Summarize({}).mean, 0);
}

TEST(Statistics, PercentileIsOneOfTheValuesAndCoversItsShare) {
  EXPECT_TRUE(rc::check([](const std::vector<double>& values) {
    RC_PRE(!values.empty());
    const double fraction = *rc::gen::inRange(1, 101) / 100.0;
    const double p = Percentile(values, fraction);
    RC_ASSERT(std::count(values.begin(), values.end(), p) > 0);
    const auto covered = std::count_if(values.begin(), values.end(), [&](double v) { return v <= p; });
    RC_ASSERT(static_cast<double>(covered) >= fraction * static_cast<double>(values.size()));
  }));
}

}  // namespace
}  // namespace wharf::report
