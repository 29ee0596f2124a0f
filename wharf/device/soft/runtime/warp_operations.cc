// Shuffles, votes, matches and reductions over the lanes of a warp. Each lane leaves its operands in the WarpState and
// meets the others; the last one computes the results of all, so that lanes may go on at different times.
#include <algorithm>
#include <bit>

#include "wharf/device/soft/runtime/block_scheduler.h"
#include "wharf/device/soft/runtime/tensor.h"

namespace wharf::device::soft {
namespace {

template <typename Function>
void ForEachLane(uint32_t lanes, Function function) {
  for (; lanes != 0; lanes &= lanes - 1) function(static_cast<uint32_t>(std::countr_zero(lanes)));
}

// shfl: the lane read from and whether it is in range, as the PTX ISA defines them.
struct Source {
  uint32_t lane;
  bool in_range;
};

template <ShuffleMode mode>
Source SourceOf(uint32_t lane, uint32_t operand, uint32_t clamp) {
  const uint32_t segment = clamp >> 8 & 31, b = operand & 31, c = clamp & 31;
  const uint32_t limit = (lane & segment) | (c & ~segment);
  int32_t source;
  bool in_range;
  if constexpr (mode == ShuffleMode::kUp) {
    source = static_cast<int32_t>(lane) - static_cast<int32_t>(b);
    in_range = source >= static_cast<int32_t>(limit);
  } else {
    if constexpr (mode == ShuffleMode::kDown) source = static_cast<int32_t>(lane + b);
    if constexpr (mode == ShuffleMode::kBfly) source = static_cast<int32_t>(lane ^ b);
    if constexpr (mode == ShuffleMode::kIdx) source = static_cast<int32_t>((lane & segment) | (b & ~segment));
    in_range = source <= static_cast<int32_t>(limit);
  }
  return {in_range ? static_cast<uint32_t>(source) : lane, in_range};
}

template <ShuffleMode mode>
void Shuffle(WarpState& warp, uint32_t lanes) {
  ForEachLane(lanes, [&](uint32_t lane) {
    Source source = SourceOf<mode>(lane, warp.operand[lane], warp.clamp[lane]);
    // PTX leaves the value undefined if the source does not take part; GPUs (an H200) give 0.
    const uint32_t from = source.lane & 31;
    warp.result[lane] = (lanes >> from & 1) != 0 ? warp.value[from] : 0;
    warp.predicates = (warp.predicates & ~(1u << lane)) | uint32_t{source.in_range} << lane;
  });
}

void Vote(WarpState& warp, uint32_t lanes, uint32_t members, VoteMode mode) {
  uint32_t ballot = 0;
  ForEachLane(members, [&](uint32_t lane) { ballot |= (warp.value[lane] != 0 ? 1u : 0u) << lane; });
  uint32_t result = ballot;
  if (mode == VoteMode::kAll) result = ballot == members;
  if (mode == VoteMode::kAny) result = ballot != 0;
  if (mode == VoteMode::kUni) result = ballot == 0 || ballot == members;
  ForEachLane(lanes, [&](uint32_t lane) { warp.result[lane] = result; });
}

void MatchAny(WarpState& warp, uint32_t lanes) {
  for (uint32_t rest = lanes; rest != 0;) {
    const uint64_t value = warp.wide[static_cast<uint32_t>(std::countr_zero(rest))];
    uint32_t group = 0;
    ForEachLane(rest, [&](uint32_t lane) { group |= (warp.wide[lane] == value ? 1u : 0u) << lane; });
    ForEachLane(group, [&](uint32_t lane) { warp.result[lane] = group; });
    rest &= ~group;
  }
}

void MatchAll(WarpState& warp, uint32_t lanes) {
  const uint64_t value = warp.wide[static_cast<uint32_t>(std::countr_zero(lanes))];
  bool equal = true;
  ForEachLane(lanes, [&](uint32_t lane) { equal = equal && warp.wide[lane] == value; });
  ForEachLane(lanes, [&](uint32_t lane) { warp.result[lane] = equal ? lanes : 0; });
  warp.predicates = equal ? warp.predicates | lanes : warp.predicates & ~lanes;
}

uint32_t Combine(ReduceOp op, bool is_signed, uint32_t a, uint32_t b) {
  switch (op) {
    case ReduceOp::kAdd:
      return a + b;
    case ReduceOp::kMin:
      return is_signed ? static_cast<uint32_t>(std::min(static_cast<int32_t>(a), static_cast<int32_t>(b)))
                       : std::min(a, b);
    case ReduceOp::kMax:
      return is_signed ? static_cast<uint32_t>(std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)))
                       : std::max(a, b);
    case ReduceOp::kAnd:
      return a & b;
    case ReduceOp::kOr:
      return a | b;
    case ReduceOp::kXor:
    case ReduceOp::kPopc:
      break;
  }
  return a ^ b;
}

