#include "wharf/offload/client/address_allocator.h"

#include <algorithm>
#include <iterator>

#include "wharf/device/cuda_error.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::CudaStatus;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

// Inserts [start, start + size) into a set of disjoint ranges, joined with its neighbours.
void InsertRange(std::map<uint64_t, uint64_t>& ranges, uint64_t start, uint64_t size) {
  auto next = ranges.lower_bound(start);
  if (next != ranges.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      start = previous->first;
      size += previous->second;
      ranges.erase(previous);
    }
  }
  if (next != ranges.end() && start + size == next->first) {
    size += next->second;
    ranges.erase(next);
  }
  ranges.emplace(start, size);
}

// Cuts `size` bytes off the front of the range at `it`.
void TakeFront(std::map<uint64_t, uint64_t>& ranges, std::map<uint64_t, uint64_t>::iterator it, uint64_t size) {
  const auto [start, available] = *it;
  ranges.erase(it);
  if (available > size) ranges.emplace(start + size, available - size);
}

}  // namespace

AddressAllocator::AddressAllocator(const device::Arena& arena, uint64_t quota)
    : arena_(arena), quota_(quota), cursor_(arena.base) {
  // The first granule stays unmapped; later guards lie behind each allocation.
  if (arena_.granularity != 0 && arena_.size > Guard()) free_.emplace(arena_.base + Guard(), arena_.size - Guard());
}

std::optional<uint64_t> AddressAllocator::FindGap(uint64_t bytes) const {
  auto it = free_.upper_bound(cursor_);
  if (it != free_.begin()) {
    const auto& [start, size] = *std::prev(it);
    if (start + size > cursor_ && start + size - cursor_ >= bytes) return cursor_;
  }
  const auto fits = [&](const auto& gap) { return gap.second >= bytes; };
  if (const auto later = std::find_if(it, free_.end(), fits); later != free_.end()) return later->first;
  const auto earlier = std::find_if(free_.begin(), it, fits);
  if (earlier != it) return earlier->first;
  return std::nullopt;
}

bool AddressAllocator::IsFree(uint64_t address, uint64_t bytes) const {
  const auto after = free_.upper_bound(address);
  if (after == free_.begin()) return false;
  const auto& [start, size] = *std::prev(after);
  return address - start < size && bytes <= size - (address - start);
}

void AddressAllocator::Occupy(uint64_t address, uint64_t bytes) {
  const auto gap = std::prev(free_.upper_bound(address));
  const uint64_t before = address - gap->first, behind = gap->second - before - bytes;
  if (before != 0) {
    gap->second = before;
  } else {
    free_.erase(gap);
  }
  if (behind != 0) free_.emplace(address + bytes, behind);
}

absl::Status AddressAllocator::Charge(uint64_t bytes) {
  if (bytes > quota_ || mapped_ > quota_ - bytes) {
    return CudaStatus(CudaError::kOutOfMemory, "{} bytes asked for, {} of {} in use", bytes, mapped_, quota_);
  }
  mapped_ += bytes;
  return absl::OkStatus();
}

absl::StatusOr<AddressAllocator::Range> AddressAllocator::TakeGranules(uint64_t bytes) {
  WHARF_RETURN_IF_ERROR(Charge(bytes));
  const uint64_t wanted = bytes + Guard();
  const auto found = FindGap(wanted);
  if (!found) {
    Refund(bytes);
    return CudaStatus(CudaError::kOutOfMemory, "no room for {} bytes in the address range", bytes);
  }
  Occupy(*found, wanted);
  cursor_ = *found + wanted;
  mappings_.emplace(*found, bytes);
  return Range{*found, bytes};
}

absl::StatusOr<device::DeviceAddress> AddressAllocator::Reserve(uint64_t size, uint64_t alignment,
                                                                device::DeviceAddress wish) {
  const uint64_t slack = std::max(alignment, arena_.granularity) - arena_.granularity;
  if (size > arena_.size || slack > arena_.size) {
    return CudaStatus(CudaError::kOutOfMemory, "no room for {} bytes in the address range", size);
  }
  if (wish % std::max(alignment, arena_.granularity) == 0 && IsFree(wish, size + Guard())) {
    Occupy(wish, size + Guard());
    return wish;
  }
  const auto found = FindGap(size + slack + Guard());
  if (!found) return CudaStatus(CudaError::kOutOfMemory, "no room for {} bytes in the address range", size);
  const uint64_t address = RoundUp(*found, std::max(alignment, arena_.granularity));
  Occupy(address, size + Guard());
  return address;
}

