// wharf ar serve: looks at AR clients' pictures.
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "wharf/ar/finders/task_finder.h"
#include "wharf/ar/relay/relay_process.h"
#include "wharf/ar/server/server.h"
#include "wharf/base/log.h"
#include "wharf/base/sandbox/limits.h"
#include "wharf/base/sandbox/namespaces.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/cli/ar/networks.h"
#include "wharf/cli/common/access_options.h"
#include "wharf/cli/common/announce_option.h"
#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/config_option.h"
#include "wharf/cli/common/confined_server.h"
#include "wharf/cli/common/files.h"
#include "wharf/cli/common/helper_door.h"
#include "wharf/cli/common/model_device_option.h"
#include "wharf/cli/common/option_types.h"
#include "wharf/cli/common/shim_directory.h"
#include "wharf/cli/relay/relay_arguments.h"
#include "wharf/exec/torch_engine.h"
#include "wharf/link/discovery/announcement.h"
#include "wharf/perception/latency_profile.h"
#include "wharf/server/front/signals.h"
#include "wharf/server/front/stream_server.h"

namespace wharf::cli {
namespace {

// Each has two threads, a third while it is opened, and the guard ends a server of more threads than that: room is left
// for those of the networks.
constexpr int kMostSessions = kMostServerThreads / 4;

constexpr const char* kArServeFooter = R"(
Two kinds of clients come here. One that offloads by its own plan (wharf ar client) has depth, odometry and boxes found in
whatever it sends; such clients take turns. One that asks for an accuracy is told when to offload: the server plans for
all of these together, in batches, so that each stays within its accuracy drop.

With --task it serves models of yours as well, for clients that name them: docs/ar-tasks.md. --promise takes such a name,
too.

Without --profile the server first measures how long its network takes for each size of batch.

Example: wharf ar serve --listen 0.0.0.0:7072 --token-file token --promise depth --largest-batch 8)";

struct ArServeOptions {
  ConfinementOptions confining;
  std::string networks, listen = "127.0.0.1:7072", device = "auto", promise = "depth", profile;
  server::AccessOptions access;
  std::vector<std::string> next, tasks;
  Nanoseconds drain_timeout = std::chrono::seconds(3);
  bool announce = false;
  int threads = 1, largest_batch = 8;
  size_t max_sessions = 256;
  uint64_t picture_memory = DefaultServerMemory() / 4;
};

// What finds the task of --promise in pictures of several clients at once. `networks` must outlive it.
absl::StatusOr<std::unique_ptr<ar::BatchFinder>> PromisedFinder(const std::string& promise,
                                                                const ar::Networks& networks) {
  if (promise == "depth") return ar::MakeDepthBatches(*networks.depth);
  if (promise == "boxes") return ar::MakeBoxBatches(*networks.detector);
  const auto model = networks.models.find(promise);
  if (model == networks.models.end())
    return InvalidArgument("--promise {}: an accuracy can be agreed of depth, of boxes, or of a --task", promise);
  return ar::MakeModelBatches(promise, *model->second);
}

// The profile that --profile names, or what is measured now on grey pictures.
absl::StatusOr<serving::InferenceProfile> ProfileOf(ar::BatchFinder& finder, const ArServeOptions& options) {
  perception::LatencyProfile profile{options.promise, "this machine", {}};
  if (options.profile.empty()) {
    const scene::Image grey{finder.Width(), finder.Height(),
                            std::vector<uint8_t>(size_t{3} * finder.Width() * finder.Height(), 128)};
    perception::LatencyOptions measuring;
    const int largest = finder.TakesAnySize() ? 1 : options.largest_batch;  // models look at one picture
    std::erase_if(measuring.batches, [&](int batch) { return batch > largest; });
    const auto run = [&](int batch) {
      const auto found = finder.Find(std::vector<scene::Image>(batch, grey), std::vector<ar::DepthCoding>(batch));
      return found.front().status();
    };
    WHARF_ASSIGN_OR_RETURN(profile.batches, perception::MeasureLatency(run, measuring, Clock::Real()));
  } else {
    WHARF_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.profile));
    auto parsed = perception::ParseLatencyProfile(text);
    if (!parsed.ok()) return InvalidArgument("{}: {}", options.profile, Message(parsed.status()));
    profile = *std::move(parsed);
  }
  std::map<int, double> batch_ms;
  for (const auto& [batch, ms] : profile.batches) batch_ms[batch] = ms;
  return serving::InferenceProfile::Make(profile.network + " on " + profile.machine, batch_ms);
}

