// The records of a Progress frame: what the program did, in terms of what both ends know (operation_history.h). Numbers
// are LEB128. docs/protocol.md, "Progress".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/offload/replay/operation_history.h"

namespace wharf::offload {

enum class RecordKind : uint8_t {
  kLane = 1,     // lane: what follows, frames with whole operations included, was done by this thread of the program
  kRun = 2,      // count: that many operations, each the one predicted
  kKnown = 3,    // operation, distance: this one came, and what is predicted begins `distance` before the history's end
  kVariant = 4,  // operation, ranges: one came that is new: this one with other bytes. The one predicted is skipped
  kForget = 5,   // both ends forget everything
  kWait = 6,     // the program goes on only with the answer to the last operation
  kFresh = 7,    // the next operation copies other data than it did last; they come with the frame
};

// Bytes of an operation's head that differ.
struct ChangedRange {
  uint32_t offset = 0;
  std::span<const std::byte> bytes;
};

class ProgressWriter {
 public:
  void Lane(uint64_t lane);
  // The predicted operation came. Consecutive ones become one record.
  void Advance() { ++run_; }
  void Known(OperationId operation, uint64_t distance);
  void Variant(OperationId of, std::span<const ChangedRange> changes);
  void Forget();
  void Wait();
  void Fresh();
  bool Empty() const { return run_ == 0 && bytes_.empty(); }
  // What was written since the last Clear; valid until the next call of a non-const method.
  const std::vector<std::byte>& Bytes();
  void Clear();

 private:
  void CloseRun();
  void Put(RecordKind kind) { bytes_.push_back(static_cast<std::byte>(kind)); }
  void Put(uint64_t value);

  std::vector<std::byte> bytes_;
  uint64_t run_ = 0;
};

struct ProgressRecord {
  RecordKind kind = RecordKind::kWait;
  uint64_t value = 0;  // lane, count or operation
  uint64_t distance = 0;
  std::vector<ChangedRange> changes;  // point into what is read
};

// Reads hostile bytes: a record cut short, of unknown kind or with more changes than bytes is kDataLoss.
class ProgressReader {
 public:
  explicit ProgressReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool AtEnd() const { return bytes_.empty(); }
  // REQUIRES: !AtEnd(). Reuses record's memory.
  absl::Status Next(ProgressRecord& record);

 private:
  std::optional<uint64_t> Number();
  absl::Status Changes(ProgressRecord& record);

  std::span<const std::byte> bytes_;
};

// The ranges in which `to` differs from `from`, of the same size; they point into `to`. Ranges closer together than
// a range costs are one.
void FindChanges(std::span<const std::byte> from, std::span<const std::byte> to, std::vector<ChangedRange>& changes);

}  // namespace wharf::offload
