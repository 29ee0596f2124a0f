// TurnQueue: the work of clients that offload by their own plans: a thread on which they take turns, so that one that
// asks for much waits for itself only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace wharf::ar {

// Thread-safe.
class TurnQueue {
 public:
  TurnQueue();
  // Waits for what runs; the rest is dropped.
  ~TurnQueue();
  TurnQueue(const TurnQueue&) = delete;
  TurnQueue& operator=(const TurnQueue&) = delete;

  // False if `client` has `most` pieces of work waiting.
  bool Push(uint64_t client, size_t most, std::function<void()> work);
  // Drops what waits for `client` and returns when none of it runs. Not from the queue's own thread.
  void Drop(uint64_t client);

 private:
  void Loop();
  // The next after the client that was last: turns go round by their numbers. REQUIRES: there is work.
  std::function<void()> TakeNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::map<uint64_t, std::deque<std::function<void()>>> waiting_ ABSL_GUARDED_BY(mutex_);  // none is empty
  uint64_t turn_ ABSL_GUARDED_BY(mutex_) = 0;  // of the client that was last
  bool running_ ABSL_GUARDED_BY(mutex_) = false, ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace wharf::ar
