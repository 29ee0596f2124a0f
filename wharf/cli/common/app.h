// What `wharf` and `wharf-model` have in common: reading a command line and saying how it went.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace wharf::cli {

// Reads the command line, which runs its command. `arguments`: without the program's name. None: prints the help.
// Returns the exit code.
int RunCommandLine(CLI::App& app, std::vector<std::string> arguments);

}  // namespace wharf::cli
