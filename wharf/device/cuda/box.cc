#include "wharf/device/cuda/box.h"

namespace wharf::device::cuda {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 46;

bool Empty(const Extent& e) { return e.width == 0 || e.height == 0 || e.depth == 0; }

// a * b, or false beyond kMostBytes.
bool Multiply(uint64_t a, uint64_t b, uint64_t* product) {
  return !__builtin_mul_overflow(a, b, product) && *product <= kMostBytes;
}

// Slices that follow one another like rows become rows, rows without gaps one row.
void Merge(Extent& e, Region& a, Region* b) {
  auto pitches = [&](auto predicate) { return predicate(a) && (b == nullptr || predicate(*b)); };
  if (e.height == 1 && e.depth > 1) {
    e.height = e.depth;
    e.depth = 1;
    a.row_pitch = a.slice_pitch;
    if (b != nullptr) b->row_pitch = b->slice_pitch;
  }
  if (e.depth > 1 && pitches([&](const Region& r) { return r.slice_pitch == r.row_pitch * e.height; })) {
    e.height *= e.depth;
    e.depth = 1;
  }
  if (e.depth == 1 && e.height > 1 && pitches([&](const Region& r) { return r.row_pitch == e.width; })) {
    e.width *= e.height;
    e.height = 1;
  }
}

absl::Status CopyFlat(Gpu* gpu, const Side& to, const Side& from, uint64_t bytes, StreamHandle stream) {
  if (to.host != nullptr) {
    return gpu->Check((*gpu)->MemcpyDtoHAsync(to.host, from.region.address, bytes, stream), "cuMemcpyDtoHAsync");
  }
  if (from.host != nullptr) {
    return gpu->Check((*gpu)->MemcpyHtoDAsync(to.region.address, from.host, bytes, stream), "cuMemcpyHtoDAsync");
  }
  return gpu->Check((*gpu)->MemcpyDtoDAsync(to.region.address, from.region.address, bytes, stream),
                    "cuMemcpyDtoDAsync");
}

// REQUIRES: slice pitches are multiples of row pitches, or one slice.
Copy3D Describe(const Side& to, const Side& from, const Extent& e) {
  auto rows = [&](const Region& r) { return e.depth == 1 ? e.height : r.slice_pitch / r.row_pitch; };
  Copy3D copy;
  copy.src_type = from.host != nullptr ? kMemoryTypeHost : kMemoryTypeDevice;
  copy.src_host = from.host;
  copy.src_device = from.host != nullptr ? 0 : from.region.address;
  copy.src_pitch = from.region.row_pitch;
  copy.src_height = rows(from.region);
  copy.dst_type = to.host != nullptr ? kMemoryTypeHost : kMemoryTypeDevice;
  copy.dst_host = to.host;
  copy.dst_device = to.host != nullptr ? 0 : to.region.address;
  copy.dst_pitch = to.region.row_pitch;
  copy.dst_height = rows(to.region);
  copy.width = e.width;
  copy.height = e.height;
  copy.depth = e.depth;
  return copy;
}

absl::Status CopyPitched(Gpu* gpu, const Side& to, const Side& from, const Extent& e, StreamHandle stream) {
  const Copy3D copy = Describe(to, from, e);
  return gpu->Check((*gpu)->Memcpy3DAsync(&copy, stream), "cuMemcpy3DAsync");
}

bool HasWholeRows(const Region& region) { return region.slice_pitch % region.row_pitch == 0; }

Side Advance(const Side& side) {
  Side next = side;
  if (next.host != nullptr) next.host = static_cast<std::byte*>(next.host) + side.region.slice_pitch;
  next.region.address += side.region.slice_pitch;
  return next;
}

absl::Status FillRows(Gpu* gpu, DeviceAddress address, uint64_t pitch, uint64_t elements, uint64_t rows, uint32_t value,
                      uint32_t element_bytes, StreamHandle stream) {
  const Driver& driver = *gpu->operator->();
  const auto v8 = static_cast<unsigned char>(value);
  const auto v16 = static_cast<unsigned short>(value);
  Result result = kResultSuccess;
  if (rows == 1) {
    result = element_bytes == 1   ? driver.MemsetD8Async(address, v8, elements, stream)
             : element_bytes == 2 ? driver.MemsetD16Async(address, v16, elements, stream)
                                  : driver.MemsetD32Async(address, value, elements, stream);
  } else {
    result = element_bytes == 1   ? driver.MemsetD2D8Async(address, pitch, v8, elements, rows, stream)
             : element_bytes == 2 ? driver.MemsetD2D16Async(address, pitch, v16, elements, rows, stream)
                                  : driver.MemsetD2D32Async(address, pitch, value, elements, rows, stream);
  }
  return gpu->Check(result, "cuMemset");
}

}  // namespace

