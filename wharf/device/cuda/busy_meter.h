// BusyMeter: time the GPU spent on a session's work, from a pair of events around operations. Waiting for the client
// between operations does not count; operations that run at the same time on two streams count twice. A pair takes
// longer than a launch, so of a session's many operations some are measured, for the others too: an estimate.
#pragma once

#include <deque>

#include "wharf/base/clock.h"
#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

// Which operations are measured, and for how many each stands: every one of the first, then one of kShare, at random,
// so that no rhythm of a program's is in step with it. Expected to add up to the number of operations.
class OperationSample {
 public:
  static constexpr uint64_t kAll = 1024, kShare = 8;
  // 0: the next one is not measured.
  uint32_t WeightOfNext() {
    if (++count_ <= kAll) return 1;
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;  // xorshift64
    return (state_ >> 32) % kShare == 0 ? kShare : 0;
  }

 private:
  uint64_t count_ = 0, state_ = 0x9E3779B97F4A7C15;
};

// Thread-safe. Methods need the context to be current, Total makes it so.
class BusyMeter {
 public:
  explicit BusyMeter(Gpu* gpu) : gpu_(gpu), events_(gpu, /*timing*/ 0) {}
  ~BusyMeter();

  // Around one operation: `operation` queues it on `stream`. Beyond kMostPending unfinished operations time is no
  // longer taken.
  template <typename Operation>
  absl::Status Measure(StreamHandle stream, Operation operation) {
    Pair pair = Begin(stream);
    absl::Status status = operation();
    End(stream, pair);
    return status;
  }
  Nanoseconds Total();

 private:
  static constexpr size_t kMostPending = 1 << 16, kHarvestAt = 1 << 10;
  struct Pair {
    EventHandle begin = nullptr, end = nullptr;
    uint32_t weight = 1;
  };
  Pair Begin(StreamHandle stream);
  void End(StreamHandle stream, Pair pair);
  void PutBack(Pair pair);
  // Adds up what is finished, oldest first.
  void Harvest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Gpu* gpu_;
  EventPool events_;
  absl::Mutex mutex_;
  OperationSample sample_ ABSL_GUARDED_BY(mutex_);
  std::deque<Pair> pending_ ABSL_GUARDED_BY(mutex_);
  size_t since_harvest_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanoseconds total_ ABSL_GUARDED_BY(mutex_){0};
};

}  // namespace wharf::device::cuda
