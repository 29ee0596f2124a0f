// Factorizations of batches of small matrices, and what is solved by them: LU (getrf, getrs, getri, matinv), QR (geqrf)
// and least squares (gels).
#include <algorithm>
#include <iterator>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

struct BatchedMatrix {
  const void* pointers;  // an array on the device
  int leading;
};

SolverMatrix Batched(const BatchedMatrix& matrix) { return {const_cast<void*>(matrix.pointers), matrix.leading, 1}; }

bool Fits(const BatchedMatrix& matrix, int rows) { return matrix.leading >= std::max(1, rows); }

// Where the program wants to know, on the host, which of its arguments cannot be: 0 if all can.
CudaError Tell(int* info, int wrong) {
  if (info == nullptr) return CudaError::kInvalidValue;
  *info = -wrong;
  return wrong == 0 ? CudaError::kSuccess : CudaError::kInvalidValue;
}

// The number of the first argument that cannot be, counted behind the handle; 0 if there is none.
int FirstWrong(std::initializer_list<bool> are_right) {
  const auto* const wrong = std::find(are_right.begin(), are_right.end(), false);
  return wrong == are_right.end() ? 0 : static_cast<int>(std::distance(are_right.begin(), wrong)) + 1;
}

struct BatchedCall {
  cublasHandle_t handle;
  ElementType type;
  int batch;
};

// X of op(T) X = B, in B's place; T is of A's triangle.
CudaError Solve(const BatchedCall& call, cublasFillMode_t fill, cublasOperation_t transpose, const BatchedMatrix& a,
                const BatchedMatrix& b, int size, int lines) {
  static constexpr double kOne[2] = {1, 0};
  static constexpr float kSmallOne[2] = {1, 0};
  const bool small = call.type == ElementType::kF32 || call.type == ElementType::kC32;
  const HostScalars scope(call.handle);
  const auto diagonal = fill == CUBLAS_FILL_MODE_LOWER ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;  // L's are ones
  return SolveTriangle(call.handle, {CUBLAS_SIDE_LEFT,
                                     fill,
                                     transpose,
                                     diagonal,
                                     size,
                                     lines,
                                     small ? static_cast<const void*>(kSmallOne) : kOne,
                                     {a.pointers, call.type, a.leading},
                                     {b.pointers, call.type, b.leading},
                                     call.batch,
                                     true});
}

CudaError FactorLu(const BatchedCall& call, int n, const BatchedMatrix& a, int* pivots, int* info) {
  if (n < 0 || call.batch < 0 || !Fits(a, n) || info == nullptr) return CudaError::kInvalidValue;
  if (call.batch == 0) return CudaError::kSuccess;
  const LuFactorization f{Batched(a), n, pivots, info};
  return LaunchSolver(call.handle, call.type, "factor_lu", {call.batch, 1}, &f);
}

CudaError ExchangeRows(const BatchedCall& call, const BatchedMatrix& b, const int* pivots, int n, int lines,
                       bool backward) {
  if (pivots == nullptr) return CudaError::kSuccess;
  const RowExchange e{Batched(b), pivots, lines, n, backward ? 1 : 0};
  return LaunchSolver(call.handle, call.type, "exchange_rows", {call.batch, lines}, &e);
}

// A X = B by A = P L U: the rows are exchanged, then L, then U; of the transpose the other way round.
CudaError SolveByLu(const BatchedCall& call, cublasOperation_t transpose, int n, int lines, const BatchedMatrix& a,
                    const int* pivots, const BatchedMatrix& b) {
  const bool plain = transpose == CUBLAS_OP_N;
  const auto first = plain ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  const auto second = plain ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  CudaError error = plain ? ExchangeRows(call, b, pivots, n, lines, false) : CudaError::kSuccess;
  if (error == CudaError::kSuccess) error = Solve(call, first, transpose, a, b, n, lines);
  if (error == CudaError::kSuccess) error = Solve(call, second, transpose, a, b, n, lines);
  if (error == CudaError::kSuccess && !plain) error = ExchangeRows(call, b, pivots, n, lines, true);
  return error;
}

CudaError Getrs(const BatchedCall& call, cublasOperation_t transpose, int n, int lines, const BatchedMatrix& a,
                const int* pivots, const BatchedMatrix& b, int* info) {
  const CudaError told = Tell(info, FirstWrong({TransposeOf(transpose).has_value(), n >= 0, lines >= 0, true,
                                                Fits(a, n), true, true, Fits(b, n), true, call.batch >= 0}));
  if (told != CudaError::kSuccess || n == 0 || lines == 0 || call.batch == 0) return told;
  return SolveByLu(call, transpose, n, lines, a, pivots, b);
}

CudaError Getri(const BatchedCall& call, int n, const BatchedMatrix& a, const int* pivots, const BatchedMatrix& c,
                int* info) {
  if (n < 0 || call.batch < 0 || !Fits(a, n) || !Fits(c, n) || info == nullptr) return CudaError::kInvalidValue;
  if (n == 0 || call.batch == 0) return CudaError::kSuccess;
  const InverseBegin begin{Batched(a), Batched(c), n, info};
  const CudaError error = LaunchSolver(call.handle, call.type, "begin_inverse", {call.batch, n}, &begin);
  return error == CudaError::kSuccess ? SolveByLu(call, CUBLAS_OP_N, n, n, a, pivots, c) : error;
}

