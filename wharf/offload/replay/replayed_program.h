// ReplayedProgram: what the server knows of the program it replays: the operations it has made, in which order each of
// its threads made them (operation_history.h), where it is now, which operations have proven that they can run, and
// what of the work under way may still fail. The follower writes this down; the speculative executor goes by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/device.h"
#include "wharf/offload/replay/call_sites.h"
#include "wharf/offload/replay/operation_history.h"
#include "wharf/offload/replay/prepared_batches.h"
#include "wharf/offload/replay/replay_performer.h"
#include "wharf/offload/replay/step_op.h"
#include "wharf/offload/replay/write_set.h"

namespace wharf::offload {

// Not thread-safe: on the channel's reader thread only. Operations are named by their numbers, which must be known.
class ReplayedProgram {
 public:
  // Both outlive the program. `prepares`: what repeats is submitted as lists (prepared_batches.h).
  ReplayedProgram(ReplayPerformer* performer, device::Device* device, bool prepares)
      : performer_(performer),
        device_(device),
        prepares_(prepares),
        lanes_(1),
        sites_(&operations_),
        batches_(device) {}

  // --- operations ---
  const OperationTable& Operations() const { return operations_; }
  const StepOp& Op(OperationId id) const { return facts_[id].op; }
  // One never seen. kDataLoss if it is malformed, or if the client wants more remembered than agreed.
  absl::StatusOr<OperationId> Learn(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data);
  void Forget();

  // A copy from the host: with the data it had last, or with others, which are kept if they are few.
  void NoteSameData(OperationId id) { ++facts_[id].same_data; }
  void NoteOtherData(OperationId id, std::span<const std::byte> data);
  // The data of the last time; empty if they were too many to be kept.
  std::vector<std::byte> KnownData(OperationId id) const;
  // Whether the data that a copy takes along, if it is one, can be predicted: those of the last time, if the program
  // did not change them then.
  bool PredictsData(OperationId id) const;

  // --- where the program is ---
  uint64_t Position() const { return position_; }
  // What it made last; kNoOperation if that is nothing that can be predicted.
  OperationId Last() const { return last_; }
  // It made the predicted operation. REQUIRES: there is one.
  void Follow();
  // It made another one, and what followed the operation before `cursor` is now predicted.
  void Deviate(OperationId id, uint64_t cursor);
  // It made one that is never predicted.
  void MakeOther();
  // What it has done so far.
  const ProgramPath& Path() const { return path_; }
  void NoteFresh() { path_.Fresh(); }
  // What was run ahead of it has been taken back.
  void NoteTakenBack() { ++taken_back_; }
  // The history of the thread that goes on.
  const History& Lane() const { return lanes_[lane_].history; }
  void SelectLane(uint64_t lane);  // REQUIRES: lane < kMaxLanes

  // --- calls whose arguments follow from what the program has seen (call_sites.h) ---
  // It will see this: the answer to its last operation.
  void NoteAnswer(std::shared_ptr<const SmallAnswer> answer) { lanes_[lane_].recent.AddAnswer(std::move(answer)); }
  const RecentWords& Recent() const { return lanes_[lane_].recent; }
  SiteId SiteOf(OperationId id) const { return facts_[id].site; }
  bool HasPredictedArguments(OperationId id) const { return sites_.Predicts(facts_[id].site); }
  // What it makes where `expected` is predicted by its history, after it has seen and done `recent`.
  CallSites::Choice Choose(OperationId expected, const RecentWords& recent) const {
    return sites_.Choose(facts_[expected].site, expected, recent);
  }

  // --- what can run, and what can fail ---
  // An operation of that number may change memory, code or streams: then what is known of writes is found anew, and if
  // something goes, what ran before may not run again.
  void NoteStateChange(uint16_t number);
  // It ran, and all that was there then still is; or it was refused, and is no proof that it can run.
  void NoteProven(OperationId id) { facts_[id].proven = loss_version_; }
  void NoteUnproven(OperationId id) { facts_[id].proven = 0; }
  bool IsProven(OperationId id) const { return facts_[id].proven == loss_version_; }
  // It violated its guard at this state version, or can have none.
  void NoteViolation(OperationId id) { facts_[id].violated = state_version_; }
  bool HasViolated(OperationId id) const { return facts_[id].violated == state_version_; }
  // What it may write, if that is known (write_set.h). Prepares its guard, if it needs one.
  const std::optional<WriteSet>& Writes(OperationId id);
  // False for what has proven that it can run, as it is, and does the same whatever is in memory.
  bool CanFail(OperationId id);
  // It was queued. What can fail makes the answers after it unsure, until the program learns that its stream is done.
  void NoteRisk(OperationId id);
  // It was refused: what is answered after it comes after an error, which is kept if nobody was told.
  void NoteRefusal(OperationId id, const absl::Status& why);
  // The program goes on only with the answer to its last operation.
  void NoteAnswered();
  // For the answer to its last operation.
  ReplyTicket PushTicket() const { return PushTicket(last_, position_, path_); }
  // To one that it has not made yet, perhaps: `id` at `position`, after all of `path`, this one included.
  ReplyTicket PushTicket(OperationId id, uint64_t position, const ProgramPath& path) const;

  // --- prepared batches ---
  // What is prepared of what is predicted from `cursor` on, at most `limit` operations. `stops_at_sites`: up to the
  // first whose arguments may be others.
  PreparedBatches::Match FindPrepared(uint64_t cursor, size_t limit, bool stops_at_sites);
  // Submits the first `count` of these.
  device::Submission Submit(const PreparedBatches::Match& match, size_t count);
  // An operation was carried out by itself.
  void NotePerformed(OperationId id) { batches_.Note(id, facts_[id].op); }
  // What comes next follows nothing.
  void InterruptBatches() { batches_.Interrupt(); }

 private:
  // What is known of an operation. A version of 0: never.
  struct Facts {
    StepOp op;
    uint64_t proven = 0;          // the loss version at which it last ran
    uint64_t violated = 0;        // the state version at which it violated its guard, or could have none
    uint64_t writes_version = 0;  // the state version at which `writes` was found
    uint64_t same_data = 0;       // how often in a row a copy of few data took the same ones as the time before
    SiteId site = kNoSite;
    std::optional<WriteSet> writes;
  };

  struct Thread {
    History history;
    RecentWords recent;
    int64_t drift = 0;  // the place whose operation the next one may replace, from the cursor
  };
  OperationId Counterpart(OperationId id);
  void Advance(OperationId id);

  ReplayPerformer* const performer_;
  device::Device* const device_;
  const bool prepares_;
  OperationTable operations_;
  std::vector<Facts> facts_;   // of every operation
  std::vector<Thread> lanes_;  // every thread
  CallSites sites_;
  uint64_t lane_ = 0;
  OperationId last_ = kNoOperation;
  uint64_t position_ = 0, taken_back_ = 0;
  ProgramPath path_;
  uint64_t state_version_ = 1;  // counts changes of memory, code and streams
  uint64_t loss_version_ = 1;   // counts those that take something away
  // Streams on which something that may fail was queued since the program last learnt that they are done.
  std::set<device::StreamId> risky_;
  PreparedBatches batches_;
};

}  // namespace wharf::offload
