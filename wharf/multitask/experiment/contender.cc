#include "wharf/multitask/experiment/contender.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "wharf/base/status.h"
#include "wharf/multitask/experiment/world_start.h"
#include "wharf/track/metrics.h"

namespace wharf::multitask {
namespace {

constexpr int kDepth = 0, kOdometry = 1;               // the tasks' numbers; boxes' is 2
constexpr size_t kRatioWindow = 8, kErrorWindow = 16;  // offloads, frames (thesis, Figure 2.15)

Nanoseconds FromMilliseconds(double ms) { return FromSeconds(ms / 1e3); }

// With the thesis's estimates as they are.
DepthCalibration Uncorrected(DepthCalibration calibration) {
  calibration.lite_correction = DepthCalibration().lite_correction;
  return calibration;
}

}  // namespace

void Comparison::Add(double estimate, double actual) {
  ++count_;
  error_ += std::abs(estimate - actual);
  x_ += estimate;
  y_ += actual;
  xx_ += estimate * estimate;
  yy_ += actual * actual;
  xy_ += estimate * actual;
}
double Comparison::MeanError() const { return count_ == 0 ? 0 : error_ / static_cast<double>(count_); }
double Comparison::MeanActual() const { return count_ == 0 ? 0 : y_ / static_cast<double>(count_); }
double Comparison::Correlation() const {
  const auto n = static_cast<double>(count_);
  const double x = n * xx_ - x_ * x_, y = n * yy_ - y_ * y_;
  return x > 0 && y > 0 ? (n * xy_ - x_ * y_) / std::sqrt(x * y) : 0;
}

Contender::Contender(const Stage& stage, const SystemPolicy& policy)
    : stage_(stage),
      policy_(policy),
      odometry_(OdometryIn(stage.world, {}, stage.calibration.odometry)),
      depth_(scene::World::Camera(stage.options.width, stage.options.height), stage.sight.Lite(),
             policy.uncorrected ? Uncorrected(stage.calibration.depth) : stage.calibration.depth, odometry_,
             policy.depth_fused),
      known_depth_(depth_, stage.sight.Depth(), stage.sight.Lite(), stage.truth),
      boxes_(stage.calibration.box_drop_rate),
      depth_server_(stage.sight.Depth()),
      odometry_server_(stage.sight.Depth(), stage.sight.Motion(), stage.sight.Boxes()),
      boxes_server_(stage.sight.Boxes()) {}

std::vector<Task*> Contender::Tasks() {
  std::vector<Task*> tasks = {policy_.depth_known ? static_cast<Task*>(&known_depth_) : &depth_, &odometry_};
  if (stage_.options.tasks > 2) tasks.push_back(&boxes_);
  return tasks;
}

std::vector<TaskServer*> Contender::Servers() {
  std::vector<TaskServer*> servers = {&depth_server_, &odometry_server_};
  if (stage_.options.tasks > 2) servers.push_back(&boxes_server_);
  return servers;
}

absl::StatusOr<std::unique_ptr<Contender>> Contender::Make(const System& system, const Stage& stage) {
  WHARF_ASSIGN_OR_RETURN(const SystemPolicy policy, ParseSystemPolicy(system.policy, stage.options.tasks));
  std::unique_ptr<Contender> contender(new Contender(stage, policy));
  WHARF_RETURN_IF_ERROR(contender->Start(system));
  return contender;
}

absl::Status Contender::Start(const System& system) {
  const Policy& policy = policy_.policy;
  const std::vector<Task*> tasks = Tasks();
  const bool planned = policy.mode == Mode::kPredictive;
  if (planned && system.weights.size() != tasks.size())
    return InvalidArgument("{} weights for {} tasks", system.weights.size(), tasks.size());
  std::vector<Nanoseconds> offloads, models;
  for (const Task* const task : tasks) {
    const TaskLatency* const latency = system.profile.Find(task->name());
    if (latency == nullptr) return InvalidArgument("\"{}\" does not know {}", system.profile.name, task->name());
    offloads.push_back(FromMilliseconds(latency->offload_ms));
    models.push_back(FromMilliseconds(latency->model_ms));
  }
  offloader_ = std::make_unique<VirtualOffloader>(Servers(), offloads, stage_.clock);
  background_ = std::make_unique<VirtualBackground>(models, stage_.clock);
  AccuracyMerge merge = WeightedMerge(planned ? system.weights : std::vector<double>(tasks.size(), 1));
  WHARF_ASSIGN_OR_RETURN(Client client,
                         Client::Make(tasks, policy, std::move(merge), system.profile, *offloader_, *background_,
                                      stage_.clock, {.frames_per_s = scene::World::kFramesPerSecond}));
  client_.emplace(std::move(client));
  return absl::OkStatus();
}

absl::Status Contender::OnFrame(const FramePointer& frame) {
  const scene::Truth& truth = stage_.truth;
  const FrameReport report = client_->OnFrame(frame);
  const TaskReport& depth = report.tasks[kDepth];
  if (depth_.result() == nullptr) return Internal("no depth for frame {}: {}", frame->index, ToString(depth.status));
  WHARF_ASSIGN_OR_RETURN(const double abs_rel, track::AbsRel(*depth_.result(), truth.depth));
  ++frames_;
  sums_.abs_rel += abs_rel;
  poses_.push_back(odometry_.pose());
  if (stage_.options.tasks > 2) sums_.box_error += 1 - track::MeanIou(boxes_.result(), truth.boxes);
  if (depth.stride >= 0) {
    ++depth_frames_;
    sums_.depth_stride += depth.stride;
  }
  if (report.tasks[kOdometry].stride >= 0) {
    ++odometry_frames_;
    sums_.odometry_stride += report.tasks[kOdometry].stride;
  }
  if (depth.source == Source::kLocalAlgorithm) ++lite_frames_;
  const double decision_us = 1e3 * Milliseconds(report.decision_time);
  sums_.decision_us += decision_us;
  sums_.decision_us_most = std::max(sums_.decision_us_most, decision_us);
  tracker_lost_ = lite_lost_ = -1;
  if (policy_.policy.UsesEstimates() && frame->index % stage_.options.estimate_every == 0)
    WHARF_RETURN_IF_ERROR(CompareEstimates(frame, depth, abs_rel));
  if (stage_.options.timelines) Record(report, abs_rel);
  return absl::OkStatus();
}

// What tracker and lite network lose against the server's network on this frame, which is asked for that here alone.
absl::Status Contender::CompareEstimates(const FramePointer& frame, const TaskReport& depth, double abs_rel) {
  if (depth.stride < 0) return absl::OkStatus();
  WHARF_ASSIGN_OR_RETURN(const DepthPointer server_depth, stage_.sight.Depth()(frame));
  WHARF_ASSIGN_OR_RETURN(const double server, track::AbsRel(*server_depth, stage_.truth.depth));
  if (depth.source == Source::kTracker) {
    tracker_.Add(depth.stride * depth.estimate.drop_rate, abs_rel - server);
    tracker_lost_ = std::max(0.0, abs_rel - server);
  }
  WHARF_ASSIGN_OR_RETURN(const DepthPointer lite_depth, stage_.sight.Lite()(frame));
  WHARF_ASSIGN_OR_RETURN(const double lite, track::AbsRel(*lite_depth, stage_.truth.depth));
  lite_.Add(depth.estimate.local_drop, lite - server);
  lite_lost_ = std::max(0.0, lite - server);
  return absl::OkStatus();
}

void Contender::Record(const FrameReport& report, double abs_rel) {
  const TaskReport& depth = report.tasks[kDepth];
  for (const int task : report.offloaded) last_offloads_.push_back(task);
  while (last_offloads_.size() > kRatioWindow) last_offloads_.pop_front();
  last_errors_.push_back(abs_rel);
  if (last_errors_.size() > kErrorWindow) last_errors_.pop_front();
  const auto offloads = [&](int task) {
    return static_cast<double>(std::count(last_offloads_.begin(), last_offloads_.end(), task));
  };
  const bool known = last_offloads_.size() == kRatioWindow && offloads(kOdometry) > 0;
  timeline_.depth_rate.push_back(depth.estimate.drop_rate);
  timeline_.odometry_rate.push_back(report.tasks[kOdometry].estimate.drop_rate);
  timeline_.tracker_drop.push_back(std::max(0, depth.stride) * depth.estimate.drop_rate);
  timeline_.lite_drop.push_back(depth.estimate.local_drop);
  timeline_.tracker_lost.push_back(tracker_lost_);
  timeline_.lite_lost.push_back(lite_lost_);
  timeline_.offload_ratio.push_back(known ? offloads(kDepth) / offloads(kOdometry) : -1);
  timeline_.lite.push_back(depth.source == Source::kLocalAlgorithm ? 1 : 0);
  timeline_.abs_rel.push_back(std::accumulate(last_errors_.begin(), last_errors_.end(), 0.0) /
                              static_cast<double>(last_errors_.size()));
}

absl::StatusOr<SystemResult> Contender::Finish(const std::vector<scene::Pose>& truth) {
  const ClientCounts& counts = client_->counts();
  const auto over = [](double sum, int64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); };
  Score score = sums_;
  WHARF_ASSIGN_OR_RETURN(score.t_err, track::TranslationError(truth, poses_, SegmentsOf(stage_.options.frames)));
  score.abs_rel = over(sums_.abs_rel, frames_);
  score.box_error = over(sums_.box_error, frames_);
  score.depth_stride = over(sums_.depth_stride, depth_frames_);
  score.odometry_stride = over(sums_.odometry_stride, odometry_frames_);
  const int64_t offloads = std::accumulate(counts.offloads.begin(), counts.offloads.end(), int64_t{0});
  score.depth_share = over(static_cast<double>(counts.offloads[kDepth]), offloads);
  score.odometry_share = over(static_cast<double>(counts.offloads[kOdometry]), offloads);
  score.lite_share = over(static_cast<double>(lite_frames_), frames_);
  score.tracker_estimate_error = tracker_.MeanError();
  score.tracker_drop = tracker_.MeanActual();
  score.tracker_correlation = tracker_.Correlation();
  score.lite_estimate_error = lite_.MeanError();
  score.lite_drop = lite_.MeanActual();
  score.lite_correlation = lite_.Correlation();
  score.decision_us = over(sums_.decision_us, counts.decisions);
  score.lost = static_cast<double>(counts.lost);
  score.refused = static_cast<double>(counts.refused);
  score.failed_results = static_cast<double>(counts.failed_results);
  timeline_.poses = stage_.options.timelines ? poses_ : std::vector<scene::Pose>();
  return SystemResult{score, timeline_};
}

}  // namespace wharf::multitask
