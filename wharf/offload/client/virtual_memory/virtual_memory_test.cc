#include "wharf/offload/client/virtual_memory/virtual_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace wharf::offload {
namespace {

using device::CudaError;

constexpr uint64_t kBase = uint64_t{1} << 40;
constexpr uint64_t kMiB = 1 << 20, kUnit = 2 * kMiB;

// A server that remembers what is where; a copy carries the name of the memory along. What no server could do fails.
class VirtualMemoryTest : public ::testing::Test {
 protected:
  VirtualMemoryTest() = default;

  CudaError Map(AddressAllocator::Range range) {
    for (const auto& [start, memory] : mapped_) {
      EXPECT_TRUE(range.address + range.size <= start || start + memory.size <= range.address) << "mapped twice";
    }
    mapped_[range.address] = {range.size, next_content_++};
    return refuses_ ? CudaError::kRemoteLost : CudaError::kSuccess;
  }
  CudaError Unmap(AddressAllocator::Range range) {
    const auto found = mapped_.find(range.address);
    EXPECT_TRUE(found != mapped_.end() && found->second.size == range.size);
    mapped_.erase(found);
    return CudaError::kSuccess;
  }
  CudaError Move(uint64_t to, AddressAllocator::Range from) {
    EXPECT_TRUE(mapped_.contains(to) && mapped_.contains(from.address));
    mapped_[to].content = mapped_[from.address].content;
    ++moves_;
    return CudaError::kSuccess;
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const auto& [start, memory] : mapped_) bytes += memory.size;
    return bytes;
  }
  int ContentAt(uint64_t address) const { return mapped_.at(address).content; }

  uint64_t Reserve(uint64_t size) {
    uint64_t address = 0;
    EXPECT_EQ(memory_.Reserve(size, 0, 0, &address), CudaError::kSuccess);
    return address;
  }
  uint64_t Create(uint64_t size) {
    uint64_t handle = 0;
    EXPECT_EQ(memory_.Create(size, &handle), CudaError::kSuccess);
    return handle;
  }

  struct Memory {
    uint64_t size = 0;
    int content = 0;
  };
  std::map<uint64_t, Memory> mapped_;
  int next_content_ = 1, moves_ = 0;
  bool refuses_ = false;
  static constexpr uint64_t kQuota = 64 * kMiB;
  AddressAllocator addresses_{{kBase, 1024 * kMiB, 4096, true}, kQuota};
  VirtualMemory memory_{&addresses_,
                        kUnit,
                        {[this](AddressAllocator::Range range) { return Map(range); },
                         [this](AddressAllocator::Range range) { return Unmap(range); },
                         [this](uint64_t to, AddressAllocator::Range from) { return Move(to, from); }}};
};

TEST_F(VirtualMemoryTest, MemoryIsThereFromAccessToTheLastReference) {
  const uint64_t at = Reserve(4 * kUnit), handle = Create(2 * kUnit);
  EXPECT_EQ(at % kUnit, 0u);
  EXPECT_EQ(addresses_.MappedBytes(), 2 * kUnit);
  ASSERT_EQ(memory_.Map(at + kUnit, 2 * kUnit, 0, handle), CudaError::kSuccess);
  EXPECT_TRUE(mapped_.empty());
  EXPECT_EQ(memory_.IsOpen(at + kUnit), false);
  ASSERT_EQ(memory_.Open(at + kUnit, 2 * kUnit), CudaError::kSuccess);
  EXPECT_EQ(Bytes(), 2 * kUnit);
  EXPECT_EQ(memory_.IsOpen(at + 3 * kUnit - 1), true);
  EXPECT_EQ(memory_.IsOpen(at + 3 * kUnit), std::nullopt);
  EXPECT_EQ(memory_.Find(at + 2 * kUnit), (AddressAllocator::Range{at + kUnit, 2 * kUnit}));
  ASSERT_EQ(memory_.Release(handle), CudaError::kSuccess);
  EXPECT_FALSE(memory_.Exists(handle));
  EXPECT_EQ(Bytes(), 2 * kUnit);  // mapped still
  uint64_t again = 0;
  ASSERT_EQ(memory_.Retain(at + 2 * kUnit, &again), CudaError::kSuccess);
  EXPECT_EQ(again, handle);
  ASSERT_EQ(memory_.Unmap(at + kUnit, 2 * kUnit), CudaError::kSuccess);
  EXPECT_EQ(addresses_.MappedBytes(), 2 * kUnit);
  ASSERT_EQ(memory_.Release(handle), CudaError::kSuccess);
  EXPECT_TRUE(mapped_.empty());
  EXPECT_EQ(addresses_.MappedBytes(), 0u);
  EXPECT_EQ(memory_.EndReservation(at, 4 * kUnit), CudaError::kSuccess);
}

