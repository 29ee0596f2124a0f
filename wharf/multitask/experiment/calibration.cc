#include "wharf/multitask/experiment/calibration.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "wharf/base/status.h"
#include "wharf/multitask/experiment/world_start.h"
#include "wharf/track/depth_fusion.h"
#include "wharf/track/depth_warp.h"
#include "wharf/track/drop/drop_rate.h"
#include "wharf/track/metrics.h"

namespace wharf::multitask {
namespace {

constexpr int64_t kBaseStride = 4, kStride = 8, kWindow = 32;  // frames, the thesis's

using Motions = std::map<std::pair<int64_t, int64_t>, track::MotionEstimate>;  // by both frames

// What is kept of a frame for the one kStride later.
struct Seen {
  FramePointer frame;
  scene::Truth truth;
  DepthPointer depth, lite;
  std::vector<scene::Box> boxes;
};

class Watcher {
 public:
  Watcher(const scene::World& world, const Networks& networks, const CalibrationOptions& options)
      : world_(world),
        networks_(networks),
        options_(options),
        camera_(scene::World::Camera(options.width, options.height)) {}

  absl::StatusOr<CalibrationVideo> Run() {
    for (int64_t index = 0; index < options_.frames; ++index) {
      truths_.push_back(world_.MotionAt(static_cast<double>(index) / scene::World::kFramesPerSecond).pose);
      // All frames' IMU samples, but pictures of every fourth only: those without are small.
      const bool look = index % kBaseStride == 0;
      const scene::Frame frame = world_.FrameAt(index, look ? options_.width : 16, look ? options_.height : 16);
      imu_.push_back(frame.imu);
      if (look) WHARF_RETURN_IF_ERROR(Look(std::make_shared<scene::Frame>(frame)));
    }
    WHARF_RETURN_IF_ERROR(CompareStrides());
    return std::move(found_);
  }

 private:
  absl::Status Look(const FramePointer& frame) {
    Seen now{frame, world_.TruthAt(frame->index, options_.width, options_.height), nullptr, nullptr, {}};
    const Networks networks = options_.oracle ? OracleNetworks(now.frame, now.truth) : networks_;
    WHARF_ASSIGN_OR_RETURN(now.depth, networks.depth(frame));
    WHARF_ASSIGN_OR_RETURN(now.lite, networks.lite(frame));
    WHARF_ASSIGN_OR_RETURN(now.boxes, networks.boxes(frame));
    WHARF_ASSIGN_OR_RETURN(const double server, track::AbsRel(*now.depth, now.truth.depth));
    WHARF_ASSIGN_OR_RETURN(const double lite_abs_rel, track::AbsRel(*now.lite, now.truth.depth));
    WHARF_ASSIGN_OR_RETURN(const double lite_against_server, track::AbsRel(*now.lite, *now.depth));
    found_.server_abs_rel.push_back(server);
    found_.lite_abs_rel.push_back(lite_abs_rel);
    found_.lite_against_server.push_back(lite_against_server);
    for (const Seen& before : seen_) {
      const auto motion = FeatureMotion(camera_)({before.frame, before.depth, before.boxes}, frame);
      if (motion.ok()) motions_[{before.frame->index, frame->index}] = *motion;
    }
    if (seen_.size() == kStride / kBaseStride) WHARF_RETURN_IF_ERROR(CompareTracked(seen_.front(), now, server));
    seen_.push_back(std::move(now));
    if (seen_.size() > kStride / kBaseStride) seen_.pop_front();
    return absl::OkStatus();
  }

  // Depth and boxes, tracked over kStride frames, against the network's own of `now`.
  absl::Status CompareTracked(const Seen& before, const Seen& now, double server) {
    const scene::Pose motion = scene::RelativePose(before.truth.pose, now.truth.pose);
    scene::DepthMap depth = track::WarpDepth(*before.depth, camera_, motion);
    WHARF_ASSIGN_OR_RETURN(const double warped, track::AbsRel(depth, now.truth.depth));
    found_.depth_drop_rate.push_back((warped - server) / kStride);
    depth = track::FuseDepth(std::move(depth), *now.lite, track::DepthScale(*before.depth, *before.lite));
    WHARF_ASSIGN_OR_RETURN(const double fused, track::AbsRel(depth, now.truth.depth));
    found_.fused_drop_rate.push_back((fused - server) / kStride);
    track::BoxTracker tracker;
    WHARF_RETURN_IF_ERROR(tracker.Start(before.frame->image, before.boxes));
    WHARF_ASSIGN_OR_RETURN(const std::vector<scene::Box> tracked, tracker.Track(now.frame->image));
    WHARF_ASSIGN_OR_RETURN(const double rate, track::BoxDropRate(tracked, now.boxes, kStride));
    found_.box_drop_rate.push_back(rate);
    return absl::OkStatus();
  }

