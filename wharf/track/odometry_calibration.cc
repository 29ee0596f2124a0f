#include "wharf/track/odometry_calibration.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "wharf/base/status.h"
#include "wharf/track/metrics.h"
#include "wharf/track/pose_filter.h"

namespace wharf::track {
namespace {

using nlohmann::json;
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

// What odometry measured, remembered: many trajectories share most of their pairs.
class Remembered {
 public:
  explicit Remembered(const MeasureMotion& measure) : measure_(measure) {}
  absl::StatusOr<MotionEstimate> operator()(int64_t from, int64_t to) {
    const auto key = std::pair(from, to);
    const auto known = motions_.find(key);
    return known != motions_.end() ? known->second : motions_.emplace(key, measure_(from, to)).first->second;
  }

 private:
  const MeasureMotion& measure_;
  std::map<std::pair<int64_t, int64_t>, absl::StatusOr<MotionEstimate>> motions_;
};

// The base schedule, but for a window at the longer stride.
std::vector<int64_t> WithWindow(const CalibrationOptions& options, int64_t first, int64_t count) {
  std::vector<int64_t> frames;
  for (int64_t frame = 0; frame < count; frame += options.base_stride) {
    const bool inside = frame > first && frame < first + options.window;
    if (!inside || (frame - first) % options.stride == 0) frames.push_back(frame);
  }
  return frames;
}

absl::Status Check(const CalibrationOptions& options) {
  if (options.base_stride < 1 || options.stride <= options.base_stride || options.stride % options.base_stride != 0 ||
      options.window % options.stride != 0 || options.window < options.stride || options.latency < 0) {
    return InvalidArgument("strides of {} and {} in a window of {}", options.base_stride, options.stride,
                           options.window);
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

absl::StatusOr<std::vector<CalibrationPoint>> CalibrationPoints(const DriveRecord& record, const MeasureMotion& measure,
                                                                const CalibrationOptions& options) {
  WHARF_RETURN_IF_ERROR(Check(options));
  Remembered remembered(measure);
  const MeasureMotion once = [&](int64_t from, int64_t to) { return remembered(from, to); };
  const auto count = static_cast<int64_t>(record.truth.size());
  WHARF_ASSIGN_OR_RETURN(const std::vector<Pose> base,
                         FilterTrajectory(record, EveryNth(options.base_stride, count), options.latency, once));
  std::vector<CalibrationPoint> points;
  for (int64_t first = 0; first + options.window < count; first += options.window) {
    WHARF_ASSIGN_OR_RETURN(const std::vector<Pose> changed,
                           FilterTrajectory(record, WithWindow(options, first, count), options.latency, once));
    const auto begin = static_cast<size_t>(first), size = static_cast<size_t>(options.window);
    const auto before = TranslationErrorOfFrames(record.truth, base, begin, begin + size - 1);
    if (absl::IsFailedPrecondition(before.status())) continue;  // no segment goes through here
    WHARF_RETURN_IF_ERROR(before.status());
    WHARF_ASSIGN_OR_RETURN(const double after,
                           TranslationErrorOfFrames(record.truth, changed, begin, begin + size - 1));
    points.push_back({MeanAngularVelocity(std::span(base).subspan(begin, size), record.frame_s), after - *before});
  }
  return points;
}

absl::StatusOr<OdometryAccuracyModel> FitOdometryModel(std::span<const CalibrationPoint> points,
                                                       const CalibrationOptions& options) {
  std::vector<double> x, y;
  for (const CalibrationPoint& point : points) {
    x.push_back(point.angular_velocity);
    y.push_back(point.drop);
  }
  WHARF_ASSIGN_OR_RETURN(const Line bound, FitQuantile(x, y, options.quantile));
  return OdometryAccuracyModel{.bound = bound, .base_stride = options.base_stride, .stride = options.stride};
}

std::string ModelToJson(const OdometryAccuracyModel& model) {
  const json odometry = {{"intercept", model.bound.intercept},
                         {"slope", model.bound.slope},
                         {"base_stride", model.base_stride},
                         {"stride", model.stride}};
  return json{{"odometry", odometry}}.dump(2) + "\n";
}

absl::StatusOr<OdometryAccuracyModel> ModelFromJson(const std::string& text) {
  const json parsed = json::parse(text, nullptr, false);
  const json odometry = parsed.is_object() ? parsed.value("odometry", json()) : json();
  const auto has = [&](const char* name, auto is_right) {
    return odometry.is_object() && odometry.contains(name) && is_right(odometry[name]);
  };
  for (const char* name : {"intercept", "slope"}) {
    if (!has(name, [](const json& value) { return value.is_number(); })) {
      return InvalidArgument("no number odometry.{} in the calibration", name);
    }
  }
  for (const char* name : {"base_stride", "stride"}) {
    if (!has(name, [](const json& value) { return value.is_number_unsigned() && value < 10000; })) {
      return InvalidArgument("no whole number odometry.{} in the calibration", name);
    }
  }
  const OdometryAccuracyModel model{.bound = {.intercept = odometry["intercept"], .slope = odometry["slope"]},
                                    .base_stride = odometry["base_stride"],
                                    .stride = odometry["stride"]};
  if (model.base_stride < 1 || model.stride <= model.base_stride) {
    return InvalidArgument("strides of {} and {} in the calibration", model.base_stride, model.stride);
  }
  return model;
}

absl::StatusOr<OdometryAccuracyModel> LoadOdometryModel(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound("no calibration {}", path);
  std::stringstream text;
  text << file.rdbuf();
  return ModelFromJson(text.str());
}

}  // namespace wharf::track
