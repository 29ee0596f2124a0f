// The vector operations a matrix product can express, with vectors as matrices of one row: y += a x is the product of
// [1] and x, a dot product that of a row and a column. Kernels scale, as products would clear what is no number where
// alpha is 0, and do the rest where vectors run backwards, or where NVIDIA's cuBLAS has no such product: of a complex
// number and a row.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

// What a handle keeps on the device: ones of every type, real and complex, a zero, and room for a result.
constexpr uint64_t kFloatOne = 0, kDoubleOne = 8, kZero = 16, kResult = 32, kConstantBytes = 64;
static_assert(kDoubleOne - kFloatOne >= sizeof(cuComplex) && kZero - kDoubleOne == sizeof(double) &&
              kResult - kZero >= sizeof(cuDoubleComplex));  // behind each one are zeroes

CudaError MakeConstants(cublasHandle_t handle) {
  if (handle->constants != 0) return CudaError::kSuccess;
  CudaError error = client::AllocateOwn(kConstantBytes, &handle->constants);
  if (error != CudaError::kSuccess) return error;
  alignas(8) char values[kConstantBytes] = {};
  const float float_one = 1;
  const double double_one = 1;
  std::memcpy(values + kFloatOne, &float_one, sizeof(float_one));
  std::memcpy(values + kDoubleOne, &double_one, sizeof(double_one));
  return client::WriteOwn(StreamOf(handle), handle->constants, std::as_bytes(std::span(values)));
}

}  // namespace

CudaError PlaceOfResult(cublasHandle_t handle, uint64_t* place) {
  const CudaError error = MakeConstants(handle);
  *place = handle->constants + kResult;
  return error;
}

namespace {

template <typename T>
struct Vector {
  const T* data;
  int64_t step;
};

template <typename T>
constexpr ElementType kTypeOf = ElementType::kF32;
template <>
constexpr ElementType kTypeOf<double> = ElementType::kF64;
template <>
constexpr ElementType kTypeOf<cuComplex> = ElementType::kC32;
template <>
constexpr ElementType kTypeOf<cuDoubleComplex> = ElementType::kC64;

bool IsDouble(ElementType type) { return type == ElementType::kF64 || type == ElementType::kC64; }

template <typename T>
Operand Row(const Vector<T>& vector) {
  return {vector.data, kTypeOf<T>, vector.step};
}

Operand Constant(cublasHandle_t handle, ElementType type, uint64_t offset) {
  return {reinterpret_cast<const void*>(handle->constants + offset), type, 1};
}

Operand One(cublasHandle_t handle, ElementType type) {
  return Constant(handle, type, IsDouble(type) ? kDoubleOne : kFloatOne);
}

// Scalars are where the handle's pointer mode says; ours are on both sides.
const void* ScalarOne(cublasHandle_t handle, ElementType type) {
  static constexpr float kFloat[] = {1, 0};
  static constexpr double kDouble[] = {1, 0};
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) return One(handle, type).data;
  return IsDouble(type) ? static_cast<const void*>(kDouble) : kFloat;
}
const void* ScalarZero(cublasHandle_t handle, ElementType type) {
  static constexpr double kNothing[] = {0, 0};
  return handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE ? Constant(handle, type, kZero).data : kNothing;
}

}  // namespace

CudaError ScalarOne(cublasHandle_t handle, ElementType type, const void** one) {
  const CudaError error = MakeConstants(handle);
  *one = ScalarOne(handle, type);
  return error;
}

