#include "wharf/offload/replay/replayed_program.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "wharf/base/clock.h"

namespace wharf::offload {

absl::StatusOr<OperationId> ReplayedProgram::Learn(uint16_t number, std::span<const std::byte> head,
                                                   std::span<const std::byte> data) {
  if (!operations_.HasRoomFor(head.size(), data.size()))
    return DataLoss("the client does not forget operations in time");
  WHARF_ASSIGN_OR_RETURN(StepOp op, DecodeStep(number, head));
  const OperationId id = operations_.Append(number, head, data);
  facts_.emplace_back().op = std::move(op);
  return id;
}

void ReplayedProgram::Forget() {
  batches_.Clear();
  operations_.Clear();
  facts_.clear();
  for (History& lane : lanes_) lane = {};
  last_ = kNoOperation;
}

void ReplayedProgram::NoteOtherData(OperationId id, std::span<const std::byte> data) {
  if (!operations_.Data(id).empty()) operations_.ReplaceData(id, data);
  facts_[id].same_data = 0;
}

std::vector<std::byte> ReplayedProgram::KnownData(OperationId id) const {
  const std::span<const std::byte> data = operations_.Data(id);
  return {data.begin(), data.end()};
}

bool ReplayedProgram::PredictsData(OperationId id) const {
  return !std::holds_alternative<CopyToDevice>(Op(id)) || (facts_[id].same_data > 0 && !operations_.Data(id).empty());
}

void ReplayedProgram::Advance(OperationId id) {
  ++position_;
  last_ = id;
}

void ReplayedProgram::SelectLane(uint64_t lane) {
  if (lane >= lanes_.size()) lanes_.resize(lane + 1);
  lane_ = lane;
}

// --- what can run, and what can fail ---

void ReplayedProgram::NoteStateChange(uint16_t number) {
  if (ChangesState(number)) ++state_version_;
}

const std::optional<WriteSet>& ReplayedProgram::Writes(OperationId id) {
  Facts& facts = facts_[id];
  if (facts.writes_version != state_version_) {
    facts.writes = WritesOf(facts.op, *device_, performer_->Allocations());
    facts.writes_version = state_version_;
    if (facts.writes && facts.writes->guard) device_->PrepareGuarded(std::get<Launch>(facts.op).function);
  }
  return facts.writes;
}

bool ReplayedProgram::CanFail(OperationId id) {
  if (!IsProven(id)) return true;
  const StepOp& op = Op(id);
  const bool harmless = std::holds_alternative<CopyToDevice>(op) || std::holds_alternative<RecordEvent>(op) ||
                        std::holds_alternative<WaitEvent>(op);
  return !harmless && (!Writes(id) || Writes(id)->guard);
}

void ReplayedProgram::NoteRisk(OperationId id) {
  if (CanFail(id)) risky_.insert(StreamOf(Op(id)).value_or(device::kDefaultStream));
}

void ReplayedProgram::NoteRefusal(OperationId id, const absl::Status& why) {
  NoteUnproven(id);
  NoteRisk(id);
  if (!IsAnswered(Op(id))) performer_->Latch(why);
}

// It goes on after what was queued on that stream; what failed elsewhere until now, the answer says.
void ReplayedProgram::NoteAnswered() {
  if (last_ == kNoOperation || !IsAnswered(Op(last_))) return;
  if (const auto stream = StreamOf(Op(last_))) risky_.erase(*stream);
  std::erase_if(risky_, [this](device::StreamId stream) { return device_->StreamDone(stream).value_or(true); });
}

ReplyTicket ReplayedProgram::PushTicket(uint64_t position) const {
  ReplyTicket ticket;
  ticket.tag = position;
  ticket.arrival = Clock::Real().Now();
  ticket.push = PushHeader{deviations_, position_, risky_.empty()};
  return ticket;
}

// --- prepared batches ---

PreparedBatches::Match ReplayedProgram::FindPrepared(uint64_t cursor, size_t limit) {
  if (!prepares_) return {};
  const History& lane = Lane();
  return batches_.Find([&](size_t i) { return lane.Holds(cursor + i) ? lane.At(cursor + i) : kNoOperation; }, limit);
}

device::Submission ReplayedProgram::Submit(const PreparedBatches::Match& match, size_t count) {
  if (count == 0) return {};
  const device::StreamId stream = StreamOf(Op(match.ids.front())).value_or(device::kDefaultStream);
  const auto launches = std::ranges::count_if(
      match.ids.first(count), [this](OperationId id) { return std::holds_alternative<Launch>(Op(id)); });
  const device::Submission submitted =
      performer_->Submit(*match.list, match.first, count, static_cast<size_t>(launches), stream);
  batches_.Advance(submitted.queued);
  return submitted;
}

}  // namespace wharf::offload
