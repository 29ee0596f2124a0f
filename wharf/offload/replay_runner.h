// ReplayRunner: the server's half of replay. It follows the program along the graph of known steps as Progress frames
// tell, and where the program waits it runs ahead along the foreseen path, as far as that can be undone.
// docs/replay.md has the argument why the program cannot tell the difference.
#pragma once

#include <deque>
#include <vector>

#include "wharf/offload/progress.h"
#include "wharf/offload/reply_queue.h"
#include "wharf/offload/step_graph.h"
#include "wharf/offload/step_op.h"
#include "wharf/offload/undo_log.h"
#include "wharf/offload/write_set.h"

namespace wharf::offload {

struct ReplayOptions {
  bool unsafe = false;  // the published scheme: runs ahead through everything, undoes nothing
  uint64_t undo_bytes = 64 << 20;
  uint64_t pushed_bytes = 8 << 20;  // results sent before the program asked for them
  size_t ahead_steps = 4096;
  size_t lanes = 1 << 16;
};

struct ReplayCounters {
  uint64_t steps = 0, run_ahead = 0, undone = 0;
};

// Not thread-safe: on the channel's reader thread only.
class ReplayRunner {
 public:
  // Performs operations: the executor.
  class Performer {
   public:
    virtual ~Performer() = default;
    // A posted operation's status; an answered one is answered as the ticket says.
    virtual absl::Status Perform(const StepOp& op, std::vector<std::byte> bulk, const Ticket& ticket) = 0;
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
  // An operation came whole, which is about to be performed. kDataLoss if the peer wants more remembered than agreed.
  absl::Status OnOperation(uint16_t number, std::span<const std::byte> head);
  // The operation that has just come failed: it is no proof that it can run.
  void NoteFailure();
  // The program needs memory that is not to be had: gives ours back. True if there was any.
  bool MakeRoom() { return undo_.ReleaseShadow(); }

  const ReplayCounters& Counters() const { return counters_; }

 private:
  struct Known {
    StepOp op;
    uint64_t proven = 0;        // the world (world_) in which it last ran as it is; 0: never
    uint64_t writes_world = 0;  // the world in which `writes` was found
    std::optional<std::vector<MemoryRange>> writes;
    bool ahead = false;  // was run ahead and waits for the program: not twice, or a loop would never end
  };
  absl::Status Select(uint64_t lane);
  absl::Status Run(uint64_t count, std::vector<std::byte>& bulk);
  absl::Status Jump(const ProgressRecord& record, std::vector<std::byte>& bulk);
  absl::Status Change(StepId step, const std::vector<ChangedRange>& changes);
  // The program made `step`.
  absl::Status Take(StepId step, std::vector<std::byte>& bulk);
  const std::optional<std::vector<MemoryRange>>& Writes(StepId step);
  absl::Status Perform(StepId step, std::vector<std::byte>& bulk);
  void Confirm();
  void Deviate();
  void Undo();
  void RunAhead();
  bool TryAhead(StepId step);
  bool SaveWrites(StepId step);
  bool MayRunUnsafely(StepId step) const;
  void Forget();
  Ticket PushTicket(uint64_t position) const;

  const ReplayOptions options_;
  Performer* const performer_;
  device::Device* const device_;
  StepGraph graph_;
  std::vector<Known> known_;   // of every step
  std::vector<StepId> lanes_;  // each thread's last step
  uint64_t lane_ = 0;
  uint64_t position_ = 0, epoch_ = 0;
  uint64_t world_ = 1;  // counts changes of memory, code and streams

  // Steps that were run ahead and that the program has not made yet, and those it has made since the oldest segment
  // of the undo log began.
  std::deque<StepId> ahead_;
  std::vector<StepId> redo_;
  device::StreamId ahead_stream_ = 0;
  uint64_t ahead_pushed_ = 0;
  UndoLog undo_;
  ReplayCounters counters_;
};

}  // namespace wharf::offload
