// Copies to, from and between CUDA arrays, but for cudaMemcpy3D. Offsets and widths are in bytes here.
#include <algorithm>

#include "wharf/cudashim/cudart/array.h"

namespace wharf::cudashim {
namespace {

// One side of a copy: an array from (x, y) on, or plain memory.
struct Side {
  std::shared_ptr<const Array> array;
  uint64_t x = 0, y = 0;
  client::Box plain;
};

CudaError ArraySide(cudaArray_const_t handle, size_t x, size_t y, Side* side) {
  *side = {FindArray(handle), x, y, {}};
  return side->array == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
}

Side PlainSide(const void* pointer, size_t pitch) { return {nullptr, 0, 0, {Address(pointer), pitch, 0}}; }

CudaError BoxOf(const Side& side, const device::Extent& extent, client::Box* box) {
  if (side.array != nullptr) return BoxIn(*side.array, side.x, side.y, 0, extent, box);
  *box = side.plain;
  return side.plain.row_pitch < extent.width ? CudaError::kInvalidPitchValue : CudaError::kSuccess;
}

CudaError CopySides(const Side& to, const Side& from, const device::Extent& extent, cudaMemcpyKind kind,
                    cudaStream_t stream, bool async) {
  client::CopyKind direction{};
  client::Box to_box, from_box;
  CudaError error = Direction(kind, &direction);
  if (error == CudaError::kSuccess) error = CheckArrayDirection(kind, to.array != nullptr, from.array != nullptr);
  if (error == CudaError::kSuccess) error = BoxOf(to, extent, &to_box);
  if (error == CudaError::kSuccess) error = BoxOf(from, extent, &from_box);
  return error != CudaError::kSuccess ? error
                                      : client::Copy(Stream(stream), to_box, from_box, extent, direction, async);
}

// The forms that are told a number of bytes, which run on from row to row. Plain memory is one long row.
uint64_t LeftInRow(const Side& side, uint64_t count) {
  return side.array == nullptr ? count : side.array->Row() - side.x;
}
bool AtRow(const Side& side, uint64_t row) {
  return side.array == nullptr || (side.x == 0 && side.array->Row() == row);
}

void Advance(Side* side, uint64_t bytes) {
  if (side->array == nullptr) {
    side->plain.address += bytes;
    return;
  }
  side->x += bytes;
  side->y += side->x / side->array->Row();
  side->x %= side->array->Row();
}

// Whether `count` bytes lie behind the beginning.
bool Holds(const Side& side, uint64_t count) {
  if (side.array == nullptr) return true;
  const uint64_t all = side.array->Row() * side.array->Rows();
  if (side.x >= side.array->Row() || side.y >= side.array->Rows()) return count == 0;
  return count <= all - (side.y * side.array->Row() + side.x);
}

CudaError CopyCount(Side to, Side from, uint64_t count, cudaMemcpyKind kind, cudaStream_t stream, bool async) {
  if (!Holds(to, count) || !Holds(from, count)) return CudaError::kInvalidValue;
  const uint64_t row = to.array != nullptr ? to.array->Row() : from.array->Row();  // without what lies behind it
  while (count != 0) {
    device::Extent extent{std::min({count, LeftInRow(to, count), LeftInRow(from, count)}), 1, 1};
    if (AtRow(to, row) && AtRow(from, row) && count >= row) extent = {row, count / row, 1};
    for (Side* side : {&to, &from}) {
      if (side->array == nullptr) side->plain.row_pitch = extent.width;
    }
    const CudaError error = CopySides(to, from, extent, kind, stream, async);
    if (error != CudaError::kSuccess) return error;
    const uint64_t done = extent.width * extent.height;
    Advance(&to, done);
    Advance(&from, done);
    count -= done;
  }
  return CudaError::kSuccess;
}

CudaError PlaneTo(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, const device::Extent& extent,
                  cudaMemcpyKind kind, cudaStream_t stream, bool async) {
  Side side;
  const CudaError error = ArraySide(to, x, y, &side);
  return error != CudaError::kSuccess ? error : CopySides(side, PlainSide(from, pitch), extent, kind, stream, async);
}

CudaError PlaneFrom(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, const device::Extent& extent,
                    cudaMemcpyKind kind, cudaStream_t stream, bool async) {
  Side side;
  const CudaError error = ArraySide(from, x, y, &side);
  return error != CudaError::kSuccess ? error : CopySides(PlainSide(to, pitch), side, extent, kind, stream, async);
}

CudaError CountTo(cudaArray_t to, size_t x, size_t y, const void* from, size_t count, cudaMemcpyKind kind,
                  cudaStream_t stream, bool async) {
  Side side;
  const CudaError error = ArraySide(to, x, y, &side);
  return error != CudaError::kSuccess ? error : CopyCount(side, PlainSide(from, 0), count, kind, stream, async);
}

CudaError CountFrom(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count, cudaMemcpyKind kind,
                    cudaStream_t stream, bool async) {
  Side side;
  const CudaError error = ArraySide(from, x, y, &side);
  return error != CudaError::kSuccess ? error : CopyCount(PlainSide(to, 0), side, count, kind, stream, async);
}

CudaError BothSides(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x, size_t from_y,
                    Side* to_side, Side* from_side) {
  const CudaError error = ArraySide(to, to_x, to_y, to_side);
  return error != CudaError::kSuccess ? error : ArraySide(from, from_x, from_y, from_side);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpy2DToArray, [&] {
    return PlaneTo(to, x, y, from, pitch, {width, height, 1}, kind, nullptr, false);
  });
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpy2DToArrayAsync, [&] {
    return PlaneTo(to, x, y, from, pitch, {width, height, 1}, kind, stream, true);
  });
}

cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpy2DFromArray, [&] {
    return PlaneFrom(to, pitch, from, x, y, {width, height, 1}, kind, nullptr, false);
  });
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpy2DFromArrayAsync, [&] {
    return PlaneFrom(to, pitch, from, x, y, {width, height, 1}, kind, stream, true);
  });
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpy2DArrayToArray, [&] {
    Side to_side, from_side;
    const CudaError error = BothSides(to, to_x, to_y, from, from_x, from_y, &to_side, &from_side);
    return error != CudaError::kSuccess ? error
                                        : CopySides(to_side, from_side, {width, height, 1}, kind, nullptr, false);
  });
}

cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t count, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpyToArray, [&] { return CountTo(to, x, y, from, count, kind, nullptr, false); });
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t count,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpyToArrayAsync, [&] { return CountTo(to, x, y, from, count, kind, stream, true); });
}

cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpyFromArray, [&] { return CountFrom(to, from, x, y, count, kind, nullptr, false); });
}

cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpyFromArrayAsync,
                 [&] { return CountFrom(to, from, x, y, count, kind, stream, true); });
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                   size_t from_y, size_t count, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpyArrayToArray, [&] {
    Side to_side, from_side;
    const CudaError error = BothSides(to, to_x, to_y, from, from_x, from_y, &to_side, &from_side);
    return error != CudaError::kSuccess ? error : CopyCount(to_side, from_side, count, kind, nullptr, false);
  });
}

}  // extern "C"