void AddressAllocator::EndReservation(device::DeviceAddress address, uint64_t size) {
  InsertRange(free_, address, size + Guard());
}

void AddressAllocator::ReturnGranules(uint64_t address, uint64_t bytes) {
  mappings_.erase(address);
  mapped_ -= bytes;
  InsertRange(free_, address, bytes + Guard());
}

absl::StatusOr<AddressAllocator::Allocation> AddressAllocator::Allocate(uint64_t size) {
  if (size > arena_.size) return CudaStatus(CudaError::kOutOfMemory, "{} bytes are more than the device has", size);
  if (!arena_.guarded && size <= arena_.granularity / 2) return AllocateShared(size);
  return AllocateOwn(size);
}

absl::StatusOr<AddressAllocator::Allocation> AddressAllocator::AllocateAligned(uint64_t size, uint64_t alignment) {
  if (size > arena_.size) return CudaStatus(CudaError::kOutOfMemory, "{} bytes are more than the device has", size);
  // Mappings begin at multiples of granules, so that much is enough to find a place within.
  const uint64_t slack = alignment > arena_.granularity ? alignment - arena_.granularity : 0;
  WHARF_ASSIGN_OR_RETURN(const Range range, TakeGranules(RoundUp(size, arena_.granularity) + slack));
  const uint64_t address = RoundUp(range.address, alignment);
  blocks_.emplace(address, Block{size, range.address});
  return Allocation{address, range};
}

absl::StatusOr<AddressAllocator::Allocation> AddressAllocator::AllocateOwn(uint64_t size) {
  const uint64_t bytes = RoundUp(size, arena_.granularity);
  WHARF_ASSIGN_OR_RETURN(const Range range, TakeGranules(bytes));
  const uint64_t address = arena_.guarded ? range.address + bytes - RoundUp(size, kAlignment) : range.address;
  blocks_.emplace(address, Block{size, range.address});
  return Allocation{address, range};
}

absl::StatusOr<AddressAllocator::Allocation> AddressAllocator::AllocateShared(uint64_t asked) {
  const uint64_t size = RoundUp(asked, kAlignment);
  for (auto& [start, chunk] : chunks_) {
    const auto found =
        std::find_if(chunk.free.begin(), chunk.free.end(), [&](const auto& range) { return range.second >= size; });
    if (found == chunk.free.end()) continue;
    const uint64_t address = found->first;
    TakeFront(chunk.free, found, size);
    ++chunk.live;
    blocks_.emplace(address, Block{asked, start});
    return Allocation{address, std::nullopt};
  }
  WHARF_ASSIGN_OR_RETURN(const Range range, TakeGranules(arena_.granularity));
  Chunk& chunk = chunks_[range.address];
  chunk.live = 1;
  if (range.size > size) chunk.free.emplace(range.address + size, range.size - size);
  blocks_.emplace(range.address, Block{asked, range.address});
  return Allocation{range.address, range};
}

absl::StatusOr<std::optional<AddressAllocator::Range>> AddressAllocator::Free(device::DeviceAddress address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return CudaStatus(CudaError::kInvalidValue, "{:#x} is no allocation", address);
  const Block block = found->second;
  blocks_.erase(found);
  if (chunks_.contains(block.mapping)) return FreeShared(address, block);
  const Range range{block.mapping, mappings_.at(block.mapping)};
  ReturnGranules(range.address, range.size);
  return range;
}

std::optional<AddressAllocator::Range> AddressAllocator::FreeShared(uint64_t address, const Block& block) {
  Chunk& chunk = chunks_.at(block.mapping);
  InsertRange(chunk.free, address, RoundUp(block.size, kAlignment));
  // One empty chunk is kept: programs that free and allocate in turn need no mapping each time.
  if (--chunk.live != 0 || chunks_.size() == 1) return std::nullopt;
  const Range range{block.mapping, mappings_.at(block.mapping)};
  chunks_.erase(block.mapping);
  ReturnGranules(range.address, range.size);
  return range;
}

std::optional<AddressAllocator::Range> AddressAllocator::Find(device::DeviceAddress address) const {
  auto it = blocks_.upper_bound(address);
  if (it == blocks_.begin()) return std::nullopt;
  --it;
  if (address - it->first >= it->second.size) return std::nullopt;
  return Range{it->first, it->second.size};
}

}  // namespace wharf::offload
