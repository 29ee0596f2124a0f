#include "wharf/offload/replay/speculative_executor.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/synchronization/notification.h"
#include "wharf/offload/copy_extent.h"

namespace wharf::offload {
namespace {

constexpr size_t kMaxAnswersAhead = 256;
// How often a thread of a guarded kernel may jump back, and all its threads together: a launch that was predicted
// wrongly must not hold the device for long.
constexpr uint64_t kThreadFuel = 1 << 16, kLaunchFuel = 1 << 28;

uint64_t AnswerBytes(const StepOp& op) {
  const auto* const copy = std::get_if<CopyToHost>(&op);
  return copy == nullptr ? 0 : CopyBytes(copy->extent).value_or(0);
}

}  // namespace

SpeculativeExecutor::SpeculativeExecutor(const ReplayOptions& options, ReplayedProgram* program,
                                         ReplayPerformer* performer, device::Device* device)
    : options_(options), program_(program), performer_(performer), device_(device), undo_(device, options.undo_bytes) {}

// --- running ahead ---

// The program waits for its last operation: whatever it does next, it does after the answer. Work on the same stream
// comes after that operation on the device too; on other streams nothing must be under way, because what the
// program's threads agree on among themselves is not seen here.
void SpeculativeExecutor::RunAhead() {
  if (program_->Last() == kNoOperation) return;
  if (ahead_.empty()) {
    const StepOp& last = program_->Op(program_->Last());
    if (!options_.unsafe && !IsAnswered(last)) return;
    stream_ = StreamOf(last).value_or(device::kDefaultStream);
    if (!options_.unsafe && !performer_->OthersAreIdle(stream_)) return;
  }
  const History& lane = program_->Lane();
  uint64_t cursor = lane.Cursor() + ahead_.size();
  while (ahead_.size() < options_.ahead_operations && answers_ < answer_window_ && lane.Holds(cursor)) {
    const size_t prepared = TryPrepared(cursor);
    if (prepared == 0 && !Try(lane.At(cursor))) return;
    cursor += std::max<size_t>(prepared, 1);
  }
}

// How many operations were run ahead at once. What they write is saved before the first of them runs: in a segment that
// is as good as before each.
size_t SpeculativeExecutor::TryPrepared(uint64_t cursor) {
  const PreparedBatches::Match match = program_->FindPrepared(cursor, options_.ahead_operations - ahead_.size());
  const size_t before = ahead_.size();
  const bool begins = BeginsSegment();
  for (const OperationId id : match.ids) {
    if (!performer_->HasIdleRoom() || IsGuarded(id) || !MayRun(id)) break;
    ahead_.push_back({id, nullptr});
  }
  const size_t count = ahead_.size() - before;
  const device::Submission submitted = program_->Submit(match, count);
  ahead_.resize(before + submitted.queued);
  if (begins && count > 0 && submitted.queued == 0 && !options_.unsafe) undo_.DropNewest();
  counters_.run_ahead += submitted.queued;
  return submitted.queued;
}

bool SpeculativeExecutor::Try(OperationId id) {
  const StepOp& op = program_->Op(id);
  const uint64_t answer = AnswerBytes(op);
  if (!performer_->HasIdleRoom() || answer > options_.pushed_bytes - pushed_) return false;
  const bool begins = BeginsSegment();
  if (!MayRun(id)) return false;
  ReplyTicket ticket = program_->PushTicket(program_->Position() + ahead_.size() + 1);
  ticket.push->sure &= !guarded_;
  const std::shared_ptr<GuardCheck> check = guarded_ && IsAnswered(op) ? CheckGuards() : nullptr;
  ticket.guard = check;
  const absl::Status status = Perform(id, ticket);
  if (!status.ok()) {
    program_->NoteUnproven(id);
    if (IsGuarded(id)) program_->NoteViolation(id);
    // Only the program can be told of it, when it has made the operation; an answer has been given.
    if (!IsAnswered(op)) {
      if (begins) undo_.DropNewest();
      return false;
    }
  }
  ahead_.push_back({id, check});
  pushed_ += answer;
  if (IsAnswered(op)) ++answers_;
  ++counters_.run_ahead;
  program_->NotePerformed(id);
  return status.ok();
}

bool SpeculativeExecutor::BeginsSegment() const { return ahead_.empty() || IsAnswered(program_->Op(ahead_.back().id)); }

bool SpeculativeExecutor::MayRunUnsafely(OperationId id) const {
  const StepOp& op = program_->Op(id);
  return !ChangesState(program_->Operations().Number(id)) && !std::holds_alternative<CopyToDevice>(op) &&
         !std::holds_alternative<RequestHostCall>(op) && !std::holds_alternative<QueryStream>(op) &&
         !std::holds_alternative<QueryEvent>(op) && !std::holds_alternative<ElapsedTime>(op);
}

// False if the operation cannot be undone: then it waits for the program.
bool SpeculativeExecutor::SaveWrites(OperationId id) {
  const StepOp& op = program_->Op(id);
  if (!program_->PredictsData(id) || program_->HasViolated(id)) return false;
  if (IsGuarded(id) && !device_->PrepareGuarded(std::get<Launch>(op).function)) return false;
  if (!program_->IsProven(id) || StreamOf(op).value_or(stream_) != stream_) return false;
  const std::optional<WriteSet>& writes = program_->Writes(id);
  if (!writes) return false;
  const bool begins = BeginsSegment();
  if (begins) undo_.BeginSegment();
  const bool saved = std::all_of(writes->ranges.begin(), writes->ranges.end(),
                                 [&](const MemoryRange& range) { return undo_.Save(stream_, range).ok(); });
  if (!saved && begins) undo_.DropNewest();
  return saved;
}

// --- guards ---

bool SpeculativeExecutor::IsGuarded(OperationId id) {
  return !options_.unsafe && program_->Writes(id) && program_->Writes(id)->guard;
}

absl::Status SpeculativeExecutor::Perform(OperationId id, const ReplyTicket& ticket) {
  const StepOp& op = program_->Op(id);
  if (!IsGuarded(id)) return performer_->Perform(op, program_->KnownData(id), ticket);
  device::Guard guard = *program_->Writes(id)->guard;
  WHARF_ASSIGN_OR_RETURN(guard.violation, undo_.Mark());
  const auto& launch = std::get<Launch>(op);
  const double threads =
      static_cast<double>(launch.config.grid.Count()) * static_cast<double>(launch.config.block.Count());
  guard.fuel = std::min(kThreadFuel, static_cast<uint64_t>(static_cast<double>(kLaunchFuel) / std::max(threads, 1.0)));
  WHARF_RETURN_IF_ERROR(performer_->LaunchGuarded(launch, guard));
  guarded_ = true;
  ++counters_.guarded;
  return absl::OkStatus();
}

// REQUIRES: a guarded launch was queued, so it is mapped.
device::Region SpeculativeExecutor::MarkRegion() {
  return {undo_.Mark().value_or(0), UndoLog::kMarkBytes, UndoLog::kMarkBytes};
}

// Tells whether anything queued so far violated its guard.
std::shared_ptr<GuardCheck> SpeculativeExecutor::CheckGuards() {
  auto check = std::make_shared<GuardCheck>();
  const auto note = [check](const absl::Status& status, const std::vector<std::byte>& bytes) {
    const bool untouched =
        status.ok() && std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
    check->violated.store(!untouched, std::memory_order_relaxed);
    check->done.Notify();
  };
  const absl::Status queued =
      device_->CopyToHost(stream_, MarkRegion(), device::Extent{UndoLog::kMarkBytes, 1, 1}, note);
  if (!queued.ok()) note(queued, {});
  return check;
}

// Waits until the device knows. If a guard was violated, all that the program has made since then is done again as it
// is: it was not answered, so this is the program's first sight of it. The wait is short, for this program is about to
// wait for the same, and it ends: what was run ahead depends on nothing that is still to come.
bool SpeculativeExecutor::KeptToGuards(GuardCheck& check) {
  check.done.WaitForNotification();
  if (!check.violated.load(std::memory_order_relaxed)) return true;
  ++counters_.violations;
  for (const OperationId id : redo_) program_->NoteViolation(id);
  Undo();
  return false;
}

// --- what became of it ---

void SpeculativeExecutor::Confirm() {
  const auto [id, check] = std::move(ahead_.front());
  ahead_.pop_front();
  redo_.push_back(id);
  const StepOp& op = program_->Op(id);
  if (std::holds_alternative<CopyToDevice>(op)) program_->NoteSameData(id);
  if (IsAnswered(op)) {
    if (check != nullptr && !KeptToGuards(*check)) return;
    pushed_ -= AnswerBytes(op);
    --answers_;
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

void SpeculativeExecutor::TakeBack() {
  if (!ahead_.empty()) Undo();
}

// Memory goes back to the beginning of the oldest segment, and what the program has made since is done again: nobody
// has seen its results, because a segment ends with the first operation that shows any.
void SpeculativeExecutor::Undo() {
  counters_.undone += ahead_.size();
  ahead_.clear();
  program_->InterruptBatches();
  if (std::exchange(guarded_, false)) {
    device_->Fill(stream_, MarkRegion(), device::Extent{UndoLog::kMarkBytes, 1, 1}, 0, 1).IgnoreError();
  }
  pushed_ = answers_ = 0;
  answer_window_ = std::max<size_t>(answer_window_ / 2, 1);
  undo_.Restore(stream_);
  for (const OperationId id : redo_) {
    if (options_.unsafe) break;
    program_->NoteRisk(id);
    const absl::Status status =
        performer_->Perform(program_->Op(id), program_->KnownData(id), program_->PushTicket(program_->Position()));
    if (!status.ok()) program_->NoteRefusal(id, status);
  }
  redo_.clear();
  if (performer_->HasOneStream() || options_.unsafe) return;
  // Other streams must not see what is being taken back.
  absl::Notification restored;
  const absl::Status queued = device_->Notify(stream_, [&restored](const absl::Status&) { restored.Notify(); });
  if (queued.ok()) restored.WaitForNotification();
}

}  // namespace wharf::offload
