// ErrorState: CUDA's asynchronous errors as the client of a session keeps them. The *sticky* error, a fault of the
// device or the loss of the server, is what every later call returns. The *pending* error, of what was posted or of a
// request that nobody waits for, is returned once, by the next call that waits (docs/replay.md, "Errors").
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/device/cuda_error.h"
#include "wharf/offload/client/request.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

// Thread-safe. One lock, taken only when something goes wrong or ends; it comes after every other lock of a session,
// and only `on_lost` is called under it.
class ErrorState {
 public:
  // `on_lost` is called once, with the reason, if the server is lost between Open and Close.
  explicit ErrorState(std::function<void(std::string_view)> on_lost) : on_lost_(std::move(on_lost)) {}

  // The session has begun, and is being ended on purpose: false if it was before.
  void Open();
  bool Close();

  // kSuccess, the device's fault or kRemoteLost. Without a lock.
  device::CudaError Sticky() const { return sticky_.load(std::memory_order_acquire); }
  std::string StickyMessage() const;
  // Takes the errors that the next call that waits returns out of an answer: of what was posted before it, and with
  // `include_own` (nobody waits for the answer) the request's own; and a fault. Without a lock if there is none.
  void Latch(ReplyHeader& header, bool include_own);
  // Keeps a pending error. False if there is one already.
  bool Keep(device::CudaError error);
  bool HasPending() const { return pending_.load(std::memory_order_acquire) != device::CudaError::kSuccess; }
  // Then it is no longer pending. Without a lock.
  device::CudaError TakePending();
  // What a call returns that waited for these: the sticky error, the pending one, which is then no longer pending, or
  // the first of theirs. REQUIRES: they are done, or the session is lost.
  device::CudaError Outcome(std::span<const RequestPtr> requests);

  // Why the server says it ends the session: the reason of the loss that follows.
  void NoteGoodbye(std::string reason);
  std::string Goodbye() const;
  // Every later call gets kRemoteLost.
  void Lose(std::string reason);

 private:
  const std::function<void(std::string_view)> on_lost_;
  std::atomic<device::CudaError> sticky_{device::CudaError::kSuccess}, pending_{device::CudaError::kSuccess};
  mutable absl::Mutex mutex_;
  std::string sticky_message_ ABSL_GUARDED_BY(mutex_);
  std::string goodbye_ ABSL_GUARDED_BY(mutex_);
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;  // by us, on purpose
  bool told_ ABSL_GUARDED_BY(mutex_) = false;     // that the server is lost
};

}  // namespace wharf::offload
