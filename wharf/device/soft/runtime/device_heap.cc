#include "wharf/device/soft/runtime/device_heap.h"

#include <algorithm>
#include <iterator>

namespace wharf::device::soft {

bool DeviceHeap::Grow(uint64_t bytes) {
  const uint64_t size = std::max(bytes, kStepBytes);
  if (size > kMostBytes - bytes_) return false;
  const absl::StatusOr<DeviceAddress> range = memory_.Allocate(size);
  if (!range.ok()) return false;
  free_[*range] = size;
  bytes_ += size;
  return true;
}

DeviceAddress DeviceHeap::Allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > kMostBytes) return 0;
  bytes = (bytes + 15) / 16 * 16;
  absl::MutexLock lock(&mutex_);
  const auto fits = [&](const auto& range) { return range.second >= bytes; };
  auto fit = std::find_if(free_.begin(), free_.end(), fits);
  if (fit == free_.end()) {
    if (!Grow(bytes)) return 0;
    fit = std::find_if(free_.begin(), free_.end(), fits);
  }
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
