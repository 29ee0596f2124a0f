// Named barriers of a block. As on hardware they count lanes, and lanes that have exited count as arrived: for a
// barrier of the whole block all of them, for a partial one those of the warps that take part.
#include <bit>

#include "wharf/device/soft/runtime/block_scheduler.h"

namespace wharf::device::soft {

BarrierState& BlockScheduler::Arrive(ThreadState& thread, uint32_t id, uint32_t threads, bool wait) {
  const uint32_t total = warp_count_ * kWarpSize;
  if (id >= kNamedBarriers || threads % kWarpSize != 0) {
    SetFault(CudaStatus(CudaError::kIllegalInstruction,
                        "{}: barrier {} with {} threads: ids are below {}, counts multiples of {}", BlockName(), id,
                        threads, kNamedBarriers, kWarpSize));
    LeaveBlock();
  }
  const uint32_t expected = threads == 0 ? total : threads;
  BarrierState& barrier = barriers_[id];
  if (!barrier.open) {
    barrier.open = true;
    barrier.expected = expected;
    barrier.whole_block = expected == total;
    barrier.count = barrier.whole_block ? total - alive_ : 0;
    open_barriers_ |= 1u << id;
  } else if (barrier.expected != expected) {
    SetFault(CudaStatus(CudaError::kLaunchFailure, "{}: threads wait at barrier {} for {} and for {} threads at once",
                        BlockName(), id, barrier.expected, expected));
    LeaveBlock();
  }
  const uint32_t warp = thread.warp, bit = 1u << thread.lane;
  if (!barrier.whole_block && barrier.arrived[warp] == 0) {
    barrier.count += static_cast<uint32_t>(std::popcount(exited_[warp]));
  }
  barrier.arrived[warp] |= bit;
  ++barrier.count;
  if (wait) barrier.waiting[warp] |= bit;
  return barrier;
}

void BlockScheduler::CompleteBarrier(BarrierState& barrier) {
  if (checks_ != nullptr) CheckBarrier(barrier);
  const uint32_t result = barrier.operation == ReduceOp::kPopc  ? barrier.popc
                          : barrier.operation == ReduceOp::kAnd ? barrier.all
                                                                : barrier.any;
  for (uint32_t w = 0; w < warp_count_; ++w) {
    const uint32_t waiting = barrier.waiting[w];
    barrier.arrived[w] = barrier.waiting[w] = 0;
    ready_[w] |= waiting;
    if (!barrier.reduces) continue;
    for (uint32_t lanes = waiting; lanes != 0; lanes &= lanes - 1) {
      threads_[w * kWarpSize + static_cast<uint32_t>(std::countr_zero(lanes))].barrier_result = result;
    }
  }
  barrier.open = barrier.reduces = false;
  barrier.popc = barrier.any = 0;
  barrier.all = 1;
  open_barriers_ &= ~(1u << (&barrier - barriers_.data()));
}

void BlockScheduler::Barrier(ThreadState& thread, uint32_t id, uint32_t threads, bool wait) {
  BarrierState& barrier = Arrive(thread, id, threads, wait);
  if (checks_ != nullptr && !wait) CheckArrival(thread, id);
  if (barrier.count >= barrier.expected) {
    CompleteBarrier(barrier);
    ready_[thread.warp] &= ~(1u << thread.lane);  // it goes on at once
  } else if (wait) {
    Suspend(thread);
  }
}

uint32_t BlockScheduler::BarrierReduce(ThreadState& thread, uint32_t id, uint32_t threads, ReduceOp operation,
                                       uint32_t predicate) {
  BarrierState& barrier = Arrive(thread, id, threads, /*wait=*/true);
  barrier.reduces = true;
  barrier.operation = operation;
  const uint32_t bit = predicate != 0 ? 1 : 0;
  barrier.popc += bit;
  barrier.all &= bit;
  barrier.any |= bit;
  if (barrier.count >= barrier.expected) {
    CompleteBarrier(barrier);
    ready_[thread.warp] &= ~(1u << thread.lane);
  } else {
    Suspend(thread);
  }
  return thread.barrier_result;
}

void BlockScheduler::ExitBarriers(uint32_t warp, uint32_t bit) {
  for (uint32_t ids = open_barriers_; ids != 0; ids &= ids - 1) {
    BarrierState& barrier = barriers_[static_cast<uint32_t>(std::countr_zero(ids))];
    if (!barrier.whole_block && barrier.arrived[warp] == 0) continue;
    if ((barrier.arrived[warp] & bit) == 0) ++barrier.count;
    if (barrier.count >= barrier.expected) CompleteBarrier(barrier);
  }
}

}  // namespace wharf::device::soft

namespace {
using wharf::device::soft::ReduceOp;
using wharf::device::soft::ThreadContext;
using wharf::device::soft::ThreadState;

ThreadState& StateOf(ThreadContext* thread) { return *static_cast<ThreadState*>(thread); }
}  // namespace

namespace wharf::device::soft {
extern "C" {

void wharf_barrier_sync(ThreadContext* thread, uint32_t id, uint32_t threads) {
  StateOf(thread).scheduler->Barrier(StateOf(thread), id, threads, /*wait=*/true);
}

void wharf_barrier_arrive(ThreadContext* thread, uint32_t id, uint32_t threads) {
  StateOf(thread).scheduler->Barrier(StateOf(thread), id, threads, /*wait=*/false);
}

uint32_t wharf_barrier_reduce(ThreadContext* thread, uint32_t id, uint32_t threads, uint32_t op, uint32_t predicate) {
  return StateOf(thread).scheduler->BarrierReduce(StateOf(thread), id, threads, static_cast<ReduceOp>(op), predicate);
}

}  // extern "C"
}  // namespace wharf::device::soft
