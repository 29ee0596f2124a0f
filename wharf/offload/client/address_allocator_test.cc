#include "wharf/offload/client/address_allocator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "wharf/device/cuda_error.h"

namespace wharf::offload {
namespace {

using device::CudaError;

constexpr uint64_t kBase = uint64_t{1} << 40;

device::Arena Guarded() { return {kBase, uint64_t{64} << 20, 4096, true}; }
device::Arena Unguarded() { return {kBase, uint64_t{256} << 20, 2 << 20, false}; }

TEST(AddressAllocator, GuardedAllocationEndsFlushWithItsGranules) {
  AddressAllocator allocator(Guarded(), 1 << 20);
  const auto made = allocator.Allocate(1000);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(made->map.has_value());
  EXPECT_EQ(made->map->size, 4096u);
  EXPECT_EQ(made->address + 1024, made->map->address + made->map->size);
  EXPECT_GE(made->map->address, kBase + 4096) << "a guard lies in front";
}

TEST(AddressAllocator, AlignedAllocationsLieWithinTheirMapping) {
  for (const device::Arena& arena : {Guarded(), Unguarded()}) {
    AddressAllocator allocator(arena, arena.size);
    for (const uint64_t alignment : {uint64_t{4096}, uint64_t{16} << 10, uint64_t{64} << 10}) {
      ASSERT_TRUE(allocator.Allocate(100).ok());
      const uint64_t mapped = allocator.MappedBytes();
      const auto made = allocator.AllocateAligned(100'000, alignment);
      ASSERT_TRUE(made.ok() && made->map.has_value());
      EXPECT_EQ(made->address % alignment, 0u);
      EXPECT_GE(made->address, made->map->address);
      EXPECT_LE(made->address + 100'000, made->map->address + made->map->size);
      EXPECT_EQ(allocator.Find(made->address + 99'999)->address, made->address);
      const auto freed = allocator.Free(made->address);
      ASSERT_TRUE(freed.ok());
      EXPECT_EQ(*freed, made->map);
      EXPECT_EQ(allocator.MappedBytes(), mapped);
    }
  }
}

TEST(AddressAllocator, GuardedAllocationsAreNeverAdjacent) {
  AddressAllocator allocator(Guarded(), 1 << 20);
  const auto first = allocator.Allocate(4096), second = allocator.Allocate(4096);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_GE(second->map->address, first->map->address + first->map->size + 4096);
}

TEST(AddressAllocator, UnguardedSmallAllocationsShareAGranule) {
  AddressAllocator allocator(Unguarded(), uint64_t{16} << 20);
  const auto first = allocator.Allocate(100), second = allocator.Allocate(100);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first->map.has_value());
  EXPECT_FALSE(second->map.has_value());
  EXPECT_EQ(second->address, first->address + 512);
  EXPECT_EQ(allocator.MappedBytes(), uint64_t{2} << 20);
}

TEST(AddressAllocator, QuotaIsOutOfMemory) {
  AddressAllocator allocator(Guarded(), 8192);
  ASSERT_TRUE(allocator.Allocate(8192).ok());
  EXPECT_EQ(device::CudaErrorOf(allocator.Allocate(1).status()), CudaError::kOutOfMemory);
}

TEST(AddressAllocator, MoreThanTheArenaIsOutOfMemory) {
  AddressAllocator allocator(Guarded(), UINT64_MAX);
  EXPECT_EQ(device::CudaErrorOf(allocator.Allocate(UINT64_MAX).status()), CudaError::kOutOfMemory);
  EXPECT_EQ(device::CudaErrorOf(allocator.Allocate(uint64_t{64} << 20).status()), CudaError::kOutOfMemory);
}

TEST(AddressAllocator, FreeOfAnythingButAnAllocationIsInvalid) {
  AddressAllocator allocator(Guarded(), 1 << 20);
  const auto made = allocator.Allocate(4096);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(device::CudaErrorOf(allocator.Free(made->address + 1).status()), CudaError::kInvalidValue);
  ASSERT_TRUE(allocator.Free(made->address).ok());
  EXPECT_EQ(device::CudaErrorOf(allocator.Free(made->address).status()), CudaError::kInvalidValue);
}

TEST(AddressAllocator, FindKnowsExactlyTheBytesAskedFor) {
  AddressAllocator allocator(Guarded(), 1 << 20);
  const auto made = allocator.Allocate(1000);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(allocator.Find(made->address + 999), (AddressAllocator::Range{made->address, 1000}));
  EXPECT_EQ(allocator.Find(made->address + 1000), std::nullopt);
  EXPECT_EQ(allocator.Find(made->address - 1), std::nullopt);
}

TEST(AddressAllocator, FreedAddressIsReusedLast) {
  AddressAllocator allocator(Guarded(), 1 << 20);
  const auto first = allocator.Allocate(4096);
  ASSERT_TRUE(first.ok() && allocator.Free(first->address).ok());
  const auto second = allocator.Allocate(4096);
  ASSERT_TRUE(second.ok());
  EXPECT_NE(second->address, first->address);
}

// A random sequence of allocations and releases against a simple model: mappings stay disjoint, aligned, inside the
// arena and the quota; each live allocation lies in a live mapping; in a guarded arena a granule stays free around
// each.
void CheckAgainstModel(const device::Arena& arena, uint64_t quota) {
  AddressAllocator allocator(arena, quota);
  std::map<uint64_t, uint64_t> mappings;
  std::vector<AddressAllocator::Range> live;
  const auto steps = *rc::gen::container<std::vector<std::pair<bool, uint32_t>>>(
      rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<uint32_t>(1, 3 << 20)));
  for (const auto& [allocate, number] : steps) {
    if (allocate || live.empty()) {
      const auto made = allocator.Allocate(number);
      if (!made.ok()) {
        RC_ASSERT(device::CudaErrorOf(made.status()) == CudaError::kOutOfMemory);
        continue;
      }
      if (made->map) {
        RC_ASSERT(made->map->address % arena.granularity == 0 && made->map->size % arena.granularity == 0);
        RC_ASSERT(mappings.emplace(made->map->address, made->map->size).second);
      }
      RC_ASSERT(made->address % AddressAllocator::kAlignment == 0);
      live.push_back({made->address, number});
    } else {
      const size_t index = number % live.size();
      const auto freed = allocator.Free(live[index].address);
      RC_ASSERT(freed.ok());
      if (*freed) {
        RC_ASSERT(mappings.at((*freed)->address) == (*freed)->size);
        mappings.erase((*freed)->address);
      }
      live.erase(live.begin() + static_cast<ptrdiff_t>(index));
    }
    const uint64_t guard = arena.guarded ? arena.granularity : 0;
    uint64_t end = arena.base, total = 0;
    for (const auto& [address, size] : mappings) {
      RC_ASSERT(address >= end + guard);
      end = address + size;
      total += size;
    }
    RC_ASSERT(end + guard <= arena.base + arena.size);
    RC_ASSERT(total == allocator.MappedBytes() && total <= quota);
    std::map<uint64_t, uint64_t> sorted;
    for (const auto& range : live) sorted.emplace(range.address, range.size);
    RC_ASSERT(sorted.size() == live.size());
    uint64_t previous = 0;
    for (const auto& [address, size] : sorted) {
      RC_ASSERT(address >= previous);
      previous = address + size;
      const auto mapping = std::prev(mappings.upper_bound(address));
      RC_ASSERT(address >= mapping->first && address + size <= mapping->first + mapping->second);
      RC_ASSERT(allocator.Find(address + size / 2) == (AddressAllocator::Range{address, size}));
    }
  }
}

RC_GTEST_PROP(AddressAllocatorProperty, GuardedMatchesModel, ()) { CheckAgainstModel(Guarded(), 40 << 20); }
RC_GTEST_PROP(AddressAllocatorProperty, UnguardedMatchesModel, ()) { CheckAgainstModel(Unguarded(), 40 << 20); }

}  // namespace
}  // namespace wharf::offload
