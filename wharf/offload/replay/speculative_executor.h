// SpeculativeExecutor: runs ahead of the program. While the program waits, what it is predicted to do next is carried
// out, as far as that can be undone, and answers leave before they are asked for. What the program then makes is
// confirmed; if it does something else, memory goes back to where the program is. docs/replay.md, "Running ahead".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/offload/replay/replay_performer.h"
#include "wharf/offload/replay/replayed_program.h"
#include "wharf/offload/replay/undo_log.h"
#include "wharf/offload/reply_queue.h"

namespace wharf::offload {

struct ReplayOptions {
  bool unsafe = false;  // the published scheme: runs ahead through everything, undoes nothing
  uint64_t undo_bytes = 64 << 20;
  uint64_t pushed_bytes = 8 << 20;  // results sent before the program asked for them
  size_t ahead_operations = 4096;
  bool prepares = true;  // submits what repeats as lists (prepared_batches.h)
};

struct ReplayCounters {
  uint64_t run_ahead = 0, undone = 0;    // operations
  uint64_t guarded = 0, violations = 0;  // launches with a guard; how often one was violated
};

// Not thread-safe.
class SpeculativeExecutor {
 public:
  // All outlive the executor.
  SpeculativeExecutor(const ReplayOptions& options, ReplayedProgram* program, ReplayPerformer* performer,
                      device::Device* device);

  // Whether anything was run ahead that the program has not made yet.
  bool IsAhead() const { return !ahead_.empty(); }
  // Goes on along the predicted path, from where it is. Where arguments follow from an answer that is still to come,
  // Resume goes on.
  void RunAhead();
  // It has come. Nothing happens if the program has gone on meanwhile.
  void Resume();
  // The program goes on, so nothing more is run ahead until it waits again.
  void Pause() { awaited_.reset(); }
  // Whether the oldest operation that was run ahead is this one. REQUIRES: IsAhead() for true.
  bool Expects(OperationId id) const { return IsAhead() && ahead_.front().id == id; }
  // The program made the oldest operation that was run ahead. REQUIRES: IsAhead().
  void Confirm();
  // The program does something else: takes back what was run ahead.
  void TakeBack();
  // The program needs memory that is not to be had: gives ours back. True if there was any.
  bool MakeRoom() { return undo_.ReleaseShadow(); }

  const ReplayCounters& Counters() const { return counters_; }

 private:
  // An operation that was run ahead; `check` if it is answered and depends on guards, `answer` if that is small.
  struct Ahead {
    OperationId id = kNoOperation;
    std::shared_ptr<GuardCheck> check;
    std::shared_ptr<const SmallAnswer> answer;
  };
  OperationId Next();
  void Push(Ahead ahead);
  bool BeginsSegment() const;
  size_t TryPrepared();
  bool Try(OperationId id);
  // `begins`: it is the first of a segment.
  bool MayRun(OperationId id, bool begins) { return options_.unsafe ? MayRunUnsafely(id) : SaveWrites(id, begins); }
  bool MayRunUnsafely(OperationId id) const;
  bool SaveWrites(OperationId id, bool begins);
  bool IsGuarded(OperationId id);
  absl::Status Perform(OperationId id, const ReplyTicket& ticket);
  device::Region MarkRegion();
  std::shared_ptr<GuardCheck> CheckGuards();
  bool KeptToGuards(GuardCheck& check);
  void Undo();

  const ReplayOptions options_;
  ReplayedProgram* const program_;
  ReplayPerformer* const performer_;
  device::Device* const device_;
  // Operations that were run ahead and that the program has not made yet, and those it has made since the oldest
  // segment of the undo log began.
  std::deque<Ahead> ahead_;
  std::vector<OperationId> redo_;
  // Where in the history the next one to run ahead is predicted, and what the program will have done and seen by then.
  uint64_t cursor_ = 0;
  ProgramPath path_;
  RecentWords recent_;
  std::shared_ptr<const SmallAnswer> awaited_;  // running ahead goes on once it is here
  device::StreamId stream_ = 0;                 // on which the program waits
  uint64_t pushed_ = 0;                         // bytes of answers to what is ahead
  bool guarded_ = false;                        // a guarded launch is among them, or was
  // How many answers may be run ahead: more while that pays, fewer after it did not.
  size_t answers_ = 0, answer_window_ = 8;
  UndoLog undo_;
  ReplayCounters counters_;
};

}  // namespace wharf::offload
