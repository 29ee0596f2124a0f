// ManagedMemory: memory that the program and its kernels both use (cudaMallocManaged, mapped host memory, __managed__
// variables), although the device is in another process or on another machine.
//
// The device has memory of its own, the program gets pages at the same addresses, or its own pages are taken over. A
// block of pages is in one of three states:
//
//   here      the program may read and write; what it wrote is not on the device yet
//   both      the same on either side; the program may read, and its first write makes the block `here`
//   there     the device may have changed it; the program's next access brings it back
//
// Before work of the device everything becomes `there` (Give); what was `here` travels. That costs the kernel's page
// tables a call for each run of blocks that the program had touched, and nothing if it touched none. An access to what
// is not accessible raises a signal, which access_fault.h turns into OnAccess. One that waits brings a block, more if
// the program goes on where it stopped. So the program must wait for the device before it looks, as CUDA demands where
// concurrentManagedAccess is 0.
//
// Only the program's accesses bring blocks. The system's do not: read(2) or write(2) of memory that is `there` gives
// EFAULT.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"
#include "wharf/device/cuda_error.h"

namespace wharf::offload {

// Thread-safe. Functions that move bytes hold the lock while they do.
class ManagedMemory {
 public:
  using CudaError = device::CudaError;
  static uint64_t Page();  // the system's, which ARM64 has of 4, 16 and 64 KiB
  static constexpr uint64_t kLeastBlock = 64 << 10;
  static constexpr uint64_t kMostBlocks = 4096;              // of an allocation; larger ones have larger blocks
  static constexpr uint64_t kMostAhead = uint64_t{4} << 20;  // that one access brings

  // They touch no managed memory but what they are given.
  struct Mover {
    std::function<CudaError(uint64_t address, std::span<const std::byte> bytes)> to_device;
    std::function<CudaError(uint64_t address, std::span<std::byte> bytes)> to_host;
  };
  enum class Kind { kManaged, kMappedHost, kRegisteredHost, kVariable };
  struct Allocation {
    uint64_t address = 0, size = 0;  // as the program knows it
    Kind kind = Kind::kManaged;
    uint32_t flags = 0;
  };

  explicit ManagedMemory(Mover mover);
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  // Keeps the device's addresses free of memory of the program's own from now on, until Clear: by its address a copy
  // knows whose memory it is. Takes no memory. Nothing happens if the program has something there already, or may have
  // only so much address space. At most once.
  void Reserve(uint64_t address, uint64_t bytes);
  // Makes pages at the allocation's address, in state `here`, or `there` if the device's content counts. Of the pages
  // only the bytes of the allocation ever move, and what is `there` may share pages with others (variables do).
  // kResourceExhausted if there is something of the program's at that address.
  absl::Status Add(const Allocation& allocation, bool there);
  // Takes pages over that the program has, with what is in them: whole ones, private to this process, that nobody uses
  // meanwhile. The device's memory for them is at `device`, all its own.
  absl::Status Adopt(const Allocation& allocation, uint64_t device);
  // Where the device had it; none if no allocation of that kind starts there. The pages are gone, adopted ones too.
  std::optional<uint64_t> Remove(uint64_t address, Kind kind);
  // The variable at `address`, if there is one. Pages that it shares with others stay as they are.
  void RemoveVariable(uint64_t address);
  // The same of adopted pages, which the program keeps, with what the device has; or what was here, if that cannot be
  // had.
  std::optional<uint64_t> Return(uint64_t address, Kind kind);
  // Everything goes, without being moved, and what was reserved.
  void Clear();
  // The allocation that holds `address`.
  std::optional<Allocation> Find(uint64_t address) const;
  // What the device calls `address`: the same, but in adopted pages.
  uint64_t DeviceAddress(uint64_t address) const;

  // Before work of the device that may read and write all of it; or only a range, as the device calls it, which it may
  // only read.
  CudaError Give();
  CudaError Give(uint64_t address, uint64_t size, bool device_writes);
  // Brings what is there of a range, so that nobody waits for it later.
  CudaError Fetch(uint64_t address, uint64_t size);
  // The program touched `address`, which was not accessible. False if that is no address of ours, or what is there
  // cannot be had (why, if it is known): the access is then an error of the program. `write` may be false if that is
  // not known.
  bool OnAccess(uint64_t address, bool write, CudaError* why);

 private:
  enum class State : uint8_t { kHere, kBoth, kThere };
  // Pages of one allocation, or those that variables share.
  struct Range {
    uint64_t address = 0, bytes = 0, block = 0;
    uint64_t device = 0;         // what the device calls `address`
    std::byte* alias = nullptr;  // the same pages, always accessible
    std::vector<Allocation> allocations;
    std::vector<State> states;     // of each block
    uint64_t accessible = 0;       // blocks that are not kThere
    uint64_t next = 0, ahead = 1;  // where the program would go on, and how many blocks it gets then

    uint64_t BlockOf(uint64_t at) const { return (at - address) / block; }
    uint64_t StartOf(uint64_t index) const { return address + index * block; }
    uint64_t EndOf(uint64_t index) const { return std::min(address + bytes, StartOf(index + 1)); }
  };
  using Ranges = std::map<uint64_t, Range>;

  bool IsReserved(uint64_t address, uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status OpenFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::byte*> MakeAlias(uint64_t device, uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakePages(uint64_t address, uint64_t bytes, bool there) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Range& Keep(Range range, State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The range of that kind that starts there.
  Ranges::iterator RangeAt(uint64_t address, Kind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t Forget(Ranges::iterator range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropAlias(const Range& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unmap(const Range& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Range* RangeOf(uint64_t address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `body(range, first, end)` for the blocks of each range that [address, address + size) meets.
  template <typename Body>
  CudaError ForBlocks(uint64_t address, uint64_t size, Body&& body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `body(first, end)` for each run of equal states in [first, end).
  template <typename Body>
  CudaError ForRuns(const Range& range, uint64_t first, uint64_t end, Body&& body);
  // Makes blocks [first, end) accessible as their new state says. False if the kernel has no room for it.
  bool Enter(Range& range, uint64_t first, uint64_t end, State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CudaError GiveBlocks(Range& range, uint64_t first, uint64_t end, State then) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CudaError Upload(const Range& range, uint64_t from, uint64_t to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CudaError FetchBlocks(Range& range, uint64_t first, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls `body(from, to)` for what of [from, to) belongs to allocations.
  template <typename Body>
  static CudaError ForAllocations(const Range& range, uint64_t from, uint64_t to, Body&& body);

  const Mover mover_;
  std::atomic<bool> used_{false};        // there are ranges: most programs have none
  std::atomic<bool> translates_{false};  // there are, or were, adopted ones
  mutable absl::Mutex mutex_;
  int file_ ABSL_GUARDED_BY(mutex_) = -1;  // what the pages are of; a device address is its own offset in it
  uint64_t reserved_ ABSL_GUARDED_BY(mutex_) = 0, reserved_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Ranges ranges_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> accessible_ ABSL_GUARDED_BY(mutex_);         // addresses of ranges with blocks that are not kThere
  std::map<uint64_t, uint64_t> adopted_ ABSL_GUARDED_BY(mutex_);  // of adopted ranges: by device address
};

}  // namespace wharf::offload