namespace {

template <typename T>
CudaError Axpy(cublasHandle_t handle, int64_t n, const T* alpha, const Vector<T>& x, const Vector<T>& y) {
  if (n <= 0) return CudaError::kSuccess;
  if (alpha == nullptr) return CudaError::kInvalidValue;
  if (x.step <= 0 || y.step <= 0 || IsComplex(kTypeOf<T>)) {
    return CombineVectors(handle, n, Row(x), Row(y), ScalarOf(handle, alpha, kTypeOf<T>), true);
  }
  const CudaError error = MakeConstants(handle);
  if (error != CudaError::kSuccess) return error;
  return RunGemm(handle, {CUBLAS_OP_N, CUBLAS_OP_N, 1, n, 1, kTypeOf<T>, alpha, One(handle, kTypeOf<T>), Row(x),
                          ScalarOne(handle, kTypeOf<T>), Row(y)});
}

template <typename T>
CudaError CopyVector(cublasHandle_t handle, int64_t n, const Vector<T>& x, const Vector<T>& y) {
  if (n <= 0) return CudaError::kSuccess;
  if (x.step <= 0 || y.step <= 0) return CopyByKernel(handle, n, Row(x), Row(y));
  const auto box = [](const Vector<T>& vector) {
    return client::Box{reinterpret_cast<uint64_t>(vector.data), static_cast<uint64_t>(vector.step) * sizeof(T), 0};
  };
  return client::Copy(StreamOf(handle), box(y), box(x), {sizeof(T), static_cast<uint64_t>(n), 1},
                      client::CopyKind::kDeviceToDevice, true);
}

struct DotCall {
  int64_t n;
  Operand x, y;  // rows
  ElementType type, compute;
  bool conjugated;  // x is
  void* result;
};

CudaError Dot(cublasHandle_t handle, DotCall call) {
  if (call.result == nullptr) return CudaError::kInvalidValue;
  if (call.n <= 0) call.x.ld = call.y.ld = 1;  // of nothing
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  const bool by_kernel = call.n > 0 && (call.x.ld <= 0 || call.y.ld <= 0);
  if (by_kernel && (call.x.type != call.compute || call.type != call.compute)) return CudaError::kNotSupported;
  CudaError error = MakeConstants(handle);
  if (error != CudaError::kSuccess) return error;
  const Operand place = on_device ? Operand{call.result, call.type, 1} : Constant(handle, call.type, kResult);
  if (by_kernel) {
    error = DotByKernel(handle, call.n, call.x, call.y, call.conjugated, const_cast<void*>(place.data));
  } else {
    error = RunGemm(handle, {CUBLAS_OP_N, call.conjugated ? CUBLAS_OP_C : CUBLAS_OP_T, 1, 1,
                             std::max<int64_t>(call.n, 0), call.compute, ScalarOne(handle, call.compute), call.y,
                             call.x, ScalarZero(handle, call.compute), place});
  }
  if (error != CudaError::kSuccess || on_device) return error;
  return client::Copy(StreamOf(handle), {reinterpret_cast<uint64_t>(call.result), 0, 0},
                      {reinterpret_cast<uint64_t>(place.data), 0, 0}, {device::ElementBytes(call.type), 1, 1},
                      client::CopyKind::kDeviceToHost, false);
}

template <typename T>
CudaError Dot(cublasHandle_t handle, int64_t n, const Vector<T>& x, const Vector<T>& y, bool conjugated, T* result) {
  return Dot(handle, {n, Row(x), Row(y), kTypeOf<T>, kTypeOf<T>, conjugated, result});
}

// Types as arguments.
CudaError DotTyped(cublasHandle_t handle, DotCall call, cudaDataType x, cudaDataType y, cudaDataType result,
                   cudaDataType compute) {
  const auto type_x = TypeOf(x), type_y = TypeOf(y), type = TypeOf(result), type_compute = TypeOf(compute);
  if (!type_x || !type_y || !type || !type_compute || !IsProduct(*type_y, *type_x, *type, *type_compute)) {
    return CudaError::kNotSupported;
  }
  call.x.type = *type_x;
  call.y.type = *type_y;
  call.type = *type;
  call.compute = *type_compute;
  return Dot(handle, call);
}

constexpr ElementType kUnsetType = ElementType::kF32;  // DotTyped sets the types

double RealOf(float value) { return value; }
double RealOf(double value) { return value; }
double RealOf(cuComplex value) { return value.x; }
double RealOf(cuDoubleComplex value) { return value.x; }

// The root is taken here, unless the result is wanted on the device.
template <typename T, typename Real>
CudaError Norm(cublasHandle_t handle, int64_t n, const Vector<T>& x, Real* result) {
  if (result == nullptr) return CudaError::kInvalidValue;
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    VectorReduction norm{x.data, result, x.step <= 0 ? 0 : std::max<int64_t>(n, 0), x.step, 0, 0, 1};
    return LaunchSolver(handle, kTypeOf<T>, "sum_sizes", {}, &norm);
  }
  T squared{};
  const CudaError error = Dot<T>(handle, x.step <= 0 ? 0 : n, x, x, true, &squared);
  if (error == CudaError::kSuccess) *result = static_cast<Real>(std::sqrt(RealOf(squared)));
  return error;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_VECTOR_OPERATIONS(letter, norm, T, Real, suffix, Int)                                                    \
  cublasStatus_t cublas##letter##axpy_v2##suffix(cublasHandle_t handle, Int n, const T* alpha, const T* x, Int step_x, \
                                                 T* y, Int step_y) {                                                   \
    return Blas(Call::k_cublas##letter##axpy_v2##suffix, handle, [&] {                                                 \
      return Axpy<T>(handle, n, alpha, {x, step_x}, {y, step_y});                                                      \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##letter##scal_v2##suffix(cublasHandle_t handle, Int n, const T* alpha, T* x, Int step_x) {     \
    return Blas(Call::k_cublas##letter##scal_v2##suffix, handle, [&] {                                                 \
      return ScaleVector(handle, n, alpha, Row<T>({x, step_x}), false);                                                \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##letter##copy_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int step_x, T* y,           \
                                                 Int step_y) {                                                         \
    return Blas(Call::k_cublas##letter##copy_v2##suffix, handle, [&] {                                                 \
      return CopyVector<T>(handle, n, {x, step_x}, {y, step_y});                                                       \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##norm##nrm2_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int step_x, Real* result) {   \
    return Blas(Call::k_cublas##norm##nrm2_v2##suffix, handle, [&] {                                                   \
      return Norm<T>(handle, n, {x, step_x}, result);                                                                  \
    });                                                                                                                \
  }
#define WHARF_DOT(name, T, conjugated, suffix, Int)                                                          \
  cublasStatus_t cublas##name##_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int step_x, const T* y, \
                                           Int step_y, T* result) {                                          \
    return Blas(Call::k_cublas##name##_v2##suffix, handle, [&] {                                             \
      return Dot<T>(handle, n, {x, step_x}, {y, step_y}, conjugated, result);                                \
    });                                                                                                      \
  }
