#include "wharf/device/soft/driver/box.h"

#include <algorithm>
#include <cstring>

namespace wharf::device::soft {
namespace {

std::byte* At(uint64_t address) { return reinterpret_cast<std::byte*>(address); }

uint64_t RowAddress(const Region& region, uint64_t row, uint64_t slice) {
  return region.address + slice * region.slice_pitch + row * region.row_pitch;
}

// Rows of a box that touch each other are one long row: fewer, larger copies.
Extent Flatten(const Extent& extent, const Region& a, const Region& b) {
  Extent flat = extent;
  const auto dense_rows = [&](const Region& r) { return extent.height == 1 || r.row_pitch == extent.width; };
  if (!dense_rows(a) || !dense_rows(b)) return flat;
  flat.width *= flat.height;
  flat.height = 1;
  const auto dense_slices = [&](const Region& r) { return extent.depth == 1 || r.slice_pitch == flat.width; };
  if (!dense_slices(a) || !dense_slices(b)) return flat;
  flat.width *= flat.depth;
  flat.depth = 1;
  return flat;
}

template <typename Function>
void ForEachRow(const Extent& extent, Function function) {
  for (uint64_t slice = 0; slice < extent.depth; ++slice) {
    for (uint64_t row = 0; row < extent.height; ++row) function(row, slice);
  }
}

Region Packed(const Extent& extent, const std::byte* data) {
  return {reinterpret_cast<uint64_t>(data), extent.width, extent.width * extent.height};
}

}  // namespace

absl::Status CheckBox(const Memory& memory, const Region& region, const Extent& extent) {
  if (IsEmpty(extent)) return absl::OkStatus();
  using Wide = unsigned __int128;
  if (extent.height > 1 && region.row_pitch < extent.width) {
    return CudaStatus(CudaError::kInvalidPitchValue, "pitch {} is less than the width {}", region.row_pitch,
                      extent.width);
  }
  const Wide slice = Wide{extent.height - 1} * (extent.height > 1 ? region.row_pitch : 0) + extent.width;
  if (extent.depth > 1 && region.slice_pitch < slice) {
    return CudaStatus(CudaError::kInvalidPitchValue, "slice pitch {} is less than a slice", region.slice_pitch);
  }
  // depth, slice_pitch < 2^64 and slice < 2^128 - 2^65, but the sum may wrap: bound the parts first.
  const Wide limit = ~uint64_t{0};
  if (slice > limit) return CudaStatus(CudaError::kInvalidValue, "{} rows do not fit in memory", extent.height);
  const Wide span = Wide{extent.depth - 1} * (extent.depth > 1 ? region.slice_pitch : 0) + slice;
  if (span > limit || !memory.IsMapped(region.address, static_cast<uint64_t>(span))) {
    return CudaStatus(CudaError::kInvalidValue, "{} x {} x {} bytes at {:#x}: not all of it is allocated", extent.width,
                      extent.height, extent.depth, region.address);
  }
  return absl::OkStatus();
}

void NoteWritten(const Memory& memory, const Region& to, const Extent& extent) {
  if (memory.written() == nullptr || IsEmpty(extent)) return;
  ForEachRow(extent,
             [&](uint64_t row, uint64_t slice) { memory.written()->Write(RowAddress(to, row, slice), extent.width); });
}

void NoteCopied(const Memory& memory, const Region& to, const Region& from, const Extent& extent) {
  if (memory.written() == nullptr || IsEmpty(extent)) return;
  ForEachRow(extent, [&](uint64_t row, uint64_t slice) {
    memory.written()->Copy(RowAddress(to, row, slice), RowAddress(from, row, slice), extent.width);
  });
}

void CopyBox(const Region& to, const Region& from, const Extent& extent) {
  if (IsEmpty(extent)) return;
  const Extent flat = Flatten(extent, to, from);
  ForEachRow(flat, [&](uint64_t row, uint64_t slice) {
    std::memmove(At(RowAddress(to, row, slice)), At(RowAddress(from, row, slice)), flat.width);
  });
}

void CopyIn(const Region& to, const Extent& extent, const std::byte* packed) {
  CopyBox(to, Packed(extent, packed), extent);
}

void CopyOut(const Region& from, const Extent& extent, std::byte* packed) {
  CopyBox(Packed(extent, packed), from, extent);
}

void FillBox(const Region& to, const Extent& extent, uint32_t value, uint32_t element_bytes) {
  if (IsEmpty(extent)) return;
  const Extent flat = Flatten(extent, to, to);
  ForEachRow(flat, [&](uint64_t row, uint64_t slice) {
    const uint64_t address = RowAddress(to, row, slice);
    if (element_bytes == 1) {
      std::memset(At(address), static_cast<int>(value & 0xff), flat.width);
    } else if (element_bytes == 2) {
      std::fill_n(reinterpret_cast<uint16_t*>(address), flat.width / 2, static_cast<uint16_t>(value));
    } else {
      std::fill_n(reinterpret_cast<uint32_t*>(address), flat.width / 4, value);
    }
  });
}

}  // namespace wharf::device::soft
