// The sequences found in one lane, and where in them the program is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wharf/offload/search/operator_log.h"
#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

// The places where a sequence may begin: after an output copy and the synchronisations that follow it.
class Boundary {
 public:
  // Whether `operator_class` is that of a sequence's first operator. Call once for each operator.
  bool Before(OperatorClass operator_class) {
    const bool output = operator_class == OperatorClass::kDeviceToHost;
    const bool follows = after_output_ && (output || operator_class == OperatorClass::kSynchronize);
    const bool begins = after_output_ && !follows;
    after_output_ = output || follows;
    return begins;
  }
  // Whether the last operator was an output copy or a synchronisation that follows one.
  bool AfterOutput() const { return after_output_; }

 private:
  bool after_output_ = false;
};

// Follows the program through the known sequences: all that agree with what it did since the last boundary stay in
// play, so sequences with a common beginning and one that is another's beginning are told apart as soon as they differ.
class KnownSequences {
 public:
  // `next_id` is shared by the lanes of a finder.
  KnownSequences(const SearchOptions& options, uint64_t* next_id) : options_(options), next_id_(next_id) {}

  // The program issued operator `index`. O(1) but for boundaries, where it is O(sequences known).
  SearchEvent Follow(uint64_t key, uint64_t index, bool begins);

  // Whether the sequence of the last `length` operators in `log` was learnt before.
  bool Knows(const OperatorLog& log, uint64_t length) const;

  // The last `length` operators in `log` are a sequence, seen `repeats` times. Sequences known so far that are parts of
  // it turn out to be loops inside it: they are not reported any more, nor learnt again.
  void Learn(const OperatorLog& log, uint64_t length);

  // From here to the operator followed last, the program did nothing but known sequences; none: it is elsewhere.
  std::optional<uint64_t> FollowedSince() const { return followed_since_; }
  const std::optional<FoundSequence>& Current() const { return current_; }

 private:
  struct Sequence {
    uint64_t id = 0;
    std::vector<uint64_t> keys;
    uint64_t repeats = 0;
    uint64_t last_end = 0;  // index of the last operator of the latest repeat
    bool is_part = false;   // of another one
  };
  void Begin(uint64_t key, uint64_t index);
  void Forget();

  SearchOptions options_;
  uint64_t* next_id_;
  std::vector<Sequence> sequences_;
  std::vector<size_t> in_play_;  // those in which the program may be now
  uint64_t start_ = 0;           // of these
  std::optional<uint64_t> followed_since_;
  std::optional<FoundSequence> current_;
};

}  // namespace wharf::offload
