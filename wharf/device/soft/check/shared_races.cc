#include "wharf/device/soft/check/shared_races.h"

#include <algorithm>
#include <bit>

namespace wharf::device::soft::check {
namespace {

bool IsPlainWrite(uint8_t flags) { return (flags & (kWrites | kStrong)) == kWrites; }

// Bits of the `bytes` that the two must not both access without an order.
uint8_t Conflict(uint8_t earlier, uint8_t later, uint8_t bytes, uint8_t unchanged) {
  if (((earlier | later) & kWrites) == 0 || (earlier & later & kStrong) != 0) return 0;
  const bool same = IsPlainWrite(earlier) && IsPlainWrite(later);
  return same ? bytes & ~unchanged : bytes;
}

}  // namespace

void SharedRaces::Start(uint32_t threads, uint32_t bytes) {
  clocks_.Start(threads);
  const size_t words = (size_t{bytes} + kWordBytes - 1) / kWordBytes;
  if (words_.size() < words) words_.resize(words);
}

std::optional<uint32_t> SharedRaces::Unordered(const Record& record, uint32_t thread) const {
  for (uint32_t lanes = record.lanes; lanes != 0; lanes &= lanes - 1) {
    const uint32_t other = record.warp * BlockClocks::kLanes + static_cast<uint32_t>(std::countr_zero(lanes));
    if (!clocks_.IsOrdered(other, record.clock, thread)) return other;
  }
  return std::nullopt;
}

std::optional<SharedRaces::Hazard> SharedRaces::FindHazard(const Word& word, const Touched& touched) const {
  for (const Record& record : word.records) {
    const uint8_t bytes = Conflict(record.flags, touched.flags, record.bytes & touched.bytes, touched.unchanged);
    if (bytes == 0) continue;
    const std::optional<uint32_t> other = Unordered(record, touched.thread);
    if (!other) continue;
    return Hazard{static_cast<uint32_t>(std::countr_zero(bytes)), *other, record.site, record.flags};
  }
  return std::nullopt;
}

void SharedRaces::Remember(Word& word, const Touched& touched) const {
  const uint32_t lane = 1U << touched.thread % BlockClocks::kLanes;
  const Record own{.clock = clocks_.Now(touched.thread),
                   .lanes = lane,
                   .site = touched.site,
                   .warp = static_cast<uint8_t>(touched.thread / BlockClocks::kLanes),
                   .bytes = touched.bytes,
                   .flags = touched.flags};
  bool merged = false;
  for (Record& record : word.records) {
    if (IsPlainWrite(own.flags)) {
      record.bytes &= ~own.bytes;
      continue;
    }
    if (record.warp != own.warp || record.flags != own.flags) continue;
    const bool same_bytes = record.bytes == own.bytes;
    if (!merged && same_bytes && record.clock == own.clock && record.site == own.site) {
      record.lanes |= lane;
      merged = true;
    } else if ((record.bytes & ~own.bytes) == 0) {
      record.lanes &= ~lane;  // what is ordered after the thread's later access is after this one
    }
  }
  std::erase_if(word.records, [](const Record& record) { return record.bytes == 0 || record.lanes == 0; });
  if (!merged) word.records.push_back(own);
}

std::optional<SharedRaces::Hazard> SharedRaces::Touch(uint32_t thread, uint32_t site, uint32_t offset,
                                                      const Access& access, uint32_t unchanged) {
  std::optional<Hazard> found;
  const uint32_t end = offset + access.bytes;
  for (uint32_t first = offset / kWordBytes * kWordBytes; first < end; first += kWordBytes) {
    const uint32_t from = std::max(offset, first), to = std::min(end, first + kWordBytes);
    const uint32_t mask = (1U << (to - from)) - 1;
    const Touched touched{.thread = thread,
                          .site = site,
                          .flags = static_cast<uint8_t>(access.flags & (kReads | kWrites | kStrong)),
                          .bytes = static_cast<uint8_t>(mask << (from - first)),
                          .unchanged = static_cast<uint8_t>((unchanged >> (from - offset) & mask) << (from - first))};
    Word& word = words_[first / kWordBytes];
    if (word.interval != clocks_.interval()) {
      word.interval = clocks_.interval();
      word.records.clear();
    }
    if (!found) {
      found = FindHazard(word, touched);
      if (found) found->offset += first;
    }
    Remember(word, touched);
  }
  return found;
}

}  // namespace wharf::device::soft::check