// The files of --task NAME=FILE, by name. They are the operator's: clients only ever say names.
absl::StatusOr<std::map<std::string, std::string>> ParseTasks(const std::vector<std::string>& tasks) {
  std::map<std::string, std::string> files;
  for (const std::string& task : tasks) {
    const size_t equals = task.find('=');
    if (equals == std::string::npos || equals + 1 == task.size())
      return InvalidArgument("--task takes NAME=MODEL.onnx, not {:?}", task);
    const std::string name = task.substr(0, equals);
    WHARF_RETURN_IF_ERROR(ar::CheckModelName(name));
    if (!files.emplace(name, task.substr(equals + 1)).second) return InvalidArgument("--task {} is there twice", name);
  }
  return files;
}

absl::StatusOr<std::map<std::string, perception::PictureModel>> LoadModels(
    const exec::Engine& engine, const std::map<std::string, std::string>& files) {
  std::map<std::string, perception::PictureModel> models;
  for (const auto& [name, file] : files) {
    WHARF_ASSIGN_OR_RETURN(perception::PictureModel model, perception::PictureModel::LoadFile(engine, file));
    WHARF_RETURN_IF_ERROR(ar::CheckModelTask(name, model));
    // The first run is slower than the others, and one that fails is better known now.
    const scene::Image grey{model.Width(), model.Height(),
                            std::vector<uint8_t>(size_t{3} * model.Width() * model.Height(), 128)};
    if (const auto found = model.Run(grey); !found.ok())
      return FailedPrecondition("the task {} does not run: {}", name, Message(found.status()));
    models.emplace(name, std::move(model));
  }
  return models;
}

void LogEnd(const ar::ServerCounts& all, const ar::Coordination& coordination) {
  const ar::CoordinationCounts counts = coordination.Counts();
  Log(LogLevel::kInfo, "AR server ends",
      {{"clients", all.clients},
       {"agreed", all.agreed},
       {"pictures", all.pictures},
       {"served", counts.served},
       {"waiting", counts.waiting},
       {"requests", counts.scheduler.requests},
       {"unscheduled", counts.scheduler.unscheduled},
       {"late", counts.scheduler.late},
       {"evicted", counts.scheduler.evicted},
       {"reports", counts.reports_taken},
       {"reports_superseded", counts.reports_superseded}});
}

// What starts relays from now on: it ends when the server has.
absl::StatusOr<HelperDoor::Helper> StartRelayStarter(Isolation isolation, const ArServeOptions& options) {
  const std::string program = ExecutableDirectory() + "/wharf-relay";
  if (access(program.c_str(), X_OK) != 0) return NotFound("{}, by which clients are read, is not installed", program);
  WHARF_ASSIGN_OR_RETURN(
      ar::RelayStarter::Process starter,
      ar::RelayStarter::StartProcess(program, isolation, ToArguments({options.listen, options.access})));
  return HelperDoor::Helper{starter.process.Release(), link::UniqueFd(starter.socket)};
}

// Relays read token and key for each client; the server never does. A guard finds out in time what is wrong with them.
absl::Status CheckAccess(const ArServeOptions& options) {
  if (StartedByGuard()) return server::Validate(options.listen, options.access);
  return server::MakeAccessControl(options.listen, options.access).status();
}

