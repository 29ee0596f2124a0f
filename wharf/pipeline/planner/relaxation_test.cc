#include "wharf/pipeline/planner/relaxation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

constexpr double kAlike = 1e-6;

std::vector<Candidate> Single(double rate_on_first) { return {{1, {{0, 1, 0, 1, 100, 0, rate_on_first}}}}; }

TEST(RelaxationTest, OneModelHasAllGpus) {
  const Cluster cluster = MakeCluster({{"A"}}, {7});
  const std::vector<std::vector<Candidate>> candidates = {Single(10)};
  const auto relaxed = Relax(cluster, candidates, std::vector<double>{1}, Objective::kThroughput, Mode::kOurs);
  ASSERT_TRUE(relaxed.ok()) << relaxed.status();
  EXPECT_NEAR(relaxed->bound, 70, 70 * kAlike);
  EXPECT_NEAR(relaxed->gpu_prices[0], 10, 10 * kAlike) << "one more GPU, ten requests/s more";
}

TEST(RelaxationTest, ModelsShareByWeight) {
  const Cluster cluster = MakeCluster({{"A"}}, {12});
  const std::vector<std::vector<Candidate>> candidates = {Single(10), Single(20)};
  const auto relaxed = Relax(cluster, candidates, std::vector<double>{1, 2}, Objective::kThroughput, Mode::kOurs);
  ASSERT_TRUE(relaxed.ok()) << relaxed.status();
  EXPECT_NEAR(relaxed->bound, 60, 60 * kAlike) << "six GPUs each";
}

TEST(RelaxationTest, CostIsOfFractionsOfGpus) {
  const Cluster cluster = MakeCluster({{"A", 1, 3}}, {12});
  const std::vector<std::vector<Candidate>> candidates = {Single(10)};
  const auto relaxed = Relax(cluster, candidates, std::vector<double>{25}, Objective::kCost, Mode::kOurs);
  ASSERT_TRUE(relaxed.ok()) << relaxed.status();
  EXPECT_NEAR(relaxed->bound, 7.5, 7.5 * kAlike);
  EXPECT_EQ(Relax(cluster, candidates, std::vector<double>{125}, Objective::kCost, Mode::kOurs).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(RelaxationTest, APairTakesOneGpuOfEach) {
  const Candidate pair{1, {{0, 1, 0, 1, 100, 0, 40}, {1, 2, 1, 1, 100, 0, 10}}};
  EXPECT_EQ(GpusPerRate(pair, 2, Mode::kOurs), (std::vector<double>{1.0 / 40, 1.0 / 10}));
  EXPECT_EQ(GpusPerRate(pair, 2, Mode::kDartR), (std::vector<double>{1.0 / 10, 1.0 / 10}));
}

RC_GTEST_PROP(RelaxationProperty, NothingIsBetterThanTheBound, ()) {
  const Cluster cluster = ArbitraryCluster(4);
  const ModelProfile profile = ArbitraryProfile(cluster, "net");
  std::vector<Demand> demands = {ArbitraryDemand(profile)};
  const ServedModel model{"net", profile.Blocks(),         demands[0].slo_us, demands[0].margin_us,
                          1,     *demands[0].expected_rate};
  const std::vector<std::vector<Candidate>> candidates = {FindCandidates(cluster, profile, model, {})};
  RC_PRE(!candidates[0].empty());
  const double weight = demands[0].weight;
  const auto most = Relax(cluster, candidates, std::vector<double>{weight}, Objective::kThroughput, Mode::kOurs);
  RC_ASSERT(most.ok());
  RC_ASSERT(BruteForce(cluster, demands, {}).Throughput() <= most->bound * (1 + kAlike));
  demands[0].weight *= 400;
  const double cost = BruteForce(cluster, demands, {}).Cost();
  const auto least = Relax(cluster, candidates, std::vector<double>{demands[0].weight}, Objective::kCost, Mode::kOurs);
  if (std::isinf(cost)) return;  // fractions of GPUs may still do
  RC_ASSERT(least.ok());
  RC_ASSERT(cost >= least->bound * (1 - kAlike));
}

}  // namespace
}  // namespace wharf::pipeline
