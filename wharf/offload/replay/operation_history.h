// What client and server of a session both know of the program: the distinct operations it has made (OperationTable)
// and, for each of its threads, in which order (History). Both ends build the same from the same events, in the order
// of the connection, so operations are named by their number and places in a history by their index.
// docs/replay.md, "What both ends know".
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wharf::offload {

using OperationId = uint32_t;
inline constexpr OperationId kNoOperation = UINT32_MAX;
// Threads of a program that have a history of their own; further ones share the last.
inline constexpr uint64_t kMaxLanes = 64;

// Of an operation with all its arguments.
uint64_t HashOperation(uint16_t number, std::span<const std::byte> head);

// Tells apart what a program has done: equal after the same operations, made by the same threads in the same order, and
// else different, but for a chance of one in 2^64. Both ends of a session keep one.
class ProgramPath {
 public:
  // One that both know, by its HashOperation.
  void Operation(uint64_t hash) { Extend(hash); }
  // One that is never predicted.
  void Other() { Extend(0x8d1f3a5c7b926e04); }
  // What follows is done by this thread.
  void Lane(uint64_t lane) { Extend(0x3c6ef372fe94f82b + lane); }
  // The next operation copies other data than it did last.
  void Fresh() { Extend(0xa54ff53a5f1d36f1); }
  void Forget() { Extend(0x510e527fade682d1); }
  uint64_t Value() const { return value_; }

 private:
  void Extend(uint64_t by) {
    value_ = (value_ ^ by) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 32;
  }
  uint64_t value_ = 0;
};

// Operations with all their arguments, and the data that a copy from the host took along last if they are few: these
// are predicted to be the same again.
class OperationTable {
 public:
  // What a peer may make us keep.
  static constexpr size_t kMaxOperations = size_t{1} << 17;
  static constexpr size_t kMaxBytes = size_t{32} << 20;
  // Data of one operation that are kept.
  static constexpr size_t kMaxData = size_t{4} << 10;

  size_t size() const { return operations_.size(); }
  bool HasRoomFor(size_t head_bytes, size_t data_bytes) const {
    return operations_.size() < kMaxOperations && head_bytes + KeptBytes(data_bytes) <= kMaxBytes - bytes_;
  }
  // REQUIRES: HasRoomFor(head.size(), data.size()). The number of the new operation.
  OperationId Append(uint16_t number, std::span<const std::byte> head, std::span<const std::byte> data);
  void Clear();

  // REQUIRES: id < size().
  uint16_t Number(OperationId id) const { return operations_[id].number; }
  uint64_t Hash(OperationId id) const { return operations_[id].hash; }
  std::span<const std::byte> Head(OperationId id) const { return operations_[id].head; }
  bool Is(OperationId id, uint16_t number, std::span<const std::byte> head) const;
  // Empty if there are none or too many.
  std::span<const std::byte> Data(OperationId id) const { return operations_[id].data; }
  // Other data than the last time. REQUIRES: as many, 1 to kMaxData.
  void ReplaceData(OperationId id, std::span<const std::byte> data);

 private:
  static size_t KeptBytes(size_t data_bytes) { return data_bytes <= kMaxData ? data_bytes : 0; }
  struct Operation {
    std::vector<std::byte> head, data;
    uint64_t hash = 0;
    uint16_t number = 0;
  };
  std::vector<Operation> operations_;
  size_t bytes_ = 0;
};

// The operations of one thread of the program, the last kCapacity of them, and the place whose continuation is
// predicted to come again.
class History {
 public:
  static constexpr uint64_t kCapacity = uint64_t{1} << 16;

  // Index behind the last operation, counted from the first one ever.
  uint64_t End() const { return end_; }
  bool Holds(uint64_t index) const { return index < end_ && end_ - index <= kCapacity; }
  // REQUIRES: Holds(index).
  OperationId At(uint64_t index) const { return ring_[index % kCapacity]; }

  // Something to remember of an operation; 0 at first. REQUIRES: Holds(index).
  uint32_t NoteOf(uint64_t index) const { return notes_.empty() ? 0 : notes_[index % kCapacity]; }
  void SetNote(uint64_t index, uint32_t note);

  uint64_t Cursor() const { return cursor_; }
  // The operation predicted; kNoOperation if there is none.
  OperationId Predicted() const { return Holds(cursor_) ? At(cursor_) : kNoOperation; }
  // The predicted operation came. `keeps_note`: what was noted of it the last time still holds. REQUIRES: there is one.
  void Follow(bool keeps_note = false);
  // Another one came, and what followed the operation before `cursor` is now predicted.
  void Deviate(OperationId id, uint64_t cursor);

 private:
  void Append(OperationId id);

  std::vector<OperationId> ring_;
  std::vector<uint32_t> notes_;
  uint64_t end_ = 0, cursor_ = 0;
};

}  // namespace wharf::offload
