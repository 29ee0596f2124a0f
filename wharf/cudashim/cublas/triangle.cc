// Triangular systems (trsm), plain and batched by an array of pointers. A plain one of some size is solved block by
// block: what is known is multiplied by the rest of the matrix as any product, and kernels solve what is on the
// diagonal.
#include <algorithm>
#include <array>
#include <climits>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

constexpr int64_t kBlock = 64;  // larger ones are divided

bool IsSide(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT; }
bool IsFill(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER; }
bool IsDiagonal(cublasDiagType_t diagonal) { return diagonal == CUBLAS_DIAG_UNIT || diagonal == CUBLAS_DIAG_NON_UNIT; }

int64_t SizeOf(const TriangleCall& call) { return call.side == CUBLAS_SIDE_LEFT ? call.m : call.n; }
int64_t LinesOf(const TriangleCall& call) { return call.side == CUBLAS_SIDE_LEFT ? call.n : call.m; }

bool IsValid(const TriangleCall& call) {
  return IsSide(call.side) && IsFill(call.fill) && TransposeOf(call.transpose).has_value() &&
         IsDiagonal(call.diagonal) && call.m >= 0 && call.n >= 0 && call.batch >= 0 &&
         call.a.ld >= std::max<int64_t>(1, SizeOf(call)) && call.b.ld >= std::max<int64_t>(1, call.m) &&
         call.alpha != nullptr;
}

// Then A is not looked at.
bool IsZero(cublasHandle_t handle, const TriangleCall& call) {
  return handle->pointer_mode == CUBLAS_POINTER_MODE_HOST &&
         ReadScalar(call.alpha, call.a.type) == std::array<double, 2>{0, 0};
}

// From the first unknown to the last.
bool IsForward(const TriangleCall& call) {
  const bool swapped = (call.transpose != CUBLAS_OP_N) != (call.side == CUBLAS_SIDE_RIGHT);
  return (call.fill == CUBLAS_FILL_MODE_LOWER) != swapped;
}

SolverMatrix MatrixOf(const Operand& operand, bool batched) {
  return {const_cast<void*>(operand.data), operand.ld, batched ? 1 : 0};
}

CudaError SolveAtOnce(cublasHandle_t handle, const TriangleCall& call) {
  TriangleSolver s{};
  s.a = MatrixOf(call.a, call.pointer_arrays);
  s.b = MatrixOf(call.b, call.pointer_arrays);
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    s.alpha_on_device = call.alpha;
  } else {
    const auto alpha = ReadScalar(call.alpha, call.a.type);
    std::copy(alpha.begin(), alpha.end(), s.alpha);
  }
  s.lines = LinesOf(call);
  s.size = static_cast<int>(SizeOf(call));
  s.of_rows = call.side == CUBLAS_SIDE_RIGHT;
  s.swapped = (call.transpose != CUBLAS_OP_N) != (call.side == CUBLAS_SIDE_RIGHT);
  s.conjugated = call.transpose == CUBLAS_OP_C;
  s.forward = IsForward(call);
  s.unit = call.diagonal == CUBLAS_DIAG_UNIT;
  return LaunchSolver(handle, call.a.type, "solve_triangle", {call.batch, s.lines}, &s);
}

Operand Part(const Operand& matrix, int64_t row, int64_t column) {
  const auto offset = static_cast<size_t>(row + column * matrix.ld) * device::ElementBytes(matrix.type);
  return {static_cast<const char*>(matrix.data) + offset, matrix.type, matrix.ld};
}

// A number in the program's memory, of the call's type.
class Scalar {
 public:
  Scalar(ElementType type, double value) {
    if (type == ElementType::kF32 || type == ElementType::kC32) {
      small_[0] = static_cast<float>(value);
      data_ = small_;
    } else {
      large_[0] = value;
      data_ = large_;
    }
  }
  const void* data() const { return data_; }

 private:
  float small_[2] = {};
  double large_[2] = {};
  const void* data_;
};

// The unknowns [from, to) and those that are known before them.
struct Step {
  int64_t from, to, known_from, known_to;
};

