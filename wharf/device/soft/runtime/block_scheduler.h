// Runs the threads of a block on suspendable stacks: cooperative scheduling within an OS thread, one block at a time
// or, if blocks wait for each other, several in turns, each with a scheduler of its own.
//
// A thread runs until it has to wait (barrier, warp operation) or yields; then the next runnable lane of its warp runs,
// or, if there is none, the next warp. Warp operations meet by member mask and kind; the last lane to arrive computes
// the result for all. A lane that has exited holds nobody up. If no thread of the block can ever run again, the block
// has failed and says who waits for what.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wharf/device/soft/runtime/block_checks.h"
#include "wharf/device/soft/runtime/fault.h"
#include "wharf/device/soft/runtime/fiber.h"
#include "wharf/device/soft/runtime/kernel_abi.h"
#include "wharf/device/soft/runtime/kernel_run.h"

namespace wharf::device::soft {

class BlockScheduler;
class Worker;

inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint32_t kMaxWarps = kMaxThreadsPerBlock / kWarpSize;
inline constexpr uint32_t kNoStack = ~uint32_t{0};

// The runtime's part of a block; compiled code sees the BlockContext.
struct BlockState : BlockContext {
  Worker* owner = nullptr;
};

// The runtime's part of a thread; compiled code sees the ThreadContext.
struct alignas(64) ThreadState : ThreadContext {
  BlockScheduler* scheduler = nullptr;
  Context* context = nullptr;  // of its stack; null before it has started
  uint32_t stack = kNoStack;
  uint32_t barrier_result = 0;  // of the last barrier reduction
};

// Kinds of warp operations. Lanes meet if mask, operation and mode are equal.
enum class WarpOperation : uint32_t { kSync, kShuffle, kVote, kMatchAny, kMatchAll, kRedux, kTensor };
constexpr uint32_t MeetingKey(WarpOperation operation, uint32_t mode = 0) {
  return static_cast<uint32_t>(operation) << 8 | mode;
}

struct Meeting {
  uint32_t mask = 0, key = 0, arrived = 0;
};

// Operands and results of the warp operation each lane is in.
struct alignas(64) WarpState {
  std::array<uint32_t, kWarpSize> value, operand, clamp, result;
  std::array<uint64_t, kWarpSize> wide;
  std::array<uint32_t, kWarpSize> site;  // of activemask
  std::array<Meeting, kWarpSize> meetings;
  uint32_t meeting_count = 0;
  uint32_t predicates = 0;  // a second, one-bit result by lane
  uint32_t tensor_operation = 0;
  uint32_t tensor[kTensorRegisters][kWarpSize];
};

struct BarrierState {
  bool open = false;  // somebody has arrived since the last completion
  bool whole_block = false;
  bool reduces = false;
  uint32_t expected = 0;  // threads; a multiple of the warp size
  uint32_t count = 0;     // arrived, plus exited lanes of the warps that take part
  uint32_t popc = 0, all = 1, any = 0;
  ReduceOp operation = ReduceOp::kPopc;
  std::array<uint32_t, kMaxWarps> arrived{}, waiting{};
};

class BlockScheduler {
 public:
  // `main` is the OS thread's own context, `stacks` the pool that threads run on.
  BlockScheduler(Context& main, StackPool& stacks) : main_(main), stacks_(stacks) {}
  BlockScheduler(const BlockScheduler&) = delete;
  BlockScheduler& operator=(const BlockScheduler&) = delete;

  // Makes room for blocks of this size and shape, whose threads have `local_bytes` of local memory each from
  // block.local_begin on. REQUIRES: from `first_stack` on, the pool holds as many stacks as the block has threads.
  void Prepare(KernelRun& run, BlockState& block, uint64_t local_bytes, uint32_t first_stack);

  // --- called on the main context ---
  // Runs the block to its end, a fault or a stop; returns the fault unless it was a signal, which `frame` then names.
  absl::Status RunBlock(FaultFrame& frame) {
    StartBlock(/*gives_way=*/false);
    return ResumeBlock(frame);
  }
  // The same with pauses. A block that `gives_way` returns from ResumeBlock when all it can do is to wait, and every
  // now and then: then Paused() is true, and the block goes on at the next ResumeBlock, or is left by AbandonBlock.
  void StartBlock(bool gives_way);
  absl::Status ResumeBlock(FaultFrame& frame);
  bool Paused() const { return paused_; }
  // Forgets the stacks of threads that have not ended.
  void AbandonBlock();

  // --- called on a thread's stack ---
  void Barrier(ThreadState& thread, uint32_t id, uint32_t threads, bool wait);
  uint32_t BarrierReduce(ThreadState& thread, uint32_t id, uint32_t threads, ReduceOp operation, uint32_t predicate);
  // Returns once all lanes of `mask` that have not exited are in the same operation and its results are computed. Of
  // lanes that it does not name, those take part that come before none of the warp could go on otherwise.
  void Meet(ThreadState& thread, uint32_t mask, uint32_t key);
  uint32_t ActiveMask(ThreadState& thread, uint32_t site);
  void Yield(ThreadState& thread);
  // Failing a block takes two steps, because the second runs no destructors: SetFault, then, when nothing on the stack
  // owns anything any more, LeaveBlock. Without a fault, LeaveBlock means that no thread can go on.
  void SetFault(absl::Status status) { fault_ = std::move(status); }
  [[noreturn]] void LeaveBlock();

