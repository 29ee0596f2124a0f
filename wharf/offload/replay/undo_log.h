// UndoLog: what the server needs to take back work that it did before the program asked for it. Before a step writes,
// the memory it may write is copied to shadow memory on the device, in stream order; undoing copies it back, in
// reverse. docs/replay.md, "Running ahead".
//
// The shadow memory is taken at the end of the device's arena from what the program has not asked for; it is given
// back whenever the program needs the room (ReleaseShadow).
//
// Work is grouped in segments, each ending with an operation that the program waits for. Within a segment memory is
// saved once, before its first write, so undoing goes back to the beginning of a segment.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"

namespace wharf::offload {

struct MemoryRange {
  device::DeviceAddress address = 0;
  uint64_t size = 0;
};

// Not thread-safe: used where the device is used.
class UndoLog {
 public:
  // At most `capacity` bytes are saved at a time. `device` outlives the log.
  UndoLog(device::Device* device, uint64_t capacity) : device_(device), capacity_(capacity) {}

  // Saves what will be written, unless this segment has saved it already. kResourceExhausted if there is no room: then
  // the step must wait for the program.
  absl::Status Save(device::StreamId stream, const MemoryRange& range);
  void BeginSegment() { segments_.emplace_back(); }
  // Nothing of the newest segment was written after all.
  void DropNewest();
  bool Empty() const { return segments_.empty(); }
  // The oldest segment has happened.
  void DropOldest();
  // Restores, newest first, all that was saved, and forgets it.
  void Restore(device::StreamId stream);
  static constexpr uint64_t kMarkBytes = 4;
  // So many aligned bytes beside what is saved (at the shadow memory's beginning), for whatever runs ahead to mark; 0
  // at first. kResourceExhausted as Save.
  absl::StatusOr<device::DeviceAddress> Mark();
  // Gives the shadow memory back. REQUIRES: Empty(). True if there was any.
  bool ReleaseShadow();

 private:
  struct Saved {
    MemoryRange range;
    device::DeviceAddress shadow = 0;
  };
  bool IsSaved(const MemoryRange& range) const;
  absl::Status MapShadow();

  device::Device* const device_;
  const uint64_t capacity_;
  device::DeviceAddress shadow_ = 0;  // 0: not mapped
  uint64_t shadow_bytes_ = 0, used_ = kMarkBytes;
  std::deque<std::vector<Saved>> segments_;
};

}  // namespace wharf::offload
