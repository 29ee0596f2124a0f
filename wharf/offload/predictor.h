// Predictor: the client's half of replay. It compares every operation the program makes with the step that both ends
// foresee (step_graph.h) and writes down, in as few bytes as possible, what the server must know: nothing but a count
// while the program does what it did before. docs/replay.md.
//
//   switch (predictor.Perform(lane, number, head)) {
//     case Foresight::kKnown: …   // described by Records(), which leaves with the next Progress frame
//     case Foresight::kNew: …     // Records() leaves first, then the operation as a frame of its own
//   }
//
// Not thread-safe: the session's order of operations is the order of the calls.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "wharf/offload/progress.h"
#include "wharf/offload/step_graph.h"

namespace wharf::offload {

enum class Foresight : uint8_t { kKnown, kNew };

// Why operations needed more than a count.
struct PredictionCounters {
  uint64_t hits = 0;          // the foreseen step
  uint64_t changed = 0;       // the foreseen step with other arguments
  uint64_t jumps = 0;         // another known step
  uint64_t unknown = 0;       // an operation (or arguments) never seen: travels whole
  uint64_t no_step = 0;       // an operation that is never foreseen (loading code, asking for attributes)
  uint64_t lane_changes = 0;  // another thread of the program went on
  uint64_t forgotten = 0;     // the graph was full
};

class Predictor {
 public:
  // An operation that may be a step (StepOps).
  Foresight Perform(uint64_t lane, uint16_t number, std::span<const std::byte> head);
  // One that may not.
  void PerformOther();
  // The program waits for the operation it has just made.
  void NoteWait() { records_.Wait(); }

  // Records no Progress frame has taken yet, and how many operations they describe.
  ProgressWriter& Records() { return records_; }
  uint64_t Unsent() const { return unsent_; }
  void ClearRecords() {
    records_.Clear();
    unsent_ = 0;
  }

  // Operations made so far.
  uint64_t Position() const { return position_; }
  // How often the program did something else than what the server foresaw: what it sent ahead before is void.
  uint64_t Epoch() const { return epoch_; }
  const PredictionCounters& Counters() const { return counters_; }
  size_t Steps() const { return graph_.size(); }

 private:
  struct Lane {
    StepId last = kNoStep, before = kNoStep;
  };
  void SelectLane(uint64_t lane);
  bool TryKnown(Lane& lane, uint16_t number, std::span<const std::byte> head);
  StepId FindElsewhere(const Lane& lane, uint64_t hash, uint16_t number, std::span<const std::byte> head) const;
  bool IsVariant(StepId step, uint16_t number, std::span<const std::byte> head);
  void Take(Lane& lane, StepId step, bool note_context);
  void Learn(Lane& lane, uint16_t number, std::span<const std::byte> head);
  uint64_t Context(const Lane& lane, uint64_t hash) const;

  StepGraph graph_;
  std::vector<uint64_t> hashes_;  // of every step
  std::unordered_map<uint64_t, StepId> by_hash_, by_context_;
  std::vector<Lane> lanes_;
  uint64_t lane_ = UINT64_MAX;  // the server's selected lane
  ProgressWriter records_;
  std::vector<ChangedRange> changes_;
  uint64_t unsent_ = 0, position_ = 0, epoch_ = 0;
  PredictionCounters counters_;
};

}  // namespace wharf::offload
