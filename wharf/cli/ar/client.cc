#include "wharf/cli/ar/client.h"

#include <algorithm>
#include <cstdio>

#include "wharf/ar/client_kit/client_kit.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/multitask/experiment/world_start.h"
#include "wharf/scene/world/videos.h"
#include "wharf/track/metrics.h"

namespace wharf::cli {
namespace {

constexpr ar::Task kAllTasks[] = {ar::Task::kDepth, ar::Task::kOdometry, ar::Task::kBoxes};
constexpr int kEvery = 12;  // frames, of which results are kept

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

}  // namespace

bool ArClientOptions::Has(ar::Task task) const { return std::ranges::count(tasks, task) > 0; }

ar::Dial ArClientOptions::Dialling() const {
  if (dial) return dial;
  return [access = access](const std::string& server) { return link::Connect(server, access.Connecting()); };
}

void AddSightOptions(CLI::App* command, ArClientOptions& options) {
  auto* video =
      command->add_option("--video", options.video, "A video file, or a folder of pictures")->type_name("PATH");
  command->add_option("--synthetic", options.synthetic, "A drive through the synthetic world: CATEGORY:NUMBER")
      ->excludes(video)
      ->capture_default_str();
  AddDuration(command, "--duration", options.duration, "At most, by the clock; a slow machine sees fewer frames");
}

CLI::Option* AddTasksOption(CLI::App* command, ArClientOptions& options) {
  const auto take = [&options](const std::vector<std::string>& names) {
    options.tasks.clear();
    for (const std::string& name : names) {
      options.tasks.push_back(*std::ranges::find(kAllTasks, name, [](ar::Task task) { return TaskName(task); }));
    }
  };
  return command->add_option_function<std::vector<std::string>>("--tasks", take, "Which, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(TaskNames({std::begin(kAllTasks), std::end(kAllTasks)})))
      ->type_name("LIST");
}

std::string Whereabouts(const ar::UplinkState& link) {
  std::string text =
      link.connected ? "at " + link.server : fmt::format("away from {}: {}", link.server, link.last_lost);
  if (link.redirects > 0) text += fmt::format("; handed over {} times", link.redirects);
  if (link.nowhere) text += "; no server has room: it goes on by itself";
  return text;
}

std::string TaskName(ar::Task task) { return std::string(ar::kTaskNames.at(static_cast<size_t>(task))); }

std::vector<std::string> TaskNames(const std::vector<ar::Task>& tasks) {
  std::vector<std::string> names;
  for (const ar::Task task : tasks) names.push_back(TaskName(task));
  return names;
}

absl::StatusOr<Sight> MakeSight(const ArClientOptions& options, int width, int height,
                                const track::OdometryAccuracyModel& accuracy) {
  return options.video.empty() ? SyntheticSight(options.synthetic, width, height, accuracy)
                               : FileSight(options.video, width, height, accuracy);
}

absl::Status BeginAt(const scene::Frame& first, const ArClientOptions& options, Sight& sight) {
  const bool moves = options.Has(ar::Task::kDepth) || options.Has(ar::Task::kOdometry);
  if (!moves || sight.world != nullptr) return absl::OkStatus();
  if (!ar::LevelStart(first.imu, sight.odometry).ok())
    return FailedPrecondition("the video has no IMU samples with its first frame: say --tasks boxes");
  return absl::OkStatus();
}

void ResultErrors::Add(int64_t frame, const multitask::DepthPointer& depth, const std::vector<scene::Box>& boxes,
                       const std::optional<scene::Pose>& pose) {
  if (pose) poses_.push_back(*pose);
  if (frame % kEvery == 0) kept_.push_back({frame, depth, boxes});
}

ResultErrors::Errors ResultErrors::Compare(const scene::World& world, bool boxes) const {
  Errors errors;
  std::vector<scene::Pose> truth;
  for (size_t i = 0; i < poses_.size(); ++i)
    truth.push_back(world.MotionAt(static_cast<double>(i) / scene::World::kFramesPerSecond).pose);
  if (const auto error =
          track::TranslationError(truth, poses_, multitask::SegmentsOf(static_cast<int64_t>(truth.size())));
      error.ok()) {
    errors.t_err = *error;
  }
  double abs_rel = 0, iou = 0;
  int depths = 0;
  for (const Kept& kept : kept_) {
    if (kept.depth == nullptr && !boxes) continue;
    const scene::Intrinsics camera =
        kept.depth ? scene::World::Camera(kept.depth->width, kept.depth->height) : scene::World::Camera(448, 128);
    const scene::Truth seen = world.TruthAt(kept.frame, camera.width, camera.height);
    iou += track::MeanIou(kept.boxes, seen.boxes);
    if (kept.depth == nullptr) continue;
    abs_rel += track::AbsRel(*kept.depth, seen.depth).value_or(1);
    ++depths;
  }
  if (depths > 0) errors.abs_rel = abs_rel / depths;
  if (boxes && !kept_.empty()) errors.iou = iou / static_cast<double>(kept_.size());
  return errors;
}

}  // namespace wharf::cli
