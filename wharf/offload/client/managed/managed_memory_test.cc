#include "wharf/offload/client/managed/managed_memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "wharf/offload/client/managed/access_fault.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using Kind = ManagedMemory::Kind;

#ifdef __SANITIZE_THREAD__
constexpr uint64_t kAddress = uint64_t{64} << 30;  // TSan keeps most of the address space to itself
#else
constexpr uint64_t kAddress = uint64_t{0x2100} << 32;
#endif
constexpr uint64_t kBlock = ManagedMemory::kLeastBlock;

// A device whose memory is a buffer, and the memory it shares with this process. Accesses are served as in programs.
class Shared {
 public:
  explicit Shared(uint64_t size) : device_(size) {
    current = &memory_;
    ServeAccesses([](uint64_t address, bool write) {
      CudaError why = CudaError::kSuccess;
      return current->OnAccess(address, write, &why);
    });
    const absl::Status added = memory_.Add({kAddress, size, Kind::kManaged}, false);
    EXPECT_TRUE(added.ok()) << added;
  }

  ManagedMemory& memory() { return memory_; }
  // What the program sees, and what the device has.
  volatile uint8_t& At(uint64_t offset) { return *reinterpret_cast<volatile uint8_t*>(kAddress + offset); }
  uint8_t& OnDevice(uint64_t offset) { return device_[offset]; }
  uint64_t size() const { return device_.size(); }
  uint64_t up = 0, down = 0, fetches = 0;
  CudaError error = CudaError::kSuccess;

 private:
  static inline ManagedMemory* current = nullptr;

  std::vector<uint8_t> device_;
  ManagedMemory memory_{{.to_device =
                             [this](uint64_t address, std::span<const std::byte> bytes) {
                               std::memcpy(&device_.at(address - kAddress), bytes.data(), bytes.size());
                               up += bytes.size();
                               return error;
                             },
                         .to_host =
                             [this](uint64_t address, std::span<std::byte> bytes) {
                               std::memcpy(bytes.data(), &device_.at(address - kAddress), bytes.size());
                               down += bytes.size();
                               ++fetches;
                               return error;
                             }}};
};

TEST(ManagedMemory, WhatTheProgramWroteIsOnTheDeviceWhenItWorks) {
  Shared shared(10 * kBlock);
  shared.At(3) = 1;
  shared.At(5 * kBlock + 7) = 2;
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  EXPECT_EQ(shared.OnDevice(3), 1);
  EXPECT_EQ(shared.OnDevice(5 * kBlock + 7), 2);
  EXPECT_EQ(shared.up, 2 * ManagedMemory::Page()) << "pages that nobody touched stay";
}

TEST(ManagedMemory, WhatTheDeviceWroteIsSeen) {
  Shared shared(10 * kBlock);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  shared.OnDevice(4 * kBlock) = 9;
  EXPECT_EQ(shared.At(4 * kBlock), 9);
  EXPECT_EQ(shared.At(4 * kBlock + 1), 0);
  EXPECT_EQ(shared.down, kBlock);
}

TEST(ManagedMemory, NothingMovesThatNobodyTouched) {
  Shared shared(10 * kBlock);
  shared.At(0) = 1;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  EXPECT_EQ(shared.up, ManagedMemory::Page());
  EXPECT_EQ(shared.down, 0U);
}

TEST(ManagedMemory, WhatWasOnlyReadDoesNotTravelBack) {
  Shared shared(10 * kBlock);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  EXPECT_EQ(shared.At(0), 0);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  EXPECT_EQ(shared.up, 0U);
  shared.OnDevice(0) = 5;
  EXPECT_EQ(shared.At(0), 5);
}

TEST(ManagedMemory, WritingToWhatIsThereKeepsTheRestOfTheBlock) {
  Shared shared(kBlock);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  shared.OnDevice(100) = 7;
  shared.At(101) = 8;
  EXPECT_EQ(shared.At(100), 7);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  EXPECT_EQ(shared.OnDevice(100), 7);
  EXPECT_EQ(shared.OnDevice(101), 8);
}

