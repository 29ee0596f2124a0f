// What tests of primitives share.
#pragma once

#include <array>

#include "wharf/device/primitive.h"

namespace wharf::device {

// Row-major, without gaps.
inline Tensor Packed(std::array<int32_t, kTensorDims> dims, DeviceAddress address,
                     ElementType type = ElementType::kF32) {
  Tensor tensor;
  tensor.address = address;
  tensor.type = type;
  tensor.dims = dims;
  int32_t stride = 1;
  for (int i = kTensorDims - 1; i >= 0; --i) {
    tensor.strides[i] = stride;
    stride *= dims[i];
  }
  return tensor;
}

}  // namespace wharf::device
