// The commands of `wharf`: one file each, `AddXCommand` in it. A command runs in its CLI11 callback and says how it
// went with SetExitCode or Fail. Exit codes: 0 fine, 1 it failed (one line on standard error says why), 2 wrong usage;
// `wharf run` passes on the program's own.
#pragma once

#include <CLI/CLI.hpp>

#include "wharf/base/status.h"

namespace wharf::cli {

inline constexpr int kExitFailure = 1, kExitUsage = 2;

void AddRunCommand(CLI::App& app);
void AddServeCommand(CLI::App& app);
void AddLinkCommand(CLI::App& app);
void AddDoctorCommand(CLI::App& app);
void AddApiCommand(CLI::App& app);
void AddBenchCommand(CLI::App& app);   // bench_offload.cc
void AddWorkerCommand(CLI::App& app);  // hidden: started by `wharf serve`

void SetExitCode(int code);
int ExitCode();
// "wharf: MESSAGE" on standard error, and exit code 1.
void Fail(const absl::Status& status);

}  // namespace wharf::cli
