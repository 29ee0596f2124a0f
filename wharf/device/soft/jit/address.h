// Addresses in LLVM IR as sums.
#pragma once

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Value.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace wharf::device::soft {

struct Bounds {
  __int128 low = 0, high = 0;
};

// What an integer (or each lane of a vector of integers) may be, extended with its sign to 64 bits, as the types and
// constants it is made of tell: whatever the flags and metadata of instructions promise is not believed. None if that
// is nothing of use.
std::optional<Bounds> BoundsOf(const llvm::Value* value);

// base + constant + the sum of summand * scale, modulo 2^64.
struct AddressSum {
  struct Summand {
    llvm::Value* value;  // an integer or a vector of integers of up to 64 bits, extended with its sign
    int64_t scale;
  };
  llvm::Value* base = nullptr;  // a pointer or a 64-bit integer, or a vector of these; null for none
  std::vector<Summand> summands;
  int64_t constant = 0;
  Bounds bounds;  // of all but the base
};

// Takes `address`, a pointer or a vector of pointers, apart so that the bounds stay within +-limit.
AddressSum TakeApart(llvm::Value* address, const llvm::DataLayout& layout, int64_t limit);

}  // namespace wharf::device::soft
