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
  // 0: it cannot be told, or no inference ends with the newest exchange. O(period).
  //
  // The period is cut where no exchange after the cut uses data from before it, so that independent models which take
  // turns come apart. What an exchange uses of its own kind is state, and binds nothing together if its kind uses
  // nothing else. If data crosses every possible cut (a model of several exchanges that carries state) then the period
  // is one inference, cut where the fewest buffers cross, and of equals before the exchange whose kind the program did
  // first. Data from before the last two repeats shows that the period is a loop inside something longer.
  uint64_t InferenceAtEnd(const RecentExchanges& recent, uint64_t period);

 private:
  bool UsesOlderData(const RecentExchanges& recent, uint64_t period) const;
  void FindMixedKinds(const RecentExchanges& recent, uint64_t period);
  void CountCrossings(const RecentExchanges& recent, uint64_t period);

  std::vector<uint64_t> mixed_kinds_;  // sorted: kinds that use data of other kinds
  std::vector<int64_t> crossings_;     // [i]: buffers whose data crosses the cut before the period's exchange i
};

}  // namespace wharf::offload
