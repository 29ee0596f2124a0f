// OutputCapture: what kernels print. The driver writes what printf says to this process's standard output, and what an
// assertion says to its standard error; while an OutputCapture lives, both are a memory file that Drain reads, and logs
// go to where standard error was.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"

namespace wharf::device::cuda {

// Thread-safe. At most one at a time in a process.
class OutputCapture {
 public:
  static absl::StatusOr<std::unique_ptr<OutputCapture>> Start();
  // Puts them back.
  ~OutputCapture();
  // What was written since the last call.
  std::string Drain();

 private:
  OutputCapture(int saved_output, int saved_error, int file)
      : saved_output_(saved_output), saved_error_(saved_error), file_(file) {}
  const int saved_output_, saved_error_, file_;
  absl::Mutex mutex_;
  off_t read_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::device::cuda
