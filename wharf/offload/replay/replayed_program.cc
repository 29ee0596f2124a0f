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
  path_.Forget();
  batches_.Clear();
  operations_.Clear();
  facts_.clear();
  sites_.Clear();
  for (Thread& lane : lanes_) lane = {};
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

void ReplayedProgram::Follow() {
  History& lane = lanes_[lane_].history;
  const OperationId id = lane.Predicted();
  lane.Follow();
  lanes_[lane_].drift = 0;
  Advance(id);
}

// The operation that this one came in the place of; kNoOperation if in none's. Allocations come and go between calls
// that stay: they take nobody's place, and what follows one that is new is compared with what would have come then.
OperationId ReplayedProgram::Counterpart(OperationId id) {
  Thread& thread = lanes_[lane_];
  const auto at = [&] {
    const uint64_t index = thread.history.Cursor() + static_cast<uint64_t>(thread.drift);
    return thread.history.Holds(index) ? thread.history.At(index) : kNoOperation;
  };
  const auto changes_state = [this](OperationId op) { return ChangesState(operations_.Number(op)); };
  OperationId expected = at();
  if (changes_state(id)) {
    if (expected != kNoOperation && operations_.Number(expected) != operations_.Number(id)) --thread.drift;
    return kNoOperation;
  }
  while (expected != kNoOperation && changes_state(expected)) {
    ++thread.drift;
    expected = at();
  }
  return expected;
}

void ReplayedProgram::Deviate(OperationId id, uint64_t cursor) {
  History& lane = lanes_[lane_].history;
  const OperationId expected = Counterpart(id);
  if (cursor != lane.Cursor() + 1) lanes_[lane_].drift = 0;
  lane.Deviate(id, cursor);
  if (expected == kNoOperation || !CallSites::MayReplace(operations_, expected, id)) return Advance(id);
  SiteId& site = facts_[expected].site;
  if (site == kNoSite) site = facts_[id].site != kNoSite ? facts_[id].site : sites_.Add(expected);
  if (facts_[id].site == kNoSite) facts_[id].site = site;
  Advance(id);
}

void ReplayedProgram::Advance(OperationId id) {
  ++position_;
  last_ = id;
  path_.Operation(operations_.Hash(id));
  const SiteId site = facts_[id].site;
  if (site == kNoSite) return;
  RecentWords& recent = lanes_[lane_].recent;
  sites_.Record(site, id, recent);
  recent.SetOperation(site, id);
}

void ReplayedProgram::MakeOther() {
  ++position_;
  last_ = kNoOperation;
  path_.Other();
}

void ReplayedProgram::SelectLane(uint64_t lane) {
  if (lane >= lanes_.size()) lanes_.resize(lane + 1);
  lane_ = lane;
  path_.Lane(lane);
}

// --- what can run, and what can fail ---

void ReplayedProgram::NoteStateChange(uint16_t number) {
  if (ChangesState(number)) ++state_version_;
  if (TakesAway(number)) ++loss_version_;
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

ReplyTicket ReplayedProgram::PushTicket(OperationId id, uint64_t position, const ProgramPath& path) const {
  ReplyTicket ticket;
  ticket.tag = position;
  ticket.arrival = Clock::Real().Now();
  ticket.push = PushHeader{path.Value(), position_, taken_back_, risky_.empty()};
  const uint64_t bytes = AnswerBytes(Op(id));
  if (bytes > 0 && bytes <= SmallAnswer::kMaxBytes) ticket.answer = std::make_shared<SmallAnswer>();
  return ticket;
}

// --- prepared batches ---

PreparedBatches::Match ReplayedProgram::FindPrepared(uint64_t cursor, size_t limit, bool stops_at_sites) {
  if (!prepares_) return {};
  const History& lane = Lane();
  const auto next = [&](size_t i) {
    const OperationId id = lane.Holds(cursor + i) ? lane.At(cursor + i) : kNoOperation;
    return id != kNoOperation && stops_at_sites && HasPredictedArguments(id) ? kNoOperation : id;
  };
  return batches_.Find(next, limit);
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
