// Outbound: a thread that sends rows, so that computing does not wait for the link: not for tensors to be laid out and
// encoded for it either.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "wharf/link/channel.h"
#include "wharf/split/execution/side_runner.h"
#include "wharf/split/execution/slow_down.h"

namespace wharf::split {

// Sends on one channel, inference after inference. Thread-safe.
class Outbound {
 public:
  // `channel` must outlive it. `resource`: what its events are called. Rows are laid out and encoded inside
  // `slow_down`.
  Outbound(link::Channel& channel, Resource resource, const SlowDown& slow_down = SlowDown());
  // What was not sent yet is dropped. The channel must be closed, or its peer read.
  ~Outbound();

  // The outbox of one inference; its frames carry the tag `inference`. Must not outlive it.
  std::unique_ptr<Outbox> Open(uint64_t inference, std::shared_ptr<Recorder> recorder);
  // What is sent in `task` leaves after everything before it.
  void Push(std::function<void()> task);
  // Waits until everything was handed to the link, or it failed.
  void Drain();
  // The same; false: `limit` was too short.
  bool DrainWithin(absl::Duration limit);

 private:
  class Opened;
  bool NothingLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return tasks_.empty() && !sending_; }
  void ThreadMain();

  link::Channel& channel_;
  const Resource resource_;
  const SlowDown slow_down_;
  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::split
