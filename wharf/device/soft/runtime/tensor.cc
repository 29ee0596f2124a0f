#include "wharf/device/soft/runtime/tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#define WHARF_VECTOR_TARGET __attribute__((target("avx2,fma")))
#endif
#define WHARF_IN_EACH_TARGET __attribute__((always_inline)) inline

namespace wharf::device::soft {
namespace {

constexpr uint32_t kTile = 8;  // rows of one; rows and columns of a block

// --- elements ---

// Without branches, so that loops of it are vectorised.
WHARF_IN_EACH_TARGET float FromHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000U} << 16, rest = uint32_t{half & 0x7fffU} << 13;
  // The exponent's bias is 112 less, subnormals' too.
  const uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112F);
  const uint32_t special = rest | 0x7f800000U;  // infinities, NaN
  return std::bit_cast<float>(sign | (rest >= 0x0f800000U ? special : scaled));
}

uint16_t ToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7fffU);
  if (magnitude >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // rounds to infinity
  if (magnitude < 0x38800000U) {  // subnormal: in units of 2^-24, which are those of a sum with 0.5
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000U));
  }
  const uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

WHARF_IN_EACH_TARGET void Widen(const uint32_t* words, TensorElement element, float* to) {
  std::array<uint16_t, 2 * kWarpSize> halves;
  switch (element) {
    case TensorElement::kF16:
      std::memcpy(halves.data(), words, sizeof(halves));
      for (size_t i = 0; i < halves.size(); ++i) to[i] = FromHalf(halves[i]);
      return;
    case TensorElement::kBF16:
      std::memcpy(halves.data(), words, sizeof(halves));
      for (size_t i = 0; i < halves.size(); ++i) to[i] = std::bit_cast<float>(uint32_t{halves[i]} << 16);
      return;
    default:  // tf32
      for (uint32_t i = 0; i < kWarpSize; ++i) to[i] = std::bit_cast<float>(words[i] & ~uint32_t{0x1fff});
  }
}

WHARF_IN_EACH_TARGET void Widen(const uint32_t* words, TensorElement /*element*/, double* to) {
  for (uint32_t i = 0; i < kWarpSize; ++i) {
    to[i] = std::bit_cast<double>(words[i] | uint64_t{words[kWarpSize + i]} << 32);
  }
}

WHARF_IN_EACH_TARGET void Widen(const uint32_t* words, TensorElement element, int32_t* to) {
  const uint32_t bits = BitsOf(element), count = 32 / bits;
  const bool sign = element == TensorElement::kS8 || element == TensorElement::kS4;
  for (uint32_t i = 0; i < kWarpSize; ++i) {
    for (uint32_t e = 0; e < count; ++e) {
      const uint32_t top = words[i] << (32 - bits * (e + 1));
      to[i * count + e] = sign ? static_cast<int32_t>(top) >> (32 - bits) : static_cast<int32_t>(top >> (32 - bits));
    }
  }
}

// --- products of matrices ---

// At most four tiles of a and of b each in k, eight tiles in all.
constexpr uint32_t kMostTiles = 8;

