// Matrices of which a triangle, a band or both are stored, times vectors: general bands (gbmv), symmetric and Hermitian
// ones (symv, hemv, sbmv, hbmv, spmv, hpmv), triangular ones (trmv, tbmv, tpmv), and systems of these (trsv, tbsv,
// tpsv).
#include <algorithm>
#include <climits>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

enum class Storage { kFull, kBand, kPacked };

// A triangle of n rows, in a band with k diagonals beside the main one.
struct StoredTriangle {
  Storage storage;
  cublasFillMode_t fill;
  int64_t n, k;
  Operand a;
};

bool IsValidTriangle(const StoredTriangle& t) {
  const int64_t least = t.storage == Storage::kFull ? std::max<int64_t>(1, t.n) : t.k + 1;
  return IsFill(t.fill) && t.n >= 0 && t.k >= 0 && (t.storage == Storage::kPacked || t.a.ld >= least);
}

// The main diagonal is in row `row` of a band's array.
MatrixView BandOf(const Operand& a, int64_t row) {
  MatrixView view{};
  view.data = Part(a, row, 0).data;
  view.leading = a.ld - 1;
  return view;
}

MatrixView ViewOf(const StoredTriangle& t) {
  const bool upper = t.fill == CUBLAS_FILL_MODE_UPPER;
  MatrixView view = BandOf(t.a, t.storage == Storage::kBand && upper ? t.k : 0);
  if (t.storage == Storage::kFull) view.leading = t.a.ld;
  const int64_t reach = t.storage == Storage::kBand ? t.k : t.n;
  view.size = t.n;
  view.below = upper ? 0 : reach;
  view.above = upper ? reach : 0;
  view.packed = t.storage == Storage::kPacked;
  view.upper = upper;
  return view;
}

void Turn(MatrixView& view, cublasOperation_t transpose) {
  if (transpose == CUBLAS_OP_N) return;
  view.swapped = 1;
  view.conjugated = transpose == CUBLAS_OP_C;
  std::swap(view.below, view.above);
}

struct Scalars {
  const void *alpha, *beta;
};

CudaError Multiply(cublasHandle_t handle, const MatrixView& view, int64_t rows, int64_t columns, const Scalars& scalars,
                   const Operand& x, const Operand& y) {
  VectorProduct p{};
  p.a = view;
  p.x = VectorOf(x);
  p.y = VectorOf(y);
  p.alpha = ScalarOf(handle, scalars.alpha, x.type);
  p.beta = ScalarOf(handle, scalars.beta, x.type);
  p.rows = rows;
  p.columns = columns;
  return LaunchVector(handle, x.type, "multiply_vector", {1, rows}, &p);
}

bool AreValid(const Scalars& scalars, const Operand& x, const Operand& y) {
  return scalars.alpha != nullptr && scalars.beta != nullptr && x.ld != 0 && y.ld != 0;
}

struct BandShape {
  cublasOperation_t transpose;
  int64_t m, n, below, above;
};

CudaError MultiplyBand(cublasHandle_t handle, const BandShape& shape, const Scalars& scalars, const Operand& a,
                       const Operand& x, const Operand& y) {
  if (!TransposeOf(shape.transpose) || shape.m < 0 || shape.n < 0 || shape.below < 0 || shape.above < 0 ||
      a.ld < shape.below + shape.above + 1 || !AreValid(scalars, x, y)) {
    return CudaError::kInvalidValue;
  }
  if (shape.m == 0 || shape.n == 0) return CudaError::kSuccess;
  MatrixView view = BandOf(a, shape.above);
  view.below = shape.below;
  view.above = shape.above;
  Turn(view, shape.transpose);
  const bool plain = shape.transpose == CUBLAS_OP_N;
  return Multiply(handle, view, plain ? shape.m : shape.n, plain ? shape.n : shape.m, scalars, x, y);
}

