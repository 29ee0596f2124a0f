// ReplayRunner: the server's half of replay. It follows the program along the history both ends know as Progress frames
// tell, and where the program waits it runs ahead along the foreseen path, as far as that can be undone.
// docs/replay.md has the argument why the program cannot tell the difference.
#pragma once

#include <deque>
#include <set>
#include <vector>

#include "wharf/offload/operation_history.h"
#include "wharf/offload/progress.h"
#include "wharf/offload/reply_queue.h"
#include "wharf/offload/step_op.h"
#include "wharf/offload/stretches.h"
#include "wharf/offload/undo_log.h"
#include "wharf/offload/write_set.h"

namespace wharf::offload {

struct ReplayOptions {
  bool unsafe = false;  // the published scheme: runs ahead through everything, undoes nothing
  uint64_t undo_bytes = 64 << 20;
  uint64_t pushed_bytes = 8 << 20;  // results sent before the program asked for them
  size_t ahead_operations = 4096;
  bool prepares = true;  // submits what repeats as lists (stretches.h)
};

struct ReplayCounters {
  uint64_t run_ahead = 0, undone = 0;    // operations
  uint64_t guarded = 0, violations = 0;  // launches with a guard; how often one was violated
};

// Not thread-safe: on the channel's reader thread only.
class ReplayRunner {
 public:
  // Performs operations: the executor.
  class Performer {
   public:
    virtual ~Performer() = default;
    // What the operation was refused with, if it was; an answered one has then been answered so, as the ticket says.
    virtual absl::Status Perform(const StepOp& op, std::vector<std::byte> bulk, const Ticket& ticket) = 0;
    // Elements of a prepared list, `launches` of them kernels; the first is on `stream`.
    virtual device::Submission Submit(device::WorkList& list, size_t first, size_t count, size_t launches,
                                      device::StreamId stream) = 0;
    virtual absl::Status LaunchGuarded(const Launch& op, const device::Guard& guard) = 0;
    // Keeps a posted operation's error for the next reply.
    virtual void Latch(const absl::Status& status) = 0;
    // Whether work that nobody asked for yet may be queued.
    virtual bool HasIdleRoom() = 0;
    virtual const Mappings& Allocations() const = 0;
    // True while the session has no streams but the default one.
    virtual bool HasOneStream() const = 0;
    // True if no stream but this one has work under way.
    virtual bool OthersAreIdle(device::StreamId stream) = 0;
  };

  // All outlive the runner.
  ReplayRunner(const ReplayOptions& options, Performer* performer, device::Device* device);

  // kDataLoss if the frame is malformed or does not fit what was said before.
  absl::Status OnProgress(uint64_t position, std::span<const std::byte> records, std::vector<std::byte> bulk);
  // An operation came whole, which is about to be performed with these data. kDataLoss if the peer wants more
  // remembered than agreed.
  absl::Status OnOperation(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data);
  // The operation that has just come failed: it is no proof that it can run.
  void NoteFailure();
  // The program needs memory that is not to be had: gives ours back. True if there was any.
  bool MakeRoom() { return undo_.ReleaseShadow(); }

  const ReplayCounters& Counters() const { return counters_; }

 private:
  struct Known {
    StepOp op;
    uint64_t proven = 0;        // the world (world_) in which it last ran; 0: never
    uint64_t violated = 0;      // the world in which it violated its guard, or could have none; 0: never
    uint64_t writes_world = 0;  // the world in which `writes` was found
    uint64_t same_data = 0;     // how often in a row a copy of few data took the same ones as the time before
    std::optional<WriteSet> writes;
  };
  // An operation that was run ahead; `check` if it is answered and depends on guards.
  struct Ahead {
    OperationId id = kNoOperation;
    std::shared_ptr<GuardCheck> check;
  };
  bool TookInput() const;
  absl::Status Follow(const ProgressRecord& record, std::vector<std::byte>& bulk);
  absl::Status Select(uint64_t lane);
  absl::Status Run(uint64_t count, std::vector<std::byte>& bulk);
  absl::StatusOr<uint64_t> RunPrepared(uint64_t limit, std::vector<std::byte>& bulk);
  absl::Status Jump(const ProgressRecord& record, std::vector<std::byte>& bulk);
  absl::Status TakeVariant(const ProgressRecord& record, std::vector<std::byte>& bulk);
  absl::Status Learn(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data);
  absl::Status Perform(OperationId id, std::vector<std::byte>& bulk);
  absl::StatusOr<std::vector<std::byte>> TakeData(OperationId id, const CopyToDevice& copy,
                                                  std::vector<std::byte>& bulk);
  std::vector<std::byte> KnownData(OperationId id) const;
  bool CanFail(OperationId id);
  void NoteRisk(OperationId id);
  void NoteRefusal(OperationId id, const absl::Status& why);
  void NoteAnswered();
  void Confirm();
  bool KeptToGuards(GuardCheck& check);
  void Deviate();
  void Undo();
  void RunAhead();
  size_t TryPreparedAhead(uint64_t cursor);
  bool TryAhead(OperationId id);
  bool BeginsSegment() const;
  bool IsGuarded(OperationId id);
  Stretches::Match FindPrepared(uint64_t cursor, size_t limit);
  device::Submission Submit(const Stretches::Match& match, size_t count);
  absl::Status PerformAhead(OperationId id, const Ticket& ticket);
  device::Region MarkRegion();
  std::shared_ptr<GuardCheck> CheckGuards();
  bool ForeseesData(OperationId id) const;
  bool SaveWrites(OperationId id);
  const std::optional<WriteSet>& Writes(OperationId id);
  bool MayRunUnsafely(OperationId id) const;
  void Forget();
  Ticket PushTicket(uint64_t position) const;
  History& Lane() { return lanes_[lane_]; }

  const ReplayOptions options_;
  Performer* const performer_;
  device::Device* const device_;
  OperationTable operations_;
  std::vector<Known> known_;    // of every operation
  std::vector<History> lanes_;  // of every thread
  uint64_t lane_ = 0;
  OperationId last_ = kNoOperation;  // the last operation the program made
  uint64_t position_ = 0, epoch_ = 0;
  uint64_t world_ = 1;  // counts changes of memory, code and streams
  bool fresh_ = false;  // the next operation copies other data than it did last

  // Streams on which something that may fail was queued since the program last learnt that they are done.
  std::set<device::StreamId> risky_;

  // Operations that were run ahead and that the program has not made yet, and those it has made since the oldest
  // segment of the undo log began.
  std::deque<Ahead> ahead_;
  std::vector<OperationId> redo_;
  device::StreamId ahead_stream_ = 0;
  uint64_t ahead_pushed_ = 0;
  bool guarded_ = false;  // a guarded launch is among them, or was
  // How many answers may be run ahead: more while that pays, fewer after it did not.
  size_t ahead_answers_ = 0, answer_window_ = 8;
  UndoLog undo_;
  Stretches stretches_;
  ReplayCounters counters_;
};

}  // namespace wharf::offload
