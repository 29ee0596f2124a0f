// Copies of the driver API.
#include "wharf/cudashim/cuda/copy_box.h"

#include "wharf/cudashim/client/texture/array.h"

namespace wharf::cudashim {
namespace {

using client::CopyKind;

CudaError Line(CUstream stream, uint64_t to, uint64_t from, size_t bytes, CopyKind kind, bool async) {
  return client::Copy(Stream(stream), {to, 0, 0}, {from, 0, 0}, {bytes, 1, 1}, kind, async);
}

bool IsDevice(CUmemorytype type) { return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY; }

CopyKind KindOf(CUmemorytype to, CUmemorytype from) {
  if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED) return CopyKind::kDefault;
  if (IsDevice(from)) return IsDevice(to) ? CopyKind::kDeviceToDevice : CopyKind::kDeviceToHost;
  return IsDevice(to) ? CopyKind::kHostToDevice : CopyKind::kHostToHost;
}

CudaError Volume(const CUDA_MEMCPY3D* p, CUstream stream, bool async) {
  cudagraph::CopyParams copy;
  if (p == nullptr) return CudaError::kInvalidValue;
  const CudaError error = DescribeCopy(*p, &copy);
  if (error != CudaError::kSuccess) return error;
  const device::Region &to = copy.to.box, &from = copy.from.box;
  return client::Copy(Stream(stream), {to.address, to.row_pitch, to.slice_pitch},
                      {from.address, from.row_pitch, from.slice_pitch}, copy.extent, static_cast<CopyKind>(copy.kind),
                      async);
}

CudaError Plane(const CUDA_MEMCPY2D* p, CUstream stream, bool async) {
  if (p == nullptr) return CudaError::kInvalidValue;
  CUDA_MEMCPY3D volume{};
  volume.dstMemoryType = p->dstMemoryType, volume.srcMemoryType = p->srcMemoryType;
  volume.dstHost = p->dstHost, volume.srcHost = p->srcHost;
  volume.dstDevice = p->dstDevice, volume.srcDevice = p->srcDevice;
  volume.dstArray = p->dstArray, volume.srcArray = p->srcArray;
  volume.dstPitch = p->dstPitch, volume.srcPitch = p->srcPitch;
  volume.dstXInBytes = p->dstXInBytes, volume.srcXInBytes = p->srcXInBytes;
  volume.dstY = p->dstY, volume.srcY = p->srcY;
  volume.WidthInBytes = p->WidthInBytes, volume.Height = p->Height, volume.Depth = 1;
  return Volume(&volume, stream, async);
}

// One side, but for its address if it is no array.
CudaError CompleteSide(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array, size_t level,
                       const device::Extent& extent, cudagraph::CopySide* side) {
  if (level != 0) return CudaError::kInvalidValue;
  if (type != CU_MEMORYTYPE_ARRAY) {
    side->address = type == CU_MEMORYTYPE_HOST ? Address(host) : device;
    const uint64_t slice = side->pitch * side->height;
    side->box = {side->address + side->z * slice + side->y * side->pitch + side->x, side->pitch, slice};
    return CudaError::kSuccess;
  }
  const std::shared_ptr<const client::Array> found = client::FindArray(array);
  if (found == nullptr) return CudaError::kInvalidHandle;
  side->array = array;
  client::Box box;
  const CudaError error = client::BoxIn(*found, side->x, side->y, side->z, extent, &box);
  side->box = {box.address, box.row_pitch, box.slice_pitch};
  return error;
}

}  // namespace

CudaError DescribeCopy(const CUDA_MEMCPY3D& p, cudagraph::CopyParams* copy) {
  copy->to = {{}, nullptr, 0, p.dstPitch, p.dstHeight, p.dstXInBytes, p.dstY, p.dstZ, false};
  copy->from = {{}, nullptr, 0, p.srcPitch, p.srcHeight, p.srcXInBytes, p.srcY, p.srcZ, false};
  copy->extent = {p.WidthInBytes, p.Height, p.Depth};
  copy->kind = static_cast<int>(KindOf(p.dstMemoryType, p.srcMemoryType));
  const CudaError error =
      CompleteSide(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstLOD, copy->extent, &copy->to);
  if (error != CudaError::kSuccess) return error;
  return CompleteSide(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcLOD, copy->extent, &copy->from);
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return Driver(Call::k_cuMemcpyHtoD_v2,
                [&] { return Line(nullptr, to, Address(from), bytes, CopyKind::kHostToDevice, false); });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return Driver(Call::k_cuMemcpyHtoDAsync_v2,
                [&] { return Line(stream, to, Address(from), bytes, CopyKind::kHostToDevice, true); });
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return Driver(Call::k_cuMemcpyDtoH_v2,
                [&] { return Line(nullptr, Address(to), from, bytes, CopyKind::kDeviceToHost, false); });
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Driver(Call::k_cuMemcpyDtoHAsync_v2,
                [&] { return Line(stream, Address(to), from, bytes, CopyKind::kDeviceToHost, true); });
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Driver(Call::k_cuMemcpyDtoD_v2,
                [&] { return Line(nullptr, to, from, bytes, CopyKind::kDeviceToDevice, false); });
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Driver(Call::k_cuMemcpyDtoDAsync_v2,
                [&] { return Line(stream, to, from, bytes, CopyKind::kDeviceToDevice, true); });
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Driver(Call::k_cuMemcpy, [&] { return Line(nullptr, to, from, bytes, CopyKind::kDefault, false); });
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return Driver(Call::k_cuMemcpyAsync, [&] { return Line(stream, to, from, bytes, CopyKind::kDefault, true); });
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return Driver(Call::k_cuMemcpyPeer, [&] { return Line(nullptr, to, from, bytes, CopyKind::kDeviceToDevice, false); });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream) {
  return Driver(Call::k_cuMemcpyPeerAsync,
                [&] { return Line(stream, to, from, bytes, CopyKind::kDeviceToDevice, true); });
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* parameters) {
  return Driver(Call::k_cuMemcpy2D_v2, [&] { return Plane(parameters, nullptr, false); });
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* parameters) {
  return Driver(Call::k_cuMemcpy2DUnaligned_v2, [&] { return Plane(parameters, nullptr, false); });
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* parameters, CUstream stream) {
  return Driver(Call::k_cuMemcpy2DAsync_v2, [&] { return Plane(parameters, stream, true); });
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D* parameters) {
  return Driver(Call::k_cuMemcpy3D_v2, [&] { return Volume(parameters, nullptr, false); });
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* parameters, CUstream stream) {
  return Driver(Call::k_cuMemcpy3DAsync_v2, [&] { return Volume(parameters, stream, true); });
}

}  // extern "C"
