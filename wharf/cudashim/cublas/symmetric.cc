// Updates of one triangle of a symmetric or Hermitian matrix (syrk, herk, syrkx, herkx, syr2k, her2k), and sums of
// matrices (geam). Blocks beside the diagonal are products as any; kernels compute those on it, which are written by
// half.
#include <algorithm>
#include <climits>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

struct UpdateCall {
  cublasFillMode_t fill;
  cublasOperation_t transpose;
  int64_t n, k;
  const void* alpha;
  Operand a, b;
  const void* beta;
  Operand c;
  bool hermitian = false;      // beta is real
  bool alpha_is_real = false;  // herk's
  bool twice = false;          // and B A' is added, with alpha's conjugate if hermitian
};

bool IsValid(const UpdateCall& call) {
  const bool plain = call.transpose == CUBLAS_OP_N;
  const bool turned = call.hermitian           ? call.transpose == CUBLAS_OP_C
                      : IsComplex(call.a.type) ? call.transpose == CUBLAS_OP_T
                                               : call.transpose == CUBLAS_OP_T || call.transpose == CUBLAS_OP_C;
  const int64_t rows = std::max<int64_t>(1, plain ? call.n : call.k);
  return IsFill(call.fill) && (plain || turned) && call.n >= 0 && call.k >= 0 && call.a.ld >= rows &&
         call.b.ld >= rows && call.c.ld >= std::max<int64_t>(1, call.n) && call.alpha != nullptr &&
         call.beta != nullptr;
}

// What is added at once: alpha A B' + beta C. For products scalars are where the handle's pointer mode says, null if
// kernels are to do all.
struct UpdatePass {
  const UpdateCall* call;
  Operand a, b;
  ScalarArgument alpha, beta;
  const void *product_alpha, *product_beta;
};

Operand RowsFrom(const UpdatePass& pass, const Operand& matrix, int64_t row) {
  return pass.call->transpose == CUBLAS_OP_N ? Part(matrix, row, 0) : Part(matrix, 0, row);
}

// From row `from` on, `size` of C.
CudaError UpdateAtOnce(cublasHandle_t handle, const UpdatePass& pass, int64_t from, int64_t size) {
  const UpdateCall& call = *pass.call;
  const bool plain = call.transpose == CUBLAS_OP_N;
  TriangleUpdate u{};
  u.a = MatrixOf(RowsFrom(pass, pass.a, from), false);
  u.b = MatrixOf(RowsFrom(pass, pass.b, from), false);
  u.c = MatrixOf(Part(call.c, from, from), false);
  u.alpha = pass.alpha;
  u.beta = pass.beta;
  u.count = call.k;
  u.row_a = plain ? 1 : pass.a.ld;
  u.column_a = plain ? pass.a.ld : 1;
  u.row_b = plain ? 1 : pass.b.ld;
  u.column_b = plain ? pass.b.ld : 1;
  u.size = static_cast<int>(size);
  u.upper = call.fill == CUBLAS_FILL_MODE_UPPER;
  u.hermitian = call.hermitian;
  u.first = !plain;
  return LaunchSolver(handle, call.c.type, "update_triangle", {1, size * size}, &u);
}

// C's rows [rows_from, rows_to) of columns [from, to).
CudaError UpdatePanel(cublasHandle_t handle, const UpdatePass& pass, int64_t rows_from, int64_t rows_to, int64_t from,
                      int64_t to) {
  if (rows_from == rows_to) return CudaError::kSuccess;
  const UpdateCall& call = *pass.call;
  const bool plain = call.transpose == CUBLAS_OP_N;
  const cublasOperation_t turned = call.hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
  return RunGemm(handle, {plain ? CUBLAS_OP_N : turned, plain ? turned : CUBLAS_OP_N, rows_to - rows_from, to - from,
                          call.k, call.c.type, pass.product_alpha, RowsFrom(pass, pass.a, rows_from),
                          RowsFrom(pass, pass.b, from), pass.product_beta, Part(call.c, rows_from, from)});
}

