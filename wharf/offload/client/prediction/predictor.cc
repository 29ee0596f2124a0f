#include "wharf/offload/client/prediction/predictor.h"

#include <cstring>

#include "wharf/base/trace.h"
#include "wharf/offload/replay/step_op.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {
namespace {

// A variant is worth less than the whole operation only if few bytes differ.
constexpr size_t kMaxChangedShare = 2;

size_t Cost(const std::vector<ChangedRange>& changes) {
  size_t bytes = 0;
  for (const ChangedRange& change : changes) bytes += 2 + change.bytes.size();
  return bytes;
}

// Stream and function of a launch come first in its head: another kernel is another operation, not a variant.
bool SameKernel(std::span<const std::byte> a, std::span<const std::byte> b) {
  constexpr size_t kStreamAndFunction = 16;
  return std::memcmp(a.data(), b.data(), kStreamAndFunction) == 0;
}

void TraceMiss(std::string_view why, uint16_t number) {
  if (Trace* const trace = Trace::Get()) {
    trace->Instant("miss", "offload", TraceArgs().Add("why", why).Add("operation", number));
  }
}

}  // namespace

Prediction Predictor::Perform(uint64_t lane_number, uint16_t number, std::span<const std::byte> head,
                              std::span<const std::byte> data) {
  if (lane_number >= lanes_.size()) lanes_.resize(lane_number + 1);
  if (lane_number != lane_) SelectLane(lane_number);
  Lane& lane = lanes_[lane_number];
  ++position_;
  if (ChangesState(number)) ++state_version_;
  const OperationId predicted = lane.history.Predicted();
  if (predicted != kNoOperation && operations_.Is(predicted, number, head)) {
    ++counters_.hits;
    ++unsent_;
    const bool with_data = NoteData(predicted, data);
    path_.Operation(operations_.Hash(predicted));
    records_.Advance();
    // What the server was sure of depends on all that came since the last answer.
    lane.history.Follow(steady_);
    Note(lane);
    return with_data ? Prediction::kWithData : Prediction::kKnown;
  }
  steady_ = false;
  const uint64_t hash = HashOperation(number, head);
  if (const OperationId id = Find(hash, number, head); id != kNoOperation) {
    TraceMiss("another known operation", number);
    ++counters_.jumps;
    ++unsent_;
    const bool with_data = NoteData(id, data);
    path_.Operation(hash);
    Jump(lane, id);
    return with_data ? Prediction::kWithData : Prediction::kKnown;
  }
  const bool variant = predicted != kNoOperation && IsVariant(predicted, number, head) &&
                       operations_.HasRoomFor(head.size(), data.size());
  TraceMiss(variant ? "changed arguments" : "unknown operation", number);
  if (variant) {
    ++counters_.changed;
    ++unsent_;
    records_.Variant(predicted, changes_);
  } else {
    ++counters_.unknown;
  }
  Learn(lane, hash, number, head, data);
  if (!variant) return Prediction::kNew;
  return data.empty() ? Prediction::kKnown : Prediction::kWithData;
}

// Whether the data of a known operation must be sent. Few data are predicted too: others than the last ones are told.
bool Predictor::NoteData(OperationId id, std::span<const std::byte> data) {
  const std::span<const std::byte> last = operations_.Data(id);
  if (last.empty()) return !data.empty();
  if (std::equal(data.begin(), data.end(), last.begin(), last.end())) return false;
  TraceMiss("other data", operations_.Number(id));
  operations_.ReplaceData(id, data);
  records_.Fresh();
  path_.Fresh();
  ++counters_.other_data;
  return true;
}

void Predictor::PerformOther() {
  ++position_;
  ++state_version_;
  steady_ = false;
  path_.Other();
  ++counters_.never;
}

void Predictor::SelectLane(uint64_t lane) {
  if (lane_ != UINT64_MAX) ++counters_.lane_changes;
  lane_ = lane;
  steady_ = false;
  path_.Lane(lane);
  records_.Lane(lane);
}

bool Predictor::IsSure() const {
  const History& history = lanes_[lane_].history;
  return steady_ && history.NoteOf(history.End() - 1) == state_version_;
}

void Predictor::NoteSure(const Place& place, bool sure) {
  if (place.lane >= lanes_.size() || !lanes_[place.lane].history.Holds(place.index)) return;
  lanes_[place.lane].history.SetNote(place.index, sure ? place.state_version : 0);
}

OperationId Predictor::Find(uint64_t hash, uint16_t number, std::span<const std::byte> head) const {
  const auto found = by_hash_.find(hash);
  return found != by_hash_.end() && operations_.Is(found->second, number, head) ? found->second : kNoOperation;
}

// Whether `of` with a few other bytes is this operation; changes_ says which.
bool Predictor::IsVariant(OperationId of, uint16_t number, std::span<const std::byte> head) {
  const std::span<const std::byte> known = operations_.Head(of);
  if (operations_.Number(of) != number || known.size() != head.size()) return false;
  if (number == Launch::kNumber && !SameKernel(known, head)) return false;
  FindChanges(known, head, changes_);
  return Cost(changes_) * kMaxChangedShare <= head.size();
}

// What is predicted from here on is what followed the last time the program came this way.
void Predictor::Jump(Lane& lane, OperationId id) {
  const std::optional<uint64_t> place = lane.matches.Find(lane.history, id);
  const uint64_t end = lane.history.End() + 1;  // with this operation
  const uint64_t cursor = place.value_or(end);
  records_.Known(id, end - cursor);
  lane.history.Deviate(id, cursor);
  Note(lane);
}

void Predictor::Learn(Lane& lane, uint64_t hash, uint16_t number, std::span<const std::byte> head,
                      std::span<const std::byte> data) {
  if (!operations_.HasRoomFor(head.size(), data.size())) Forget();
  const OperationId id = operations_.Append(number, head, data);
  by_hash_[hash] = id;
  path_.Operation(hash);
  lane.history.Deviate(id, lane.history.Cursor() + 1);
  Note(lane);
}

// The operation just made is the history's last.
void Predictor::Note(Lane& lane) {
  lane.matches.Note(lane.history);
  const OperationId id = lane.history.At(lane.history.End() - 1);
  sequences_.Note(lane_, id, operations_.Number(id), operations_.Head(id));
}

void Predictor::Forget() {
  ++counters_.forgotten;
  path_.Forget();
  records_.Forget();
  operations_.Clear();
  by_hash_.clear();
  sequences_.ForgetOperations();
  for (Lane& lane : lanes_) lane = {};
}

}  // namespace wharf::offload
