// wharf ar client: an AR application's side in real time, on a video or on a drive through the synthetic world.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "wharf/ar/client.h"
#include "wharf/cli/ar_command.h"
#include "wharf/cli/ar_frames.h"
#include "wharf/cli/ar_networks.h"
#include "wharf/cli/commands.h"
#include "wharf/cli/files.h"
#include "wharf/cli/option_types.h"
#include "wharf/cli/server_access.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/multitask/experiment/calibration.h"
#include "wharf/multitask/experiment/world_start.h"
#include "wharf/perception/depth_network.h"
#include "wharf/report/table.h"
#include "wharf/scene/source.h"
#include "wharf/scene/videos.h"

namespace wharf::cli {
namespace {

constexpr const char* kFooter = R"(
For every frame, within that frame, the client has depth (warped from the server's last map, or the lite network's), pose
(a Kalman filter over the IMU and what the server measures) and boxes (tracked by optical flow). What is offloaded when
is AccuMO's decision, or a baseline's (--policy rr, "wrr 3:1", aao, la).

A video needs imu.csv beside its pictures for depth and pose (wharf ar render writes such folders); without it, say
--tasks boxes. On the synthetic world results are held against the truth.

Example: wharf ar client --server 10.0.0.2:7072 --synthetic H/H:3 --duration 20s --tasks depth,odometry,boxes)";

const std::map<std::string, ar::Task> kTaskNames = {
    {"depth", ar::Task::kDepth}, {"odometry", ar::Task::kOdometry}, {"boxes", ar::Task::kBoxes}};

struct ArClientOptions {
  ServerAccess access;
  std::string networks, video, synthetic = "H/H:0", policy = "accumo", weights, depth_coding = "half", json;
  std::vector<ar::Task> tasks = {ar::Task::kDepth, ar::Task::kOdometry};
  int jpeg_quality = 90;
  Nanoseconds duration = std::chrono::seconds(scene::World::kSeconds);
};

// What the client sees, and in the synthetic world what is true of it.
struct Sight {
  std::unique_ptr<scene::World> world;
  std::unique_ptr<scene::Source> source;
  multitask::OdometryTaskOptions odometry;  // where it starts
};

absl::StatusOr<Sight> SyntheticSight(const std::string& name, int width, int height,
                                     const track::OdometryAccuracyModel& accuracy) {
  const size_t colon = name.find(':');
  WHARF_ASSIGN_OR_RETURN(const scene::Category category, scene::ParseCategory(name.substr(0, colon)));
  int number = 0;
  if (colon != std::string::npos && !CLI::detail::lexical_cast(name.substr(colon + 1), number))
    return InvalidArgument("--synthetic takes CATEGORY:NUMBER, such as H/L:3");
  WHARF_ASSIGN_OR_RETURN(const scene::Video video, scene::FindVideo(category, number, scene::Split::kEvaluation));
  Sight sight;
  sight.world = std::make_unique<scene::World>(video.seed, video.Options());
  sight.source = scene::MakeWorldSource(*sight.world, width, height);
  sight.odometry = multitask::OdometryIn(*sight.world, {}, accuracy);
  return sight;
}

absl::StatusOr<Sight> FileSight(const std::string& path, int width, int height,
                                const track::OdometryAccuracyModel& accuracy) {
  WHARF_ASSIGN_OR_RETURN(scene::FileSource file, scene::OpenFiles(path, {.width = width, .height = height}));
  if (!file.assumption.empty()) std::fprintf(stderr, "wharf: %s\n", file.assumption.c_str());
  Sight sight;
  sight.source = std::move(file.source);
  sight.odometry.accuracy = accuracy;
  sight.odometry.frame_s = 1 / sight.source->FramesPerSecond();
  return sight;
}

// Of the first frame: a camera whose start is not known stands level, as far as the IMU can tell, and still.
absl::Status BeginAt(const scene::Frame& first, bool known, const std::vector<ar::Task>& tasks,
                     multitask::OdometryTaskOptions& odometry) {
  const bool moves = std::ranges::any_of(tasks, [](ar::Task task) { return task != ar::Task::kBoxes; });
  if (!moves || known) return absl::OkStatus();
  if (first.imu.empty())
    return FailedPrecondition("the video has no IMU samples with its first frame: say --tasks boxes");
  auto level = track::AlignWithGravity(first.imu, odometry.filter.gravity);
  if (level.ok()) odometry.start.pose.rotation = *level;
  odometry.start.velocity_sd = 2;
  odometry.start.orientation_sd = 0.1;
  odometry.start.time_s = first.imu.front().time_s;
  return absl::OkStatus();
}

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
    WHARF_ASSIGN_OR_RETURN(Sight sight,
                           options_.video.empty()
                               ? SyntheticSight(options_.synthetic, lite.Width(), lite.Height(), calibration.odometry)
                               : FileSight(options_.video, lite.Width(), lite.Height(), calibration.odometry));
    PacedFrames frames(*sight.source);
    WHARF_ASSIGN_OR_RETURN(multitask::FramePointer frame, frames.Next());
    if (frame == nullptr) return FailedPrecondition("there are no frames");
    WHARF_RETURN_IF_ERROR(BeginAt(*frame, sight.world != nullptr, options_.tasks, sight.odometry));
    WHARF_ASSIGN_OR_RETURN(ar::ClientConfig config, ConfigFor(sight, lite, calibration));
    WHARF_ASSIGN_OR_RETURN(const auto client, ar::Client::Open(std::move(config)));
    const TimePoint end = Clock::Real().Now() + options_.duration;
    while (frame != nullptr && Clock::Real().Now() < end) {
      Take(frame, *client);
      WHARF_ASSIGN_OR_RETURN(frame, frames.Next());
    }
    late_ = frames.Late();
    if (sight.world != nullptr) Compare(*sight.world);
    return Show(client->Counts());
  }

 private:
  struct Kept {
    int64_t frame = 0;
    multitask::DepthPointer depth;
    std::vector<scene::Box> boxes;
  };
  static constexpr int kEvery = 12;  // frames, of which results are kept to be held against the truth

  bool Has(ar::Task task) const { return std::ranges::count(options_.tasks, task) > 0; }

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
    config.dial = [access = options_.access] { return link::Connect(access.server, access.Connecting()); };
    WHARF_ASSIGN_OR_RETURN(config.token, options_.access.Token());
    config.depth_coding = options_.depth_coding == "jpeg" ? ar::DepthCoding::kJpeg : ar::DepthCoding::kHalf;
    config.jpeg_quality = options_.jpeg_quality;
    return config;
  }

  void Take(const multitask::FramePointer& frame, ar::Client& client) {
    const TimePoint begun = Clock::Real().Now();
    const ar::Results results = client.OnFrame(frame);
    frame_ms_.push_back(Milliseconds(Clock::Real().Now() - begun));
    if (results.pose) poses_.push_back(*results.pose);
    for (size_t i = 0; i < options_.tasks.size(); ++i) {
      const multitask::TaskReport& task = results.report.tasks[i];
      strides_[i] += std::max(0, task.stride);
      local_[i] += task.source == multitask::Source::kLocalAlgorithm ? 1 : 0;
    }
    if (frame->index % kEvery == 0) kept_.push_back({frame->index, results.depth, results.boxes});
  }

  void Compare(const scene::World& world) {
    std::vector<scene::Pose> truth;
    for (size_t i = 0; i < poses_.size(); ++i)
      truth.push_back(world.MotionAt(static_cast<double>(i) / scene::World::kFramesPerSecond).pose);
    if (const auto error =
            track::TranslationError(truth, poses_, multitask::SegmentsOf(static_cast<int64_t>(truth.size())));
        error.ok()) {
      t_err_ = *error;
    }
    double abs_rel = 0, iou = 0;
    int depths = 0;
    for (const Kept& kept : kept_) {
      if (kept.depth == nullptr && !Has(ar::Task::kBoxes)) continue;
      const scene::Intrinsics camera =
          kept.depth ? scene::World::Camera(kept.depth->width, kept.depth->height) : scene::World::Camera(448, 128);
      const scene::Truth seen = world.TruthAt(kept.frame, camera.width, camera.height);
      iou += track::MeanIou(kept.boxes, seen.boxes);
      if (kept.depth == nullptr) continue;
      abs_rel += track::AbsRel(*kept.depth, seen.depth).value_or(1);
      ++depths;
    }
    if (depths > 0) abs_rel_ = abs_rel / depths;
    if (Has(ar::Task::kBoxes) && !kept_.empty()) iou_ = iou / static_cast<double>(kept_.size());
  }

  absl::Status Show(const multitask::ClientCounts& counts) {
    using report::Align;
    std::ranges::sort(frame_ms_);
    const double frames = static_cast<double>(std::max<size_t>(1, frame_ms_.size()));
    report::Table table(
        {{"task"}, {"offloads", Align::kRight}, {"mean stride", Align::kRight}, {"local", Align::kRight}, {"error"}});
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (size_t i = 0; i < options_.tasks.size(); ++i) {
      const auto named = std::ranges::find(kTaskNames, options_.tasks[i], [](const auto& one) { return one.second; });
      const auto [metric, error] = ErrorOf(options_.tasks[i]);
      table.AddRow({named->first, std::to_string(counts.offloads[i]), fmt::format("{:.1f}", strides_[i] / frames),
                    fmt::format("{:.0f} %", 100 * local_[i] / frames),
                    error < 0 ? "" : fmt::format("{} {:.3f}", metric, error)});
      nlohmann::ordered_json row = {{"task", named->first},
                                    {"offloads", counts.offloads[i]},
                                    {"mean_stride", strides_[i] / frames},
                                    {"local_share", local_[i] / frames}};
      if (error >= 0) row[metric] = error;
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

  // Negative: not known.
  std::pair<const char*, double> ErrorOf(ar::Task task) const {
    switch (task) {
      case ar::Task::kDepth:
        return {"abs_rel", abs_rel_};
      case ar::Task::kOdometry:
        return {"t_err", t_err_};
      case ar::Task::kBoxes:
        return {"iou", iou_};
    }
    return {"", -1};
  }

  const ArClientOptions& options_;
  std::vector<double> frame_ms_;
  std::vector<scene::Pose> poses_;
  std::vector<Kept> kept_;
  std::array<double, ar::kTasks> strides_{}, local_{};
  int64_t late_ = 0;
  double abs_rel_ = -1, t_err_ = -1, iou_ = -1;
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
      ->default_str("depth,odometry");
  command->add_option("--policy", options->policy, "accumo, rr, \"wrr X:Y\", aao, la")->capture_default_str();
  command->add_option("--weights", options->weights, "Of the tasks' errors, such as 2:1; as it is, all alike");
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
    if (const absl::Status done = ArClient(*options).Run(); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
