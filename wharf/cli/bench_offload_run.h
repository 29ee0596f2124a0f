// Runs a CUDA program under `wharf run`, measured: for `wharf bench offload`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wharf/cli/bench_offload_model.h"

namespace wharf::cli {

// A directory of its own, gone at the end.
class ScratchDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<ScratchDirectory>> Make();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

struct MeasuredProgram {
  std::string path;
  std::vector<std::string> arguments;  // besides --inferences and --json, which are added
};

// Runs it with `inferences` through `wharf run --server ADDRESS --mode MODE` and reads what it left behind. The
// program's standard output is dropped, its standard error is ours. kAborted with its exit code if it fails.
absl::StatusOr<ProgramRun> RunMeasured(const MeasuredProgram& program, const std::string& address,
                                       const std::string& mode, int inferences, const ScratchDirectory& scratch);

}  // namespace wharf::cli
