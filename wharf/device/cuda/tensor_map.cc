// Tensor maps: the driver encodes them.
#include "wharf/device/tensor_map.h"

#include "wharf/device/cuda/cuda_device.h"

namespace wharf::device::cuda {

absl::StatusOr<TensorMap> CudaDevice::EncodeTensorMap(const TensorMapDescription& d) {
  WHARF_RETURN_IF_ERROR(gpu_->Enter());
  const uint32_t least = d.kind == TensorMapKind::kTiled ? 1 : 3;
  if (d.rank < least || d.rank > kMostTensorMapDims) {
    return CudaStatus(CudaError::kInvalidValue, "a tensor map of {} dimensions", d.rank);
  }
  struct alignas(128) Aligned {
    TensorMap bytes;
  } map;
  auto* const address = reinterpret_cast<void*>(d.address);
  const Result result =
      d.kind == TensorMapKind::kTiled
          ? (*gpu_)->TensorMapEncodeTiled(&map, d.data_type, d.rank, address, d.extents.data(), d.strides.data(),
                                          d.box.data(), d.element_strides.data(), d.interleave, d.swizzle,
                                          d.l2_promotion, d.fill)
          : (*gpu_)->TensorMapEncodeIm2col(&map, d.data_type, d.rank, address, d.extents.data(), d.strides.data(),
                                           d.lower_corner.data(), d.upper_corner.data(), d.channels_per_pixel,
                                           d.pixels_per_column, d.element_strides.data(), d.interleave, d.swizzle,
                                           d.l2_promotion, d.fill);
  WHARF_RETURN_IF_ERROR(gpu_->Check(result, "cuTensorMapEncode"));
  return map.bytes;
}

}  // namespace wharf::device::cuda
