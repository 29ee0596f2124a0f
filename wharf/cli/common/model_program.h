// The commands that run models. LibTorch, which they need, is some 500 MB, so they are a program of their own,
// wharf-model, and `wharf` hands their command lines over to it. It is also what serves split sessions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace wharf::cli {

// For the list of commands in `wharf --help`.
void AddModelCommands(CLI::App& app);
// Whether a command line is for wharf-model.
bool IsModelCommand(const std::vector<std::string>& arguments);
// Its path, or "" if it is not installed.
std::string FindModelProgram();
// Replaces this process; returns an exit code only if there is no such program.
int RunModelProgram(const std::vector<std::string>& arguments);

}  // namespace wharf::cli
