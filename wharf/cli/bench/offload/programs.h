// The programs that `wharf bench offload` knows by name, and where they are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/cli/bench/offload/run.h"

namespace wharf::cli {

// What a user chose.
struct ProgramChoice {
  std::string name = "pose";  // pose, decode, pytorch:MODEL or a file
  std::string image;          // of pose; empty: the one that comes with it
  std::string python = "python3";
  std::vector<std::string> arguments;  // added to the program's, and to the client's that it is when offloaded by hand
};

// How to run it. kNotFound, saying which option names it, if a part of it is not there.
absl::StatusOr<MeasuredProgram> FindBenchProgram(const ProgramChoice& choice);

// The first of `candidates` that exists: relative ones are looked for beside this executable, as in a build or
// installed tree, and below the current directory. kNotFound, with `what` it is and the `option` that names it.
absl::StatusOr<std::string> FindFile(const std::vector<std::string>& candidates, std::string_view what,
                                     std::string_view option);

}  // namespace wharf::cli
