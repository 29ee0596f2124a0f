// Runs the user's program as a shell would.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::cli {

// As shells have it.
inline constexpr int kExitNotExecutable = 126, kExitNotFound = 127;

struct Command {
  std::string path;                                // what is executed
  std::vector<std::string> arguments;              // with the program's name
  std::map<std::string, std::string> environment;  // replaces or adds to ours; "" removes
};

// Replaces this process; returns only on failure, with the exit code a shell would give (126, 127) and a line on
// standard error.
int Execute(const Command& command);

// Runs it to its end and returns its exit code, 128 + N if signal N ended it. Signals that others send to this process
// are passed on; those a terminal sends reach the program by themselves.
int RunToEnd(const Command& command);

}  // namespace wharf::cli
