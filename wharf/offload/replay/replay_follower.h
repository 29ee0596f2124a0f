// ReplayFollower: the server's half of replay. It follows the program along the history both ends know, as Progress
// frames tell, and carries out what the program has certainly made; where the program waits it lets the speculative
// executor run ahead. docs/replay.md has the argument why the program cannot tell the difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/offload/bulk/incoming_bulk.h"
#include "wharf/offload/replay/progress.h"
#include "wharf/offload/replay/replay_performer.h"
#include "wharf/offload/replay/replayed_program.h"
#include "wharf/offload/replay/speculative_executor.h"

namespace wharf::offload {

// Not thread-safe.
class ReplayFollower {
 public:
  // Both outlive the follower.
  ReplayFollower(const ReplayOptions& options, ReplayPerformer* performer, device::Device* device);

  // kDataLoss if the frame is malformed or does not fit what was said before.
  absl::Status OnProgress(uint64_t position, std::span<const std::byte> records, IncomingBulk bulk);
  // An operation came whole, which is about to be performed with these data. kDataLoss if the peer wants more
  // remembered than agreed.
  absl::Status OnOperation(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data);
  // The operation that has just come failed: it is no proof that it can run.
  void NoteFailure();
  // The answer has come that running ahead waits for (ReplayPerformer::ResumeWhenHere).
  void Resume() { speculation_.Resume(); }
  // The program needs memory that is not to be had: gives ours back. True if there was any.
  bool MakeRoom() { return speculation_.MakeRoom(); }

  const ReplayCounters& Counters() const { return speculation_.Counters(); }

 private:
  bool TookInput() const;
  absl::Status Follow(const ProgressRecord& record, IncomingBulk& bulk);
  absl::Status Select(uint64_t lane);
  absl::Status Run(uint64_t count, IncomingBulk& bulk);
  absl::StatusOr<uint64_t> RunPrepared(uint64_t limit, IncomingBulk& bulk);
  absl::Status Jump(const ProgressRecord& record, IncomingBulk& bulk);
  absl::Status TakeVariant(const ProgressRecord& record, IncomingBulk& bulk);
  absl::Status Learn(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data);
  // The program has just made it.
  absl::Status ConfirmOrPerform(OperationId id, IncomingBulk& bulk);
  absl::Status Perform(OperationId id, IncomingBulk& bulk);
  absl::StatusOr<std::vector<std::byte>> TakeData(OperationId id, const CopyToDevice& copy, IncomingBulk& bulk);
  // The data that came for this copy.
  absl::StatusOr<std::vector<std::byte>> TakeFresh(const CopyToDevice& copy, IncomingBulk& bulk);

  const bool unsafe_;
  ReplayPerformer* const performer_;
  ReplayedProgram program_;
  SpeculativeExecutor speculation_;
  bool fresh_ = false;  // the next operation copies other data than it did last
};

}  // namespace wharf::offload
