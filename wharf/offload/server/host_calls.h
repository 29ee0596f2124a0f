// HostCalls: streams held until the client has run a host function (cudaLaunchHostFunc).
#pragma once

#include <cstdint>
#include <map>

#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"

namespace wharf::offload {

// Thread-safe.
class HostCalls {
 public:
  // kAlreadyExists if `call` is pending, kResourceExhausted beyond `limit`.
  absl::Status Add(uint64_t call, uint64_t limit) {
    absl::MutexLock lock(&mutex_);
    if (pending_.size() >= limit) return ResourceExhausted("{} host calls are pending", pending_.size());
    if (!pending_.emplace(call, false).second) return AlreadyExists("host call {} is pending already", call);
    return absl::OkStatus();
  }
  void Remove(uint64_t call) {
    absl::MutexLock lock(&mutex_);
    pending_.erase(call);
  }
  // Holds the calling (device) thread until Finish(call) or ReleaseAll.
  void Wait(uint64_t call) {
    absl::MutexLock lock(&mutex_);
    const Waiter waiter{this, call};
    mutex_.Await(absl::Condition(
        +[](const Waiter* w) { return w->calls->IsOver(w->call); }, &waiter));
    pending_.erase(call);
  }
  // kNotFound if no such call is pending.
  absl::Status Finish(uint64_t call) {
    absl::MutexLock lock(&mutex_);
    const auto found = pending_.find(call);
    if (found == pending_.end()) return NotFound("no host call {} is pending", call);
    found->second = true;
    return absl::OkStatus();
  }
  void ReleaseAll() {
    absl::MutexLock lock(&mutex_);
    released_ = true;
  }
  bool Any() const {
    absl::MutexLock lock(&mutex_);
    return !pending_.empty();
  }

 private:
  struct Waiter {
    const HostCalls* calls;
    uint64_t call;
  };
  bool IsOver(uint64_t call) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto found = pending_.find(call);
    return released_ || found == pending_.end() || found->second;
  }

  mutable absl::Mutex mutex_;
  std::map<uint64_t, bool> pending_ ABSL_GUARDED_BY(mutex_);  // call -> finished
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace wharf::offload