void Redux(WarpState& warp, uint32_t lanes, uint32_t members, ReduceOp op, bool is_signed) {
  const auto first = static_cast<uint32_t>(std::countr_zero(members));
  uint32_t result = warp.value[first];
  ForEachLane(members & (members - 1),
              [&](uint32_t lane) { result = Combine(op, is_signed, result, warp.value[lane]); });
  ForEachLane(lanes, [&](uint32_t lane) { warp.result[lane] = result; });
}

// `lanes` are there, `members` of them in the mask.
void Compute(WarpState& warp, uint32_t key, uint32_t lanes, uint32_t members) {
  const uint32_t mode = key & 0xff;
  switch (static_cast<WarpOperation>(key >> 8)) {
    case WarpOperation::kSync:
      return;
    case WarpOperation::kShuffle:
      switch (static_cast<ShuffleMode>(mode)) {
        case ShuffleMode::kUp:
          return Shuffle<ShuffleMode::kUp>(warp, lanes);
        case ShuffleMode::kDown:
          return Shuffle<ShuffleMode::kDown>(warp, lanes);
        case ShuffleMode::kBfly:
          return Shuffle<ShuffleMode::kBfly>(warp, lanes);
        case ShuffleMode::kIdx:
          return Shuffle<ShuffleMode::kIdx>(warp, lanes);
      }
      return;
    case WarpOperation::kVote:
      return Vote(warp, lanes, members, static_cast<VoteMode>(mode));
    case WarpOperation::kMatchAny:
      return MatchAny(warp, lanes);
    case WarpOperation::kMatchAll:
      return MatchAll(warp, lanes);
    case WarpOperation::kRedux:
      return Redux(warp, lanes, members, static_cast<ReduceOp>(mode & 0x7f), (mode & 0x80) != 0);
    case WarpOperation::kTensor:
      return ComputeTensor(static_cast<TensorFunction>(mode), warp.tensor_operation, warp.tensor);
  }
}

ThreadState& StateOf(ThreadContext* thread) { return *static_cast<ThreadState*>(thread); }

}  // namespace

Meeting* BlockScheduler::FindMeeting(WarpState& warp, uint32_t mask, uint32_t key) {
  for (uint32_t i = 0; i < warp.meeting_count; ++i) {
    if (warp.meetings[i].mask == mask && warp.meetings[i].key == key) return &warp.meetings[i];
  }
  // Each lane is in one meeting at most, so there is room.
  Meeting& meeting = warp.meetings[warp.meeting_count++];
  meeting = {mask, key, 0};
  return &meeting;
}

void BlockScheduler::Complete(uint32_t warp, uint32_t meeting) {
  WarpState& state = warps_[warp];
  const Meeting done = state.meetings[meeting];
  state.meetings[meeting] = state.meetings[--state.meeting_count];
  if (checks_ != nullptr) CheckMeeting(warp, done);
  const uint32_t members = done.arrived & done.mask;
  Compute(state, done.key, done.arrived, members != 0 ? members : done.arrived);
}

bool BlockScheduler::IsComplete(uint32_t warp, const Meeting& meeting) const {
  return (meeting.arrived & meeting.mask) == (meeting.mask & ~exited_[warp]);
}

void BlockScheduler::CompleteDue(uint32_t warp) {
  due_warps_ &= ~(1u << warp);
  WarpState& state = warps_[warp];
  for (uint32_t i = state.meeting_count; i-- > 0;) {
    if (!IsComplete(warp, state.meetings[i])) continue;
    ready_[warp] |= state.meetings[i].arrived;
    Complete(warp, i);
  }
}

// CUDA forbids lanes that are not in their own mask. Programs have them all the same, for GPUs let them take part where
// the warp is not divergent. So before a meeting ends, the lanes that its mask does not name may come, too.
void BlockScheduler::Meet(ThreadState& thread, uint32_t mask, uint32_t key) {
  const uint32_t warp = thread.warp, bit = 1u << thread.lane;
  Meeting* meeting = FindMeeting(warps_[warp], mask, key);
  meeting->arrived |= bit;
  if (!IsComplete(warp, *meeting)) return Suspend(thread);
  if ((ready_[warp] & ~mask) != 0) {
    due_warps_ |= 1u << warp;
    return Suspend(thread);
  }
  ready_[warp] |= meeting->arrived;
  Complete(warp, static_cast<uint32_t>(meeting - warps_[warp].meetings.data()));
  // The lowest lane goes on first: CUDA promises no order, but programs rely on what one lane does, mostly the first,
  // before the others read it, for on GPUs they come together again after a branch.
  Suspend(thread, kWarpSize - 1);
}

