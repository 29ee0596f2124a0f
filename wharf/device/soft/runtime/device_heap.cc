#include "wharf/device/soft/runtime/device_heap.h"

#include <algorithm>
#include <iterator>

namespace wharf::device::soft {

DeviceAddress DeviceHeap::Allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > kBytes) return 0;
  bytes = (bytes + 15) / 16 * 16;
  absl::MutexLock lock(&mutex_);
  if (base_ == 0) {
    const absl::StatusOr<DeviceAddress> base = memory_.Allocate(kBytes);
    if (!base.ok()) return 0;
    base_ = *base;
    free_[base_] = kBytes;
  }
  const auto fit = std::find_if(free_.begin(), free_.end(), [&](const auto& range) { return range.second >= bytes; });
  if (fit == free_.end()) return 0;
  const auto [address, size] = *fit;
  free_.erase(fit);
  if (size > bytes) free_[address + bytes] = size - bytes;
  used_[address] = bytes;
  return address;
}

bool DeviceHeap::Free(DeviceAddress address) {
  if (address == 0) return true;
  absl::MutexLock lock(&mutex_);
  const auto found = used_.find(address);
  if (found == used_.end()) return false;
  uint64_t size = found->second;
  used_.erase(found);
  auto next = free_.upper_bound(address);
  if (next != free_.end() && next->first == address + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == address) {
    std::prev(next)->second += size;
  } else {
    free_[address] = size;
  }
  return true;
}

}  // namespace wharf::device::soft
