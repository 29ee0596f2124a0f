// How a copy is cut into pieces of at most kMaxBulkBytes, and how boxes are read and written on the host.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "wharf/cudashim/client/memory.h"

namespace wharf::client {

// One piece: a box inside the whole, at byte x of row y of slice z.
struct Piece {
  uint64_t x = 0, y = 0, z = 0;
  device::Extent extent;
};

// Pitches of 0 become packed; boxes whose rows (and slices) follow one another without gaps on both sides become one
// row. kInvalidValue if a pitch is smaller than what it has to hold.
CudaError Normalize(Box& to, Box& from, device::Extent& extent);

// Pieces in order; each at most `most` bytes: whole slices, or rows, or parts of a row. Together they are the extent.
std::vector<Piece> CutIntoPieces(const device::Extent& extent, uint64_t most);

inline uint64_t Bytes(const device::Extent& extent) { return extent.width * extent.height * extent.depth; }
inline uint64_t AddressOf(const Box& box, const Piece& piece) {
  return box.address + piece.z * box.slice_pitch + piece.y * box.row_pitch + piece.x;
}
// The bytes from the first to the last of the box, gaps included. REQUIRES: a normalised, non-empty box.
uint64_t Span(const Box& box, const device::Extent& extent);

// Whether the piece lies in `box` without gaps.
bool IsContiguous(const Box& box, const device::Extent& extent);
std::vector<std::byte> Gather(const Box& box, const Piece& piece);
void Scatter(const Box& box, const Piece& piece, std::span<const std::byte> packed);

}  // namespace wharf::client
