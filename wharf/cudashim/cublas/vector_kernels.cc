// Vectors as kernels compute them: where no product does (vector.cc), scaled, by real numbers too (csscal, zdscal),
// and rotations (rot, rotg, rotm, rotmg).
#include <algorithm>

#include "wharf/cudashim/cublas/givens.h"
#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {

CudaError CombineVectors(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y,
                         const ScalarArgument& alpha, bool added) {
  if (y.ld == 0) return CudaError::kNotSupported;
  const VectorCombination c{VectorOf(x), VectorOf(y), alpha, n, added ? 1 : 0, 0};
  return LaunchVector(handle, x.type, "combine_vectors", {1, n}, &c);
}

CudaError CopyByKernel(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y) {
  if (y.ld == 0) return CudaError::kNotSupported;
  const VectorCombination c{VectorOf(x), VectorOf(y), ScalarOf(1), n, 0, 1};
  return LaunchVector(handle, x.type, "combine_vectors", {1, n}, &c);
}

CudaError DotByKernel(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y, bool conjugated,
                      void* result) {
  const VectorDot d{VectorOf(x), VectorOf(y), result, n, conjugated ? 1 : 0};
  return LaunchVector(handle, x.type, "multiply_vectors", {}, &d);
}

CudaError ScaleVector(cublasHandle_t handle, int64_t n, const void* alpha, const Operand& x, bool real) {
  if (alpha == nullptr) return CudaError::kInvalidValue;
  if (n <= 0 || x.ld <= 0) return CudaError::kSuccess;  // as BLAS does
  return CombineVectors(handle, n, x, x, ScalarOf(handle, alpha, x.type, real), false);
}

namespace {

CudaError Rotate(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y, const void* cosine,
                 const void* sine, bool sine_is_real) {
  if (cosine == nullptr || sine == nullptr) return CudaError::kInvalidValue;
  if (n <= 0) return CudaError::kSuccess;
  if (x.ld == 0 || y.ld == 0) return CudaError::kNotSupported;
  VectorRotation r{};
  r.x = VectorOf(x);
  r.y = VectorOf(y);
  r.cosine = ScalarOf(handle, cosine, x.type, true);
  r.sine = ScalarOf(handle, sine, x.type, sine_is_real);
  r.count = n;
  return LaunchVector(handle, x.type, "rotate_vectors", {1, n}, &r);
}

template <typename R>
CudaError RotateModified(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y, const R* parameters) {
  if (parameters == nullptr) return CudaError::kInvalidValue;
  if (n <= 0) return CudaError::kSuccess;
  if (x.ld == 0 || y.ld == 0) return CudaError::kNotSupported;
  VectorRotation r{};
  r.x = VectorOf(x);
  r.y = VectorOf(y);
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    r.parameters_on_device = parameters;
  } else {
    std::copy_n(parameters, 5, r.parameters);
  }
  r.count = n;
  r.modified = 1;
  return LaunchVector(handle, x.type, "rotate_vectors", {1, n}, &r);
}

// T is R, or R's complex type.
template <typename T, typename R>
CudaError MakeRotationOf(cublasHandle_t handle, ElementType type, T* a, T* b, R* c, T* s) {
  if (a == nullptr || b == nullptr || c == nullptr || s == nullptr) return CudaError::kInvalidValue;
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    const RotationMaker maker{a, b, c, s};
    return LaunchVector(handle, type, "make_rotation", {}, &maker);
  }
  if constexpr (sizeof(T) == sizeof(R)) {
    MakeRotation(a, b, c, s);
  } else {
    MakeComplexRotation(&a->x, &b->x, c, &s->x);
  }
  return CudaError::kSuccess;
}

template <typename R>
CudaError MakeModifiedRotationOf(cublasHandle_t handle, ElementType type, R* d1, R* d2, R* x1, const R* y1,
                                 R* parameters) {
  if (d1 == nullptr || d2 == nullptr || x1 == nullptr || y1 == nullptr || parameters == nullptr) {
    return CudaError::kInvalidValue;
  }
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    const ModifiedRotationMaker maker{d1, d2, x1, y1, parameters};
    return LaunchVector(handle, type, "make_modified_rotation", {}, &maker);
  }
  MakeModifiedRotation(d1, d2, x1, *y1, parameters);
  return CudaError::kSuccess;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_SCALE_BY_REAL(name, T, Real, element, Int)                                 \
  cublasStatus_t name(cublasHandle_t handle, Int n, const Real* alpha, T* x, Int step) { \
    return Blas(Call::k_##name, handle, [&] {                                            \
      return ScaleVector(handle, n, alpha, {x, ElementType::element, step}, true);       \
    });                                                                                  \
  }
