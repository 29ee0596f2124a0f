// CUDA arrays: ranges of the session's memory with an element format and a shape. Kernels cannot reach them yet
// (textures and surfaces are refused), so rows simply lie one behind the other and copies are copies of boxes.
#pragma once

#include <cstdint>
#include <memory>

#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {

struct Array {
  cudaChannelFormatDesc format{};
  cudaExtent extent{};  // as it was asked for: in elements, zero where there is no such dimension
  unsigned flags = 0;
  uint64_t address = 0;
  uint32_t element_bytes = 0;
  uint64_t Row() const { return extent.width * element_bytes; }
  uint64_t Rows() const { return extent.height == 0 ? 1 : extent.height; }
  // Slices of a volume, layers or faces.
  uint64_t Slices() const { return extent.depth == 0 ? 1 : extent.depth; }
};

// nullptr if it is none, was freed, or went with its session.
std::shared_ptr<const Array> FindArray(cudaArray_const_t handle);

// The box that begins at `x` bytes in row `y` of slice `z`; kInvalidValue unless all of it lies in the array.
CudaError BoxIn(const Array& array, uint64_t x, uint64_t y, uint64_t z, const device::Extent& extent, client::Box* box);

// kInvalidMemcpyDirection unless `kind` copies to (from) a device, as a copy to (from) an array does.
CudaError CheckArrayDirection(cudaMemcpyKind kind, bool to_array, bool from_array);

}  // namespace wharf::cudashim
