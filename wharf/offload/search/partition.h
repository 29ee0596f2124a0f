// Where one inference ends and the next begins, in a stretch of exchanges that the program does again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "wharf/offload/search/exchange_log.h"

namespace wharf::offload {

// The latest exchanges of a log: number `number` is the newest; it may be a tentative one, not in the log yet.
struct RecentExchanges {
  const ExchangeLog& log;
  const Exchange& newest;
  uint64_t number;
  const Exchange& At(uint64_t i) const { return i == number ? newest : log.At(i); }
};

class Partition {
 public:
  // The program did the last `period` exchanges several times in a row. How many of the last of them are one inference?
  // 0: none ends with the newest exchange. O(period), O(1) in the calls that follow while the period goes on.
  //
  // The period is cut where no exchange after the cut uses data from before it, so that independent models which take
  // turns come apart. What an exchange uses of its own kind is state, and binds nothing together if its kind uses
  // nothing else; nor does what passes between two repeats of a known sequence.
  //
  // If data crosses every possible cut (a model of several exchanges that carries state), the period is one inference.
  // Inside it data passed for the first time during the first inference, from one to the next only when the second
  // began: it is cut where data crossed last of all for the first time; of equals, where the fewest reads cross, and
  // then before the exchange whose kind the program did first.
  //
  // Data from before the last two repeats shows that the period is a loop inside something longer.
  uint64_t InferenceAtEnd(const RecentExchanges& recent, uint64_t period);

 private:
  // What crosses the cut before an exchange of the period.
  struct Crossing {
    int64_t reads = 0;
    uint64_t first = UINT64_MAX;  // exchange in which it did so for the first time
  };
  struct Passage {
    uint64_t first_use, from, cuts;  // data crosses `cuts` cuts, from this on
  };
  bool UsesOlderData(const RecentExchanges& recent, uint64_t period) const;
  void FindMixedKinds(const RecentExchanges& recent, uint64_t period);
  bool Binds(const RecentExchanges& recent, const Exchange& exchange, const Source& source) const;
  void CountCrossings(const RecentExchanges& recent, uint64_t period);
  void FindFirstCrossings(uint64_t period);
  uint64_t BestCut(const RecentExchanges& recent, uint64_t period) const;

  std::vector<uint64_t> mixed_kinds_;  // sorted: kinds that use data of other kinds
  std::vector<Crossing> crossings_;    // of the period's cuts
  std::vector<Passage> passages_;
  std::vector<uint64_t> next_open_;
  // What the last call found, for those that follow while the same period goes on: no inference ends before `next_cut`.
  struct {
    uint64_t period = 0, number = 0, next_cut = 0;
  } last_;
};

}  // namespace wharf::offload
