// wharf pipeline profile: a model's blocks, measured on device classes of this machine.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "wharf/base/read_file.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/pipeline/runtime/model_source.h"
#include "wharf/pipeline/stages/block_profiler.h"
#include "wharf/split/costs/machine_profile.h"
#include "wharf/wire/digest.h"

namespace wharf::cli {
namespace {

constexpr const char* kPipelineProfileFooter = R"(
A class is a number of threads and a factor by which everything is slowed down: one machine plays several kinds of
devices. With device:cuda, or cuda:N, it is a GPU. vgpus:K measures also a half … a K-th of one (as many times as slow,
while its other parts are busy alike). Times are medians, values in and out of the engine and rounding to halves
included; what of that blocks of one stage save is measured as well.

Writes into the folder block_latency.csv, block_saved.csv and block_output_bytes.csv, which `wharf pipeline plan` reads,
and MODEL.blocks.json, by which `wharf pipeline serve` knows the blocks. Models measured before stay.

Example: wharf pipeline profile net.onnx --out lab --blocks 10 --max-batch 4 --classes fast=threads:2,slow=threads:1,slowdown:3)";

struct ProfileBlocksOptions {
  std::string model, name, out, classes = "cpu=threads:1", cuts = "equal";
  pipeline::BlockProfilerOptions profiler;
};

void Print(const pipeline::BlockProfile& result, const ProfileBlocksOptions& options) {
  std::printf("%s: %d blocks%s; ms of a whole batch\n", options.name.c_str(), result.profile.Blocks(),
              result.together ? "" : ", made for one sample at a time: batches are computed one after the other");
  std::printf("%-6s %-6s %12s", "block", "node", "cut bytes");
  for (const auto& one : result.profile.vgpus) {
    for (int batch = 1; batch <= one.MaxBatch(); ++batch) {
      std::printf(" %12s", fmt::format("{} x{}", one.gpu_class, batch).c_str());
    }
  }
  std::printf("\n");
  for (int block = 0; block < result.profile.Blocks(); ++block) {
    std::printf("%-6d %-6d %12lld", block, result.first_node[block],
                static_cast<long long>(result.profile.output_bytes[block]));
    for (const auto& one : result.profile.vgpus) {
      for (const auto& blocks : one.latency_us) std::printf(" %12.3f", blocks[block] / 1e3);
    }
    std::printf("\n");
  }
  std::printf("%-26s", "all in one stage");
  for (const auto& one : result.profile.vgpus) {
    for (int batch = 1; batch <= one.MaxBatch(); ++batch) {
      std::printf(" %12.3f", one.LatencyUs(batch, 0, result.profile.Blocks()) / 1e3);
    }
  }
  std::printf("\n");
}

absl::Status RunProfileBlocks(ProfileBlocksOptions& options) {
  WHARF_ASSIGN_OR_RETURN(options.profiler.classes, pipeline::ParseClasses(options.classes));
  options.profiler.cuts = options.cuts == "equal" ? pipeline::CutRule::kEqualTime : pipeline::CutRule::kSmallestCuts;
  if (options.name.empty()) options.name = std::filesystem::path(options.model).stem().string();
  WHARF_ASSIGN_OR_RETURN(const auto onnx, ReadBytes(options.model));
  WHARF_ASSIGN_OR_RETURN(const pipeline::BlockProfile result,
                         pipeline::ProfileBlocks(options.name, onnx, options.profiler, Clock::Real()));
  pipeline::BlockMap map{options.name,
                         std::filesystem::absolute(options.model).string(),
                         wire::HexOf(wire::HashOf(onnx)),
                         result.first_node,
                         {}};
  for (const auto& device : options.profiler.classes) map.classes.push_back(device.Text());
  if (result.noise > split::kMuchNoise) {
    std::fprintf(stderr,
                 "wharf: this machine is busy: times are %.0f %% above the shortest seen, so plans may be off; measure "
                 "again when it is quiet\n",
                 100 * result.noise);
  }
  WHARF_RETURN_IF_ERROR(pipeline::SaveProfile(options.out, result, map));
  Print(result, options);
  return absl::OkStatus();
}

}  // namespace

void AddPipelineProfileCommand(CLI::App& app) {
  CLI::App* command = PipelineCommand(app).add_subcommand(
      "profile", "Cut a model into blocks of about equal time and measure them on this machine.");
  command->footer(kPipelineProfileFooter);
  auto options = std::make_shared<ProfileBlocksOptions>();
  command->add_option("model", options->model, "An ONNX file")->type_name("MODEL.onnx")->required();
  command->add_option("--out", options->out, "Where profiles lie")->type_name("FOLDER")->required();
  command->add_option("--name", options->name, "Of the model (its file's)")->type_name("NAME");
  command->add_option("--blocks", options->profiler.blocks, "Blocks, at most")
      ->check(CLI::Range(2, pipeline::kMaxBlocks))
      ->capture_default_str();
  command->add_option("--cuts", options->cuts, "Blocks of equal time, or nearly so with the smallest cuts")
      ->check(CLI::IsMember({"equal", "smallest"}))
      ->capture_default_str();
  command->add_option("--max-batch", options->profiler.max_batch, "Measure batches of 1 to N")
      ->check(CLI::Range(1, 64))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--rounds", options->profiler.rounds, "Of which every time is the median")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--classes", options->classes, "Device classes")
      ->type_name("NAME=threads:N,slowdown:X,vgpus:K,device:D,…")
      ->capture_default_str();
  command->callback([options] {
    if (const absl::Status done = RunProfileBlocks(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