TEST_F(VirtualMemoryTest, MappingsThatTouchAreOneRange) {
  const uint64_t at = Reserve(6 * kUnit);
  for (const uint64_t place : {0, 1, 3, 4}) {
    ASSERT_EQ(memory_.Map(at + place * kUnit, kUnit, 0, Create(kUnit)), CudaError::kSuccess);
  }
  EXPECT_EQ(memory_.Find(at + kUnit), (AddressAllocator::Range{at, 2 * kUnit}));
  ASSERT_EQ(memory_.Open(at + 3 * kUnit, kUnit), CudaError::kSuccess);
  EXPECT_EQ(memory_.Find(at + 3 * kUnit), (AddressAllocator::Range{at + 3 * kUnit, kUnit}));
  ASSERT_EQ(memory_.Open(at + 4 * kUnit, kUnit), CudaError::kSuccess);
  EXPECT_EQ(memory_.Find(at + 5 * kUnit - 1), (AddressAllocator::Range{at + 3 * kUnit, 2 * kUnit}));
  EXPECT_EQ(memory_.Find(at + 2 * kUnit), std::nullopt);
  EXPECT_EQ(memory_.Find(at + 5 * kUnit), std::nullopt);
}

TEST_F(VirtualMemoryTest, ContentSurvivesUnmapping) {
  const uint64_t at = Reserve(4 * kUnit), first = Create(kUnit), second = Create(kUnit);
  ASSERT_EQ(memory_.Map(at, kUnit, 0, first), CudaError::kSuccess);
  ASSERT_EQ(memory_.Open(at, kUnit), CudaError::kSuccess);
  const int content = ContentAt(at);
  // At the same place nothing moves.
  ASSERT_EQ(memory_.Unmap(at, kUnit), CudaError::kSuccess);
  ASSERT_EQ(memory_.Map(at, kUnit, 0, first), CudaError::kSuccess);
  ASSERT_EQ(memory_.Open(at, kUnit), CudaError::kSuccess);
  EXPECT_EQ(moves_, 0);
  EXPECT_EQ(ContentAt(at), content);
  // Other memory takes its place; then it comes back elsewhere.
  ASSERT_EQ(memory_.Unmap(at, kUnit), CudaError::kSuccess);
  ASSERT_EQ(memory_.Map(at, kUnit, 0, second), CudaError::kSuccess);
  ASSERT_EQ(memory_.Open(at, kUnit), CudaError::kSuccess);
  EXPECT_NE(ContentAt(at), content);
  ASSERT_EQ(memory_.Map(at + kUnit, kUnit, 0, first), CudaError::kSuccess);
  ASSERT_EQ(memory_.Open(at + kUnit, kUnit), CudaError::kSuccess);
  EXPECT_EQ(ContentAt(at + kUnit), content);
  EXPECT_EQ(Bytes(), 2 * kUnit);
  // And outlives the reservation.
  ASSERT_EQ(memory_.Unmap(at, 2 * kUnit), CudaError::kSuccess);
  ASSERT_EQ(memory_.Release(second), CudaError::kSuccess);
  ASSERT_EQ(memory_.EndReservation(at, 4 * kUnit), CudaError::kSuccess);
  const uint64_t other = Reserve(kUnit);
  ASSERT_EQ(memory_.Map(other, kUnit, 0, first), CudaError::kSuccess);
  EXPECT_EQ(ContentAt(other), content);
  ASSERT_EQ(memory_.Release(first), CudaError::kSuccess);
  ASSERT_EQ(memory_.Unmap(other, kUnit), CudaError::kSuccess);
  EXPECT_TRUE(mapped_.empty());
}

