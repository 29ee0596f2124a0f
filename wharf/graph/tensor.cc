#include "wharf/graph/tensor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace wharf::graph {
namespace {

struct ElementFacts {
  ElementType element;
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<ElementFacts, 8> kElements = {{{ElementType::kFloat, "float32", 4},
                                                    {ElementType::kDouble, "float64", 8},
                                                    {ElementType::kInt8, "int8", 1},
                                                    {ElementType::kUint8, "uint8", 1},
                                                    {ElementType::kInt16, "int16", 2},
                                                    {ElementType::kInt32, "int32", 4},
                                                    {ElementType::kInt64, "int64", 8},
                                                    {ElementType::kBool, "bool", 1}}};

const ElementFacts& Facts(ElementType element) { return kElements[static_cast<size_t>(element)]; }

template <typename From, typename To>
std::vector<To> Converted(const Constant& constant) {
  const auto values = constant.As<From>();
  return std::vector<To>(values.begin(), values.end());
}

}  // namespace

int64_t ByteSize(ElementType element) { return Facts(element).bytes; }
std::string_view Name(ElementType element) { return Facts(element).name; }

int64_t TensorType::Elements() const {
  int64_t elements = 1;
  for (const int64_t n : shape) elements *= n;
  return elements;
}

std::string TensorType::Text() const { return fmt::format("{}[{}]", Name(element), fmt::join(shape, ",")); }

absl::Status Validate(const TensorType& type) {
  if (type.Rank() > 8) return InvalidArgument("{} has more than 8 dimensions", type.Text());
  int64_t bytes = ByteSize(type.element);
  for (const int64_t n : type.shape) {
    if (n < 0) return InvalidArgument("{} has a negative dimension", type.Text());
    if (n > 0 && bytes > kMaxTensorBytes / n) {
      return InvalidArgument("{} is larger than {} GiB", type.Text(), kMaxTensorBytes >> 30);
    }
    bytes *= std::max<int64_t>(n, 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> Integers(const Constant& constant) {
  switch (constant.type.element) {
    case ElementType::kInt64:
      return Converted<int64_t, int64_t>(constant);
    case ElementType::kInt32:
      return Converted<int32_t, int64_t>(constant);
    case ElementType::kInt16:
      return Converted<int16_t, int64_t>(constant);
    case ElementType::kInt8:
      return Converted<int8_t, int64_t>(constant);
    case ElementType::kUint8:
    case ElementType::kBool:
      return Converted<uint8_t, int64_t>(constant);
    case ElementType::kFloat:
    case ElementType::kDouble:
      break;
  }
  return InvalidArgument("{} holds no integers", constant.type.Text());
}

std::vector<double> Numbers(const Constant& constant) {
  if (constant.type.element == ElementType::kFloat) return Converted<float, double>(constant);
  if (constant.type.element == ElementType::kDouble) return Converted<double, double>(constant);
  const auto integers = Integers(constant);
  return std::vector<double>(integers->begin(), integers->end());
}

}  // namespace wharf::graph