// B of the step's unknowns becomes alpha times itself, less what the known ones give.
CudaError Subtract(cublasHandle_t handle, const TriangleCall& call, const Step& step) {
  const Scalar minus(call.a.type, -1);
  const bool left = call.side == CUBLAS_SIDE_LEFT, plain = call.transpose == CUBLAS_OP_N;
  const int64_t known = step.known_to - step.known_from, unknown = step.to - step.from;
  // The factor's rows are the unknowns on the left, the known ones on the right; transposed they lie the other way.
  const bool by_unknown = left == plain;
  const Operand a = by_unknown ? Part(call.a, step.from, step.known_from) : Part(call.a, step.known_from, step.from);
  const ElementType type = call.a.type;
  if (left) {
    return RunGemm(handle, {call.transpose, CUBLAS_OP_N, unknown, call.n, known, type, minus.data(), a,
                            Part(call.b, step.known_from, 0), call.alpha, Part(call.b, step.from, 0)});
  }
  return RunGemm(handle, {CUBLAS_OP_N, call.transpose, call.m, unknown, known, type, minus.data(),
                          Part(call.b, 0, step.known_from), a, call.alpha, Part(call.b, 0, step.from)});
}

CudaError SolveStep(cublasHandle_t handle, TriangleCall call, const Step& step) {
  const Scalar one(call.a.type, 1);
  const bool left = call.side == CUBLAS_SIDE_LEFT;
  if (step.known_from < step.known_to) {
    const CudaError error = Subtract(handle, call, step);
    if (error != CudaError::kSuccess) return error;
    call.alpha = one.data();
  }
  call.a = Part(call.a, step.from, step.from);
  call.b = left ? Part(call.b, step.from, 0) : Part(call.b, 0, step.from);
  (left ? call.m : call.n) = step.to - step.from;
  return SolveAtOnce(handle, call);
}

CudaError SolveInBlocks(cublasHandle_t handle, TriangleCall call) {
  const Scalar one(call.a.type, 1);
  CudaError error = CudaError::kSuccess;
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    const MatrixScale scale{MatrixOf(call.b, false), call.alpha, call.m, call.n};
    error = LaunchSolver(handle, call.a.type, "scale_matrix", {1, call.n}, &scale);
    call.alpha = one.data();
  }
  const HostScalars scope(handle);
  const int64_t size = SizeOf(call);
  for (int64_t done = 0; done < size && error == CudaError::kSuccess; done += kBlock) {
    const int64_t next = std::min(size, done + kBlock);
    error = SolveStep(handle, call,
                      IsForward(call) ? Step{done, next, 0, done} : Step{size - next, size - done, size - done, size});
  }
  return error;
}

}  // namespace

CudaError SolveTriangle(cublasHandle_t handle, const TriangleCall& call) {
  if (!IsValid(call)) return CudaError::kInvalidValue;
  if (call.m == 0 || call.n == 0 || call.batch == 0) return CudaError::kSuccess;
  if (SizeOf(call) > INT_MAX || call.batch > INT_MAX) return CudaError::kNotSupported;
  if (call.pointer_arrays || SizeOf(call) <= kBlock || IsZero(handle, call)) return SolveAtOnce(handle, call);
  return SolveInBlocks(handle, call);
}

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_TRSM(name, T, element, Int)                                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                            \
                      cublasOperation_t transpose, cublasDiagType_t diagonal, Int m, Int n, const T* alpha,           \
                      const T* a, Int lda, T* b, Int ldb) {                                                           \
    return Blas(Call::k_##name, handle, [&] {                                                                         \
      constexpr ElementType kType = ElementType::element;                                                             \
      return SolveTriangle(handle, {side, fill, transpose, diagonal, m, n, alpha, {a, kType, lda}, {b, kType, ldb}}); \
    });                                                                                                               \
  }
#define WHARF_TRSM_BATCHED(name, T, element, Int)                                                                 \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                        \
                      cublasOperation_t transpose, cublasDiagType_t diagonal, Int m, Int n, const T* alpha,       \
                      const T* const a[], Int lda, T* const b[], Int ldb, Int batch) {                            \
    return Blas(Call::k_##name, handle, [&] {                                                                     \
      constexpr ElementType kType = ElementType::element;                                                         \
      return SolveTriangle(                                                                                       \
          handle, {side, fill, transpose, diagonal, m, n, alpha, {a, kType, lda}, {b, kType, ldb}, batch, true}); \
    });                                                                                                           \
  }
#define WHARF_TRSM_FAMILY(letter, T, element)                      \
  WHARF_TRSM(cublas##letter##trsm_v2, T, element, int)             \
  WHARF_TRSM(cublas##letter##trsm_v2_64, T, element, int64_t)      \
  WHARF_TRSM_BATCHED(cublas##letter##trsmBatched, T, element, int) \
  WHARF_TRSM_BATCHED(cublas##letter##trsmBatched_64, T, element, int64_t)
WHARF_TRSM_FAMILY(S, float, kF32)
WHARF_TRSM_FAMILY(D, double, kF64)
WHARF_TRSM_FAMILY(C, cuComplex, kC32)
WHARF_TRSM_FAMILY(Z, cuDoubleComplex, kC64)

}  // extern "C"
