// Making, freeing and describing CUDA arrays, and copies between them and lines of memory.
#include "wharf/cudashim/cuda/array.h"

#include <utility>

namespace wharf::cudashim {
namespace {

using client::CopyKind;
using device::ChannelKind;

constexpr std::pair<CUarray_format, device::ChannelFormat> kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, {ChannelKind::kUnsigned, 8, 1}},
    {CU_AD_FORMAT_UNSIGNED_INT16, {ChannelKind::kUnsigned, 16, 1}},
    {CU_AD_FORMAT_UNSIGNED_INT32, {ChannelKind::kUnsigned, 32, 1}},
    {CU_AD_FORMAT_SIGNED_INT8, {ChannelKind::kSigned, 8, 1}},
    {CU_AD_FORMAT_SIGNED_INT16, {ChannelKind::kSigned, 16, 1}},
    {CU_AD_FORMAT_SIGNED_INT32, {ChannelKind::kSigned, 32, 1}},
    {CU_AD_FORMAT_HALF, {ChannelKind::kFloat, 16, 1}},
    {CU_AD_FORMAT_FLOAT, {ChannelKind::kFloat, 32, 1}}};

// What `make` makes of the format and the extents: an array, or a mipmapped one.
template <typename Handle, typename Make>
CudaError MakeArray(Handle* handle, const CUDA_ARRAY3D_DESCRIPTOR* given, const Make& make) {
  if (handle == nullptr || given == nullptr) return CudaError::kInvalidValue;
  const std::optional<device::ChannelFormat> format = FormatOf(given->Format, given->NumChannels);
  if (!format) return CudaError::kInvalidValue;
  const void* made = nullptr;
  const CudaError error = make(*format, client::ArrayExtent{given->Width, given->Height, given->Depth}, &made);
  if (error == CudaError::kSuccess) *handle = static_cast<Handle>(const_cast<void*>(made));
  return error;
}

CudaError MakePlain(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* given) {
  return MakeArray(handle, given, [given](const auto& format, const auto& extent, const void** made) {
    return client::MakeArray(format, extent, given->Flags, made);
  });
}

CudaError DescribeArray(CUarray handle, CUDA_ARRAY3D_DESCRIPTOR* desc) {
  const std::shared_ptr<const client::Array> array = client::FindArray(handle);
  if (array == nullptr) return CudaError::kInvalidHandle;
  const device::ImageDescription& image = array->image;
  *desc = {image.width, image.height, image.depth, DescribeFormat(image.format), image.format.channels, array->flags};
  return CudaError::kSuccess;
}

// Part of an array of one dimension.
CudaError LineIn(CUarray handle, size_t offset, size_t bytes, client::Box* box) {
  const std::shared_ptr<const client::Array> array = client::FindArray(handle);
  if (array == nullptr || array->Rows() != 1 || array->Slices() != 1) return CudaError::kInvalidValue;
  return client::BoxIn(*array, offset, 0, 0, {bytes, 1, 1}, box);
}

CudaError ToArray(CUarray to, size_t offset, uint64_t from, size_t bytes, CopyKind kind, CUstream stream, bool async) {
  client::Box box;
  const CudaError error = LineIn(to, offset, bytes, &box);
  return error != CudaError::kSuccess ? error
                                      : client::Copy(Stream(stream), box, {from, 0, 0}, {bytes, 1, 1}, kind, async);
}

CudaError FromArray(uint64_t to, CUarray from, size_t offset, size_t bytes, CopyKind kind, CUstream stream,
                    bool async) {
  client::Box box;
  const CudaError error = LineIn(from, offset, bytes, &box);
  return error != CudaError::kSuccess ? error
                                      : client::Copy(Stream(stream), {to, 0, 0}, box, {bytes, 1, 1}, kind, async);
}

}  // namespace

std::optional<device::ChannelFormat> FormatOf(CUarray_format format, unsigned channels) {
  if (channels != 1 && channels != 2 && channels != 4) return std::nullopt;
  for (auto [number, found] : kFormats) {
    if (number != format) continue;
    found.channels = static_cast<uint8_t>(channels);
    return found;
  }
  return std::nullopt;
}