CudaError RunPass(cublasHandle_t handle, const UpdatePass& pass) {
  const UpdateCall& call = *pass.call;
  const int64_t block = pass.product_alpha == nullptr ? call.n : kTriangleBlock;
  for (int64_t from = 0; from < call.n; from += block) {
    const int64_t to = std::min(call.n, from + block);
    CudaError error = UpdateAtOnce(handle, pass, from, to - from);
    if (error != CudaError::kSuccess) return error;
    error = call.fill == CUBLAS_FILL_MODE_LOWER ? UpdatePanel(handle, pass, to, call.n, from, to)
                                                : UpdatePanel(handle, pass, 0, from, from, to);
    if (error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

CudaError Update(cublasHandle_t handle, const UpdateCall& call) {
  if (!IsValid(call)) return CudaError::kInvalidValue;
  if (call.n == 0) return CudaError::kSuccess;
  if (call.n > INT_MAX) return CudaError::kNotSupported;
  const ElementType type = call.c.type;
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  UpdatePass pass{&call,
                  call.a,
                  call.b,
                  ScalarOf(handle, call.alpha, type, call.alpha_is_real),
                  ScalarOf(handle, call.beta, type, call.hermitian),
                  call.alpha,
                  call.beta};
  const double* const alpha_number = pass.alpha.number;
  const class Scalar alpha(type, alpha_number[0], alpha_number[1]),
      turned(type, alpha_number[0], call.hermitian ? -alpha_number[1] : alpha_number[1]),
      beta(type, pass.beta.number[0], pass.beta.number[1]);
  if (!on_device) {
    pass.product_alpha = alpha.data();
    pass.product_beta = beta.data();
  } else if (call.hermitian) {  // products of complex matrices take complex scalars, not a real beta
    pass.product_alpha = nullptr;
  }
  CudaError error = RunPass(handle, pass);
  if (error != CudaError::kSuccess || !call.twice) return error;
  std::swap(pass.a, pass.b);
  pass.alpha.conjugated = call.hermitian;
  if (call.hermitian) pass.alpha.number[1] = -pass.alpha.number[1];
  pass.beta = ScalarOf(1);
  if (!on_device) pass.product_alpha = turned.data();
  error = ScalarOne(handle, type, &pass.product_beta);
  return error == CudaError::kSuccess ? RunPass(handle, pass) : error;
}

struct SumCall {
  cublasOperation_t transpose_a, transpose_b;
  int64_t m, n;
  const void* alpha;
  Operand a;
  const void* beta;
  Operand b, c;
};

CudaError AddMatrices(cublasHandle_t handle, const SumCall& call) {
  const auto fits = [&](cublasOperation_t transpose, const Operand& operand) {
    const bool plain = transpose == CUBLAS_OP_N;
    return TransposeOf(transpose).has_value() && operand.ld >= std::max<int64_t>(1, plain ? call.m : call.n) &&
           (operand.data != call.c.data || (plain && operand.ld == call.c.ld));
  };
  if (call.m < 0 || call.n < 0 || call.c.ld < std::max<int64_t>(1, call.m) || !fits(call.transpose_a, call.a) ||
      !fits(call.transpose_b, call.b) || call.alpha == nullptr || call.beta == nullptr) {
    return CudaError::kInvalidValue;
  }
  if (call.m == 0 || call.n == 0) return CudaError::kSuccess;
  if (call.m > INT_MAX || call.n > INT_MAX) return CudaError::kNotSupported;
  MatrixSum s{};
  s.a = MatrixOf(call.a, false);
  s.b = MatrixOf(call.b, false);
  s.c = MatrixOf(call.c, false);
  s.alpha = ScalarOf(handle, call.alpha, call.c.type);
  s.beta = ScalarOf(handle, call.beta, call.c.type);
  s.rows = call.m;
  s.columns = call.n;
  s.swapped_a = call.transpose_a != CUBLAS_OP_N;
  s.swapped_b = call.transpose_b != CUBLAS_OP_N;
  s.conjugated_a = call.transpose_a == CUBLAS_OP_C;
  s.conjugated_b = call.transpose_b == CUBLAS_OP_C;
  return LaunchSolver(handle, call.c.type, "add_matrices", {1, call.m * call.n}, &s);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_UPDATE(name, T, Real, element, Int, hermitian)                                                          \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t transpose, Int n, Int k,        \
                      const Real* alpha, const T* a, Int lda, const Real* beta, T* c, Int ldc) {                      \
    return Blas(Call::k_##name, handle, [&] {                                                                         \
      const Operand factor{a, ElementType::element, lda};                                                             \
      return Update(                                                                                                  \
          handle, {fill, transpose, n, k, alpha, factor, factor, beta, {c, factor.type, ldc}, hermitian, hermitian}); \
    });                                                                                                               \
  }
#define WHARF_UPDATE_TYPED(name, Real, Int, hermitian)                                                                \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t transpose, Int n, Int k,        \
                      const Real* alpha, const void* a, cudaDataType type_a, Int lda, const Real* beta, void* c,      \
                      cudaDataType type_c, Int ldc) {                                                                 \
    return Blas(Call::k_##name, handle, [&] {                                                                         \
      if (type_a != CUDA_C_32F || type_c != CUDA_C_32F) return CudaError::kNotSupported;                              \
      const Operand factor{a, ElementType::kC32, lda};                                                                \
      return Update(                                                                                                  \
          handle, {fill, transpose, n, k, alpha, factor, factor, beta, {c, factor.type, ldc}, hermitian, hermitian}); \
    });                                                                                                               \
  }