#define WHARF_ROTATE(name, T, Real, Sine, element, Int)                                                     \
  cublasStatus_t name(cublasHandle_t handle, Int n, T* x, Int step_x, T* y, Int step_y, const Real* c,      \
                      const Sine* s) {                                                                      \
    return Blas(Call::k_##name, handle, [&] {                                                               \
      constexpr ElementType kType = ElementType::element;                                                   \
      return Rotate(handle, n, {x, kType, step_x}, {y, kType, step_y}, c, s, sizeof(Sine) == sizeof(Real)); \
    });                                                                                                     \
  }
#define WHARF_ROTATE_MODIFIED(name, T, element, Int)                                                           \
  cublasStatus_t name(cublasHandle_t handle, Int n, T* x, Int step_x, T* y, Int step_y, const T* parameters) { \
    return Blas(Call::k_##name, handle, [&] {                                                                  \
      constexpr ElementType kType = ElementType::element;                                                      \
      return RotateModified(handle, n, {x, kType, step_x}, {y, kType, step_y}, parameters);                    \
    });                                                                                                        \
  }
#define WHARF_MAKE_ROTATION(name, T, Real, element)                                                                \
  cublasStatus_t name(cublasHandle_t handle, T* a, T* b, Real* c, T* s) {                                          \
    return Blas(Call::k_##name, handle, [&] { return MakeRotationOf(handle, ElementType::element, a, b, c, s); }); \
  }
#define WHARF_MAKE_MODIFIED_ROTATION(name, T, element)                                                             \
  cublasStatus_t name(cublasHandle_t handle, T* d1, T* d2, T* x1, const T* y1, T* parameters) {                    \
    return Blas(Call::k_##name, handle,                                                                            \
                [&] { return MakeModifiedRotationOf(handle, ElementType::element, d1, d2, x1, y1, parameters); }); \
  }
#define WHARF_ROTATIONS(suffix, Int)                                                    \
  WHARF_SCALE_BY_REAL(cublasCsscal##suffix, cuComplex, float, kC32, Int)                \
  WHARF_SCALE_BY_REAL(cublasZdscal##suffix, cuDoubleComplex, double, kC64, Int)         \
  WHARF_ROTATE(cublasSrot##suffix, float, float, float, kF32, Int)                      \
  WHARF_ROTATE(cublasDrot##suffix, double, double, double, kF64, Int)                   \
  WHARF_ROTATE(cublasCrot##suffix, cuComplex, float, cuComplex, kC32, Int)              \
  WHARF_ROTATE(cublasCsrot##suffix, cuComplex, float, float, kC32, Int)                 \
  WHARF_ROTATE(cublasZrot##suffix, cuDoubleComplex, double, cuDoubleComplex, kC64, Int) \
  WHARF_ROTATE(cublasZdrot##suffix, cuDoubleComplex, double, double, kC64, Int)         \
  WHARF_ROTATE_MODIFIED(cublasSrotm##suffix, float, kF32, Int)                          \
  WHARF_ROTATE_MODIFIED(cublasDrotm##suffix, double, kF64, Int)
WHARF_ROTATIONS(_v2, int)
WHARF_ROTATIONS(_v2_64, int64_t)
WHARF_MAKE_ROTATION(cublasSrotg_v2, float, float, kF32)
WHARF_MAKE_ROTATION(cublasDrotg_v2, double, double, kF64)
WHARF_MAKE_ROTATION(cublasCrotg_v2, cuComplex, float, kC32)
WHARF_MAKE_ROTATION(cublasZrotg_v2, cuDoubleComplex, double, kC64)
WHARF_MAKE_MODIFIED_ROTATION(cublasSrotmg_v2, float, kF32)
WHARF_MAKE_MODIFIED_ROTATION(cublasDrotmg_v2, double, kF64)

}  // extern "C"
