#include "wharf/ar/client/offload_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace wharf::ar {
namespace {

std::vector<int64_t> Taken(OffloadPlan& plan, int64_t first, int64_t end) {
  std::vector<int64_t> taken;
  for (int64_t frame = first; frame < end; ++frame) {
    if (plan.Takes(frame)) taken.push_back(frame);
  }
  return taken;
}

TEST(OffloadPlan, NothingIsOffloadedUnasked) {
  OffloadPlan plan;
  EXPECT_TRUE(Taken(plan, 0, 100).empty());
}

TEST(OffloadPlan, GoesOnByTheIntervalAfterTheLastFrame) {
  OffloadPlan plan;
  plan.Set({{3, 7}, 5});
  EXPECT_EQ(Taken(plan, 0, 20), (std::vector<int64_t>{3, 7, 12, 17}));
}

TEST(OffloadPlan, AnIntervalAloneCountsFromTheLastOffload) {
  OffloadPlan plan;
  plan.Set({{4}, 0});
  EXPECT_EQ(Taken(plan, 0, 9), (std::vector<int64_t>{4}));
  plan.Set({{}, 6});
  EXPECT_EQ(Taken(plan, 9, 20), (std::vector<int64_t>{10, 16}));
}

TEST(OffloadPlan, WhatCameTooLateIsPassedOver) {
  OffloadPlan plan;
  plan.Set({{2, 4, 30}, 0});
  EXPECT_EQ(Taken(plan, 10, 40), (std::vector<int64_t>{30}));
}

TEST(OffloadPlan, ANewPlanReplacesTheOld) {
  OffloadPlan plan;
  plan.Set({{5, 6, 7}, 1});
  EXPECT_EQ(Taken(plan, 0, 6), (std::vector<int64_t>{5}));
  plan.Set({{9}, 0});
  EXPECT_EQ(Taken(plan, 6, 20), (std::vector<int64_t>{9}));
}

// Whatever the server names: just that, and after its last frame every interval-th.
RC_GTEST_PROP(OffloadPlan, TakesWhatItNamesAndThenEveryIntervalth, ()) {
  const auto frames = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(-5, 60));
  const int interval = *rc::gen::inRange(0, 9);
  OffloadPlan plan;
  plan.Set({frames, interval});
  std::set<int64_t> expected;
  int64_t last = -1;
  for (const int64_t frame : frames) last = std::max(last, frame);
  for (const int64_t frame : frames) {
    if (frame >= 0) expected.insert(frame);
  }
  if (interval > 0) {
    for (int64_t frame = last < 0 ? 0 : last + interval; frame < 100; frame += interval) expected.insert(frame);
  }
  const std::vector<int64_t> taken = Taken(plan, 0, 100);
  RC_ASSERT(taken == std::vector<int64_t>(expected.begin(), expected.end()));
}

}  // namespace
}  // namespace wharf::ar
