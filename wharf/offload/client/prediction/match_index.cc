#include "wharf/offload/client/prediction/match_index.h"

#include "wharf/base/random.h"

namespace wharf::offload {
namespace {

// How many operations before `place` are those before the end of the history.
uint64_t MatchLength(const History& history, uint64_t place) {
  uint64_t length = 0;
  while (length < MatchIndex::kLongestMatch && length < place && history.Holds(place - 1 - length) &&
         history.Holds(history.End() - 1 - length) &&
         history.At(place - 1 - length) == history.At(history.End() - 1 - length)) {
    ++length;
  }
  return length;
}

}  // namespace

uint64_t MatchIndex::Extend(uint64_t context, int shift, OperationId id) {
  const uint64_t mixed = (uint64_t{id} + 1) * kGoldenRatio;
  return (context << shift) ^ (mixed >> (64 - shift));
}

size_t MatchIndex::Slot(uint64_t context) { return (context * kGoldenRatio) >> 49; }

void MatchIndex::Note(const History& history) {
  const OperationId id = history.At(history.End() - 1);
  if (id >= by_operation_.size()) by_operation_.resize(id + 1);
  by_operation_[id] = history.End();
  for (int order = 0; order < kOrders; ++order) {
    contexts_[order] = Extend(contexts_[order], kShifts[order], id);
    if (places_[order].empty()) places_[order].resize(kSlots);
    places_[order][Slot(contexts_[order])] = history.End();
  }
}

std::optional<uint64_t> MatchIndex::Find(const History& history, OperationId id) const {
  std::optional<uint64_t> best;
  uint64_t best_length = 0;
  const auto consider = [&](uint64_t place) {
    if (place == 0 || !history.Holds(place - 1) || history.At(place - 1) != id) return;
    const uint64_t length = MatchLength(history, place - 1);
    if (best && length <= best_length) return;
    best = place;
    best_length = length;
  };
  for (int order = 0; order < kOrders; ++order) {
    if (!places_[order].empty()) consider(places_[order][Slot(Extend(contexts_[order], kShifts[order], id))]);
  }
  if (id < by_operation_.size()) consider(by_operation_[id]);
  return best;
}

void MatchIndex::Clear() { *this = MatchIndex(); }

}  // namespace wharf::offload