CudaError MultiplySymmetric(cublasHandle_t handle, const StoredTriangle& triangle, bool hermitian,
                            const Scalars& scalars, const Operand& x, const Operand& y) {
  if (!IsValidTriangle(triangle) || !AreValid(scalars, x, y)) return CudaError::kInvalidValue;
  if (triangle.n == 0) return CudaError::kSuccess;
  MatrixView view = ViewOf(triangle);
  view.below = view.above = std::max(view.below, view.above);
  view.mirrored = 1;
  view.hermitian = hermitian;
  return Multiply(handle, view, triangle.n, triangle.n, scalars, x, y);
}

struct TriangleUse {
  cublasOperation_t transpose;
  cublasDiagType_t diagonal;
};

bool IsValidUse(const StoredTriangle& triangle, const TriangleUse& use, const Operand& x) {
  return IsValidTriangle(triangle) && TransposeOf(use.transpose) && IsDiagonal(use.diagonal) && x.ld != 0;
}

MatrixView ViewOf(const StoredTriangle& triangle, const TriangleUse& use) {
  MatrixView view = ViewOf(triangle);
  Turn(view, use.transpose);
  view.unit = use.diagonal == CUBLAS_DIAG_UNIT;
  return view;
}

// By a copy of x, so that rows need not wait for each other.
CudaError MultiplyTriangular(cublasHandle_t handle, const StoredTriangle& triangle, const TriangleUse& use,
                             const Operand& x) {
  if (!IsValidUse(triangle, use, x)) return CudaError::kInvalidValue;
  if (triangle.n == 0) return CudaError::kSuccess;
  const auto bytes = device::ElementBytes(x.type);
  const auto n = static_cast<uint64_t>(triangle.n);
  void* copy = nullptr;
  CudaError error = Workspace(handle, n * bytes, &copy);
  if (error != CudaError::kSuccess) return error;
  const auto pitch = static_cast<uint64_t>(std::abs(x.ld)) * bytes;
  error = client::Copy(StreamOf(handle), {reinterpret_cast<uint64_t>(copy), bytes, 0},
                       {reinterpret_cast<uint64_t>(x.data), pitch, 0}, {bytes, n, 1}, client::CopyKind::kDeviceToDevice,
                       true);
  if (error != CudaError::kSuccess) return error;
  const HostScalars scope(handle);
  const class Scalar one(x.type, 1), zero(x.type, 0);
  return Multiply(handle, ViewOf(triangle, use), triangle.n, triangle.n, {one.data(), zero.data()},
                  {copy, x.type, x.ld < 0 ? -1 : 1}, x);
}

// Of a vector, the elements [from, to) of n.
Operand Elements(const Operand& x, int64_t n, int64_t from, int64_t to) {
  const int64_t first = x.ld < 0 ? (n - to) * -x.ld : from * x.ld;  // in memory
  return {static_cast<const char*>(x.data) + first * static_cast<int64_t>(device::ElementBytes(x.type)), x.type, x.ld};
}

CudaError SolveVectorAtOnce(cublasHandle_t handle, const StoredTriangle& triangle, const TriangleUse& use,
                            const Operand& x) {
  const VectorSolver s{ViewOf(triangle, use), VectorOf(x), triangle.n};
  return LaunchVector(handle, x.type, "solve_vector", {}, &s);
}

