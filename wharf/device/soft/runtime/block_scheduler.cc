#include "wharf/device/soft/runtime/block_scheduler.h"

#include <algorithm>
#include <bit>
#include <thread>
#include <utility>

namespace wharf::device::soft {
namespace {

// A warp that goes round in warp operations for ever (waiting for another warp) must not starve the others.
constexpr uint32_t kPicksPerTurn = 16 * kWarpSize;
// Spinning warps given another turn before the CPU is offered to other OS threads, which may run what they wait for.
constexpr uint32_t kSpinsPerTimeslice = 64;
// Turns of its warps before a block that shares its worker with others gives way to them.
constexpr uint32_t kTurnsOfBlock = 256;

}  // namespace

void BlockScheduler::Prepare(KernelRun& run, BlockState& block, uint64_t local_bytes, uint32_t first_stack) {
  run_ = &run;
  block_ = &block;
  first_stack_ = first_stack;
  local_bytes_ = local_bytes;
  entry_ = run.launch.kernel->thread_entry;
  PrepareChecks();
  const Dim3& shape = run.launch.config.block;
  if (shape == shape_ && !threads_.empty()) return;
  shape_ = shape;
  thread_count_ = static_cast<uint32_t>(shape.Count());
  warp_count_ = (thread_count_ + kWarpSize - 1) / kWarpSize;
  if (threads_.size() < thread_count_) threads_.resize(thread_count_);
  if (warps_.size() < warp_count_) warps_.resize(warp_count_);
  for (uint32_t i = 0; i < thread_count_; ++i) {
    ThreadState& thread = threads_[i];
    thread.block = block_;
    thread.scheduler = this;
    thread.tid[0] = i % shape.x;
    thread.tid[1] = i / shape.x % shape.y;
    thread.tid[2] = i / shape.x / shape.y;
    thread.linear = i;
    thread.lane = i % kWarpSize;
    thread.warp = i / kWarpSize;
  }
}

void BlockScheduler::StartBlock(bool gives_way) {
  gives_way_ = gives_way;
  paused_ = false;
  alive_ = thread_count_;
  budget_ = kPicksPerTurn;
  for (uint32_t ids = std::exchange(open_barriers_, 0); ids != 0; ids &= ids - 1) {
    barriers_[static_cast<uint32_t>(std::countr_zero(ids))] = BarrierState();  // arrived at, but never completed
  }
  for (uint32_t i = 0; i < thread_count_; ++i) threads_[i].context = nullptr;
  for (uint32_t w = 0; w < warp_count_; ++w) {
    const uint32_t lanes = std::min(kWarpSize, thread_count_ - w * kWarpSize);
    ready_[w] = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
    exited_[w] = ~ready_[w];
    yielded_[w] = polling_[w] = 0;
    warps_[w].meeting_count = 0;
  }
  free_stacks_.clear();
  for (uint32_t i = thread_count_; i-- > 0;) free_stacks_.push_back(first_stack_ + i);
  due_warps_ = 0;
  fault_ = absl::OkStatus();
  if (checks_ != nullptr) checks_->Start(thread_count_);
  current_ = Take(0, 0);
  StartOnFreeStack(*current_);
}

absl::Status BlockScheduler::ResumeBlock(FaultFrame& frame) {
  paused_ = false;
  turns_ = kTurnsOfBlock;
  frame.armed = true;
  Switch(main_, *current_->context);
  AfterRestore(main_);
  frame.armed = false;
  if (paused_) return absl::OkStatus();
  if (alive_ != 0) AbandonBlock();
  return fault_;
}

void BlockScheduler::GiveWay() {
  paused_ = true;
  Switch(*current_->context, main_);
}

void BlockScheduler::AbandonBlock() {
  paused_ = false;
  for (uint32_t i = first_stack_; i < first_stack_ + thread_count_; ++i) {
    ResetContext(stacks_.ContextOf(i), stacks_.Bottom(i), stacks_.Bottom(i) + stacks_.bytes());
  }
  alive_ = 0;
}

void BlockScheduler::StartOnFreeStack(ThreadState& thread) {
  const uint32_t stack = free_stacks_.back();
  free_stacks_.pop_back();
  thread.stack = stack;
  thread.context = &stacks_.ContextOf(stack);
  StartLocal(thread);
  InitialiseContext(*thread.context, stacks_.Bottom(stack), stacks_.Top(stack), &StackMain, this);
}

void BlockScheduler::StartLocal(ThreadState& thread) const {
  thread.local_limit = block_->local_begin + (thread.stack - first_stack_) * local_bytes_;
  thread.local_stack = thread.local_limit + local_bytes_;
}

// Runs thread after thread on one stack: threads that never wait share one, hot in the cache.
void BlockScheduler::StackMain(void* self) {
  OnContextEntry();
  auto& scheduler = *static_cast<BlockScheduler*>(self);
  for (;;) {
    ThreadState& thread = *scheduler.current_;
    scheduler.entry_(&thread);
    scheduler.Exit(thread);
    ThreadState* next = scheduler.PickNext(thread.warp, thread.lane);
    if (next == nullptr) scheduler.LeaveBlock();
    scheduler.current_ = next;
    if (next->context == nullptr) {
      next->stack = thread.stack;
      next->context = thread.context;
      scheduler.StartLocal(*next);
      continue;
    }
    scheduler.free_stacks_.push_back(thread.stack);
    SwitchForever(*next->context);
  }
}

ThreadState* BlockScheduler::PickInOtherWarp(uint32_t warp) {
  budget_ = kPicksPerTurn;
  if (gives_way_ && --turns_ == 0) GiveWay();
  if (run_->stop.load(std::memory_order_relaxed)) return nullptr;
  for (uint32_t i = 1; i <= warp_count_; ++i) {
    const uint32_t w = warp + i < warp_count_ ? warp + i : warp + i - warp_count_;
    if (ready_[w] == 0) {
      if ((due_warps_ >> w & 1) != 0) CompleteDue(w);
      if (ready_[w] != 0) {
        // Lanes have met.
      } else if (polling_[w] != 0) {
        ReleasePolling(w);
      } else if (yielded_[w] != 0) {
        if (++spins_ % kSpinsPerTimeslice == 0) std::this_thread::yield();
        if (gives_way_) GiveWay();
        ready_[w] = std::exchange(yielded_[w], 0);
      } else {
        continue;
      }
    }
    return Take(w, static_cast<uint32_t>(std::countr_zero(ready_[w])));
  }
  return nullptr;
}

void BlockScheduler::LeaveBlock() {
  if (alive_ != 0 && fault_.ok() && !run_->stop.load(std::memory_order_relaxed)) {
    SetFault(CudaStatus(CudaError::kLaunchTimeout, DescribeDeadlock()));
  }
  SwitchForever(main_);
}

void BlockScheduler::Yield(ThreadState& thread) {
  yielded_[thread.warp] |= 1u << thread.lane;
  Suspend(thread);
}

void BlockScheduler::Exit(ThreadState& thread) {
  const uint32_t warp = thread.warp, bit = 1u << thread.lane;
  exited_[warp] |= bit;
  --alive_;
  if (warps_[warp].meeting_count != 0) due_warps_ |= 1u << warp;
  if (open_barriers_ != 0) ExitBarriers(warp, bit);
}

uint32_t BlockScheduler::ActiveMask(ThreadState& thread, uint32_t site) {
  WarpState& warp = warps_[thread.warp];
  polling_[thread.warp] |= 1u << thread.lane;
  warp.site[thread.lane] = site;
  Suspend(thread);
  return warp.result[thread.lane];
}

void BlockScheduler::ReleasePolling(uint32_t warp) {
  WarpState& state = warps_[warp];
  const uint32_t polling = std::exchange(polling_[warp], 0);
  for (uint32_t rest = polling; rest != 0;) {
    const uint32_t site = state.site[static_cast<uint32_t>(std::countr_zero(rest))];
    uint32_t group = 0;
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      if ((rest >> lane & 1) != 0 && state.site[lane] == site) group |= 1u << lane;
    }
    for (uint32_t lanes = group; lanes != 0; lanes &= lanes - 1) {
      state.result[static_cast<uint32_t>(std::countr_zero(lanes))] = group;
    }
    rest &= ~group;
  }
  ready_[warp] |= polling;
}