absl::StatusOr<uint64_t> PackedBytes(const Extent& extent) {
  if (Empty(extent)) return uint64_t{0};
  uint64_t bytes = 0;
  if (!Multiply(extent.width, extent.height, &bytes) || !Multiply(bytes, extent.depth, &bytes)) {
    return CudaStatus(CudaError::kInvalidValue, "a box of {} x {} x {} bytes is too large", extent.width, extent.height,
                      extent.depth);
  }
  return bytes;
}

absl::StatusOr<uint64_t> SpanBytes(const Region& region, const Extent& extent) {
  if (Empty(extent)) return uint64_t{0};
  if (extent.height > 1 && region.row_pitch < extent.width) {
    return CudaStatus(CudaError::kInvalidPitchValue, "a row pitch of {} is less than the width of {}", region.row_pitch,
                      extent.width);
  }
  uint64_t slice = 0, all = 0;
  if (!Multiply(extent.height - 1, region.row_pitch, &slice) || extent.width > kMostBytes) {
    return CudaStatus(CudaError::kInvalidValue, "the box is too large");
  }
  slice += extent.width;
  if (extent.depth > 1 && region.slice_pitch < slice) {
    return CudaStatus(CudaError::kInvalidPitchValue, "a slice pitch of {} is less than a slice of {} bytes",
                      region.slice_pitch, slice);
  }
  if (!Multiply(extent.depth - 1, region.slice_pitch, &all)) {
    return CudaStatus(CudaError::kInvalidValue, "the box is too large");
  }
  return all + slice;
}

Side PackedHost(void* host, const Extent& extent) { return {{0, extent.width, extent.width * extent.height}, host}; }

absl::Status CopyBox(Gpu* gpu, Side to, Side from, Extent extent, StreamHandle stream) {
  if (Empty(extent)) return absl::OkStatus();
  Merge(extent, to.region, &from.region);
  if (extent.height == 1 && extent.depth == 1) return CopyFlat(gpu, to, from, extent.width, stream);
  if (extent.depth == 1 || (HasWholeRows(to.region) && HasWholeRows(from.region))) {
    return CopyPitched(gpu, to, from, extent, stream);
  }
  const Extent slice{extent.width, extent.height, 1};
  for (uint64_t z = 0; z < extent.depth; ++z) {
    WHARF_RETURN_IF_ERROR(CopyPitched(gpu, to, from, slice, stream));
    to = Advance(to);
    from = Advance(from);
  }
  return absl::OkStatus();
}

std::optional<Copy3D> AsOneCopy(Region to, Region from, Extent extent) {
  if (Empty(extent)) return std::nullopt;
  Merge(extent, to, &from);
  if (extent.height == 1) to.row_pitch = from.row_pitch = extent.width;
  if (extent.depth > 1 && !(HasWholeRows(to) && HasWholeRows(from))) return std::nullopt;
  return Describe({to}, {from}, extent);
}

std::optional<MemsetNodeParameters> AsOneFill(Region to, Extent extent, uint32_t value, uint32_t element_bytes) {
  if (Empty(extent)) return std::nullopt;
  Merge(extent, to, nullptr);
  if (extent.depth > 1) return std::nullopt;
  const uint32_t one = element_bytes == 4 ? value : value & ((1U << 8 * element_bytes) - 1);
  return MemsetNodeParameters{to.address,   to.row_pitch, one, element_bytes, extent.width / element_bytes,
                              extent.height};
}

absl::Status CheckElements(const Region& to, const Extent& extent, uint32_t element_bytes) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) {
    return CudaStatus(CudaError::kInvalidValue, "elements of {} bytes cannot be filled", element_bytes);
  }
  if (Empty(extent)) return absl::OkStatus();
  if (extent.width % element_bytes != 0 || to.address % element_bytes != 0 ||
      (extent.height > 1 && to.row_pitch % element_bytes != 0) ||
      (extent.depth > 1 && to.slice_pitch % element_bytes != 0)) {
    return CudaStatus(CudaError::kInvalidValue, "the box is not made of whole, aligned elements of {} bytes",
                      element_bytes);
  }
  return absl::OkStatus();
}

absl::Status FillBox(Gpu* gpu, Region to, Extent extent, uint32_t value, uint32_t element_bytes, StreamHandle stream) {
  WHARF_RETURN_IF_ERROR(CheckElements(to, extent, element_bytes));
  if (Empty(extent)) return absl::OkStatus();
  Merge(extent, to, nullptr);
  for (uint64_t z = 0; z < extent.depth; ++z) {
    WHARF_RETURN_IF_ERROR(FillRows(gpu, to.address + z * to.slice_pitch, to.row_pitch, extent.width / element_bytes,
                                   extent.height, value, element_bytes, stream));
  }
  return absl::OkStatus();
}

}  // namespace wharf::device::cuda
