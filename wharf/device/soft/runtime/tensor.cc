#include "wharf/device/soft/runtime/tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wharf::device::soft {
namespace {

constexpr uint32_t kTile = 8;  // rows of one; rows and columns of a block

// --- elements ---

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

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void WidenHalves(const uint32_t* words, float* to) {
  for (uint32_t i = 0; i < kWarpSize; i += 4) {
    _mm256_storeu_ps(to + 2 * i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + i))));
  }
}
#else
float FromHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000U} << 16, rest = uint32_t{half & 0x7fffU} << 13;
  // The exponent's bias is 112 less, subnormals' too.
  const uint32_t scaled = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112F);
  const uint32_t special = rest | 0x7f800000U;  // infinities, NaN
  return std::bit_cast<float>(sign | (rest >= 0x0f800000U ? special : scaled));
}

void WidenHalves(const uint32_t* words, float* to) {
  for (uint32_t i = 0; i < kWarpSize; ++i) {
    to[2 * i] = FromHalf(static_cast<uint16_t>(words[i]));
    to[2 * i + 1] = FromHalf(static_cast<uint16_t>(words[i] >> 16));
  }
}
#endif

// All numbers of a byte.
constexpr std::array<float, 256> ByteFloats(TensorElement element) {
  std::array<float, 256> all{};
  const bool fine = element == TensorElement::kE4M3;  // it has no infinities, and one NaN
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t magnitude = byte & 0x7f, rest = magnitude << (fine ? 20 : 21), infinity = 0x7f800000;
    // The exponent's bias is less, subnormals' too.
    const float scaled = std::bit_cast<float>(rest) * (fine ? 0x1p120F : 0x1p112F);
    const bool special = fine ? magnitude == 0x7f : magnitude >= 0x7c;
    all[byte] =
        std::bit_cast<float>((byte & 0x80) << 24 | (special ? rest | infinity : std::bit_cast<uint32_t>(scaled)));
  }
  return all;
}

void WidenByteFloats(const uint32_t* words, TensorElement element, float* to) {
  static constexpr auto kE4M3 = ByteFloats(TensorElement::kE4M3), kE5M2 = ByteFloats(TensorElement::kE5M2);
  const auto& numbers = element == TensorElement::kE4M3 ? kE4M3 : kE5M2;
  for (uint32_t i = 0; i < 4 * kWarpSize; ++i) to[i] = numbers[words[i / 4] >> i % 4 * 8 & 0xff];
}

void Widen(const uint32_t* words, TensorElement element, float* to) {
  switch (element) {
    case TensorElement::kE4M3:
    case TensorElement::kE5M2:
      return WidenByteFloats(words, element, to);
    case TensorElement::kF16:
      return WidenHalves(words, to);
    case TensorElement::kBF16:
      for (uint32_t i = 0; i < kWarpSize; ++i) {
        to[2 * i] = std::bit_cast<float>(words[i] << 16);
        to[2 * i + 1] = std::bit_cast<float>(words[i] & 0xffff0000U);
      }
      return;
    default:  // tf32
      for (uint32_t i = 0; i < kWarpSize; ++i) to[i] = std::bit_cast<float>(words[i] & ~uint32_t{0x1fff});
  }
}

void Widen(const uint32_t* words, TensorElement /*element*/, double* to) {
  for (uint32_t i = 0; i < kWarpSize; ++i) {
    to[i] = std::bit_cast<double>(words[i] | uint64_t{words[kWarpSize + i]} << 32);
  }
}

template <typename Byte>
void WidenBytes(const uint32_t* words, int32_t* to) {
  std::array<Byte, 4 * kWarpSize> bytes;
  std::memcpy(bytes.data(), words, sizeof(bytes));
  for (size_t i = 0; i < bytes.size(); ++i) to[i] = bytes[i];
}

void Widen(const uint32_t* words, TensorElement element, int32_t* to) {
  if (element == TensorElement::kS8) return WidenBytes<int8_t>(words, to);
  if (element == TensorElement::kU8) return WidenBytes<uint8_t>(words, to);
  for (uint32_t i = 0; i < kWarpSize; ++i) {
    for (uint32_t e = 0; e < 8; ++e) {
      const uint32_t top = words[i] << (28 - 4 * e);
      to[8 * i + e] = element == TensorElement::kS4 ? static_cast<int32_t>(top) >> 28 : static_cast<int32_t>(top >> 28);
    }
  }
}

// --- products of matrices ---

// Of a, of b and of c.
constexpr uint32_t kMostTiles = 8;

float MultiplyAdd(float x, float y, float z) { return std::fma(x, y, z); }
double MultiplyAdd(double x, double y, double z) { return std::fma(x, y, z); }
int32_t MultiplyAdd(int32_t x, int32_t y, int32_t z) { return x * y + z; }  // far from the limits

