// Factorizations of dense matrices and what is solved by them, as LAPACK names and defines them. cuSOLVER's functions
// of these names are the same, but for singular vectors by Jacobi's method, which are V's columns rather than V'.
// Matrices are column major.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/device/element_type.h"

namespace wharf::device {

using DeviceAddress = uint64_t;

// With the operands in their order. S and W are real, of min(m, n) and n elements; pivots count from 1.
enum class LapackRoutine : uint8_t {
  kPotrf,   // A (n, n)
  kPotrs,   // A (n, n), B (n, k)
  kPotri,   // A (n, n)
  kGetrf,   // A (m, n), pivots: min(m, n), or none: nothing is exchanged
  kGetrs,   // A (n, n), pivots: n, or none, B (n, k)
  kGeqrf,   // A (m, n), tau: min(m, n)
  kOrmqr,   // A (m, k), or (n, k) if `right`, tau: k, C (m, n); of complex ones unmqr
  kOrgqr,   // A (m, n), tau: k; ungqr
  kSytrf,   // A (n, n), pivots: n; symmetric, also of complex ones
  kSytrs,   // A (n, n), pivots: n, B (n, k)
  kGesvd,   // A (m, n), S, U (m, m), or (m, min(m, n)) if thin, V' (n, n), or (min(m, n), n) if thin
  kGesvdj,  // A (m, n), S, U as above, V (n, n), or (n, min(m, n)) if thin
  kSyevd,   // A (n, n), W; heevd
  kSyevj,   // likewise by Jacobi's method; heevj
  kSygvd,   // A (n, n), B (n, n), W; hegvd; `k` says which problem: 1, 2 or 3
  kGeev,    // A (n, n), W: n complex ones, left vectors (n, n), right vectors (n, n); pairs as LAPACK has them
};

enum class LapackTranspose : uint8_t { kNone, kTransposed, kConjugated };
// What becomes of vectors. kOverwritten: the thin ones, in A's place.
enum class LapackVectors : uint8_t { kNone, kAll, kThin, kOverwritten };

struct LapackOperand {
  DeviceAddress address = 0;
  int64_t leading = 1;  // elements from one column to the next; of one column, any
  int64_t stride = 0;   // elements from one of the batch to the next
};

struct Lapack {
  static constexpr int kOperands = 4;

  std::array<LapackOperand, kOperands> operands;
  DeviceAddress info = 0;  // one int32_t for each of the batch: what LAPACK says, which is never negative here
  int64_t m = 1, n = 1, k = 1, batch = 1;
  double tolerance = 0;  // of Jacobi's method, as its sweeps; 0: the library's
  int32_t sweeps = 0;
  LapackRoutine routine = LapackRoutine::kPotrf;
  ElementType type = ElementType::kF32;  // or kF64, kC32, kC64
  bool wide_pivots = false;              // int64_t rather than int32_t
  bool upper = false;
  bool right = false;  // of kOrmqr: C Q rather than Q C
  bool sorted = true;  // of kSyevj and kGesvdj
  LapackTranspose transpose = LapackTranspose::kNone;
  // Of kGesvd U and V', of kGeev left and right ones, of the others that have vectors the same. Eigenvectors take A's
  // place.
  LapackVectors left = LapackVectors::kNone, right_vectors = LapackVectors::kNone;

  bool IsComplex() const { return type == ElementType::kC32 || type == ElementType::kC64; }
  bool IsDouble() const { return type == ElementType::kF64 || type == ElementType::kC64; }
  int64_t Least() const { return m < n ? m : n; }
};

// An operand as the routine has it.
struct LapackPart {
  const char* name;
  int operand;
  uint64_t element_bytes;
  uint64_t aligned_to;  // of its numbers
  int64_t rows, columns;
  bool read, written;
};
// Without those that there are not. REQUIRES: CheckShape accepted it.
std::vector<LapackPart> PartsOf(const Lapack& lapack);
// Elements from the first to behind the last of all the batch.
int64_t ExtentOf(const Lapack& lapack, const LapackPart& part);
// Multiplications and other steps.
double StepsOf(const Lapack& lapack);
// "potrf" and so on.
const char* NameOf(LapackRoutine routine);

// What a stranger says of sizes and places: kInvalidValue; kNotSupported for types and kinds that none computes, and
// batches whose members share memory. Afterwards every size is from 1 to kLongestLapack, and sums and products of
// strides and positions stay below 63 bits. CheckPrimitive calls it.
inline constexpr int64_t kLongestLapack = (int64_t{1} << 31) - 1;
absl::Status CheckShape(const Lapack& lapack);

}  // namespace wharf::device
