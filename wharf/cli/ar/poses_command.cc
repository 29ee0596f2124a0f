// wharf ar poses: how far the state and the covariance of a pose can be trusted, on videos of the synthetic world.
#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "wharf/ar/client_kit/client_kit.h"
#include "wharf/cli/ar/networks.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/multitask/experiment/world_start.h"
#include "wharf/multitask/tasks/odometry_task.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"
#include "wharf/report/statistics.h"
#include "wharf/report/table.h"
#include "wharf/scene/world/videos.h"

namespace wharf::cli {
namespace {

using multitask::FramePointer;
using report::Align;
using scene::World;
using track::PoseState;

constexpr const char* kArPosesFooter = R"(
The odometry task of a client and of its server, with the networks, in virtual time: every so many frames one is
offloaded, and its answer comes some frames later. Each case is a way in which tracking goes well or badly.

A pose is beyond its covariance if its position's error is larger than the covariance says 99.73 % of errors are (three
standard deviations; squared, in units of the covariance, more than 14.16). "beyond": of the good frames. "told": of all
frames that are beyond, those whose state is not good. "error / sd": root mean square error of good positions in units
of their covariance, an axis; 1 is right, below it the covariance is cautious.

Example: wharf ar poses --split evaluation --videos 2 --json poses.json)";

constexpr double kBeyond = 14.156;  // 99.73 % of chi-square with 3 degrees of freedom

struct ArPosesOptions {
  std::string networks, split = "evaluation", json;
  int videos = 1, seconds = World::kSeconds;
};

struct PoseCase {
  const char* name;
  int stride = 4, latency = 4;  // frames
  bool known_start = false;
  double depth_scale = 1;     // of what the network says
  double answered_share = 1;  // of every ten seconds, from the first on; then nothing comes
};

constexpr PoseCase kCases[] = {
    {.name = "as it should be", .known_start = true},
    {.name = "start not known"},
    {.name = "slow link", .stride = 16, .latency = 12},
    {.name = "busy machine", .stride = 40, .latency = 30},
    {.name = "answers stop for 6 of 10 s", .stride = 8, .latency = 6, .answered_share = 0.4},
    {.name = "no answers at all", .answered_share = 0},
    {.name = "depth too small by a fifth", .stride = 8, .latency = 6, .depth_scale = 0.8},
};

// What a server finds in the frames of a video, each once for all cases.
class PoseVideo {
 public:
  PoseVideo(const World& world, const perception::DepthNetwork& depth, const perception::Detector& detector)
      : world_(world), depth_(depth), detector_(detector) {}
  struct Found {
    FramePointer frame;
    multitask::DepthPointer depth;
    std::vector<scene::Box> boxes;
  };
  absl::StatusOr<const Found*> At(int64_t index) {
    const auto known = found_.find(index);
    if (known != found_.end()) return &known->second;
    Found found{std::make_shared<const scene::Frame>(world_.FrameAt(index, depth_.Width(), depth_.Height())), {}, {}};
    WHARF_ASSIGN_OR_RETURN(scene::DepthMap depth, depth_.Estimate(found.frame->image));
    found.depth = std::make_shared<const scene::DepthMap>(std::move(depth));
    WHARF_ASSIGN_OR_RETURN(found.boxes, detector_.Detect(found.frame->image));
    return &found_.emplace(index, std::move(found)).first->second;
  }
  const World& world() const { return world_; }
  scene::Intrinsics Camera() const { return World::Camera(depth_.Width(), depth_.Height()); }

 private:
  const World& world_;
  const perception::DepthNetwork& depth_;
  const perception::Detector& detector_;
  std::map<int64_t, Found> found_;
};

// Of one case, over all videos.
struct PoseFindings {
  std::array<int64_t, 3> frames{};  // by state
  int64_t beyond = 0, beyond_good = 0;
  double squares = 0;  // of the good: errors in units of the covariance, 3 axes a frame
  std::vector<double> good_m, other_m, good_sd_m;