TEST(ManagedMemory, WorkOnARangeTakesThatRangeOnly) {
  Shared shared(10 * kBlock);
  shared.At(0) = 1;
  shared.At(2 * kBlock) = 2;
  ASSERT_EQ(shared.memory().Give(kAddress + 2 * kBlock, 10, /*device_writes=*/false), CudaError::kSuccess);
  EXPECT_EQ(shared.OnDevice(2 * kBlock), 2);
  EXPECT_EQ(shared.OnDevice(0), 0);
  EXPECT_EQ(shared.At(2 * kBlock), 2);
  EXPECT_EQ(shared.down, 0U) << "what the device only read is the same on both sides";
  ASSERT_EQ(shared.memory().Give(kAddress + 2 * kBlock, 10, /*device_writes=*/true), CudaError::kSuccess);
  EXPECT_EQ(shared.At(2 * kBlock), 2);
  EXPECT_EQ(shared.down, kBlock);
}

TEST(ManagedMemory, WhoReadsOnIsBroughtMore) {
  Shared shared(256 * kBlock);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  for (uint64_t block = 0; block < 256; ++block) EXPECT_EQ(shared.At(block * kBlock), 0);
  EXPECT_EQ(shared.down, 256 * kBlock);
  EXPECT_LT(shared.fetches, 12U);
}

TEST(ManagedMemory, LargeAllocationsHaveLargeBlocks) {
  Shared shared((ManagedMemory::kMostBlocks + 1) * kBlock);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  shared.OnDevice(shared.size() - 1) = 3;
  EXPECT_EQ(shared.At(shared.size() - 1), 3);
}

TEST(ManagedMemory, VariablesShareAPageAndMoveAlone) {
  const uint64_t page = kAddress + (uint64_t{1} << 32);
  std::vector<std::pair<uint64_t, uint64_t>> moved;
  ManagedMemory variables({[&](uint64_t address, std::span<const std::byte> bytes) {
                             moved.emplace_back(address - page, bytes.size());
                             return CudaError::kSuccess;
                           },
                           [](uint64_t, std::span<std::byte>) { return CudaError::kSuccess; }});
  // The second one lies across the first one's page and the one before.
  ASSERT_TRUE(variables.Add({page + 4096, 8, Kind::kVariable}, true).ok());
  ASSERT_TRUE(variables.Add({page + 4096 - 16, 16 + 4, Kind::kVariable}, true).ok());
  ASSERT_TRUE(variables.Add({page + 4096 + 100, 4, Kind::kVariable}, true).ok());
  CudaError why = CudaError::kSuccess;
  EXPECT_TRUE(variables.OnAccess(page + 4096, true, &why));
  *reinterpret_cast<volatile int*>(page + 4096) = 1;
  ASSERT_EQ(variables.Give(), CudaError::kSuccess);
  EXPECT_EQ(moved, (std::vector<std::pair<uint64_t, uint64_t>>{{4096, 8}, {4096, 4}, {4096 + 100, 4}}));
  EXPECT_EQ(variables.Find(page + 4096 + 101)->address, page + 4096 + 100);
  EXPECT_FALSE(variables.Find(page + 4096 + 104));
  // What leaves is not moved any more, and the last one takes the page with it.
  EXPECT_TRUE(variables.OnAccess(page + 4096, true, &why));
  variables.RemoveVariable(page + 4096);
  variables.RemoveVariable(page + 4096 + 4);  // is none
  moved.clear();
  ASSERT_EQ(variables.Give(), CudaError::kSuccess);
  EXPECT_EQ(moved, (std::vector<std::pair<uint64_t, uint64_t>>{{4096, 4}, {4096 + 100, 4}}));
  variables.RemoveVariable(page + 4096 - 16);
  EXPECT_FALSE(variables.OnAccess(page + 4096 - 8, false, &why));
  EXPECT_TRUE(variables.OnAccess(page + 4096 + 100, false, &why));
  variables.RemoveVariable(page + 4096 + 100);
  EXPECT_FALSE(variables.OnAccess(page + 4096 + 100, false, &why));
}

TEST(ManagedMemory, DoesNotTakeThePlaceOfAnything) {
  Shared shared(kBlock);
  const absl::Status twice = shared.memory().Add({kAddress, kBlock, Kind::kManaged}, false);
  EXPECT_EQ(twice.code(), absl::StatusCode::kResourceExhausted);
  int own = 0;
  const auto page = reinterpret_cast<uint64_t>(&own) / 4096 * 4096;
  EXPECT_EQ(shared.memory().Add({page, 4096, Kind::kManaged}, false).code(), absl::StatusCode::kResourceExhausted);
}

