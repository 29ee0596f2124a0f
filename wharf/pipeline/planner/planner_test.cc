#include "wharf/pipeline/planner/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "wharf/pipeline/checker.h"
#include "wharf/pipeline/planner/testing.h"

namespace wharf::pipeline {
namespace {

using ::testing::HasSubstr;

constexpr double kAlike = 1e-6;  // as a share

PlannerOptions Options(Mode mode = Mode::kOurs, int max_partitions = 2, Objective objective = Objective::kThroughput) {
  PlannerOptions options;
  options.rules = {mode, max_partitions};
  options.objective = objective;
  return options;
}

// CBC without anything left out.
PlannerOptions ByMaster(PlannerOptions options) {
  options.max_grid_points = 0;
  options.master = {0, 60, 1 << 20};
  return options;
}

// One or two arbitrary models on an arbitrary cluster.
struct Problem {
  Cluster cluster;
  std::vector<ModelProfile> profiles;
  std::vector<Demand> demands;

  explicit Problem(int most_gpus) : cluster(ArbitraryCluster(most_gpus)) {
    const int models = *rc::gen::inRange(1, 3);
    for (int i = 0; i < models; ++i) profiles.push_back(ArbitraryProfile(cluster, fmt::format("net{}", i)));
    for (const ModelProfile& profile : profiles) demands.push_back(ArbitraryDemand(profile));
  }
};

// A plan is as good as `best`, and there is none only if there is nothing.
void ExpectBest(const Problem& problem, const PlannerOptions& options, double best) {
  const auto plan = MakePlan(problem.cluster, problem.demands, options);
  const bool nothing = options.objective == Objective::kCost ? std::isinf(best) : best == 0;
  if (!plan.ok()) {
    RC_ASSERT(nothing);
    RC_ASSERT(absl::IsFailedPrecondition(plan.status()) || absl::IsResourceExhausted(plan.status()));
    return;
  }
  RC_ASSERT(!nothing);
  RC_ASSERT(std::abs(plan->value - best) <= kAlike * best);
  RC_ASSERT(plan->Gap() <= kAlike);
  RC_ASSERT(CheckPlan(*plan, problem.profiles) == absl::OkStatus());
}

RC_GTEST_PROP(PlannerProperty, NoPlanHasMoreThroughput, ()) {
  const Problem problem(3);
  PlannerOptions options = Options(Mode::kOurs, *rc::gen::inRange(1, 4));
  options.rules.share_gpus = *rc::gen::arbitrary<bool>();
  options.rules.divide_gpus = *rc::gen::arbitrary<bool>();
  ExpectBest(problem, options, BruteForce(problem.cluster, problem.demands, options.rules).Throughput());
}

RC_GTEST_PROP(PlannerProperty, NoPlanWithoutUnificationHasMoreThroughput, ()) {
  const Problem problem(3);
  PlannerOptions options = Options(Mode::kOurs, *rc::gen::inRange(1, 3));
  options.rules.share_gpus = *rc::gen::arbitrary<bool>();
  options.rules.divide_gpus = *rc::gen::arbitrary<bool>();
  options.rules.unify_batches = false;
  ExpectBest(problem, options, BruteForce(problem.cluster, problem.demands, options.rules).Throughput());
}

RC_GTEST_PROP(PlannerProperty, NoPlanCostsLess, ()) {
  Problem problem(3);
  for (Demand& demand : problem.demands) demand.weight *= 400;
  PlannerOptions options = Options(Mode::kOurs, 2, Objective::kCost);
  options.rules.share_gpus = *rc::gen::arbitrary<bool>();
  ExpectBest(problem, options, BruteForce(problem.cluster, problem.demands, options.rules).Cost());
}

RC_GTEST_PROP(PlannerProperty, TheIntegerMasterFindsTheSame, ()) {
  const bool share_gpus = *rc::gen::arbitrary<bool>();
  Problem problem(share_gpus ? 2 : 6);
  PlannerOptions options = Options(*rc::gen::element(Mode::kOurs, Mode::kNoPartitioning, Mode::kDartR));
  options.rules.share_gpus = share_gpus;
  options.objective = *rc::gen::element(Objective::kThroughput, Objective::kCost);
  if (options.objective == Objective::kCost) {
    for (Demand& demand : problem.demands) demand.weight *= 400;
  }
  const auto exact = MakePlan(problem.cluster, problem.demands, options);
  const auto by_master = MakePlan(problem.cluster, problem.demands, ByMaster(options));
  RC_ASSERT(exact.status().code() == by_master.status().code());
  if (!exact.ok()) return;
  RC_ASSERT(std::abs(exact->value - by_master->value) <= 1e-5 * exact->value);
  RC_ASSERT(CheckPlan(*by_master, problem.profiles) == absl::OkStatus());
}

RC_GTEST_PROP(PlannerProperty, FreedomNeverHurts, ()) {
  const Problem problem(10);
  const auto value = [&](Mode mode, int partitions) {
    const auto plan = MakePlan(problem.cluster, problem.demands, Options(mode, partitions));
    return plan.ok() ? plan->value : 0;
  };
  const double uncut = value(Mode::kNoPartitioning, 2), ours = value(Mode::kOurs, 2), three = value(Mode::kOurs, 3);
  RC_ASSERT(uncut <= ours * (1 + kAlike));
  RC_ASSERT(value(Mode::kDartR, 2) <= ours * (1 + kAlike));
  RC_ASSERT(ours <= three * (1 + kAlike));
}

// Unified batches are some of those that are not, and whole GPUs some of those that may be divided.
RC_GTEST_PROP(PlannerProperty, UnificationAndWholeGpusAreRestrictions, ()) {
  const Problem problem(10);
  const auto value = [&](bool unify_batches, bool divide_gpus) {
    PlannerOptions options = Options();
    options.rules.unify_batches = unify_batches;
    options.rules.divide_gpus = divide_gpus;
    const auto plan = MakePlan(problem.cluster, problem.demands, options);
    if (!plan.ok()) return 0.0;
    RC_ASSERT(CheckPlan(*plan, problem.profiles) == absl::OkStatus());
    for (const Pipeline& pipeline : plan->pipelines) {
      RC_ASSERT(!unify_batches || pipeline.HasUnifiedBatches());
      for (const Stage& stage : pipeline.stages) RC_ASSERT(divide_gpus || stage.vgpus_per_gpu == 1);
    }
    return plan->value;
  };
  const double both = value(true, false), basic = value(false, false), ours = value(true, true);
  const double neither = value(false, true);
  for (const double one : {basic, ours}) RC_ASSERT(both <= one * (1 + kAlike) && one <= neither * (1 + kAlike));
}

// Whatever the limits: what is not proven is bounded.
RC_GTEST_PROP(PlannerProperty, SharingGpusNeverHurts, ()) {
  Problem problem(12);
  PlannerOptions shared = Options(Mode::kOurs, 2, *rc::gen::element(Objective::kThroughput, Objective::kCost));
  const bool for_cost = shared.objective == Objective::kCost;
  if (for_cost) {
    for (Demand& demand : problem.demands) demand.weight *= 400;
  }
  shared.max_steps = *rc::gen::element<uint64_t>(0, 1000, 100'000'000);
  PlannerOptions whole = shared;
  whole.rules.share_gpus = false;
  const auto with = MakePlan(problem.cluster, problem.demands, shared);
  const auto without = MakePlan(problem.cluster, problem.demands, whole);
  if (!without.ok()) return;
  RC_ASSERT(with.ok());
  RC_ASSERT((for_cost ? without->value - with->value : with->value - without->value) >= -kAlike * without->value);
  RC_ASSERT(CheckPlan(*with, problem.profiles) == absl::OkStatus());
  shared.max_steps = PlannerOptions().max_steps;
  const Plan best = *MakePlan(problem.cluster, problem.demands, shared);
  RC_ASSERT(best.Gap() <= kAlike);
  RC_ASSERT((for_cost ? best.value - with->bound : with->bound - best.value) >= -kAlike * best.value);
}

// Two models, each good at another half, on a fast and a slow GPU.
class PlannerTest : public ::testing::Test {
 protected:
  PlannerTest() : cluster(MakeCluster({{"fast", 1, 3}, {"slow", 1, 1}}, {1, 4})) {
    net = MakeProfile(cluster, {{100, 100}, {400, 2000}}, {1000, 0});
  }
  absl::StatusOr<Plan> Make(const PlannerOptions& options) { return MakePlan(cluster, {demand}, options); }

