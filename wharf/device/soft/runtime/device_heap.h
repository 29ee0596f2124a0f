// The heap that kernels allocate from with malloc. Bookkeeping lies outside device memory, where no kernel can break
// it.
#pragma once

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/soft/runtime/memory.h"

namespace wharf::device::soft {

// Thread-safe. The memory is taken from the session's quota as it is needed and lives as long as `memory`. So the heap
// is at least as large as the program has asked for (cudaLimitMallocHeapSize), which is not known here.
class DeviceHeap {
 public:
  static constexpr uint64_t kStepBytes = uint64_t{8} << 20;    // CUDA's default for all of it
  static constexpr uint64_t kMostBytes = uint64_t{512} << 20;  // leaves half of their range to the modules' variables

  explicit DeviceHeap(Memory& memory) : memory_(memory) {}
  // 16-byte aligned; 0 when full or for 0 bytes.
  DeviceAddress Allocate(uint64_t bytes);
  // False if `address` is no allocation of this heap. 0 is allowed.
  bool Free(DeviceAddress address);

 private:
  Memory& memory_;
  // Takes another range that holds `bytes`.
  bool Grow(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of all ranges
  std::map<DeviceAddress, uint64_t> used_ ABSL_GUARDED_BY(mutex_), free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::device::soft