  WarpState& warp(uint32_t index) { return warps_[index]; }
  KernelRun& run() { return *run_; }
  BlockChecks* checks() { return checks_.get(); }  // null if the kernel is not checked

 private:
  static void StackMain(void* self);
  // Pauses the block, on the stack of the thread that runs.
  void GiveWay();
  void StartOnFreeStack(ThreadState& thread);
  // The local memory that goes with the thread's stack.
  void StartLocal(ThreadState& thread) const;
  // Bookkeeping of a thread's end: releases those that waited for it.
  void Exit(ThreadState& thread);
  // The next thread to run after one of `warp`, nullptr if none can.
  ThreadState* PickNext(uint32_t warp, uint32_t lane);
  ThreadState* PickInOtherWarp(uint32_t warp);
  ThreadState* Take(uint32_t warp, uint32_t lane);
  // Suspends `thread` until it is picked. Lanes above `lane` are picked first.
  void Suspend(ThreadState& thread, uint32_t lane);
  void Suspend(ThreadState& thread) { Suspend(thread, thread.lane); }
  void ReleasePolling(uint32_t warp);

  bool IsComplete(uint32_t warp, const Meeting& meeting) const;
  void Complete(uint32_t warp, uint32_t meeting);
  void CompleteDue(uint32_t warp);
  Meeting* FindMeeting(WarpState& warp, uint32_t mask, uint32_t key);
  BarrierState& Arrive(ThreadState& thread, uint32_t id, uint32_t threads, bool wait);
  void CompleteBarrier(BarrierState& barrier);
  void ExitBarriers(uint32_t warp, uint32_t bit);
  // checks.cc; all but the first only of checked kernels.
  void PrepareChecks();
  void CheckArrival(const ThreadState& thread, uint32_t barrier);
  void CheckBarrier(const BarrierState& barrier);
  void CheckMeeting(uint32_t warp, const Meeting& meeting);
  std::string DescribeDeadlock() const;
  std::string BlockName() const;

  Context& main_;
  StackPool& stacks_;
  KernelRun* run_ = nullptr;
  BlockState* block_ = nullptr;
  ThreadEntry entry_ = nullptr;
  uint64_t local_bytes_ = 0;
  uint32_t first_stack_ = 0;
  Dim3 shape_{0, 0, 0};  // that threads_ is filled in for
  uint32_t thread_count_ = 0, warp_count_ = 0, alive_ = 0;
  uint32_t budget_ = 0;  // picks before another warp gets its turn
  uint32_t spins_ = 0;
  bool gives_way_ = false, paused_ = false;
  uint32_t turns_ = 0;  // of warps before it gives way
  ThreadState* current_ = nullptr;
  absl::Status fault_;

  // Lanes by warp: runnable; runnable after the others; in an activemask; ended or not existing.
  std::array<uint32_t, kMaxWarps> ready_{}, yielded_{}, polling_{}, exited_{};
  uint32_t due_warps_ = 0;      // bit by warp: it may have meetings to end once no lane is runnable
  uint32_t open_barriers_ = 0;  // bit by id
  std::array<BarrierState, kNamedBarriers> barriers_;
  std::vector<ThreadState> threads_;
  std::vector<WarpState> warps_;
  std::vector<uint32_t> free_stacks_;
  std::unique_ptr<BlockChecks> checks_;  // null if the kernel is not checked
};

// --- on the way of every suspension ---

inline ThreadState* BlockScheduler::Take(uint32_t warp, uint32_t lane) {
  ready_[warp] &= ~(1u << lane);
  return &threads_[warp * kWarpSize + lane];
}

inline ThreadState* BlockScheduler::PickNext(uint32_t warp, uint32_t lane) {
  const uint32_t ready = ready_[warp];
  if (ready == 0 || --budget_ == 0) return PickInOtherWarp(warp);
  const uint32_t above = ready & ~((2u << lane) - 1);  // lane 31: 2 << 31 is 0, nothing is above
  return Take(warp, static_cast<uint32_t>(std::countr_zero(above != 0 ? above : ready)));
}

inline void BlockScheduler::Suspend(ThreadState& thread, uint32_t lane) {
  ThreadState* next = PickNext(thread.warp, lane);
  if (next == &thread) return;
  if (next == nullptr) LeaveBlock();
  current_ = next;
  if (next->context == nullptr) [[unlikely]]
    StartOnFreeStack(*next);
  Switch(*thread.context, *next->context);
}

}  // namespace wharf::device::soft
