#include "wharf/offload/partition/cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace wharf::offload {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr Side kLocal = Side::kLocal, kRemote = Side::kRemote;

// An input of 100 bytes, two layers that shrink it, an output of 1 byte: input and output belong to the program, here.
CutProblem Model(double bytes_per_second) {
  CutProblem problem;
  problem.operators = {{0, kNever, {}, {0}}, {1, 0.1, {0, 3}, {1}}, {1, 0.1, {1, 3}, {2}}, {0, kNever, {2}, {}}};
  problem.buffer_bytes = {100, 10, 1, 1000000};
  problem.up_s_per_byte = problem.down_s_per_byte = 1 / bytes_per_second;
  problem.down_latency_s = 0.01;
  return problem;
}

TEST(Cut, AFastLinkSendsTheInput) {
  const CutPlan plan = SolveCut(Model(1000));
  EXPECT_THAT(plan.sides, ElementsAre(kLocal, kRemote, kRemote, kLocal));
  EXPECT_NEAR(plan.seconds, 0.1 + 0.2 + 0.011, 1e-9);
}

TEST(Cut, ASlowerOneSendsWhatIsLeftOfIt) {
  const CutPlan plan = SolveCut(Model(50));
  EXPECT_THAT(plan.sides, ElementsAre(kLocal, kLocal, kRemote, kLocal));
  EXPECT_NEAR(plan.seconds, 1 + 0.2 + 0.1 + 0.03, 1e-9);
}

TEST(Cut, AVerySlowOneSendsNothing) {
  const CutPlan plan = SolveCut(Model(1));
  EXPECT_THAT(plan.sides, Each(kLocal));
  EXPECT_NEAR(plan.seconds, 2, 1e-9);
}

TEST(Cut, StateOfTheLastInferenceIsSentToo) {
  CutProblem problem = Model(50);
  problem.operators[2].needs.push_back(4);  // reads a cache that the first layer writes at the end of the inference
  problem.operators.push_back({kNever, 0, {}, {4}});
  problem.buffer_bytes.push_back(10);
  EXPECT_NEAR(CutSeconds(problem, {kLocal, kLocal, kLocal, kLocal, kRemote}), 2 + 0.01 + 10. / 50, 1e-9);
  EXPECT_NEAR(CutSeconds(problem, {kLocal, kLocal, kRemote, kLocal, kRemote}), 1 + 0.2 + 0.1 + 0.03, 1e-9);
}

RC_GTEST_PROP(CutProperty, IsTheBestOfAllAssignments, ()) {
  CutProblem problem;
  const auto buffers = *rc::gen::inRange<uint32_t>(1, 6);
  const auto operators = *rc::gen::inRange<size_t>(1, 9);
  const auto some = [&] { return *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, buffers)); };
  for (uint32_t i = 0; i < buffers; ++i) problem.buffer_bytes.push_back(*rc::gen::inRange<uint64_t>(0, 100));
  for (size_t i = 0; i < operators; ++i) {
    CutOperator op{*rc::gen::inRange(0, 100) / 7.0, *rc::gen::inRange(0, 100) / 7.0, some(), some()};
    const int pinned = *rc::gen::inRange(0, 6);
    if (pinned == 0) op.local_s = kNever;
    if (pinned == 1) op.remote_s = kNever;
    problem.operators.push_back(op);
  }
  problem.up_latency_s = *rc::gen::inRange(0, 10) / 7.0;
  problem.down_latency_s = *rc::gen::inRange(0, 10) / 7.0;
  problem.up_s_per_byte = *rc::gen::inRange(0, 10) / 7.0;
  problem.down_s_per_byte = *rc::gen::inRange(0, 10) / 7.0;
  double best = kNever;
  for (uint32_t set = 0; set < uint32_t{1} << operators; ++set) {
    std::vector<Side> sides;
    for (size_t i = 0; i < operators; ++i) sides.push_back((set >> i & 1) != 0 ? kRemote : kLocal);
    best = std::min(best, CutSeconds(problem, sides));
  }
  const CutPlan plan = SolveCut(problem);
  RC_ASSERT(std::abs(plan.seconds - best) < 1e-6);
  RC_ASSERT(plan.seconds == CutSeconds(problem, plan.sides));
}

}  // namespace
}  // namespace wharf::offload
