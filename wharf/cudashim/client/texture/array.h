// CUDA arrays of both APIs: ranges of the session's memory with a format and a shape. They lie as GPUs want
// two-dimensional textures to lie (device/texture.h), so there may be bytes behind a row. Copies to, from and between
// them are copies of boxes.
#pragma once

#include <memory>
#include <vector>

#include "wharf/cudashim/client/memory.h"
#include "wharf/device/texture.h"

namespace wharf::client {

// cudaArray… and CUDA_ARRAY3D_…
inline constexpr uint32_t kArrayLayered = 1, kArraySurface = 2, kArrayCubemap = 4, kArrayGather = 8;

struct Array {
  device::ImageDescription image;  // its extents are those that were asked for
  uint32_t flags = 0;
  uint64_t memory = 0;    // where the allocation begins that it lies in
  bool is_level = false;  // of a mipmapped array, with which it is freed
  uint32_t TexelBytes() const { return image.format.TexelBytes(); }
  uint64_t Row() const { return uint64_t{image.width} * TexelBytes(); }
  uint64_t Rows() const { return image.Rows(); }
  uint64_t Slices() const { return image.Slices(); }
};

// A cudaArray_t is a CUarray.
using ArrayHandle = const void*;

// Levels of detail in one allocation, as device::LevelOf says; each is an array, too.
struct MipmappedArray {
  std::vector<ArrayHandle> levels;  // the largest first
  uint64_t memory = 0;
};

// A cudaMipmappedArray_t is a CUmipmappedArray.
using MipmappedHandle = const void*;

// In texels, zero where there is no such dimension; depth: slices of a volume, layers, or faces.
struct ArrayExtent {
  uint64_t width = 0, height = 0, depth = 0;
};
// kInvalidValue for what is no shape of an array, or has none of the flags above.
WHARF_CLIENT_API CudaError MakeArray(const device::ChannelFormat& format, const ArrayExtent& extent, uint32_t flags,
                                     ArrayHandle* handle);
// kInvalidValue if it is none, or a level of another. Textures over it may live on: kernels that use them fault.
// Surfaces go, for the server keeps their memory equal to what they write.
WHARF_CLIENT_API CudaError FreeArray(ArrayHandle handle);
// nullptr if it is none, was freed, or went with its session.
WHARF_CLIENT_API std::shared_ptr<const Array> FindArray(ArrayHandle handle);
// `levels` is brought between 1 and those down to one texel.
WHARF_CLIENT_API CudaError MakeMipmappedArray(const device::ChannelFormat& format, const ArrayExtent& extent,
                                              uint32_t flags, uint32_t levels, MipmappedHandle* handle);
// kInvalidValue if it is none. As FreeArray.
WHARF_CLIENT_API CudaError FreeMipmappedArray(MipmappedHandle handle);
// nullptr as for FindArray.
WHARF_CLIENT_API std::shared_ptr<const MipmappedArray> FindMipmappedArray(MipmappedHandle handle);
// kInvalidValue if there is no such array or level.
WHARF_CLIENT_API CudaError GetLevel(MipmappedHandle handle, uint32_t level, ArrayHandle* array);
// The array, or a mipmapped array's first level, as FindArray.
WHARF_CLIENT_API std::shared_ptr<const Array> FindFirstLevel(ArrayHandle array, MipmappedHandle mipmapped);
// The box that begins at `x` bytes in row `y` of slice `z`; kInvalidValue unless all of it lies in the array.
WHARF_CLIENT_API CudaError BoxIn(const Array& array, uint64_t x, uint64_t y, uint64_t z, const device::Extent& extent,
                                 Box* box);

}  // namespace wharf::client
