// What `wharf pack build` compiles: sources with the flags that a program's build gives them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::cli {

struct CompileJob {
  std::string source;              // absolute
  std::string directory;           // where the compiler is started; absolute
  std::vector<std::string> flags;  // without the compiler, the source and what DeviceFlags leaves out
};

// As a shell splits words that hold quotes and backslashes and nothing else that is special. kInvalidArgument: a quote
// that is not closed.
absl::StatusOr<std::vector<std::string>> SplitWords(std::string_view text);

// Of nvcc's arguments those that say how device code is made: what is written where, the phase and the architectures
// are left out, and so is `source`.
std::vector<std::string> DeviceFlags(const std::vector<std::string>& arguments, std::string_view source);

// The CUDA sources (.cu) of a compile_commands.json, each once, with paths that hold one of `only`, or all if there is
// none. kInvalidArgument: not such a file; kNotFound: it has none of them.
absl::StatusOr<std::vector<CompileJob>> ReadCompileCommands(const std::string& json,
                                                            const std::vector<std::string>& only);

}  // namespace wharf::cli
