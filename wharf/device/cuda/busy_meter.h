// BusyMeter: time the GPU spent on a session's work, from a pair of events around each operation. Waiting for the
// client between operations does not count; operations that run at the same time on two streams count twice.
#pragma once

#include <deque>

#include "wharf/base/clock.h"
#include "wharf/device/cuda/gpu.h"

namespace wharf::device::cuda {

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
  };
  Pair Begin(StreamHandle stream);
  void End(StreamHandle stream, Pair pair);
  void PutBack(Pair pair);
  // Adds up what is finished, oldest first.
  void Harvest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Gpu* gpu_;
  EventPool events_;
  absl::Mutex mutex_;
  std::deque<Pair> pending_ ABSL_GUARDED_BY(mutex_);
  size_t since_harvest_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanoseconds total_ ABSL_GUARDED_BY(mutex_){0};
};

}  // namespace wharf::device::cuda
