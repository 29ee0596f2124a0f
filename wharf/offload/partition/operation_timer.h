// OperationTimer: what operations take on either device, by events around them.
#pragma once

#include <vector>

#include "wharf/offload/partition/placement.h"
#include "wharf/offload/partition/remote_device.h"

namespace wharf::offload {

// Not thread-safe: used where the devices are used. Its events have numbers from 2^62 on, which no program's have.
class OperationTimer {
 public:
  // Both outlive the timer.
  OperationTimer(device::Device* local, RemoteDevice* remote) : local_(local), remote_(remote) {}

  // Around the call that queues the operation. `queued`: whether it did.
  void Start(Side side, device::StreamId stream, size_t token);
  void Stop(bool queued);
  // The times since the last call, as far as the devices have them: operations must be done. Waits for one round trip.
  std::vector<MeasuredTime> Collect();

 private:
  struct Timing {
    Side side = Side::kLocal;
    device::StreamId stream = 0;
    size_t token = 0;
    device::EventId start = 0, stop = 0;
  };
  device::EventId NextEvent(Side side);
  device::Device& On(Side side) { return side == Side::kLocal ? *local_ : *remote_; }

  device::Device* const local_;
  RemoteDevice* const remote_;
  uint64_t made_[2] = {0, 0}, used_[2] = {0, 0};  // events of each side
  std::vector<Timing> timings_;
};

}  // namespace wharf::offload
