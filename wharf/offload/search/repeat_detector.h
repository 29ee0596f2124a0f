// Finds the periods with which a growing string ends, at constant cost a letter.
//
// A letter here is an exchange of the program with the device (exchange_log.h). Let the string end with U U U, U
// primitive and of p letters. Of the power of two L with p < L <= 2p, the last L letters then stand p letters before as
// well, and nowhere nearer (else U would have two periods whose sum is at most L, and by Fine and Wilf not be
// primitive). So p is among the distances to the latest earlier occurrence of the last 1, 2, 4, 8, ... letters; and a
// distance is a period if fingerprints say so.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "wharf/offload/search/fingerprint.h"

namespace wharf::offload {

class RepeatDetector {
 public:
  static constexpr int kLevels = 12;
  static constexpr uint64_t kCapacity =
      4096;  // letters remembered, a power of two; a period times its repeats must fit

  RepeatDetector();

  struct Periods {
    std::array<uint64_t, kLevels> values{};  // ascending
    int count = 0;
    const uint64_t* begin() const { return values.data(); }
    const uint64_t* end() const { return values.data() + count; }
  };

  // Were `letter` the next one: the distances p at which the string may repeat. O(kLevels).
  Periods Candidates(uint64_t letter);
  // Were the letter given to Candidates last the next one: whether the string ended with `repeats` times the same p
  // letters. O(1).
  bool EndsWithRepeats(uint64_t p, uint64_t repeats) const;
  void Append(uint64_t letter);
  // Forgets the string so far.
  void Clear();

 private:
  // Where a string of 2^level letters stood last. Each level has buckets of two that keep what was seen last: strings
  // that clash may lose a candidate, never make a wrong one.
  struct Occurrence {
    Fingerprint context;
    uint64_t end = 0;  // letters up to its end
  };
  using Bucket = std::array<Occurrence, 2>;
  static constexpr uint64_t kBuckets = 2048;  // a level

  const Fingerprint& Prefix(uint64_t letters) const { return prefixes_[letters % prefixes_.size()]; }
  Fingerprint Between(uint64_t from, uint64_t to) const { return Rest(Prefix(to), Prefix(from), powers_[to - from]); }
  uint64_t Held() const;
  // The context's place: where it is, or where it would go.
  Occurrence& Place(const Fingerprint& context, uint64_t level);

  uint64_t size_ = 0, origin_ = 0;     // letters ever; those before the latest Clear
  std::vector<Fingerprint> prefixes_;  // of the string's prefixes, a ring
  std::vector<Fingerprint> powers_;    // Power(0) ... Power(kCapacity)
  std::vector<Bucket> occurrences_;
};

}  // namespace wharf::offload
