// The vector operations a matrix product can express, with vectors as matrices of one row: y += a x is the product of
// [1] and x, a dot product that of a row and a column, scaling a product that is multiplied by nothing. Vectors run
// forwards.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cublas/blas.h"

namespace wharf::cudashim {
namespace {

// What a handle keeps on the device: ones of both types, a zero, and room for a result.
constexpr uint64_t kFloatOne = 0, kDoubleOne = 8, kZero = 16, kResult = 32, kConstantBytes = 64;

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

template <typename T>
struct Vector {
  const T* data;
  int64_t step;
};

template <typename T>
constexpr ElementType kTypeOf = sizeof(T) == sizeof(float) ? ElementType::kF32 : ElementType::kF64;

template <typename T>
Operand Row(const Vector<T>& vector) {
  return {vector.data, kTypeOf<T>, vector.step};
}

template <typename T>
Operand Constant(cublasHandle_t handle, uint64_t offset) {
  return {reinterpret_cast<const void*>(handle->constants + offset), kTypeOf<T>, 1};
}

template <typename T>
Operand One(cublasHandle_t handle) {
  return Constant<T>(handle, sizeof(T) == sizeof(float) ? kFloatOne : kDoubleOne);
}

// Scalars are where the handle's pointer mode says; ours are on both sides.
template <typename T>
const void* ScalarOne(cublasHandle_t handle) {
  static const T one = 1;
  return handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE ? One<T>(handle).data : &one;
}
template <typename T>
const void* ScalarZero(cublasHandle_t handle) {
  static const T zero = 0;
  return handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE ? Constant<T>(handle, kZero).data : &zero;
}

template <typename T>
CudaError Axpy(cublasHandle_t handle, int64_t n, const T* alpha, const Vector<T>& x, const Vector<T>& y) {
  if (n <= 0) return CudaError::kSuccess;
  if (x.step <= 0 || y.step <= 0) return CudaError::kNotSupported;
  const CudaError error = MakeConstants(handle);
  if (error != CudaError::kSuccess) return error;
  return RunGemm(handle, {CUBLAS_OP_N, CUBLAS_OP_N, 1, n, 1, kTypeOf<T>, alpha, One<T>(handle), Row(x),
                          ScalarOne<T>(handle), Row(y)});
}

template <typename T>
CudaError Scale(cublasHandle_t handle, int64_t n, const T* alpha, const Vector<T>& x) {
  if (n <= 0 || x.step <= 0) return CudaError::kSuccess;  // as BLAS does
  const CudaError error = MakeConstants(handle);
  if (error != CudaError::kSuccess) return error;
  return RunGemm(handle, {CUBLAS_OP_N, CUBLAS_OP_N, 1, n, 1, kTypeOf<T>, ScalarZero<T>(handle), One<T>(handle), Row(x),
                          alpha, Row(x)});
}

template <typename T>
CudaError CopyVector(cublasHandle_t handle, int64_t n, const Vector<T>& x, const Vector<T>& y) {
  if (n <= 0) return CudaError::kSuccess;
  if (x.step <= 0 || y.step <= 0) return CudaError::kNotSupported;
  const auto box = [](const Vector<T>& vector) {
    return client::Box{reinterpret_cast<uint64_t>(vector.data), static_cast<uint64_t>(vector.step) * sizeof(T), 0};
  };
  return client::Copy(StreamOf(handle), box(y), box(x), {sizeof(T), static_cast<uint64_t>(n), 1},
                      client::CopyKind::kDeviceToDevice, true);
}

template <typename T>
CudaError Dot(cublasHandle_t handle, int64_t n, const Vector<T>& x, const Vector<T>& y, T* result) {
  if (result == nullptr) return CudaError::kInvalidValue;
  const bool on_device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  if (n > 0 && (x.step <= 0 || y.step <= 0)) return CudaError::kNotSupported;
  CudaError error = MakeConstants(handle);
  if (error != CudaError::kSuccess) return error;
  const Operand place = on_device ? Operand{result, kTypeOf<T>, 1} : Constant<T>(handle, kResult);
  error = RunGemm(handle, {CUBLAS_OP_N, CUBLAS_OP_T, 1, 1, std::max<int64_t>(n, 0), kTypeOf<T>, ScalarOne<T>(handle),
                           Row(x), Row(y), ScalarZero<T>(handle), place});
  if (error != CudaError::kSuccess || on_device) return error;
  return client::Copy(StreamOf(handle), {reinterpret_cast<uint64_t>(result), 0, 0},
                      {reinterpret_cast<uint64_t>(place.data), 0, 0}, {sizeof(T), 1, 1},
                      client::CopyKind::kDeviceToHost, false);
}

// The root is taken here, so the result must be wanted here.
template <typename T>
CudaError Norm(cublasHandle_t handle, int64_t n, const Vector<T>& x, T* result) {
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) return CudaError::kNotSupported;
  const CudaError error = Dot(handle, n, x, x, result);
  if (error == CudaError::kSuccess) *result = std::sqrt(*result);
  return error;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_VECTOR_OPERATIONS(letter, T, suffix, Int)                                                                \
  cublasStatus_t cublas##letter##axpy_v2##suffix(cublasHandle_t handle, Int n, const T* alpha, const T* x, Int step_x, \
                                                 T* y, Int step_y) {                                                   \
    return Blas(Call::k_cublas##letter##axpy_v2##suffix, handle, [&] {                                                 \
      return Axpy<T>(handle, n, alpha, {x, step_x}, {y, step_y});                                                      \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##letter##scal_v2##suffix(cublasHandle_t handle, Int n, const T* alpha, T* x, Int step_x) {     \
    return Blas(Call::k_cublas##letter##scal_v2##suffix, handle, [&] {                                                 \
      return Scale<T>(handle, n, alpha, {x, step_x});                                                                  \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##letter##copy_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int step_x, T* y,           \
                                                 Int step_y) {                                                         \
    return Blas(Call::k_cublas##letter##copy_v2##suffix, handle, [&] {                                                 \
      return CopyVector<T>(handle, n, {x, step_x}, {y, step_y});                                                       \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##letter##dot_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int step_x, const T* y,      \
                                                Int step_y, T* result) {                                               \
    return Blas(Call::k_cublas##letter##dot_v2##suffix, handle, [&] {                                                  \
      return Dot<T>(handle, n, {x, step_x}, {y, step_y}, result);                                                      \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##letter##nrm2_v2##suffix(cublasHandle_t handle, Int n, const T* x, Int step_x, T* result) {    \
    return Blas(Call::k_cublas##letter##nrm2_v2##suffix, handle, [&] {                                                 \
      return Norm<T>(handle, n, {x, step_x}, result);                                                                  \
    });                                                                                                                \
  }
WHARF_VECTOR_OPERATIONS(S, float, , int)
WHARF_VECTOR_OPERATIONS(S, float, _64, int64_t)
WHARF_VECTOR_OPERATIONS(D, double, , int)
WHARF_VECTOR_OPERATIONS(D, double, _64, int64_t)
#undef WHARF_VECTOR_OPERATIONS

}  // extern "C"
