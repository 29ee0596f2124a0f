// wharf: the one command.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "wharf/base/mutex.h"
#include "wharf/cli/commands.h"
#include "wharf/cli/version.h"

namespace wharf::cli {
namespace {

int exit_code = 0;

constexpr const char* kDescription = R"(Wharf runs CUDA programs on a GPU elsewhere, or on no GPU at all.

  wharf run --local -- ./program args…                on this CPU
  wharf serve                                         offer this machine's GPU or CPU on 127.0.0.1:7070
  wharf run --server HOST:7070 -- ./program args…     on that machine, from one without GPU, driver or CUDA
  wharf doctor                                        what works here, and how to mend what does not)";

constexpr const char* kFooter =
    "`wharf COMMAND --help` explains a command. Exit codes: 0 fine, 1 failed, 2 wrong usage.";

int Main(int argc, char** argv) {
  CLI::App app(kDescription, "wharf");
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("wharf ") + kVersion);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  std::vector<std::string> program;
  AddRunCommand(app, program);
  AddTraceCommand(app, program);
  AddServeCommand(app);
  AddLinkCommand(app);
  AddBenchCommand(app);
  AddBenchSplitCommand(app);
  AddPlanCommands(app);
  AddApiCommand(app);
  AddDoctorCommand(app);
  AddWorkerCommand(app);
  if (argc == 1) {
    std::fputs(app.help().c_str(), stdout);
    return kExitUsage;
  }
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (const std::string command = arguments.front(); command == "run" || command == "trace") {
    std::vector<std::string> options(arguments.begin() + 1, arguments.end());
    program = TakeProgram(*app.get_subcommand(command), options);
    options.insert(options.begin(), command);
    arguments = std::move(options);
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it
    app.parse(arguments);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& error) {
    const auto used = app.get_subcommands();
    const std::string command = used.empty() ? "" : " " + used.front()->get_name();
    std::fprintf(stderr, "wharf: %s (see wharf%s --help)\n", error.what(), command.c_str());
    return kExitUsage;
  }
  return exit_code;
}

}  // namespace

void SetExitCode(int code) { exit_code = code; }
int ExitCode() { return exit_code; }

void Fail(const absl::Status& status) {
  const std::string message(Message(status));
  std::fprintf(stderr, "wharf: %s\n", message.c_str());
  exit_code = kExitFailure;
}

}  // namespace wharf::cli

int main(int argc, char** argv) {
  wharf::TrustLockOrder();
  return wharf::cli::Main(argc, argv);
}
