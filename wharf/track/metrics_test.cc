#include "wharf/track/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>

namespace wharf::track {
namespace {

using absl::StatusCode;
using scene::Box;
using scene::DepthMap;
using scene::ObjectClass;
using scene::Pose;

DepthMap Row(std::vector<float> metres) { return {static_cast<int>(metres.size()), 1, metres}; }

TEST(AbsRel, IsTheMeanErrorRelativeToTheTruth) {
  EXPECT_DOUBLE_EQ(*AbsRel(Row({2, 5, 8}), Row({1, 4, 8})), (1 + 0.25 + 0) / 3);
}

TEST(AbsRel, LeavesOutWhatIsNotKnownAndCountsWhatIsMissing) {
  EXPECT_DOUBLE_EQ(*AbsRel(Row({7, 0, 3}), Row({0, 4, 2})), (1 + 0.5) / 2);
}

// Both may have come from a server.
TEST(AbsRel, TakesAnything) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_DOUBLE_EQ(*AbsRel(Row({nan, infinity, 3}), Row({1, 1, 2})), (1 + 1 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(*AbsRel(Row({1, 1, 3}), Row({nan, infinity, 2})), 0.5);
}

TEST(AbsRel, RefusesWhatCannotBeCompared) {
  EXPECT_EQ(AbsRel(Row({1}), Row({1, 2})).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(AbsRel(Row({1, 2}), Row({0, 0})).status().code(), StatusCode::kFailedPrecondition);
}

TEST(AbsRel, OfAScaledMapIsItsScaleError) {
  EXPECT_TRUE(rc::check([] {
    const double scale = *rc::gen::inRange(50, 200) / 100.0;
    std::vector<float> metres, scaled;
    for (int i = *rc::gen::inRange(1, 50); i > 0; --i) {
      metres.push_back(static_cast<float>(*rc::gen::inRange(1, 100)));
      scaled.push_back(static_cast<float>(metres.back() * scale));
    }
    RC_ASSERT(std::abs(*AbsRel(Row(scaled), Row(metres)) - std::abs(scale - 1)) < 1e-6);
  }));
}

// A drive of `frames` frames with turns, `step` metres a frame.
std::vector<Pose> Drive(int frames, double step) {
  std::vector<Pose> poses(1);
  for (int i = 1; i < frames; ++i) {
    const double yaw = 0.02 * std::sin(i / 40.0);
    const Pose motion{Eigen::Quaterniond(Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitY())), {0, 0, step}};
    poses.push_back(poses.back() * motion);
  }
  return poses;
}

std::vector<Pose> Scaled(std::vector<Pose> poses, double scale) {
  for (Pose& pose : poses) pose.position *= scale;
  return poses;
}

TEST(TranslationError, OfTheTruthIsNone) {
  const std::vector<Pose> truth = Drive(2400, 0.25);
  EXPECT_NEAR(*TranslationError(truth, truth), 0, 1e-12);
}

TEST(TranslationError, DoesNotDependOnWhereTheWorldBegins) {
  const std::vector<Pose> truth = Drive(1000, 0.25);
  std::vector<Pose> elsewhere;
  const Pose start{Eigen::Quaterniond(Eigen::AngleAxisd(1.1, Eigen::Vector3d::UnitY())), {5, 6, 7}};
  for (const Pose& pose : truth) elsewhere.push_back(start * pose);
  EXPECT_NEAR(*TranslationError(truth, elsewhere), 0, 1e-10);
}

// On a straight path the error over a segment is the scale's error times the segment, which is what it is divided by.
TEST(TranslationError, OfAScaledStraightPathIsItsScaleError) {
  std::vector<Pose> truth;
  for (int i = 0; i < 1000; ++i) truth.push_back({Eigen::Quaterniond::Identity(), {0, 0, 0.5 * i}});
  EXPECT_NEAR(*TranslationError(truth, Scaled(truth, 1.07)), 0.07, 1e-12);
  EXPECT_NEAR(*TranslationError(truth, Scaled(truth, 0.9)), 0.1, 1e-12);
}

// Segment by segment, written as the definition says it.
double BruteForce(const std::vector<Pose>& truth, const std::vector<Pose>& estimate, size_t first, size_t last,
                  const SegmentOptions& options) {
  double sum = 0;
  int count = 0;
  for (size_t i = 0; i < truth.size(); i += options.start_step) {
    for (const double length : options.lengths_m) {
      double way = 0;
      size_t j = i;
      while (way < length && j + 1 < truth.size()) {
        ++j;
        way += (truth[j].position - truth[j - 1].position).norm();
      }
      if (way < length || j < first || i > last) continue;
      const Eigen::Vector3d moved = truth[i].rotation.conjugate() * (truth[j].position - truth[i].position);
      const Eigen::Vector3d guessed = estimate[i].rotation.conjugate() * (estimate[j].position - estimate[i].position);
      sum += (moved - guessed).norm() / length;
      ++count;
    }
  }
  return sum / count;
}

TEST(TranslationError, EqualsItsDefinition) {
  EXPECT_TRUE(rc::check([] {
    const int frames = *rc::gen::inRange(30, 120);
    const std::vector<Pose> truth = Drive(frames, *rc::gen::inRange(5, 30) / 10.0 + 0.00123);
    std::vector<Pose> estimate = truth;
    for (Pose& pose : estimate) {
      pose.position.x() += *rc::gen::inRange(-100, 100) / 50.0;
      pose.rotation = pose.rotation * Eigen::AngleAxisd(*rc::gen::inRange(-50, 50) / 500.0, Eigen::Vector3d::UnitX());
    }
    const SegmentOptions options{.lengths_m = {5, 10, 13}, .start_step = static_cast<size_t>(*rc::gen::inRange(1, 4))};
    const auto last = static_cast<size_t>(frames - 1);
    RC_ASSERT(std::abs(*TranslationError(truth, estimate, options) - BruteForce(truth, estimate, 0, last, options)) <
              1e-9);
    const auto first = static_cast<size_t>(*rc::gen::inRange(0, 10));
    RC_ASSERT(std::abs(*TranslationErrorOfFrames(truth, estimate, first, first + 3, options) -
                       BruteForce(truth, estimate, first, first + 3, options)) < 1e-9);
  }));
}

TEST(TranslationError, OfFramesSeesOnlySegmentsThroughThem) {
  std::vector<Pose> truth;
  for (int i = 0; i < 300; ++i) truth.push_back({Eigen::Quaterniond::Identity(), {0, 0, 1.0 * i}});
  std::vector<Pose> estimate = truth;
  for (size_t i = 280; i < 300; ++i) estimate[i].position.x() += 1;
  const SegmentOptions options{.lengths_m = {20}, .start_step = 1};
  EXPECT_EQ(*TranslationErrorOfFrames(truth, estimate, 100, 110, options), 0);
  EXPECT_GT(*TranslationErrorOfFrames(truth, estimate, 275, 280, options), 0.01);
}

TEST(TranslationError, RefusesWhatHasNoSegments) {
  const std::vector<Pose> truth = Drive(50, 0.25);
  EXPECT_EQ(TranslationError(truth, truth).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(TranslationError(truth, Drive(49, 0.25)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TranslationError({}, {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TranslationErrorOfFrames(truth, truth, 40, 50).status().code(), StatusCode::kInvalidArgument);
}

Box Square(float left, float top, float side, ObjectClass object_class = ObjectClass::kVehicle) {
  return {.left = left, .top = top, .right = left + side, .bottom = top + side, .object_class = object_class};
}

TEST(Iou, OfHalvesThatOverlap) {
  EXPECT_DOUBLE_EQ(Iou(Square(0, 0, 2), Square(1, 0, 2)), 2.0 / 6.0);
  EXPECT_DOUBLE_EQ(Iou(Square(0, 0, 2), Square(0, 0, 2)), 1);
  EXPECT_EQ(Iou(Square(0, 0, 2), Square(2, 0, 2)), 0);
  EXPECT_EQ(Iou(Square(0, 0, 0), Square(0, 0, 0)), 0);
  EXPECT_EQ(Iou({.left = 3, .top = 3, .right = 0, .bottom = 0}, Square(0, 0, 3)), 0);
}

TEST(MeanIou, CountsWhatIsMissedAndWhatIsNotThere) {
  const std::vector<Box> reference{Square(0, 0, 10), Square(50, 50, 10)};
  EXPECT_EQ(MeanIou(reference, reference), 1);
  EXPECT_EQ(MeanIou({}, {}), 1);
  EXPECT_EQ(MeanIou({}, reference), 0);
  EXPECT_DOUBLE_EQ(MeanIou(std::vector{Square(0, 0, 10)}, reference), 0.5);
  EXPECT_DOUBLE_EQ(MeanIou(std::vector{Square(0, 0, 10), Square(50, 50, 10), Square(90, 0, 5)}, reference), 2.0 / 3.0);
}

TEST(MeanIou, MatchesWithinAClassOnly) {
  EXPECT_EQ(MeanIou(std::vector{Square(0, 0, 10)}, std::vector{Square(0, 0, 10, ObjectClass::kPerson)}), 0);
}

TEST(MeanIou, IsSymmetricAndAtMostOne) {
  EXPECT_TRUE(rc::check([] {
    const auto boxes = [] {
      std::vector<Box> some;
      for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
        some.push_back(Square(static_cast<float>(*rc::gen::inRange(0, 20)),
                              static_cast<float>(*rc::gen::inRange(0, 20)),
                              static_cast<float>(*rc::gen::inRange(1, 20)),
                              *rc::gen::element(ObjectClass::kVehicle, ObjectClass::kPerson)));
      }
      return some;
    };
    const std::vector<Box> a = boxes(), b = boxes();
    const double iou = MeanIou(a, b);
    RC_ASSERT(iou >= 0 && iou <= 1);
    RC_ASSERT(std::abs(iou - MeanIou(b, a)) < 1e-12);
    RC_ASSERT(std::abs(MeanIou(a, a) - 1) < 1e-12);
  }));
}

}  // namespace
}  // namespace wharf::track
