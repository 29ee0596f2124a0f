// The commands of `wharf`: one file each, `AddXCommand` in it. A command runs in its CLI11 callback and says how it
// went with SetExitCode or Fail. Exit codes: 0 fine, 1 it failed (one line on standard error says why), 2 wrong usage;
// `wharf run` and `wharf trace` pass on the program's own.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::cli {

inline constexpr int kExitFailure = 1, kExitUsage = 2;

// `program`: filled before the command runs.
void AddRunCommand(CLI::App& app, const std::vector<std::string>& program);
void AddTraceCommand(CLI::App& app, const std::vector<std::string>& program);  // run.cc
void AddServeCommand(CLI::App& app);
void AddKeeperCommand(CLI::App& app);  // hidden: started by `wharf serve`
void AddLinkCommand(CLI::App& app);
void AddDoctorCommand(CLI::App& app);
void AddApiCommand(CLI::App& app);
void AddPackCommand(CLI::App& app);
void AddCompletionCommand(CLI::App& app);
// Of wharf-plan (own_programs.h).
void AddPlanCommands(CLI::App& app);      // plan, explain
void AddOperatorsCommand(CLI::App& app);  // hidden: for `wharf doctor --operators`
// Of wharf-worker, all hidden.
void AddWorkerCommand(CLI::App& app);   // started by `wharf serve`
void AddDevicesCommand(CLI::App& app);  // asked by `wharf doctor`
void AddKernelsCommand(CLI::App& app);  // for `wharf doctor --kernels`
// Of wharf-model.
void AddProfileCommand(CLI::App& app);
void AddSplitCommand(CLI::App& app);
void AddModelWorkerCommand(CLI::App& app);   // hidden: started by `wharf serve`
void AddHostCommand(CLI::App& app);          // hidden: started by programs in other languages
void AddModelDevicesCommand(CLI::App& app);  // hidden: asked by `wharf doctor`
// Of wharf-plan and wharf-model, hidden: asked by `wharf completion`.
void AddOwnCompletionCommand(CLI::App& app);

// `wharf run`'s and `wharf trace`'s own options end where the program's command line begins: after --, or at the first
// word that is neither an option nor an option's value. Removes that command line from `arguments` and returns it.
std::vector<std::string> TakeProgram(CLI::App& command, std::vector<std::string>& arguments);

void SetExitCode(int code);
int ExitCode();
// "wharf: MESSAGE" on standard error, and exit code 1.
void Fail(const absl::Status& status);

}  // namespace wharf::cli
