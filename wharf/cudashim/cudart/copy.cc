// cudaMemcpy in all its forms.
#include "wharf/cudashim/cudart/copy_box.h"

#include <algorithm>

#include "wharf/cudashim/client/module.h"

namespace wharf::cudashim {
namespace {

CudaError CopyBox(cudaStream_t stream, const client::Box& to, const client::Box& from, const device::Extent& extent,
                  cudaMemcpyKind kind, bool async) {
  client::CopyKind direction{};
  const CudaError error = Direction(kind, &direction);
  return error != CudaError::kSuccess ? error : client::Copy(Stream(stream), to, from, extent, direction, async);
}

CudaError CopyLine(cudaStream_t stream, const void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                   bool async) {
  return CopyBox(stream, {Address(to), 0, 0}, {Address(from), 0, 0}, {bytes, 1, 1}, kind, async);
}

CudaError CopyPlane(cudaStream_t stream, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t height, cudaMemcpyKind kind, bool async) {
  if (to_pitch < width || from_pitch < width) return CudaError::kInvalidPitchValue;
  return CopyBox(stream, {Address(to), to_pitch, 0}, {Address(from), from_pitch, 0}, {width, height, 1}, kind, async);
}

// One side of cudaMemcpy3D. Positions in an array count its elements; `extent` is in bytes.
CudaError DescribeSide(const Array* array, cudaArray_t handle, const cudaPitchedPtr& plain, const cudaPos& position,
                       uint32_t unit, const device::Extent& extent, cudagraph::CopySide* side) {
  *side = {{}, handle, Address(plain.ptr), plain.pitch, plain.ysize, 0, position.y, position.z, false};
  if (__builtin_mul_overflow(position.x, unit, &side->x)) return CudaError::kInvalidValue;
  if (array == nullptr) {
    const uint64_t slice = plain.pitch * plain.ysize;
    side->box = {Address(plain.ptr) + position.z * slice + position.y * plain.pitch + side->x, plain.pitch, slice};
    return CudaError::kSuccess;
  }
  client::Box box;
  const CudaError error = BoxIn(*array, side->x, side->y, side->z, extent, &box);
  side->box = {box.address, box.row_pitch, box.slice_pitch};
  return error;
}

// The bytes of an element, by which extents and positions count if there is an array, those in plain memory too, as
// NVIDIA's runtime has it; 1 if there is none.
CudaError UnitOf(const cudaMemcpy3DParms& p, const Array* to, const Array* from, uint32_t* unit) {
  *unit = 1;
  if (p.dstArray == nullptr && p.srcArray == nullptr) return CudaError::kSuccess;
  const bool twice =
      (p.dstArray != nullptr && p.dstPtr.ptr != nullptr) || (p.srcArray != nullptr && p.srcPtr.ptr != nullptr);
  if (twice || (to == nullptr) != (p.dstArray == nullptr) || (from == nullptr) != (p.srcArray == nullptr)) {
    return CudaError::kInvalidValue;
  }
  *unit = to != nullptr ? to->TexelBytes() : from->TexelBytes();
  if (from != nullptr && from->TexelBytes() != *unit) return CudaError::kInvalidValue;
  uint64_t width = 0;
  if (__builtin_mul_overflow(p.extent.width, *unit, &width)) return CudaError::kInvalidValue;
  const CudaError error = CheckArrayDirection(p.kind, to != nullptr, from != nullptr);
  if (error != CudaError::kSuccess) return error;
  const bool narrow = (to == nullptr && p.dstPtr.pitch < width) || (from == nullptr && p.srcPtr.pitch < width);
  return narrow ? CudaError::kInvalidPitchValue : CudaError::kSuccess;
}

CudaError CopyVolume(const cudaMemcpy3DParms* p, cudaStream_t stream, bool async) {
  cudagraph::CopyParams copy;
  if (p == nullptr) return CudaError::kInvalidValue;
  const CudaError error = DescribeCopy(*p, &copy);
  if (error != CudaError::kSuccess) return error;
  const device::Region &to = copy.to.box, &from = copy.from.box;
  return CopyBox(stream, {to.address, to.row_pitch, to.slice_pitch}, {from.address, from.row_pitch, from.slice_pitch},
                 copy.extent, p->kind, async);
}

CudaError CopyToSymbol(const void* symbol, const void* from, size_t count, size_t offset, cudaMemcpyKind kind,
                       cudaStream_t stream, bool async) {
  void* to = nullptr;
  const CudaError error = SymbolRange(symbol, offset, count, &to);
  return error != CudaError::kSuccess ? error : CopyLine(stream, to, from, count, kind, async);
}

CudaError CopyFromSymbol(void* to, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                         cudaStream_t stream, bool async) {
  void* from = nullptr;
  const CudaError error = SymbolRange(symbol, offset, count, &from);
  return error != CudaError::kSuccess ? error : CopyLine(stream, to, from, count, kind, async);
}

CudaError CheckDevices(int to, int from) {
  return to == 0 && from == 0 ? CudaError::kSuccess : CudaError::kInvalidDevice;
}

}  // namespace

CudaError DescribeCopy(const cudaMemcpy3DParms& given, cudagraph::CopyParams* copy) {
  const std::shared_ptr<const Array> to = given.dstArray == nullptr ? nullptr : FindArray(given.dstArray);
  const std::shared_ptr<const Array> from = given.srcArray == nullptr ? nullptr : FindArray(given.srcArray);
  client::CopyKind direction{};
  uint32_t unit = 1;
  CudaError error = UnitOf(given, to.get(), from.get(), &unit);
  if (error == CudaError::kSuccess) error = Direction(given.kind, &direction);
  if (error != CudaError::kSuccess) return error;
  copy->kind = given.kind;
  copy->extent = {given.extent.width * unit, given.extent.height, given.extent.depth};
  error = DescribeSide(to.get(), given.dstArray, given.dstPtr, given.dstPos, unit, copy->extent, &copy->to);
  if (error != CudaError::kSuccess) return error;
  return DescribeSide(from.get(), given.srcArray, given.srcPtr, given.srcPos, unit, copy->extent, &copy->from);
}

CudaError SymbolRange(const void* symbol, size_t offset, size_t count, void** pointer) {
  uint64_t address = 0, size = 0;
  const CudaError error = client::FindHostVariable(symbol, &address, &size);
  if (error != CudaError::kSuccess) return error;
  if (offset > size || count > size - offset) return CudaError::kInvalidValue;
  *pointer = reinterpret_cast<void*>(address + offset);
  return CudaError::kSuccess;
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpy, [&] { return CopyLine(nullptr, to, from, count, kind, false); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpyAsync, [&] { return CopyLine(stream, to, from, count, kind, true); });
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpy2D,
                 [&] { return CopyPlane(nullptr, to, to_pitch, from, from_pitch, width, height, kind, false); });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpy2DAsync,
                 [&] { return CopyPlane(stream, to, to_pitch, from, from_pitch, width, height, kind, true); });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return Runtime(Call::k_cudaMemcpy3D, [&] { return CopyVolume(parameters, nullptr, false); });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpy3DAsync, [&] { return CopyVolume(parameters, stream, true); });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t count) {
  return Runtime(Call::k_cudaMemcpyPeer, [&] {
    const CudaError error = CheckDevices(to_device, from_device);
    return error != CudaError::kSuccess ? error : CopyLine(nullptr, to, from, count, cudaMemcpyDefault, false);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t count,
                                cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpyPeerAsync, [&] {
    const CudaError error = CheckDevices(to_device, from_device);
    return error != CudaError::kSuccess ? error : CopyLine(stream, to, from, count, cudaMemcpyDefault, true);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t count, size_t offset, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpyToSymbol,
                 [&] { return CopyToSymbol(symbol, from, count, offset, kind, nullptr, false); });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t count, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpyToSymbolAsync,
                 [&] { return CopyToSymbol(symbol, from, count, offset, kind, stream, true); });
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind) {
  return Runtime(Call::k_cudaMemcpyFromSymbol,
                 [&] { return CopyFromSymbol(to, symbol, count, offset, kind, nullptr, false); });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return Runtime(Call::k_cudaMemcpyFromSymbolAsync,
                 [&] { return CopyFromSymbol(to, symbol, count, offset, kind, stream, true); });
}

}  // extern "C"
