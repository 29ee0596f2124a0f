// InFlightBudget: how many bytes a session may have under way (queued on the device, or waiting to be sent). The reader
// of the session waits here, so that a peer that sends faster than the device works is held back by the transport.
#pragma once

#include <cstdint>

#include "absl/synchronization/mutex.h"

namespace wharf::offload {

// Thread-safe.
class InFlightBudget {
 public:
  explicit InFlightBudget(uint64_t limit) : limit_(limit) {}

  void Charge(uint64_t bytes) {
    absl::MutexLock lock(&mutex_);
    used_ += bytes;
  }
  void Release(uint64_t bytes) {
    absl::MutexLock lock(&mutex_);
    used_ -= bytes < used_ ? bytes : used_;
  }
  uint64_t Used() const {
    absl::MutexLock lock(&mutex_);
    return used_;
  }
  bool Full() const { return Used() > limit_; }
  // Blocks while more than the limit is under way; false once closed.
  bool WaitForRoom() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &InFlightBudget::HasRoomOrClosed));
    return !closed_;
  }
  // Nobody waits any more.
  void Close() {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

 private:
  bool HasRoomOrClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || used_ <= limit_; }

  const uint64_t limit_;
  mutable absl::Mutex mutex_;
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace wharf::offload
