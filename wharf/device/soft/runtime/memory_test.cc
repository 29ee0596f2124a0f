#include "wharf/device/soft/runtime/memory.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "wharf/device/soft/runtime/device_heap.h"
#include "wharf/device/soft/runtime/fiber.h"

namespace wharf::device::soft {
namespace {

const uint64_t kPage = Memory::kGranularity;
const uint64_t kQuota = 64 * kPage;

TEST(MemoryTest, RefusesQuotasOutOfRange) {
  EXPECT_EQ(Memory::Create(0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Memory::Create(~uint64_t{0}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MemoryTest, KnowsWhatIsMeantToBeUsed) {
  const auto memory = *Memory::Create(kQuota);
  const DeviceAddress base = memory->Arena().base + kPage;
  EXPECT_EQ(memory->NearestTo(base), MemoryRange());
  EXPECT_EQ(memory->SetExtent({base, 8}).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(*memory->Map(base, kPage));
  EXPECT_EQ(memory->NearestTo(base + 1), (MemoryRange{base, kPage}));
  EXPECT_EQ(memory->SetExtent({base + kPage - 4, 8}).code(), absl::StatusCode::kInvalidArgument);
  const MemoryRange asked{base + kPage - 404, 400};
  EXPECT_EQ(memory->SetExtent(asked), absl::OkStatus());
  for (const DeviceAddress address : {uint64_t{0}, base, base + kPage, ~uint64_t{0}}) {
    EXPECT_EQ(memory->NearestTo(address), asked);
  }
  const DeviceAddress own = *memory->Allocate(100);
  EXPECT_EQ(memory->NearestTo(own), (MemoryRange{own, kPage}));
  EXPECT_EQ(memory->Mapped(), std::vector<MemoryRange>{asked}) << "without what is the device's own";
  memory->Decommit(base, *memory->Unmap(base));
  EXPECT_TRUE(memory->Mapped().empty());
  ASSERT_TRUE(*memory->Map(base, kPage));
  EXPECT_EQ(memory->NearestTo(base), (MemoryRange{base, kPage})) << "as nobody has said otherwise";
}

TEST(MemoryTest, ArenaIsLargerThanTheQuota) {
  const auto memory = *Memory::Create(kQuota + 1);
  EXPECT_GE(memory->Arena().size, kQuota + kPage);
  EXPECT_TRUE(memory->Arena().guarded);
  EXPECT_EQ(memory->quota(), kQuota + kPage);
}

#ifndef WHARF_TSAN  // where there is one place, and it is small
TEST(MemoryTest, LiesSomewhereElseEveryTime) {
  std::set<DeviceAddress> bases;
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) bases.insert((*Memory::Create(kQuota))->Arena().base);
  EXPECT_GE(bases.size(), kTimes - 1);  // one of 2^24 places each
  for (const DeviceAddress base : bases) EXPECT_EQ(base % (uint64_t{2} << 20), 0u);
}

TEST(MemoryTest, LiesWhereItIsWantedIfThereIsRoom) {
  const DeviceAddress wanted = (*Memory::Create(kQuota))->Arena().base;
  const auto first = *Memory::Create(kQuota, 1, wanted);
  EXPECT_EQ(first->Arena().base, wanted);
  const auto second = *Memory::Create(kQuota, 1, wanted);
  EXPECT_NE(second->Arena().base, wanted);
}

// Rather than somewhere else, where the client's own memory may have the same addresses.
TEST(MemoryTest, IsSmallerWhereThereIsLittleRoom) {
  auto whole = *Memory::Create(kQuota);
  const device::Arena arena = whole->Arena();
  whole.reset();
  void* const behind = reinterpret_cast<void*>(arena.base + arena.size / 4);
  ASSERT_EQ(mmap(behind, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), behind);
  const auto smaller = *Memory::Create(kQuota, 1, arena.base);
  EXPECT_EQ(smaller->Arena().base, arena.base);
  EXPECT_LT(smaller->Arena().size, arena.size / 4);
  EXPECT_GE(smaller->Arena().size, kQuota);
  munmap(behind, kPage);
}
#endif

TEST(MemoryTest, QueuedUnmapKeepsTheOldMemoryUntilItsTurn) {
  const auto memory = *Memory::Create(kQuota);
  const DeviceAddress at = memory->Arena().base;
  ASSERT_EQ(*memory->Map(at, 2 * kPage), true);
  std::memset(reinterpret_cast<void*>(at), 7, 2 * kPage);
  ASSERT_EQ(*memory->Unmap(at), 2 * kPage);
  EXPECT_FALSE(memory->IsMapped(at, 1));
  EXPECT_TRUE(memory->IsLive(at, 2 * kPage));
  // The caller may use the addresses again at once, but the new memory comes later.
  ASSERT_EQ(*memory->Map(at + kPage, 3 * kPage), false);
  EXPECT_TRUE(memory->IsMapped(at + kPage, 3 * kPage));
  EXPECT_EQ(*reinterpret_cast<const uint8_t*>(at + kPage), 7);
  memory->Decommit(at, 2 * kPage);
  ASSERT_EQ(memory->Commit(at + kPage, 3 * kPage), absl::OkStatus());
  EXPECT_FALSE(memory->IsLive(at, 1));
  EXPECT_TRUE(memory->IsLive(at + kPage, 3 * kPage));
  EXPECT_EQ(*reinterpret_cast<const uint8_t*>(at + kPage), 0);
}

TEST(MemoryTest, RangesAcrossTouchingMappingsAreMapped) {
  const auto memory = *Memory::Create(kQuota);
  const DeviceAddress at = memory->Arena().base;
  ASSERT_TRUE(memory->Map(at, kPage).ok());
  ASSERT_TRUE(memory->Map(at + kPage, kPage).ok());
  ASSERT_TRUE(memory->Map(at + 3 * kPage, kPage).ok());
  EXPECT_TRUE(memory->IsMapped(at + 5, 2 * kPage - 5));
  EXPECT_FALSE(memory->IsMapped(at + 5, 2 * kPage - 4));
  EXPECT_FALSE(memory->IsMapped(at, 4 * kPage));
  EXPECT_FALSE(memory->IsMapped(at, ~uint64_t{0}));
  EXPECT_TRUE(memory->IsMapped(12345, 0));
  EXPECT_EQ(memory->LiveBytesAt(at + 1), 2 * kPage - 1);
  EXPECT_EQ(memory->LiveBytesAt(at + 2 * kPage), 0u);
}

TEST(MemoryTest, InternalAllocationsAreApartAndCounted) {
  const auto memory = *Memory::Create(kQuota);
  const DeviceAddress first = *memory->Allocate(1), second = *memory->Allocate(3 * kPage);
  EXPECT_GE(first, memory->Arena().base + memory->Arena().size);
  EXPECT_GE(second, first + 2 * kPage);
  EXPECT_LT(second, memory->end());
  EXPECT_EQ(CudaErrorOf(memory->Allocate(61 * kPage).status()), CudaError::kOutOfMemory);
  EXPECT_EQ(CudaErrorOf(memory->Allocate(~uint64_t{0}).status()), CudaError::kOutOfMemory);
  EXPECT_EQ(CudaErrorOf(memory->Map(memory->Arena().base, 61 * kPage).status()), CudaError::kOutOfMemory);
  ASSERT_EQ(*memory->Unmap(first), kPage);
  memory->Decommit(first, kPage);
  EXPECT_EQ(*memory->Allocate(kPage), first);
}

TEST(MemoryTest, AnyOrderOfCallsKeepsTheViewsRight) {
  EXPECT_TRUE(rc::check([] {
    const auto memory = *Memory::Create(kQuota);
    const DeviceAddress base = memory->Arena().base;
    std::map<uint64_t, uint64_t> model;  // page -> pages
    for (int step = 0; step < 60; ++step) {
      const auto page = *rc::gen::inRange<uint64_t>(0, 32), pages = *rc::gen::inRange<uint64_t>(1, 8);
      if (*rc::gen::arbitrary<bool>()) {
        bool free = true;
        for (const auto& [start, count] : model) free = free && (page + pages <= start || start + count <= page);
        const auto mapped = memory->Map(base + page * kPage, pages * kPage);
        RC_ASSERT(mapped.ok() == free);
        if (free) model[page] = pages;
      } else {
        const auto unmapped = memory->Unmap(base + page * kPage);
        RC_ASSERT(unmapped.ok() == model.contains(page));
        if (unmapped.ok()) {
          memory->Decommit(base + page * kPage, *unmapped);
          model.erase(page);
        }
      }
      uint64_t covered = 0;
      for (uint64_t p = 0; p < 40; ++p) covered += memory->IsLive(base + p * kPage, kPage) ? 1 : 0;
      uint64_t expected = 0;
      for (const auto& [start, count] : model) expected += count;
      RC_ASSERT(covered == expected);
    }
  }));
}

TEST(DeviceHeapTest, AllocatesFreesAndMerges) {
  const auto memory = *Memory::Create(uint64_t{32} << 20);
  DeviceHeap heap(*memory);
  EXPECT_EQ(heap.Allocate(0), 0u);
  EXPECT_EQ(heap.Allocate(DeviceHeap::kMostBytes + 1), 0u);
  const DeviceAddress a = heap.Allocate(100), b = heap.Allocate(1), c = heap.Allocate(16);
  EXPECT_EQ(a % 16, 0u);
  EXPECT_EQ(b, a + 112);
  EXPECT_EQ(c, b + 16);
  EXPECT_FALSE(heap.Free(a + 16));
  EXPECT_TRUE(heap.Free(a));
  EXPECT_FALSE(heap.Free(a));
  EXPECT_TRUE(heap.Free(0));
  EXPECT_TRUE(heap.Free(c));
  EXPECT_TRUE(heap.Free(b));
  EXPECT_EQ(heap.Allocate(DeviceHeap::kStepBytes), a);
}

TEST(DeviceHeapTest, GrowsAsFarAsItsQuotaGoes) {
  const auto memory = *Memory::Create(3 * DeviceHeap::kStepBytes);
  DeviceHeap heap(*memory);
  const DeviceAddress a = heap.Allocate(DeviceHeap::kStepBytes), b = heap.Allocate(1), c = heap.Allocate(1);
  EXPECT_NE(a, 0u);
  EXPECT_NE(b, 0u);
  EXPECT_EQ(c, b + 16);
  EXPECT_EQ(heap.Allocate(2 * DeviceHeap::kStepBytes), 0u);
  EXPECT_NE(heap.Allocate(DeviceHeap::kStepBytes), 0u);
  EXPECT_EQ(heap.Allocate(DeviceHeap::kStepBytes), 0u);
  EXPECT_TRUE(heap.Free(a));
  EXPECT_EQ(heap.Allocate(DeviceHeap::kStepBytes), a);
}

TEST(DeviceHeapTest, NeedsQuota) {
  const auto memory = *Memory::Create(kQuota);
  DeviceHeap heap(*memory);
  EXPECT_EQ(heap.Allocate(16), 0u);
}

}  // namespace
}  // namespace wharf::device::soft