// As many unknowns at a time as a block has threads: what is known is taken off by products.
CudaError SolveVectorInBlocks(cublasHandle_t handle, const StoredTriangle& triangle, const TriangleUse& use,
                              const Operand& x) {
  const int64_t n = triangle.n;
  const bool plain = use.transpose == CUBLAS_OP_N;
  const bool forward = (triangle.fill == CUBLAS_FILL_MODE_LOWER) == plain;
  const class Scalar one(x.type, 1), minus(x.type, -1);
  const HostScalars scope(handle);
  for (int64_t done = 0; done < n; done += kSolverThreads) {
    const int64_t next = std::min<int64_t>(n, done + kSolverThreads), size = next - done;
    const int64_t from = forward ? done : n - next, known = forward ? 0 : n - done;
    const Operand unknowns = Elements(x, n, from, from + size);
    if (done > 0) {
      const Operand a = plain ? Part(triangle.a, from, known) : Part(triangle.a, known, from);
      const CudaError error =
          RunGemv(handle, {use.transpose, plain ? size : done, plain ? done : size, x.type, minus.data(), a,
                           Elements(x, n, known, known + done), one.data(), unknowns});
      if (error != CudaError::kSuccess) return error;
    }
    const CudaError error = SolveVectorAtOnce(
        handle, {Storage::kFull, triangle.fill, size, 0, Part(triangle.a, from, from)}, use, unknowns);
    if (error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

CudaError SolveTriangular(cublasHandle_t handle, const StoredTriangle& triangle, const TriangleUse& use,
                          const Operand& x) {
  if (!IsValidUse(triangle, use, x)) return CudaError::kInvalidValue;
  if (triangle.n == 0) return CudaError::kSuccess;
  const bool large = triangle.storage == Storage::kFull && triangle.n > kSolverThreads;
  return large ? SolveVectorInBlocks(handle, triangle, use, x) : SolveVectorAtOnce(handle, triangle, use, x);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_GBMV(name, T, element, Int)                                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transpose, Int m, Int n, Int below, Int above,          \
                      const T* alpha, const T* a, Int lda, const T* x, Int step_x, const T* beta, T* y, Int step_y) {  \
    return Blas(Call::k_##name, handle, [&] {                                                                          \
      constexpr ElementType kType = ElementType::element;                                                              \
      return MultiplyBand(handle, {transpose, m, n, below, above}, {alpha, beta}, {a, kType, lda}, {x, kType, step_x}, \
                          {y, kType, step_y});                                                                         \
    });                                                                                                                \
  }
#define WHARF_SYMV(name, T, element, Int, hermitian)                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* a, Int lda, \
                      const T* x, Int step_x, const T* beta, T* y, Int step_y) {                                \
    return Blas(Call::k_##name, handle, [&] {                                                                   \
      constexpr ElementType kType = ElementType::element;                                                       \
      return MultiplySymmetric(handle, {Storage::kFull, fill, n, 0, {a, kType, lda}}, hermitian, {alpha, beta}, \
                               {x, kType, step_x}, {y, kType, step_y});                                         \
    });                                                                                                         \
  }
#define WHARF_SBMV(name, T, element, Int, hermitian)                                                                   \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, Int k, const T* alpha, const T* a, Int lda, \
                      const T* x, Int step_x, const T* beta, T* y, Int step_y) {                                       \
    return Blas(Call::k_##name, handle, [&] {                                                                          \
      constexpr ElementType kType = ElementType::element;                                                              \
      return MultiplySymmetric(handle, {Storage::kBand, fill, n, k, {a, kType, lda}}, hermitian, {alpha, beta},        \
                               {x, kType, step_x}, {y, kType, step_y});                                                \
    });                                                                                                                \
  }
#define WHARF_SPMV(name, T, element, Int, hermitian)                                                               \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* a, const T* x, \
                      Int step_x, const T* beta, T* y, Int step_y) {                                               \
    return Blas(Call::k_##name, handle, [&] {                                                                      \
      constexpr ElementType kType = ElementType::element;                                                          \
      return MultiplySymmetric(handle, {Storage::kPacked, fill, n, 0, {a, kType, 0}}, hermitian, {alpha, beta},    \
                               {x, kType, step_x}, {y, kType, step_y});                                            \
    });                                                                                                            \
  }
// `how` is MultiplyTriangular or SolveTriangular.
#define WHARF_TRIANGULAR(name, how, T, element, Int)                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t transpose,                  \
                      cublasDiagType_t diagonal, Int n, const T* a, Int lda, T* x, Int step) {                    \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      constexpr ElementType kType = ElementType::element;                                                         \
      return how(handle, {Storage::kFull, fill, n, 0, {a, kType, lda}}, {transpose, diagonal}, {x, kType, step}); \
    });                                                                                                           \
  }
