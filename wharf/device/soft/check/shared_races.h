// Finds hazards on the shared memory of one block: two threads access a byte, at least one of them writes, and nothing
// orders the two. Exact to the byte, in the order in which the threads happen to run: what is reported can happen.
//
// For each word it keeps the accesses of this interval (clocks.h) that a later one might not be ordered after: of plain
// writes the last to each byte, of all others the last of each thread. Threads of a warp that did the same at the same
// clock share a record.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wharf/device/soft/check/checks.h"
#include "wharf/device/soft/check/clocks.h"

namespace wharf::device::soft::check {

class SharedRaces {
 public:
  // The earlier of two accesses that nothing orders.
  struct Hazard {
    uint32_t offset = 0;  // of the first byte concerned
    uint32_t thread = 0, site = 0;
    uint8_t flags = 0;  // Access's
    friend bool operator==(const Hazard&, const Hazard&) = default;
  };

  // A block begins: so many threads, so much shared memory.
  void Start(uint32_t threads, uint32_t bytes);
  // Who is told when threads meet.
  BlockClocks& clocks() { return clocks_; }

  // `thread` accesses [offset, offset + access.bytes). `unchanged`: bit i: byte i is written with the value it has,
  // which is no hazard to another write. One hazard of an access is reported, the first there is. REQUIRES: they lie in
  // shared memory.
  std::optional<Hazard> Touch(uint32_t thread, uint32_t site, uint32_t offset, const Access& access,
                              uint32_t unchanged);

 private:
  static constexpr uint32_t kWordBytes = 4;
  struct Record {
    uint32_t clock = 0, lanes = 0, site = 0;
    uint8_t warp = 0;
    uint8_t bytes = 0;  // of the word: bits
    uint8_t flags = 0;
  };
  struct Word {
    uint32_t interval = 0;  // of the records: those of former ones are of no interest
    std::vector<Record> records;
  };
  // What of one word is accessed: bits by byte.
  struct Touched {
    uint32_t thread = 0, site = 0;
    uint8_t flags = 0, bytes = 0, unchanged = 0;
  };

  // A thread of the record that is not ordered before `thread`.
  std::optional<uint32_t> Unordered(const Record& record, uint32_t thread) const;
  std::optional<Hazard> FindHazard(const Word& word, const Touched& touched) const;
  void Remember(Word& word, const Touched& touched) const;

  BlockClocks clocks_;
  std::vector<Word> words_;
};

}  // namespace wharf::device::soft::check