CudaError InvertSmall(const BatchedCall& call, int n, const BatchedMatrix& a, const BatchedMatrix& inverse, int* info) {
  if (n < 0 || n > kMostInverted || call.batch < 0 || !Fits(a, n) || !Fits(inverse, n) || info == nullptr) {
    return CudaError::kInvalidValue;
  }
  if (n == 0 || call.batch == 0) return CudaError::kSuccess;
  const SmallInversion s{Batched(a), Batched(inverse), n, info};
  return LaunchSolver(call.handle, call.type, "invert_small", {call.batch, 1}, &s);
}

CudaError Geqrf(const BatchedCall& call, int m, int n, const BatchedMatrix& a, const void* tau, int* info) {
  const CudaError told =
      Tell(info, FirstWrong({m >= 0, n >= 0, true, Fits(a, m), tau != nullptr, true, call.batch >= 0}));
  if (told != CudaError::kSuccess || m == 0 || n == 0 || call.batch == 0) return told;
  const QrFactorization f{Batched(a), {}, const_cast<void*>(tau), nullptr, m, n, 0};
  return LaunchSolver(call.handle, call.type, "factor_qr", {call.batch, 1}, &f);
}

// C becomes Q' C as A becomes Q R, then R is solved for.
CudaError Gels(const BatchedCall& call, cublasOperation_t transpose, int m, int n, int lines, const BatchedMatrix& a,
               const BatchedMatrix& c, int* info, int* device_info) {
  const CudaError told = Tell(info, FirstWrong({TransposeOf(transpose).has_value(), m >= 0, n >= 0, lines >= 0, true,
                                                Fits(a, m), true, Fits(c, m), true, true, call.batch >= 0}));
  if (told != CudaError::kSuccess) return told;
  if (transpose != CUBLAS_OP_N || m < n) return CudaError::kNotSupported;  // as the vendor's
  if (n == 0 || call.batch == 0) return told;
  const QrFactorization f{Batched(a), Batched(c), nullptr, device_info, m, n, lines};
  const CudaError error = LaunchSolver(call.handle, call.type, "factor_qr", {call.batch, 1}, &f);
  if (error != CudaError::kSuccess || lines == 0) return error;
  return Solve(call, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, a, c, n, lines);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_FACTORIZATIONS(letter, T, element)                                                                     \
  cublasStatus_t cublas##letter##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots,      \
                                              int* info, int batch) {                                                \
    return Blas(Call::k_cublas##letter##getrfBatched, handle, [&] {                                                  \
      return FactorLu({handle, ElementType::element, batch}, n, {a, lda}, pivots, info);                             \
    });                                                                                                              \
  }                                                                                                                  \
  cublasStatus_t cublas##letter##getrsBatched(cublasHandle_t handle, cublasOperation_t transpose, int n, int lines,  \
                                              const T* const a[], int lda, const int* pivots, T* const b[], int ldb, \
                                              int* info, int batch) {                                                \
    return Blas(Call::k_cublas##letter##getrsBatched, handle, [&] {                                                  \
      return Getrs({handle, ElementType::element, batch}, transpose, n, lines, {a, lda}, pivots, {b, ldb}, info);    \
    });                                                                                                              \
  }                                                                                                                  \
  cublasStatus_t cublas##letter##getriBatched(cublasHandle_t handle, int n, const T* const a[], int lda,             \
                                              const int* pivots, T* const c[], int ldc, int* info, int batch) {      \
    return Blas(Call::k_cublas##letter##getriBatched, handle, [&] {                                                  \
      return Getri({handle, ElementType::element, batch}, n, {a, lda}, pivots, {c, ldc}, info);                      \
    });                                                                                                              \
  }                                                                                                                  \
  cublasStatus_t cublas##letter##matinvBatched(cublasHandle_t handle, int n, const T* const a[], int lda,            \
                                               T* const inverse[], int ld_inverse, int* info, int batch) {           \
    return Blas(Call::k_cublas##letter##matinvBatched, handle, [&] {                                                 \
      return InvertSmall({handle, ElementType::element, batch}, n, {a, lda}, {inverse, ld_inverse}, info);           \
    });                                                                                                              \
  }                                                                                                                  \
  cublasStatus_t cublas##letter##geqrfBatched(cublasHandle_t handle, int m, int n, T* const a[], int lda,            \
                                              T* const tau[], int* info, int batch) {                                \
    return Blas(Call::k_cublas##letter##geqrfBatched, handle, [&] {                                                  \
      return Geqrf({handle, ElementType::element, batch}, m, n, {a, lda}, tau, info);                                \
    });                                                                                                              \
  }                                                                                                                  \
  cublasStatus_t cublas##letter##gelsBatched(cublasHandle_t handle, cublasOperation_t transpose, int m, int n,       \
                                             int lines, T* const a[], int lda, T* const c[], int ldc, int* info,     \
                                             int* device_info, int batch) {                                          \
    return Blas(Call::k_cublas##letter##gelsBatched, handle, [&] {                                                   \
      return Gels({handle, ElementType::element, batch}, transpose, m, n, lines, {a, lda}, {c, ldc}, info,           \
                  device_info);                                                                                      \
    });                                                                                                              \
  }
WHARF_FACTORIZATIONS(S, float, kF32)
WHARF_FACTORIZATIONS(D, double, kF64)
WHARF_FACTORIZATIONS(C, cuComplex, kC32)
WHARF_FACTORIZATIONS(Z, cuDoubleComplex, kC64)
#undef WHARF_FACTORIZATIONS

}  // extern "C"