  Cluster cluster;
  ModelProfile net;
  Demand demand{&net, 1000, 0, 1, 0.0};
};

TEST_F(PlannerTest, PoolsMatchEachOther) {
  const auto plan = Make(Options());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->pipelines.size(), 1u);
  const Pipeline& pipeline = plan->pipelines[0];
  ASSERT_EQ(pipeline.stages.size(), 2u);
  EXPECT_EQ(pipeline.stages[0].vgpus, 4) << "each a quarter as fast as the one behind";
  EXPECT_EQ(pipeline.stages[1].vgpus, 1);
  EXPECT_DOUBLE_EQ(plan->value, 10'000);
  EXPECT_DOUBLE_EQ(plan->bound, 10'000);
  EXPECT_GE(plan->linear_bound, plan->bound * (1 - kAlike));
  EXPECT_EQ(CheckPlan(*plan, {&net, 1}), absl::OkStatus());
}

// Three of the slow GPUs' four halves feed the fast one; the fourth serves uncut, beside the third.
TEST_F(PlannerTest, StagesOfAModelShareAGpu) {
  cluster = MakeCluster({{"fast"}, {"slow", 2}}, {1, 2});
  net.vgpus = {{"fast", 1, {{100, 100}}}, {"slow", 2, {{300, 500}}}};
  const auto plan = Make(Options());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->value, 11'250);
  EXPECT_EQ(plan->Gap(), 0);
  EXPECT_EQ(plan->GpusUsed(1), 2);
  EXPECT_EQ(CheckPlan(*plan, {&net, 1}), absl::OkStatus());
  PlannerOptions whole = Options();
  whole.rules.share_gpus = false;
  EXPECT_DOUBLE_EQ(Make(whole)->value, 10'000);
}

// On the fast GPU a batch of two takes as long as one, on slow ones twice as long: two slow GPUs of single requests
// feed it, where one batch size for both stages lets it idle, or has no time.
TEST_F(PlannerTest, WithoutUnificationEachStageHasItsBatch) {
  cluster = MakeCluster({{"fast"}, {"slow"}}, {1, 2});
  net.vgpus = {{"fast", 1, {{900, 200}, {900, 200}}}, {"slow", 1, {{200, 2000}, {400, 4000}}}};
  demand.slo_us = 500;
  const auto unified = Make(Options());
  ASSERT_TRUE(unified.ok()) << unified.status();
  EXPECT_DOUBLE_EQ(unified->value, 5'000);
  PlannerOptions options = Options();
  options.rules.unify_batches = false;
  const auto plan = Make(options);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->value, 10'000);
  ASSERT_EQ(plan->pipelines.size(), 1u);
  const Pipeline& pipeline = plan->pipelines[0];
  EXPECT_FALSE(pipeline.HasUnifiedBatches());
  EXPECT_EQ(pipeline.batch, 2);
  EXPECT_EQ(pipeline.stages[0].Batch(), 1);
  EXPECT_EQ(pipeline.stages[1].Batch(), 2);
  EXPECT_DOUBLE_EQ(pipeline.stages[0].transfer_us, 1) << "of a batch of the stage that sends it";
  EXPECT_EQ(CheckPlan(*plan, {&net, 1}), absl::OkStatus());
  EXPECT_EQ(*ParsePlan(ToJson(*plan)), *plan);
  options.rules.max_partitions = 3;
  EXPECT_EQ(Make(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PlannerTest, WithoutPartitionsTheSlowGpusAreIdle) {
  const auto plan = Make(Options(Mode::kNoPartitioning));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->value, 5'000);
  EXPECT_EQ(plan->GpusUsed(1), 0);
}

TEST_F(PlannerTest, DartRPairsGpusOneToOne) {
  const auto plan = Make(Options(Mode::kDartR));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->value, 5'000) << "one pair makes 2500, the fast GPU alone more";
}

TEST_F(PlannerTest, TheLeastCostMeetsTheRate) {
  demand.weight = 5'000;
  const auto alone = Make(Options(Mode::kOurs, 2, Objective::kCost));
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->value, 3);
  demand.weight = 7'500;
  const auto helped = Make(Options(Mode::kOurs, 2, Objective::kCost));
  ASSERT_TRUE(helped.ok()) << helped.status();
  EXPECT_EQ(helped->value, 6) << "three slow ones in front";
  EXPECT_EQ(CheckPlan(*helped, {&net, 1}), absl::OkStatus());
}

TEST_F(PlannerTest, WhatCannotBeServedIsToldApart) {
  demand.slo_us = 150;
  const absl::Status too_strict = Make(Options()).status();
  EXPECT_EQ(too_strict.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(too_strict)), HasSubstr("net cannot meet its SLO of 0.1 ms"));
  demand.slo_us = 1000;
  demand.weight = 20'000;
  EXPECT_EQ(Make(Options(Mode::kOurs, 2, Objective::kCost)).status().code(), absl::StatusCode::kResourceExhausted);
  demand.weight = 1;
  const std::vector<Demand> six(6, demand);
  EXPECT_EQ(MakePlan(cluster, six, Options(Mode::kNoPartitioning)).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(PlannerTest, WrongDemandsAreRefused) {
  const auto code = [&](const Demand& wrong) { return MakePlan(cluster, {wrong}, Options()).status().code(); };
  const auto nan = std::nan("");
  EXPECT_EQ(code({&net, 0, 0, 1, 0.0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({&net, nan, 0, 1, 0.0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({&net, 100, 100, 1, 0.0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({&net, 100, 10, 0, 0.0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({&net, 100, 10, 1, -1.0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MakePlan(cluster, {}, Options()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PlannerTest, ExpectedRatesAreThoseOfAnUncutPlan) {
  demand.expected_rate.reset();
  const auto plan = Make(Options());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_DOUBLE_EQ(plan->models[0].expected_rate, 5'000);
}

}  // namespace
}  // namespace wharf::pipeline
