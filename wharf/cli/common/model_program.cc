#include "wharf/cli/common/model_program.h"

#include <algorithm>
#include <utility>

#include "wharf/cli/common/ar_command.h"
#include "wharf/cli/common/child_process.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/model_bench_command.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/common/shim_directory.h"
#include "wharf/server/front/signals.h"

namespace wharf::cli {
namespace {

constexpr std::pair<const char*, const char*> kCommands[] = {
    {"profile", "Measure how long a model's operators take on this machine."},
    {"split", "Run a model on this machine and a server together."},
};
// Of `wharf pipeline`.
constexpr std::pair<const char*, const char*> kPipelineCommands[] = {
    {"profile", "Cut a model into blocks of about equal time and measure them on this machine."},
    {"worker", "Offer this machine's processor as GPUs of a class."},
    {"serve", "Carry a plan out on the workers there are."},
    {"load", "Send requests to wharf pipeline serve and count how they end."},
};

// Of `wharf ar`, which is wharf-model's as a whole.
constexpr std::pair<const char*, const char*> kArCommands[] = {
    {"render", "Make videos of a town that is not there, and their truth."},
    {"drop-table", "Measure what local tracking costs, for emulation."},
    {"evaluate", "Say how good the networks are on videos of a town that is not there."},
    {"latency", "Measure how long a network takes here for each size of batch."},
    {"poses", "Say how far a pose's state and covariance can be trusted."},
    {"trackers", "Say what trackers and odometry lose, by stride."},
    {"client", "Have depth, pose and boxes of every frame of a camera."},
    {"serve", "Find depth, motion and boxes in AR clients' pictures."},
    {"view", "Show what an AR client sees and does, as a video file."},
};
// Of `wharf bench`.
constexpr std::pair<const char*, const char*> kBenchCommands[] = {
    {"multitask", "One AR client that offloads several tasks: AccuMO beside static schedules."},
    {"serving", "Many AR clients on one server: ARISE beside its baselines."},
};

template <size_t n>
bool Has(const std::pair<const char*, const char*> (&commands)[n], const std::string& command) {
  return std::any_of(std::begin(commands), std::end(commands),
                     [&](const auto& known) { return command == known.first; });
}

bool IsServer(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return false;
  if (arguments[0] == "ar") return arguments[1] == "serve";
  return arguments[0] == "pipeline" && (arguments[1] == "serve" || arguments[1] == "worker");
}

}  // namespace

void AddModelCommands(CLI::App& app) {
  for (const auto& [name, summary] : kCommands) app.add_subcommand(name, summary);
  for (const auto& [name, summary] : kPipelineCommands) PipelineCommand(app).add_subcommand(name, summary);
  for (const auto& [name, summary] : kArCommands) ArCommand(app).add_subcommand(name, summary);
  for (const auto& [name, summary] : kBenchCommands) ModelBenchCommand(app).add_subcommand(name, summary);
}

bool IsModelCommand(const std::vector<std::string>& arguments) {
  if (arguments.size() > 1 && arguments[0] == "pipeline") return Has(kPipelineCommands, arguments[1]);
  if (arguments.size() > 1 && arguments[0] == "ar") return Has(kArCommands, arguments[1]);
  if (arguments.size() > 1 && arguments[0] == "bench") return Has(kBenchCommands, arguments[1]);
  return !arguments.empty() && Has(kCommands, arguments[0]);
}

std::string FindModelProgram() { return FindOwnProgram({"/wharf-model", "/../libexec/wharf/wharf-model"}); }

int RunModelProgram(const std::vector<std::string>& arguments) {
  if (const std::string path = FindModelProgram(); !path.empty()) {
    Command command{path, arguments, {}};
    command.arguments.insert(command.arguments.begin(), "wharf");
    // Libraries start threads before its first line: none of them may be ended by a signal that comes early.
    if (IsServer(arguments)) server::BlockEndingSignals();
    return Execute(command);
  }
  Fail(NotFound("wharf {} needs wharf-model, which runs models with LibTorch and is not installed here",
                arguments.front()));
  return ExitCode();
}

}  // namespace wharf::cli
