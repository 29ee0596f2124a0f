// Runs kernels: the blocks of a grid are handed out in order to one worker per CPU core.
//
// In order, so that a block may spin on what an earlier one will write (decoupled look-back): the earlier block has
// been started and its worker either runs it or is itself waiting for a still earlier one.
//
// A kernel ends early if it faults or Stop is called; then blocks are left at their next suspension (barrier, warp
// operation, yield). A kernel that loops for ever without suspending cannot be interrupted: only its process can.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/status.h"
#include "wharf/device/soft/runtime/kernel_run.h"
#include "wharf/device/soft/runtime/kernel_services.h"
#include "wharf/device/soft/runtime/worker.h"

namespace wharf::device::soft {

class Executor {
 public:
  // `threads` workers, 0 = one a core. `services` must outlive the executor.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(int threads, KernelServices& services);
  // Stops a running kernel. REQUIRES: no Run in progress on another thread.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs a kernel to its end; the status of its first fault. The caller's thread is one of the workers, so it must be
  // the same thread at every call, and call Detach before it ends. Printed text is flushed before it returns.
  // REQUIRES: block size 1 … kMaxThreadsPerBlock, and a non-empty grid.
  absl::Status Run(const KernelLaunch& launch);
  void Detach() { workers_[0]->Detach(); }
  // Makes the running kernel and all later ones end with kCancelled as soon as they can. Thread-safe.
  void Stop();
  size_t threads() const { return workers_.size(); }

 private:
  explicit Executor(KernelServices& services) : services_(services) {}
  void ThreadMain(Worker& worker);
  static void Work(Worker& worker, KernelRun& run);
  // How many other workers a run is worth waking, by how long the kernel's blocks took before.
  size_t HelpersFor(const KernelRun& run) const;
  void Wake(size_t helpers);
  void Remember(const KernelRun& run, size_t helpers, double nanoseconds);

  KernelServices& services_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [0] is the caller's
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> epoch_{0};  // changes when there is a new run or it is time to end
  std::atomic<bool> stopping_{false}, ending_{false};
  uint32_t next_grid_id_ = 1;
  std::unordered_map<const CompiledKernel*, double> block_ns_;  // of a kernel's last launch
  absl::Mutex mutex_;
  std::shared_ptr<KernelRun> run_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace wharf::device::soft
