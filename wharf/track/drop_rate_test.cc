#include "wharf/track/drop_rate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace wharf::track {
namespace {

using absl::StatusCode;

// Frame by frame: the newest result that frame can use.
int64_t BruteForce(const std::vector<Offload>& offloads, int64_t first, int64_t last) {
  int64_t sum = 0;
  for (int64_t frame = first; frame < last; ++frame) {
    int64_t newest = -1;
    for (const Offload& offload : offloads) {
      if (offload.usable <= frame) newest = offload.frame;
    }
    sum += frame - newest;
  }
  return sum;
}

std::vector<Offload> Regular(const OffloadSchedule& schedule, int count) {
  std::vector<Offload> offloads;
  for (int i = 0; i < count; ++i) {
    offloads.push_back({int64_t{i} * schedule.interval, int64_t{i} * schedule.interval + schedule.latency});
  }
  return offloads;
}

TEST(MeanStride, IsThatOfTheThesisFigure) {
  // Strides from k to L + k - 1 (figure 3.1).
  EXPECT_DOUBLE_EQ(MeanStride({.interval = 4, .latency = 3}), (3 + 4 + 5 + 6) / 4.0);
  EXPECT_DOUBLE_EQ(MeanStride({.interval = 1, .latency = 0}), 0);
}

TEST(MeanStride, EqualsTheStridesOfTheFrames) {
  rc::check([] {
    const OffloadSchedule schedule{.interval = *rc::gen::inRange(1, 20), .latency = *rc::gen::inRange(0, 40)};
    const std::vector<Offload> offloads = Regular(schedule, 12);
    const int64_t first = schedule.latency, last = schedule.latency + 10 * schedule.interval;
    RC_ASSERT(MeanStride(schedule) * static_cast<double>(last - first) ==
              static_cast<double>(BruteForce(offloads, first, last)));
  });
}

TEST(SumOfStrides, EqualsTheStridesOfTheFramesForAnySchedule) {
  rc::check([] {
    std::vector<Offload> offloads{{0, *rc::gen::inRange(0, 10)}};
    for (int i = *rc::gen::inRange(0, 15); i > 0; --i) {
      const int64_t frame = offloads.back().frame + *rc::gen::inRange(1, 9);
      offloads.push_back({frame, std::max(offloads.back().usable, frame + *rc::gen::inRange(0, 12))});
    }
    const int64_t first = offloads[0].usable + *rc::gen::inRange(0, 50), last = first + *rc::gen::inRange(0, 60);
    RC_ASSERT(*SumOfStrides(offloads, first, last) == BruteForce(offloads, first, last));
  });
}

TEST(SumOfStrides, RefusesWhatIsNoSchedule) {
  const auto code = [](const std::vector<Offload>& offloads) { return SumOfStrides(offloads, 5, 10).status().code(); };
  EXPECT_EQ(code({}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{0, 6}}), StatusCode::kInvalidArgument) << "not usable at the first frame";
  EXPECT_EQ(code({{4, 3}}), StatusCode::kInvalidArgument) << "usable before its frame";
  EXPECT_EQ(code({{0, 4}, {0, 6}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{0, 4}, {1, 3}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{0, 4}, {1, 4}}), StatusCode::kOk);
}

TEST(DropRate, IsTheDropOverTheStride) {
  const scene::DepthMap server{2, 1, {10, 20}}, tracked{2, 1, {11, 20}};
  EXPECT_NEAR(*DepthDropRate(tracked, server, 5), 0.05 / 5, 1e-9);
  EXPECT_EQ(DepthDropRate(tracked, server, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(DepthDropRate({1, 1, {3}}, server, 1).status().code(), StatusCode::kInvalidArgument);
  const std::vector<scene::Box> box{{.left = 0, .top = 0, .right = 2, .bottom = 2}};
  const std::vector<scene::Box> moved{{.left = 1, .top = 0, .right = 3, .bottom = 2}};
  EXPECT_NEAR(*BoxDropRate(moved, box, 4), (1 - 1.0 / 3) / 4, 1e-12);
  EXPECT_EQ(*BoxDropRate({}, {}, 4), 0);
  EXPECT_EQ(BoxDropRate(moved, box, 0).status().code(), StatusCode::kInvalidArgument);
}

TEST(DropFromReference, IsNoneForTheReferenceItself) {
  const OffloadSchedule reference = ReferenceSchedule(0.040, 0.060, 1 / 60.0);
  EXPECT_EQ(reference.interval, 3);  // 2.4 frames
  EXPECT_EQ(reference.latency, 4);   // 3.6 frames
  EXPECT_EQ(DropFromReference(0.01, reference, reference), 0);
  EXPECT_NEAR(DropFromReference(0.01, {.interval = 9, .latency = 6}, reference), 0.01 * (10 - 5), 1e-12);
}

TEST(ReferenceSchedule, CountsWholeFramesAndAtLeastOne) {
  EXPECT_EQ(ReferenceSchedule(2 / 60.0, 3 / 60.0, 1 / 60.0).interval, 2);
  EXPECT_EQ(ReferenceSchedule(2 / 60.0, 3 / 60.0, 1 / 60.0).latency, 3);
  EXPECT_EQ(ReferenceSchedule(1e-5, 1e-4, 1 / 60.0).interval, 1);
}

}  // namespace
}  // namespace wharf::track
