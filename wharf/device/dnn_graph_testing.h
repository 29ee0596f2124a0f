// Makes descriptions of graphs (dnn_graph.h) for tests.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "wharf/device/dnn_graph.h"

namespace wharf::device {

// The vendor's numbers, of what tests describe.
namespace dnn {
inline constexpr int kFloat = 0, kBFloat16 = 9;  // data
inline constexpr int kDataType = 1, kBoolean = 2, kInteger = 3, kMode = 14, kOperator = 18, kConvolutionMode = 7;
inline constexpr int kAdd = 0, kMultiply = 1, kDivide = 6, kSubtract = 9, kExp = 13;  // element-wise
}  // namespace dnn

class DnnGraphMaker {
 public:
  enum Kind { kPlain, kVirtual, kByValue };

  // Its index. Without gaps unless `strides` are given.
  int64_t Tensor(int64_t number, std::vector<int64_t> dims, Kind kind = kPlain, int type = dnn::kFloat,
                 std::vector<int64_t> strides = {}, int64_t ragged = -1) {
    if (strides.empty()) {
      strides.assign(dims.size(), 1);
      for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
    }
    writer_.Descriptor(kDnnTensor, ragged < 0 ? 6 : 7);
    writer_.Attribute(kDnnDataType, dnn::kDataType, std::vector<int64_t>{type});
    writer_.Attribute(kDnnDims, dnn::kInteger, dims);
    writer_.Attribute(kDnnStrides, dnn::kInteger, strides);
    writer_.Attribute(kDnnNumber, dnn::kInteger, std::vector<int64_t>{number});
    writer_.Attribute(kDnnIsVirtual, dnn::kBoolean, std::vector<int64_t>{kind == kVirtual});
    writer_.Attribute(kDnnIsByValue, dnn::kBoolean, std::vector<int64_t>{kind == kByValue});
    if (ragged >= 0) writer_.Attribute(kDnnRaggedOffset, kDnnReference, std::vector<int64_t>{ragged});
    return count_++;
  }
  struct Setting {
    int name, type;
    std::vector<int64_t> numbers;
  };
  // One without references.
  int64_t Form(int type, const std::vector<Setting>& settings) {
    writer_.Descriptor(type, static_cast<int64_t>(settings.size()));
    for (const Setting& setting : settings) writer_.Attribute(setting.name, setting.type, setting.numbers);
    return count_++;
  }
  int64_t Operation(int type, const std::vector<std::pair<int, int64_t>>& links) {
    writer_.Descriptor(type, static_cast<int64_t>(links.size()));
    for (const auto& [name, index] : links) writer_.Attribute(name, kDnnReference, std::vector<int64_t>{index});
    operations_.push_back(count_);
    return count_++;
  }
  // `b` below 0: none.
  int64_t Pointwise(int64_t mode, int64_t x, int64_t b, int64_t y) {
    const int64_t form = Form(0, {{0, dnn::kMode, {mode}}});
    if (b < 0) return Operation(13, {{750, form}, {751, x}, {753, y}});
    return Operation(13, {{750, form}, {751, x}, {752, b}, {753, y}});
  }
  int64_t Product(int64_t a, int64_t b, int64_t c) {
    const int64_t form = Form(18, {{1500, dnn::kDataType, {dnn::kFloat}}});
    return Operation(19, {{1520, a}, {1521, b}, {1522, c}, {1523, form}});
  }
  // The largest, or the sum.
  int64_t Reduce(bool largest, int64_t x, int64_t y) {
    const int64_t form = Form(21, {{1600, dnn::kOperator, {largest ? 3 : 0}}});
    return Operation(22, {{1610, x}, {1611, y}, {1612, form}});
  }
  std::vector<std::byte> Take() {
    writer_.Descriptor(kDnnOperationGraph, 1);
    writer_.Attribute(801, kDnnReference, operations_);
    return writer_.Take();
  }

 private:
  DnnDescriptionWriter writer_;
  int64_t count_ = 0;
  std::vector<int64_t> operations_;
};

inline uint64_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// y = scale (a b), of 2 by 2 matrices: tensors 1, 2, 3, and 4, which is given by value.
inline DnnGraph ScaledProduct(uint64_t a, uint64_t b, uint64_t y, float scale) {
  DnnGraphMaker maker;
  const std::vector<int64_t> dims{1, 2, 2};
  const int64_t first = maker.Tensor(1, dims), second = maker.Tensor(2, dims), result = maker.Tensor(3, dims);
  const int64_t factor = maker.Tensor(4, {1, 1, 1}, DnnGraphMaker::kByValue);
  const int64_t product = maker.Tensor(5, dims, DnnGraphMaker::kVirtual);
  maker.Product(first, second, product);
  maker.Pointwise(dnn::kMultiply, product, factor, result);
  DnnGraph graph;
  graph.tensors = {{1, a}, {2, b}, {3, y}};
  graph.scalars = {{4, BitsOf(scale)}};
  graph.description = maker.Take();
  return graph;
}

}  // namespace wharf::device
