#include "wharf/offload/replay/speculative_executor.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/synchronization/notification.h"

namespace wharf::offload {
namespace {

constexpr size_t kMaxAnswersAhead = 256;
// How often a thread of a guarded kernel may jump back, and all its threads together: a launch that was predicted
// wrongly must not hold the device for long.
constexpr uint64_t kThreadFuel = 1 << 16, kLaunchFuel = 1 << 28;

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
    cursor_ = program_->Lane().Cursor();
    path_ = program_->Path();
    recent_ = program_->Recent();
  }
  while (ahead_.size() < options_.ahead_operations && answers_ < answer_window_ && program_->Lane().Holds(cursor_)) {
    if (TryPrepared() > 0) continue;
    const OperationId next = Next();
    if (next == kNoOperation || !Try(next)) return;
  }
}

void SpeculativeExecutor::Resume() {
  if (awaited_ == nullptr || !awaited_->IsHere()) return;
  awaited_.reset();
  RunAhead();
}

// What the program makes next, as far as that can be told; kNoOperation if it cannot, or not yet.
OperationId SpeculativeExecutor::Next() {
  const OperationId expected = program_->Lane().At(cursor_);
  if (options_.unsafe || !program_->HasPredictedArguments(expected)) return expected;
  CallSites::Choice choice = program_->Choose(expected, recent_);
  if (choice.awaits != nullptr) {
    awaited_ = std::move(choice.awaits);
    performer_->ResumeWhenHere(awaited_);
    return kNoOperation;
  }
  return choice.id;
}

// It has been run ahead.
void SpeculativeExecutor::Push(Ahead ahead) {
  ++cursor_;
  path_.Operation(program_->Operations().Hash(ahead.id));
  if (const SiteId site = program_->SiteOf(ahead.id); site != kNoSite) recent_.SetOperation(site, ahead.id);
  if (ahead.answer != nullptr) recent_.AddAnswer(ahead.answer);
  ahead_.push_back(std::move(ahead));
}

// How many operations were run ahead at once. What they write is saved before the first of them runs: in a segment that
// is as good as before each.
size_t SpeculativeExecutor::TryPrepared() {
  const size_t limit = options_.ahead_operations - ahead_.size();
  const PreparedBatches::Match match = program_->FindPrepared(cursor_, limit, !options_.unsafe);
  const bool begins = BeginsSegment();
  size_t count = 0;
  while (count < match.ids.size() && performer_->HasIdleRoom() && !IsGuarded(match.ids[count]) &&
         MayRun(match.ids[count], begins && count == 0)) {
    ++count;
  }
  const device::Submission submitted = program_->Submit(match, count);
  for (const OperationId id : match.ids.first(submitted.queued)) Push({id, nullptr, nullptr});
  if (begins && count > 0 && submitted.queued == 0 && !options_.unsafe) undo_.DropNewest();
  counters_.run_ahead += submitted.queued;
  return submitted.queued;
}

bool SpeculativeExecutor::Try(OperationId id) {
  const StepOp& op = program_->Op(id);
  const uint64_t answer = AnswerBytes(op);
  if (!performer_->HasIdleRoom() || answer > options_.pushed_bytes - pushed_) return false;
  const bool begins = BeginsSegment();
  if (!MayRun(id, begins)) return false;
  ProgramPath path = path_;
  path.Operation(program_->Operations().Hash(id));
  ReplyTicket ticket = program_->PushTicket(id, program_->Position() + ahead_.size() + 1, path);
  ticket.push->sure &= !guarded_;
  const std::shared_ptr<GuardCheck> check = guarded_ && IsAnswered(op) ? CheckGuards() : nullptr;
  ticket.guard = check;
  const absl::Status status = Perform(id, ticket);
  if (!status.ok()) {
    program_->NoteUnproven(id);
    if (IsGuarded(id)) program_->NoteViolation(id);
    // Only the program can be told of it, when it has made the operation; an answer has been given.
    if (!IsAnswered(op)) {
      if (begins && !options_.unsafe) undo_.DropNewest();
      return false;
    }
  }
  Push({id, check, ticket.answer});
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
bool SpeculativeExecutor::SaveWrites(OperationId id, bool begins) {
  const StepOp& op = program_->Op(id);
  if (!program_->PredictsData(id) || program_->HasViolated(id)) return false;
  if (IsGuarded(id) && !device_->PrepareGuarded(std::get<Launch>(op).function)) return false;
  if (!program_->IsProven(id) || StreamOf(op).value_or(stream_) != stream_) return false;
  const std::optional<WriteSet>& writes = program_->Writes(id);
  if (!writes) return false;
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
  const auto [id, check, answer] = std::move(ahead_.front());
  ahead_.pop_front();
  redo_.push_back(id);
  const StepOp& op = program_->Op(id);
  if (std::holds_alternative<CopyToDevice>(op)) program_->NoteSameData(id);
  if (IsAnswered(op)) {
    if (check != nullptr && !KeptToGuards(*check)) return;
    if (answer != nullptr) program_->NoteAnswer(answer);
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
  Pause();
  if (!ahead_.empty()) Undo();
}

// Memory goes back to the beginning of the oldest segment, and what the program has made since is done again: nobody
// has seen its results, because a segment ends with the first operation that shows any.
void SpeculativeExecutor::Undo() {
  counters_.undone += ahead_.size();
  ahead_.clear();
  Pause();
  program_->NoteTakenBack();
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
    const ReplyTicket ticket = program_->PushTicket(id, program_->Position(), program_->Path());
    if (ticket.answer != nullptr) program_->NoteAnswer(ticket.answer);
    const absl::Status status = performer_->Perform(program_->Op(id), program_->KnownData(id), ticket);
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
