// Allocation and host memory of the driver API.
#include "wharf/cudashim/client/memory.h"

#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

constexpr size_t kPitchAlignment = 512;

CudaError AllocateTo(CUdeviceptr* pointer, size_t size) {
  if (pointer == nullptr || size == 0) return CudaError::kInvalidValue;
  uint64_t address = 0;
  const CudaError error = client::Allocate(size, &address);
  if (error == CudaError::kSuccess) *pointer = address;
  return error;
}

CudaError AllocateInOrder(CUdeviceptr* pointer, size_t size, CUstream stream) {
  if (pointer == nullptr || size == 0) return CudaError::kInvalidValue;
  uint64_t address = 0;
  const CudaError error = client::AllocateAsync(size, Stream(stream), &address);
  if (error == CudaError::kSuccess) *pointer = address;
  return error;
}

CudaError AllocatePitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height) {
  size_t bytes = 0;
  const size_t row = (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (pitch == nullptr || row < width || __builtin_mul_overflow(row, height, &bytes)) return CudaError::kInvalidValue;
  const CudaError error = AllocateTo(pointer, bytes);
  if (error == CudaError::kSuccess) *pitch = row;
  return error;
}

// One fact about a pointer. kInvalidValue for memory CUDA does not know and facts it has not.
CudaError PointerFact(void* to, CUpointer_attribute attribute, CUdeviceptr pointer) {
  using Kind = client::PointerInfo::Kind;
  const client::PointerInfo info = client::Describe(pointer);
  if (to == nullptr || info.kind == Kind::kUnknown) return CudaError::kInvalidValue;
  const bool on_device = info.kind == Kind::kDevice || info.mapped, on_host = info.kind != Kind::kDevice;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Store(static_cast<CUmemorytype*>(to),
                   info.kind == Kind::kPinnedHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      if (info.mapped) return Store(static_cast<CUdeviceptr*>(to), info.device_address);
      return on_device ? Store(static_cast<CUdeviceptr*>(to), pointer) : CudaError::kInvalidValue;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return on_host ? Store(static_cast<uint64_t*>(to), pointer) : CudaError::kInvalidValue;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Store(static_cast<unsigned*>(to), info.kind == Kind::kManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Store(static_cast<int*>(to), 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Store(static_cast<uint64_t*>(to), info.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Store(static_cast<size_t*>(to), info.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Store(static_cast<unsigned*>(to), on_device ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Store(static_cast<unsigned long long*>(to), info.base);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Store(static_cast<unsigned*>(to), 0);
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      CUcontext context = nullptr;
      cuCtxGetCurrent(&context);
      return Store(static_cast<CUcontext*>(to), context);
    }
    default:
      return CudaError::kInvalidValue;
  }
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t size) {
  return Driver(Call::k_cuMemAlloc_v2, [&] { return AllocateTo(pointer, size); });
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t size, CUstream stream) {
  return Driver(Call::k_cuMemAllocAsync, [&] { return AllocateInOrder(pointer, size, stream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* pointer, size_t size, CUmemoryPool, CUstream stream) {
  return Driver(Call::k_cuMemAllocFromPoolAsync, [&] { return AllocateInOrder(pointer, size, stream); });
}

CUresult cuMemAllocPitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height, unsigned) {
  return Driver(Call::k_cuMemAllocPitch_v2, [&] { return AllocatePitch(pointer, pitch, width, height); });
}

CUresult cuMemFree(CUdeviceptr pointer) {
  return Driver(Call::k_cuMemFree_v2, [&] { return client::Free(pointer); });
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  return Driver(Call::k_cuMemFreeAsync, [&] { return client::FreeAsync(pointer, Stream(stream)); });
}

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total) {
  return Driver(Call::k_cuMemGetInfo_v2, [&] { return client::MemoryInfo(free_bytes, total); });
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) {
  return Driver(Call::k_cuMemGetAddressRange_v2, [&] {
    uint64_t start = 0, bytes = 0;
    const CudaError error = client::AddressRange(pointer, &start, &bytes);
    if (error != CudaError::kSuccess) return error;
    if (base != nullptr) *base = start;
    if (size != nullptr) *size = bytes;
    return error;
  });
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, size_t size, unsigned flags) {
  return Driver(Call::k_cuMemAllocManaged, [&] {
    if (pointer == nullptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
      return CudaError::kInvalidValue;
    }
    uint64_t address = 0;
    const CudaError error = client::AllocateManaged(size, &address);
    if (error == CudaError::kSuccess) *pointer = address;
    return error;
  });
}

CUresult cuMemPrefetchAsync(CUdeviceptr pointer, size_t size, CUmemLocation location, unsigned flags, CUstream stream) {
  return Driver(Call::k_cuMemPrefetchAsync_v2, [&] {
    const bool to_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (flags != 0 || location.type == CU_MEM_LOCATION_TYPE_INVALID) return CudaError::kInvalidValue;
    if (to_device && location.id != 0) return CudaError::kInvalidDevice;
    return client::Prefetch(Stream(stream), pointer, size, to_device);
  });
}

// A hint. Pages move when they are used, wherever they are wished to be.
CUresult cuMemAdvise(CUdeviceptr pointer, size_t size, CUmem_advise advice, CUmemLocation) {
  return Driver(Call::k_cuMemAdvise_v2, [&] {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
      return CudaError::kInvalidValue;
    }
    return client::CheckManaged(pointer, size);
  });
}

CUresult cuMemHostAlloc(void** pointer, size_t size, unsigned flags) {
  return DriverLocal(Call::k_cuMemHostAlloc, [&] {
    return pointer == nullptr || size == 0 ? CudaError::kInvalidValue : client::AllocateHost(size, flags, pointer);
  });
}

CUresult cuMemAllocHost(void** pointer, size_t size) {
  return DriverLocal(Call::k_cuMemAllocHost_v2, [&] {
    return pointer == nullptr || size == 0 ? CudaError::kInvalidValue : client::AllocateHost(size, 0, pointer);
  });
}

CUresult cuMemFreeHost(void* pointer) {
  return DriverLocal(Call::k_cuMemFreeHost, [&] { return client::FreeHost(pointer); });
}

CUresult cuMemHostRegister(void* pointer, size_t size, unsigned flags) {
  return DriverLocal(Call::k_cuMemHostRegister_v2, [&] { return client::RegisterHost(pointer, size, flags); });
}

CUresult cuMemHostUnregister(void* pointer) {
  return DriverLocal(Call::k_cuMemHostUnregister, [&] { return client::UnregisterHost(pointer); });
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return DriverLocal(Call::k_cuMemHostGetFlags, [&] {
    const client::PointerInfo info = client::Describe(Address(pointer));
    if (info.kind != client::PointerInfo::Kind::kPinnedHost) return CudaError::kInvalidValue;
    return Store(flags, info.host_flags);
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* pointer, void* host, unsigned flags) {
  return DriverLocal(Call::k_cuMemHostGetDevicePointer_v2, [&] {
    uint64_t address = 0;
    if (pointer == nullptr || flags != 0) return CudaError::kInvalidValue;
    const CudaError error = client::DevicePointer(host, &address);
    if (error == CudaError::kSuccess) *pointer = address;
    return error;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  return Driver(Call::k_cuPointerGetAttribute, [&] { return PointerFact(data, attribute, pointer); });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr pointer) {
  return Driver(Call::k_cuPointerGetAttributes, [&] {
    if (attributes == nullptr || data == nullptr) return CudaError::kInvalidValue;
    for (unsigned i = 0; i < count; ++i) {
      // What does not apply is left zero, as the vendor's library does.
      if (PointerFact(data[i], attributes[i], pointer) == CudaError::kSuccess || data[i] == nullptr) continue;
      switch (attributes[i]) {
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
          *static_cast<uint64_t*>(data[i]) = 0;
          break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
          *static_cast<int*>(data[i]) = -2;
          break;
        default:
          *static_cast<unsigned*>(data[i]) = 0;
      }
    }
    return CudaError::kSuccess;
  });
}

}  // extern "C"
