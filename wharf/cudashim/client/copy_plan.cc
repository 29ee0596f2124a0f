#include "wharf/cudashim/client/copy_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wharf::client {
namespace {

bool HasRoom(Box& box, const device::Extent& extent) {
  if (box.row_pitch == 0) box.row_pitch = extent.width;
  if (box.slice_pitch == 0) box.slice_pitch = box.row_pitch * extent.height;
  if (extent.height > 1 && box.row_pitch < extent.width) return false;
  uint64_t slice = 0, whole = 0;
  if (__builtin_mul_overflow(box.row_pitch, extent.height, &slice)) return false;
  if (__builtin_mul_overflow(box.slice_pitch, extent.depth, &whole)) return false;
  return extent.depth == 1 || box.slice_pitch >= extent.width;
}

void Flatten(Box& to, Box& from, device::Extent& extent) {
  if (to.row_pitch == extent.width && from.row_pitch == extent.width) {
    const uint64_t slice = extent.width * extent.height;
    if (extent.depth == 1 || (to.slice_pitch == slice && from.slice_pitch == slice)) {
      extent = {slice * extent.depth, 1, 1};
    }
  }
  if (extent.height == 1 && extent.depth > 1) {  // slices of one row are rows
    to.row_pitch = to.slice_pitch;
    from.row_pitch = from.slice_pitch;
    extent.height = std::exchange(extent.depth, 1);
  }
}

template <typename Rows>
void ForEachRow(const Box& box, const Piece& piece, Rows&& rows) {
  uint64_t packed = 0;
  for (uint64_t z = 0; z < piece.extent.depth; ++z) {
    for (uint64_t y = 0; y < piece.extent.height; ++y, packed += piece.extent.width) {
      rows(AddressOf(box, {piece.x, piece.y + y, piece.z + z, {}}), packed);
    }
  }
}

}  // namespace

CudaError Normalize(Box& to, Box& from, device::Extent& extent) {
  uint64_t area = 0, bytes = 0;
  if (__builtin_mul_overflow(extent.width, extent.height, &area) ||
      __builtin_mul_overflow(area, extent.depth, &bytes)) {
    return CudaError::kInvalidValue;
  }
  if (bytes == 0) return CudaError::kSuccess;
  if (!HasRoom(to, extent) || !HasRoom(from, extent)) return CudaError::kInvalidPitchValue;
  Flatten(to, from, extent);
  return CudaError::kSuccess;
}

std::vector<Piece> CutIntoPieces(const device::Extent& extent, uint64_t most) {
  std::vector<Piece> pieces;
  if (Bytes(extent) == 0) return pieces;
  const uint64_t width = std::min(extent.width, most);
  const uint64_t rows = width < extent.width ? 1 : std::min(extent.height, most / width);
  const uint64_t slices = rows < extent.height ? 1 : std::min(extent.depth, most / (width * rows));
  for (uint64_t z = 0; z < extent.depth; z += slices) {
    for (uint64_t y = 0; y < extent.height; y += rows) {
      for (uint64_t x = 0; x < extent.width; x += width) {
        pieces.push_back({x,
                          y,
                          z,
                          {std::min(width, extent.width - x), std::min(rows, extent.height - y),
                           std::min(slices, extent.depth - z)}});
      }
    }
  }
  return pieces;
}

uint64_t Span(const Box& box, const device::Extent& extent) {
  return (extent.depth - 1) * box.slice_pitch + (extent.height - 1) * box.row_pitch + extent.width;
}

bool IsContiguous(const Box& box, const device::Extent& extent) {
  if (extent.height > 1 && box.row_pitch != extent.width) return false;
  return extent.depth == 1 || box.slice_pitch == extent.width * extent.height;
}

std::vector<std::byte> Gather(const Box& box, const Piece& piece) {
  std::vector<std::byte> packed(Bytes(piece.extent));
  ForEachRow(box, piece, [&](uint64_t address, uint64_t offset) {
    std::memcpy(packed.data() + offset, reinterpret_cast<const void*>(address), piece.extent.width);
  });
  return packed;
}

void Scatter(const Box& box, const Piece& piece, std::span<const std::byte> packed) {
  ForEachRow(box, piece, [&](uint64_t address, uint64_t offset) {
    std::memcpy(reinterpret_cast<void*>(address), packed.data() + offset, piece.extent.width);
  });
}

}  // namespace wharf::client
