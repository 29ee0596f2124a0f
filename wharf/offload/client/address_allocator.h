// AddressAllocator: the client's half of device memory. The server reserved one address range (device::Arena) and told
// the quota; the client places allocations in it by itself, so that cudaMalloc needs no answer.
//
// A granule stays unmapped on either side of what is mapped for an allocation: mappings that touch each other are parts
// of one reservation (virtual_memory/virtual_memory.h), and the server takes them for one. Guarded arenas (soft): every
// allocation has granules of its own and ends flush with its last one (up to kAlignment), so an overrun faults.
// Unguarded arenas (cuda): allocations of at most half a granule share granules. Freed addresses are reused as late as
// possible, so a stale pointer rarely hits a newer allocation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "wharf/base/status.h"
#include "wharf/device/device.h"

namespace wharf::offload {

// Not thread-safe.
class AddressAllocator {
 public:
  static constexpr uint64_t kAlignment = 512;

  struct Range {
    device::DeviceAddress address = 0;
    uint64_t size = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  struct Allocation {
    device::DeviceAddress address = 0;
    std::optional<Range> map;  // what the server has to back first; none if it is backed already
  };

  // At most `quota` bytes are mapped at a time, counted in whole granules.
  AddressAllocator(const device::Arena& arena, uint64_t quota);

  // kOutOfMemory beyond the quota or the arena. REQUIRES: size > 0.
  absl::StatusOr<Allocation> Allocate(uint64_t size);
  // The same at a multiple of `alignment`, a power of two, in granules of its own.
  absl::StatusOr<Allocation> AllocateAligned(uint64_t size, uint64_t alignment);
  // What the server has to release, if anything. kInvalidValue unless `address` came from Allocate and is live.
  absl::StatusOr<std::optional<Range>> Free(device::DeviceAddress address);

  // Addresses that nothing is mapped at, at a multiple of `alignment`, a power of two; at `wish` if that is free. What
  // is mapped there later is counted by Charge, which fails as an allocation of that size, and Refund. REQUIRES: `size`
  // is a multiple of the granularity, and not 0.
  absl::StatusOr<device::DeviceAddress> Reserve(uint64_t size, uint64_t alignment, device::DeviceAddress wish);
  void EndReservation(device::DeviceAddress address, uint64_t size);
  absl::Status Charge(uint64_t bytes);
  void Refund(uint64_t bytes) { mapped_ -= bytes; }

  // The live allocation `address` lies in: its start and size as they were asked for.
  std::optional<Range> Find(device::DeviceAddress address) const;
  bool InArena(device::DeviceAddress address) const {
    return address >= arena_.base && address - arena_.base < arena_.size;
  }
  uint64_t MappedBytes() const { return mapped_; }
  uint64_t Quota() const { return quota_; }

 private:
  struct Block {
    uint64_t size = 0;
    uint64_t mapping = 0;  // start of the mapping it lies in
  };
  // A mapped range that small allocations share.
  struct Chunk {
    std::map<uint64_t, uint64_t> free;  // start -> size
    uint64_t live = 0;
  };

  std::optional<uint64_t> FindGap(uint64_t bytes) const;
  // Whether all of it is free.
  bool IsFree(uint64_t address, uint64_t bytes) const;
  // Takes it out of the free space, which holds it.
  void Occupy(uint64_t address, uint64_t bytes);
  absl::StatusOr<Range> TakeGranules(uint64_t bytes);
  void ReturnGranules(uint64_t address, uint64_t bytes);
  absl::StatusOr<Allocation> AllocateOwn(uint64_t size);
  absl::StatusOr<Allocation> AllocateShared(uint64_t asked);
  std::optional<Range> FreeShared(uint64_t address, const Block& block);
  uint64_t Guard() const { return arena_.granularity; }

  const device::Arena arena_;
  const uint64_t quota_;
  uint64_t mapped_ = 0;
  uint64_t cursor_;                        // where the next search begins
  std::map<uint64_t, uint64_t> free_;      // arena space: start -> size
  std::map<uint64_t, uint64_t> mappings_;  // start -> size
  std::map<uint64_t, Block> blocks_;       // live allocations
  std::map<uint64_t, Chunk> chunks_;       // by start of their mapping
};

}  // namespace wharf::offload
