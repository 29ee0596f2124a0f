// wharf ar client with a plan of its own: several tasks, AccuMO or a baseline.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "wharf/ar/client_kit/client_kit.h"
#include "wharf/cli/ar/client.h"
#include "wharf/cli/ar/find_ar_server.h"
#include "wharf/cli/ar/frames.h"
#include "wharf/cli/ar/view_file.h"
#include "wharf/cli/common/files.h"
#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

class OwnRun {
 public:
  explicit OwnRun(const ArClientOptions& options) : options_(options) {}

  absl::Status Run() {
    if (!options_.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options_.json));
    WHARF_ASSIGN_OR_RETURN(const auto kit, ar::ClientKit::Load(options_.networks));
    WHARF_ASSIGN_OR_RETURN(Sight sight, MakeSight(options_, kit->Width(), kit->Height(), kit->Calibrated().odometry));
    PacedFrames frames(*sight.source);
    WHARF_ASSIGN_OR_RETURN(multitask::FramePointer frame, frames.Next());
    if (frame == nullptr) return FailedPrecondition("there are no frames");
    WHARF_RETURN_IF_ERROR(BeginAt(*frame, options_, sight));
    WHARF_ASSIGN_OR_RETURN(ar::ClientConfig config, ConfigFor(sight, *kit));
    WHARF_ASSIGN_OR_RETURN(const auto client, OpenArClient<ar::Client>(std::move(config), options_.access, SayToUser));
    WHARF_ASSIGN_OR_RETURN(ViewFile view, ViewFile::Create(options_.view, ViewTitle(), TaskNames(options_.tasks),
                                                           *sight.source, sight.world.get()));
    const TimePoint end = Clock::Real().Now() + options_.duration;
    while (frame != nullptr && Clock::Real().Now() < end) {
      view.Add(*frame, Take(frame, *client));
      WHARF_ASSIGN_OR_RETURN(frame, frames.Next());
    }
    late_ = frames.Late();
    if (sight.world != nullptr) found_ = errors_.Compare(*sight.world, options_.Has(ar::Task::kBoxes));
    WHARF_RETURN_IF_ERROR(view.Finish());
    return Show(client->Counts(), client->Link());
  }

 private:
  absl::StatusOr<ar::ClientConfig> ConfigFor(const Sight& sight, const ar::ClientKit& kit) const {
    ar::ClientConfig config = kit.Config(sight.source->Camera(), sight.source->FramesPerSecond());
    config.tasks = options_.tasks;
    config.policy = options_.policy;
    config.fuse_depth = !options_.only_warp_depth;
    if (!options_.weights.empty()) {
      WHARF_ASSIGN_OR_RETURN(const multitask::Policy policy,
                             multitask::ParsePolicy("wrr " + options_.weights, static_cast<int>(config.tasks.size())));
      config.weights.assign(policy.turns.begin(), policy.turns.end());
    }
    config.odometry = sight.odometry;
    config.server = options_.access.server;
    config.dial = options_.Dialling();
    WHARF_ASSIGN_OR_RETURN(config.token, options_.access.Token());
    config.depth_coding = options_.Coding();
    config.jpeg_quality = options_.jpeg_quality;
    return config;
  }

  std::string ViewTitle() const {
    const std::string what = options_.video.empty() ? "synthetic " + options_.synthetic : options_.video;
    return fmt::format("AR client, {}: {}", options_.policy, what);
  }

  SeenFrame Take(const multitask::FramePointer& frame, ar::Client& client) {
    const TimePoint begun = Clock::Real().Now();
    const ar::Results results = client.OnFrame(frame);
    frame_ms_.push_back(Milliseconds(Clock::Real().Now() - begun));
    if (results.pose) {
      pose_ = results.pose;
      ++pose_frames_[static_cast<size_t>(pose_->state)];
    }
    std::optional<scene::Pose> pose;
    if (pose_) pose = pose_->pose;
    errors_.Add(frame->index, results.depth, results.boxes, pose);
    for (size_t i = 0; i < options_.tasks.size(); ++i) {
      const multitask::TaskReport& task = results.report.tasks[i];
      strides_[i] += std::max(0, task.stride);
      local_[i] += task.source == multitask::Source::kLocalAlgorithm ? 1 : 0;
    }
    SeenFrame seen{results.depth, results.boxes, results.pose, std::vector<bool>(options_.tasks.size()), ""};
    for (const int task : results.report.offloaded) seen.offloaded[task] = true;
    return seen;
  }

  absl::Status Show(const multitask::ClientCounts& counts, const ar::UplinkState& link) {
    using report::Align;
    std::ranges::sort(frame_ms_);
    const double frames = static_cast<double>(std::max<size_t>(1, frame_ms_.size()));
    report::Table table(
        {{"task"}, {"offloads", Align::kRight}, {"mean stride", Align::kRight}, {"local", Align::kRight}, {"error"}});
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (size_t i = 0; i < options_.tasks.size(); ++i) {
      const auto [metric, error] = ErrorOf(options_.tasks[i]);
      table.AddRow({TaskName(options_.tasks[i]), std::to_string(counts.offloads[i]),
                    fmt::format("{:.1f}", strides_[i] / frames), fmt::format("{:.0f} %", 100 * local_[i] / frames),
                    error ? fmt::format("{} {:.3f}", metric, *error) : ""});
      nlohmann::ordered_json row = {{"task", TaskName(options_.tasks[i])},
                                    {"offloads", counts.offloads[i]},
                                    {"mean_stride", strides_[i] / frames},
                                    {"local_share", local_[i] / frames}};
      if (error) row[metric] = *error;
      rows.push_back(std::move(row));
    }
    const double p99 = frame_ms_.empty() ? 0 : frame_ms_[static_cast<size_t>(0.99 * (frames - 1))];
    const double median = frame_ms_.empty() ? 0 : frame_ms_[static_cast<size_t>(0.5 * (frames - 1))];
    std::fputs(table.Text().c_str(), stdout);
    std::printf("%.0f frames, %.1f ms of work each (median), p99 %.1f; %lld offloads lost, %lld answers refused\n",
                frames, median, p99, static_cast<long long>(counts.lost), static_cast<long long>(counts.refused));
    if (late_ > 0) {
      std::printf(
          "%lld of the frames were painted or read too late for a camera's rate: this machine is too slow or busy\n",
          static_cast<long long>(late_));
    }
    if (pose_) std::printf("%s\n", PoseText().c_str());
    if (!options_.dial) std::printf("%s\n", Whereabouts(link).c_str());  // else the server is in this process
    if (options_.json.empty()) return absl::OkStatus();
    nlohmann::ordered_json all = {
        {"frames", frame_ms_.size()}, {"frame_ms_median", median},    {"frame_ms_p99", p99},
        {"frames_late", late_},       {"offloads_lost", counts.lost}, {"answers_refused", counts.refused},
        {"server", link.server},      {"redirects", link.redirects},  {"tasks", rows}};
    if (pose_) all["pose"] = PoseAsJson();
    return WriteFile(options_.json, all.dump(1) + "\n");
  }

  static constexpr std::array kPoseStates = {track::PoseState::kInitialising, track::PoseState::kGood,
                                             track::PoseState::kUnreliable};

  std::string PoseText() const {
    std::string text = fmt::format("pose: {}", track::PoseStateName(pose_->state));
    if (!pose_->why.empty()) text += fmt::format(" ({})", pose_->why);
    text += fmt::format(" at the end, known to {:.2f} m;", pose_->PositionSd());
    for (const track::PoseState state : kPoseStates) {
      const auto frames = static_cast<double>(pose_frames_[static_cast<size_t>(state)]);
      text += fmt::format(" {} {:.0f} %", track::PoseStateName(state),
                          100 * frames / static_cast<double>(std::max<size_t>(1, frame_ms_.size())));
    }
    return text;
  }

  nlohmann::ordered_json PoseAsJson() const {
    nlohmann::ordered_json json = {
        {"state", track::PoseStateName(pose_->state)}, {"why", pose_->why}, {"position_sd_m", pose_->PositionSd()}};
    for (const track::PoseState state : kPoseStates)
      json[std::string(track::PoseStateName(state)) + "_frames"] = pose_frames_[static_cast<size_t>(state)];
    std::vector<double> values(36);
    Eigen::Map<track::Matrix6>(values.data()) = pose_->covariance;  // symmetric: rows or columns
    json["covariance"] = values;
    return json;
  }

  std::pair<const char*, std::optional<double>> ErrorOf(ar::Task task) const {
    switch (task) {
      case ar::Task::kDepth:
        return {"abs_rel", found_.abs_rel};
      case ar::Task::kOdometry:
        return {"t_err", found_.t_err};
      case ar::Task::kBoxes:
        return {"iou", found_.iou};
    }
    return {};
  }

  const ArClientOptions& options_;
  std::vector<double> frame_ms_;
  ResultErrors errors_;
  ResultErrors::Errors found_;
  std::array<double, ar::kTasks> strides_{}, local_{};
  std::optional<track::PoseEstimate> pose_;  // the last
  std::array<int64_t, 3> pose_frames_{};     // by state
  int64_t late_ = 0;
};

}  // namespace

absl::Status RunOwnClient(const ArClientOptions& options) { return OwnRun(options).Run(); }

}  // namespace wharf::cli
