// The kernels of solvers.cu and of vectors.cu, as the library launches them.
#pragma once

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cublas/blas.h"
#include "wharf/cudashim/cublas/solvers.h"
#include "wharf/cudashim/cublas/vectors.h"

namespace wharf::cudashim {

// Blocks for a batch of matrices, and, where each line of them is a thread's, for so many lines.
struct SolverGrid {
  int64_t batch = 1, lines = 1;
};

// Triangles larger than this are divided into blocks.
inline constexpr int64_t kTriangleBlock = 64;

inline bool IsSide(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
inline bool IsFill(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER; }
inline bool IsDiagonal(cublasDiagType_t diagonal) {
  return diagonal == CUBLAS_DIAG_UNIT || diagonal == CUBLAS_DIAG_NON_UNIT;
}

inline bool IsComplex(ElementType type) { return type == ElementType::kC32 || type == ElementType::kC64; }
inline ElementType RealTypeOf(ElementType type) {
  return type == ElementType::kC32 ? ElementType::kF32 : type == ElementType::kC64 ? ElementType::kF64 : type;
}

inline SolverMatrix MatrixOf(const Operand& operand, bool batched) {
  return {const_cast<void*>(operand.data), operand.ld, batched ? 1 : 0};
}

inline Operand Part(const Operand& matrix, int64_t row, int64_t column) {
  const auto offset = static_cast<size_t>(row + column * matrix.ld) * device::ElementBytes(matrix.type);
  return {static_cast<const char*>(matrix.data) + offset, matrix.type, matrix.ld};
}

// A number in the program's memory, of the call's type.
class Scalar {
 public:
  Scalar(ElementType type, double value, double imaginary = 0) {
    if (type == ElementType::kF32 || type == ElementType::kC32) {
      small_[0] = static_cast<float>(value);
      small_[1] = static_cast<float>(imaginary);
      data_ = small_;
    } else {
      large_[0] = value;
      large_[1] = imaginary;
      data_ = large_;
    }
  }
  const void* data() const { return data_; }

 private:
  float small_[2] = {};
  double large_[2] = {};
  const void* data_;
};

// Puts a kernel by its name, and of a type that BLAS has, on the handle's stream. `parameters` is the struct of
// solvers.h.
CudaError LaunchSolver(cublasHandle_t handle, ElementType type, const char* kernel, const SolverGrid& grid,
                       const void* parameters);
// Likewise, of vectors.h.
CudaError LaunchVector(cublasHandle_t handle, ElementType type, const char* kernel, const SolverGrid& grid,
                       const void* parameters);

// Of the type, or `real`, and where the handle's pointer mode says.
ScalarArgument ScalarOf(cublasHandle_t handle, const void* scalar, ElementType type, bool real = false);
inline ScalarArgument ScalarOf(double number) { return {nullptr, {number, 0}, 0}; }
// A vector's step is its leading dimension.
inline VectorView VectorOf(const Operand& vector) { return {const_cast<void*>(vector.data), vector.ld}; }

// Memory of the device for one call: what it puts on the handle's stream. The handle keeps it, so that calls that are
// made again and again are the same to replay. A call asks once.
CudaError Workspace(cublasHandle_t handle, uint64_t bytes, void** data);

// Vectors as no product gives them: by any steps but 0 of what is written (vector_kernels.cc).
CudaError CombineVectors(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y,
                         const ScalarArgument& alpha, bool added);
CudaError CopyByKernel(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y);
// By a number of the vector's type, or a `real` one.
CudaError ScaleVector(cublasHandle_t handle, int64_t n, const void* alpha, const Operand& x, bool real);
// `result` is on the device.
CudaError DotByKernel(cublasHandle_t handle, int64_t n, const Operand& x, const Operand& y, bool conjugated,
                      void* result);

// op(A) X = alpha B or X op(A) = alpha B, in B's place. The types are A's and B's.
struct TriangleCall {
  cublasSideMode_t side;
  cublasFillMode_t fill;
  cublasOperation_t transpose;
  cublasDiagType_t diagonal;
  int64_t m, n;  // of B
  const void* alpha;
  Operand a, b;
  int64_t batch = 1;
  bool pointer_arrays = false;
};
// Checks what the vendor checks.
CudaError SolveTriangle(cublasHandle_t handle, const TriangleCall& call);

// y = alpha op(A) x + beta y.
struct GemvCall {
  cublasOperation_t transpose;
  int64_t m, n;
  ElementType compute;
  const void* alpha;
  Operand a, x;  // a vector's step is its leading dimension
  const void* beta;
  Operand y;
  int64_t batch = 1;
  bool pointer_arrays = false;
};
// Checks what the vendor checks.
CudaError RunGemv(cublasHandle_t handle, const GemvCall& call);

// While it lives, scalars that the handle is given are in the program's memory.
class HostScalars {
 public:
  explicit HostScalars(cublasHandle_t handle) : handle_(handle), before_(handle->pointer_mode) {
    handle_->pointer_mode = CUBLAS_POINTER_MODE_HOST;
  }
  ~HostScalars() { handle_->pointer_mode = before_; }
  HostScalars(const HostScalars&) = delete;
  HostScalars& operator=(const HostScalars&) = delete;

 private:
  const cublasHandle_t handle_;
  const cublasPointerMode_t before_;
};

}  // namespace wharf::cudashim
