// Kernels compiled in a process of their own: who runs them cannot change what others will run, and a fault of the
// compiler ends no session. The other process gets PTX and returns object code, which it also stores.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/check/checks.h"
#include "wharf/link/byte_stream.h"

namespace wharf::device::soft {

// Of the processor time that one kernel may take. The compiler cannot be stopped in the middle: who asked is answered,
// and `on_late` is called, on another thread, to end the process.
struct CompileLimit {
  Nanoseconds time{0};  // 0: none
  std::function<void()> on_late;
};

// Answers until the other end of `socket`, which it owns, is closed or sends what is no request. Puts what it compiles
// into `cache_directory`; "": nowhere. Fails if this machine's code cannot be made at all.
absl::Status ServeCompilations(int socket, const std::string& cache_directory, const CompileLimit& limit = {});

// The other end. Thread-safe: one request at a time.
class CompileClient {
 public:
  // Owns `socket`, a stream.
  explicit CompileClient(int socket);

  // The object code of one kernel. Fails as Compiler::Compile; kInvalidPtx if the other process is gone: it is for
  // good.
  absl::StatusOr<std::string> Compile(std::string_view ptx, std::string_view kernel, const Dim3& block = {0, 0, 0},
                                      check::Checks checks = 0);

 private:
  absl::StatusOr<std::string> Ask(std::string_view ptx, std::string_view kernel, const Dim3& block,
                                  check::Checks checks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Mutex mutex_;
  const std::unique_ptr<link::ByteStream> stream_;
};

}  // namespace wharf::device::soft