CUarray_format DescribeFormat(const device::ChannelFormat& format) {
  for (const auto& [number, one] : kFormats) {
    if (one.kind == format.kind && one.bits == format.bits) return number;
  }
  return CU_AD_FORMAT_FLOAT;  // not reached: there are no others
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* given) {
  return Driver(Call::k_cuArrayCreate_v2, [&] {
    if (given == nullptr) return CudaError::kInvalidValue;
    const CUDA_ARRAY3D_DESCRIPTOR all{given->Width, given->Height, 0, given->Format, given->NumChannels, 0};
    return MakePlain(array, &all);
  });
}

CUresult cuArray3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* given) {
  return Driver(Call::k_cuArray3DCreate_v2, [&] { return MakePlain(array, given); });
}

CUresult cuArrayDestroy(CUarray array) {
  return Driver(Call::k_cuArrayDestroy, [&] {
    return client::FindArray(array) == nullptr ? CudaError::kInvalidHandle : client::FreeArray(array);
  });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* given, unsigned levels) {
  return Driver(Call::k_cuMipmappedArrayCreate, [&] {
    return MakeArray(array, given, [&](const auto& format, const auto& extent, const void** made) {
      return client::MakeMipmappedArray(format, extent, given->Flags, levels, made);
    });
  });
}

CUresult cuMipmappedArrayGetLevel(CUarray* level_array, CUmipmappedArray array, unsigned level) {
  return Driver(Call::k_cuMipmappedArrayGetLevel, [&] {
    if (client::FindMipmappedArray(array) == nullptr) return CudaError::kInvalidHandle;
    client::ArrayHandle found = nullptr;
    const CudaError error = level_array == nullptr ? CudaError::kInvalidValue : client::GetLevel(array, level, &found);
    if (error == CudaError::kSuccess) *level_array = static_cast<CUarray>(const_cast<void*>(found));
    return error;
  });
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
  return Driver(Call::k_cuMipmappedArrayDestroy, [&] {
    return client::FindMipmappedArray(array) == nullptr ? CudaError::kInvalidHandle : client::FreeMipmappedArray(array);
  });
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* desc, CUarray array) {
  return Driver(Call::k_cuArrayGetDescriptor_v2, [&] {
    CUDA_ARRAY3D_DESCRIPTOR all;
    const CudaError error = desc == nullptr ? CudaError::kInvalidValue : DescribeArray(array, &all);
    if (error == CudaError::kSuccess) *desc = {all.Width, all.Height, all.Format, all.NumChannels};
    return error;
  });
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* desc, CUarray array) {
  return Driver(Call::k_cuArray3DGetDescriptor_v2,
                [&] { return desc == nullptr ? CudaError::kInvalidValue : DescribeArray(array, desc); });
}

CUresult cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return Driver(Call::k_cuMemcpyDtoA_v2,
                [&] { return ToArray(to, offset, from, bytes, CopyKind::kDeviceToDevice, nullptr, false); });
}

CUresult cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return Driver(Call::k_cuMemcpyAtoD_v2,
                [&] { return FromArray(to, from, offset, bytes, CopyKind::kDeviceToDevice, nullptr, false); });
}

CUresult cuMemcpyHtoA(CUarray to, size_t offset, const void* from, size_t bytes) {
  return Driver(Call::k_cuMemcpyHtoA_v2,
                [&] { return ToArray(to, offset, Address(from), bytes, CopyKind::kHostToDevice, nullptr, false); });
}

CUresult cuMemcpyHtoAAsync(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
  return Driver(Call::k_cuMemcpyHtoAAsync_v2,
                [&] { return ToArray(to, offset, Address(from), bytes, CopyKind::kHostToDevice, stream, true); });
}

CUresult cuMemcpyAtoH(void* to, CUarray from, size_t offset, size_t bytes) {
  return Driver(Call::k_cuMemcpyAtoH_v2,
                [&] { return FromArray(Address(to), from, offset, bytes, CopyKind::kDeviceToHost, nullptr, false); });
}

CUresult cuMemcpyAtoHAsync(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
  return Driver(Call::k_cuMemcpyAtoHAsync_v2,
                [&] { return FromArray(Address(to), from, offset, bytes, CopyKind::kDeviceToHost, stream, true); });
}

CUresult cuMemcpyAtoA(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
  return Driver(Call::k_cuMemcpyAtoA_v2, [&] {
    client::Box box;
    const CudaError error = LineIn(from, from_offset, bytes, &box);
    return error != CudaError::kSuccess
               ? error
               : ToArray(to, to_offset, box.address, bytes, CopyKind::kDeviceToDevice, nullptr, false);
  });
}

}  // extern "C"
