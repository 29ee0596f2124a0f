// CUDA arrays of both APIs: ranges of the session's memory with a format and a shape. They lie as GPUs want
// two-dimensional textures to lie (device/texture.h), so there may be bytes behind a row. Copies to, from and between
// them are copies of boxes.
#pragma once

#include <memory>

#include "wharf/cudashim/client/memory.h"
#include "wharf/device/texture.h"

namespace wharf::client {

// cudaArray… and CUDA_ARRAY3D_…
inline constexpr uint32_t kArrayLayered = 1, kArraySurface = 2, kArrayCubemap = 4, kArrayGather = 8;

struct Array {
  device::ImageDescription image;  // its extents are those that were asked for
  uint32_t flags = 0;
  uint32_t TexelBytes() const { return image.format.TexelBytes(); }
  uint64_t Row() const { return uint64_t{image.width} * TexelBytes(); }
  uint64_t Rows() const { return image.Rows(); }
  uint64_t Slices() const { return image.Slices(); }
};

// A cudaArray_t is a CUarray.
using ArrayHandle = const void*;

// In texels, zero where there is no such dimension; depth: slices of a volume, layers, or faces.
struct ArrayExtent {
  uint64_t width = 0, height = 0, depth = 0;
};
// kInvalidValue for what is no shape of an array, or has none of the flags above.
WHARF_CLIENT_API CudaError MakeArray(const device::ChannelFormat& format, const ArrayExtent& extent, uint32_t flags,
                                     ArrayHandle* handle);
// kInvalidValue if it is none. Textures and surfaces over it may live on: kernels that use them fault.
WHARF_CLIENT_API CudaError FreeArray(ArrayHandle handle);
// nullptr if it is none, was freed, or went with its session.
WHARF_CLIENT_API std::shared_ptr<const Array> FindArray(ArrayHandle handle);
// The box that begins at `x` bytes in row `y` of slice `z`; kInvalidValue unless all of it lies in the array.
WHARF_CLIENT_API CudaError BoxIn(const Array& array, uint64_t x, uint64_t y, uint64_t z, const device::Extent& extent,
                                 Box* box);

}  // namespace wharf::client
