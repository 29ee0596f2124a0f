// Updates of one triangle of a symmetric or Hermitian matrix (syrk, herk, syr, her), and sums of matrices (geam).
// Blocks beside the diagonal are products as any; kernels compute those on it, which are written by half.
#include <algorithm>
#include <climits>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

bool IsComplex(ElementType type) { return type == ElementType::kC32 || type == ElementType::kC64; }
ElementType RealOf(ElementType type) {
  return type == ElementType::kC32 ? ElementType::kF32 : type == ElementType::kC64 ? ElementType::kF64 : type;
}

struct UpdateCall {
  cublasFillMode_t fill;
  cublasOperation_t transpose;
  int64_t n, k;
  const void* alpha;
  Operand a;
  const void* beta;
  Operand c;
  bool hermitian = false;  // scalars are real
};

bool IsValid(const UpdateCall& call) {
  const bool plain = call.transpose == CUBLAS_OP_N;
  const bool turned = call.hermitian           ? call.transpose == CUBLAS_OP_C
                      : IsComplex(call.a.type) ? call.transpose == CUBLAS_OP_T
                                               : call.transpose == CUBLAS_OP_T || call.transpose == CUBLAS_OP_C;
  return IsFill(call.fill) && (plain || turned) && call.n >= 0 && call.k >= 0 &&
         call.a.ld >= std::max<int64_t>(1, plain ? call.n : call.k) && call.c.ld >= std::max<int64_t>(1, call.n) &&
         call.alpha != nullptr && call.beta != nullptr;
}

template <typename Parameters>
void SetScalars(cublasHandle_t handle, const void* alpha, const void* beta, ElementType type, Parameters& to) {
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    to.alpha_on_device = alpha;
    to.beta_on_device = beta;
    return;
  }
  const auto read_alpha = ReadScalar(alpha, type), read_beta = ReadScalar(beta, type);
  std::copy(read_alpha.begin(), read_alpha.end(), to.alpha);
  std::copy(read_beta.begin(), read_beta.end(), to.beta);
}

// From row `from` on, `size` of C.
CudaError UpdateAtOnce(cublasHandle_t handle, const UpdateCall& call, int64_t from, int64_t size) {
  const bool plain = call.transpose == CUBLAS_OP_N;
  TriangleUpdate u{};
  u.a = MatrixOf(plain ? Part(call.a, from, 0) : Part(call.a, 0, from), false);
  u.c = MatrixOf(Part(call.c, from, from), false);
  SetScalars(handle, call.alpha, call.beta, call.hermitian ? RealOf(call.a.type) : call.a.type, u);
  u.count = call.k;
  u.row = plain ? 1 : call.a.ld;
  u.column = plain ? call.a.ld : 1;
  u.size = static_cast<int>(size);
  u.upper = call.fill == CUBLAS_FILL_MODE_UPPER;
  u.hermitian = call.hermitian;
  u.first = !plain;
  return LaunchSolver(handle, call.a.type, "update_triangle", {1, size * size}, &u);
}

// C's rows [rows_from, rows_to) of columns [from, to).
CudaError UpdatePanel(cublasHandle_t handle, const UpdateCall& call, int64_t rows_from, int64_t rows_to, int64_t from,
                      int64_t to) {
  if (rows_from == rows_to) return CudaError::kSuccess;
  const bool plain = call.transpose == CUBLAS_OP_N;
  const cublasOperation_t turned = call.hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
  const auto part = [&](int64_t row) { return plain ? Part(call.a, row, 0) : Part(call.a, 0, row); };
  return RunGemm(handle,
                 {plain ? CUBLAS_OP_N : turned, plain ? turned : CUBLAS_OP_N, rows_to - rows_from, to - from, call.k,
                  call.a.type, call.alpha, part(rows_from), part(from), call.beta, Part(call.c, rows_from, from)});
}

CudaError Update(cublasHandle_t handle, const UpdateCall& call) {
  if (!IsValid(call)) return CudaError::kInvalidValue;
  if (call.n == 0) return CudaError::kSuccess;
  if (call.n > INT_MAX) return CudaError::kNotSupported;
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  // Products of complex matrices take complex scalars: real ones on the device are for the kernel.
  const int64_t block = call.hermitian && on_device ? call.n : kTriangleBlock;
  UpdateCall panel = call;
  const auto real = [&](const void* scalar) {
    return call.hermitian && !on_device ? ReadScalar(scalar, RealOf(call.a.type))[0] : 0;
  };
  const Scalar alpha(call.a.type, real(call.alpha)), beta(call.a.type, real(call.beta));
  if (call.hermitian) panel.alpha = alpha.data(), panel.beta = beta.data();
  CudaError error = CudaError::kSuccess;
  for (int64_t from = 0; from < call.n && error == CudaError::kSuccess; from += block) {
    const int64_t to = std::min(call.n, from + block);
    error = UpdateAtOnce(handle, call, from, to - from);
    if (error != CudaError::kSuccess) return error;
    error = call.fill == CUBLAS_FILL_MODE_LOWER ? UpdatePanel(handle, panel, to, call.n, from, to)
                                                : UpdatePanel(handle, panel, 0, from, from, to);
  }
  return error;
}