TEST_F(VirtualMemoryTest, WhatMakesNoSenseIsInvalid) {
  constexpr CudaError kInvalid = CudaError::kInvalidValue;
  uint64_t out = 0;
  EXPECT_EQ(memory_.Reserve(0, 0, 0, &out), kInvalid);
  EXPECT_EQ(memory_.Reserve(kUnit + 1, 0, 0, &out), kInvalid);
  EXPECT_EQ(memory_.Reserve(kUnit, 3 * kUnit, 0, &out), kInvalid);
  EXPECT_EQ(memory_.Reserve(UINT64_MAX / kUnit * kUnit, 0, 0, &out), CudaError::kOutOfMemory);
  EXPECT_EQ(memory_.Reserve(kUnit, uint64_t{1} << 63, 0, &out), CudaError::kOutOfMemory);
  EXPECT_EQ(memory_.Create(0, &out), kInvalid);
  EXPECT_EQ(memory_.Create(kUnit - 1, &out), kInvalid);
  EXPECT_EQ(memory_.Create(UINT64_MAX / kUnit * kUnit, &out), CudaError::kOutOfMemory);
  EXPECT_EQ(memory_.Create(kQuota + kUnit, &out), CudaError::kOutOfMemory);
  EXPECT_EQ(memory_.Release(77), kInvalid);
  const uint64_t at = Reserve(4 * kUnit), handle = Create(2 * kUnit), other = Create(kUnit);
  EXPECT_EQ(memory_.Map(at, 2 * kUnit, 0, 77), kInvalid);
  EXPECT_EQ(memory_.Map(at + 1, 2 * kUnit, 0, handle), kInvalid);
  EXPECT_EQ(memory_.Map(at, kUnit + 4096, 0, handle), kInvalid);
  EXPECT_EQ(memory_.Map(at, 4 * kUnit, 0, handle), CudaError::kNotSupported);      // more than there is
  EXPECT_EQ(memory_.Map(at, 2 * kUnit, kUnit, handle), CudaError::kNotSupported);  // likewise, from there on
  EXPECT_EQ(memory_.Map(at, kUnit, UINT64_MAX - kUnit + 1, handle), CudaError::kNotSupported);
  EXPECT_EQ(memory_.Map(at + 3 * kUnit, 2 * kUnit, 0, handle), kInvalid);  // beyond the reservation
  EXPECT_EQ(memory_.Map(at - 64 * kUnit, 2 * kUnit, 0, handle), kInvalid);
  EXPECT_EQ(memory_.Map(0 - 2 * kUnit, 2 * kUnit, 0, handle), kInvalid);
  EXPECT_EQ(memory_.Map(at, kUnit, kUnit, handle), CudaError::kNotSupported);  // a part
  ASSERT_EQ(memory_.Map(at, 2 * kUnit, 0, handle), CudaError::kSuccess);
  EXPECT_EQ(memory_.Map(at + kUnit, kUnit, 0, other), kInvalid);                           // something is there
  EXPECT_EQ(memory_.Map(at + 2 * kUnit, 2 * kUnit, 0, handle), CudaError::kNotSupported);  // a second place
  for (const auto& [address, size] : std::vector<std::pair<uint64_t, uint64_t>>{{at, kUnit},
                                                                                {at + kUnit, kUnit},
                                                                                {at, 4 * kUnit},
                                                                                {at, 0},
                                                                                {at - kUnit, 3 * kUnit},
                                                                                {at + 2 * kUnit, kUnit},
                                                                                {at, UINT64_MAX / kUnit * kUnit},
                                                                                {0, kUnit}}) {
    EXPECT_EQ(memory_.Open(address, size), kInvalid) << address - at;
  }
  for (const auto& [address, size] : std::vector<std::pair<uint64_t, uint64_t>>{{at, kUnit},
                                                                                {at + kUnit, kUnit},
                                                                                {at, 0},
                                                                                {at - kUnit, 3 * kUnit},
                                                                                {at, UINT64_MAX / kUnit * kUnit},
                                                                                {0, kUnit}}) {
    EXPECT_EQ(memory_.Unmap(address, size), kInvalid) << address - at;
  }
  EXPECT_EQ(memory_.Unmap(at + 2 * kUnit, kUnit), CudaError::kSuccess);  // nothing is there
  EXPECT_EQ(memory_.EndReservation(at, 4 * kUnit), kInvalid);            // something is mapped
  EXPECT_EQ(memory_.Retain(at + 2 * kUnit, &out), kInvalid);
  ASSERT_EQ(memory_.Unmap(at, 4 * kUnit), CudaError::kSuccess);  // and nothing behind it
  EXPECT_EQ(memory_.EndReservation(at, 2 * kUnit), kInvalid);
  EXPECT_EQ(memory_.EndReservation(at + kUnit, 3 * kUnit), kInvalid);
  EXPECT_EQ(memory_.EndReservation(at, 4 * kUnit), CudaError::kSuccess);
  EXPECT_EQ(memory_.Map(at, 2 * kUnit, 0, handle), kInvalid);
}

