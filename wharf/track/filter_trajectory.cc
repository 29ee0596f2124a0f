#include "wharf/track/filter_trajectory.h"

#include <algorithm>

#include "wharf/base/status.h"
#include "wharf/track/pose_filter.h"

namespace wharf::track {
namespace {

using scene::Pose;

absl::Status CheckFrames(const DriveRecord& record, std::span<const int64_t> frames) {
  if (record.imu.size() != record.truth.size() || record.truth.empty()) {
    return InvalidArgument("{} poses with the IMU samples of {} frames", record.truth.size(), record.imu.size());
  }
  for (size_t i = 0; i < frames.size(); ++i) {
    const bool in_order = i == 0 ? frames[i] >= 0 : frames[i] > frames[i - 1];
    if (!in_order || frames[i] >= static_cast<int64_t>(record.truth.size())) {
      return InvalidArgument("frame {} is out of order or outside of {}", frames[i], record.truth.size());
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> EveryNth(int stride, int64_t count) {
  std::vector<int64_t> frames;
  for (int64_t frame = 0; frame < count; frame += stride) frames.push_back(frame);
  return frames;
}

absl::StatusOr<std::vector<Pose>> FilterTrajectory(const DriveRecord& record, std::span<const int64_t> frames,
                                                   int latency, const MeasureMotion& measure) {
  WHARF_RETURN_IF_ERROR(CheckFrames(record, frames));
  PoseFilter filter({.most_marks = static_cast<size_t>(std::max(latency, 0)) + 2});
  filter.Start({.pose = record.truth[0],
                .velocity = record.start_velocity,
                .time_s = record.imu[0].empty() ? 0 : record.imu[0].front().time_s});
  std::vector<Pose> poses;
  auto mark = frames.begin(), result = frames.begin();
  for (int64_t now = 0; now < static_cast<int64_t>(record.truth.size()); ++now) {
    for (const scene::ImuSample& sample : record.imu[static_cast<size_t>(now)]) {
      WHARF_RETURN_IF_ERROR(filter.Predict(sample));
    }
    if (mark != frames.end() && *mark == now) filter.Mark(*mark++);
    for (; result + 1 < mark && *(result + 1) + latency <= now; ++result) {
      const absl::StatusOr<MotionEstimate> motion = measure(*result, *(result + 1));
      if (absl::IsNotFound(motion.status())) continue;
      WHARF_RETURN_IF_ERROR(motion.status());
      WHARF_RETURN_IF_ERROR(filter.Update(*result, *(result + 1), *motion));
    }
    poses.push_back(filter.pose());
  }
  return poses;
}

}  // namespace wharf::track
