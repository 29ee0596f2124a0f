// Matrices and triangles to which products of two vectors are added: ger, geru, gerc, and of symmetric and Hermitian
// ones, plain and packed, syr, her, spr, hpr and those of two products.
#include <algorithm>
#include <climits>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

CudaError UpdateMatrix(cublasHandle_t handle, int64_t m, int64_t n, const void* alpha, const Operand& x,
                       const Operand& y, const Operand& a, bool conjugated) {
  if (m < 0 || n < 0 || x.ld == 0 || y.ld == 0 || a.ld < std::max<int64_t>(1, m) || alpha == nullptr) {
    return CudaError::kInvalidValue;
  }
  if (m == 0 || n == 0) return CudaError::kSuccess;
  if (m > INT_MAX || n > INT_MAX) return CudaError::kNotSupported;
  VectorUpdate u{};
  u.a.data = a.data;
  u.a.leading = a.ld;
  u.x = VectorOf(x);
  u.y = VectorOf(y);
  u.alpha = ScalarOf(handle, alpha, a.type);
  u.rows = m;
  u.columns = n;
  u.conjugated = conjugated;
  return LaunchVector(handle, a.type, "update_by_vectors", {n, m}, &u);
}

enum class Products { kOne, kTwo };

struct TriangleOfA {
  cublasFillMode_t fill;
  int64_t n;
  Operand a;
  bool packed;
};

CudaError UpdateTriangle(cublasHandle_t handle, const TriangleOfA& triangle, const void* alpha, const Operand& x,
                         const Operand& y, Products products, bool hermitian) {
  const int64_t n = triangle.n;
  if (!IsFill(triangle.fill) || n < 0 || x.ld == 0 || y.ld == 0 || alpha == nullptr ||
      (!triangle.packed && triangle.a.ld < std::max<int64_t>(1, n))) {
    return CudaError::kInvalidValue;
  }
  if (n == 0) return CudaError::kSuccess;
  if (n > INT_MAX) return CudaError::kNotSupported;
  const bool twice = products == Products::kTwo;
  VectorUpdate u{};
  u.a.data = triangle.a.data;
  u.a.leading = triangle.a.ld;
  u.a.size = n;
  u.a.packed = triangle.packed;
  u.a.upper = triangle.fill == CUBLAS_FILL_MODE_UPPER;
  u.x = VectorOf(x);
  u.y = VectorOf(y);
  u.alpha = ScalarOf(handle, alpha, triangle.a.type, hermitian && !twice);  // that of one product is real
  u.rows = u.columns = n;
  u.triangle = 1;
  u.twice = twice;
  u.conjugated = hermitian;
  return LaunchVector(handle, triangle.a.type, "update_by_vectors", {n, n}, &u);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_GER(name, T, element, Int, conjugated)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, Int m, Int n, const T* alpha, const T* x, Int step_x, const T* y,       \
                      Int step_y, T* a, Int lda) {                                                                   \
    return Blas(Call::k_##name, handle, [&] {                                                                        \
      constexpr ElementType kType = ElementType::element;                                                            \
      return UpdateMatrix(handle, m, n, alpha, {x, kType, step_x}, {y, kType, step_y}, {a, kType, lda}, conjugated); \
    });                                                                                                              \
  }
#define WHARF_RANK_ONE(name, T, Real, element, Int, hermitian)                                                      \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, const Real* alpha, const T* x, Int step, \
                      T* a, Int lda) {                                                                              \
    return Blas(Call::k_##name, handle, [&] {                                                                       \
      const Operand vector{x, ElementType::element, step};                                                          \
      return UpdateTriangle(handle, {fill, n, {a, vector.type, lda}, false}, alpha, vector, vector, Products::kOne, \
                            hermitian);                                                                             \
    });                                                                                                             \
  }
