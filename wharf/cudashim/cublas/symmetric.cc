// Updates of one triangle of a symmetric or Hermitian matrix (syrk, herk, syrkx, herkx, syr2k, her2k), and sums of
// matrices (geam). Blocks are products as any; a kernel adds those on the diagonal, of which half is wanted.
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

// Where the handle's pointer mode says, each an element.
struct UpdateScalars {
  const void *one, *zero, *alpha, *beta, *turned;  // the last is alpha's conjugate
};

// What is added at once: alpha A B' + beta C.
struct UpdatePass {
  const UpdateCall* call;
  Operand a, b;
  const void *alpha, *beta, *zero;
  Operand block;  // for products on the diagonal
};

// The largest block on the diagonal, which is computed whole although half of it is wanted.
constexpr int64_t kUpdateBlock = 256;

// C's rows [rows, rows + count) of columns [columns, columns + size), or what is added to them.
CudaError MultiplyPart(cublasHandle_t handle, const UpdatePass& pass, int64_t rows, int64_t count, int64_t columns,
                       int64_t size, const void* beta, const Operand& to) {
  const UpdateCall& call = *pass.call;
  const bool plain = call.transpose == CUBLAS_OP_N;
  const cublasOperation_t turned = call.hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
  const auto from = [&](const Operand& matrix, int64_t row) {
    return plain ? Part(matrix, row, 0) : Part(matrix, 0, row);
  };
  return RunGemm(handle, {plain ? CUBLAS_OP_N : turned, plain ? turned : CUBLAS_OP_N, count, size, call.k, to.type,
                          pass.alpha, from(pass.a, rows), from(pass.b, columns), beta, to});
}

CudaError UpdateDiagonal(cublasHandle_t handle, const UpdatePass& pass, int64_t from, int64_t size) {
  const UpdateCall& call = *pass.call;
  const CudaError error = MultiplyPart(handle, pass, from, size, from, size, pass.zero, pass.block);
  if (error != CudaError::kSuccess) return error;
  TriangleSum s{};
  s.a = MatrixOf(pass.block, false);
  s.c = MatrixOf(Part(call.c, from, from), false);
  s.beta = ScalarOf(handle, pass.beta, call.c.type);
  s.size = static_cast<int>(size);
  s.upper = call.fill == CUBLAS_FILL_MODE_UPPER;
  s.hermitian = call.hermitian;
  return LaunchSolver(handle, call.c.type, "add_triangle", {size, size}, &s);
}

CudaError RunPass(cublasHandle_t handle, const UpdatePass& pass) {
  const UpdateCall& call = *pass.call;
  const bool lower = call.fill == CUBLAS_FILL_MODE_LOWER;
  for (int64_t from = 0; from < call.n; from += kUpdateBlock) {
    const int64_t size = std::min(kUpdateBlock, call.n - from), to = from + size;
    CudaError error = UpdateDiagonal(handle, pass, from, size);
    const int64_t rows = lower ? to : 0, count = lower ? call.n - to : from;
    if (error == CudaError::kSuccess && count > 0) {
      error = MultiplyPart(handle, pass, rows, count, from, size, pass.beta, Part(call.c, rows, from));
    }
    if (error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

CudaError RunPasses(cublasHandle_t handle, const UpdateCall& call, const UpdateScalars& scalars, const Operand& block) {
  UpdatePass pass{&call, call.a, call.b, scalars.alpha, scalars.beta, scalars.zero, block};
  const CudaError error = RunPass(handle, pass);
  if (error != CudaError::kSuccess || !call.twice) return error;
  std::swap(pass.a, pass.b);
  pass.alpha = call.hermitian ? scalars.turned : scalars.alpha;
  pass.beta = scalars.one;
  return RunPass(handle, pass);
}

CudaError Update(cublasHandle_t handle, const UpdateCall& call) {
  if (!IsValid(call)) return CudaError::kInvalidValue;
  if (call.n == 0) return CudaError::kSuccess;
  if (call.n > INT_MAX) return CudaError::kNotSupported;
  const ElementType type = call.c.type;
  const uint64_t bytes = device::ElementBytes(type);
  const int64_t size = std::min(kUpdateBlock, call.n), elements = size * size;
  void* memory = nullptr;  // a block and, if they are on the device, five scalars
  CudaError error = Workspace(handle, (static_cast<uint64_t>(elements) + 5) * bytes, &memory);
  if (error != CudaError::kSuccess) return error;
  const Operand block{memory, type, size};
  const ScalarArgument alpha = ScalarOf(handle, call.alpha, type, call.alpha_is_real),
                       beta = ScalarOf(handle, call.beta, type, call.hermitian);
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    const auto at = [&](int64_t number) { return Part({block.data, type, 1}, elements + number, 0).data; };
    const ScalarWriter writer{alpha, beta, const_cast<void*>(at(0))};
    error = LaunchSolver(handle, type, "write_scalars", {}, &writer);
    return error == CudaError::kSuccess ? RunPasses(handle, call, {at(0), at(1), at(2), at(3), at(4)}, block) : error;
  }
  const class Scalar one(type, 1), zero(type, 0), first(type, alpha.number[0], alpha.number[1]),
      second(type, beta.number[0], beta.number[1]), turned(type, alpha.number[0], -alpha.number[1]);
  return RunPasses(handle, call, {one.data(), zero.data(), first.data(), second.data(), turned.data()}, block);
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
