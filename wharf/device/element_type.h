// Types of the elements of matrices and tensors, and their sizes: both device drivers check operands with them.
#pragma once

#include <cstdint>

namespace wharf::device {

enum class ElementType : uint8_t { kF16, kBF16, kF32, kF64, kC32, kC64, kI8, kI32 };

// Bytes of one element.
constexpr uint64_t ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kI8:
      return 1;
    case ElementType::kF16:
    case ElementType::kBF16:
      return 2;
    case ElementType::kF32:
    case ElementType::kI32:
      return 4;
    case ElementType::kF64:
    case ElementType::kC32:
      return 8;
    case ElementType::kC64:
      return 16;
  }
  return 0;
}

}  // namespace wharf::device