#define WHARF_RANK_ONE_PACKED(name, T, Real, element, Int, hermitian)                                               \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, const Real* alpha, const T* x, Int step, \
                      T* a) {                                                                                       \
    return Blas(Call::k_##name, handle, [&] {                                                                       \
      const Operand vector{x, ElementType::element, step};                                                          \
      return UpdateTriangle(handle, {fill, n, {a, vector.type, 0}, true}, alpha, vector, vector, Products::kOne,    \
                            hermitian);                                                                             \
    });                                                                                                             \
  }
#define WHARF_RANK_TWO(name, T, element, Int, hermitian)                                                              \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* x, Int step_x,    \
                      const T* y, Int step_y, T* a, Int lda) {                                                        \
    return Blas(Call::k_##name, handle, [&] {                                                                         \
      constexpr ElementType kType = ElementType::element;                                                             \
      return UpdateTriangle(handle, {fill, n, {a, kType, lda}, false}, alpha, {x, kType, step_x}, {y, kType, step_y}, \
                            Products::kTwo, hermitian);                                                               \
    });                                                                                                               \
  }
#define WHARF_RANK_TWO_PACKED(name, T, element, Int, hermitian)                                                    \
  cublasStatus_t name(cublasHandle_t handle, cublasFillMode_t fill, Int n, const T* alpha, const T* x, Int step_x, \
                      const T* y, Int step_y, T* a) {                                                              \
    return Blas(Call::k_##name, handle, [&] {                                                                      \
      constexpr ElementType kType = ElementType::element;                                                          \
      return UpdateTriangle(handle, {fill, n, {a, kType, 0}, true}, alpha, {x, kType, step_x}, {y, kType, step_y}, \
                            Products::kTwo, hermitian);                                                            \
    });                                                                                                            \
  }
#define WHARF_SYMMETRIC_RANKS(letter, T, element, suffix, Int)           \
  WHARF_RANK_ONE(cublas##letter##syr##suffix, T, T, element, Int, false) \
  WHARF_RANK_TWO(cublas##letter##syr2##suffix, T, element, Int, false)
#define WHARF_REAL_RANKS(letter, T, element, suffix, Int)                       \
  WHARF_GER(cublas##letter##ger##suffix, T, element, Int, false)                \
  WHARF_RANK_ONE_PACKED(cublas##letter##spr##suffix, T, T, element, Int, false) \
  WHARF_RANK_TWO_PACKED(cublas##letter##spr2##suffix, T, element, Int, false)
#define WHARF_COMPLEX_RANKS(letter, T, Real, element, suffix, Int)                \
  WHARF_GER(cublas##letter##geru##suffix, T, element, Int, false)                 \
  WHARF_GER(cublas##letter##gerc##suffix, T, element, Int, true)                  \
  WHARF_RANK_ONE(cublas##letter##her##suffix, T, Real, element, Int, true)        \
  WHARF_RANK_TWO(cublas##letter##her2##suffix, T, element, Int, true)             \
  WHARF_RANK_ONE_PACKED(cublas##letter##hpr##suffix, T, Real, element, Int, true) \
  WHARF_RANK_TWO_PACKED(cublas##letter##hpr2##suffix, T, element, Int, true)
#define WHARF_RANKS(suffix, Int)                               \
  WHARF_SYMMETRIC_RANKS(S, float, kF32, suffix, Int)           \
  WHARF_SYMMETRIC_RANKS(D, double, kF64, suffix, Int)          \
  WHARF_SYMMETRIC_RANKS(C, cuComplex, kC32, suffix, Int)       \
  WHARF_SYMMETRIC_RANKS(Z, cuDoubleComplex, kC64, suffix, Int) \
  WHARF_REAL_RANKS(S, float, kF32, suffix, Int)                \
  WHARF_REAL_RANKS(D, double, kF64, suffix, Int)               \
  WHARF_COMPLEX_RANKS(C, cuComplex, float, kC32, suffix, Int)  \
  WHARF_COMPLEX_RANKS(Z, cuDoubleComplex, double, kC64, suffix, Int)
WHARF_RANKS(_v2, int)
WHARF_RANKS(_v2_64, int64_t)

}  // extern "C"
