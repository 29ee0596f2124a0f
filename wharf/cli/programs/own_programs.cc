#include "wharf/cli/programs/own_programs.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/child_process.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/common/shim_directory.h"
#include "wharf/server/front/signals.h"

namespace wharf::cli {
namespace {

struct OtherCommand {
  const char *group, *name, *program, *summary;  // "wharf GROUP NAME"
};
constexpr OtherCommand kOthers[] = {
    {"", "plan", kPlanProgram, "Plan how device and server share an inference, from measured times."},
    {"", "explain", kPlanProgram, "Show what a split plan does: who computes what, and when."},
    {"", "profile", kModelProgram, "Measure how long a model's operators take on this machine."},
    {"", "split", kModelProgram, "Run a model on this machine and a server together."},
    {"pipeline", "init", kPlanProgram, "Write a cluster and models to begin with, explained."},
    {"pipeline", "plan", kPlanProgram, "Plan which blocks of which models run on which pools of GPUs."},
    {"pipeline", "simulate", kPlanProgram,
     "Serve a plan in virtual time: SLO attainment, utilisation, where time went."},
    {"pipeline", "profile", kModelProgram,
     "Cut a model into blocks of about equal time and measure them on this machine."},
    {"pipeline", "worker", kModelProgram, "Offer this machine's processor as GPUs of a class."},
    {"pipeline", "serve", kModelProgram, "Carry a plan out on the workers there are."},
    {"pipeline", "load", kModelProgram, "Send requests to wharf pipeline serve and count how they end."},
    {"ar", "render", kModelProgram, "Make videos of a town that is not there, and their truth."},
    {"ar", "drop-table", kModelProgram, "Measure what local tracking costs, for emulation."},
    {"ar", "evaluate", kModelProgram, "Say how good the networks are on videos of a town that is not there."},
    {"ar", "latency", kModelProgram, "Measure how long a network takes here for each size of batch."},
    {"ar", "poses", kModelProgram, "Say how far a pose's state and covariance can be trusted."},
    {"ar", "trackers", kModelProgram, "Say what trackers and odometry lose, by stride."},
    {"ar", "client", kModelProgram, "Have depth, pose and boxes of every frame of a camera."},
    {"ar", "serve", kModelProgram, "Find depth, motion and boxes in AR clients' pictures."},
    {"ar", "view", kModelProgram, "Show what an AR client sees and does, as a video file."},
    {"bench", "split", kPlanProgram, "Systems that split an inference between device and server, by model and link."},
    {"bench", "pipeline", kPlanProgram,
     "Plans and schedulers on pools of fast and slow GPUs: the most they serve within SLOs."},
    {"bench", "multitask", kModelProgram, "One AR client that offloads several tasks: AccuMO beside static schedules."},
    {"bench", "serving", kModelProgram, "Many AR clients on one server: ARISE beside its baselines."},
};

const OtherCommand* FindOther(const std::vector<std::string>& arguments) {
  const auto is = [&](const OtherCommand& command) {
    const std::string group = command.group;
    if (group.empty()) return !arguments.empty() && arguments[0] == command.name;
    return arguments.size() > 1 && arguments[0] == group && arguments[1] == command.name;
  };
  const auto* const found = std::find_if(std::begin(kOthers), std::end(kOthers), is);
  return found == std::end(kOthers) ? nullptr : found;
}

CLI::App& GroupOf(CLI::App& app, const std::string& group) {
  if (group == "pipeline") return PipelineCommand(app);
  if (group == "ar") return ArCommand(app);
  return group == "bench" ? BenchCommand(app) : app;
}

bool IsServer(const OtherCommand& command) {
  const std::string group = command.group, name = command.name;
  return (group == "ar" && name == "serve") || (group == "pipeline" && (name == "serve" || name == "worker"));
}

const char* NeededFor(const std::string& program) {
  if (program == kWorkerProgram) return "which serves programs and compiles their kernels";
  if (program == kPlanProgram) return "which plans";
  return "which runs models with LibTorch";
}

}  // namespace

void AddOtherCommands(CLI::App& app, std::initializer_list<std::string_view> groups) {
  for (const std::string_view group : groups) {
    for (const OtherCommand& one : kOthers) {
      if (one.group == group) GroupOf(app, one.group).add_subcommand(one.name, one.summary);
    }
  }
}

bool IsOtherCommand(const std::vector<std::string>& arguments) { return FindOther(arguments) != nullptr; }

std::string FindOwnProgram(const std::string& name) {
  const std::string installed = name == kMainProgram ? "/../../bin/" : "/../libexec/wharf/";
  for (const std::string& place : {std::string("/"), installed}) {
    std::string path = ExecutableDirectory() + place + name;
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

int RunOtherProgram(const std::vector<std::string>& arguments) {
  const OtherCommand& command = *FindOther(arguments);
  // Libraries start threads before its first line: none of them may be ended by a signal that comes early.
  if (IsServer(command)) server::BlockEndingSignals();
  return RunOwnProgram(command.program, arguments);
}

int RunOwnProgram(const std::string& name, std::vector<std::string> arguments) {
  const std::string path = FindOwnProgram(name);
  if (path.empty()) {
    Fail(NotFound("wharf {} needs {}, {} and is not installed here", arguments.front(), name, NeededFor(name)));
    return ExitCode();
  }
  Command command{path, std::move(arguments), {}};
  command.arguments.insert(command.arguments.begin(), "wharf");
  return Execute(command);
}

}  // namespace wharf::cli
