#include "wharf/offload/replay_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/synchronization/notification.h"
#include "wharf/base/clock.h"
#include "wharf/offload/copy_extent.h"

namespace wharf::offload {
namespace {

constexpr size_t kMaxAnswersAhead = 256;
// How often a thread of a guarded kernel may jump back, and all its threads together: a launch that was foreseen
// wrongly must not hold the device for long.
constexpr uint64_t kThreadFuel = 1 << 16, kLaunchFuel = 1 << 28;

uint64_t AnswerBytes(const StepOp& op) {
  const auto* const copy = std::get_if<CopyToHost>(&op);
  return copy == nullptr ? 0 : CopyBytes(copy->extent).value_or(0);
}

}  // namespace

ReplayRunner::ReplayRunner(const ReplayOptions& options, Performer* performer, device::Device* device)
    : options_(options),
      performer_(performer),
      device_(device),
      lanes_(1),
      undo_(device, options.undo_bytes),
      stretches_(device) {}

// --- following the program ---

absl::Status ReplayRunner::OnProgress(uint64_t position, std::span<const std::byte> records,
                                      std::vector<std::byte> bulk) {
  ProgressReader reader(records);
  ProgressRecord record;
  bool waits = false;
  while (!reader.AtEnd()) {
    WHARF_RETURN_IF_ERROR(reader.Next(record));
    waits = record.kind == RecordKind::kWait;
    WHARF_RETURN_IF_ERROR(Follow(record, bulk));
  }
  if (!bulk.empty()) return DataLoss("a progress frame carries data that no operation takes");
  if (position != position_) return DataLoss("the client counts {} operations, the server {}", position, position_);
  if (waits || (options_.unsafe && TookInput())) RunAhead();
  return absl::OkStatus();
}

bool ReplayRunner::TookInput() const {
  return last_ != kNoOperation && std::holds_alternative<CopyToDevice>(known_[last_].op);
}

absl::Status ReplayRunner::Follow(const ProgressRecord& record, std::vector<std::byte>& bulk) {
  switch (record.kind) {
    case RecordKind::kLane:
      return Select(record.value);
    case RecordKind::kRun:
      return Run(record.value, bulk);
    case RecordKind::kKnown:
      return Jump(record, bulk);
    case RecordKind::kVariant:
      return TakeVariant(record, bulk);
    case RecordKind::kForget:
      Forget();
      return absl::OkStatus();
    case RecordKind::kWait:
      NoteAnswered();
      return absl::OkStatus();
    case RecordKind::kFresh:
      Deviate();
      fresh_ = true;
      return absl::OkStatus();
  }
  return DataLoss("a progress record of unknown kind");
}

absl::Status ReplayRunner::OnOperation(uint16_t number, std::span<const std::byte> head,
                                       std::span<const std::byte> data) {
  Deviate();
  ++position_;
  if (ChangesWorld(number)) ++world_;
  last_ = kNoOperation;
  stretches_.Interrupt();
  if (!IsStep(number)) return absl::OkStatus();
  WHARF_RETURN_IF_ERROR(Learn(number, head, data));
  NoteRisk(last_);
  known_[last_].proven = world_;
  return absl::OkStatus();
}

void ReplayRunner::NoteFailure() {
  if (last_ != kNoOperation) known_[last_].proven = 0;
}

absl::Status ReplayRunner::Learn(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data) {
  if (!operations_.HasRoomFor(head.size(), data.size()))
    return DataLoss("the client does not forget operations in time");
  WHARF_ASSIGN_OR_RETURN(StepOp op, DecodeStep(number, head));
  last_ = operations_.Append(number, head, data);
  known_.emplace_back().op = std::move(op);
  Lane().Deviate(last_, Lane().Cursor() + 1);
  return absl::OkStatus();
}

absl::Status ReplayRunner::Select(uint64_t lane) {
  if (lane >= kMaxLanes) return DataLoss("thread {} of a program that may have {}", lane, kMaxLanes);
  Deviate();
  stretches_.Interrupt();
  if (lane >= lanes_.size()) lanes_.resize(lane + 1);
  lane_ = lane;
  return absl::OkStatus();
}

absl::Status ReplayRunner::Run(uint64_t count, std::vector<std::byte>& bulk) {
  while (count > 0) {
    if (ahead_.empty()) {
      WHARF_ASSIGN_OR_RETURN(const uint64_t prepared, RunPrepared(count, bulk));
      count -= prepared;
      if (prepared > 0) continue;
    }
    --count;
    const OperationId id = Lane().Foreseen();
    if (id == kNoOperation) return DataLoss("the client goes on where nothing is foreseen");
    Lane().Follow();
    ++position_;
    last_ = id;
    if (ahead_.empty()) {
      WHARF_RETURN_IF_ERROR(Perform(id, bulk));
    } else {
      Confirm();
    }
  }
  return absl::OkStatus();
}

// How many operations were done at once; 0 if none are prepared.
absl::StatusOr<uint64_t> ReplayRunner::RunPrepared(uint64_t limit, std::vector<std::byte>& bulk) {
  const Stretches::Match match = FindPrepared(Lane().Cursor(), limit);
  for (const OperationId id : match.ids) {
    Lane().Follow();
    ++position_;
    last_ = id;
    NoteRisk(id);
    known_[id].proven = world_;
  }
  const device::Submission submitted = Submit(match, match.ids.size());
  if (submitted.queued == match.ids.size()) return submitted.queued;
  // What cannot be queued says so again by itself.
  const std::vector<OperationId> left(match.ids.begin() + static_cast<ptrdiff_t>(submitted.queued), match.ids.end());
  for (const OperationId id : left) WHARF_RETURN_IF_ERROR(Perform(id, bulk));
  return submitted.queued + left.size();
}

Stretches::Match ReplayRunner::FindPrepared(uint64_t cursor, size_t limit) {
  if (!options_.prepares) return {};
  const History& lane = Lane();
  return stretches_.Find([&](size_t i) { return lane.Holds(cursor + i) ? lane.At(cursor + i) : kNoOperation; }, limit);
}

device::Submission ReplayRunner::Submit(const Stretches::Match& match, size_t count) {
  if (count == 0) return {};
  const device::StreamId stream = StreamOf(known_[match.ids.front()].op).value_or(device::kDefaultStream);
  const auto launches = std::ranges::count_if(
      match.ids.first(count), [this](OperationId id) { return std::holds_alternative<Launch>(known_[id].op); });
  const device::Submission submitted =
      performer_->Submit(*match.list, match.first, count, static_cast<size_t>(launches), stream);
  stretches_.Advance(submitted.queued);
  return submitted;
}

absl::Status ReplayRunner::Jump(const ProgressRecord& record, std::vector<std::byte>& bulk) {
  if (record.value >= operations_.size()) return DataLoss("operation {} is not known", record.value);
  Deviate();
  stretches_.Interrupt();
  ++position_;
  last_ = static_cast<OperationId>(record.value);
  const uint64_t end = Lane().End() + 1;
  if (record.distance > end) return DataLoss("a place before the beginning");
  Lane().Deviate(last_, end - record.distance);
  return Perform(last_, bulk);
}

absl::Status ReplayRunner::TakeVariant(const ProgressRecord& record, std::vector<std::byte>& bulk) {
  if (record.value >= operations_.size()) return DataLoss("operation {} is not known", record.value);
  const auto of = static_cast<OperationId>(record.value);
  std::vector<std::byte> head(operations_.Head(of).begin(), operations_.Head(of).end());
  for (const ChangedRange& change : record.changes) {
    if (change.offset > head.size() || change.bytes.size() > head.size() - change.offset) {
      return DataLoss("a change lies outside its operation");
    }
    std::memcpy(head.data() + change.offset, change.bytes.data(), change.bytes.size());
  }
  Deviate();
  ++position_;
  WHARF_RETURN_IF_ERROR(Learn(operations_.Number(of), head, bulk));
  fresh_ = std::holds_alternative<CopyToDevice>(known_[last_].op);
  return Perform(last_, bulk);
}

absl::Status ReplayRunner::Perform(OperationId id, std::vector<std::byte>& bulk) {
  if (ChangesWorld(operations_.Number(id))) ++world_;
  std::vector<std::byte> data;
  if (const auto* const copy = std::get_if<CopyToDevice>(&known_[id].op)) {
    WHARF_ASSIGN_OR_RETURN(data, TakeData(id, *copy, bulk));
  }
  if (fresh_) return DataLoss("data are announced for an operation that takes none");
  NoteRisk(id);
  const absl::Status status = performer_->Perform(known_[id].op, std::move(data), PushTicket(position_));
  if (status.ok()) {
    known_[id].proven = world_;
  } else {
    NoteRefusal(id, status);
  }
  stretches_.Note(id, known_[id].op);
  return absl::OkStatus();
}

// Few data are those of the last time unless a record said that they are not.
absl::StatusOr<std::vector<std::byte>> ReplayRunner::TakeData(OperationId id, const CopyToDevice& copy,
                                                              std::vector<std::byte>& bulk) {
  const bool fresh = std::exchange(fresh_, false);
  if (!operations_.Data(id).empty() && !fresh) {
    ++known_[id].same_data;
    return KnownData(id);
  }
  const absl::StatusOr<uint64_t> bytes = CopyBytes(copy.extent);
  if (!bytes.ok() || *bytes != bulk.size()) return DataLoss("a copy came with {} bytes", bulk.size());
  if (!operations_.Data(id).empty()) operations_.ReplaceData(id, bulk);
  known_[id].same_data = 0;
  return std::exchange(bulk, {});
}

std::vector<std::byte> ReplayRunner::KnownData(OperationId id) const {
  const std::span<const std::byte> data = operations_.Data(id);
  return {data.begin(), data.end()};
}

Ticket ReplayRunner::PushTicket(uint64_t position) const {
  Ticket ticket;
  ticket.tag = position;
  ticket.arrival = Clock::Real().Now();
  ticket.push = PushHeader{epoch_, position_, risky_.empty()};
  return ticket;
}

// --- what can fail ---

// False for what has run before as it is, in this world, and does the same whatever is in memory.
bool ReplayRunner::CanFail(OperationId id) {
  if (known_[id].proven != world_) return true;
  const StepOp& op = known_[id].op;
  const bool harmless = std::holds_alternative<CopyToDevice>(op) || std::holds_alternative<RecordEvent>(op) ||
                        std::holds_alternative<WaitEvent>(op);
  return !harmless && (!Writes(id) || Writes(id)->guard);
}

void ReplayRunner::NoteRisk(OperationId id) {
  if (CanFail(id)) risky_.insert(StreamOf(known_[id].op).value_or(device::kDefaultStream));
}

// The program made an operation that was refused: it is no proof that it can run, and what is answered after it comes
// after an error.
void ReplayRunner::NoteRefusal(OperationId id, const absl::Status& why) {
  known_[id].proven = 0;
  NoteRisk(id);
  if (!IsAnswered(known_[id].op)) performer_->Latch(why);
}

// The program goes on only with the answer to its last operation, and so after what was queued on that stream; what
// failed elsewhere until now, that answer says.
void ReplayRunner::NoteAnswered() {
  if (last_ == kNoOperation || !IsAnswered(known_[last_].op)) return;
  if (const auto stream = StreamOf(known_[last_].op)) risky_.erase(*stream);
  std::erase_if(risky_, [this](device::StreamId stream) { return device_->StreamDone(stream).value_or(true); });
}

// --- running ahead ---

// The program made the oldest operation that was run ahead.
void ReplayRunner::Confirm() {
  const auto [id, check] = std::move(ahead_.front());
  ahead_.pop_front();
  redo_.push_back(id);
  const StepOp& op = known_[id].op;
  if (std::holds_alternative<CopyToDevice>(op)) ++known_[id].same_data;
  if (IsAnswered(op)) {
    if (check != nullptr && !KeptToGuards(*check)) return;
    ahead_pushed_ -= AnswerBytes(op);
    --ahead_answers_;
    if (!undo_.Empty()) undo_.DropOldest();
    redo_.clear();
  }
  if (!ahead_.empty()) return;
  if (guarded_ && !redo_.empty() && !KeptToGuards(*CheckGuards())) return;
  while (!undo_.Empty()) undo_.DropOldest();
  redo_.clear();
  guarded_ = false;
  answer_window_ = std::min(answer_window_ * 2, kMaxAnswersAhead);
}

// Waits until the device knows. If a guard was violated, all that the program has made since then is done again as it
// is: it was not answered, so this is the program's first sight of it. The wait is short, for this program is about to
// wait for the same, and it ends: what was run ahead depends on nothing that is still to come.
bool ReplayRunner::KeptToGuards(GuardCheck& check) {
  check.done.WaitForNotification();
  if (!check.violated.load(std::memory_order_relaxed)) return true;
  ++counters_.violations;
  for (const OperationId id : redo_) known_[id].violated = world_;
  Undo();
  return false;
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
  ahead_.clear();
  stretches_.Interrupt();
  if (std::exchange(guarded_, false)) {
    device_->Fill(ahead_stream_, MarkRegion(), device::Extent{UndoLog::kMarkBytes, 1, 1}, 0, 1).IgnoreError();
  }
  ahead_pushed_ = ahead_answers_ = 0;
  answer_window_ = std::max<size_t>(answer_window_ / 2, 1);
  undo_.Restore(ahead_stream_);
  for (const OperationId id : redo_) {
    if (options_.unsafe) break;
    NoteRisk(id);
    const absl::Status status = performer_->Perform(known_[id].op, KnownData(id), PushTicket(position_));
    if (!status.ok()) NoteRefusal(id, status);
  }
  redo_.clear();
  if (performer_->HasOneStream() || options_.unsafe) return;
  // Other streams must not see what is being taken back.
  absl::Notification restored;
  const absl::Status queued = device_->Notify(ahead_stream_, [&restored](const absl::Status&) { restored.Notify(); });
  if (queued.ok()) restored.WaitForNotification();
}

// The program waits for its last operation: whatever it does next, it does after the answer. Work on the same stream
// comes after that operation on the device too; on other streams nothing must be under way, because what the
// program's threads agree on among themselves is not seen here.
void ReplayRunner::RunAhead() {
  if (last_ == kNoOperation) return;
  if (ahead_.empty()) {
    if (!options_.unsafe && !IsAnswered(known_[last_].op)) return;
    ahead_stream_ = StreamOf(known_[last_].op).value_or(device::kDefaultStream);
    if (!options_.unsafe && !performer_->OthersAreIdle(ahead_stream_)) return;
  }
  uint64_t cursor = Lane().Cursor() + ahead_.size();
  while (ahead_.size() < options_.ahead_operations && ahead_answers_ < answer_window_ && Lane().Holds(cursor)) {
    const size_t prepared = TryPreparedAhead(cursor);
    if (prepared == 0 && !TryAhead(Lane().At(cursor))) return;
    cursor += std::max<size_t>(prepared, 1);
  }
}

// How many operations were run ahead at once. What they write is saved before the first of them runs: in a segment that
// is as good as before each.
size_t ReplayRunner::TryPreparedAhead(uint64_t cursor) {
  const Stretches::Match match = FindPrepared(cursor, options_.ahead_operations - ahead_.size());
  const size_t before = ahead_.size();
  const bool begins = BeginsSegment();
  for (const OperationId id : match.ids) {
    if (!performer_->HasIdleRoom() || IsGuarded(id)) break;
    if (options_.unsafe ? !MayRunUnsafely(id) : !SaveWrites(id)) break;
    ahead_.push_back({id, nullptr});
  }
  const size_t count = ahead_.size() - before;
  const device::Submission submitted = Submit(match, count);
  ahead_.resize(before + submitted.queued);
  if (begins && count > 0 && submitted.queued == 0 && !options_.unsafe) undo_.DropNewest();
  counters_.run_ahead += submitted.queued;
  return submitted.queued;
}

bool ReplayRunner::TryAhead(OperationId id) {
  const StepOp& op = known_[id].op;
  const uint64_t answer = AnswerBytes(op);
  if (!performer_->HasIdleRoom() || answer > options_.pushed_bytes - ahead_pushed_) return false;
  const bool begins = BeginsSegment();
  if (options_.unsafe ? !MayRunUnsafely(id) : !SaveWrites(id)) return false;
  Ticket ticket = PushTicket(position_ + ahead_.size() + 1);
  ticket.push->known = position_;
  ticket.push->sure &= !guarded_;
  const std::shared_ptr<GuardCheck> check = guarded_ && IsAnswered(op) ? CheckGuards() : nullptr;
  ticket.guard = check;
  const absl::Status status = PerformAhead(id, ticket);
  if (!status.ok()) {
    known_[id].proven = 0;
    if (IsGuarded(id)) known_[id].violated = world_;
    // Only the program can be told of it, when it has made the operation; an answer has been given.
    if (!IsAnswered(op)) {
      if (begins) undo_.DropNewest();
      return false;
    }
  }
  ahead_.push_back({id, check});
  ahead_pushed_ += answer;
  if (IsAnswered(op)) ++ahead_answers_;
  ++counters_.run_ahead;
  stretches_.Note(id, op);
  return status.ok();
}

bool ReplayRunner::BeginsSegment() const { return ahead_.empty() || IsAnswered(known_[ahead_.back().id].op); }

bool ReplayRunner::IsGuarded(OperationId id) { return !options_.unsafe && Writes(id) && Writes(id)->guard; }

absl::Status ReplayRunner::PerformAhead(OperationId id, const Ticket& ticket) {
  const Known& known = known_[id];
  if (!IsGuarded(id)) return performer_->Perform(known.op, KnownData(id), ticket);
  device::Guard guard = *known.writes->guard;
  WHARF_ASSIGN_OR_RETURN(guard.violation, undo_.Mark());
  const auto& launch = std::get<Launch>(known.op);
  const double threads =
      static_cast<double>(launch.config.grid.Count()) * static_cast<double>(launch.config.block.Count());
  guard.fuel = std::min(kThreadFuel, static_cast<uint64_t>(static_cast<double>(kLaunchFuel) / std::max(threads, 1.0)));
  WHARF_RETURN_IF_ERROR(performer_->LaunchGuarded(launch, guard));
  guarded_ = true;
  ++counters_.guarded;
  return absl::OkStatus();
}

// REQUIRES: a guarded launch was queued, so it is mapped.
device::Region ReplayRunner::MarkRegion() {
  return {undo_.Mark().value_or(0), UndoLog::kMarkBytes, UndoLog::kMarkBytes};
}

// Tells whether anything queued so far violated its guard.
std::shared_ptr<GuardCheck> ReplayRunner::CheckGuards() {
  auto check = std::make_shared<GuardCheck>();
  const auto note = [check](const absl::Status& status, const std::vector<std::byte>& bytes) {
    const bool untouched =
        status.ok() && std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
    check->violated.store(!untouched, std::memory_order_relaxed);
    check->done.Notify();
  };
  const absl::Status queued =
      device_->CopyToHost(ahead_stream_, MarkRegion(), device::Extent{UndoLog::kMarkBytes, 1, 1}, note);
  if (!queued.ok()) note(queued, {});
  return check;
}

// Whether the data that a copy takes along, if it is one, can be foreseen: those of the last time, if the program did
// not change them then.
bool ReplayRunner::ForeseesData(OperationId id) const {
  return !std::holds_alternative<CopyToDevice>(known_[id].op) ||
         (known_[id].same_data > 0 && !operations_.Data(id).empty());
}

// False if the operation cannot be undone: then it waits for the program.
bool ReplayRunner::SaveWrites(OperationId id) {
  if (!ForeseesData(id)) return false;
  if (known_[id].violated == world_) return false;
  if (IsGuarded(id) && !device_->PrepareGuarded(std::get<Launch>(known_[id].op).function)) return false;
  if (known_[id].proven != world_ || StreamOf(known_[id].op).value_or(ahead_stream_) != ahead_stream_) return false;
  const auto& writes = Writes(id);
  if (!writes) return false;
  const bool begins = BeginsSegment();
  if (begins) undo_.BeginSegment();
  const bool saved = std::all_of(writes->ranges.begin(), writes->ranges.end(),
                                 [&](const MemoryRange& range) { return undo_.Save(ahead_stream_, range).ok(); });
  if (!saved && begins) undo_.DropNewest();
  return saved;
}

const std::optional<WriteSet>& ReplayRunner::Writes(OperationId id) {
  Known& known = known_[id];
  if (known.writes_world != world_) {
    known.writes = WritesOf(known.op, *device_, performer_->Allocations());
    known.writes_world = world_;
    if (known.writes && known.writes->guard) device_->PrepareGuarded(std::get<Launch>(known.op).function);
  }
  return known.writes;
}

bool ReplayRunner::MayRunUnsafely(OperationId id) const {
  const StepOp& op = known_[id].op;
  return !ChangesWorld(operations_.Number(id)) && !std::holds_alternative<CopyToDevice>(op) &&
         !std::holds_alternative<RequestHostCall>(op) && !std::holds_alternative<QueryStream>(op) &&
         !std::holds_alternative<QueryEvent>(op) && !std::holds_alternative<ElapsedTime>(op);
}

void ReplayRunner::Forget() {
  Deviate();
  stretches_.Clear();
  operations_.Clear();
  known_.clear();
  for (History& lane : lanes_) lane = {};
  last_ = kNoOperation;
}

}  // namespace wharf::offload
