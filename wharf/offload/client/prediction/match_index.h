// MatchIndex: where in a History the program was in the same situation before. The situation is the last operations;
// of the places found, the one is taken that agrees with the most of them. This is the match finder of an LZ77
// compressor over a stream of operations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wharf/offload/replay/operation_history.h"

namespace wharf::offload {

// Not thread-safe.
class MatchIndex {
 public:
  // Notes the history's last operation. Amortised O(1).
  void Note(const History& history);
  // The index behind an earlier occurrence of `id`, best fitting what came before the history's end; nullopt if it
  // is not remembered. O(kLongestMatch).
  std::optional<uint64_t> Find(const History& history, OperationId id) const;
  void Clear();

  static constexpr uint64_t kLongestMatch = 64;

 private:
  // Contexts of 8, 4 and 2 operations: 8, 16 and 32 bits of a context's 64 belong to each.
  static constexpr int kOrders = 3;
  static constexpr int kShifts[kOrders] = {8, 16, 32};
  static constexpr size_t kSlots = size_t{1} << 15;

  static uint64_t Extend(uint64_t context, int shift, OperationId id);
  static size_t Slot(uint64_t context);

  uint64_t contexts_[kOrders] = {};
  std::vector<uint64_t> places_[kOrders];  // slot -> index behind the operation, 0: none
  std::vector<uint64_t> by_operation_;     // operation -> index behind it, 0: none
};

}  // namespace wharf::offload
