// One OS thread that runs blocks: its window of device memory, its stacks, its fault handling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "wharf/base/status.h"
#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/fault.h"
#include "wharf/device/soft/runtime/fiber.h"
#include "wharf/device/soft/runtime/kernel_run.h"
#include "wharf/device/soft/runtime/kernel_services.h"

namespace wharf::device::soft {

class Worker {
 public:
  Worker(uint32_t index, uint32_t count, KernelServices& services)
      : services(services), index_(index), count_(count), scheduler_(main_, thread_stacks_) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes blocks of `run` until none is left or the run is stopped. Always called on the same OS thread.
  void RunBlocks(KernelRun& run);
  // Before that thread ends.
  void Detach() { fault_scope_.reset(); }

  // Called on a kernel's stack, one after the other, to fail the grid: see BlockScheduler.
  void SetFault(absl::Status status);
  [[noreturn]] void LeaveBlock();
  // How many bytes from `address` on the running kernel may read: in device memory, the block's shared memory, its
  // threads' local memory or the parameters.
  uint64_t ReadableBytes(uint64_t address) const;
  // "kernel K, block (x,y,z)".
  std::string BlockName() const;

  uint32_t index() const { return index_; }

  KernelServices& services;

 private:
  absl::Status Attach();
  absl::Status Prepare(KernelRun& run);
  absl::Status PrepareShared(uint64_t bytes);
  absl::Status PrepareParameters(const KernelLaunch& launch);
  // Local memory for `threads` threads at a time.
  absl::Status PrepareLocal(uint64_t threads, uint64_t bytes);
  // Runs blocks_left_ blocks from block_.cta on.
  absl::Status RunChunk();
  absl::Status RunLoop();
  void NextBlock();
  absl::Status SignalStatus() const;
  static void LoopMain(void* self);

  const uint32_t index_, count_;
  Context main_;
  FaultFrame frame_;
  std::optional<ScopedFaultFrame> fault_scope_;
  std::byte* window_ = nullptr;  // of Memory; shared_bytes_ and local_bytes_ of it are accessible, and the parameters
  uint64_t shared_bytes_ = 0, local_bytes_ = 0;
  StackPool thread_stacks_, loop_stack_;
  bool loop_ready_ = false;  // the loop stack waits for a block
  absl::Status loop_fault_;
  KernelRun* run_ = nullptr;
  uint64_t blocks_left_ = 0;
  BlockState block_{};
  BlockScheduler scheduler_;
};

}  // namespace wharf::device::soft