absl::Status RunArServe(const ArServeOptions& options) {
  WHARF_RETURN_IF_ERROR(CheckAccess(options));
  ConfinementOptions confining = options.confining;
  HelperDoor starters("starter of relays");
  confining.start_helper = [&](Isolation isolation) {
    return starters.Open([isolation, &options] { return StartRelayStarter(isolation, options); });
  };
  confining.look_after_helper = [&] { starters.LookAfter(); };
  confining.end_timeout += options.drain_timeout;
  if (options.announce) {
    WHARF_ASSIGN_OR_RETURN(confining.announce_program, FindAnnounceProgram(options.listen));
    confining.announce_type = link::kArServiceType;
  }
  WHARF_ASSIGN_OR_RETURN(const auto confinement, Confinement::Begin(confining));
  if (!confinement) return absl::OkStatus();
  const std::string next = fmt::format("{}", fmt::join(options.next, ","));
  if (!next.empty()) WHARF_RETURN_IF_ERROR(ar::ServersOf({next}).status());
  WHARF_ASSIGN_OR_RETURN(const auto tasks, ParseTasks(options.tasks));
  server::BlockEndingSignals();
  WHARF_ASSIGN_OR_RETURN(const std::string device, exec::FindTorchDevice(options.device));
  WHARF_ASSIGN_OR_RETURN(const auto engine, exec::MakeTorchEngineOn(device, {options.threads}));
  WHARF_RETURN_IF_ERROR(exec::WarmUpTorch(device));
  const bool boxes = options.promise == "boxes";
  WHARF_ASSIGN_OR_RETURN(const auto depth,
                         perception::DepthNetwork::Load(*engine, options.networks + "/depth.onnx",
                                                        {.largest_batch = boxes ? 1 : options.largest_batch}));
  WHARF_ASSIGN_OR_RETURN(const auto detector,
                         perception::Detector::Load(*engine, options.networks + "/detector.onnx",
                                                    {.largest_batch = boxes ? options.largest_batch : 1}));
  WHARF_ASSIGN_OR_RETURN(const auto models, LoadModels(*engine, tasks));
  ar::Networks networks{&depth, &detector, {}};
  for (const auto& [name, model] : models) networks.models[name] = &model;
  WHARF_ASSIGN_OR_RETURN(const auto finder, PromisedFinder(options.promise, networks));
  WHARF_ASSIGN_OR_RETURN(serving::InferenceProfile profile, ProfileOf(*finder, options));
  const auto relays = ar::RelayStarter::Behind(confinement->HelperSocket());
  ar::TurnQueue solo;
  ar::Coordination coordination({.finder = finder.get(), .profile = std::move(profile)});
  ar::Server server({.make_solo = [&](const ar::Hello& hello) { return ar::MakeTaskFinder(hello, networks); },
                     .solo = &solo,
                     .coordination = &coordination,
                     .batch_finder = finder.get(),
                     .max_sessions = options.max_sessions,
                     .picture_memory = options.picture_memory,
                     .next = next});
  WHARF_ASSIGN_OR_RETURN(auto listener, link::Listener::Create(options.listen));
  const server::AcceptorLimits limits;  // raises the limit of descriptors
  WHARF_RETURN_IF_ERROR(confinement->Announce(listener->Address()));
  // Nothing of any client was read yet.
  WHARF_RETURN_IF_ERROR(confinement->EnterOn(device, AcceptingServerPolicy(), GpuServerPolicy()));
  std::printf("wharf: serving AR at %s\n", listener->Address().c_str());
  std::fflush(stdout);
  server::ServeUntilSignal(
      std::move(listener), [&relays](int connection) { return relays->Start(connection); },
      [&](std::unique_ptr<link::ByteStream> stream) { server.Accept(std::move(stream)); }, limits);
  server.Drain(options.drain_timeout);
  LogEnd(server.Counts(), coordination);
  return absl::OkStatus();
}

}  // namespace

void AddArServeCommand(CLI::App& app) {
  CLI::App* command = ArCommand(app).add_subcommand("serve", "Find depth, motion and boxes in AR clients' pictures.");
  command->footer(kArServeFooter);
  auto options = std::make_shared<ArServeOptions>();
  AddConfigOption(command);
  AddNetworksOption(command, options->networks);
  command->add_option("--listen", options->listen, "HOST:PORT, [V6]:PORT or unix:PATH")->capture_default_str();
  AddAnnounceOption(command, options->announce);
  AddAccessOptions(command, options->access);
  AddConfinementOptions(command, options->confining);
  command->add_option("--next", options->next, "Servers for clients that there is no room for, the best first")
      ->type_name("HOST:PORT,...")
      ->delimiter(',');
  AddDuration(command, "--drain-timeout", options->drain_timeout,
              "After SIGTERM clients are handed over to --next within this time; then --end-timeout begins");
  command
      ->add_option("--task", options->tasks,
                   "A task of your own: clients have this model run on their pictures under this name; may be repeated")
      ->type_name("NAME=FILE");
  command
      ->add_option("--promise", options->promise, "The task whose accuracy can be agreed on: depth, boxes or a --task")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--largest-batch", options->largest_batch,
                   "Pictures in one run of that task's network; a --task looks at one")
      ->check(CLI::Range(1, perception::kLargestBatch))
      ->capture_default_str();
  command->add_option("--profile", options->profile, "What wharf ar latency --json wrote on this machine")
      ->type_name("FILE");
  AddModelDevice(command, options->device);
  command->add_option("--threads", options->threads, "Of one operator")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--max-sessions", options->max_sessions, "Clients at once")
      ->check(CLI::Range(1, kMostSessions))
      ->capture_default_str();
  AddBytes(command, "--picture-memory", options->picture_memory,
           "Of all clients' decoded pictures together, 41 bytes for each pixel of a client's; one that may need more "
           "than is left is not let in");
  command->callback([options] {
    SetDefaultLogLevel(LogLevel::kInfo);
    if (const absl::Status done = RunArServe(*options); !done.ok()) Fail(done);
  });
}

}  // namespace wharf::cli
