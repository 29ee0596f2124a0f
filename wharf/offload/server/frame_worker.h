// FrameWorker: a thread that takes frames in the place of a channel's reader, while what a frame asks for may have to
// wait for another one that only the reader can read.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"
#include "wharf/link/channel.h"
#include "wharf/offload/server/handling_clock.h"

namespace wharf::offload {

// Thread-safe, but for Add: one thread's.
class FrameWorker {
 public:
  struct Frame {
    link::FrameHeader header;
    std::vector<std::byte> head, bulk;
  };

  // `take` is called on the thread, in order; after a failure no more. At most `most_bytes` wait.
  FrameWorker(uint64_t most_bytes, std::function<absl::Status(Frame)> take);
  ~FrameWorker() { Stop(); }
  FrameWorker(const FrameWorker&) = delete;
  FrameWorker& operator=(const FrameWorker&) = delete;

  // Everything that was added has been taken: the reader may take the next frame itself.
  bool IsIdle() const;
  // The thread begins with the first. False if too much is waiting.
  bool Add(Frame frame);
  // Waits for the frame under way; what waits is dropped. Idempotent.
  void Stop();

  // Of the frame under way: HandlingClock::Taken.
  Nanoseconds HandlingTime() { return clock_.Taken(); }

 private:
  void Run();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !waiting_.empty() || stopped_; }

  const uint64_t most_bytes_;
  const std::function<absl::Status(Frame)> take_;
  HandlingClock clock_;
  mutable absl::Mutex mutex_;
  std::deque<Frame> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // with those of the frame under way
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::offload
