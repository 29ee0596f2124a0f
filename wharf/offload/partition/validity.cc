#include "wharf/offload/partition/validity.h"

#include <algorithm>
#include <iterator>

namespace wharf::offload {

void ValidityMap::Add(const MemoryRange& range, bool on_both) { Set(range, on_both ? kBoth : kRemote); }

void ValidityMap::NoteWritten(const MemoryRange& range, Side side) {
  SetLive(range, side == Side::kLocal ? kLocal : kRemote);
}

ValidityMap::Starts::iterator ValidityMap::Split(device::DeviceAddress address) {
  const auto holder = std::prev(starts_.upper_bound(address));
  return holder->first == address ? holder : starts_.emplace(address, holder->second).first;
}

void ValidityMap::Set(const MemoryRange& range, State state) {
  if (range.size == 0) return;
  const auto begin = Split(range.address);
  const auto end = Split(range.address + range.size);
  starts_.erase(std::next(begin), end);
  begin->second = state;
  MergeAround(range);
}

void ValidityMap::SetLive(const MemoryRange& range, State state) {
  if (range.size == 0) return;
  const auto end = Split(range.address + range.size);
  for (auto at = Split(range.address); at != end; ++at) {
    if (at->second != kNone) at->second = state;
  }
  MergeAround(range);
}

// Neighbours of one state become one, so that the map does not grow with the program's life.
void ValidityMap::MergeAround(const MemoryRange& range) {
  auto at = starts_.lower_bound(range.address);
  if (at != starts_.begin()) --at;
  while (std::next(at) != starts_.end() && at->first <= range.address + range.size) {
    if (std::next(at)->second == at->second) {
      starts_.erase(std::next(at));
    } else {
      ++at;
    }
  }
}

std::vector<MemoryRange> ValidityMap::Missing(const MemoryRange& range, Side side) const {
  std::vector<MemoryRange> missing;
  if (range.size == 0) return missing;
  const State elsewhere = side == Side::kLocal ? kRemote : kLocal;
  const device::DeviceAddress end = range.address + range.size;
  for (auto at = std::prev(starts_.upper_bound(range.address)); at != starts_.end() && at->first < end; ++at) {
    if (at->second != elsewhere) continue;
    const device::DeviceAddress from = std::max(at->first, range.address);
    const auto next = std::next(at);
    missing.push_back({from, (next == starts_.end() ? end : std::min(next->first, end)) - from});
  }
  return missing;
}

std::vector<MemoryRange> ValidityMap::Missing(Side side) const { return Missing({0, UINT64_MAX}, side); }

}  // namespace wharf::offload