  // The filter's poses with a measurement at every fourth frame, but for every eighth in [first, last).
  std::vector<scene::Pose> Trajectory(int64_t first, int64_t last) const {
    const OdometryTaskOptions options = OdometryIn(world_, {}, {});
    track::PoseFilter filter(options.filter);
    filter.Start(options.start);
    std::vector<scene::Pose> poses;
    int64_t before = 0;
    for (int64_t frame = 0; frame < options_.frames; ++frame) {
      for (const scene::ImuSample& sample : imu_[frame]) filter.Predict(sample).IgnoreError();
      const int64_t stride = frame > first && frame <= last ? kStride : kBaseStride;
      if (frame % stride == 0) {
        filter.Mark(frame);
        const auto motion = motions_.find({before, frame});
        if (motion != motions_.end()) filter.Update(before, frame, motion->second).IgnoreError();
        before = frame;
      }
      poses.push_back(filter.pose());
    }
    return poses;
  }

  absl::Status CompareStrides() {
    const track::SegmentOptions segments = SegmentsOf(options_.frames);
    const std::vector<scene::Pose> base = Trajectory(0, 0);
    for (int64_t first = 0; first + kWindow <= options_.frames; first += kWindow) {
      const int64_t last = first + kWindow - 1;
      const auto base_error = track::TranslationErrorOfFrames(truths_, base, first, last, segments);
      if (base_error.status().code() == absl::StatusCode::kFailedPrecondition) continue;  // in no segment
      WHARF_RETURN_IF_ERROR(base_error.status());
      WHARF_ASSIGN_OR_RETURN(
          const double error,
          track::TranslationErrorOfFrames(truths_, Trajectory(first, first + kWindow), first, last, segments));
      found_.odometry_drop.push_back(error - *base_error);
      found_.angular_velocity.push_back(
          track::MeanAngularVelocity(std::span(truths_).subspan(first, kWindow), 1.0 / scene::World::kFramesPerSecond));
    }
    return absl::OkStatus();
  }