TEST(ManagedMemory, RemovedMemoryIsGoneAndComesBackEmpty) {
  Shared shared(kBlock);
  shared.At(0) = 1;
  EXPECT_FALSE(shared.memory().Remove(kAddress, Kind::kMappedHost));
  EXPECT_FALSE(shared.memory().Remove(kAddress + 4096, Kind::kManaged));
  EXPECT_TRUE(shared.memory().Remove(kAddress, Kind::kManaged));
  EXPECT_FALSE(shared.memory().Find(kAddress));
  ASSERT_TRUE(shared.memory().Add({kAddress, kBlock, Kind::kManaged}, false).ok());
  EXPECT_EQ(shared.At(0), 0);
}

bool IsFree(uint64_t address, uint64_t bytes) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const pages = mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (pages == MAP_FAILED) return false;
  munmap(pages, bytes);
  return pages == wanted;
}

TEST(ManagedMemory, NothingOfTheProgramsComesToLieWhereTheDeviceIs) {
  constexpr uint64_t kBytes = uint64_t{1} << 36;  // no memory is taken
  ASSERT_TRUE(IsFree(kAddress, kBytes));
  {
    Shared shared(kBlock);
    shared.memory().Clear();
    shared.memory().Reserve(kAddress, kBytes);
    EXPECT_FALSE(IsFree(kAddress, kBlock));
    EXPECT_FALSE(IsFree(kAddress + kBytes - kBlock, kBlock));
    // What is shared is used as ever, and its place stays taken.
    ASSERT_TRUE(shared.memory().Add({kAddress, kBlock, Kind::kManaged}, false).ok());
    shared.At(5) = 50;
    ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
    EXPECT_EQ(shared.OnDevice(5), 50);
    EXPECT_EQ(shared.At(5), 50);
    EXPECT_TRUE(shared.memory().Remove(kAddress, Kind::kManaged));
    EXPECT_FALSE(IsFree(kAddress, kBlock));
    ASSERT_TRUE(shared.memory().Add({kAddress, kBlock, Kind::kManaged}, true).ok());
    EXPECT_EQ(shared.At(5), 50) << "the device's";
    shared.memory().Clear();
    EXPECT_TRUE(IsFree(kAddress, kBytes));
    shared.memory().Reserve(kAddress, kBytes);
  }
  EXPECT_TRUE(IsFree(kAddress, kBytes));
}

