// wharf ar latency: how long a network takes here for each size of batch.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wharf/cli/ar/networks.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/model_device_option.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"
#include "wharf/perception/latency_profile.h"
#include "wharf/report/table.h"
#include "wharf/split/costs/profile_cache.h"

namespace wharf::cli {
namespace {

constexpr const char* kArLatencyFooter = R"(
Times are those of whole requests: bytes in, depth maps or boxes out; medians. A batch gains what a processor can share
between images, on a CPU of few cores next to nothing.

Example: wharf ar latency --network depth --batches 1,2,4,8 --json depth.json)";

struct ArLatencyOptions {
  std::string networks, network = "depth", device = "auto", json;
  int threads = 1;
  bool cpu_time = false;
  perception::LatencyOptions latency;
};

using RunBatch = std::function<absl::Status(int batch)>;

// Runs so many grey images: what they show makes no difference to a convolution.
template <typename Network, typename Run>
RunBatch OnGrey(Network network, Run run) {
  const int width = network.Width(), height = network.Height();
  const scene::Image grey{width, height, std::vector<uint8_t>(size_t{3} * width * height, 128)};
  auto kept = std::make_shared<const Network>(std::move(network));
  return [kept, run, images = std::vector<scene::Image>(kept->LargestBatch(), grey)](int batch) {
    return run(*kept, std::span(images).first(batch));
  };
}

absl::StatusOr<RunBatch> Load(const exec::Engine& engine, const ArLatencyOptions& options) {
  const std::string path = options.networks + "/" + options.network + ".onnx";
  const int largest = *std::max_element(options.latency.batches.begin(), options.latency.batches.end());
  if (options.network == "detector") {
    WHARF_ASSIGN_OR_RETURN(auto detector, perception::Detector::Load(engine, path, {.largest_batch = largest}));
    return OnGrey(std::move(detector),
                  [](const perception::Detector& network, auto images) { return network.Detect(images).status(); });
  }
  WHARF_ASSIGN_OR_RETURN(auto depth, perception::DepthNetwork::Load(engine, path, {.largest_batch = largest}));
  return OnGrey(std::move(depth),
                [](const perception::DepthNetwork& network, auto images) { return network.Estimate(images).status(); });
}

std::string MachineOf(const exec::Engine& engine, bool cpu_time) {
  const split::Machine machine = split::ThisMachine(engine.Name(), exec::TorchThreads());
  return fmt::format("{}, {}, {} thread{}{}", machine.cpu, machine.engine, machine.threads,
                     machine.threads == 1 ? "" : "s", cpu_time ? ", CPU time" : "");
}

void Print(const perception::LatencyProfile& profile) {
  using report::Align;
  std::printf("%s on %s\n", profile.network.c_str(), profile.machine.c_str());
  report::Table table({{"batch", Align::kRight}, {"ms", Align::kRight}, {"ms an image", Align::kRight}});
  for (const auto& [batch, ms] : profile.batches) {
    table.AddRow({std::to_string(batch), fmt::format("{:.2f}", ms), fmt::format("{:.2f}", ms / batch)});
  }
  std::fputs(table.Text().c_str(), stdout);
}

absl::Status RunArLatency(ArLatencyOptions& options) {
  if (options.cpu_time && options.threads != 1) {
    throw CLI::ValidationError("latency", "--cpu-time adds threads up: say --threads 1");
  }
  if (!options.json.empty()) WHARF_RETURN_IF_ERROR(CheckWritable(options.json));
  auto& batches = options.latency.batches;
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  WHARF_ASSIGN_OR_RETURN(const std::string device, exec::FindTorchDevice(options.device));
  if (options.cpu_time && device != "cpu") return InvalidArgument("--cpu-time sees nothing of a GPU: say --device cpu");
  WHARF_ASSIGN_OR_RETURN(const auto engine, exec::MakeTorchEngineOn(device, {options.threads}));
  WHARF_ASSIGN_OR_RETURN(const RunBatch run, Load(*engine, options));
  const Clock& clock = options.cpu_time ? Clock::OfProcess() : Clock::Real();
  perception::LatencyProfile profile{options.network, MachineOf(*engine, options.cpu_time), {}};
  WHARF_ASSIGN_OR_RETURN(profile.batches, perception::MeasureLatency(run, options.latency, clock));
  Print(profile);
  return options.json.empty() ? absl::OkStatus() : WriteFile(options.json, perception::ToJson(profile));
}

}  // namespace

void AddArLatencyCommand(CLI::App& app) {
  CLI::App* command =
      ArCommand(app).add_subcommand("latency", "Measure how long a network takes here for each size of batch.");
  command->footer(kArLatencyFooter);
  auto options = std::make_shared<ArLatencyOptions>();
  AddNetworksOption(command, options->networks);
  command->add_option("--network", options->network, "depth, lite or detector")
      ->check(CLI::IsMember({"depth", "lite", "detector"}))
      ->capture_default_str();
  command->add_option("--batches", options->latency.batches, "Images in one run")
      ->delimiter(',')
      ->check(CLI::Range(1, perception::kLargestBatch))
      ->type_name("N,…")
      ->capture_default_str();
  command->add_option("--rounds", options->latency.rounds, "Every time is the median of as many")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  AddModelDevice(command, options->device);
  command->add_option("--threads", options->threads, "Of one operator")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--cpu-time", options->cpu_time, "Count CPU time, for a machine that is busy; with --threads 1");
  command->add_option("--json", options->json, "Write the profile here, for what schedules batches")->type_name("FILE");
  command->callback([options] {
    if (const absl::Status done = RunArLatency(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
