// What tensor-core instructions compute, of registers alone.
//
// Matrices lie in the lanes' registers as the PTX ISA lays out those of mma. The unit is a tile: one register of all
// lanes. Lane 4 g + t holds, of row g of the tile, as many neighbouring elements from its t-th share on as fit into 32
// bits, of f64 one in two registers. So a tile has 8 rows of 4 elements of 32 or 64 bits, 8 of 16, 16 of 8, 32 of 4, or
// 128 bits.
//
//   a  m_tiles x k_tiles tiles, those of a column of tiles one after the other
//   b  k_tiles x n_tiles tiles of the transposed matrix, those of 8 columns of b one after the other
//   c  m_tiles x n_tiles blocks of 8x8, those of a column of blocks one after the other. Lane 4 g + t holds elements 2
//   t
//      and 2 t + 1 of row g, in as many registers as they take.
//   d  as c
//
// Those of wmma, which the ISA leaves open, lie in the same way. Of a sparse a half of each row is there, so half of
// its tiles; one more register has the metadata.
//
// Products of quads (m8n8k4 of f16) are four: lanes 4 q to 4 q + 3 and those 16 above multiply 8x4 by 4x8. A lane has 4
// elements of a and of b and 8 of c.
#pragma once

#include <bit>
#include <cstdint>

#include "wharf/device/soft/runtime/kernel_abi.h"

namespace wharf::device::soft {

constexpr uint32_t BitsOf(TensorElement element) {
  switch (element) {
    case TensorElement::kB1:
      return 1;
    case TensorElement::kS4:
    case TensorElement::kU4:
      return 4;
    case TensorElement::kS8:
    case TensorElement::kU8:
    case TensorElement::kE4M3:
    case TensorElement::kE5M2:
      return 8;
    case TensorElement::kF16:
    case TensorElement::kBF16:
      return 16;
    case TensorElement::kF64:
      return 64;
    default:
      return 32;
  }
}

constexpr bool IsByteFloat(TensorElement element) { return element >= TensorElement::kE4M3; }
constexpr bool IsFloat(TensorElement element) { return element <= TensorElement::kF64 || IsByteFloat(element); }

// Elements in a row of a tile.
constexpr uint32_t TileColumns(TensorElement element) {
  return element == TensorElement::kF64 ? 4 : 128 / BitsOf(element);
}

// Registers of 32 bits.
constexpr uint32_t TileRegisters(TensorElement element) { return element == TensorElement::kF64 ? 2 : 1; }
constexpr uint32_t BlockRegisters(TensorElement element) { return 2 * BitsOf(element) / 32; }
constexpr uint32_t StoredTiles(const TensorProduct& p) { return p.sparse != 0 ? p.k_tiles / 2 : p.k_tiles; }  // of a
constexpr bool IsOfQuads(const TensorProduct& p) { return p.k_tiles == 0; }
constexpr uint32_t RegistersOfA(const TensorProduct& p) {
  return IsOfQuads(p) ? 2 : p.m_tiles * StoredTiles(p) * TileRegisters(p.a);
}
constexpr uint32_t RegistersOfB(const TensorProduct& p) {
  return IsOfQuads(p) ? 2 : p.n_tiles * p.k_tiles * TileRegisters(p.b);
}
constexpr uint32_t BlocksOfC(const TensorProduct& p) { return IsOfQuads(p) ? 4 : p.m_tiles * p.n_tiles; }
constexpr uint32_t RegistersOfC(const TensorProduct& p) { return BlocksOfC(p) * BlockRegisters(p.c); }
constexpr uint32_t RegistersOfD(const TensorProduct& p) { return BlocksOfC(p) * BlockRegisters(p.d); }

// How many lanes of four neighbouring ones have metadata: of elements of 8 or 4 bits each one row's, else two rows'.
constexpr uint32_t LanesOfMetadata(const TensorProduct& p) { return p.k_tiles / 2 * (BitsOf(p.a) < 16 ? 2 : 1); }

// Of the 8x8 matrix number `matrix`, 32 bits of each row are a lane's. The lane that has the address of the row in
// which `lane` has its elements or, if the matrix is transposed, its `which`-th element, of two.
constexpr uint32_t LaneOfRow(bool transposed, uint32_t matrix, uint32_t which, uint32_t lane) {
  return 8 * matrix + (transposed ? lane % 4 * 2 + which : lane / 4);
}
constexpr uint32_t RowsOfLane(const MatrixRows& rows) { return rows.transposed ? 2 : 1; }

// Of movmatrix: where the `which`-th element of the lane's result is in the register of the lane.
constexpr uint32_t LaneOfTransposed(uint32_t which, uint32_t lane) { return (lane % 4 * 2 + which) * 4 + lane / 8; }
constexpr bool IsHighHalfOfTransposed(uint32_t lane) { return lane / 4 % 2 != 0; }

// How many registers of each lane a function takes and gives.
struct TensorOperands {
  uint32_t inputs = 0, results = 0;
};
TensorOperands OperandsOf(TensorFunction function, uint32_t operation);

// Inputs: a, b, c, and of a sparse a its metadata; or the address of a row, of which that of matrix i and row j is lane
// 8 i + j's; or a matrix. Results, in the place of the inputs: d; or, for each matrix, the addresses of RowsOfLane; or
// a matrix.
//
// Floating point: each element is c's, to which the products are added one by one, from the first on: fused, each sum
// rounded to f32 (f64: to f64) once. A result of f16 is rounded once more, at the end. Of tf32 the lowest 13 bits of
// f32 count as zero. Integers: the sum is exact; then it wraps or saturates. Sparse: products with what a does not have
// are not formed. Metadata that the ISA leaves open do the same as others: two elements of one column both count, and
// of tf32 the upper one of a nibble's indices says which of the two columns.
void ComputeTensor(TensorFunction function, uint32_t operation, uint32_t (*registers)[kWarpSize]);

}  // namespace wharf::device::soft
