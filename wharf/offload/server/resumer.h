// Resumer: a thread that calls a function whenever it is asked to, for those who ask from device callbacks, which must
// not block.
#pragma once

#include <functional>
#include <thread>

#include "absl/synchronization/mutex.h"

namespace wharf::offload {

// Thread-safe.
class Resumer {
 public:
  explicit Resumer(std::function<void()> resume);
  ~Resumer() { Stop(); }
  Resumer(const Resumer&) = delete;
  Resumer& operator=(const Resumer&) = delete;

  // Never blocks. What is asked while a call is still to begin is one.
  void Ask();
  // Waits for a call that is under way; none begins afterwards. Idempotent.
  void Stop();

 private:
  void Run();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return asked_ || stopped_; }

  const std::function<void()> resume_;
  absl::Mutex mutex_;
  bool asked_ ABSL_GUARDED_BY(mutex_) = false, stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::offload
