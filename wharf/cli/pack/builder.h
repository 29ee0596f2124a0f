// Compiles sources to PTX, several at a time, and goes on where it was interrupted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/cli/pack/compile_jobs.h"

namespace wharf::cli {

struct BuildOptions {
  std::vector<std::string> compiler;  // the words before the flags: nvcc, perhaps behind ccache
  std::string folder;                 // where results are kept from one run to the next; is made
  int jobs = 1;                       // at a time
  bool keep_going = false;            // after a source that does not compile
};

struct CompiledSource {
  std::string source;
  std::string ptx;      // the file that holds it; "" if the source did not compile, or was not tried
  std::string problem;  // what the compiler said then
  bool was_there = false;
};

// In the order of `jobs`. What an earlier run compiled, with the same command, is taken if it is newer than all that it
// was made of. `on_done` is called with the number of sources that are done; from several threads, one at a time.
absl::StatusOr<std::vector<CompiledSource>> CompileAll(const std::vector<CompileJob>& jobs, const BuildOptions& options,
                                                       const std::function<void(size_t done)>& on_done);

}  // namespace wharf::cli
