// What AccuMO's odometry model is fitted to (thesis section 2.6.2): whole videos, whose trajectories the pose filter
// makes from odometry at chosen frames, and what a longer stride over a few frames does to them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "wharf/scene/scene.h"
#include "wharf/track/motion.h"
#include "wharf/track/odometry_accuracy.h"

namespace wharf::track {

// A video without its pictures. imu[i] is what came since frame i - 1; the last of it is of frame i's time.
struct DriveRecord {
  std::vector<scene::Pose> truth;  // of every frame
  std::vector<std::vector<scene::ImuSample>> imu;
  Eigen::Vector3d start_velocity = Eigen::Vector3d::Zero();
  double frame_s = 1 / 60.0;
};

// Odometry between two frames of a video; an error where it finds none (any but kNotFound ends the calibration).
using MeasureMotion = std::function<absl::StatusOr<MotionEstimate>(int64_t from, int64_t to)>;

// The filter's pose at every frame, with odometry over successive `frames` (increasing), each result used `latency`
// frames after its later frame. Starts from the truth. kInvalidArgument for frames outside the record; fails as
// `measure`.
absl::StatusOr<std::vector<scene::Pose>> FilterTrajectory(const DriveRecord& record, std::span<const int64_t> frames,
                                                          int latency, const MeasureMotion& measure);

// Frames 0, stride, ... below `count`.
std::vector<int64_t> EveryNth(int stride, int64_t count);

struct CalibrationOptions {
  int base_stride = 4, stride = 8;  // the thesis'
  int window = 32;                  // frames whose stride is changed
  int latency = 4;                  // frames
  double quantile = 0.95;
};

struct CalibrationPoint {
  double angular_velocity = 0;  // mean over the window, of the filter's poses, in rad/s
  double drop = 0;              // in t_err of the segments that contain the window
};

// One point a window, over the whole video. A window's stride must be a multiple of the base stride and divide the
// window (kInvalidArgument). `measure` is called once a pair. O(frames^2 / window).
absl::StatusOr<std::vector<CalibrationPoint>> CalibrationPoints(const DriveRecord& record, const MeasureMotion& measure,
                                                                const CalibrationOptions& options = {});

absl::StatusOr<OdometryAccuracyModel> FitOdometryModel(std::span<const CalibrationPoint> points,
                                                       const CalibrationOptions& options = {});

// As JSON: {"odometry": {"intercept": ..., "slope": ..., "base_stride": ..., "stride": ...}}; other fields are left
// alone by the reader. kInvalidArgument for what is not such a text; kNotFound if there is no such file.
std::string ModelToJson(const OdometryAccuracyModel& model);
absl::StatusOr<OdometryAccuracyModel> ModelFromJson(const std::string& text);
absl::StatusOr<OdometryAccuracyModel> LoadOdometryModel(const std::string& path);

}  // namespace wharf::track
