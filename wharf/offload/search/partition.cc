#include "wharf/offload/search/partition.h"

#include <algorithm>
#include <span>

namespace wharf::offload {
namespace {

std::span<const Source> SourcesOf(const Exchange& exchange) { return {exchange.sources.data(), exchange.source_count}; }

// Whether what passes from `from` to `to` is the state of a known sequence.
bool IsKnownState(const Exchange& from, const Exchange& to) {
  return from.sequence != 0 && from.sequence == to.sequence && from.repeat != to.repeat;
}

}  // namespace

uint64_t Partition::InferenceAtEnd(const RecentExchanges& recent, uint64_t period) {
  if (UsesOlderData(recent, period)) return 0;
  FindMixedKinds(recent, period);
  CountCrossings(recent, period);
  const uint64_t first = recent.number + 1 - period;
  const auto clean = std::find(crossings_.rbegin(), crossings_.rend(), 0);
  if (clean != crossings_.rend()) {
    if (crossings_[0] != 0) return 0;
    const uint64_t last_cut = static_cast<uint64_t>(crossings_.rend() - clean) - 1;
    return period - last_cut;
  }
  const auto better = [&](uint64_t a, uint64_t b) {
    if (crossings_[a] != crossings_[b]) return crossings_[a] < crossings_[b];
    return recent.At(first + a).since < recent.At(first + b).since;
  };
  for (uint64_t i = 1; i < period; ++i) {
    if (better(i, 0)) return 0;
  }
  return period;
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

void Partition::CountCrossings(const RecentExchanges& recent, uint64_t period) {
  crossings_.assign(period, 0);  // as differences first
  const uint64_t first = recent.number + 1 - period;
  for (uint64_t i = 0; i < period; ++i) {
    const Exchange& exchange = recent.At(first + i);
    const bool mixed = std::ranges::binary_search(mixed_kinds_, exchange.kind);
    for (const Source& source : SourcesOf(exchange)) {
      const uint64_t distance = (first + i - source.exchange) % period;
      const Exchange& from = recent.At(source.exchange);
      if (distance == 0 || (!mixed && from.kind == exchange.kind) || IsKnownState(from, exchange)) continue;
      // It crosses the cuts before i, i - 1, ..., i - distance + 1, round the end.
      const int64_t buffers = source.buffers;
      crossings_[(i + period - distance + 1) % period] += buffers;
      if (distance > i + 1) crossings_[0] += buffers;
      if (i + 1 < period) crossings_[i + 1] -= buffers;
    }
  }
  int64_t open = 0;
  for (uint64_t i = 0; i < period; ++i) {
    open += crossings_[i];
    crossings_[i] = open;
  }
}

}  // namespace wharf::offload