TEST(ManagedMemory, WhatTheProgramHasAlreadyStays) {
  void* const wanted = reinterpret_cast<void*>(kAddress + kBlock);
  void* const own =
      mmap(wanted, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(own, wanted);
  static_cast<volatile uint8_t*>(own)[7] = 70;
  {
    Shared shared(kBlock);
    shared.memory().Reserve(kAddress, 4 * kBlock);
    EXPECT_EQ(shared.memory().Add({kAddress + kBlock, kBlock, Kind::kManaged}, false).code(),
              absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(static_cast<volatile uint8_t*>(own)[7], 70);
  munmap(own, kBlock);
}

TEST(ManagedMemory, TakesPagesOfTheProgramOver) {
  constexpr uint64_t kBytes = 3 * kBlock;
  void* const own = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto* const bytes = static_cast<volatile uint8_t*>(own);
  const auto host = reinterpret_cast<uint64_t>(own);
  bytes[5] = 50;
  Shared shared(4 * kBlock);
  ASSERT_TRUE(shared.memory().Remove(kAddress, Kind::kManaged));
  const uint64_t device = kAddress + kBlock;
  ASSERT_TRUE(shared.memory().Adopt({host, kBytes - 100, Kind::kMappedHost}, device).ok());
  EXPECT_EQ(bytes[5], 50);
  EXPECT_EQ(shared.memory().DeviceAddress(host + 7), device + 7);
  EXPECT_EQ(shared.memory().DeviceAddress(host - 1), host - 1);
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  EXPECT_EQ(shared.OnDevice(kBlock + 5), 50);
  shared.OnDevice(2 * kBlock + 6) = 60;
  EXPECT_EQ(bytes[kBlock + 6], 60);
  bytes[kBlock + 7] = 70;
  ASSERT_EQ(shared.memory().Give(device + kBlock, 10, /*device_writes=*/false), CudaError::kSuccess);
  EXPECT_EQ(shared.OnDevice(2 * kBlock + 7), 70);
  EXPECT_FALSE(shared.memory().Return(host, Kind::kRegisteredHost));
  shared.OnDevice(kBlock + 5) = 55;
  ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  EXPECT_EQ(shared.memory().Return(host, Kind::kMappedHost), device);
  EXPECT_EQ(bytes[5], 55);
  EXPECT_EQ(bytes[kBlock + 7], 70);
  EXPECT_FALSE(shared.memory().Find(host));
  EXPECT_EQ(shared.memory().DeviceAddress(host), host);
  ASSERT_TRUE(shared.memory().Adopt({host, kBytes, Kind::kMappedHost}, device).ok());
  EXPECT_EQ(bytes[kBlock + 7], 70);
  EXPECT_EQ(shared.memory().Remove(host, Kind::kMappedHost), device);
}

TEST(ManagedMemory, FindsWhatTheProgramAskedFor) {
  Shared shared(5000);
  ASSERT_TRUE(shared.memory().Find(kAddress + 4999));
  EXPECT_EQ(shared.memory().Find(kAddress + 4999)->size, 5000U);
  EXPECT_FALSE(shared.memory().Find(kAddress + 5000));
  EXPECT_FALSE(shared.memory().Find(kAddress - 1));
  shared.At(5000) = 1;  // as far as the page goes, without leaving anything on the device
  EXPECT_EQ(shared.memory().Give(), CudaError::kSuccess);
}

TEST(ManagedMemory, ErrorsOfTheDeviceAreReturned) {
  Shared shared(kBlock);
  shared.At(0) = 1;
  shared.error = CudaError::kIllegalAddress;
  EXPECT_EQ(shared.memory().Give(), CudaError::kIllegalAddress);
  EXPECT_EQ(shared.memory().Fetch(kAddress, 1), CudaError::kIllegalAddress);
  CudaError why = CudaError::kSuccess;
  EXPECT_FALSE(shared.memory().OnAccess(kAddress, false, &why));
  EXPECT_EQ(why, CudaError::kIllegalAddress);
  EXPECT_FALSE(shared.memory().OnAccess(kAddress - 1, false, &why));
  EXPECT_EQ(why, CudaError::kSuccess);
}

TEST(ManagedMemory, ThreadsMayTouchWhatIsGivenAway) {
  Shared shared(64 * kBlock);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&shared, thread] {
      for (int round = 1; round <= 50; ++round) {
        for (uint64_t block = thread; block < 64; block += 4) {
          shared.At(block * kBlock) = static_cast<uint8_t>(shared.At(block * kBlock) + 1);
        }
      }
    });
  }
  for (int i = 0; i < 200; ++i) ASSERT_EQ(shared.memory().Give(), CudaError::kSuccess);
  for (std::thread& thread : threads) thread.join();
  for (uint64_t block = 0; block < 64; ++block) EXPECT_EQ(shared.At(block * kBlock), 50) << block;
}

TEST(ManagedMemoryDeathTest, OtherAccessesEndTheProgramAsEver) {
  Shared shared(kBlock);
  void* const closed = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_DEATH(*static_cast<volatile int*>(closed) = 1, "");
  munmap(closed, 4096);
}

// Whatever program, device and copies do in turns, all see what was written last.
RC_GTEST_PROP(ManagedMemory, IsOneMemory, (const std::vector<std::tuple<uint8_t, uint16_t, uint8_t>>& steps)) {
  constexpr uint64_t kBytes = 4 * kBlock + 300;
  Shared shared(kBytes);
  std::vector<uint8_t> truth(kBytes);
  for (const auto& [kind, place, value] : steps) {
    const uint64_t at = uint64_t{place} * 7919 % kBytes;
    const uint64_t size = std::min<uint64_t>(value * 64 + 1, kBytes - at);
    switch (kind % 5) {
      case 0:
        shared.At(at) = truth[at] = value;
        break;
      case 1:
        RC_ASSERT(shared.At(at) == truth[at]);
        break;
      case 2:  // a kernel
        RC_ASSERT(shared.memory().Give() == CudaError::kSuccess);
        RC_ASSERT(shared.OnDevice(at) == truth[at]);
        shared.OnDevice(at) = truth[at] = value;
        break;
      case 3:  // a copy from there
        RC_ASSERT(shared.memory().Give(kAddress + at, size, false) == CudaError::kSuccess);
        RC_ASSERT(std::memcmp(&shared.OnDevice(at), &truth[at], size) == 0);
        break;
      default:  // a fill
        RC_ASSERT(shared.memory().Give(kAddress + at, size, true) == CudaError::kSuccess);
        std::memset(&shared.OnDevice(at), value, size);
        std::memset(&truth[at], value, size);
    }
  }
  for (uint64_t i = 0; i < kBytes; i += 61) RC_ASSERT(shared.At(i) == truth[i]);
}

}  // namespace
}  // namespace wharf::offload
