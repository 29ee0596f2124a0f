#include "wharf/device/cuda/pinned_pool.h"

#include <algorithm>
#include <bit>

namespace wharf::device::cuda {

PinnedPool::~PinnedPool() {
  absl::MutexLock lock(&mutex_);
  for (void* slab : slabs_) (*gpu_)->MemFreeHost(slab);
}

size_t PinnedPool::ClassOf(size_t bytes) {
  const size_t rounded = std::bit_ceil(std::max(bytes, kSmallest));
  return static_cast<size_t>(std::countr_zero(rounded) - std::countr_zero(kSmallest));
}

absl::StatusOr<PinnedBlock> PinnedPool::Get(size_t bytes) {
  if (bytes > limit_) return ResourceExhausted("{} bytes of page-locked memory are over the limit", bytes);
  const size_t size_class = ClassOf(bytes);
  const size_t block = kSmallest << size_class;
  absl::MutexLock lock(&mutex_);
  std::vector<std::byte*>& idle = idle_[size_class];
  if (idle.empty()) {
    const size_t slab_bytes = std::max(block, kSlab);
    if (allocated_ + slab_bytes > limit_) return ResourceExhausted("page-locked memory is used up");
    void* slab = nullptr;
    WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->MemHostAlloc(&slab, slab_bytes, kHostAllocPortable), "cuMemHostAlloc"));
    slabs_.push_back(slab);
    allocated_ += slab_bytes;
    for (size_t offset = 0; offset < slab_bytes; offset += block) {
      idle.push_back(static_cast<std::byte*>(slab) + offset);
    }
  }
  PinnedBlock result{idle.back(), size_class};
  idle.pop_back();
  return result;
}

void PinnedPool::Put(PinnedBlock block) {
  absl::MutexLock lock(&mutex_);
  idle_[block.size_class].push_back(block.data);
}

}  // namespace wharf::device::cuda
