// The session's device memory: one large inaccessible reservation, far from everything else in the process, of which
// Map makes parts accessible. Behind the client's arena lies a second range for what the device itself allocates
// (module variables, the device heap), both counted against one quota. Behind these are windows for the workers that
// run kernels: memory of blocks and threads. Around all of it nothing is accessible for 2 * kAddressSlack, so that
// nothing that a kernel can reach (kernel_abi.h, "Walls") is anything else of the process.
//
// There are two views. The issue view changes when a call is made and answers for calls that follow it; the live view
// changes when the work queue gets there and answers for running work. They differ while unmaps are queued.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/check/written_memory.h"
#include "wharf/device/soft/runtime/kernel_abi.h"

namespace wharf::device::soft {

struct MemoryRange {
  DeviceAddress begin = 0;
  uint64_t size = 0;
  bool Holds(DeviceAddress address, uint64_t bytes) const {
    return address >= begin && address - begin <= size && bytes <= size - (address - begin);
  }
  friend bool operator==(const MemoryRange&, const MemoryRange&) = default;
};

// Thread-safe.
class Memory {
 public:
  // A page: of 4 KiB, on AArch64 up to 64.
  static inline const uint64_t kGranularity = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  // A worker's window: parameters, local memory, then the shared memory of the blocks that are there at once. Of each
  // of these, 4 GiB from its start on lie inside the window and hold no local memory.
  static constexpr uint64_t kWindowBytes = 2 * kSharedWindow;
  static constexpr uint64_t kParametersOffset = uint64_t{1} << 20;
  static constexpr uint64_t kParametersBytes = uint64_t{64} << 10;
  static constexpr uint64_t kLocalOffset = uint64_t{2} << 20;
  static constexpr uint64_t kSharedOffset = kSharedWindow / 2;
  static constexpr uint64_t kLocalBytes = kSharedOffset - kLocalOffset - (uint64_t{1} << 20);
  static constexpr uint64_t kSharedStride = uint64_t{64} << 20;
  static constexpr uint32_t kMaxBlocks = 32;  // of a window
  static_assert(kSharedOffset + kMaxBlocks * kSharedStride + kSharedWindow <= kWindowBytes);
  static constexpr uint32_t kDefaultWindows = 4;

  // The arena begins at a random address, or at `arena_base` if that is not 0: smaller, or else elsewhere, if it must.
  // kResourceExhausted if no address space for `quota` bytes and `windows` workers can be reserved.
  static absl::StatusOr<std::unique_ptr<Memory>> Create(uint64_t quota, uint32_t windows = kDefaultWindows,
                                                        DeviceAddress arena_base = 0);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  device::Arena Arena() const;
  uintptr_t begin() const { return base_; }
  uintptr_t end() const { return base_ + arena_bytes_ + kGapBytes + internal_bytes_; }
  uint32_t windows() const { return windows_; }
  // kWindowBytes, inaccessible until the worker makes parts of it accessible.
  std::byte* Window(uint32_t index) const;
  // The range to which compiled code confines addresses.
  std::byte* confined_begin() const { return reinterpret_cast<std::byte*>(base_ - kAddressSlack); }
  uint64_t confined_bytes() const { return 2 * kAddressSlack + (end() - base_) + kGapBytes + windows_ * kWindowBytes; }
  uint64_t quota() const { return quota_; }

  // Device::Map's contract in the issue view. Backs the memory at once and returns true, or returns false if a queued
  // unmap still holds part of the range: then Commit must follow in queue order.
  absl::StatusOr<bool> Map(DeviceAddress address, uint64_t size);
  absl::Status Commit(DeviceAddress address, uint64_t size);
  // Issue view: the range that one Map made at `address` is gone; its size. Decommit must follow in queue order.
  absl::StatusOr<uint64_t> Unmap(DeviceAddress address);
  void Decommit(DeviceAddress address, uint64_t size);

  // Zeroed memory for the device's own use, at least `size` bytes with inaccessible pages around; release it with
  // Unmap and Decommit. kOutOfMemory beyond the quota.
  absl::StatusOr<DeviceAddress> Allocate(uint64_t size);

  // Whether all of [address, address + size) is mapped; true for an empty range. In the issue view and the live view.
  bool IsMapped(DeviceAddress address, uint64_t size) const;
  bool IsLive(DeviceAddress address, uint64_t size) const;
  // Bytes from `address` up to the end of the live mapping that holds it, 0 if none does.
  uint64_t LiveBytesAt(DeviceAddress address) const;

  // Notes from here on what is written to the arena. Before anything is mapped.
  absl::Status NoteWrites();
  // Where; null if nobody wants to know.
  check::WrittenMemory* written() const { return written_.get(); }

  // For checks of kernels. That no more than this of the mapping that it lies in, in the issue view, is meant to be
  // used. kInvalidValue: it lies in none.
  absl::Status SetExtent(const MemoryRange& extent);
  // What is meant to be used of the live mapping that holds `address`, or of the nearest one before it, or behind it;
  // of size 0 if there is none.
  MemoryRange NearestTo(DeviceAddress address) const;
  // The same of what is mapped in the arena, in the issue view.
  std::vector<MemoryRange> Mapped() const;

 private:
  using Ranges = std::map<DeviceAddress, uint64_t>;  // start -> size; they do not overlap
  // What is meant to be used of a mapping.
  MemoryRange ExtentOf(const Ranges::value_type& mapping) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static constexpr uint64_t kGapBytes = uint64_t{1} << 30;

  Memory(uintptr_t base, uint64_t arena_bytes, uint64_t internal_bytes, uint64_t quota, uint32_t windows)
      : base_(base), arena_bytes_(arena_bytes), internal_bytes_(internal_bytes), quota_(quota), windows_(windows) {}
  absl::Status Back(DeviceAddress address, uint64_t size) const;
  absl::StatusOr<bool> MapLocked(DeviceAddress address, uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uintptr_t base_;
  const uint64_t arena_bytes_, internal_bytes_, quota_;
  const uint32_t windows_;
  std::unique_ptr<check::WrittenMemory> written_;
  mutable absl::Mutex mutex_;
  Ranges issued_ ABSL_GUARDED_BY(mutex_), live_ ABSL_GUARDED_BY(mutex_);
  std::map<DeviceAddress, MemoryRange> extents_ ABSL_GUARDED_BY(mutex_);  // by start of the mapping
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::device::soft
