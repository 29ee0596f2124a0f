// ValidityMap: on which side the bytes of device memory are what the program would see. Both sides have the same
// allocations at the same addresses; a byte is valid on one side or on both.
#pragma once

#include <map>
#include <vector>

#include "wharf/offload/partition/side.h"
#include "wharf/offload/replay/undo_log.h"

namespace wharf::offload {

// Not thread-safe. Every operation is O(log n + states passed), where n is how often validity changes along the address
// space.
class ValidityMap {
 public:
  // An allocation came, which both sides have or, otherwise, the server only.
  void Add(const MemoryRange& range, bool on_both);
  void Remove(const MemoryRange& range) { Set(range, kNone); }
  // Parts of `range` outside of allocations are left out of what follows.

  // Written on `side`, and so valid there only.
  void NoteWritten(const MemoryRange& range, Side side);
  // The same bytes are on both sides now.
  void NoteCopied(const MemoryRange& range) { SetLive(range, kBoth); }
  // What of `range` is not valid on `side`, in order of address.
  std::vector<MemoryRange> Missing(const MemoryRange& range, Side side) const;
  // The same of all memory.
  std::vector<MemoryRange> Missing(Side side) const;

 private:
  enum State : uint8_t { kNone, kLocal, kRemote, kBoth };
  using Starts = std::map<device::DeviceAddress, State>;
  // A state begins at `address` from now on.
  Starts::iterator Split(device::DeviceAddress address);
  void Set(const MemoryRange& range, State state);
  void SetLive(const MemoryRange& range, State state);
  void MergeAround(const MemoryRange& range);

  Starts starts_ = {{0, kNone}};  // where each state begins; it lasts until the next one does
};

}  // namespace wharf::offload
