// wharf profile: measures a model's operators on this machine.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "wharf/base/cache_directory.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/model_device_option.h"
#include "wharf/cli/split/attention_option.h"
#include "wharf/cli/split/profile_table.h"
#include "wharf/cli/split/shape_option.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/split/profiler/profiler.h"
#include "wharf/split/runtime/model.h"
#include "wharf/wire/digest.h"

namespace wharf::cli {
namespace {

constexpr const char* kSplitProfileFooter = R"(
Examples: wharf profile resnet18.onnx
          wharf profile resnet18.onnx --json server.json                    on the server
          wharf profile resnet18.onnx --json device.json --time-scale 6    a machine 6 times as slow as this one

Every operator runs alone, whole and in slices of its rows (1/2, 1/4, 1/8, one row); a slice of r rows is then taken to
need "fixed" + r * "a row". "fit off by" is the largest error of that over the slices measured; the last line has their
mean, weighted by time. An operator is a node of the model with the activations behind it. The model is measured once;
the result is kept and shown again. Two such files make plans:
          wharf plan --model resnet18.onnx --device-profile device.json --server-profile server.json --bandwidth 10MB/s)";

struct ProfileOptions {
  std::string model, shape, json, device = "auto", cache_directory = CacheDirectory();
  double time_scale = 1;
  int threads = 0, split_attention = 0;
  bool cpu_time = false;
  split::ProfilerOptions profiler;
};

// The file's, or where that is model.onnx, as in ONNX's own collections, the directory's.
std::string NameOf(const std::filesystem::path& model) {
  return (model.filename() == "model.onnx" ? absolute(model).parent_path().filename() : model.stem()).string();
}

absl::Status RunProfile(const ProfileOptions& options) {
  if (options.cpu_time && options.threads != 1) {
    throw CLI::ValidationError("profile", "--cpu-time adds threads up: say --threads 1");
  }
  WHARF_ASSIGN_OR_RETURN(const std::string file, ReadFile(options.model));
  auto shaped = graph::WithInputShape(std::as_bytes(std::span(file)), options.shape);
  if (!shaped.ok()) return InvalidArgument("{}: {}", options.model, Message(shaped.status()));
  std::vector<std::byte> bytes = *std::move(shaped);
  if (options.split_attention > 0) bytes = graph::WithSplitAttention(bytes, options.split_attention);
  WHARF_ASSIGN_OR_RETURN(const std::string device, exec::FindTorchDevice(options.device));
  if (options.cpu_time && device != "cpu") return InvalidArgument("--cpu-time sees nothing of a GPU: say --device cpu");
  WHARF_ASSIGN_OR_RETURN(const auto engine, exec::MakeTorchEngineOn(device, {options.threads}));
  const auto model = split::Model::Load(*engine, bytes);
  if (!model.ok()) return MakeStatus(model.status().code(), "{}: {}", options.model, Message(model.status()));
  if (const std::string caution = engine->Caution(); !caution.empty()) {
    std::fprintf(stderr, "wharf: %s\n", caution.c_str());
  }
  const std::string directory = options.cache_directory.empty() ? "" : options.cache_directory + "/profiles";
  const split::ProfileCache cache(directory);
  const Clock& clock = options.cpu_time ? Clock::OfProcess() : Clock::Real();
  const std::string by = options.cpu_time ? " by CPU time" : "";
  const split::Machine machine = split::ThisMachine(engine->Name() + by, exec::TorchThreads());
  const split::Subject subject{*engine, (*model)->Program(), (*model)->Operators(), NameOf(options.model),
                               wire::HexOf(wire::HashOf(bytes))};
  split::ProfilerOptions profiler = options.profiler;
  if (device == "cpu" && exec::TorchThreads() == 1) profiler.cpu_clock = &Clock::OfProcess();
  WHARF_ASSIGN_OR_RETURN(split::MachineProfile profile, split::FindOrMeasure(subject, machine, cache, clock, profiler));
  profile = profile.Scaled(options.time_scale);
  std::fputs(MachineProfileAsText(profile, subject.operators).c_str(), stdout);
  if (!directory.empty()) std::printf("kept in %s\n", cache.PathOf(subject.hash, machine).c_str());
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, split::ToJson(profile));
}

}  // namespace

void AddProfileCommand(CLI::App& app) {
  CLI::App* command = app.add_subcommand("profile", "Measure how long a model's operators take on this machine.");
  command->footer(kSplitProfileFooter);
  auto options = std::make_shared<ProfileOptions>();
  command->add_option("model", options->model, kModelHelp)->type_name("MODEL.onnx")->required();
  AddShape(command, options->shape);
  command->add_option("--json", options->json, "Write the profile here, for wharf plan")->type_name("FILE");
  command
      ->add_option("--time-scale", options->time_scale,
                   "Multiply every time by this, so that this machine plays a slower one")
      ->check(CLI::Range(1e-3, 1e6))
      ->type_name("X")
      ->capture_default_str();
  AddSplitAttention(command, options->split_attention);
  AddModelDevice(command, options->device);
  command->add_option("--threads", options->threads, "Of one operator; 0: as LibTorch chooses")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--cpu-time", options->cpu_time, "Count CPU time, for a machine that is busy; with --threads 1");
  command->add_option("--rounds", options->profiler.rounds, "Every time is the median of as many")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--again", options->profiler.again, "Measure anew, even if there is a result");
  command->add_option("--cache-dir", options->cache_directory, "Where results are kept; \"\" = nowhere")
      ->type_name("DIR")
      ->capture_default_str();
  command->callback([options] {
    if (const absl::Status done = RunProfile(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
