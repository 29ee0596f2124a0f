// One OS thread that runs blocks: its window of device memory, its stacks, its fault handling.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/fault.h"
#include "wharf/device/soft/runtime/fiber.h"
#include "wharf/device/soft/runtime/kernel_run.h"
#include "wharf/device/soft/runtime/kernel_services.h"

namespace wharf::device::soft {

class Worker {
 public:
  Worker(uint32_t index, uint32_t count, KernelServices& services) : services(services), index_(index), count_(count) {
    residents_.push_back(std::make_unique<Resident>(main_, thread_stacks_));
    resident_ = residents_[0].get();
  }
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes blocks of `run` until none is left or the run is stopped. Always called on the same OS thread.
  void RunBlocks(KernelRun& run);
  // Before that thread ends.
  void Detach() {
    attached_.store(false);
    fault_scope_.reset();
  }
  // Has the worker leave a kernel whose run was stopped, if it is in the kernel's own code just now. Thread-safe;
  // REQUIRES: the worker's thread has not ended, and NoteLoadedCode was called.
  void Interrupt() {
    if (attached_.load()) pthread_kill(thread_, kInterrupt);
  }

  // Called on a kernel's stack, one after the other, to fail the grid: see BlockScheduler.
  void SetFault(absl::Status status);
  [[noreturn]] void LeaveBlock();
  // How many bytes from `address` on the running kernel may read: in device memory, the block's shared memory, its
  // threads' local memory or the parameters.
  uint64_t ReadableBytes(uint64_t address) const;
  // "kernel K, block (x,y,z)".
  std::string BlockName() const;
  // Of the running kernel; null if it is not known to launch any.
  ChildLaunches* children() const { return run_->launch.children; }

  uint32_t index() const { return index_; }

  KernelServices& services;

 private:
  absl::Status Attach();
  // A block of the grid, with what runs its threads.
  struct Resident {
    Resident(Context& main, StackPool& stacks) : scheduler(main, stacks) {}
    BlockState block{};
    BlockScheduler scheduler;
  };

  absl::Status Prepare(KernelRun& run);
  absl::Status PrepareThreads(KernelRun& run, uint64_t local);
  // For as many blocks at once.
  absl::Status PrepareShared(uint64_t bytes, uint32_t blocks);
  absl::Status SetShared(uint32_t index, uint64_t bytes);
  absl::Status PrepareParameters(const KernelLaunch& launch);
  void FillBlock(const KernelRun& run, uint32_t index, uint64_t local);
  // Local memory for `threads` threads at a time.
  absl::Status PrepareLocal(uint64_t threads, uint64_t bytes);
  // Runs blocks_left_ blocks from block().cta on.
  absl::Status RunChunk();
  absl::Status RunLoop();
  void NextBlock();
  void RunByChunks(KernelRun& run);
  // run.resident blocks in turns, until none is left.
  void RunTogether(KernelRun& run);
  // What is wrong after a block was left: its own fault, or the signal's.
  absl::Status Outcome(absl::Status status);
  BlockState& block() { return resident_->block; }
  const BlockState& block() const { return resident_->block; }
  std::byte* SharedOf(uint32_t index) const { return window_ + Memory::kSharedOffset + index * Memory::kSharedStride; }
  absl::Status SignalStatus() const;
  static void LoopMain(void* self);

  const uint32_t index_, count_;
  Context main_;
  FaultFrame frame_;
  std::optional<ScopedFaultFrame> fault_scope_;
  pthread_t thread_{};  // that runs blocks; set before attached_
  std::atomic<bool> attached_{false};
  std::byte* window_ = nullptr;  // of Memory; shared_bytes_ and local_bytes_ of it are accessible, and the parameters
  std::array<uint64_t, Memory::kMaxBlocks> shared_bytes_{};  // of each block
  uint64_t local_bytes_ = 0;
  StackPool thread_stacks_, loop_stack_;
  bool loop_ready_ = false;  // the loop stack waits for a block
  absl::Status loop_fault_;
  KernelRun* run_ = nullptr;
  uint64_t blocks_left_ = 0;
  std::vector<std::unique_ptr<Resident>> residents_;  // at least one
  Resident* resident_;                                // that runs
};

}  // namespace wharf::device::soft
