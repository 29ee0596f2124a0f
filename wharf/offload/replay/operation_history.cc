#include "wharf/offload/replay/operation_history.h"

#include <algorithm>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace wharf::offload {

uint64_t HashOperation(uint16_t number, std::span<const std::byte> head) {
  return XXH3_64bits_withSeed(head.data(), head.size(), number);
}

OperationId OperationTable::Append(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data) {
  Operation operation;
  operation.head.assign(head.begin(), head.end());
  operation.data.assign(data.begin(), data.begin() + static_cast<ptrdiff_t>(KeptBytes(data.size())));
  operation.hash = HashOperation(number, head);
  operation.number = number;
  bytes_ += operation.head.size() + operation.data.size();
  operations_.push_back(std::move(operation));
  return static_cast<OperationId>(operations_.size() - 1);
}

void OperationTable::Clear() {
  operations_.clear();
  bytes_ = 0;
}

bool OperationTable::Is(OperationId id, uint16_t number, std::span<const std::byte> head) const {
  const Operation& known = operations_[id];
  return known.number == number && std::equal(known.head.begin(), known.head.end(), head.begin(), head.end());
}

void OperationTable::ReplaceData(OperationId id, std::span<const std::byte> data) {
  std::copy(data.begin(), data.end(), operations_[id].data.begin());
}

void History::Follow(bool keeps_note) {
  const uint32_t note = keeps_note ? NoteOf(cursor_) : 0;
  Append(At(cursor_));
  if (note != 0) SetNote(end_ - 1, note);
  ++cursor_;
}

void History::Deviate(OperationId id, uint64_t cursor) {
  Append(id);
  cursor_ = cursor;
}

void History::SetNote(uint64_t index, uint32_t note) {
  if (notes_.empty()) notes_.resize(kCapacity);
  notes_[index % kCapacity] = note;
}

void History::Append(OperationId id) {
  if (ring_.size() < kCapacity) {
    ring_.push_back(id);
  } else {
    ring_[end_ % kCapacity] = id;
  }
  if (!notes_.empty()) notes_[end_ % kCapacity] = 0;
  ++end_;
}

}  // namespace wharf::offload