// AddTile: block += a * b, of one tile each: all that takes time.

#if defined(__x86_64__)
// The compiler of kernels asks for a processor that has these.
#define WHARF_VECTOR_TARGET __attribute__((target("avx2,fma")))

// Rows side by side: their sums do not wait for each other.
template <uint32_t columns>
WHARF_VECTOR_TARGET void AddTile(const float (&a)[kTile][columns], const float (&b)[columns][kTile],
                                 float (&block)[kTile][kTile]) {
  __m256 sum[kTile];
  for (uint32_t r = 0; r < kTile; ++r) sum[r] = _mm256_loadu_ps(block[r]);
  for (uint32_t k = 0; k < columns; ++k) {
    const __m256 right = _mm256_loadu_ps(b[k]);
    for (uint32_t r = 0; r < kTile; ++r) sum[r] = _mm256_fmadd_ps(_mm256_broadcast_ss(&a[r][k]), right, sum[r]);
  }
  for (uint32_t r = 0; r < kTile; ++r) _mm256_storeu_ps(block[r], sum[r]);
}

template <uint32_t columns>
WHARF_VECTOR_TARGET void AddTile(const double (&a)[kTile][columns], const double (&b)[columns][kTile],
                                 double (&block)[kTile][kTile]) {
  for (uint32_t half = 0; half < kTile; half += 4) {
    __m256d sum[kTile];
    for (uint32_t r = 0; r < kTile; ++r) sum[r] = _mm256_loadu_pd(block[r] + half);
    for (uint32_t k = 0; k < columns; ++k) {
      const __m256d right = _mm256_loadu_pd(b[k] + half);
      for (uint32_t r = 0; r < kTile; ++r) sum[r] = _mm256_fmadd_pd(_mm256_broadcast_sd(&a[r][k]), right, sum[r]);
    }
    for (uint32_t r = 0; r < kTile; ++r) _mm256_storeu_pd(block[r] + half, sum[r]);
  }
}

template <uint32_t columns>
WHARF_VECTOR_TARGET void AddTile(const int32_t (&a)[kTile][columns], const int32_t (&b)[columns][kTile],
                                 int32_t (&block)[kTile][kTile]) {
  const auto at = [](auto* row) { return reinterpret_cast<__m256i*>(row); };
  const auto from = [](const int32_t* row) { return reinterpret_cast<const __m256i*>(row); };
  __m256i sum[kTile];
  for (uint32_t r = 0; r < kTile; ++r) sum[r] = _mm256_loadu_si256(from(block[r]));
  for (uint32_t k = 0; k < columns; ++k) {
    const __m256i right = _mm256_loadu_si256(from(b[k]));
    for (uint32_t r = 0; r < kTile; ++r) {
      sum[r] = _mm256_add_epi32(sum[r], _mm256_mullo_epi32(_mm256_set1_epi32(a[r][k]), right));
    }
  }
  for (uint32_t r = 0; r < kTile; ++r) _mm256_storeu_si256(at(block[r]), sum[r]);
}
#else
#define WHARF_VECTOR_TARGET

template <typename T, uint32_t columns>
void AddTile(const T (&a)[kTile][columns], const T (&b)[columns][kTile], T (&block)[kTile][kTile]) {
  for (uint32_t r = 0; r < kTile; ++r) {
    for (uint32_t k = 0; k < columns; ++k) {
      for (uint32_t j = 0; j < kTile; ++j) block[r][j] = MultiplyAdd(a[r][k], b[k][j], block[r][j]);
    }
  }
}
#endif

// Of a sparse a: the column of element `i` of those that a row has. Columns come in chunks of 4 elements, of which two
// are there; of tf32 of 2, of which one is; of 4-bit elements of 8, of which two pairs are. A nibble of the metadata
// has the two indices of a chunk, from the lowest bits on; tf32's are those of an element's halves. A nibble after the
// other belongs to a row's chunks: 32 bits to one row of small elements, else 16 to a row and 16 to that eight rows
// below.
uint32_t StoredColumn(const TensorProduct& p, const uint32_t (&metadata)[kWarpSize], uint32_t row, uint32_t i) {
  const uint32_t bits = BitsOf(p.a), each = bits == 32 ? 1 : bits == 4 ? 4 : 2, chunk = i / each;
  const uint32_t first = row % kTile * 4 + p.selector * LanesOfMetadata(p);
  const uint32_t nibble = bits < 16 ? metadata[first + chunk / 8 * 2 + row / kTile] >> chunk % 8 * 4
                                    : metadata[first + chunk / 4] >> (row / kTile * 16 + chunk % 4 * 4);
  if (bits == 32) return chunk * 2 + (nibble >> 1 & 1);
  if (bits == 4) return chunk * 8 + (nibble >> i / 2 % 2 * 2 & 3) * 2 + i % 2;
  return chunk * 4 + (nibble >> i % 2 * 2 & 3);
}