extern "C" {

void wharf_warp_sync(ThreadContext* thread, uint32_t mask) {
  ThreadState& state = StateOf(thread);
  state.scheduler->Meet(state, mask, MeetingKey(WarpOperation::kSync));
}

uint32_t wharf_shuffle(ThreadContext* thread, uint32_t mode, uint32_t value, uint32_t lane_operand, uint32_t clamp,
                       uint32_t mask, uint32_t* in_range) {
  ThreadState& state = StateOf(thread);
  WarpState& warp = state.scheduler->warp(state.warp);
  const uint32_t lane = state.lane;
  warp.value[lane] = value;
  warp.operand[lane] = lane_operand;
  warp.clamp[lane] = clamp;
  state.scheduler->Meet(state, mask, MeetingKey(WarpOperation::kShuffle, mode));
  if (in_range != nullptr) *in_range = warp.predicates >> lane & 1;
  return warp.result[lane];
}

uint32_t wharf_vote(ThreadContext* thread, uint32_t mode, uint32_t predicate, uint32_t mask) {
  ThreadState& state = StateOf(thread);
  WarpState& warp = state.scheduler->warp(state.warp);
  warp.value[state.lane] = predicate;
  state.scheduler->Meet(state, mask, MeetingKey(WarpOperation::kVote, mode));
  return warp.result[state.lane];
}

uint32_t wharf_match_any(ThreadContext* thread, uint64_t value, uint32_t mask) {
  ThreadState& state = StateOf(thread);
  WarpState& warp = state.scheduler->warp(state.warp);
  warp.wide[state.lane] = value;
  state.scheduler->Meet(state, mask, MeetingKey(WarpOperation::kMatchAny));
  return warp.result[state.lane];
}

uint32_t wharf_match_all(ThreadContext* thread, uint64_t value, uint32_t mask, uint32_t* predicate) {
  ThreadState& state = StateOf(thread);
  WarpState& warp = state.scheduler->warp(state.warp);
  warp.wide[state.lane] = value;
  state.scheduler->Meet(state, mask, MeetingKey(WarpOperation::kMatchAll));
  if (predicate != nullptr) *predicate = warp.predicates >> state.lane & 1;
  return warp.result[state.lane];
}

uint32_t wharf_redux(ThreadContext* thread, uint32_t op, uint32_t is_signed, uint32_t value, uint32_t mask) {
  ThreadState& state = StateOf(thread);
  WarpState& warp = state.scheduler->warp(state.warp);
  warp.value[state.lane] = value;
  state.scheduler->Meet(state, mask, MeetingKey(WarpOperation::kRedux, op | (is_signed != 0 ? 0x80u : 0u)));
  return warp.result[state.lane];
}

void wharf_tensor(ThreadContext* thread, uint32_t function, uint32_t operation, uint32_t* registers) {
  ThreadState& state = StateOf(thread);
  WarpState& warp = state.scheduler->warp(state.warp);
  const TensorOperands operands = OperandsOf(static_cast<TensorFunction>(function), operation);
  for (uint32_t i = 0; i < operands.inputs; ++i) warp.tensor[i][state.lane] = registers[i];
  warp.tensor_operation = operation;
  state.scheduler->Meet(state, ~uint32_t{0}, MeetingKey(WarpOperation::kTensor, function));
  for (uint32_t i = 0; i < operands.results; ++i) registers[i] = warp.tensor[i][state.lane];
}

void wharf_tensor_lanes(uint32_t function, uint32_t operation, uint32_t* registers) {
  ComputeTensor(static_cast<TensorFunction>(function), operation, reinterpret_cast<uint32_t(*)[kWarpSize]>(registers));
}

uint32_t wharf_active_mask(ThreadContext* thread, uint32_t site) {
  return StateOf(thread).scheduler->ActiveMask(StateOf(thread), site);
}

void wharf_yield(ThreadContext* thread) { StateOf(thread).scheduler->Yield(StateOf(thread)); }

}  // extern "C"
}  // namespace wharf::device::soft
