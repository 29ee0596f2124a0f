// Runs kernels: the blocks of a grid are handed out in order to one worker per CPU core.
//
// In order, so that a block may spin on what an earlier one will write (decoupled look-back): the earlier block has
// been started and its worker either runs it or is itself waiting for a still earlier one.
//
// The blocks of a cooperative launch may wait for any other: all are there at once, several to a worker that runs them
// in turns, and every worker that is counted on takes its part. So are those of other kernels that wait, where they
// fit: on a GPU they would be there at once, too, and programs that ask how many fit rely on it.
//
// A kernel ends early if it faults, if Stop is called, or if it runs longer than it may; then blocks are left at their
// next suspension (barrier, warp operation, yield). Those that do not suspend are interrupted if they run too long; a
// kernel that loops for ever and may do so ends with its process only.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/device/soft/runtime/kernel_run.h"
#include "wharf/device/soft/runtime/kernel_services.h"
#include "wharf/device/soft/runtime/worker.h"

namespace wharf::device::soft {

class Executor {
 public:
  // How many workers Create(threads, …) makes: `threads`, 0 = one a core.
  static uint32_t WorkersFor(int threads);
  // `services` must outlive the executor; its memory must have a window for each worker, which no other executor uses.
  // `limit`: how long a kernel may run, waiting for processors included; 0: as long as it likes. One that runs longer
  // fails with CUDA's kLaunchTimeout.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(int threads, KernelServices& services,
                                                          Nanoseconds limit = Nanoseconds(0));
  // Stops a running kernel. REQUIRES: no Run in progress on another thread.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs a kernel to its end; the status of its first fault. The caller's thread is one of the workers, so it must be
  // the same thread at every call, and call Detach before it ends. Printed text is flushed before it returns.
  // REQUIRES: block size 1 … kMaxThreadsPerBlock, and a non-empty grid; if it is cooperative, IsResident.
  absl::Status Run(const KernelLaunch& launch);
  // Whether all blocks of such a grid can be there at once, as far as that is a matter of stacks and windows.
  bool IsResident(const LaunchConfig& config) const;
  void Detach() { workers_[0]->Detach(); }
  // The time that other workers than the caller's gave to runs since the last call. On the thread that calls Run.
  Nanoseconds TakeHelpersTime() { return std::exchange(helpers_time_, Nanoseconds(0)); }
  // Makes the running kernel and all later ones end with kCancelled as soon as they can. Thread-safe.
  void Stop();
  size_t threads() const { return workers_.size(); }

 private:
  struct Cost {
    double block_ns = 0;   // what a launch of the kernel took, by block, of one worker
    uint32_t untimed = 0;  // launches since
  };
  using Costs = std::unordered_map<const CompiledKernel*, Cost>;

  Executor(KernelServices& services, Nanoseconds limit) : services_(services), limit_(limit) {}
  void ThreadMain(Worker& worker);
  static void Work(Worker& worker, KernelRun& run);
  // How many other workers a launch is worth waking, by how long the kernel's blocks took before.
  size_t HelpersFor(const KernelLaunch& launch, uint32_t max_workers, Costs::const_iterator cost) const;
  // Whether blocks may wait for later ones, too.
  bool IsTogether(const KernelLaunch& launch) const;
  // How many blocks each of `workers` has at once.
  uint32_t ResidentFor(const KernelLaunch& launch, uint64_t workers) const;
  uint32_t MaxWorkers(const KernelLaunch& launch) const;
  // Zeroes the workspace of the grid barrier.
  absl::Status PrepareCooperative();
  // Runs it with `helpers` and learns its cost.
  absl::Status RunTimed(const KernelLaunch& launch, uint32_t max_workers, size_t helpers);
  // On the caller's thread only, and with others; kCancelled if it is time to end.
  absl::Status RunAlone(const KernelLaunch& launch);
  absl::Status RunShared(const KernelLaunch& launch, uint32_t max_workers, size_t helpers);
  // Makes `run` what Stop ends, or stops it if it is time to end. If `shared` is set, other workers may take blocks.
  void Begin(KernelRun& run, std::shared_ptr<KernelRun> shared);
  void End();
  void Wake(size_t helpers, bool all);
  // Of a thread that ends kernels which run longer than limit_.
  void Watch();
  bool IsOverdue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fails current_ and interrupts the workers until it has ended.
  void EndOverdue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  KernelServices& services_;
  const Nanoseconds limit_;
  std::vector<std::unique_ptr<Worker>> workers_;  // [0] is the caller's
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> epoch_{0};  // changes when there is a new run or it is time to end
  std::atomic<bool> stopping_{false}, ending_{false};
  uint32_t next_grid_id_ = 1;
  Costs costs_;
  Nanoseconds helpers_time_{0};
  absl::Mutex mutex_;
  KernelRun* current_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::shared_ptr<KernelRun> shared_run_ ABSL_GUARDED_BY(mutex_);  // that others may take blocks of
  TimePoint began_ ABSL_GUARDED_BY(mutex_);                        // current_; kept only if there is a limit
  absl::CondVar ended_;                                            // ending_ was set
  std::thread watch_;                                              // if there is a limit
};

}  // namespace wharf::device::soft
