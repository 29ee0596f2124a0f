#include "wharf/multitask/experiment/component_times.h"

#include <algorithm>

#include "wharf/base/status.h"
#include "wharf/multitask/experiment/world_start.h"
#include "wharf/track/depth_accuracy.h"
#include "wharf/track/depth_warp.h"

namespace wharf::multitask {
namespace {

constexpr int kFrames = 9;
constexpr int64_t kApart = 60, kMeasuredStride = 8;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock) : clock_(clock), start_(clock.Now()) {}
  double Milliseconds() const { return wharf::Milliseconds(clock_.Now() - start_); }

 private:
  const Clock& clock_;
  const TimePoint start_;
};

// The times of one pair of frames.
absl::StatusOr<ComponentTimes> MeasurePair(const scene::World& world, const Networks& networks, int64_t index,
                                           int width, int height, const Clock& clock) {
  const scene::Intrinsics camera = scene::World::Camera(width, height);
  const auto first = std::make_shared<scene::Frame>(world.FrameAt(index, width, height));
  const auto second = std::make_shared<scene::Frame>(world.FrameAt(index + kMeasuredStride, width, height));
  const double frame_s = 1.0 / scene::World::kFramesPerSecond;
  const scene::Pose motion =
      scene::RelativePose(world.MotionAt(static_cast<double>(index) * frame_s).pose,
                          world.MotionAt(static_cast<double>(index + kMeasuredStride) * frame_s).pose);
  ComponentTimes times;
  Stopwatch depth_watch(clock);
  WHARF_ASSIGN_OR_RETURN(const DepthPointer depth, networks.depth(first));
  times.depth = depth_watch.Milliseconds();
  Stopwatch lite_watch(clock);
  WHARF_RETURN_IF_ERROR(networks.lite(first).status());
  times.lite = lite_watch.Milliseconds();
  Stopwatch boxes_watch(clock);
  WHARF_ASSIGN_OR_RETURN(const std::vector<scene::Box> boxes, networks.boxes(first));
  times.boxes = boxes_watch.Milliseconds();
  Stopwatch motion_watch(clock);
  FeatureMotion(camera)({first, depth, boxes}, second).IgnoreError();  // there may be none, which takes as long
  times.odometry = times.depth + times.boxes + motion_watch.Milliseconds();
  Stopwatch warp_watch(clock);
  track::WarpDepth(*depth, camera, motion);
  times.warp = warp_watch.Milliseconds();
  Stopwatch flow_watch(clock);
  WHARF_RETURN_IF_ERROR(
      track::DepthTrackerDropRate(first->image, *depth, second->image, camera, motion, kMeasuredStride).status());
  times.flow = flow_watch.Milliseconds();
  track::BoxTracker tracker;
  WHARF_RETURN_IF_ERROR(tracker.Start(first->image, boxes));
  Stopwatch tracker_watch(clock);
  WHARF_RETURN_IF_ERROR(tracker.Track(second->image).status());
  times.box_tracker = tracker_watch.Milliseconds();
  OdometryTaskOptions odometry_options = OdometryIn(world, {}, {});
  odometry_options.start.time_s = first->time_s - frame_s;
  OdometryTask odometry(odometry_options);
  Stopwatch filter_watch(clock);
  WHARF_RETURN_IF_ERROR(odometry.Observe(first));
  times.filter = filter_watch.Milliseconds();
  return times;
}

}  // namespace

OffloadProfile ComponentTimes::Profile() const {
  return {"measured",
          "one core of this machine, computing only, no link",
          {{"depth", depth, flow}, {"odometry", odometry, 0}, {"boxes", boxes, 0}}};
}

absl::StatusOr<ComponentTimes> MeasureComponents(const scene::World& world, const Networks& networks, int width,
                                                 int height, const Clock& clock) {
  std::vector<ComponentTimes> pairs;
  for (int i = 0; i < kFrames; ++i) {
    WHARF_ASSIGN_OR_RETURN(const ComponentTimes pair,
                           MeasurePair(world, networks, kApart * (i + 1), width, height, clock));
    pairs.push_back(pair);
  }
  ComponentTimes medians;
  for (double ComponentTimes::*part :
       {&ComponentTimes::depth, &ComponentTimes::odometry, &ComponentTimes::boxes, &ComponentTimes::warp,
        &ComponentTimes::lite, &ComponentTimes::filter, &ComponentTimes::box_tracker, &ComponentTimes::flow}) {
    std::vector<double> values;
    for (const ComponentTimes& pair : pairs) values.push_back(pair.*part);
    medians.*part = Median(std::move(values));
  }
  return medians;
}

}  // namespace wharf::multitask
