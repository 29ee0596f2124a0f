// wharf: the one command.
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/mutex.h"
#include "wharf/cli/common/app.h"
#include "wharf/cli/common/bench_command.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/programs/own_programs.h"
#include "wharf/cli/version.h"

namespace wharf::cli {
namespace {

constexpr const char* kDescription =
    R"(Wharf lets weak devices run their neural networks on servers: CUDA programs on a GPU elsewhere or on no
GPU at all, models of which device and server compute a part each, tasks of AR clients, pipelines over several machines.

  wharf run --local -- ./program args…                a CUDA program on this CPU
  wharf serve                                         offer this machine's GPU or CPU on 127.0.0.1:7070
  wharf run --server HOST:7070 -- ./program args…     the program there, from a machine without GPU, driver or CUDA
  wharf split MODEL.onnx --server HOST:7070 --random  a model on both
  wharf ar serve, wharf ar client                     depth, pose and boxes for every frame of a camera
  wharf pipeline init                                 models on pools of fast and slow machines
  wharf doctor                                        what works here, and how to mend what does not)";

constexpr const char* kMainFooter =
    "`wharf COMMAND --help` explains a command. Exit codes: 0 fine, 1 failed, 2 wrong usage.";

// What `wharf --help` shows together.
constexpr std::pair<const char*, const char*> kGroups[] = {{"run", "Offload CUDA programs"},
                                                           {"trace", "Offload CUDA programs"},
                                                           {"serve", "Offload CUDA programs"},
                                                           {"api", "Offload CUDA programs"},
                                                           {"pack", "Offload CUDA programs"},
                                                           {"split", "Split models"},
                                                           {"profile", "Split models"},
                                                           {"plan", "Split models"},
                                                           {"explain", "Split models"},
                                                           {"ar", "Augmented reality"},
                                                           {"pipeline", "Pipelines"},
                                                           {"link", "Tools"},
                                                           {"bench", "Tools"},
                                                           {"doctor", "Tools"},
                                                           {"completion", "Tools"}};

// `wharf serve --ar` is another name of `wharf ar serve`. Removes the flag.
bool TakesArClients(std::vector<std::string>& arguments) {
  return !arguments.empty() && arguments.front() == "serve" && std::erase(arguments, "--ar") > 0;
}

int Main(int argc, char** argv) {
  CLI::App app(kDescription, "wharf");
  app.footer(kMainFooter);
  app.set_version_flag("--version", std::string("wharf ") + kVersion);
  std::vector<std::string> program;
  AddRunCommand(app, program);
  AddTraceCommand(app, program);
  AddServeCommand(app);
  AddApiCommand(app);
  AddPackCommand(app);
  AddOtherCommands(app, {"", "ar", "pipeline"});
  AddLinkCommand(app);
  AddBenchOffloadCommand(app);
  AddOtherCommands(app, {"bench"});
  AddDoctorCommand(app);
  AddCompletionCommand(app);
  AddKeeperCommand(app);
  for (const auto& [command, group] : kGroups) app.get_subcommand(command)->group(group);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::string command = argc > 1 ? arguments[0] : ""; command == "run" || command == "trace") {
    std::vector<std::string> options(arguments.begin() + 1, arguments.end());
    program = TakeProgram(*app.get_subcommand(command), options);
    options.insert(options.begin(), command);
    arguments = std::move(options);
  }
  if (TakesArClients(arguments)) arguments.insert(arguments.begin(), "ar");
  if (IsOtherCommand(arguments)) return RunOtherProgram(arguments);
  return RunCommandLine(app, std::move(arguments));
}

}  // namespace
}  // namespace wharf::cli

int main(int argc, char** argv) {
  wharf::TrustLockOrder();
  return wharf::cli::Main(argc, argv);
}