  void Add(const track::PoseEstimate& estimate, const Eigen::Vector3d& error) {
    const Eigen::Matrix3d covariance = estimate.covariance.topLeftCorner<3, 3>();
    const double squared = error.dot(covariance.llt().solve(error));
    const bool good = estimate.state == PoseState::kGood;
    ++frames[static_cast<size_t>(estimate.state)];
    beyond += squared > kBeyond ? 1 : 0;
    (good ? good_m : other_m).push_back(error.norm());
    if (!good) return;
    beyond_good += squared > kBeyond ? 1 : 0;
    squares += squared;
    good_sd_m.push_back(estimate.PositionSd());
  }
  double Good() const { return static_cast<double>(frames[1]); }
  double All() const { return static_cast<double>(frames[0] + frames[1] + frames[2]); }
  double BeyondShare() const { return Good() > 0 ? static_cast<double>(beyond_good) / Good() : 0; }
  double ErrorInSd() const { return Good() > 0 ? std::sqrt(squares / (3 * Good())) : 0; }
  std::string Told() const {
    if (beyond == 0) return "none beyond";
    return fmt::format("{:.1f} %", 100 * static_cast<double>(beyond - beyond_good) / static_cast<double>(beyond));
  }
};

double HeadingOf(const scene::Pose& pose) {
  const Eigen::Vector3d forwards = pose.rotation * Eigen::Vector3d::UnitZ();
  return std::atan2(forwards.y(), forwards.x());
}

// Where a camera is, in the axes of a client that takes origin and heading from where it starts; both worlds are level.
Eigen::Vector3d InAxesOf(const scene::Pose& start, const scene::Pose& first, const scene::Pose& pose) {
  const Eigen::AngleAxisd turn(HeadingOf(start) - HeadingOf(first), Eigen::Vector3d::UnitZ());
  return turn * (pose.position - first.position) + start.position;
}

absl::Status RunCase(PoseVideo& video, const PoseCase& one, int64_t frames, PoseFindings& findings) {
  const World& world = video.world();
  multitask::OdometryTaskOptions options = multitask::OdometryIn(world, {}, {});
  if (!one.known_start) {
    multitask::OdometryTaskOptions level;
    WHARF_RETURN_IF_ERROR(ar::LevelStart(world.ImuAt(0), level));
    options.start = level.start;
  }
  multitask::OdometryTask task(options);
  multitask::OdometryServer server(
      [&](const FramePointer& frame) -> absl::StatusOr<multitask::DepthPointer> {
        WHARF_ASSIGN_OR_RETURN(const PoseVideo::Found* const found, video.At(frame->index));
        if (one.depth_scale == 1) return found->depth;
        auto scaled = std::make_shared<scene::DepthMap>(*found->depth);
        for (float& metres : scaled->metres) metres *= static_cast<float>(one.depth_scale);
        return scaled;
      },
      multitask::FeatureMotion(video.Camera()),
      [&](const FramePointer& frame) -> absl::StatusOr<std::vector<scene::Box>> {
        WHARF_ASSIGN_OR_RETURN(const PoseVideo::Found* const found, video.At(frame->index));
        return found->boxes;
      });
  const scene::Pose first = world.MotionAt(0).pose;
  int64_t asked = -1;  // -1: nothing is under way
  for (int64_t now = 0; now < frames; ++now) {
    const double time_s = static_cast<double>(now) / World::kFramesPerSecond;
    scene::Frame seen{.index = now, .time_s = time_s, .image = {}, .imu = world.ImuAt(now)};
    static_cast<void>(task.Observe(std::make_shared<const scene::Frame>(std::move(seen))));
    if (asked >= 0 && now - asked >= one.latency) {
      WHARF_ASSIGN_OR_RETURN(const PoseVideo::Found* const found, video.At(asked));
      const auto answer = server.Serve(found->frame);
      if (answer.ok()) static_cast<void>(task.Accept(asked, **answer));  // else it is as if none had come
      asked = -1;
    }
    const double in_ten_s = static_cast<double>(now % (10 * World::kFramesPerSecond)) / (10 * World::kFramesPerSecond);
    if (asked < 0 && now % one.stride == 0 && in_ten_s < one.answered_share) {
      task.Offloaded();
      asked = now;
    }
    const Eigen::Vector3d truth = InAxesOf(options.start.pose, first, world.MotionAt(time_s).pose);
    findings.Add(task.pose_estimate(), truth - task.pose_estimate().pose.position);
  }
  return absl::OkStatus();
}

std::string MetresOff(std::vector<double> values, double percentile) {
  return values.empty() ? "" : fmt::format("{:.2f}", report::Percentile(std::move(values), percentile));
}

