// Tensor maps: how kernels of compute capability 9.0 and newer name a tensor to the tensor memory accelerator (CUDA
// driver API, "Tensor Map Object Management"). 128 bytes that a GPU's driver encodes, which programs hand to kernels as
// parameters or in memory.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "wharf/device/device.h"

namespace wharf::device {

inline constexpr uint32_t kMostTensorMapDims = 5;

// The numeric value is sent on the wire.
enum class TensorMapKind : uint8_t { kTiled = 0, kIm2col = 1 };

// The arguments of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, enumerations by CUDA's numbers. Of the arrays
// the first `rank` count, of `strides` (bytes) one less, of the corners (kIm2col) two less.
struct TensorMapDescription {
  TensorMapKind kind = TensorMapKind::kTiled;
  uint8_t data_type = 0, rank = 0, interleave = 0, swizzle = 0, l2_promotion = 0, fill = 0;
  DeviceAddress address = 0;
  std::array<uint64_t, kMostTensorMapDims> extents{};
  std::array<uint64_t, kMostTensorMapDims - 1> strides{};
  std::array<uint32_t, kMostTensorMapDims> box{};  // kTiled
  std::array<uint32_t, kMostTensorMapDims> element_strides{};
  std::array<int32_t, kMostTensorMapDims - 2> lower_corner{}, upper_corner{};  // kIm2col
  uint32_t channels_per_pixel = 0, pixels_per_column = 0;                      // kIm2col
  friend auto operator<=>(const TensorMapDescription&, const TensorMapDescription&) = default;
};

}  // namespace wharf::device
