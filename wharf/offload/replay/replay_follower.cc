#include "wharf/offload/replay/replay_follower.h"

#include <cstring>
#include <utility>
#include <variant>

#include "wharf/offload/copy_extent.h"

namespace wharf::offload {

ReplayFollower::ReplayFollower(const ReplayOptions& options, ReplayPerformer* performer, device::Device* device)
    : unsafe_(options.unsafe),
      performer_(performer),
      program_(performer, device, options.prepares),
      speculation_(options, &program_, performer, device) {}

absl::Status ReplayFollower::OnProgress(uint64_t position, std::span<const std::byte> records, IncomingBulk bulk) {
  ProgressReader reader(records);
  ProgressRecord record;
  bool waits = false;
  while (!reader.AtEnd()) {
    WHARF_RETURN_IF_ERROR(reader.Next(record));
    waits = record.kind == RecordKind::kWait;
    WHARF_RETURN_IF_ERROR(Follow(record, bulk));
  }
  if (!bulk.empty()) return DataLoss("a progress frame carries data that no operation takes");
  if (position != program_.Position()) {
    return DataLoss("the client counts {} operations, the server {}", position, program_.Position());
  }
  speculation_.Pause();
  if (waits || (unsafe_ && TookInput())) speculation_.RunAhead();
  return absl::OkStatus();
}

bool ReplayFollower::TookInput() const {
  return program_.Last() != kNoOperation && std::holds_alternative<CopyToDevice>(program_.Op(program_.Last()));
}

absl::Status ReplayFollower::Follow(const ProgressRecord& record, IncomingBulk& bulk) {
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
      speculation_.TakeBack();
      program_.Forget();
      return absl::OkStatus();
    case RecordKind::kWait:
      program_.NoteAnswered();
      return absl::OkStatus();
    case RecordKind::kFresh:
      speculation_.TakeBack();
      program_.NoteFresh();
      fresh_ = true;
      return absl::OkStatus();
  }
  return DataLoss("a progress record of unknown kind");
}

absl::Status ReplayFollower::OnOperation(uint16_t number, std::span<const std::byte> head,
                                         std::span<const std::byte> data) {
  speculation_.TakeBack();
  program_.NoteStateChange(number);
  program_.InterruptBatches();
  if (!IsStep(number)) {
    program_.MakeOther();
    return absl::OkStatus();
  }
  WHARF_RETURN_IF_ERROR(Learn(number, head, data));
  program_.NoteRisk(program_.Last());
  program_.NoteProven(program_.Last());
  return absl::OkStatus();
}

void ReplayFollower::NoteFailure() {
  if (program_.Last() != kNoOperation) program_.NoteUnproven(program_.Last());
}

// The program made an operation that it never made before.
absl::Status ReplayFollower::Learn(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data) {
  WHARF_ASSIGN_OR_RETURN(const OperationId id, program_.Learn(number, head, data));
  program_.Deviate(id, program_.Lane().Cursor() + 1);
  return absl::OkStatus();
}

absl::Status ReplayFollower::Select(uint64_t lane) {
  if (lane >= kMaxLanes) return DataLoss("thread {} of a program that may have {}", lane, kMaxLanes);
  speculation_.TakeBack();
  program_.InterruptBatches();
  program_.SelectLane(lane);
  return absl::OkStatus();
}

absl::Status ReplayFollower::Run(uint64_t count, IncomingBulk& bulk) {
  while (count > 0) {
    if (!speculation_.IsAhead()) {
      WHARF_ASSIGN_OR_RETURN(const uint64_t prepared, RunPrepared(count, bulk));
      count -= prepared;
      if (prepared > 0) continue;
    }
    --count;
    const OperationId id = program_.Lane().Predicted();
    if (id == kNoOperation) return DataLoss("the client goes on where nothing is predicted");
    if (!speculation_.Expects(id)) speculation_.TakeBack();
    program_.Follow();
    WHARF_RETURN_IF_ERROR(ConfirmOrPerform(id, bulk));
  }
  return absl::OkStatus();
}

absl::Status ReplayFollower::ConfirmOrPerform(OperationId id, IncomingBulk& bulk) {
  if (!speculation_.IsAhead()) return Perform(id, bulk);
  speculation_.Confirm();
  return absl::OkStatus();
}