#define WHARF_TRIANGULAR_BAND(name, how, T, element, Int)                                                         \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t transpose,                  \
                      cublasDiagType_t diagonal, Int n, Int k, const T* a, Int lda, T* x, Int step) {             \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      constexpr ElementType kType = ElementType::element;                                                         \
      return how(handle, {Storage::kBand, fill, n, k, {a, kType, lda}}, {transpose, diagonal}, {x, kType, step}); \
    });                                                                                                           \
  }
#define WHARF_TRIANGULAR_PACKED(name, how, T, element, Int)                                                       \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t transpose,                  \
                      cublasDiagType_t diagonal, Int n, const T* a, T* x, Int step) {                             \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      constexpr ElementType kType = ElementType::element;                                                         \
      return how(handle, {Storage::kPacked, fill, n, 0, {a, kType, 0}}, {transpose, diagonal}, {x, kType, step}); \
    });                                                                                                           \
  }
#define WHARF_MATRIX_VECTOR(letter, T, element, suffix, Int)                                 \
  WHARF_GBMV(cublas##letter##gbmv##suffix, T, element, Int)                                  \
  WHARF_SYMV(cublas##letter##symv##suffix, T, element, Int, false)                           \
  WHARF_TRIANGULAR(cublas##letter##trmv##suffix, MultiplyTriangular, T, element, Int)        \
  WHARF_TRIANGULAR_BAND(cublas##letter##tbmv##suffix, MultiplyTriangular, T, element, Int)   \
  WHARF_TRIANGULAR_PACKED(cublas##letter##tpmv##suffix, MultiplyTriangular, T, element, Int) \
  WHARF_TRIANGULAR(cublas##letter##trsv##suffix, SolveTriangular, T, element, Int)           \
  WHARF_TRIANGULAR_BAND(cublas##letter##tbsv##suffix, SolveTriangular, T, element, Int)      \
  WHARF_TRIANGULAR_PACKED(cublas##letter##tpsv##suffix, SolveTriangular, T, element, Int)
#define WHARF_REAL_MATRIX_VECTOR(letter, T, element, suffix, Int)  \
  WHARF_SBMV(cublas##letter##sbmv##suffix, T, element, Int, false) \
  WHARF_SPMV(cublas##letter##spmv##suffix, T, element, Int, false)
#define WHARF_COMPLEX_MATRIX_VECTOR(letter, T, element, suffix, Int) \
  WHARF_SYMV(cublas##letter##hemv##suffix, T, element, Int, true)    \
  WHARF_SBMV(cublas##letter##hbmv##suffix, T, element, Int, true)    \
  WHARF_SPMV(cublas##letter##hpmv##suffix, T, element, Int, true)
#define WHARF_MATRIX_VECTORS(suffix, Int)                      \
  WHARF_MATRIX_VECTOR(S, float, kF32, suffix, Int)             \
  WHARF_MATRIX_VECTOR(D, double, kF64, suffix, Int)            \
  WHARF_MATRIX_VECTOR(C, cuComplex, kC32, suffix, Int)         \
  WHARF_MATRIX_VECTOR(Z, cuDoubleComplex, kC64, suffix, Int)   \
  WHARF_REAL_MATRIX_VECTOR(S, float, kF32, suffix, Int)        \
  WHARF_REAL_MATRIX_VECTOR(D, double, kF64, suffix, Int)       \
  WHARF_COMPLEX_MATRIX_VECTOR(C, cuComplex, kC32, suffix, Int) \
  WHARF_COMPLEX_MATRIX_VECTOR(Z, cuDoubleComplex, kC64, suffix, Int)
WHARF_MATRIX_VECTORS(_v2, int)
WHARF_MATRIX_VECTORS(_v2_64, int64_t)

}  // extern "C"
