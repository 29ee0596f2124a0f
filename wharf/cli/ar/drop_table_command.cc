// wharf ar drop-table: what local tracking costs in videos of the synthetic world, for wharf bench serving.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "wharf/cli/ar/drop_table.h"
#include "wharf/cli/ar/networks.h"
#include "wharf/cli/bench/common/progress.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/exec/torch_engine.h"

namespace wharf::cli {
namespace {

constexpr const char* kArDropTableFooter = R"(
The network's result for every --step th frame of each video is tracked over every stride and compared with the truth and
with the network's own result there. A table a video: OUTPUT/CATEGORY-NUMBER.drop.

Example: wharf ar drop-table --task depth --videos 5 --output tables)";

struct ArDropTableOptions {
  std::string networks, task = "depth", split = "evaluation", output;
  int first_video = 0, videos = 5;
  double seconds = scene::World::kSeconds;
  DropTableOptions table;
};

using MakeTable = std::function<absl::StatusOr<serving::DropTable>(const scene::World& world, const std::string& name)>;

absl::StatusOr<MakeTable> Load(const exec::Engine& engine, const ArDropTableOptions& options) {
  if (options.task == "detection") {
    WHARF_ASSIGN_OR_RETURN(auto network, perception::Detector::Load(engine, options.networks + "/detector.onnx", {}));
    return MakeTable(
        [kept = std::make_shared<perception::Detector>(std::move(network)), table = options.table](
            const auto& world, const auto& name) { return MakeDetectionDropTable(world, name, *kept, table); });
  }
  WHARF_ASSIGN_OR_RETURN(auto network, perception::DepthNetwork::Load(engine, options.networks + "/depth.onnx", {}));
  return MakeTable([kept = std::make_shared<perception::DepthNetwork>(std::move(network)), table = options.table](
                       const auto& world, const auto& name) { return MakeDepthDropTable(world, name, *kept, table); });
}

absl::Status RunArDropTable(ArDropTableOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (error) return PermissionDenied("{}: {}", options.output, error.message());
  options.table.frames = static_cast<int>(options.seconds * scene::World::kFramesPerSecond);
  WHARF_ASSIGN_OR_RETURN(const scene::Split split, scene::ParseSplit(options.split));
  const auto engine = exec::MakeTorchEngine({1});
  WHARF_ASSIGN_OR_RETURN(const MakeTable make, Load(*engine, options));
  Progress progress(scene::kCategories.size() * static_cast<size_t>(options.videos));
  for (int number = options.first_video; number < options.first_video + options.videos; ++number) {
    for (const scene::Category& category : scene::kCategories) {
      std::string name = fmt::format("{}-{:02d}", scene::CategoryName(category), number);
      std::erase(name, '/');
      progress.Step(name);
      WHARF_ASSIGN_OR_RETURN(const scene::Video video, scene::FindVideo(category, number, split));
      WHARF_ASSIGN_OR_RETURN(const serving::DropTable table, make(scene::World(video.seed, video.Options()), name));
      const std::vector<std::byte> bytes = table.Bytes();
      const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      WHARF_RETURN_IF_ERROR(WriteFile(fmt::format("{}/{}.drop", options.output, name), text));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddArDropTableCommand(CLI::App& app) {
  CLI::App* command = ArCommand(app).add_subcommand("drop-table", "Measure what local tracking costs, for emulation.");
  command->footer(kArDropTableFooter);
  auto options = std::make_shared<ArDropTableOptions>();
  AddNetworksOption(command, options->networks);
  command->add_option("--task", options->task, "depth or detection")
      ->check(CLI::IsMember({"depth", "detection"}))
      ->capture_default_str();
  command->add_option("--split", options->split, "training, calibration or evaluation")->capture_default_str();
  command->add_option("--videos", options->videos, "Of each of the four categories")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  command->add_option("--first-video", options->first_video, "The number of the first of them")
      ->check(CLI::Range(0, 19))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "Of each video, from its beginning")
      ->check(CLI::Range(2.0, double{scene::World::kSeconds}))
      ->capture_default_str();
  command->add_option("--step", options->table.step, "Frames between those that are tracked from")
      ->check(CLI::Range(1, 60))
      ->capture_default_str();
  command->add_option("--strides", options->table.strides, "Rising; what is between is interpolated")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--output", options->output, "Where to write the tables")->type_name("DIR")->required();
  command->callback([options] {
    if (const absl::Status done = RunArDropTable(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