TEST_F(VirtualMemoryTest, ReservationsHonourAlignmentAndWishes) {
  uint64_t first = 0, second = 0;
  ASSERT_EQ(memory_.Reserve(kUnit, 64 * kMiB, 0, &first), CudaError::kSuccess);
  EXPECT_EQ(first % (64 * kMiB), 0u);
  const uint64_t wish = first + 128 * kMiB;
  ASSERT_EQ(memory_.Reserve(kUnit, 0, wish, &second), CudaError::kSuccess);
  EXPECT_EQ(second, wish);
  ASSERT_EQ(memory_.Reserve(kUnit, 0, wish, &second), CudaError::kSuccess);
  EXPECT_NE(second, wish);
}

// Whatever a program does: no two mappings share memory, every content stays with its handle, nothing is lost.
RC_GTEST_FIXTURE_PROP(VirtualMemoryTest, ContentFollowsItsHandle, ()) {
  const uint64_t at = Reserve(8 * kUnit);
  struct Known {
    uint64_t size = 0, mapped_at = 0;
    int content = 0;  // 0: none yet
  };
  std::map<uint64_t, Known> known;
  const auto some_handle = [&] {
    return known.empty() ? uint64_t{99} : std::next(known.begin(), *rc::gen::inRange<int>(0, int(known.size())))->first;
  };
  for (int step = *rc::gen::inRange(1, 60); step > 0; --step) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0: {
        const uint64_t size = *rc::gen::inRange<uint64_t>(1, 4) * kUnit;
        uint64_t handle = 0;
        if (memory_.Create(size, &handle) == CudaError::kSuccess) known[handle] = {size};
        break;
      }
      case 1: {
        const uint64_t handle = some_handle(), to = at + *rc::gen::inRange<uint64_t>(0, 9) * kUnit;
        const uint64_t size = known.contains(handle) ? known[handle].size : kUnit;
        if (memory_.Map(to, size, 0, handle) != CudaError::kSuccess) break;
        Known& mapped = known.at(handle);
        RC_ASSERT(mapped.mapped_at == 0u);
        mapped.mapped_at = to;
        RC_ASSERT(memory_.Open(to, size) == CudaError::kSuccess);
        if (mapped.content == 0) mapped.content = ContentAt(to);
        break;
      }
      case 2: {
        const uint64_t handle = some_handle();
        if (!known.contains(handle) || known[handle].mapped_at == 0) break;
        RC_ASSERT(memory_.Unmap(known[handle].mapped_at, known[handle].size) == CudaError::kSuccess);
        known[handle].mapped_at = 0;
        break;
      }
      default: {
        const uint64_t handle = some_handle();
        if (!known.contains(handle) || known[handle].mapped_at != 0) break;
        RC_ASSERT(memory_.Release(handle) == CudaError::kSuccess);
        known.erase(handle);
      }
    }
    uint64_t charged = 0, backed = 0;
    for (const auto& [handle, one] : known) {
      charged += one.size;
      if (one.content != 0) backed += one.size;
      if (one.mapped_at != 0) RC_ASSERT(ContentAt(one.mapped_at) == one.content);
    }
    RC_ASSERT(addresses_.MappedBytes() == charged);
    RC_ASSERT(Bytes() == backed);
  }
}

}  // namespace
}  // namespace wharf::offload