#define WHARF_UPDATE_OF_TWO(name, T, Real, element, Int, hermitian, twice)                                         \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t transpose, Int n, Int k,     \
                      const T* alpha, const T* a, Int lda, const T* b, Int ldb, const Real* beta, T* c, Int ldc) { \
    return Blas(Call::k_##name, handle, [&] {                                                                      \
      constexpr ElementType kType = ElementType::element;                                                          \
      return Update(handle, {fill,                                                                                 \
                             transpose,                                                                            \
                             n,                                                                                    \
                             k,                                                                                    \
                             alpha,                                                                                \
                             {a, kType, lda},                                                                      \
                             {b, kType, ldb},                                                                      \
                             beta,                                                                                 \
                             {c, kType, ldc},                                                                      \
                             hermitian,                                                                            \
                             false,                                                                                \
                             twice});                                                                              \
    });                                                                                                            \
  }
#define WHARF_GEAM(name, T, element, Int)                                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, Int m,      \
                      Int n, const T* alpha, const T* a, Int lda, const T* beta, const T* b, Int ldb, T* c, Int ldc) { \
    return Blas(Call::k_##name, handle, [&] {                                                                          \
      constexpr ElementType kType = ElementType::element;                                                              \
      return AddMatrices(                                                                                              \
          handle, {transpose_a, transpose_b, m, n, alpha, {a, kType, lda}, beta, {b, kType, ldb}, {c, kType, ldc}});   \
    });                                                                                                                \
  }
#define WHARF_SYMMETRIC_FAMILY(letter, T, element)                                      \
  WHARF_UPDATE(cublas##letter##syrk_v2, T, T, element, int, false)                      \
  WHARF_UPDATE(cublas##letter##syrk_v2_64, T, T, element, int64_t, false)               \
  WHARF_UPDATE_OF_TWO(cublas##letter##syrkx, T, T, element, int, false, false)          \
  WHARF_UPDATE_OF_TWO(cublas##letter##syrkx_64, T, T, element, int64_t, false, false)   \
  WHARF_UPDATE_OF_TWO(cublas##letter##syr2k_v2, T, T, element, int, false, true)        \
  WHARF_UPDATE_OF_TWO(cublas##letter##syr2k_v2_64, T, T, element, int64_t, false, true) \
  WHARF_GEAM(cublas##letter##geam, T, element, int)                                     \
  WHARF_GEAM(cublas##letter##geam_64, T, element, int64_t)
WHARF_SYMMETRIC_FAMILY(S, float, kF32)
WHARF_SYMMETRIC_FAMILY(D, double, kF64)
WHARF_SYMMETRIC_FAMILY(C, cuComplex, kC32)
WHARF_SYMMETRIC_FAMILY(Z, cuDoubleComplex, kC64)
#define WHARF_HERMITIAN_FAMILY(letter, T, Real, element)                                \
  WHARF_UPDATE(cublas##letter##herk_v2, T, Real, element, int, true)                    \
  WHARF_UPDATE(cublas##letter##herk_v2_64, T, Real, element, int64_t, true)             \
  WHARF_UPDATE_OF_TWO(cublas##letter##herkx, T, Real, element, int, true, false)        \
  WHARF_UPDATE_OF_TWO(cublas##letter##herkx_64, T, Real, element, int64_t, true, false) \
  WHARF_UPDATE_OF_TWO(cublas##letter##her2k_v2, T, Real, element, int, true, true)      \
  WHARF_UPDATE_OF_TWO(cublas##letter##her2k_v2_64, T, Real, element, int64_t, true, true)
WHARF_HERMITIAN_FAMILY(C, cuComplex, float, kC32)
WHARF_HERMITIAN_FAMILY(Z, cuDoubleComplex, double, kC64)
WHARF_UPDATE_TYPED(cublasCsyrkEx, cuComplex, int, false)
WHARF_UPDATE_TYPED(cublasCsyrkEx_64, cuComplex, int64_t, false)
WHARF_UPDATE_TYPED(cublasCsyrk3mEx, cuComplex, int, false)
WHARF_UPDATE_TYPED(cublasCsyrk3mEx_64, cuComplex, int64_t, false)
WHARF_UPDATE_TYPED(cublasCherkEx, float, int, true)
WHARF_UPDATE_TYPED(cublasCherkEx_64, float, int64_t, true)
WHARF_UPDATE_TYPED(cublasCherk3mEx, float, int, true)
WHARF_UPDATE_TYPED(cublasCherk3mEx_64, float, int64_t, true)

}  // extern "C"
