#include "wharf/cudashim/client/host_ranges.h"

#include <algorithm>
#include <iterator>

namespace wharf::client {

HostRanges& HostRanges::Get() {
  static HostRanges* const ranges = new HostRanges();
  return *ranges;
}

bool HostRanges::Add(void* pointer, uint64_t size, uint32_t flags, bool owned) {
  const auto base = reinterpret_cast<uint64_t>(pointer);
  absl::MutexLock lock(&mutex_);
  const auto next = ranges_.lower_bound(base);
  if (next != ranges_.end() && next->first - base < size) return false;
  if (next != ranges_.begin() && base - std::prev(next)->first < std::prev(next)->second.size) return false;
  ranges_.emplace(base, Range{base, size, flags, owned});
  if (owned) {
    owned_begin_.store(std::min(owned_begin_.load(), base));
    owned_end_.store(std::max(owned_end_.load(), base + size));
  }
  return true;
}

bool HostRanges::Remove(void* pointer, bool owned) {
  absl::MutexLock lock(&mutex_);
  const auto found = ranges_.find(reinterpret_cast<uint64_t>(pointer));
  if (found == ranges_.end() || found->second.owned != owned) return false;
  ranges_.erase(found);
  return true;
}

std::optional<HostRanges::Range> HostRanges::Find(uint64_t address) const {
  absl::MutexLock lock(&mutex_);
  auto it = ranges_.upper_bound(address);
  if (it == ranges_.begin()) return std::nullopt;
  --it;
  if (address - it->first >= it->second.size) return std::nullopt;
  return it->second;
}

bool HostRanges::Contains(uint64_t address, uint64_t size) const {
  const auto range = Find(address);
  return range && size <= range->size - (address - range->base);
}

}  // namespace wharf::client
