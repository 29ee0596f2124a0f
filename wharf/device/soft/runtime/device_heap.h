// The heap that kernels allocate from with malloc. Bookkeeping lies outside device memory, where no kernel can break
// it.
#pragma once

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/soft/runtime/memory.h"

namespace wharf::device::soft {

// Thread-safe. The memory is taken from the session's quota at the first allocation and lives as long as `memory`.
class DeviceHeap {
 public:
  static constexpr uint64_t kBytes = uint64_t{8} << 20;  // CUDA's default (cudaLimitMallocHeapSize)

  explicit DeviceHeap(Memory& memory) : memory_(memory) {}
  // 16-byte aligned; 0 when full or for 0 bytes.
  DeviceAddress Allocate(uint64_t bytes);
  // False if `address` is no allocation of this heap. 0 is allowed.
  bool Free(DeviceAddress address);

 private:
  Memory& memory_;
  absl::Mutex mutex_;
  DeviceAddress base_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<DeviceAddress, uint64_t> used_ ABSL_GUARDED_BY(mutex_), free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::device::soft
