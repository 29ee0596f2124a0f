// PinnedPool: page-locked host memory for copies, in blocks of powers of two that are kept for reuse. The driver copies
// from and to page-locked memory without making the caller wait.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "wharf/device/cuda/driver/gpu.h"

namespace wharf::device::cuda {

struct PinnedBlock {
  std::byte* data = nullptr;
  size_t size_class = 0;
};

// Thread-safe; methods need the context to be current.
class PinnedPool {
 public:
  PinnedPool(Gpu* gpu, size_t limit_bytes) : gpu_(gpu), limit_(limit_bytes) {}
  // REQUIRES: no block is in use by the GPU.
  ~PinnedPool();
  // kResourceExhausted beyond the limit: use ordinary memory then.
  absl::StatusOr<PinnedBlock> Get(size_t bytes);
  void Put(PinnedBlock block);

 private:
  static constexpr size_t kSmallest = 4 << 10, kSlab = 1 << 20, kClasses = 24;  // 4 KiB to 32 GiB
  static size_t ClassOf(size_t bytes);

  Gpu* gpu_;
  const size_t limit_;
  absl::Mutex mutex_;
  size_t allocated_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<void*> slabs_ ABSL_GUARDED_BY(mutex_);
  std::array<std::vector<std::byte*>, kClasses> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::device::cuda
