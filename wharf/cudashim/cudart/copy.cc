// cudaMemcpy in all its forms.
#include <algorithm>

#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cudart/array.h"

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

client::Box BoxAt(const cudaPitchedPtr& pitched, const cudaPos& position) {
  const uint64_t slice = pitched.pitch * pitched.ysize;
  return {Address(pitched.ptr) + position.z * slice + position.y * pitched.pitch + position.x, pitched.pitch, slice};
}

// One side of cudaMemcpy3D. Positions in an array count its elements; `extent` is in bytes.
CudaError VolumeSide(const Array* array, const cudaPitchedPtr& plain, const cudaPos& position,
                     const device::Extent& extent, client::Box* box) {
  uint64_t x = 0;
  if (array == nullptr) {
    *box = BoxAt(plain, position);
    return plain.pitch < extent.width ? CudaError::kInvalidPitchValue : CudaError::kSuccess;
  }
  if (__builtin_mul_overflow(position.x, array->element_bytes, &x)) return CudaError::kInvalidValue;
  return BoxIn(*array, x, position.y, position.z, extent, box);
}

CudaError CopyArrayVolume(const cudaMemcpy3DParms& p, cudaStream_t stream, bool async) {
  const std::shared_ptr<const Array> to = p.dstArray == nullptr ? nullptr : FindArray(p.dstArray);
  const std::shared_ptr<const Array> from = p.srcArray == nullptr ? nullptr : FindArray(p.srcArray);
  const bool twice =
      (p.dstArray != nullptr && p.dstPtr.ptr != nullptr) || (p.srcArray != nullptr && p.srcPtr.ptr != nullptr);
  if (twice || (to == nullptr) != (p.dstArray == nullptr) || (from == nullptr) != (p.srcArray == nullptr)) {
    return CudaError::kInvalidValue;
  }
  const uint32_t element = to != nullptr ? to->element_bytes : from->element_bytes;
  if (from != nullptr && from->element_bytes != element) return CudaError::kInvalidValue;
  device::Extent extent{0, p.extent.height, p.extent.depth};
  if (__builtin_mul_overflow(p.extent.width, element, &extent.width)) return CudaError::kInvalidValue;
  client::Box to_box, from_box;
  CudaError error = CheckArrayDirection(p.kind, to != nullptr, from != nullptr);
  if (error == CudaError::kSuccess) error = VolumeSide(to.get(), p.dstPtr, p.dstPos, extent, &to_box);
  if (error == CudaError::kSuccess) error = VolumeSide(from.get(), p.srcPtr, p.srcPos, extent, &from_box);
  return error != CudaError::kSuccess ? error : CopyBox(stream, to_box, from_box, extent, p.kind, async);
}

CudaError CopyVolume(const cudaMemcpy3DParms* p, cudaStream_t stream, bool async) {
  if (p == nullptr) return CudaError::kInvalidValue;
  if (p->srcArray != nullptr || p->dstArray != nullptr) return CopyArrayVolume(*p, stream, async);
  const device::Extent extent{p->extent.width, p->extent.height, p->extent.depth};
  return CopyBox(stream, BoxAt(p->dstPtr, p->dstPos), BoxAt(p->srcPtr, p->srcPos), extent, p->kind, async);
}

// The part [offset, offset + count) of a module's variable.
CudaError SymbolRange(const void* symbol, size_t offset, size_t count, void** pointer) {
  uint64_t address = 0, size = 0;
  const CudaError error = client::FindHostVariable(symbol, &address, &size);
  if (error != CudaError::kSuccess) return error;
  if (offset > size || count > size - offset) return CudaError::kInvalidValue;
  *pointer = reinterpret_cast<void*>(address + offset);
  return CudaError::kSuccess;
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
