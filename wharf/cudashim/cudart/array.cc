// Making, freeing and describing CUDA arrays.
#include "wharf/cudashim/cudart/array.h"

namespace wharf::cudashim {
namespace {

// What `make` makes of the format and the extents: an array, or a mipmapped one.
template <typename Handle, typename Make>
CudaError MakeArray(Handle* handle, const cudaChannelFormatDesc* format, const cudaExtent& extent, const Make& make) {
  if (handle == nullptr || format == nullptr) return CudaError::kInvalidValue;
  const std::optional<device::ChannelFormat> texels = FormatOf(*format);
  if (!texels) return client::kInvalidChannelDescriptor;
  const void* made = nullptr;
  const CudaError error = make(*texels, client::ArrayExtent{extent.width, extent.height, extent.depth}, &made);
  if (error == CudaError::kSuccess) *handle = static_cast<Handle>(const_cast<void*>(made));
  return error;
}

CudaError MakePlain(cudaArray_t* handle, const cudaChannelFormatDesc* format, const cudaExtent& extent,
                    unsigned flags) {
  return MakeArray(handle, format, extent, [flags](const auto& texels, const auto& texel_extent, const void** made) {
    return client::MakeArray(texels, texel_extent, flags, made);
  });
}

}  // namespace

std::optional<device::ChannelFormat> FormatOf(const cudaChannelFormatDesc& format) {
  const int bits = format.x;
  const bool integer = format.f == cudaChannelFormatKindSigned || format.f == cudaChannelFormatKindUnsigned;
  if (!integer && format.f != cudaChannelFormatKindFloat) return std::nullopt;
  if (bits != 16 && bits != 32 && !(bits == 8 && integer)) return std::nullopt;
  const bool one = format.y == 0 && format.z == 0 && format.w == 0;
  const bool two = format.y == bits && format.z == 0 && format.w == 0;
  const bool four = format.y == bits && format.z == bits && format.w == bits;
  if (!one && !two && !four) return std::nullopt;
  // The kinds have the same numbers.
  return device::ChannelFormat{static_cast<device::ChannelKind>(format.f), static_cast<uint8_t>(bits),
                               static_cast<uint8_t>(one   ? 1
                                                    : two ? 2
                                                          : 4)};
}

cudaChannelFormatDesc DescribeFormat(const device::ChannelFormat& format) {
  const auto bits = [&](int channel) { return channel < format.channels ? int{format.bits} : 0; };
  return {bits(0), bits(1), bits(2), bits(3), static_cast<cudaChannelFormatKind>(format.kind)};
}

CudaError CheckArrayDirection(cudaMemcpyKind kind, bool to_array, bool from_array) {
  const bool to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
  const bool from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
  const bool right = (!to_array || to) && (!from_array || from);
  return right ? CudaError::kSuccess : CudaError::kInvalidMemcpyDirection;
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width, size_t height,
                            unsigned flags) {
  return Runtime(Call::k_cudaMallocArray, [&] {
    // Layers and cubes have a depth, which only cudaMalloc3DArray takes.
    if ((flags & (cudaArrayLayered | cudaArrayCubemap)) != 0) return CudaError::kInvalidValue;
    return MakePlain(array, format, {width, height, 0}, flags);
  });
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
  return Runtime(Call::k_cudaMalloc3DArray, [&] { return MakePlain(array, format, extent, flags); });
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  return Runtime(Call::k_cudaFreeArray,
                 [&] { return array == nullptr ? CudaError::kSuccess : client::FreeArray(array); });
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array, const cudaChannelFormatDesc* format,
                                     cudaExtent extent, unsigned levels, unsigned flags) {
  return Runtime(Call::k_cudaMallocMipmappedArray, [&] {
    return MakeArray(array, format, extent, [&](const auto& texels, const auto& texel_extent, const void** made) {
      return client::MakeMipmappedArray(texels, texel_extent, flags, levels, made);
    });
  });
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level_array, cudaMipmappedArray_const_t array, unsigned level) {
  return Runtime(Call::k_cudaGetMipmappedArrayLevel, [&] {
    client::ArrayHandle found = nullptr;
    const CudaError error = level_array == nullptr ? CudaError::kInvalidValue : client::GetLevel(array, level, &found);
    if (error == CudaError::kSuccess) *level_array = static_cast<cudaArray_t>(const_cast<void*>(found));
    return error;
  });
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  return Runtime(Call::k_cudaFreeMipmappedArray,
                 [&] { return array == nullptr ? CudaError::kSuccess : client::FreeMipmappedArray(array); });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t handle) {
  return Runtime(Call::k_cudaArrayGetInfo, [&] {
    const std::shared_ptr<const Array> array = FindArray(handle);
    if (array == nullptr) return CudaError::kInvalidValue;
    const device::ImageDescription& image = array->image;
    if (format != nullptr) *format = DescribeFormat(image.format);
    if (extent != nullptr) *extent = {image.width, image.height, image.depth};
    if (flags != nullptr) *flags = array->flags;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t handle) {
  return Runtime(Call::k_cudaGetChannelDesc, [&] {
    const std::shared_ptr<const Array> array = FindArray(handle);
    if (format == nullptr || array == nullptr) return CudaError::kInvalidValue;
    *format = DescribeFormat(array->image.format);
    return CudaError::kSuccess;
  });
}

}  // extern "C"
