#include "wharf/offload/replay/undo_log.h"

#include <algorithm>

namespace wharf::offload {
namespace {

constexpr uint64_t kShadowAlignment = 256;
constexpr uint64_t kLeastShadow = 64 << 10;

bool Contains(const MemoryRange& outer, const MemoryRange& inner) {
  return inner.address >= outer.address && inner.address - outer.address <= outer.size &&
         inner.size <= outer.size - (inner.address - outer.address);
}

device::Region Flat(device::DeviceAddress address, uint64_t size) { return {address, size, size}; }

}  // namespace

bool UndoLog::IsSaved(const MemoryRange& range) const {
  return std::any_of(segments_.back().begin(), segments_.back().end(),
                     [&](const Saved& saved) { return Contains(saved.range, range); });
}

// As much as there is, up to the capacity.
absl::Status UndoLog::MapShadow() {
  const device::Arena& arena = device_->Arena();
  absl::Status mapped = ResourceExhausted("the arena is too small for shadow memory");
  for (uint64_t size = std::min(capacity_, arena.size / 4); size >= kLeastShadow; size /= 2) {
    const uint64_t rounded = size / arena.granularity * arena.granularity;
    const device::DeviceAddress address = (arena.base + arena.size - rounded) / arena.granularity * arena.granularity;
    if (rounded == 0) break;
    mapped = device_->Map(address, rounded);
    if (!mapped.ok()) continue;
    shadow_ = address;
    shadow_bytes_ = rounded;
    break;
  }
  return mapped;
}

absl::Status UndoLog::Save(device::StreamId stream, const MemoryRange& range) {
  if (range.size == 0 || IsSaved(range)) return absl::OkStatus();
  if (shadow_ == 0) WHARF_RETURN_IF_ERROR(MapShadow());
  const uint64_t begin = (used_ + kShadowAlignment - 1) / kShadowAlignment * kShadowAlignment;
  if (begin > shadow_bytes_ || range.size > shadow_bytes_ - begin) return ResourceExhausted("the undo log is full");
  const device::DeviceAddress shadow = shadow_ + begin;
  WHARF_RETURN_IF_ERROR(device_->CopyOnDevice(stream, Flat(shadow, range.size), Flat(range.address, range.size),
                                              device::Extent{range.size, 1, 1}));
  used_ = begin + range.size;
  segments_.back().push_back({range, shadow});
  return absl::OkStatus();
}

void UndoLog::DropOldest() {
  segments_.pop_front();
  if (segments_.empty()) used_ = kMarkBytes;
}

void UndoLog::DropNewest() {
  segments_.pop_back();
  if (segments_.empty()) used_ = kMarkBytes;
}

absl::StatusOr<device::DeviceAddress> UndoLog::Mark() {
  if (shadow_ == 0) WHARF_RETURN_IF_ERROR(MapShadow());
  return shadow_;
}

void UndoLog::Restore(device::StreamId stream) {
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
    for (auto saved = segment->rbegin(); saved != segment->rend(); ++saved) {
      const MemoryRange& range = saved->range;
      // Both ranges are mapped: nothing is unmapped while the log is not empty. So this cannot fail.
      device_
          ->CopyOnDevice(stream, Flat(range.address, range.size), Flat(saved->shadow, range.size),
                         device::Extent{range.size, 1, 1})
          .IgnoreError();
    }
  }
  segments_.clear();
  used_ = kMarkBytes;
}

bool UndoLog::ReleaseShadow() {
  if (shadow_ == 0) return false;
  device_->Unmap(shadow_).IgnoreError();
  shadow_ = 0;
  return true;
}

}  // namespace wharf::offload
