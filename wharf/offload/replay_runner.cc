#include "wharf/offload/replay_runner.h"

#include <algorithm>
#include <cstring>

#include "absl/synchronization/notification.h"
#include "wharf/base/clock.h"
#include "wharf/offload/copy_extent.h"

namespace wharf::offload {
namespace {

uint64_t AnswerBytes(const StepOp& op) {
  const auto* const copy = std::get_if<CopyToHost>(&op);
  return copy == nullptr ? 0 : CopyBytes(copy->extent).value_or(0);
}

}  // namespace

ReplayRunner::ReplayRunner(const ReplayOptions& options, Performer* performer, device::Device* device)
    : options_(options),
      performer_(performer),
      device_(device),
      lanes_(1, kNoStep),
      undo_(device, options.undo_bytes) {}

// --- following the program ---

absl::Status ReplayRunner::OnProgress(uint64_t position, std::span<const std::byte> records,
                                      std::vector<std::byte> bulk) {
  ProgressReader reader(records);
  ProgressRecord record;
  bool waits = false;
  const bool has_input = !bulk.empty();
  while (!reader.AtEnd()) {
    WHARF_RETURN_IF_ERROR(reader.Next(record));
    waits = record.kind == RecordKind::kWait;
    switch (record.kind) {
      case RecordKind::kLane:
        WHARF_RETURN_IF_ERROR(Select(record.value));
        break;
      case RecordKind::kRun:
        WHARF_RETURN_IF_ERROR(Run(record.value, bulk));
        break;
      case RecordKind::kStep:
        WHARF_RETURN_IF_ERROR(Jump(record, bulk));
        break;
      case RecordKind::kForget:
        Forget();
        break;
      case RecordKind::kWait:
        break;
    }
  }
  if (!bulk.empty()) return DataLoss("a progress frame carries data that no operation takes");
  if (position != position_) return DataLoss("the client counts {} operations, the server {}", position, position_);
  if (waits || (options_.unsafe && has_input)) RunAhead();
  return absl::OkStatus();
}

absl::Status ReplayRunner::OnOperation(uint16_t number, std::span<const std::byte> head) {
  Deviate();
  ++position_;
  if (ChangesWorld(number)) ++world_;
  if (!IsStep(number)) return absl::OkStatus();
  if (!graph_.HasRoomFor(head.size())) return DataLoss("the client does not forget steps in time");
  WHARF_ASSIGN_OR_RETURN(StepOp op, DecodeStep(number, head));
  const StepId step = graph_.Append(number, head);
  known_.push_back({std::move(op), world_, 0, std::nullopt, false});
  graph_.Connect(lanes_[lane_], step);
  lanes_[lane_] = step;
  return absl::OkStatus();
}

void ReplayRunner::NoteFailure() {
  if (lanes_[lane_] != kNoStep) known_[lanes_[lane_]].proven = 0;
}

absl::Status ReplayRunner::Select(uint64_t lane) {
  if (lane >= options_.lanes) return DataLoss("a program may have {} threads", options_.lanes);
  Deviate();
  if (lane >= lanes_.size()) lanes_.resize(lane + 1, kNoStep);
  lane_ = lane;
  return absl::OkStatus();
}

absl::Status ReplayRunner::Run(uint64_t count, std::vector<std::byte>& bulk) {
  for (uint64_t i = 0; i < count; ++i) {
    const StepId last = lanes_[lane_];
    const StepId next = last == kNoStep ? kNoStep : graph_.Next(last);
    if (next == kNoStep) return DataLoss("the client follows a path that ends");
    WHARF_RETURN_IF_ERROR(Take(next, bulk));
  }
  return absl::OkStatus();
}

absl::Status ReplayRunner::Jump(const ProgressRecord& record, std::vector<std::byte>& bulk) {
  if (record.value >= graph_.size()) return DataLoss("step {} is not known", record.value);
  Deviate();
  const auto step = static_cast<StepId>(record.value);
  if (!record.changes.empty()) WHARF_RETURN_IF_ERROR(Change(step, record.changes));
  return Take(step, bulk);
}

absl::Status ReplayRunner::Change(StepId step, const std::vector<ChangedRange>& changes) {
  const std::span<std::byte> head = graph_.MutableHead(step);
  for (const ChangedRange& change : changes) {
    if (change.offset > head.size() || change.bytes.size() > head.size() - change.offset) {
      return DataLoss("a change lies outside its step");
    }
    std::memcpy(head.data() + change.offset, change.bytes.data(), change.bytes.size());
  }
  WHARF_ASSIGN_OR_RETURN(known_[step].op, DecodeStep(graph_.Number(step), head));
  known_[step].proven = known_[step].writes_world = 0;
  return absl::OkStatus();
}

absl::Status ReplayRunner::Take(StepId step, std::vector<std::byte>& bulk) {
  ++position_;
  ++counters_.steps;
  graph_.Connect(lanes_[lane_], step);
  lanes_[lane_] = step;
  if (!ahead_.empty()) {
    Confirm();
    return absl::OkStatus();
  }
  return Perform(step, bulk);
}

absl::Status ReplayRunner::Perform(StepId step, std::vector<std::byte>& bulk) {
  if (ChangesWorld(graph_.Number(step))) ++world_;
  if (const auto* const copy = std::get_if<CopyToDevice>(&known_[step].op)) {
    const absl::StatusOr<uint64_t> bytes = CopyBytes(copy->extent);
    if (!bytes.ok() || *bytes != bulk.size()) return DataLoss("a copy came with {} bytes", bulk.size());
  }
  const bool takes_bulk = std::holds_alternative<CopyToDevice>(known_[step].op);
  const absl::Status status = performer_->Perform(
      known_[step].op, takes_bulk ? std::exchange(bulk, {}) : std::vector<std::byte>(), PushTicket(position_));
  known_[step].proven = status.ok() ? world_ : 0;
  if (!status.ok()) performer_->Latch(status);
  return absl::OkStatus();
}

Ticket ReplayRunner::PushTicket(uint64_t position) const {
  Ticket ticket;
  ticket.tag = position;
  ticket.arrival = Clock::Real().Now();
  ticket.push = PushHeader{epoch_, position_};
  return ticket;
}

// --- running ahead ---

// The program made the oldest step that was run ahead.
void ReplayRunner::Confirm() {
  const StepId step = ahead_.front();
  ahead_.pop_front();
  known_[step].ahead = false;
  redo_.push_back(step);
  const StepOp& op = known_[step].op;
  if (IsAnswered(op)) {
    ahead_pushed_ -= AnswerBytes(op);
    if (!undo_.Empty()) undo_.DropOldest();
    redo_.clear();
  }
  if (ahead_.empty()) {
    while (!undo_.Empty()) undo_.DropOldest();
    redo_.clear();
  }
}

// The program does something else than what was foreseen.
void ReplayRunner::Deviate() {
  ++epoch_;
  if (!ahead_.empty()) Undo();
}

// Memory goes back to the beginning of the oldest segment, and what the program has made since is done again: nobody
// has seen its results, because a segment ends with the first operation that shows any.
void ReplayRunner::Undo() {
  counters_.undone += ahead_.size();
  for (const StepId step : ahead_) known_[step].ahead = false;
  ahead_.clear();
  ahead_pushed_ = 0;
  if (undo_.Restore(ahead_stream_)) {
    for (const StepId step : redo_) performer_->Perform(known_[step].op, {}, PushTicket(position_)).IgnoreError();
  }
  redo_.clear();
  if (performer_->HasOneStream() || options_.unsafe) return;
  // Other streams must not see what is being taken back.
  absl::Notification restored;
  const absl::Status queued = device_->Notify(ahead_stream_, [&restored](const absl::Status&) { restored.Notify(); });
  if (queued.ok()) restored.WaitForNotification();
}

// The program waits for its last step: whatever it does next, it does after the answer. Steps on the same stream come
// after that step on the device too; on other streams nothing must be under way, because what the program's threads
// agree on among themselves is not seen here.
void ReplayRunner::RunAhead() {
  StepId last = ahead_.empty() ? lanes_[lane_] : ahead_.back();
  if (last == kNoStep) return;
  if (ahead_.empty()) {
    if (!options_.unsafe && !IsAnswered(known_[last].op)) return;
    ahead_stream_ = StreamOf(known_[last].op).value_or(device::kDefaultStream);
    if (!options_.unsafe && !performer_->OthersAreIdle(ahead_stream_)) return;
    redo_.clear();
  }
  while (ahead_.size() < options_.ahead_steps) {
    const StepId next = graph_.Next(last);
    if (next == kNoStep || known_[next].ahead || !TryAhead(next)) return;
    last = next;
  }
}

bool ReplayRunner::TryAhead(StepId step) {
  const StepOp& op = known_[step].op;
  const uint64_t answer = AnswerBytes(op);
  if (!performer_->HasIdleRoom() || answer > options_.pushed_bytes - ahead_pushed_) return false;
  if (options_.unsafe ? !MayRunUnsafely(step) : !SaveWrites(step)) return false;
  Ticket ticket = PushTicket(position_ + ahead_.size() + 1);
  ticket.push->known = position_;
  const absl::Status status = performer_->Perform(op, {}, ticket);
  ahead_.push_back(step);
  known_[step].ahead = true;
  ahead_pushed_ += answer;
  ++counters_.run_ahead;
  if (!status.ok()) performer_->Latch(status);
  return status.ok();
}

// False if the step cannot be undone: then it waits for the program.
bool ReplayRunner::SaveWrites(StepId step) {
  if (known_[step].proven != world_ || StreamOf(known_[step].op).value_or(ahead_stream_) != ahead_stream_) return false;
  const auto& writes = Writes(step);
  if (!writes) return false;
  const bool begins = ahead_.empty() || IsAnswered(known_[ahead_.back()].op);
  if (begins) undo_.BeginSegment();
  const bool saved = std::all_of(writes->begin(), writes->end(),
                                 [&](const MemoryRange& range) { return undo_.Save(ahead_stream_, range).ok(); });
  if (!saved && begins) undo_.DropNewest();
  return saved;
}

const std::optional<std::vector<MemoryRange>>& ReplayRunner::Writes(StepId step) {
  Known& known = known_[step];
  if (known.writes_world != world_) {
    known.writes = WritesOf(known.op, *device_, performer_->Allocations());
    known.writes_world = world_;
  }
  return known.writes;
}

bool ReplayRunner::MayRunUnsafely(StepId step) const {
  const StepOp& op = known_[step].op;
  return !ChangesWorld(graph_.Number(step)) && !std::holds_alternative<CopyToDevice>(op) &&
         !std::holds_alternative<RequestHostCall>(op) && !std::holds_alternative<QueryStream>(op) &&
         !std::holds_alternative<QueryEvent>(op) && !std::holds_alternative<ElapsedTime>(op);
}

void ReplayRunner::Forget() {
  Deviate();
  graph_.Clear();
  known_.clear();
  std::fill(lanes_.begin(), lanes_.end(), kNoStep);
}

}  // namespace wharf::offload
