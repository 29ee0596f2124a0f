// Odometry and trackers on rendered frames of the synthetic world.
#include "wharf/track/world_odometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "wharf/scene/world/videos.h"
#include "wharf/track/box_tracker.h"
#include "wharf/track/depth_accuracy.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/metrics.h"

namespace wharf::track {
namespace {

using scene::Box;
using scene::DepthMap;
using scene::Pose;
using scene::World;

constexpr int kWidth = kOdometryWidth, kHeight = kOdometryHeight;
constexpr int kStride = 8;

World Town(scene::Category category) {
  const scene::Video video = *scene::FindVideo(category, 0, scene::Split::kCalibration);
  return World(video.seed, video.Options());
}

const World& Quiet() {
  static const World world = Town({.much_traffic = false, .many_turns = false});
  return world;
}

const World& Busy() {
  static const World world = Town({.much_traffic = true, .many_turns = false});
  return world;
}

// Frames all over a video.
std::vector<int64_t> SomeFrames() { return {100, 500, 900, 1300, 1700, 2100}; }

TEST(WithNoise, HasTheDeviationThatItIsAskedFor) {
  const DepthMap depth{400, 300, std::vector<float>(400 * 300, 10)};
  double sum = 0, squares = 0;
  for (const float metres : WithNoise(depth, 0.1, 3).metres) {
    sum += std::log(metres / 10);
    squares += std::log(metres / 10) * std::log(metres / 10);
  }
  const double count = 400 * 300;
  EXPECT_NEAR(sum / count, 0, 0.015);  // some 475 cells: 0.1 / sqrt(475) = 0.005
  EXPECT_NEAR(std::sqrt(squares / count), 0.1, 0.01);
  EXPECT_EQ(WithNoise({2, 1, {0, 0}}, 0.1, 3).metres, (std::vector<float>{0, 0}));
}

TEST(RenderedFrames, AWarpedMapIsNearerTheTruthThanAStaleOne) {
  double warped = 0, stale = 0;
  for (const int64_t frame : SomeFrames()) {
    const scene::Truth before = Quiet().TruthAt(frame, kWidth, kHeight);
    const scene::Truth after = Quiet().TruthAt(frame + kStride, kWidth, kHeight);
    const Pose motion = scene::RelativePose(before.pose, after.pose);
    warped += *AbsRel(WarpDepth(before.depth, World::Camera(kWidth, kHeight), motion), after.depth);
    stale += *AbsRel(before.depth, after.depth);
  }
  EXPECT_LT(warped, 0.7 * stale);
}

double MeanEstimatedDrop(const World& world) {
  double sum = 0;
  for (const int64_t frame : SomeFrames()) {
    const scene::Truth before = world.TruthAt(frame, kWidth, kHeight);
    const Pose motion = scene::RelativePose(
        before.pose, world.MotionAt(static_cast<double>(frame + kStride) / World::kFramesPerSecond).pose);
    sum += *DepthTrackerDropRate(world.FrameAt(frame, kWidth, kHeight).image, before.depth,
                                 world.FrameAt(frame + kStride, kWidth, kHeight).image, World::Camera(kWidth, kHeight),
                                 motion, kStride);
  }
  return sum / static_cast<double>(SomeFrames().size());
}

TEST(RenderedFrames, TrafficRaisesTheEstimatedDropOfDepth) {
  EXPECT_GT(MeanEstimatedDrop(Busy()), MeanEstimatedDrop(Quiet()));
}

TEST(RenderedFrames, TrackedBoxesAreNearerTheTruthThanStaleOnes) {
  double tracked = 0, stale = 0;
  for (const int64_t frame : SomeFrames()) {
    const std::vector<Box> before = Busy().TruthAt(frame, kWidth, kHeight).boxes;
    const std::vector<Box> after = Busy().TruthAt(frame + kStride, kWidth, kHeight).boxes;
    BoxTracker tracker;
    ASSERT_EQ(tracker.Start(Busy().FrameAt(frame, kWidth, kHeight).image, before), absl::OkStatus());
    const std::vector<Box> boxes = *tracker.Track(Busy().FrameAt(frame + kStride, kWidth, kHeight).image);
    tracked += MeanIou(boxes, after);
    stale += MeanIou(before, after);
  }
  RecordProperty("tracked", std::to_string(tracked));
  RecordProperty("stale", std::to_string(stale));
  EXPECT_GT(tracked, stale);
}

TEST(RenderedFrames, OdometryFindsTheWay) {
  const int strides[] = {4, 8};
  const DepthSource sources[] = {TrueDepth(), NoisyDepth(0.1, 1)};
  constexpr int64_t kFrames = 97;
  const std::vector<MotionTable> tables = *MeasureMotions(Quiet(), strides, sources, kFrames, Landmarks::kAll);
  ASSERT_EQ(tables.size(), 2u);
  const DriveRecord record = RecordOf(Quiet());
  const double way = (record.truth[96].position - record.truth[0].position).norm();
  for (size_t source = 0; source < tables.size(); ++source) {
    for (const int stride : strides) {
      const std::vector<Pose> poses = Chained(tables[source], stride, kFrames, record.truth[0]);
      EXPECT_LT((poses.back().position - record.truth[96].position).norm(), 0.06 * way) << source << " " << stride;
    }
  }
  EXPECT_EQ(From(tables[0])(0, 12).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace wharf::track
