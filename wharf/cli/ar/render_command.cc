// wharf ar render: videos of the synthetic world, with what is true of them.
#include <cstdio>
#include <memory>
#include <numbers>
#include <optional>
#include <string>

#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/scene/source/recording.h"
#include "wharf/scene/world/videos.h"

namespace wharf::cli {
namespace {

constexpr const char* kArRenderFooter = R"(
What the folder holds, docs/world.md says. Evaluation videos must never be trained or calibrated on.

Examples: wharf ar render --category H/H --video 3 --frames 0:600:10 --out /tmp/h-h-3
          wharf ar render --category L/L --video 0 --split training --size 832x256 --out /tmp/l-l-0
          wharf ar render --list)";

struct Size {
  int width = 448, height = 128;
};
struct FrameRange {
  int64_t first = 0, last = scene::World::kFrames - 1, step = 1;
};

absl::StatusOr<Size> ParseSize(const std::string& text) {
  Size size;
  int end = 0;
  if (std::sscanf(text.c_str(), "%4dx%4d%n", &size.width, &size.height, &end) != 2 ||
      end != static_cast<int>(text.size()) || size.width < 16 || size.height < 16) {
    return InvalidArgument("{:?} is no size such as 448x128, of 16 to 9999", text);
  }
  return size;
}

absl::StatusOr<FrameRange> ParseFrames(const std::string& text) {
  FrameRange range;
  long first = 0, last = 0, step = 1;
  int end = 0, end_with_step = 0;
  const int fields = std::sscanf(text.c_str(), "%6ld:%6ld%n:%6ld%n", &first, &last, &end, &step, &end_with_step);
  const bool whole = (fields == 2 ? end : end_with_step) == static_cast<int>(text.size());
  if (fields < 2 || !whole || first < 0 || last < first || last >= scene::World::kFrames || step < 1) {
    return InvalidArgument("{:?} is not FIRST:LAST or FIRST:LAST:STEP within 0:{}", text, scene::World::kFrames - 1);
  }
  return FrameRange{first, last, step};
}

struct ArRenderOptions {
  std::string category = "L/L", split = "evaluation", out, video_file;
  int video = 0;
  Size size;
  FrameRange frames;
  bool list = false;
};

absl::Status ListVideos(scene::Split split) {
  std::printf("video    seed     dynamic pixels  turning      speed    fits\n");
  for (const scene::Category& category : scene::kCategories) {
    for (int number = 0; number < scene::kVideosPerCategory; ++number) {
      WHARF_ASSIGN_OR_RETURN(const scene::Video video, scene::FindVideo(category, number, split));
      const scene::VideoMeasures measures =
          scene::MeasureVideo(scene::World(video.seed, video.Options()), scene::kMeasuringStride);
      std::printf("%s %-4d %-8llu %8.1f %%  %8.1f deg/s %6.1f m/s  %s\n", scene::CategoryName(category).c_str(), number,
                  static_cast<unsigned long long>(video.seed), 100 * measures.dynamic_share,
                  measures.angular_velocity * 180 / std::numbers::pi, measures.speed_mps,
                  scene::IsOf(category, measures) ? "yes" : "NO");
      std::fflush(stdout);
    }
  }
  return absl::OkStatus();
}

// The IMU samples since the last frame that was written, those of frames left out too.
std::vector<scene::ImuSample> ImuBetween(const scene::World& world, int64_t before, int64_t index) {
  std::vector<scene::ImuSample> all;
  for (int64_t i = before + 1; i <= index; ++i) {
    const auto samples = world.ImuAt(i);
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

absl::Status RunArRender(const ArRenderOptions& options) {
  WHARF_ASSIGN_OR_RETURN(const scene::Split split, scene::ParseSplit(options.split));
  if (options.list) return ListVideos(split);
  if (options.out.empty() && options.video_file.empty()) {
    throw CLI::ValidationError("render", "say --out FOLDER or --video-file FILE");
  }
  WHARF_ASSIGN_OR_RETURN(const scene::Category category, scene::ParseCategory(options.category));
  WHARF_ASSIGN_OR_RETURN(const scene::Video video, scene::FindVideo(category, options.video, split));
  const scene::World world(video.seed, video.Options());
  const auto& [first, last, step] = options.frames;
  const auto [width, height] = options.size;
  const double rate = static_cast<double>(scene::World::kFramesPerSecond) / static_cast<double>(step);
  std::optional<scene::Recording> recording;
  std::optional<scene::VideoWriter> writer;
  if (!options.out.empty()) {
    const double begin = static_cast<double>(first) / scene::World::kFramesPerSecond;
    WHARF_ASSIGN_OR_RETURN(recording,
                           scene::Recording::Create(options.out, scene::World::Camera(width, height), rate, begin));
  }
  if (!options.video_file.empty()) {
    WHARF_ASSIGN_OR_RETURN(writer, scene::VideoWriter::Create(options.video_file, width, height, rate));
  }
  for (int64_t index = first; index <= last; index += step) {
    scene::Frame frame = world.FrameAt(index, width, height);
    if (index > first) frame.imu = ImuBetween(world, index - step, index);
    if (recording) WHARF_RETURN_IF_ERROR(recording->Add(frame, world.TruthAt(index, width, height)));
    if (writer) writer->Add(frame.image);
  }
  return recording ? recording->Finish() : absl::OkStatus();
}

}  // namespace

void AddArRenderCommand(CLI::App& app) {
  CLI::App* command =
      ArCommand(app).add_subcommand("render", "Make videos of a town that is not there, and their truth.");
  command->footer(kArRenderFooter);
  auto options = std::make_shared<ArRenderOptions>();
  command->add_option("--category", options->category, "L/L, L/H, H/L or H/H: what moves / how fast the camera turns")
      ->capture_default_str();
  command->add_option("--video", options->video, "Its number, from 0")->type_name("N")->capture_default_str();
  command->add_option("--split", options->split, "training, calibration or evaluation")->capture_default_str();
  AddQuantity(command, "--frames", options->frames, ParseFrames, "Of the 2400, 60 a second", "0:2399")
      ->type_name("FIRST:LAST[:STEP]");
  AddQuantity(command, "--size", options->size, ParseSize, "Of the pictures, in pixels", "448x128")
      ->type_name("WIDTHxHEIGHT");
  command->add_option("--out", options->out, "Write pictures, depths and tables here")->type_name("FOLDER");
  command->add_option("--video-file", options->video_file, "Write a video here: .mp4 or .avi")->type_name("FILE");
  command->add_flag("--list", options->list, "Print what every video of the split shows, and nothing else");
  command->callback([options] {
    if (const absl::Status done = RunArRender(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