WHARF_IN_EACH_TARGET float MultiplyAdd(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
WHARF_IN_EACH_TARGET double MultiplyAdd(double x, double y, double z) { return __builtin_fma(x, y, z); }
WHARF_IN_EACH_TARGET int32_t MultiplyAdd(int32_t x, int32_t y, int32_t z) { return x * y + z; }  // far from the limits

// Adds a * b to `blocks`, those of c, by rows. A row of a tile has `columns` elements.
template <typename T, uint32_t columns>
WHARF_IN_EACH_TARGET void AddProduct(const TensorProduct& p, const uint32_t (*registers)[kWarpSize],
                                     T (*blocks)[kTile][kTile]) {
  T a[kMostTiles][kTile][columns], b[kMostTiles][columns][kTile], row[kTile][columns];
  const uint32_t each = TileRegisters(p.a);
  for (uint32_t i = 0; i < p.m_tiles * p.k_tiles; ++i) Widen(registers[i * each], p.a, a[i][0]);
  registers += RegistersOfA(p);
  for (uint32_t i = 0; i < p.n_tiles * p.k_tiles; ++i) {
    Widen(registers[i * each], p.b, row[0]);
    for (uint32_t k = 0; k < columns; ++k) {
      for (uint32_t n = 0; n < kTile; ++n) b[i][k][n] = row[n][k];
    }
  }
  for (uint32_t n = 0; n < p.n_tiles; ++n) {
    for (uint32_t m = 0; m < p.m_tiles; ++m, ++blocks) {
      for (uint32_t r = 0; r < kTile; ++r) {
        T sum[kTile];
        std::memcpy(sum, (*blocks)[r], sizeof(sum));
        for (uint32_t t = 0; t < p.k_tiles; ++t) {
          const T(&left)[columns] = a[t * p.m_tiles + m][r];
          const T(&right)[columns][kTile] = b[n * p.k_tiles + t];
          for (uint32_t k = 0; k < columns; ++k) {
            for (uint32_t j = 0; j < kTile; ++j) sum[j] = MultiplyAdd(left[k], right[k][j], sum[j]);
          }
        }
        std::memcpy((*blocks)[r], sum, sizeof(sum));
      }
    }
  }
}

template <typename T, uint32_t columns>
void AddProductPlainly(const TensorProduct& p, const uint32_t (*registers)[kWarpSize], T (*blocks)[kTile][kTile]) {
  AddProduct<T, columns>(p, registers, blocks);
}

#if defined(WHARF_VECTOR_TARGET)
template <typename T, uint32_t columns>
WHARF_VECTOR_TARGET void AddProductInVectors(const TensorProduct& p, const uint32_t (*registers)[kWarpSize],
                                             T (*blocks)[kTile][kTile]) {
  AddProduct<T, columns>(p, registers, blocks);
}
#endif

template <typename T, uint32_t columns>
void AddProductHere(const TensorProduct& p, const uint32_t (*registers)[kWarpSize], T (*blocks)[kTile][kTile]) {
#if defined(WHARF_VECTOR_TARGET)
  static const bool has_vectors = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (has_vectors) return AddProductInVectors<T, columns>(p, registers, blocks);
#endif
  AddProductPlainly<T, columns>(p, registers, blocks);
}

void AddProductOfBits(const TensorProduct& p, const uint32_t (*registers)[kWarpSize], int32_t (*blocks)[kTile][kTile]) {
  const auto* const b = registers + RegistersOfA(p);
  for (uint32_t n = 0; n < p.n_tiles; ++n) {
    for (uint32_t m = 0; m < p.m_tiles; ++m, ++blocks) {
      for (uint32_t at = 0; at < kTile * kTile; ++at) {
        for (uint32_t i = 0; i < 4 * p.k_tiles; ++i) {
          const uint32_t left = registers[i / 4 * p.m_tiles + m][at / kTile * 4 + i % 4];
          const uint32_t right = b[n * p.k_tiles + i / 4][at % kTile * 4 + i % 4];
          (*blocks)[at / kTile][at % kTile] += std::popcount(p.ands != 0 ? left & right : left ^ right);
        }
      }
    }
  }
}

// --- accumulators ---

// Calls `visit(block, row, column, registers, lane)` for each element of c or d: the first register that it is in.
template <typename Visit>
void ForEachElement(uint32_t blocks, TensorElement element, const Visit& visit) {
  const uint32_t each = BlockRegisters(element);
  for (uint32_t block = 0; block < blocks; ++block) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      for (uint32_t j = 0; j < 2; ++j) visit(block, lane / 4, lane % 4 * 2 + j, block * each + j * each / 2, lane);
    }
  }
}

void MultiplySingles(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  float blocks[kMostTiles][kTile][kTile];
  const uint32_t count = p.m_tiles * p.n_tiles;
  const auto* const c = registers + RegistersOfA(p) + RegistersOfB(p);
  ForEachElement(count, p.c, [&](uint32_t block, uint32_t row, uint32_t column, uint32_t at, uint32_t lane) {
    const uint32_t bits = c[at][lane];
    blocks[block][row][column] = p.c == TensorElement::kF32
                                     ? std::bit_cast<float>(bits)
                                     : FromHalf(static_cast<uint16_t>(column % 2 == 0 ? bits : bits >> 16));
  });
  if (p.a == TensorElement::kTF32) {
    AddProductHere<float, 4>(p, registers, blocks);
  } else {
    AddProductHere<float, 8>(p, registers, blocks);
  }
  ForEachElement(count, p.d, [&](uint32_t block, uint32_t row, uint32_t column, uint32_t at, uint32_t lane) {
    const float value = blocks[block][row][column];
    uint32_t& to = registers[at][lane];
    if (p.d == TensorElement::kF32) {
      to = std::bit_cast<uint32_t>(value);
    } else {
      to = column % 2 == 0 ? ToHalf(value) : to | uint32_t{ToHalf(value)} << 16;
    }
  });
}

