// Tensors of a graph: element type, shape, and for those whose value is known before anything runs, the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"

namespace wharf::graph {

enum class ElementType : uint8_t { kFloat, kDouble, kInt8, kUint8, kInt16, kInt32, kInt64, kBool };

int64_t ByteSize(ElementType element);
std::string_view Name(ElementType element);  // "float32"

using Shape = std::vector<int64_t>;

struct TensorType {
  ElementType element = ElementType::kFloat;
  Shape shape;  // every dimension at least 0

  int Rank() const { return static_cast<int>(shape.size()); }
  int64_t Elements() const;
  int64_t Bytes() const { return Elements() * ByteSize(element); }
  std::string Text() const;  // "float32[1,3,224,224]"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// No tensor of a graph is larger; what claims to be is refused before memory is taken for it.
inline constexpr int64_t kMaxTensorBytes = int64_t{4} << 30;
// kInvalidArgument: a negative dimension, more than 8 of them, or more than kMaxTensorBytes.
absl::Status Validate(const TensorType& type);

// A tensor with its value: row-major, little-endian, shared and never changed. REQUIRES: bytes->size() == type.Bytes().
struct Constant {
  TensorType type;
  std::shared_ptr<const std::vector<std::byte>> bytes;

  template <typename T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(bytes->data()), bytes->size() / sizeof(T)};
  }
  template <typename T>
  static Constant Of(ElementType element, Shape shape, std::span<const T> values) {
    const auto raw = std::as_bytes(values);
    return {{element, std::move(shape)}, std::make_shared<const std::vector<std::byte>>(raw.begin(), raw.end())};
  }
};

// The elements of a constant of integers (or booleans), whatever their width. kInvalidArgument for other types.
absl::StatusOr<std::vector<int64_t>> Integers(const Constant& constant);
// The elements of a constant as numbers; integers beyond 2^53 are rounded.
std::vector<double> Numbers(const Constant& constant);

}  // namespace wharf::graph
