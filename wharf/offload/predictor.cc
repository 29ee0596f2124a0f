#include "wharf/offload/predictor.h"

#include <array>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "wharf/offload/wire.h"

namespace wharf::offload {
namespace {

// A step with other arguments is worth less than the whole operation only if few bytes differ.
constexpr size_t kMaxChangedShare = 2;
// Entry points into the graph that are remembered; beyond, all are forgotten, which costs bytes only.
constexpr size_t kMaxContexts = 2 * kMaxSteps;

uint64_t Hash(uint16_t number, std::span<const std::byte> head) {
  return XXH3_64bits_withSeed(head.data(), head.size(), number);
}

size_t Cost(const std::vector<ChangedRange>& changes) {
  size_t bytes = 0;
  for (const ChangedRange& change : changes) bytes += 2 + change.bytes.size();
  return bytes;
}

// Stream and function of a launch come first in its head: another kernel is another step, not a variant.
bool SameKernel(std::span<const std::byte> a, std::span<const std::byte> b) {
  constexpr size_t kStreamAndFunction = 16;
  return std::memcmp(a.data(), b.data(), kStreamAndFunction) == 0;
}

}  // namespace

Foresight Predictor::Perform(uint64_t lane_number, uint16_t number, std::span<const std::byte> head) {
  if (lane_number >= lanes_.size()) lanes_.resize(lane_number + 1);
  if (lane_number != lane_) SelectLane(lane_number);
  Lane& lane = lanes_[lane_number];
  ++position_;
  ++unsent_;
  if (TryKnown(lane, number, head)) return Foresight::kKnown;
  --unsent_;
  ++epoch_;
  ++counters_.unknown;
  Learn(lane, number, head);
  return Foresight::kNew;
}

void Predictor::PerformOther() {
  ++position_;
  ++epoch_;
  ++counters_.no_step;
}

void Predictor::SelectLane(uint64_t lane) {
  if (lane_ != UINT64_MAX) ++counters_.lane_changes;
  lane_ = lane;
  ++epoch_;
  records_.Lane(lane);
}

bool Predictor::TryKnown(Lane& lane, uint16_t number, std::span<const std::byte> head) {
  const StepId expected = lane.last == kNoStep ? kNoStep : graph_.Next(lane.last);
  if (expected != kNoStep && graph_.Is(expected, number, head)) {
    ++counters_.hits;
    records_.Advance();
    Take(lane, expected, false);
    return true;
  }
  const uint64_t hash = Hash(number, head);
  const StepId elsewhere = FindElsewhere(lane, hash, number, head);
  if (elsewhere != kNoStep) {
    ++counters_.jumps;
    ++epoch_;
    records_.Step(elsewhere, {});
    Take(lane, elsewhere, true);
    return true;
  }
  if (expected == kNoStep || !IsVariant(expected, number, head)) return false;
  ++counters_.changed;
  ++epoch_;
  records_.Step(expected, changes_);
  const auto old = by_hash_.find(hashes_[expected]);
  if (old != by_hash_.end() && old->second == expected) by_hash_.erase(old);
  std::memcpy(graph_.MutableHead(expected).data(), head.data(), head.size());
  hashes_[expected] = hash;
  by_hash_[hash] = expected;
  Take(lane, expected, false);
  return true;
}

StepId Predictor::FindElsewhere(const Lane& lane, uint64_t hash, uint16_t number,
                                std::span<const std::byte> head) const {
  if (const auto same = by_context_.find(Context(lane, hash));
      same != by_context_.end() && graph_.Is(same->second, number, head)) {
    return same->second;
  }
  const auto same = by_hash_.find(hash);
  return same != by_hash_.end() && graph_.Is(same->second, number, head) ? same->second : kNoStep;
}

// Whether `step` with a few other bytes is this operation; changes_ says which.
bool Predictor::IsVariant(StepId step, uint16_t number, std::span<const std::byte> head) {
  const std::span<const std::byte> known = graph_.Head(step);
  if (graph_.Number(step) != number || known.size() != head.size()) return false;
  if (number == Launch::kNumber && !SameKernel(known, head)) return false;
  FindChanges(known, head, changes_);
  return Cost(changes_) * kMaxChangedShare <= head.size();
}

uint64_t Predictor::Context(const Lane& lane, uint64_t hash) const {
  const std::array<uint64_t, 3> words = {lane.before == kNoStep ? 0 : hashes_[lane.before],
                                         lane.last == kNoStep ? 0 : hashes_[lane.last], hash};
  return XXH3_64bits(words.data(), sizeof(words));
}

void Predictor::Take(Lane& lane, StepId step, bool note_context) {
  if (note_context) {
    if (by_context_.size() >= kMaxContexts) by_context_.clear();
    by_context_[Context(lane, hashes_[step])] = step;
  }
  graph_.Connect(lane.last, step);
  lane.before = lane.last;
  lane.last = step;
}

void Predictor::Learn(Lane& lane, uint16_t number, std::span<const std::byte> head) {
  if (!graph_.HasRoomFor(head.size())) {
    ++counters_.forgotten;
    ++epoch_;
    records_.Forget();
    graph_.Clear();
    hashes_.clear();
    by_hash_.clear();
    by_context_.clear();
    for (Lane& other : lanes_) other = {};
  }
  const StepId step = graph_.Append(number, head);
  hashes_.push_back(Hash(number, head));
  by_hash_[hashes_.back()] = step;
  Take(lane, step, true);
}

}  // namespace wharf::offload