void PrintPoses(const std::vector<PoseFindings>& all) {
  report::Table table({{"case"},
                       {"initialising", Align::kRight},
                       {"good", Align::kRight},
                       {"unreliable", Align::kRight},
                       {"good: m off", Align::kRight},
                       {"p95", Align::kRight},
                       {"sd", Align::kRight},
                       {"error / sd", Align::kRight},
                       {"beyond", Align::kRight},
                       {"others: m off", Align::kRight},
                       {"p95", Align::kRight},
                       {"told", Align::kRight}});
  for (size_t i = 0; i < all.size(); ++i) {
    const PoseFindings& found = all[i];
    std::vector<std::string> cells{kCases[i].name};
    for (const int64_t frames : found.frames)
      cells.push_back(fmt::format("{:.0f} %", 100 * static_cast<double>(frames) / std::max(1.0, found.All())));
    cells.insert(cells.end(),
                 {MetresOff(found.good_m, 0.5), MetresOff(found.good_m, 0.95), MetresOff(found.good_sd_m, 0.5)});
    const bool good = found.Good() > 0;
    cells.push_back(good ? fmt::format("{:.2f}", found.ErrorInSd()) : "");
    cells.push_back(good ? fmt::format("{:.2f} %", 100 * found.BeyondShare()) : "");
    cells.insert(cells.end(), {MetresOff(found.other_m, 0.5), MetresOff(found.other_m, 0.95), found.Told()});
    table.AddRow(std::move(cells));
  }
  std::fputs(table.Text().c_str(), stdout);
}

std::string PosesAsJson(const std::vector<PoseFindings>& all, const ArPosesOptions& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < all.size(); ++i) {
    const PoseFindings& found = all[i];
    nlohmann::ordered_json row{{"case", kCases[i].name},          {"split", options.split},
                               {"videos", options.videos},        {"seconds", options.seconds},
                               {"beyond_frames", found.beyond},   {"beyond_good_frames", found.beyond_good},
                               {"error_in_sd", found.ErrorInSd()}};
    for (size_t state = 0; state < found.frames.size(); ++state)
      row[std::string(track::PoseStateName(static_cast<PoseState>(state))) + "_frames"] = found.frames[state];
    if (!found.good_m.empty()) row["good_error_m_p95"] = report::Percentile(found.good_m, 0.95);
    rows.push_back(std::move(row));
  }
  return rows.dump(1) + "\n";
}

absl::Status RunArPoses(const ArPosesOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const scene::Split split, scene::ParseSplit(options.split));
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options.json));
  const auto engine = exec::MakeTorchEngine({.threads = 1});
  WHARF_ASSIGN_OR_RETURN(const auto depth,
                         perception::DepthNetwork::Load(*engine, options.networks + "/depth.onnx", {}));
  WHARF_ASSIGN_OR_RETURN(const auto detector,
                         perception::Detector::Load(*engine, options.networks + "/detector.onnx", {}));
  std::vector<PoseFindings> all(std::size(kCases));
  for (const scene::Category& category : scene::kCategories) {
    for (int number = 0; number < options.videos; ++number) {
      WHARF_ASSIGN_OR_RETURN(const scene::Video found, scene::FindVideo(category, number, split));
      const World world(found.seed, found.Options());
      PoseVideo video(world, depth, detector);
      for (size_t i = 0; i < std::size(kCases); ++i) {
        WHARF_RETURN_IF_ERROR(RunCase(video, kCases[i], int64_t{options.seconds} * World::kFramesPerSecond, all[i]));
      }
    }
  }
  PrintPoses(all);
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, PosesAsJson(all, options));
}

}  // namespace

void AddArPosesCommand(CLI::App& app) {
  CLI::App* command =
      ArCommand(app).add_subcommand("poses", "Say how far a pose's state and covariance can be trusted.");
  command->footer(kArPosesFooter);
  auto options = std::make_shared<ArPosesOptions>();
  AddNetworksOption(command, options->networks);
  command->add_option("--split", options->split, "training, calibration or evaluation")->capture_default_str();
  command->add_option("--videos", options->videos, "Of each category, from number 0")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Of each video, from its beginning")
      ->check(CLI::Range(1, World::kSeconds))
      ->capture_default_str();
  command->add_option("--json", options->json, "Write a row for each case here")->type_name("FILE");
  command->callback([options] {
    if (const absl::Status done = RunArPoses(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