template <typename T>
WHARF_VECTOR_TARGET void AddRow(T a, const T (&b)[kTile], T (&sum)[kTile]) {
  for (uint32_t j = 0; j < kTile; ++j) sum[j] = MultiplyAdd(a, b[j], sum[j]);
}

// What AddTile does, for a column of tiles of a sparse a, number m, and one of b.
template <typename T, uint32_t columns>
void AddSparse(const TensorProduct& p, const uint32_t (&metadata)[kWarpSize], uint32_t m, const T (*a)[kTile][columns],
               const T (*b)[columns][kTile], T (&block)[kTile][kTile]) {
  for (uint32_t r = 0; r < kTile; ++r) {
    for (uint32_t i = 0; i < StoredTiles(p) * columns; ++i) {
      const uint32_t k = StoredColumn(p, metadata, m * kTile + r, i);
      AddRow(a[i / columns * p.m_tiles + m][r][i % columns], b[k / columns][k % columns], block[r]);
    }
  }
}

// Adds a * b to `blocks`, those of c, by rows. A row of a tile has `columns` elements.
template <typename T, uint32_t columns>
void AddProduct(const TensorProduct& p, const uint32_t (*registers)[kWarpSize], T (*blocks)[kTile][kTile]) {
  T a[kMostTiles][kTile][columns], b[kMostTiles][columns][kTile], row[kTile][columns];
  const uint32_t each = TileRegisters(p.a);
  const auto& metadata = registers[RegistersOfA(p) + RegistersOfB(p) + RegistersOfC(p)];
  for (uint32_t i = 0; i < p.m_tiles * StoredTiles(p); ++i) Widen(registers[i * each], p.a, a[i][0]);
  registers += RegistersOfA(p);
  for (uint32_t i = 0; i < p.n_tiles * p.k_tiles; ++i) {
    Widen(registers[i * each], p.b, row[0]);
    for (uint32_t k = 0; k < columns; ++k) {
      for (uint32_t n = 0; n < kTile; ++n) b[i][k][n] = row[n][k];
    }
  }
  for (uint32_t n = 0; n < p.n_tiles; ++n) {
    for (uint32_t m = 0; m < p.m_tiles; ++m, ++blocks) {
      if (p.sparse != 0) {
        AddSparse(p, metadata, m, a, &b[n * p.k_tiles], *blocks);
        continue;
      }
      for (uint32_t t = 0; t < p.k_tiles; ++t) AddTile(a[t * p.m_tiles + m], b[n * p.k_tiles + t], *blocks);
    }
  }
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

// --- accumulators: of a block, by rows, elements 2 i and 2 i + 1 are lane i's ---

void MultiplySingles(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  float blocks[kMostTiles][kTile][kTile];
  const uint32_t count = p.m_tiles * p.n_tiles;
  const auto* c = registers + RegistersOfA(p) + RegistersOfB(p);
  for (uint32_t block = 0; block < count; ++block, c += BlockRegisters(p.c)) {
    float* to = blocks[block][0];
    if (p.c == TensorElement::kF16) {
      WidenHalves(c[0], to);
      continue;
    }
    for (uint32_t i = 0; i < 2 * kWarpSize; ++i) to[i] = std::bit_cast<float>(c[i % 2][i / 2]);
  }
  if (p.a == TensorElement::kTF32) {
    AddProduct<float, 4>(p, registers, blocks);
  } else if (IsByteFloat(p.a)) {
    AddProduct<float, 16>(p, registers, blocks);
  } else {
    AddProduct<float, 8>(p, registers, blocks);
  }
  for (uint32_t block = 0; block < count; ++block, registers += BlockRegisters(p.d)) {
    const float* from = blocks[block][0];
    if (p.d == TensorElement::kF16) {
      for (uint32_t i = 0; i < kWarpSize; ++i) {
        registers[0][i] = ToHalf(from[2 * i]) | uint32_t{ToHalf(from[2 * i + 1])} << 16;
      }
      continue;
    }
    for (uint32_t i = 0; i < 2 * kWarpSize; ++i) registers[i % 2][i / 2] = std::bit_cast<uint32_t>(from[i]);
  }
}

void MultiplyDoubles(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  double blocks[kMostTiles][kTile][kTile];
  const uint32_t count = p.m_tiles * p.n_tiles;
  const auto* c = registers + RegistersOfA(p) + RegistersOfB(p);
  for (uint32_t block = 0; block < count; ++block, c += BlockRegisters(p.c)) {
    double* to = blocks[block][0];
    for (uint32_t i = 0; i < 2 * kWarpSize; ++i) {
      const uint32_t low = c[i % 2 * 2][i / 2], high = c[i % 2 * 2 + 1][i / 2];
      to[i] = std::bit_cast<double>(low | uint64_t{high} << 32);
    }
  }
  AddProduct<double, 4>(p, registers, blocks);
  for (uint32_t block = 0; block < count; ++block, registers += BlockRegisters(p.d)) {
    const double* from = blocks[block][0];
    for (uint32_t i = 0; i < 2 * kWarpSize; ++i) {
      const auto bits = std::bit_cast<uint64_t>(from[i]);
      registers[i % 2 * 2][i / 2] = static_cast<uint32_t>(bits);
      registers[i % 2 * 2 + 1][i / 2] = static_cast<uint32_t>(bits >> 32);
    }
  }
}

void MultiplyIntegers(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  int32_t blocks[kMostTiles][kTile][kTile] = {};
  if (p.a == TensorElement::kB1) {
    AddProductOfBits(p, registers, blocks);
  } else if (BitsOf(p.a) == 8) {
    AddProduct<int32_t, 16>(p, registers, blocks);
  } else {
    AddProduct<int32_t, 32>(p, registers, blocks);
  }
  // d from the first register on, so no c is written over before it is read.
  const auto* c = registers + RegistersOfA(p) + RegistersOfB(p);
  for (uint32_t block = 0; block < p.m_tiles * p.n_tiles; ++block, c += 2, registers += 2) {
    const int32_t* from = blocks[block][0];
    for (uint32_t i = 0; i < 2 * kWarpSize; ++i) {
      int64_t sum = int64_t{static_cast<int32_t>(c[i % 2][i / 2])} + from[i];
      if (p.saturates != 0) {
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      }
      registers[i % 2][i / 2] = static_cast<uint32_t>(sum);
    }
  }
}

// --- products of quads ---

struct Place {
  uint32_t row, column;
};
// Of a lane's element `i` of c.
Place OfQuadSum(TensorElement element, uint32_t lane, uint32_t i) {
  const uint32_t upper = lane / 16 * 4;
  if (element == TensorElement::kF16) return {lane % 4 + upper, i};
  return {(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
}

void MultiplyQuads(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  constexpr uint32_t kQuads = 4, kInner = 4;
  float wide[8][2 * kWarpSize];  // two elements of each lane's register: of a, of b, of c if it is of halves
  for (uint32_t r = 0; r < (p.c == TensorElement::kF16 ? 8U : 4U); ++r) WidenHalves(registers[r], wide[r]);
  const auto half = [&](uint32_t first, uint32_t lane, uint32_t i) { return wide[first + i / 2][2 * lane + i % 2]; };
  float a[kQuads][kTile][kInner], b[kQuads][kInner][kTile], sums[kQuads][kTile][kTile];
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t quad = lane / 4 % 4, upper = lane / 16 * 4, own = lane % 4;
    for (uint32_t i = 0; i < kInner; ++i) {
      (p.a_columns != 0 ? a[quad][upper + i][own] : a[quad][upper + own][i]) = half(0, lane, i);
      (p.b_rows != 0 ? b[quad][own][upper + i] : b[quad][i][upper + own]) = half(2, lane, i);
    }
    for (uint32_t i = 0; i < 8; ++i) {
      const Place at = OfQuadSum(p.c, lane, i);
      sums[quad][at.row][at.column] =
          p.c == TensorElement::kF16 ? half(4, lane, i) : std::bit_cast<float>(registers[4 + i][lane]);
    }
  }
  for (uint32_t quad = 0; quad < kQuads; ++quad) AddTile(a[quad], b[quad], sums[quad]);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const auto sum = [&](uint32_t i) {
      const Place at = OfQuadSum(p.d, lane, i);
      return sums[lane / 4 % 4][at.row][at.column];
    };
    for (uint32_t i = 0; i < RegistersOfD(p); ++i) {
      registers[i][lane] = p.d == TensorElement::kF16 ? ToHalf(sum(2 * i)) | uint32_t{ToHalf(sum(2 * i + 1))} << 16
                                                      : std::bit_cast<uint32_t>(sum(i));
    }
  }
}

void Multiply(const TensorProduct& p, uint32_t (*registers)[kWarpSize]) {
  if (IsOfQuads(p)) return MultiplyQuads(p, registers);
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
      return {RegistersOfA(product) + RegistersOfB(product) + RegistersOfC(product) + product.sparse,
              RegistersOfD(product)};
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
