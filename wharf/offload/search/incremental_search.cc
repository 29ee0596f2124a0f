// Our search: exchanges as letters, the periods of their string, and data flow to tell where an inference begins
// (docs/replay.md, "Finding the sequence").
#include <memory>

#include "wharf/offload/search/exchange_log.h"
#include "wharf/offload/search/known_sequences.h"
#include "wharf/offload/search/lane_search.h"
#include "wharf/offload/search/operator_log.h"
#include "wharf/offload/search/partition.h"
#include "wharf/offload/search/repeat_detector.h"

namespace wharf::offload {
namespace {

class IncrementalSearch : public LaneSearch {
 public:
  IncrementalSearch(const SearchOptions& options, uint64_t* next_id)
      : options_(options), operators_(options.log_capacity), known_(options, next_id) {}

  SearchEvent Add(const OperatorRecord& record) override {
    const uint64_t key = KeyOf(record);
    const uint64_t index = operators_.Append(key);
    const SearchEvent event = known_.Follow(key, index, boundary_.Before(record.operator_class));
    switch (exchanges_.Add(record, key, index)) {
      case ExchangeLog::Change::kNone:
        break;
      case ExchangeLog::Change::kClosed:
        OnExchange();
        break;
      case ExchangeLog::Change::kForgotten:
        repeats_.Clear();
        break;
    }
    if (event == SearchEvent::kInferenceEnd) last_repeat_ = *known_.Current();
    const Exchange* newest = exchanges_.Tentative(index + 1);
    if (newest == nullptr) return event;
    const uint64_t length = Search({exchanges_, *newest, exchanges_.Size()});
    if (length == 0) return event;
    known_.Learn(operators_, length);
    last_repeat_ = *known_.Current();
    return SearchEvent::kFound;
  }

  const std::optional<FoundSequence>& Current() const override { return known_.Current(); }

 private:
  void OnExchange() {
    repeats_.Append(exchanges_.Last().kind);
    if (last_repeat_.first + last_repeat_.length == exchanges_.Last().end) {
      exchanges_.MarkRepeat(last_repeat_.id, last_repeat_.first);
    }
  }

  // How many operators, the last ones, are an inference that was not known; 0: none are.
  uint64_t Search(const RecentExchanges& recent) {
    for (uint64_t period : repeats_.Candidates(recent.newest.kind)) {
      if (period > recent.number || 2 * period > ExchangeLog::kCapacity) break;
      const uint64_t begin = recent.At(recent.number + 1 - period).begin;
      const std::optional<uint64_t> followed = known_.FollowedSince();
      if (followed && *followed <= begin) continue;  // nothing but known sequences
      const uint64_t length = Judge(recent, period);
      if (length > 0) return length;
    }
    return 0;
  }

  // The first repeat may follow loading without a turn between: only its operators show it, its exchange looks
  // different.
  uint64_t Judge(const RecentExchanges& recent, uint64_t period) {
    if (!repeats_.EndsWithRepeats(period, options_.repeats - 1)) return 0;
    const uint64_t inference = partition_.InferenceAtEnd(recent, period);
    if (inference == 0) return 0;
    const uint64_t end = recent.newest.end;
    if (!operators_.EndsWithRepeats(end - recent.At(recent.number + 1 - period).begin, options_.repeats)) return 0;
    const uint64_t first = recent.At(recent.number + 1 - inference).begin;
    if (known_.FollowedSince() && *known_.FollowedSince() <= first) return 0;  // known sequences, one after the other
    const uint64_t length = end - first;
    return length < options_.min_length || known_.Knows(operators_, length) ? 0 : length;
  }

  const SearchOptions options_;
  OperatorLog operators_;
  Boundary boundary_;
  KnownSequences known_;
  ExchangeLog exchanges_;
  RepeatDetector repeats_;
  Partition partition_;
  FoundSequence last_repeat_;  // of a known sequence
};

}  // namespace

std::unique_ptr<LaneSearch> MakeIncrementalSearch(const SearchOptions& options, uint64_t* next_id) {
  return std::make_unique<IncrementalSearch>(options, next_id);
}

}  // namespace wharf::offload