// A += alpha x x', of one triangle.
struct RankOneCall {
  cublasFillMode_t fill;
  int64_t n;
  const void* alpha;
  const void* x;
  int64_t step;
  Operand a;
  bool hermitian;
};

CudaError UpdateByVector(cublasHandle_t handle, const RankOneCall& call) {
  if (!IsFill(call.fill) || call.n < 0 || call.step == 0 || call.a.ld < std::max<int64_t>(1, call.n) ||
      call.alpha == nullptr) {
    return CudaError::kInvalidValue;
  }
  if (call.n == 0) return CudaError::kSuccess;
  if (call.n > INT_MAX) return CudaError::kNotSupported;
  const int64_t first = call.step < 0 ? (1 - call.n) * call.step : 0;
  TriangleUpdate u{};
  u.a = MatrixOf(Part({call.x, call.a.type, 1}, first, 0), false);
  u.c = MatrixOf(call.a, false);
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    u.alpha_on_device = call.alpha;
  } else {
    const auto alpha = ReadScalar(call.alpha, call.hermitian ? RealOf(call.a.type) : call.a.type);
    std::copy(alpha.begin(), alpha.end(), u.alpha);
  }
  u.beta[0] = 1;
  u.count = 1;
  u.row = call.step;
  u.size = static_cast<int>(call.n);
  u.upper = call.fill == CUBLAS_FILL_MODE_UPPER;
  u.hermitian = call.hermitian;
  return LaunchSolver(handle, call.a.type, "update_triangle", {1, call.n * call.n}, &u);
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
  SetScalars(handle, call.alpha, call.beta, call.c.type, s);
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

#define WHARF_UPDATE(name, T, Real, element, Int, hermitian)                                                    \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t transpose, Int n, Int k,  \
                      const Real* alpha, const T* a, Int lda, const Real* beta, T* c, Int ldc) {                \
    return Blas(Call::k_##name, handle, [&] {                                                                   \
      constexpr ElementType kType = ElementType::element;                                                       \
      return Update(handle, {fill, transpose, n, k, alpha, {a, kType, lda}, beta, {c, kType, ldc}, hermitian}); \
    });                                                                                                         \
  }
#define WHARF_RANK_ONE(name, T, Real, element, Int, hermitian)                                                      \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, const Real* alpha, const T* x, Int step, \
                      T* a, Int lda) {                                                                              \
    return Blas(Call::k_##name, handle, [&] {                                                                       \
      return UpdateByVector(handle, {fill, n, alpha, x, step, {a, ElementType::element, lda}, hermitian});          \
    });                                                                                                             \
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
#define WHARF_SYMMETRIC_FAMILY(letter, T, element)                         \
  WHARF_UPDATE(cublas##letter##syrk_v2, T, T, element, int, false)         \
  WHARF_UPDATE(cublas##letter##syrk_v2_64, T, T, element, int64_t, false)  \
  WHARF_RANK_ONE(cublas##letter##syr_v2, T, T, element, int, false)        \
  WHARF_RANK_ONE(cublas##letter##syr_v2_64, T, T, element, int64_t, false) \
  WHARF_GEAM(cublas##letter##geam, T, element, int)                        \
  WHARF_GEAM(cublas##letter##geam_64, T, element, int64_t)
WHARF_SYMMETRIC_FAMILY(S, float, kF32)
WHARF_SYMMETRIC_FAMILY(D, double, kF64)
WHARF_SYMMETRIC_FAMILY(C, cuComplex, kC32)
WHARF_SYMMETRIC_FAMILY(Z, cuDoubleComplex, kC64)
#define WHARF_HERMITIAN_FAMILY(letter, T, Real, element)                    \
  WHARF_UPDATE(cublas##letter##herk_v2, T, Real, element, int, true)        \
  WHARF_UPDATE(cublas##letter##herk_v2_64, T, Real, element, int64_t, true) \
  WHARF_RANK_ONE(cublas##letter##her_v2, T, Real, element, int, true)       \
  WHARF_RANK_ONE(cublas##letter##her_v2_64, T, Real, element, int64_t, true)
WHARF_HERMITIAN_FAMILY(C, cuComplex, float, kC32)
WHARF_HERMITIAN_FAMILY(Z, cuDoubleComplex, double, kC64)

}  // extern "C"
