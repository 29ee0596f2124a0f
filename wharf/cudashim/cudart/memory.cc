// Allocation, host memory, symbols' addresses, queries about pointers.
#include "wharf/cudashim/client/memory.h"

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

constexpr size_t kPitchAlignment = 512;

CudaError AllocateTo(void** pointer, size_t size) {
  if (pointer == nullptr) return CudaError::kInvalidValue;
  uint64_t address = 0;
  const CudaError error = client::Allocate(size, &address);
  if (error == CudaError::kSuccess) *pointer = reinterpret_cast<void*>(address);
  return error;
}

CudaError AllocateInOrder(void** pointer, size_t size, cudaStream_t stream) {
  if (pointer == nullptr) return CudaError::kInvalidValue;
  uint64_t address = 0;
  const CudaError error = client::AllocateAsync(size, Stream(stream), &address);
  if (error == CudaError::kSuccess) *pointer = reinterpret_cast<void*>(address);
  return error;
}

CudaError AllocatePitch(void** pointer, size_t* pitch, size_t width, size_t rows) {
  if (pointer == nullptr || pitch == nullptr) return CudaError::kInvalidValue;
  size_t bytes = 0;
  const size_t row = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (row < width || __builtin_mul_overflow(row, rows, &bytes)) return CudaError::kOutOfMemory;
  const CudaError error = AllocateTo(pointer, bytes);
  if (error == CudaError::kSuccess) *pitch = row;
  return error;
}

cudaPointerAttributes AttributesOf(const void* pointer) {
  cudaPointerAttributes attributes{};
  const client::PointerInfo info = client::Describe(Address(pointer));
  attributes.type = cudaMemoryTypeUnregistered;
  attributes.device = -2;
  attributes.hostPointer = nullptr;
  if (info.kind == client::PointerInfo::Kind::kDevice) {
    attributes.type = cudaMemoryTypeDevice;
    attributes.device = 0;
    attributes.devicePointer = const_cast<void*>(pointer);
  } else if (info.kind != client::PointerInfo::Kind::kUnknown) {
    const bool host = info.kind == client::PointerInfo::Kind::kPinnedHost;
    attributes.type = host ? cudaMemoryTypeHost : cudaMemoryTypeManaged;
    attributes.device = 0;
    attributes.hostPointer = const_cast<void*>(pointer);
    if (info.mapped) attributes.devicePointer = reinterpret_cast<void*>(info.device_address);
  }
  return attributes;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t size) {
  return Runtime(Call::k_cudaMalloc, [&] { return AllocateTo(pointer, size); });
}

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return Runtime(Call::k_cudaMallocAsync, [&] { return AllocateInOrder(pointer, size, stream); });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t, cudaStream_t stream) {
  return Runtime(Call::k_cudaMallocFromPoolAsync, [&] { return AllocateInOrder(pointer, size, stream); });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  return Runtime(Call::k_cudaMallocPitch, [&] { return AllocatePitch(pointer, pitch, width, height); });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return Runtime(Call::k_cudaMalloc3D, [&] {
    size_t rows = 0;
    if (pitched == nullptr) return CudaError::kInvalidValue;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return CudaError::kOutOfMemory;
    const CudaError error = AllocatePitch(&pitched->ptr, &pitched->pitch, extent.width, rows);
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return error;
  });
}

cudaError_t cudaFree(void* pointer) {
  return Runtime(Call::k_cudaFree, [&] { return client::Free(Address(pointer)); });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return Runtime(Call::k_cudaFreeAsync, [&] { return client::FreeAsync(Address(pointer), Stream(stream)); });
}

cudaError_t cudaMallocManaged(void** pointer, size_t size, unsigned flags) {
  return Runtime(Call::k_cudaMallocManaged, [&] {
    if (pointer == nullptr || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) {
      return CudaError::kInvalidValue;
    }
    uint64_t address = 0;  // of nothing, as cudaMalloc has it
    const CudaError error = size == 0 ? CudaError::kSuccess : client::AllocateManaged(size, &address);
    if (error == CudaError::kSuccess) *pointer = reinterpret_cast<void*>(address);
    return error;
  });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t size, cudaMemLocation location, unsigned flags,
                                 cudaStream_t stream) {
  return Runtime(Call::k_cudaMemPrefetchAsync, [&] {
    const bool to_device = location.type == cudaMemLocationTypeDevice;
    if (flags != 0 || location.type == cudaMemLocationTypeInvalid) return CudaError::kInvalidValue;
    if (to_device && location.id != 0) return CudaError::kInvalidDevice;
    return client::Prefetch(Stream(stream), Address(pointer), size, to_device);
  });
}

// A hint. Pages move when they are used, wherever they are wished to be.
cudaError_t cudaMemAdvise(const void* pointer, size_t size, cudaMemoryAdvise advice, cudaMemLocation) {
  return Runtime(Call::k_cudaMemAdvise, [&] {
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy) return CudaError::kInvalidValue;
    return client::CheckManaged(Address(pointer), size);
  });
}

cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned flags) {
  return RuntimeLocal(Call::k_cudaHostAlloc, [&] {
    constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (pointer == nullptr || (flags & ~kKnown) != 0) return CudaError::kInvalidValue;
    return client::AllocateHost(size, flags, pointer);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t size) {
  return RuntimeLocal(Call::k_cudaMallocHost, [&] {
    return pointer == nullptr ? CudaError::kInvalidValue : client::AllocateHost(size, 0, pointer);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return RuntimeLocal(Call::k_cudaFreeHost, [&] { return client::FreeHost(pointer); });
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned flags) {
  return RuntimeLocal(Call::k_cudaHostRegister, [&] { return client::RegisterHost(pointer, size, flags); });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return RuntimeLocal(Call::k_cudaHostUnregister, [&] { return client::UnregisterHost(pointer); });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
  return RuntimeLocal(Call::k_cudaHostGetFlags, [&] {
    const client::PointerInfo info = client::Describe(Address(pointer));
    if (flags == nullptr || info.kind != client::PointerInfo::Kind::kPinnedHost) return CudaError::kInvalidValue;
    *flags = info.host_flags;
    return CudaError::kSuccess;
  });
}

cudaError_t cudaHostGetDevicePointer(void** pointer, void* host, unsigned flags) {
  return RuntimeLocal(Call::k_cudaHostGetDevicePointer, [&] {
    uint64_t address = 0;
    if (pointer == nullptr || flags != 0) return CudaError::kInvalidValue;
    const CudaError error = client::DevicePointer(host, &address);
    if (error == CudaError::kSuccess) *pointer = reinterpret_cast<void*>(address);
    return error;
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return Runtime(Call::k_cudaMemGetInfo, [&] { return client::MemoryInfo(free_bytes, total_bytes); });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return Runtime(Call::k_cudaPointerGetAttributes, [&] {
    if (attributes == nullptr) return CudaError::kInvalidValue;
    *attributes = AttributesOf(pointer);
    return CudaError::kSuccess;
  });
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return Runtime(Call::k_cudaGetSymbolAddress, [&] {
    uint64_t address = 0;
    if (pointer == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::FindHostVariable(symbol, &address, nullptr);
    if (error == CudaError::kSuccess) *pointer = reinterpret_cast<void*>(address);
    return error;
  });
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  return Runtime(Call::k_cudaGetSymbolSize, [&] {
    uint64_t bytes = 0;
    if (size == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::FindHostVariable(symbol, nullptr, &bytes);
    if (error == CudaError::kSuccess) *size = bytes;
    return error;
  });
}

}  // extern "C"
