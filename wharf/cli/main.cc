// wharf: the one command.
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/mutex.h"
#include "wharf/cli/common/app.h"
#include "wharf/cli/common/commands.h"
#include "wharf/cli/common/model_program.h"
#include "wharf/cli/common/pipeline_command.h"
#include "wharf/cli/version.h"

namespace wharf::cli {
namespace {

constexpr const char* kDescription = R"(Wharf runs CUDA programs on a GPU elsewhere, or on no GPU at all.

  wharf run --local -- ./program args…                on this CPU
  wharf serve                                         offer this machine's GPU or CPU on 127.0.0.1:7070
  wharf run --server HOST:7070 -- ./program args…     on that machine, from one without GPU, driver or CUDA
  wharf doctor                                        what works here, and how to mend what does not)";

constexpr const char* kMainFooter =
    "`wharf COMMAND --help` explains a command. Exit codes: 0 fine, 1 failed, 2 wrong usage.";

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
  AddLinkCommand(app);
  AddBenchCommand(app);
  AddBenchSplitCommand(app);
  AddBenchPipelineCommand(app);
  AddPlanCommands(app);
  AddPipelinePlanCommand(app);
  AddPipelineSimulateCommand(app);
  AddModelCommands(app);
  AddApiCommand(app);
  AddDoctorCommand(app);
  AddWorkerCommand(app);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::string command = argc > 1 ? arguments[0] : ""; command == "run" || command == "trace") {
    std::vector<std::string> options(arguments.begin() + 1, arguments.end());
    program = TakeProgram(*app.get_subcommand(command), options);
    options.insert(options.begin(), command);
    arguments = std::move(options);
  }
  if (TakesArClients(arguments)) arguments.insert(arguments.begin(), "ar");
  if (IsModelCommand(arguments)) return RunModelProgram(arguments);
  return RunCommandLine(app, std::move(arguments));
}

}  // namespace
}  // namespace wharf::cli

int main(int argc, char** argv) {
  wharf::TrustLockOrder();
  return wharf::cli::Main(argc, argv);
}
