// wharf ar client: an AR application's side in real time, on a video or on a drive through the synthetic world.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "wharf/ar/client.h"
#include "wharf/cli/ar_client.h"
#include "wharf/cli/ar_command.h"
#include "wharf/cli/ar_frames.h"
#include "wharf/cli/ar_networks.h"
#include "wharf/cli/commands.h"
#include "wharf/cli/files.h"
#include "wharf/cli/option_types.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/multitask/experiment/calibration.h"
#include "wharf/perception/depth_network.h"
#include "wharf/report/table.h"

namespace wharf::cli {
namespace {

constexpr const char* kFooter = R"(
For every frame, within that frame, the client has depth (warped from the server's last map, or the lite network's), pose
(a Kalman filter over the IMU and what the server measures) and boxes (tracked by optical flow). What is offloaded when
is AccuMO's decision, or a baseline's (--policy rr, "wrr 3:1", aao, la).

With --sla it is the server's: one task is offloaded when the server's schedule for all its clients says, and tracked in
between, so that the mean accuracy (AbsRel of depth, IoU of boxes) stays within --sla of what a server of its own would
give. A server without room hands the client over to another (wharf ar serve --next); until one has room it tracks on.

A video needs imu.csv beside its pictures for depth and pose (wharf ar render writes such folders); without it, say
--tasks boxes. On the synthetic world results are held against the truth.

Examples: wharf ar client --server 10.0.0.2:7072 --synthetic H/H:3 --duration 20s --tasks depth,odometry,boxes
          wharf ar client --server 10.0.0.2:7072 --synthetic H/L:0 --tasks depth --sla 0.05)";

const std::map<std::string, ar::Task> kTaskNames = {
    {"depth", ar::Task::kDepth}, {"odometry", ar::Task::kOdometry}, {"boxes", ar::Task::kBoxes}};

class ArClient {
 public:
  explicit ArClient(const ArClientOptions& options) : options_(options) {}

  absl::Status Run() {
    if (!options_.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options_.json));
    const auto engine = exec::MakeTorchEngine({.threads = 1});
    WHARF_ASSIGN_OR_RETURN(const auto lite,
                           perception::DepthNetwork::Load(*engine, options_.networks + "/lite.onnx", {}));
    WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(options_.networks + "/accumo.json"));
    WHARF_ASSIGN_OR_RETURN(const multitask::Calibration calibration, multitask::Calibration::Parse(text));
    WHARF_ASSIGN_OR_RETURN(Sight sight, MakeSight(options_, lite.Width(), lite.Height(), calibration.odometry));
    PacedFrames frames(*sight.source);
    WHARF_ASSIGN_OR_RETURN(multitask::FramePointer frame, frames.Next());
    if (frame == nullptr) return FailedPrecondition("there are no frames");
    WHARF_RETURN_IF_ERROR(BeginAt(*frame, options_, sight));
    WHARF_ASSIGN_OR_RETURN(ar::ClientConfig config, ConfigFor(sight, lite, calibration));
    WHARF_ASSIGN_OR_RETURN(const auto client, ar::Client::Open(std::move(config)));
    const TimePoint end = Clock::Real().Now() + options_.duration;
    while (frame != nullptr && Clock::Real().Now() < end) {
      Take(frame, *client);
      WHARF_ASSIGN_OR_RETURN(frame, frames.Next());
    }
    late_ = frames.Late();
    if (sight.world != nullptr) found_ = errors_.Compare(*sight.world, options_.Has(ar::Task::kBoxes));
    return Show(client->Counts());
  }

 private:
  absl::StatusOr<ar::ClientConfig> ConfigFor(const Sight& sight, const perception::DepthNetwork& lite,
                                             const multitask::Calibration& calibration) const {
    ar::ClientConfig config;
    config.camera = sight.source->Camera();
    config.frames_per_s = sight.source->FramesPerSecond();
    config.tasks = options_.tasks;
    config.policy = options_.policy;
    if (!options_.weights.empty()) {
      WHARF_ASSIGN_OR_RETURN(const multitask::Policy policy,
                             multitask::ParsePolicy("wrr " + options_.weights, static_cast<int>(config.tasks.size())));
      config.weights.assign(policy.turns.begin(), policy.turns.end());
    }
    WHARF_ASSIGN_OR_RETURN(config.profile, multitask::NamedProfile("thesis"));
    config.lite = [&lite](const multitask::FramePointer& frame) -> absl::StatusOr<multitask::DepthPointer> {
      WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, lite.Estimate(frame->image));
      return std::make_shared<const scene::DepthMap>(std::move(depth));
    };
    config.depth = calibration.depth;
    config.odometry = sight.odometry;
    config.box_drop_rate = calibration.box_drop_rate;
    config.server = options_.access.server;
    config.dial = [access = options_.access](const std::string& server) {
      return link::Connect(server, access.Connecting());
    };
    WHARF_ASSIGN_OR_RETURN(config.token, options_.access.Token());
    config.depth_coding = options_.Coding();
    config.jpeg_quality = options_.jpeg_quality;
    return config;
  }

  void Take(const multitask::FramePointer& frame, ar::Client& client) {
    const TimePoint begun = Clock::Real().Now();
    const ar::Results results = client.OnFrame(frame);
    frame_ms_.push_back(Milliseconds(Clock::Real().Now() - begun));
    errors_.Add(frame->index, results.depth, results.boxes, results.pose);
    for (size_t i = 0; i < options_.tasks.size(); ++i) {
      const multitask::TaskReport& task = results.report.tasks[i];
      strides_[i] += std::max(0, task.stride);
      local_[i] += task.source == multitask::Source::kLocalAlgorithm ? 1 : 0;
    }
  }

  absl::Status Show(const multitask::ClientCounts& counts) {
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
    std::printf(
        "%.0f frames, %.1f ms of work each (median), p99 %.1f; %lld came late; %lld offloads lost, %lld answers "
        "refused\n",
        frames, median, p99, static_cast<long long>(late_), static_cast<long long>(counts.lost),
        static_cast<long long>(counts.refused));
    if (options_.json.empty()) return absl::OkStatus();
    const nlohmann::ordered_json all = {{"frames", frame_ms_.size()},
                                        {"frame_ms_median", median},
                                        {"frame_ms_p99", p99},
                                        {"frames_late", late_},
                                        {"offloads_lost", counts.lost},
                                        {"answers_refused", counts.refused},
                                        {"tasks", rows}};
    return WriteFile(options_.json, all.dump(1) + "\n");
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
  int64_t late_ = 0;
};

}  // namespace

