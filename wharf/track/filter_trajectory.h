// Whole videos: the trajectory that the pose filter makes of IMU samples and of odometry at chosen frames. Offloading
// schedules are compared by it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"
#include "wharf/track/motion.h"

namespace wharf::track {

// A video without its pictures. imu[i] is what came since frame i - 1; the last of it is of frame i's time.
struct DriveRecord {
  std::vector<scene::Pose> truth;  // of every frame
  std::vector<std::vector<scene::ImuSample>> imu;
  Eigen::Vector3d start_velocity = Eigen::Vector3d::Zero();
};

// Odometry between two frames of a video; kNotFound where it finds none.
using MeasureMotion = std::function<absl::StatusOr<MotionEstimate>(int64_t from, int64_t to)>;

// Frames 0, stride, ... below `count`.
std::vector<int64_t> EveryNth(int stride, int64_t count);

// The filter's pose at every frame, with odometry over successive `frames` (increasing), each result used `latency`
// frames after its later frame; where odometry finds nothing the filter goes on without. Starts from the truth.
// kInvalidArgument for frames outside the record; any other error of `measure` is returned.
absl::StatusOr<std::vector<scene::Pose>> FilterTrajectory(const DriveRecord& record, std::span<const int64_t> frames,
                                                          int latency, const MeasureMotion& measure);

}  // namespace wharf::track
