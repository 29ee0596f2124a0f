// MemoryMap: the session's reserved address range and what backs it, one physical allocation a granule. A range that is
// unmapped stays backed until the work that may still use it is done; mapping it again before that takes it over as it
// is, so neither Map nor Unmap ever waits for the GPU.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

// Thread-safe; methods need the context to be current.
class MemoryMap {
 public:
  // The arena begins at `arena_base` if that is not 0 and the driver grants it.
  static absl::StatusOr<std::unique_ptr<MemoryMap>> Create(Gpu* gpu, uint64_t quota, DeviceAddress arena_base = 0);
  // REQUIRES: the GPU is idle.
  ~MemoryMap();

  const device::Arena& Arena() const { return arena_; }
  struct Mapped {
    bool reused = false;  // some of it is still backed from before: wait for earlier work before touching it
  };
  // As Device::Map, but the memory is not zeroed.
  absl::StatusOr<Mapped> Map(DeviceAddress address, uint64_t size);
  // Gives up the range that starts at `address`; its backing is released by Release(ticket), which is to be called when
  // the work queued so far is done.
  using Ticket = uint64_t;
  absl::StatusOr<Ticket> Retire(DeviceAddress address);
  absl::Status Release(Ticket ticket);

  // True if all of [address, address + bytes) is mapped, by one Map or several that adjoin.
  bool IsMapped(DeviceAddress address, uint64_t bytes) const;

 private:
  struct Granule {
    AllocationHandle handle = 0;
    Ticket retired_by = 0;  // 0: in use
  };
  MemoryMap(Gpu* gpu, uint64_t quota) : gpu_(gpu), quota_(quota) {}
  absl::Status CheckRange(DeviceAddress address, uint64_t size) const;
  bool InArena(DeviceAddress address, uint64_t bytes) const {
    return address >= arena_.base && bytes <= arena_.size && address - arena_.base <= arena_.size - bytes;
  }
  absl::Status Back(DeviceAddress address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Drop(std::map<DeviceAddress, Granule>::iterator granule) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Gpu* gpu_;
  const uint64_t quota_;
  device::Arena arena_;
  AllocationProperties properties_;
  mutable absl::Mutex mutex_;
  std::map<DeviceAddress, uint64_t> ranges_ ABSL_GUARDED_BY(mutex_);   // what Map made
  std::map<DeviceAddress, Granule> granules_ ABSL_GUARDED_BY(mutex_);  // what is backed
  std::map<Ticket, std::vector<DeviceAddress>> retired_ ABSL_GUARDED_BY(mutex_);
  uint64_t mapped_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  Ticket last_ticket_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace wharf::device::cuda
