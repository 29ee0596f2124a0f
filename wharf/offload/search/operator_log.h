// The last operators of one lane, as 64-bit keys.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "wharf/offload/search/fingerprint.h"
#include "wharf/offload/search/sequence_finder.h"

namespace wharf::offload {

// What must be equal of an operator for it to be the same in another repeat.
inline uint64_t KeyOf(const OperatorRecord& record) {
  return Mix(record.identity ^ Mix(record.tag + static_cast<uint64_t>(record.operator_class)));
}

// A ring. Its memory is reserved at once but touched only as it fills.
class OperatorLog {
 public:
  explicit OperatorLog(uint64_t capacity)
      : mask_(std::bit_ceil(std::max<uint64_t>(capacity, 2)) - 1),
        keys_(std::make_unique_for_overwrite<uint64_t[]>(mask_ + 1)) {}

  // Returns the operator's index.
  uint64_t Append(uint64_t key) {
    keys_[size_ & mask_] = key;
    return size_++;
  }

  uint64_t Size() const { return size_; }  // ever
  bool Holds(uint64_t index) const { return index < size_ && size_ - index <= mask_ + 1; }
  // REQUIRES: Holds(index).
  uint64_t At(uint64_t index) const { return keys_[index & mask_]; }

  // Whether the last `length * repeats` operators are the last `length` again and again. O(length * repeats) at most.
  bool EndsWithRepeats(uint64_t length, uint64_t repeats) const {
    if (length == 0 || length > size_ / repeats || !Holds(size_ - length * repeats)) return false;
    for (uint64_t i = size_ - length; i-- > size_ - length * repeats;) {
      if (At(i) != At(i + length)) return false;
    }
    return true;
  }

 private:
  uint64_t mask_;
  std::unique_ptr<uint64_t[]> keys_;
  uint64_t size_ = 0;
};

}  // namespace wharf::offload
