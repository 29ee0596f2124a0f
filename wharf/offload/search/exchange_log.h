// Cuts a lane's operators into exchanges and keeps, for each, whose data it uses.
//
// An exchange is what the program does between two turns; a turn is where it begins to hand over input after it has
// taken output: [operators*] input copies ... output copies [synchronisations]. An inference is one exchange or several
// in a row. Operators between an output and the next input belong to the exchange that follows.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/offload/search/fingerprint.h"
#include "wharf/offload/search/known_sequences.h"
#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

// `reads` reads of an exchange see what exchange number `exchange` wrote, into buffers of which the first to be read in
// another exchange than it was written in was so in exchange `first_use`.
struct Source {
  uint64_t exchange = 0;
  uint64_t reads = 0;
  uint64_t first_use = 0;
};

struct Exchange {
  static constexpr size_t kSources = 8;

  uint64_t begin = 0, end = 0;  // operators of the lane
  Fingerprint operators;
  uint64_t kind = 0;   // equal for exchanges of equal operators, and only for these
  uint64_t since = 0;  // number of the first exchange of this kind
  // Earlier exchanges whose data it uses, parameters aside.
  std::array<Source, kSources> sources;
  size_t source_count = 0;
  bool too_many_sources = false;  // and `sources` are some of them
  // The repeat of a known sequence that it is part of: the sequence and the repeat's first operator. 0: of none that is
  // complete.
  uint64_t sequence = 0, repeat = 0;
};

// What is a parameter? A buffer is none for an exchange if the program writes it again and again, and did so since
// exchanges of this kind began: then it carries data of an inference. So a buffer is a parameter
//  - if only one exchange (loading) ever wrote it, or
//  - if it was written last before the first exchange of this kind, or
//  - if the write is overdue: not repeated for twice the longest interval between two exchanges that wrote it.
class ExchangeLog {
 public:
  static constexpr uint64_t kCapacity = 4096;  // exchanges remembered, a power of two
  static constexpr size_t kMaxBuffers = size_t{1} << 16;

  ExchangeLog();

  enum class Change : uint8_t { kNone, kClosed, kForgotten };
  // Takes operator number `index`. kClosed: the exchange before it is complete, and is Last(); kForgotten: so it is,
  // but what was known of buffers had to be forgotten, so the exchanges so far say nothing about those to come.
  // Amortised O(buffers of the record).
  Change Add(const OperatorRecord& record, uint64_t key, uint64_t index);

  // The exchange under way, number Size(), if it may end with the operator added last, before `end`, because an earlier
  // one of equal operators did. Valid until the next Add.
  const Exchange* Tentative(uint64_t end);

  // The exchanges since operator `first` are one repeat of a known sequence. O(their number).
  void MarkRepeat(uint64_t sequence, uint64_t first);

  uint64_t Size() const { return size_; }  // complete exchanges, ever
  // REQUIRES: Size() - kCapacity <= number < Size().
  const Exchange& At(uint64_t number) const { return exchanges_[number % kCapacity]; }
  const Exchange& Last() const { return At(size_ - 1); }

 private:
  static constexpr size_t kSources = 64;
  static constexpr uint64_t kNever = UINT64_MAX;
  // A part of the log that is, or may become, an exchange.
  struct Segment {
    uint64_t begin = 0, number = 0;
    Fingerprint operators;
    std::vector<Source> sources;
    bool too_many_sources = false;
    void Reset(uint64_t begin_at, uint64_t exchange);
    void Use(uint64_t exchange, uint64_t first_use);
  };
  struct Buffer {
    uint64_t operator_index = 0;  // its last write
    uint64_t exchange = 0;        // the write's, or, where that was not decided yet, a neighbour of it
    uint64_t longest_interval = 0;
    uint64_t first_use = kNever;  // the exchange that first read what an earlier one wrote, or what none did
  };
  struct Kind {
    uint64_t number = 0, since = 0, last = 0;
  };

  Change Close(const Segment& segment, uint64_t end);
  void Describe(const Segment& segment, uint64_t end, const Kind& kind, Exchange& exchange) const;
  void Read(uint64_t address);
  void Write(uint64_t address, uint64_t index);
  uint64_t ExchangeOf(const Buffer& buffer) const;

  std::vector<Exchange> exchanges_;  // a ring
  uint64_t size_ = 0;
  absl::flat_hash_map<Fingerprint, Kind> kinds_;  // those of the ring
  uint64_t next_kind_ = 1;
  absl::flat_hash_map<uint64_t, Buffer> buffers_;

  Boundary boundary_;
  Segment current_;
  // After an output copy other operators came, so a turn may lie in between: `ended_` is the exchange if it does,
  // `pending_` what follows.
  bool in_doubt_ = false;
  Segment ended_, pending_;
  Exchange tentative_;
};

}  // namespace wharf::offload
