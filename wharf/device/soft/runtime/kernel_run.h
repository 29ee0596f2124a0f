// One launch of a kernel while it runs: what its workers share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/device/soft/runtime/child_launches.h"
#include "wharf/device/soft/runtime/compiled_kernel.h"

namespace wharf::device::soft {

struct KernelLaunch {
  const CompiledKernel* kernel = nullptr;
  std::string_view name;  // for messages; what it views outlives the run
  LaunchConfig config;
  const std::byte* parameters = nullptr;
  ChildLaunches* children = nullptr;  // of a kernel that launches others: where to
};

class KernelRun {
 public:
  KernelRun(const KernelLaunch& launch, uint32_t grid_id)
      : launch(launch), grid_id(grid_id), blocks(launch.config.grid.Count()) {}

  // Records the first fault and stops the grid: blocks that run are left at their next suspension, others never start.
  void Fail(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (fault_.ok()) fault_ = std::move(status);
    stop.store(true, std::memory_order_relaxed);
  }
  // The same without stopping anything: what a check has found is no reason not to look on.
  void FailInTheEnd(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    if (fault_.ok()) fault_ = std::move(status);
  }
  absl::Status Fault() {
    absl::MutexLock lock(&mutex_);
    return fault_;
  }

  const KernelLaunch launch;
  const uint32_t grid_id;
  const uint64_t blocks;
  std::atomic<uint64_t> next_block{0};  // handed out in order, so that blocks may wait for earlier ones
  uint64_t chunk = 1;                   // how many at a time
  uint32_t max_workers = 1;
  uint32_t resident = 1;            // blocks that a worker holds at once: they may wait for each other
  uint64_t grid_workspace = 0;      // BlockContext's
  std::atomic<uint32_t> active{0};  // workers that may hold a block
  std::atomic<bool> stop{false};

 private:
  absl::Mutex mutex_;
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::device::soft