  const scene::World& world_;
  const Networks networks_;
  const CalibrationOptions options_;
  const scene::Intrinsics camera_;
  std::vector<scene::Pose> truths_;
  std::vector<std::vector<scene::ImuSample>> imu_;
  std::deque<Seen> seen_;  // 8 and 4 frames old
  Motions motions_;
  CalibrationVideo found_;
};

// Of all videos, one after another.
std::vector<double> All(const std::vector<CalibrationVideo>& videos, std::vector<double> CalibrationVideo::*values) {
  std::vector<double> all;
  for (const CalibrationVideo& video : videos) all.insert(all.end(), (video.*values).begin(), (video.*values).end());
  return all;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of each frame, what the thesis's model estimates that the lite network loses, and what it loses in truth.
struct LiteDrops {
  std::vector<double> estimated, actual;
};

LiteDrops LiteDropsIn(const std::vector<CalibrationVideo>& videos, double mean_server_abs_rel) {
  const std::vector<double> server = All(videos, &CalibrationVideo::server_abs_rel);
  LiteDrops drops{All(videos, &CalibrationVideo::lite_against_server), All(videos, &CalibrationVideo::lite_abs_rel)};
  for (double& estimate : drops.estimated) estimate -= mean_server_abs_rel;
  std::transform(drops.actual.begin(), drops.actual.end(), server.begin(), drops.actual.begin(), std::minus<>());
  return drops;
}

// A median line, because least squares go by a few frames with something right before the camera, where the error is a
// hundred times what it usually is.
absl::StatusOr<track::Line> LiteCorrection(const LiteDrops& drops) {
  return track::FitQuantile(drops.estimated, drops.actual, 0.5);
}

// Sum of absolute errors.
double ErrorOf(const track::Line& line, const LiteDrops& drops) {
  double sum = 0;
  for (size_t i = 0; i < drops.actual.size(); ++i)
    sum += std::abs(std::max(0.0, line.At(drops.estimated[i])) - drops.actual[i]);
  return sum;
}

}  // namespace

absl::StatusOr<CalibrationVideo> Watch(const scene::World& world, const Networks& networks,
                                       const CalibrationOptions& options) {
  return Watcher(world, networks, options).Run();
}

absl::StatusOr<Calibration> Fit(const std::vector<CalibrationVideo>& videos, std::string source) {
  Calibration calibration;
  calibration.source = std::move(source);
  const std::vector<double> rates = All(videos, &CalibrationVideo::depth_drop_rate);
  if (rates.empty()) return FailedPrecondition("no frames to calibrate on");
  calibration.depth = {.server_abs_rel = MeanOf(All(videos, &CalibrationVideo::server_abs_rel)),
                       .lite_abs_rel = MeanOf(All(videos, &CalibrationVideo::lite_abs_rel)),
                       .drop_rate = std::max(0.0, MeanOf(rates))};
  if (calibration.depth.drop_rate > 0) {
    const double fused = MeanOf(All(videos, &CalibrationVideo::fused_drop_rate));
    calibration.depth.fused_drop_share = std::clamp(fused / calibration.depth.drop_rate, 0.0, 1.0);
  }
  WHARF_ASSIGN_OR_RETURN(calibration.depth.lite_correction,
                         LiteCorrection(LiteDropsIn(videos, calibration.depth.server_abs_rel)));
  calibration.box_drop_rate = std::max(0.0, MeanOf(All(videos, &CalibrationVideo::box_drop_rate)));
  WHARF_ASSIGN_OR_RETURN(calibration.odometry.bound,
                         track::FitQuantile(All(videos, &CalibrationVideo::angular_velocity),
                                            All(videos, &CalibrationVideo::odometry_drop), 0.95));
  calibration.odometry.base_stride = kBaseStride;
  calibration.odometry.stride = kStride;
  return calibration;
}

absl::StatusOr<LiteEstimateErrors> CrossValidate(const std::vector<CalibrationVideo>& videos) {
  if (videos.size() < 2) return InvalidArgument("{} videos: nothing is left to fit to", videos.size());
  const std::vector<double> server = All(videos, &CalibrationVideo::server_abs_rel);
  if (server.empty()) return FailedPrecondition("no frames to calibrate on");
  const double mean_server = MeanOf(server);
  LiteEstimateErrors errors;
  for (size_t i = 0; i < videos.size(); ++i) {
    std::vector<CalibrationVideo> others = videos;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    WHARF_ASSIGN_OR_RETURN(const track::Line line, LiteCorrection(LiteDropsIn(others, mean_server)));
    const LiteDrops drops = LiteDropsIn({videos[i]}, mean_server);
    errors.published += ErrorOf({.intercept = 0, .slope = 1}, drops) / static_cast<double>(server.size());
    errors.corrected += ErrorOf(line, drops) / static_cast<double>(server.size());
  }
  return errors;
}

std::string Calibration::Json() const {
  const nlohmann::ordered_json json = {{"source", source},
                                       {"server_abs_rel", depth.server_abs_rel},
                                       {"lite_abs_rel", depth.lite_abs_rel},
                                       {"depth_drop_rate", depth.drop_rate},
                                       {"fused_drop_share", depth.fused_drop_share},
                                       {"lite_correction_intercept", depth.lite_correction.intercept},
                                       {"lite_correction_slope", depth.lite_correction.slope},
                                       {"box_drop_rate", box_drop_rate},
                                       {"odometry_intercept", odometry.bound.intercept},
                                       {"odometry_slope", odometry.bound.slope},
                                       {"odometry_base_stride", odometry.base_stride},
                                       {"odometry_stride", odometry.stride}};
  return json.dump(1) + "\n";
}

absl::StatusOr<Calibration> Calibration::Parse(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidArgument("a calibration is a JSON object");
  Calibration calibration;
  const auto number = [&](const char* key, double& value) -> absl::Status {
    if (!json.contains(key) || !json[key].is_number() || !std::isfinite(json[key].get<double>()))
      return InvalidArgument("a calibration says {}, a number", key);
    value = json[key].get<double>();
    return absl::OkStatus();
  };
  if (json.contains("source") && json["source"].is_string()) calibration.source = json["source"].get<std::string>();
  double base_stride = 0, stride = 0;
  WHARF_RETURN_IF_ERROR(number("server_abs_rel", calibration.depth.server_abs_rel));
  WHARF_RETURN_IF_ERROR(number("lite_abs_rel", calibration.depth.lite_abs_rel));
  WHARF_RETURN_IF_ERROR(number("depth_drop_rate", calibration.depth.drop_rate));
  WHARF_RETURN_IF_ERROR(number("fused_drop_share", calibration.depth.fused_drop_share));
  WHARF_RETURN_IF_ERROR(number("lite_correction_intercept", calibration.depth.lite_correction.intercept));
  WHARF_RETURN_IF_ERROR(number("lite_correction_slope", calibration.depth.lite_correction.slope));
  WHARF_RETURN_IF_ERROR(number("box_drop_rate", calibration.box_drop_rate));
  WHARF_RETURN_IF_ERROR(number("odometry_intercept", calibration.odometry.bound.intercept));
  WHARF_RETURN_IF_ERROR(number("odometry_slope", calibration.odometry.bound.slope));
  WHARF_RETURN_IF_ERROR(number("odometry_base_stride", base_stride));
  WHARF_RETURN_IF_ERROR(number("odometry_stride", stride));
  if (!(base_stride >= 1 && stride > base_stride && stride <= 1e6))
    return InvalidArgument("a calibration's strides grow, from 1 on");
  calibration.odometry.base_stride = static_cast<int>(base_stride);
  calibration.odometry.stride = static_cast<int>(stride);
  return calibration;
}

}  // namespace wharf::multitask
