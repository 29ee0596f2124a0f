// The programs that `wharf` is made of. What devices need is `wharf` itself: it offloads, and starts the others. What
// needs large libraries is apart, so that nobody loads or installs more than is used, and `wharf` hands those command
// lines over:
//   wharf-worker   serves programs, compiles kernels: LLVM, OpenBLAS
//   wharf-plan     plans and simulates: ONNX, CBC
//   wharf-model    runs models: LibTorch
// All are in one folder, or wharf in bin and the others in libexec/wharf.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace wharf::cli {

// For the list of commands in `wharf --help`: those of the groups, "" being `wharf` itself, in the order in which they
// are shown.
void AddOtherCommands(CLI::App& app, std::initializer_list<std::string_view> groups);
// Whether a command line is for another program than `wharf`.
bool IsOtherCommand(const std::vector<std::string>& arguments);
// Replaces this process; returns an exit code only if the program is not installed.
int RunOtherProgram(const std::vector<std::string>& arguments);

// Its path, or "" if it is not installed: "wharf", "wharf-model" and so on.
std::string FindOwnProgram(const std::string& name);
// Replaces this process by `name` with a hidden command of its own, `arguments`; returns only if there is no such
// program, which was said then.
int RunOwnProgram(const std::string& name, std::vector<std::string> arguments);

inline constexpr const char* kMainProgram = "wharf";
inline constexpr const char* kWorkerProgram = "wharf-worker";
inline constexpr const char* kPlanProgram = "wharf-plan";
inline constexpr const char* kModelProgram = "wharf-model";

}  // namespace wharf::cli
