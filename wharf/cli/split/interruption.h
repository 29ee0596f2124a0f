// Interruption: what Ctrl-C (SIGINT) and SIGTERM do to `wharf split`.
#pragma once

#include <memory>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "wharf/split/runtime/server_connection.h"

namespace wharf::cli {

// While it lives, a signal ends the process: the server is told, so that it does not keep the session for a client that
// might come back, one line is printed, and the exit code is 128 + the signal. Once somebody looks (Remember), the
// first signal is only remembered, for work that ends in order, and the second one ends the process. One at a time.
class Interruption {
 public:
  Interruption();
  // Signals do again what they do to every program.
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  void Remember();
  // The signal that was remembered; 0: none came. A system call that one interrupts is not begun again.
  static int By();
  // Who is to be told. Thread-safe.
  void Connected(const std::shared_ptr<split::ServerConnection>& server);

 private:
  void Loop();
  [[noreturn]] void End(int signal);

  absl::Mutex mutex_;
  std::weak_ptr<split::ServerConnection> server_ ABSL_GUARDED_BY(mutex_);
  bool remember_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::cli
