#include "wharf/offload/search/partition.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

namespace wharf::offload {
namespace {

std::span<const Source> SourcesOf(const Exchange& exchange) { return {exchange.sources.data(), exchange.source_count}; }

// Whether what passes from `from` to `to` is the state of a known sequence, and passes over something else. From turn
// to turn of a loop it does not.
bool IsKnownState(const RecentExchanges& recent, const Source& source, const Exchange& to) {
  const Exchange& from = recent.At(source.exchange);
  if (from.sequence == 0 || from.sequence != to.sequence || from.repeat == to.repeat) return false;
  uint64_t next = source.exchange;  // the first exchange after the repeat
  while (recent.At(next).repeat == from.repeat) ++next;
  return recent.At(next).repeat != to.repeat;
}

}  // namespace

uint64_t Partition::InferenceAtEnd(const RecentExchanges& recent, uint64_t period) {
  const uint64_t end = recent.number + 1;
  const bool goes_on = last_.period == period && recent.number - last_.number <= 1;
  last_.number = recent.number;
  if (goes_on && end < last_.next_cut) return 0;
  last_.period = 0;
  if (UsesOlderData(recent, period)) return 0;
  FindMixedKinds(recent, period);
  CountCrossings(recent, period);
  const auto is_clean = [](const Crossing& crossing) { return crossing.reads == 0; };
  const auto first_clean = std::ranges::find_if(crossings_, is_clean);
  uint64_t cut = static_cast<uint64_t>(first_clean - crossings_.begin());
  if (first_clean == crossings_.end()) {
    FindFirstCrossings(period);
    cut = BestCut(recent, period);
  }
  if (cut != 0) {
    last_ = {period, recent.number, end + cut};
    return 0;
  }
  uint64_t last_cut = period - 1;
  while (last_cut > 0 && !is_clean(crossings_[last_cut])) --last_cut;
  return period - last_cut;
}

// The cut, of those that data crosses.
uint64_t Partition::BestCut(const RecentExchanges& recent, uint64_t period) const {
  const uint64_t first = recent.number + 1 - period;
  uint64_t best = 0;
  for (uint64_t i = 1; i < period; ++i) {
    const Crossing &a = crossings_[i], &b = crossings_[best];
    const uint64_t since = recent.At(first + i).since, best_since = recent.At(first + best).since;
    if (std::tie(b.first, a.reads, since) < std::tie(a.first, b.reads, best_since)) best = i;
  }
  return best;
}

bool Partition::UsesOlderData(const RecentExchanges& recent, uint64_t period) const {
  const uint64_t first = recent.number + 1 - period;
  for (uint64_t i = first; i <= recent.number; ++i) {
    const Exchange& exchange = recent.At(i);
    if (exchange.too_many_sources) return true;
    for (const Source& source : SourcesOf(exchange)) {
      if (source.exchange + period < first) return true;
    }
  }
  return false;
}

void Partition::FindMixedKinds(const RecentExchanges& recent, uint64_t period) {
  mixed_kinds_.clear();
  for (uint64_t i = recent.number + 1 - period; i <= recent.number; ++i) {
    const Exchange& exchange = recent.At(i);
    for (const Source& source : SourcesOf(exchange)) {
      if (recent.At(source.exchange).kind == exchange.kind) continue;
      mixed_kinds_.push_back(exchange.kind);
      break;
    }
  }
  std::ranges::sort(mixed_kinds_);
}

// Whether what the exchange takes from the source keeps the two in one inference.
bool Partition::Binds(const RecentExchanges& recent, const Exchange& exchange, const Source& source) const {
  const Exchange& from = recent.At(source.exchange);
  if (from.kind == exchange.kind && !std::ranges::binary_search(mixed_kinds_, exchange.kind)) return false;
  return !IsKnownState(recent, source, exchange);
}

// Fills passages_, and the reads in crossings_.
void Partition::CountCrossings(const RecentExchanges& recent, uint64_t period) {
  crossings_.assign(period, {});
  passages_.clear();
  const uint64_t first = recent.number + 1 - period;
  for (uint64_t i = 0; i < period; ++i) {
    const Exchange& exchange = recent.At(first + i);
    for (const Source& source : SourcesOf(exchange)) {
      const uint64_t distance = (first + i - source.exchange) % period;
      if (distance == 0 || !Binds(recent, exchange, source)) continue;
      // It crosses the cuts before i, i - 1, ..., i - distance + 1, round the period's end; counted as differences
      // first.
      const uint64_t from = (i + period - distance + 1) % period;
      const auto reads = static_cast<int64_t>(source.reads);
      crossings_[from].reads += reads;
      if (distance > i + 1) crossings_[0].reads += reads;
      if (i + 1 < period) crossings_[i + 1].reads -= reads;
      passages_.push_back({source.first_use, from, distance});
    }
  }
  for (uint64_t i = 1; i < period; ++i) crossings_[i].reads += crossings_[i - 1].reads;
}

// Fills the first in crossings_: the passages paint the cuts they cross, the earliest first; next_open_ leads past what
// is painted.
void Partition::FindFirstCrossings(uint64_t period) {
  std::ranges::sort(passages_, {}, &Passage::first_use);
  next_open_.resize(period + 1);
  std::iota(next_open_.begin(), next_open_.end(), 0);
  const auto open_from = [&](uint64_t i) {
    while (next_open_[i] != i) i = next_open_[i] = next_open_[next_open_[i]];
    return i;
  };
  const auto paint = [&](uint64_t from, uint64_t to, uint64_t first_use) {
    for (uint64_t i = open_from(from); i < to; i = open_from(i)) {
      crossings_[i].first = first_use;
      next_open_[i] = i + 1;
    }
  };
  for (const Passage& passage : passages_) {
    const uint64_t to = passage.from + passage.cuts;
    paint(passage.from, std::min(to, period), passage.first_use);
    if (to > period) paint(0, to - period, passage.first_use);
  }
}

}  // namespace wharf::offload
