// SequenceTracker: says which inference the program is in. It hands the operations a session makes to a sequence finder
// (search/sequence_finder.h) and counts what that reports; replay itself does not depend on it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/offload/replay/operation_history.h"
#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

struct SequenceCounters {
  uint64_t sequence_length = 0;  // of the sequence seen last
  uint64_t sequences = 0;        // found so far
  uint64_t inferences = 0;       // repeats that were seen to end, those that led to the finding included
};

// Not thread-safe.
class SequenceTracker {
 public:
  explicit SequenceTracker(LaneSearchFactory search = MakeIncrementalSearch);

  // The program made operation `id`, whose arguments do not change. Amortised O(1).
  void Note(uint64_t lane, OperationId id, uint16_t number, std::span<const std::byte> head);
  // The numbers of operations begin anew.
  void ForgetOperations() { facts_.clear(); }
  SequenceCounters Counters() const { return counters_; }

 private:
  // What the finder wants to know of an operation.
  struct Facts {
    bool known = false;
    OperatorClass operator_class = OperatorClass::kOther;
    uint64_t tag = 0, identity = 0;
    std::vector<uint64_t> reads, writes;
  };
  static Facts FactsOf(uint16_t number, std::span<const std::byte> head);
  void Report(SearchEvent event, uint32_t lane);

  const std::unique_ptr<SequenceFinder> finder_;
  std::vector<Facts> facts_;
  std::set<uint64_t> found_;
  SequenceCounters counters_;
};

}  // namespace wharf::offload
