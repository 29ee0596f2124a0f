// How many bytes a box holds, refusing what overflows or does not fit in a frame.
#pragma once

#include "wharf/device/cuda_error.h"
#include "wharf/device/device.h"
#include "wharf/offload/wire.h"

namespace wharf::offload {

// width * height * depth; kInvalidValue if that overflows.
inline absl::StatusOr<uint64_t> ExtentBytes(const device::Extent& extent) {
  uint64_t rows = 0, bytes = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows) ||
      __builtin_mul_overflow(extent.width, rows, &bytes)) {
    return device::CudaStatus(device::CudaError::kInvalidValue, "a copy of {} x {} x {} bytes is too large",
                              extent.width, extent.height, extent.depth);
  }
  return bytes;
}

// The same for a copy whose bytes travel in one frame: kInvalidValue beyond kMaxBulkBytes.
inline absl::StatusOr<uint64_t> CopyBytes(const device::Extent& extent) {
  WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, ExtentBytes(extent));
  if (bytes > kMaxBulkBytes) {
    return device::CudaStatus(device::CudaError::kInvalidValue, "a copy of {} bytes in one piece; at most {}", bytes,
                              kMaxBulkBytes);
  }
  return bytes;
}

}  // namespace wharf::offload
