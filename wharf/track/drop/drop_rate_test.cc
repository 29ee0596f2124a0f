#include "wharf/track/drop/drop_rate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
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
  EXPECT_TRUE(rc::check([] {
    const OffloadSchedule schedule{.interval = *rc::gen::inRange(1, 20), .latency = *rc::gen::inRange(0, 40)};
    const std::vector<Offload> offloads = Regular(schedule, 12);
    const int64_t first = schedule.latency, last = schedule.latency + 10 * schedule.interval;
    RC_ASSERT(MeanStride(schedule) * static_cast<double>(last - first) ==
              static_cast<double>(BruteForce(offloads, first, last)));
  }));
}

TEST(SumOfStrides, EqualsTheStridesOfTheFramesForAnySchedule) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Offload> offloads{{0, *rc::gen::inRange(0, 10)}};
    for (int i = *rc::gen::inRange(0, 15); i > 0; --i) {
      const int64_t frame = offloads.back().frame + *rc::gen::inRange(1, 9);
      offloads.push_back({frame, std::max(offloads.back().usable, frame + *rc::gen::inRange(0, 12))});
    }
    const int64_t first = offloads[0].usable + *rc::gen::inRange(0, 50), last = first + *rc::gen::inRange(0, 60);
    RC_ASSERT(*SumOfStrides(offloads, first, last) == BruteForce(offloads, first, last));
  }));
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
  const std::vector<scene::Box> box{{.left = 0, .top = 0, .right = 2, .bottom = 2}};
  const std::vector<scene::Box> moved{{.left = 1, .top = 0, .right = 3, .bottom = 2}};
  EXPECT_NEAR(*BoxDropRate(moved, box, 4), (1 - 1.0 / 3) / 4, 1e-12);
  EXPECT_EQ(*BoxDropRate({}, {}, 4), 0);
  EXPECT_EQ(BoxDropRate(moved, box, 0).status().code(), StatusCode::kInvalidArgument);
}

// 0.1 * stride ^ exponent.
SeenDrop OnCurve(double stride, double exponent) { return {stride, 0.1 * std::pow(stride, exponent)}; }

double Secant(double exponent, double from, double to) {
  return (OnCurve(to, exponent).drop - OnCurve(from, exponent).drop) / (to - from);
}

TEST(DropRateEstimator, KnowsNothingBeforeTheFirstResult) {
  EXPECT_EQ(DropRateEstimator(kDepthCurve).Rate(2), std::nullopt);
}

TEST(DropRateEstimator, ThePublishedOneIsTheDropOverTheStride) {
  EXPECT_TRUE(rc::check([] {
    DropRateEstimator estimator(kPublishedCurve);
    const double stride = *rc::gen::inRange(1, 60), drop = *rc::gen::inRange(0, 1000) * 1e-3;
    estimator.Add({stride, drop}, {stride + *rc::gen::inRange(1, 60), *rc::gen::inRange(0, 1000) * 1e-3});
    RC_ASSERT(std::abs(*estimator.Rate(*rc::gen::inRange(1, 60)) - drop / stride) < 1e-9);
  }));
}

TEST(DropRateEstimator, IsExactWhereDropsGrowAsExpected) {
  EXPECT_TRUE(rc::check([] {
    const double exponent = *rc::gen::inRange(1, 101) * 0.01;
    DropRateEstimator estimator({exponent, *rc::gen::arbitrary<bool>()});
    const double stride = *rc::gen::inRange(1, 40), reference = *rc::gen::inRange(1, 60) * 0.5;
    const SeenDrop near = OnCurve(stride, exponent), far = OnCurve(stride + *rc::gen::inRange(1, 40), exponent);
    for (int i = *rc::gen::inRange(1, 30); i > 0; --i) estimator.Add(near, far);
    const double expected = reference == stride ? near.drop * exponent / stride : Secant(exponent, reference, stride);
    RC_ASSERT(std::abs(*estimator.Rate(reference) - expected) < 1e-9);
  }));
}

