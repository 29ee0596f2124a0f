// Triangular systems (trsm), plain and batched by an array of pointers, and products with triangles (trmm). A plain one
// of some size is solved block by block: what is known is multiplied by the rest of the matrix as any product, and
// kernels solve what is on the diagonal.
#include <algorithm>
#include <array>
#include <climits>

#include "wharf/cudashim/cublas/solver_kernels.h"

namespace wharf::cudashim {
namespace {

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
  for (int64_t done = 0; done < size && error == CudaError::kSuccess; done += kTriangleBlock) {
    const int64_t next = std::min(size, done + kTriangleBlock);
    error = SolveStep(handle, call,
                      IsForward(call) ? Step{done, next, 0, done} : Step{size - next, size - done, size - done, size});
  }
  return error;
}

CudaError MultiplyAtOnce(cublasHandle_t handle, const TriangleCall& call, const Operand& c) {
  TriangleProduct p{};
  p.a = MatrixOf(call.a, false);
  p.b = MatrixOf(call.b, false);
  p.c = MatrixOf(c, false);
  const auto alpha = ReadScalar(call.alpha, call.a.type);
  std::copy(alpha.begin(), alpha.end(), p.alpha);
  p.lines = LinesOf(call);
  p.size = static_cast<int>(SizeOf(call));
  p.of_rows = call.side == CUBLAS_SIDE_RIGHT;
  p.swapped = (call.transpose != CUBLAS_OP_N) != (call.side == CUBLAS_SIDE_RIGHT);
  p.conjugated = call.transpose == CUBLAS_OP_C;
  p.forward = IsForward(call);
  p.unit = call.diagonal == CUBLAS_DIAG_UNIT;
  return LaunchSolver(handle, call.a.type, "multiply_triangle", {1, p.lines}, &p);
}

// C's part is what the diagonal block gives, and what the rest of the triangle does.
CudaError MultiplyStep(cublasHandle_t handle, const TriangleCall& call, const Operand& c, const Step& step) {
  const bool left = call.side == CUBLAS_SIDE_LEFT;
  const auto part = [&](const Operand& matrix, int64_t from) {
    return left ? Part(matrix, from, 0) : Part(matrix, 0, from);
  };
  TriangleCall block = call;
  block.a = Part(call.a, step.from, step.from);
  block.b = part(call.b, step.from);
  (left ? block.m : block.n) = step.to - step.from;
  const CudaError error = MultiplyAtOnce(handle, block, part(c, step.from));
  if (error != CudaError::kSuccess || step.known_from == step.known_to) return error;
  const ElementType type = call.a.type;
  const Scalar one(type, 1);
  const bool by_row = left == (call.transpose == CUBLAS_OP_N);
  const Operand a = by_row ? Part(call.a, step.from, step.known_from) : Part(call.a, step.known_from, step.from);
  const Operand b = part(call.b, step.known_from), to = part(c, step.from);
  const int64_t size = step.to - step.from, others = step.known_to - step.known_from;
  if (left) {
    return RunGemm(handle, {call.transpose, CUBLAS_OP_N, size, call.n, others, type, call.alpha, a, b, one.data(), to});
  }
  return RunGemm(handle, {CUBLAS_OP_N, call.transpose, call.m, size, others, type, call.alpha, b, a, one.data(), to});
}

}  // namespace

CudaError SolveTriangle(cublasHandle_t handle, const TriangleCall& call) {
  if (!IsValid(call)) return CudaError::kInvalidValue;
  if (call.m == 0 || call.n == 0 || call.batch == 0) return CudaError::kSuccess;
  if (SizeOf(call) > INT_MAX || call.batch > INT_MAX) return CudaError::kNotSupported;
  if (call.pointer_arrays || SizeOf(call) <= kTriangleBlock || IsZero(handle, call)) return SolveAtOnce(handle, call);
  return SolveInBlocks(handle, call);
}

// In the order in which C may be B: what is multiplied by others is written after them.
CudaError MultiplyTriangle(cublasHandle_t handle, TriangleCall call, const Operand& c) {
  if (!IsValid(call) || c.ld < std::max<int64_t>(1, call.m)) return CudaError::kInvalidValue;
  if (c.data == call.b.data && c.ld != call.b.ld) return CudaError::kInvalidValue;
  if (call.m == 0 || call.n == 0) return CudaError::kSuccess;
  if (SizeOf(call) > INT_MAX) return CudaError::kNotSupported;
  const bool scaled_after = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
  const MatrixScale scale{MatrixOf(c, false), call.alpha, call.m, call.n};
  const Scalar one(call.a.type, 1);
  CudaError error = CudaError::kSuccess;
  {
    const HostScalars scope(handle);
    if (scaled_after) call.alpha = one.data();
    const int64_t size = SizeOf(call), blocks = (size + kTriangleBlock - 1) / kTriangleBlock;
    for (int64_t block = blocks - 1; block >= 0 && error == CudaError::kSuccess; --block) {
      const int64_t done = block * kTriangleBlock, next = std::min(size, done + kTriangleBlock);
      error =
          MultiplyStep(handle, call, c,
                       IsForward(call) ? Step{done, next, 0, done} : Step{size - next, size - done, size - done, size});
    }
  }
  if (error != CudaError::kSuccess || !scaled_after) return error;
  return LaunchSolver(handle, call.a.type, "scale_matrix", {1, call.n}, &scale);
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
#define WHARF_TRMM(name, T, element, Int)                                                                             \
  cublasStatus_t name(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,                            \
                      cublasOperation_t transpose, cublasDiagType_t diagonal, Int m, Int n, const T* alpha,           \
                      const T* a, Int lda, const T* b, Int ldb, T* c, Int ldc) {                                      \
    return Blas(Call::k_##name, handle, [&] {                                                                         \
      constexpr ElementType kType = ElementType::element;                                                             \
      return MultiplyTriangle(                                                                                        \
          handle, {side, fill, transpose, diagonal, m, n, alpha, {a, kType, lda}, {b, kType, ldb}}, {c, kType, ldc}); \
    });                                                                                                               \
  }
#define WHARF_TRSM_FAMILY(letter, T, element)                      \
  WHARF_TRMM(cublas##letter##trmm_v2, T, element, int)             \
  WHARF_TRMM(cublas##letter##trmm_v2_64, T, element, int64_t)      \
  WHARF_TRSM(cublas##letter##trsm_v2, T, element, int)             \
  WHARF_TRSM(cublas##letter##trsm_v2_64, T, element, int64_t)      \
  WHARF_TRSM_BATCHED(cublas##letter##trsmBatched, T, element, int) \
  WHARF_TRSM_BATCHED(cublas##letter##trsmBatched_64, T, element, int64_t)
WHARF_TRSM_FAMILY(S, float, kF32)
WHARF_TRSM_FAMILY(D, double, kF64)
WHARF_TRSM_FAMILY(C, cuComplex, kC32)
WHARF_TRSM_FAMILY(Z, cuDoubleComplex, kC64)

}  // extern "C"
