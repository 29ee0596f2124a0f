// OutputCapture: what kernels print with printf. The driver writes it to this process's standard output; while an
// OutputCapture lives, file descriptor 1 is a memory file that Drain reads.
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
  // Puts standard output back.
  ~OutputCapture();
  // What was written since the last call.
  std::string Drain();

 private:
  OutputCapture(int saved, int file) : saved_(saved), file_(file) {}
  const int saved_, file_;
  absl::Mutex mutex_;
  off_t read_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::device::cuda
