// Products with a symmetric or Hermitian matrix of which a triangle is stored (symm, hemm): the whole matrix is written
// down, then multiplied as any. And triangles from packed ones and back (tpttr, trttp).
#include <algorithm>
#include <array>
#include <climits>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

MatrixView StoredView(cublasFillMode_t fill, int64_t n, const Operand& a, bool packed) {
  MatrixView view{};
  view.data = a.data;
  view.leading = a.ld;
  view.size = n;
  view.packed = packed;
  view.upper = fill == CUBLAS_FILL_MODE_UPPER;
  return view;
}

struct SymmetricProduct {
  cublasSideMode_t side;
  cublasFillMode_t fill;
  int64_t m, n;  // of C
  const void* alpha;
  Operand a, b;
  const void* beta;
  Operand c;
  bool hermitian;
};

CudaError RunSymmetricProduct(cublasHandle_t handle, const SymmetricProduct& call) {
  const bool left = call.side == CUBLAS_SIDE_LEFT;
  const int64_t size = left ? call.m : call.n, rows = std::max<int64_t>(1, call.m);
  if (!IsSide(call.side) || !IsFill(call.fill) || call.m < 0 || call.n < 0 || call.a.ld < std::max<int64_t>(1, size) ||
      call.b.ld < rows || call.c.ld < rows || call.alpha == nullptr || call.beta == nullptr) {
    return CudaError::kInvalidValue;
  }
  if (call.m == 0 || call.n == 0) return CudaError::kSuccess;
  if (size > INT_MAX) return CudaError::kNotSupported;
  const ElementType type = call.c.type;
  void* whole = nullptr;
  CudaError error = Workspace(handle, static_cast<uint64_t>(size * size) * device::ElementBytes(type), &whole);
  if (error != CudaError::kSuccess) return error;
  const Operand a{whole, type, size};
  const bool zero = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST &&
                    ReadScalar(call.alpha, type) == std::array<double, 2>{0, 0};  // then A is not looked at
  if (!zero) {
    EntryCopy copy{StoredView(call.fill, size, call.a, false), StoredView(call.fill, size, a, false), size, 0};
    copy.from.mirrored = 1;
    copy.from.hermitian = call.hermitian;
    error = LaunchVector(handle, type, "copy_entries", {size, size}, &copy);
    if (error != CudaError::kSuccess) return error;
  }
  return RunGemm(handle, {CUBLAS_OP_N, CUBLAS_OP_N, call.m, call.n, size, type, call.alpha, left ? a : call.b,
                          left ? call.b : a, call.beta, call.c});
}

CudaError CopyTriangle(cublasHandle_t handle, cublasFillMode_t fill, int64_t n, const Operand& packed,
                       const Operand& full, bool unpack) {
  if (!IsFill(fill) || n < 0 || full.ld < std::max<int64_t>(1, n)) return CudaError::kInvalidValue;
  if (n == 0) return CudaError::kSuccess;
  EntryCopy copy{StoredView(fill, n, packed, true), StoredView(fill, n, full, false), n, 1};
  if (!unpack) std::swap(copy.from, copy.to);
  return LaunchVector(handle, full.type, "copy_entries", {n, n}, &copy);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_SYMM(name, T, element, Int, hermitian)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, Int m, Int n,             \
                      const T* alpha, const T* a, Int lda, const T* b, Int ldb, const T* beta, T* c, Int ldc) {      \
    return Blas(Call::k_##name, handle, [&] {                                                                        \
      constexpr ElementType kType = ElementType::element;                                                            \
      return RunSymmetricProduct(                                                                                    \
          handle, SymmetricProduct{                                                                                  \
                      side, fill, m, n, alpha, {a, kType, lda}, {b, kType, ldb}, beta, {c, kType, ldc}, hermitian}); \
    });                                                                                                              \
  }
#define WHARF_TPTTR(letter, T, element)                                                                            \
  cublasStatus_t cublas##letter##tpttr(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* packed, T* a, \
                                       int lda) {                                                                  \
    return Blas(Call::k_cublas##letter##tpttr, handle, [&] {                                                       \
      constexpr ElementType kType = ElementType::element;                                                          \
      return CopyTriangle(handle, fill, n, {packed, kType, 0}, {a, kType, lda}, true);                             \
    });                                                                                                            \
  }                                                                                                                \
  cublasStatus_t cublas##letter##trttp(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* a, int lda,   \
                                       T* packed) {                                                                \
    return Blas(Call::k_cublas##letter##trttp, handle, [&] {                                                       \
      constexpr ElementType kType = ElementType::element;                                                          \
      return CopyTriangle(handle, fill, n, {packed, kType, 0}, {a, kType, lda}, false);                            \
    });                                                                                                            \
  }
#define WHARF_SYMM_FAMILY(letter, T, element)                        \
  WHARF_SYMM(cublas##letter##symm_v2, T, element, int, false)        \
  WHARF_SYMM(cublas##letter##symm_v2_64, T, element, int64_t, false) \
  WHARF_TPTTR(letter, T, element)
WHARF_SYMM_FAMILY(S, float, kF32)
WHARF_SYMM_FAMILY(D, double, kF64)
WHARF_SYMM_FAMILY(C, cuComplex, kC32)
WHARF_SYMM_FAMILY(Z, cuDoubleComplex, kC64)
WHARF_SYMM(cublasChemm_v2, cuComplex, kC32, int, true)
WHARF_SYMM(cublasChemm_v2_64, cuComplex, kC32, int64_t, true)
WHARF_SYMM(cublasZhemm_v2, cuDoubleComplex, kC64, int, true)
WHARF_SYMM(cublasZhemm_v2_64, cuDoubleComplex, kC64, int64_t, true)

}  // extern "C"