#define WHARF_DOT_EX(name, conjugated, Int)                                                                          \
  cublasStatus_t name(cublasHandle_t handle, Int n, const void* x, cudaDataType type_x, Int step_x, const void* y,   \
                      cudaDataType type_y, Int step_y, void* result, cudaDataType type, cudaDataType compute) {      \
    return Blas(Call::k_##name, handle, [&] {                                                                        \
      return DotTyped(                                                                                               \
          handle, {n, {x, kUnsetType, step_x}, {y, kUnsetType, step_y}, kUnsetType, kUnsetType, conjugated, result}, \
          type_x, type_y, type, compute);                                                                            \
    });                                                                                                              \
  }
#define WHARF_VECTORS(suffix, Int)                                     \
  WHARF_VECTOR_OPERATIONS(S, S, float, float, suffix, Int)             \
  WHARF_VECTOR_OPERATIONS(D, D, double, double, suffix, Int)           \
  WHARF_VECTOR_OPERATIONS(C, Sc, cuComplex, float, suffix, Int)        \
  WHARF_VECTOR_OPERATIONS(Z, Dz, cuDoubleComplex, double, suffix, Int) \
  WHARF_DOT(Sdot, float, false, suffix, Int)                           \
  WHARF_DOT(Ddot, double, false, suffix, Int)                          \
  WHARF_DOT(Cdotu, cuComplex, false, suffix, Int)                      \
  WHARF_DOT(Cdotc, cuComplex, true, suffix, Int)                       \
  WHARF_DOT(Zdotu, cuDoubleComplex, false, suffix, Int)                \
  WHARF_DOT(Zdotc, cuDoubleComplex, true, suffix, Int)
WHARF_VECTORS(, int)
WHARF_VECTORS(_64, int64_t)
WHARF_DOT_EX(cublasDotEx, false, int)
WHARF_DOT_EX(cublasDotEx_64, false, int64_t)
WHARF_DOT_EX(cublasDotcEx, true, int)
WHARF_DOT_EX(cublasDotcEx_64, true, int64_t)
#undef WHARF_VECTOR_OPERATIONS

}  // extern "C"
