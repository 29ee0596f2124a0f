// Predictor: the client's half of replay. It compares every operation the program makes with what both ends
// predict (operation_history.h) and writes down, in as few bytes as possible, what the server must know: nothing but a
// count while the program does what it did before. docs/replay.md.
//
//   switch (predictor.Perform(lane, number, head, data)) {
//     case Prediction::kKnown: …   // described by Records(), which leaves with the next Progress frame
//     case Prediction::kWithData: …  // the same, and that frame leaves now and takes the data along
//     case Prediction::kNew: …     // Records() leaves first, then the operation as a frame of its own
//   }
//
// Not thread-safe: the session's order of operations is the order of the calls.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "wharf/offload/client/prediction/match_index.h"
#include "wharf/offload/client/prediction/sequence_tracker.h"
#include "wharf/offload/replay/operation_history.h"
#include "wharf/offload/replay/progress.h"

namespace wharf::offload {

enum class Prediction : uint8_t { kKnown, kWithData, kNew };

// Why operations needed more than a count.
struct PredictionCounters {
  uint64_t hits = 0;          // the predicted operation
  uint64_t changed = 0;       // the predicted operation with arguments never seen
  uint64_t other_data = 0;    // a copy of few data, and others than last time: counted besides
  uint64_t jumps = 0;         // another known operation
  uint64_t unknown = 0;       // never seen: travels whole
  uint64_t never = 0;         // an operation that is never predicted (loading code, asking for attributes)
  uint64_t lane_changes = 0;  // another thread of the program went on
  uint64_t forgotten = 0;     // the memory of operations was full
};

class Predictor {
 public:
  explicit Predictor(LaneSearchFactory search = MakeIncrementalSearch) : sequences_(search) {}

  // An operation that may be predicted (StepOps), with the data it takes along.
  Prediction Perform(uint64_t lane, uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data);
  // One that may not.
  void PerformOther();
  // Whether the operation just made was predicted, as were all since the last one the program waited for, and the
  // server was sure of it the last time, at the same state version.
  bool IsSure() const;
  // Where the operation just made stands, to be noted as sure or not when the server says which.
  struct Place {
    uint64_t lane = 0, index = 0;
    uint32_t state_version = 0;
  };
  Place LastPlace() const { return {lane_, lanes_[lane_].history.End() - 1, state_version_}; }
  void NoteSure(const Place& place, bool sure);
  // The program goes on only with the answer to the operation it has just made.
  void NoteWait() {
    records_.Wait();
    steady_ = true;
  }

  SequenceCounters Sequences() const { return sequences_.Counters(); }

  // Records no Progress frame has taken yet, and how many operations they describe.
  ProgressWriter& Records() { return records_; }
  uint64_t Unsent() const { return unsent_; }
  void ClearRecords() {
    records_.Clear();
    unsent_ = 0;
  }

  // Operations made so far.
  uint64_t Position() const { return position_; }
  // What they were: an answer that the server sent ahead is the program's if it stands for the same.
  uint64_t Path() const { return path_.Value(); }
  const PredictionCounters& Counters() const { return counters_; }
  size_t KnownOperations() const { return operations_.size(); }

 private:
  struct Lane {
    History history;
    MatchIndex matches;
  };
  void SelectLane(uint64_t lane);
  OperationId Find(uint64_t hash, uint16_t number, std::span<const std::byte> head) const;
  bool IsVariant(OperationId of, uint16_t number, std::span<const std::byte> head);
  void Jump(Lane& lane, OperationId id);
  void Note(Lane& lane);
  bool NoteData(OperationId id, std::span<const std::byte> data);
  void Learn(Lane& lane, uint64_t hash, uint16_t number, std::span<const std::byte> head,
             std::span<const std::byte> data);
  void Forget();

  OperationTable operations_;
  std::unordered_map<uint64_t, OperationId> by_hash_;
  std::vector<Lane> lanes_;
  SequenceTracker sequences_;
  uint64_t lane_ = UINT64_MAX;  // the server's selected lane
  ProgressWriter records_;
  std::vector<ChangedRange> changes_;
  bool steady_ = false;         // every operation since the last answer was predicted
  uint32_t state_version_ = 1;  // counts changes of memory, code and streams
  uint64_t unsent_ = 0, position_ = 0;
  ProgramPath path_;
  PredictionCounters counters_;
};

}  // namespace wharf::offload