std::string BlockScheduler::BlockName() const {
  return fmt::format("kernel {}, block ({},{},{})", run_->launch.name, block_->cta[0], block_->cta[1], block_->cta[2]);
}

std::string BlockScheduler::DescribeDeadlock() const {
  std::string text = fmt::format("{}: no thread can go on:", BlockName());
  for (uint32_t id = 0; id < kNamedBarriers; ++id) {
    if (!barriers_[id].open) continue;
    uint32_t waiting = 0;
    for (uint32_t w = 0; w < warp_count_; ++w)
      waiting += static_cast<uint32_t>(std::popcount(barriers_[id].waiting[w]));
    text += fmt::format(" {} wait at barrier {} ({} of {} have arrived);", waiting, id, barriers_[id].count,
                        barriers_[id].expected);
  }
  for (uint32_t w = 0; w < warp_count_; ++w) {
    for (uint32_t i = 0; i < warps_[w].meeting_count; ++i) {
      const Meeting& meeting = warps_[w].meetings[i];
      text += fmt::format(" lanes {:#010x} of warp {} wait for the rest of mask {:#010x} at a warp operation;",
                          meeting.arrived, w, meeting.mask);
      if (text.size() > 1000) return text + " …";
    }
  }
  text.back() = '.';
  return text;
}

}  // namespace wharf::device::soft
