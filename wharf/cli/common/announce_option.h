// --announce, of servers that others find by `--server auto` (docs/discovery.md).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "wharf/base/status.h"

namespace wharf::cli {

// `announce` must outlive the command.
void AddAnnounceOption(CLI::App* command, bool& announce);

// The program that announces a server which listens at `listen` (link::Announcer). kInvalidArgument: others cannot
// reach that. kNotFound, with what to install.
absl::StatusOr<std::string> FindAnnounceProgram(const std::string& listen);

}  // namespace wharf::cli