// How many operations were done at once; 0 if none are prepared.
absl::StatusOr<uint64_t> ReplayFollower::RunPrepared(uint64_t limit, IncomingBulk& bulk) {
  const PreparedBatches::Match match = program_.FindPrepared(program_.Lane().Cursor(), limit, false);
  for (const OperationId id : match.ids) {
    program_.Follow();
    program_.NoteRisk(id);
    program_.NoteProven(id);
  }
  const device::Submission submitted = program_.Submit(match, match.ids.size());
  if (submitted.queued == match.ids.size()) return submitted.queued;
  // What cannot be queued says so again by itself.
  const std::vector<OperationId> left(match.ids.begin() + static_cast<ptrdiff_t>(submitted.queued), match.ids.end());
  for (const OperationId id : left) WHARF_RETURN_IF_ERROR(Perform(id, bulk));
  return submitted.queued + left.size();
}

absl::Status ReplayFollower::Jump(const ProgressRecord& record, IncomingBulk& bulk) {
  if (record.value >= program_.Operations().size()) return DataLoss("operation {} is not known", record.value);
  const auto id = static_cast<OperationId>(record.value);
  const uint64_t end = program_.Lane().End() + 1;
  if (record.distance > end) return DataLoss("a place before the beginning");
  if (!speculation_.Expects(id)) {
    speculation_.TakeBack();
    program_.InterruptBatches();
  }
  program_.Deviate(id, end - record.distance);
  return ConfirmOrPerform(id, bulk);
}

absl::Status ReplayFollower::TakeVariant(const ProgressRecord& record, IncomingBulk& bulk) {
  const OperationTable& operations = program_.Operations();
  if (record.value >= operations.size()) return DataLoss("operation {} is not known", record.value);
  const auto of = static_cast<OperationId>(record.value);
  std::vector<std::byte> head(operations.Head(of).begin(), operations.Head(of).end());
  for (const ChangedRange& change : record.changes) {
    if (change.offset > head.size() || change.bytes.size() > head.size() - change.offset) {
      return DataLoss("a change lies outside its operation");
    }
    std::memcpy(head.data() + change.offset, change.bytes.data(), change.bytes.size());
  }
  speculation_.TakeBack();
  const uint16_t number = operations.Number(of);
  if (number != CopyToDevice::kNumber) {
    WHARF_RETURN_IF_ERROR(Learn(number, head, {}));
    return Perform(program_.Last(), bulk);
  }
  WHARF_ASSIGN_OR_RETURN(const StepOp op, DecodeStep(number, head));
  WHARF_ASSIGN_OR_RETURN(std::vector<std::byte> data, TakeFresh(std::get<CopyToDevice>(op), bulk));
  WHARF_RETURN_IF_ERROR(Learn(number, head, data));
  fresh_ = true;
  IncomingBulk plain(std::move(data));
  return Perform(program_.Last(), plain);
}

absl::Status ReplayFollower::Perform(OperationId id, IncomingBulk& bulk) {
  program_.NoteStateChange(program_.Operations().Number(id));
  const StepOp& op = program_.Op(id);
  std::vector<std::byte> data;
  if (const auto* const copy = std::get_if<CopyToDevice>(&op)) {
    WHARF_ASSIGN_OR_RETURN(data, TakeData(id, *copy, bulk));
  }
  if (fresh_) return DataLoss("data are announced for an operation that takes none");
  program_.NoteRisk(id);
  const ReplyTicket ticket = program_.PushTicket();
  if (ticket.answer != nullptr) program_.NoteAnswer(ticket.answer);
  const absl::Status status = performer_->Perform(op, std::move(data), ticket);
  if (status.ok()) {
    program_.NoteProven(id);
  } else {
    program_.NoteRefusal(id, status);
  }
  program_.NotePerformed(id);
  return absl::OkStatus();
}

// Few data are those of the last time unless a record said that they are not.
absl::StatusOr<std::vector<std::byte>> ReplayFollower::TakeData(OperationId id, const CopyToDevice& copy,
                                                                IncomingBulk& bulk) {
  const bool fresh = std::exchange(fresh_, false);
  if (!program_.Operations().Data(id).empty() && !fresh) {
    program_.NoteSameData(id);
    return program_.KnownData(id);
  }
  WHARF_ASSIGN_OR_RETURN(std::vector<std::byte> data, TakeFresh(copy, bulk));
  program_.NoteOtherData(id, data);
  return data;
}

absl::StatusOr<std::vector<std::byte>> ReplayFollower::TakeFresh(const CopyToDevice& copy, IncomingBulk& bulk) {
  const absl::StatusOr<uint64_t> bytes = CopyBytes(copy.extent);
  if (!bytes.ok()) return DataLoss("a copy came with {} bytes", bulk.size());
  return bulk.Take({copy.to.address, *bytes});
}

}  // namespace wharf::offload