void MultiplyDoubles(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  double blocks[kMostTiles][kTile][kTile];
  const uint32_t count = p.m_tiles * p.n_tiles;
  const auto* const c = registers + RegistersOfA(p) + RegistersOfB(p);
  ForEachElement(count, p.c, [&](uint32_t block, uint32_t row, uint32_t column, uint32_t at, uint32_t lane) {
    blocks[block][row][column] = std::bit_cast<double>(c[at][lane] | uint64_t{c[at + 1][lane]} << 32);
  });
  AddProductHere<double, 4>(p, registers, blocks);
  ForEachElement(count, p.d, [&](uint32_t block, uint32_t row, uint32_t column, uint32_t at, uint32_t lane) {
    const auto bits = std::bit_cast<uint64_t>(blocks[block][row][column]);
    registers[at][lane] = static_cast<uint32_t>(bits);
    registers[at + 1][lane] = static_cast<uint32_t>(bits >> 32);
  });
}

void MultiplyIntegers(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  int32_t blocks[kMostTiles][kTile][kTile] = {};
  if (p.a == TensorElement::kB1) {
    AddProductOfBits(p, registers, blocks);
  } else if (BitsOf(p.a) == 8) {
    AddProductHere<int32_t, 16>(p, registers, blocks);
  } else {
    AddProductHere<int32_t, 32>(p, registers, blocks);
  }
  const uint32_t first = RegistersOfA(p) + RegistersOfB(p);
  // From the first on, so no c is written over before it is read.
  ForEachElement(
      p.m_tiles * p.n_tiles, p.d, [&](uint32_t block, uint32_t row, uint32_t column, uint32_t at, uint32_t lane) {
        int64_t sum = int64_t{static_cast<int32_t>(registers[first + at][lane])} + blocks[block][row][column];
        if (p.saturates != 0) {
          sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
        }
        registers[at][lane] = static_cast<uint32_t>(sum);
      });
}

void Multiply(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  if (p.a == TensorElement::kF64) return MultiplyDoubles(p, registers);
  return IsFloat(p.a) ? MultiplySingles(p, registers) : MultiplyIntegers(p, registers);
}

// --- movmatrix, rows ---

void Transpose(uint32_t* matrix) {
  std::array<uint32_t, kWarpSize> from;
  std::copy_n(matrix, kWarpSize, from.data());
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const auto element = [&](uint32_t which) {
      return from[LaneOfTransposed(which, lane)] >> (IsHighHalfOfTransposed(lane) ? 16 : 0) & 0xffff;
    };
    matrix[lane] = element(0) | element(1) << 16;
  }
}

void DistributeRows(const MatrixRows& rows, uint32_t (*registers)[kWarpSize]) {
  std::array<std::array<uint32_t, kWarpSize>, 2> from;
  for (uint32_t word = 0; word < rows.words; ++word) std::copy_n(registers[word], kWarpSize, from[word].data());
  for (uint32_t matrix = 0; matrix < rows.matrices; ++matrix) {
    for (uint32_t which = 0; which < RowsOfLane(rows); ++which) {
      for (uint32_t word = 0; word < rows.words; ++word, ++registers) {
        for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
          (*registers)[lane] = from[word][LaneOfRow(rows.transposed, matrix, which, lane)];
        }
      }
    }
  }
}

}  // namespace

TensorOperands OperandsOf(TensorFunction function, uint32_t operation) {
  const auto product = std::bit_cast<TensorProduct>(operation);
  const auto rows = std::bit_cast<MatrixRows>(operation);
  switch (function) {
    case TensorFunction::kWait:
      return {};
    case TensorFunction::kProduct:
      return {RegistersOfA(product) + RegistersOfB(product) + RegistersOfC(product), RegistersOfD(product)};
    case TensorFunction::kTranspose:
      return {1, 1};
    case TensorFunction::kRows:
      break;
  }
  return {rows.words, rows.matrices * RowsOfLane(rows) * rows.words};
}

void ComputeTensor(TensorFunction function, uint32_t operation, uint32_t (*registers)[kWarpSize]) {
  switch (function) {
    case TensorFunction::kWait:
      return;
    case TensorFunction::kProduct:
      return Multiply(std::bit_cast<TensorProduct>(operation), registers);
    case TensorFunction::kTranspose:
      return Transpose(*registers);
    case TensorFunction::kRows:
      return DistributeRows(std::bit_cast<MatrixRows>(operation), registers);
  }
}

}  // namespace wharf::device::soft