TEST(DropRateEstimator, LiesBetweenWhatIsExpectedAndWhatIsSeen) {
  EXPECT_TRUE(rc::check([] {
    const double seen = *rc::gen::inRange(0, 101) * 0.01;
    DropRateEstimator estimator(kDepthCurve);
    estimator.Add(OnCurve(8, seen), OnCurve(*rc::gen::inRange(9, 40), seen));
    // Both curves go through what was seen at a stride of 8.
    const double by_seen = Secant(seen, 2, 8);
    const double by_expected = OnCurve(8, seen).drop * (1 - std::pow(2.0 / 8, kDepthCurve.exponent)) / (8 - 2);
    RC_ASSERT(*estimator.Rate(2) >= std::min(by_seen, by_expected) - 1e-9);
    RC_ASSERT(*estimator.Rate(2) <= std::max(by_seen, by_expected) + 1e-9);
  }));
}

TEST(DropRateEstimator, FollowsWhatChangesWithinSomeTensOfResults) {
  DropRateEstimator estimator(kPublishedCurve);
  for (int i = 0; i < 100; ++i) estimator.Add({8, 0.08}, {16, 0.16});
  estimator.Add({8, 0.16}, {16, 0.32});
  EXPECT_NEAR(*estimator.Rate(2), 0.01125, 1e-9) << "an eighth of the way";
  for (int i = 0; i < 40; ++i) estimator.Add({8, 0.16}, {16, 0.32});
  EXPECT_NEAR(*estimator.Rate(2), 0.02, 2e-4);
}

TEST(DropRateEstimator, FollowsAHarderSceneAtOnceAndAnEasierOneSlowly) {
  DropRateEstimator estimator({1, false, 3});
  for (int i = 0; i < 100; ++i) estimator.Add({8, 0.08}, {16, 0.16});
  estimator.Add({8, 0.16}, {16, 0.32});
  EXPECT_NEAR(*estimator.Rate(2), 0.01 * 4 / 3, 1e-9) << "a third of the way";
  for (int i = 0; i < 100; ++i) estimator.Add({8, 0.16}, {16, 0.32});
  estimator.Add({8, 0.08}, {16, 0.16});
  EXPECT_NEAR(*estimator.Rate(2), 0.01875, 1e-6) << "an eighth of the way";
}

TEST(DropRateEstimator, IgnoresWhatCannotBe) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
  DropRateEstimator estimator(kDepthCurve);
  for (const double drop : {kNan, kInfinity, -0.1}) {
    estimator.Add({4, drop}, {8, 0.1});
    estimator.Add({4, 0.1}, {8, drop});
  }
  estimator.Add({0, 0.1}, {8, 0.1});
  estimator.Add({8, 0.1}, {8, 0.1});
  estimator.Add({kNan, 0.1}, {8, 0.1});
  estimator.Add({4, 0.1}, {kInfinity, 0.1});
  EXPECT_EQ(estimator.Rate(2), std::nullopt);
}

TEST(DropRateEstimator, IsFiniteAndNeverNegative) {
  EXPECT_TRUE(rc::check([] {
    DropRateEstimator estimator(*rc::gen::element(kDepthCurve, kBoxCurve, kCautiousDepthCurve, kPublishedCurve));
    for (int i = *rc::gen::inRange(1, 30); i > 0; --i) {
      const double stride = *rc::gen::inRange(1, 1000);
      estimator.Add({stride, *rc::gen::inRange(0, 3) * 0.7},
                    {stride + *rc::gen::inRange(1, 9), *rc::gen::inRange(0, 3) * 0.7});
      const double rate = *estimator.Rate(*rc::gen::inRange(1, 2000) * 0.5);
      RC_ASSERT(std::isfinite(rate));
      RC_ASSERT(rate >= 0);
    }
  }));
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