void AddArClientCommand(CLI::App& app) {
  CLI::App* command = ArCommand(app).add_subcommand("client", "Have depth, pose and boxes of every frame of a camera.");
  command->footer(kFooter);
  auto options = std::make_shared<ArClientOptions>();
  AddServerAccess(command, options->access);
  AddNetworksOption(command, options->networks);
  auto* video =
      command->add_option("--video", options->video, "A video file, or a folder of pictures")->type_name("PATH");
  command->add_option("--synthetic", options->synthetic, "A drive through the synthetic world: CATEGORY:NUMBER")
      ->excludes(video)
      ->capture_default_str();
  command->add_option("--tasks", options->tasks, "depth, odometry, boxes")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(kTaskNames))
      ->default_str("depth,odometry; depth with --sla");
  auto* sla = command->add_option("--sla", options->sla, "Have the server keep this accuracy drop, such as 0.05")
                  ->check(CLI::Range(1e-6, 10.0));
  command->add_option("--policy", options->policy, "accumo, rr, \"wrr X:Y\", aao, la")
      ->excludes(sla)
      ->capture_default_str();
  command->add_option("--weights", options->weights, "Of the tasks' errors, such as 2:1; as it is, all alike")
      ->excludes(sla);
  command->add_option("--depth-coding", options->depth_coding, "How depth maps travel")
      ->check(CLI::IsMember({"half", "jpeg"}))
      ->capture_default_str();
  command->add_option("--quality", options->jpeg_quality, "Of the pictures' JPEGs")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  AddDuration(command, "--duration", options->duration, "At most");
  command->add_option("--json", options->json, "Write what came out here")->type_name("FILE");
  command->callback([options] {
    FinishServerAccess("ar client", options->access);
    if (options->access.server.empty()) options->access.server = "127.0.0.1:7072";
    const bool agreed = options->sla > 0;
    if (options->tasks.empty()) options->tasks = {ar::Task::kDepth};
    if (!agreed && options->tasks.size() == 1 && options->Has(ar::Task::kDepth))
      options->tasks.push_back(ar::Task::kOdometry);  // depth is warped by the motion
    const absl::Status done = agreed ? RunAgreedClient(*options) : ArClient(*options).Run();
    if (!done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
