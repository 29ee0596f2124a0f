// The calls with 64-bit sizes and types in their arguments. Types that a routine mixes are refused, as there.
#include <algorithm>
#include <optional>

#include "wharf/cudashim/cusolver/solver.h"

namespace wharf::cudashim {
namespace {

// Sizes travel as such, but what they are held to is an int's.
std::optional<ElementType> TypeOf(cudaDataType type) {
  switch (type) {
    case CUDA_R_32F:
      return ElementType::kF32;
    case CUDA_R_64F:
      return ElementType::kF64;
    case CUDA_C_32F:
      return ElementType::kC32;
    case CUDA_C_64F:
      return ElementType::kC64;
    default:
      return std::nullopt;
  }
}

std::optional<ElementType> RealOf(cudaDataType type) {
  const bool wide = type == CUDA_R_64F || type == CUDA_C_64F;
  return TypeOf(type).has_value() ? std::optional(wide ? ElementType::kF64 : ElementType::kF32) : std::nullopt;
}

bool IsRealOf(cudaDataType real, cudaDataType type) { return RealOf(type).has_value() && TypeOf(real) == RealOf(type); }

cusolverStatus_t StoreSizes(bool fits, size_t* device, size_t* host) {
  if (!fits) return CUSOLVER_STATUS_INVALID_VALUE;
  if (device == nullptr || host == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *device = kWorkBytes;
  *host = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

bool AreSame(cudaDataType type, std::initializer_list<cudaDataType> others) {
  return TypeOf(type).has_value() && std::all_of(others.begin(), others.end(), [type](auto t) { return t == type; });
}

// Of one matrix; `same`: its types are such as there are.
Lapack Begin(LapackRoutine routine, cudaDataType type, int64_t m, int64_t n, int64_t k, const int* info) {
  return LapackOf(routine, TypeOf(type).value_or(ElementType::kI8), m, n, k, info);
}

cusolverStatus_t Need(const cusolverDnParams* params) {
  return params != nullptr && params->magic != cusolverDnParams::kMagic ? CUSOLVER_STATUS_INVALID_VALUE
                                                                        : CUSOLVER_STATUS_SUCCESS;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

// Parameters may be null, which asks for what is usual.
#define WHARF_GENERIC(function, on_device, ...)                                                \
  WHARF_SOLVER(function, handle, on_device, [&]() -> cusolverStatus_t {                        \
    if (const cusolverStatus_t bad = Need(params); bad != CUSOLVER_STATUS_SUCCESS) return bad; \
    __VA_ARGS__                                                                                \
  })

extern "C" {

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t,
                                             int64_t n, cudaDataType type, const void*, int64_t lda,
                                             cudaDataType compute, size_t* device, size_t* host) {
  return WHARF_GENERIC(cusolverDnXpotrf_bufferSize, false,
                       return StoreSizes(AreSame(type, {compute}) && n >= 0 && lda >= n, device, host););
}
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t fill,
                                  int64_t n, cudaDataType type, void* a, int64_t lda, cudaDataType compute, void*,
                                  size_t, void*, size_t, int* info) {
  return WHARF_GENERIC(cusolverDnXpotrf, true, {
    Lapack lapack = Begin(LapackRoutine::kPotrf, type, 1, n, 1, info);
    const bool fits = AreSame(type, {compute}) && SetFill(fill, &lapack) && lda >= n;
    lapack.operands[0] = MatrixOf(a, lda);
    return RunSolver(handle, fits, {n}, lapack);
  });
}
cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t fill,
                                  int64_t n, int64_t lines, cudaDataType type, const void* a, int64_t lda,
                                  cudaDataType type_b, void* b, int64_t ldb, int* info) {
  return WHARF_GENERIC(cusolverDnXpotrs, true, {
    Lapack lapack = Begin(LapackRoutine::kPotrs, type, 1, n, lines, info);
    const bool fits = AreSame(type, {type_b}) && SetFill(fill, &lapack) && lda >= n && ldb >= n;
    lapack.operands = {MatrixOf(a, lda), MatrixOf(b, ldb), {}, {}};
    return RunSolver(handle, fits, {n, lines}, lapack);
  });
}

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType type, const void*, int64_t lda, cudaDataType compute,
                                             size_t* device, size_t* host) {
  return WHARF_GENERIC(cusolverDnXgetrf_bufferSize, false,
                       return StoreSizes(AreSame(type, {compute}) && m >= 0 && n >= 0 && lda >= m, device, host););
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, int64_t* pivots, cudaDataType compute, void*,
                                  size_t, void*, size_t, int* info) {
  return WHARF_GENERIC(cusolverDnXgetrf, true, {
    Lapack lapack = Begin(LapackRoutine::kGetrf, type, m, n, 1, info);
    lapack.wide_pivots = true;
    lapack.operands = {MatrixOf(a, lda), VectorOf(pivots), {}, {}};
    return RunSolver(handle, AreSame(type, {compute}) && lda >= m, {m, n}, lapack);
  });
}
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasOperation_t operation,
                                  int64_t n, int64_t lines, cudaDataType type, const void* a, int64_t lda,
                                  const int64_t* pivots, cudaDataType type_b, void* b, int64_t ldb, int* info) {
  return WHARF_GENERIC(cusolverDnXgetrs, true, {
    Lapack lapack = Begin(LapackRoutine::kGetrs, type, 1, n, lines, info);
    lapack.wide_pivots = true;
    const bool fits = AreSame(type, {type_b}) && SetTranspose(operation, &lapack) && lda >= n && ldb >= n;
    lapack.operands = {MatrixOf(a, lda), VectorOf(pivots), MatrixOf(b, ldb), {}};
    return RunSolver(handle, fits, {n, lines}, lapack);
  });
}
cusolverStatus_t cusolverDnXsytrs_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t, int64_t n, int64_t lines,
                                             cudaDataType type, const void*, int64_t lda, const int64_t*,
                                             cudaDataType type_b, void*, int64_t ldb, size_t* device, size_t* host) {
  return WHARF_SOLVER(cusolverDnXsytrs_bufferSize, handle, false, [&] {
    return StoreSizes(AreSame(type, {type_b}) && n >= 0 && lines >= 0 && lda >= n && ldb >= n, device, host);
  });
}
cusolverStatus_t cusolverDnXsytrs(cusolverDnHandle_t handle, cublasFillMode_t fill, int64_t n, int64_t lines,
                                  cudaDataType type, const void* a, int64_t lda, const int64_t* pivots,
                                  cudaDataType type_b, void* b, int64_t ldb, void*, size_t, void*, size_t, int* info) {
  return WHARF_SOLVER(cusolverDnXsytrs, handle, true, [&] {
    Lapack lapack = Begin(LapackRoutine::kSytrs, type, 1, n, lines, info);
    lapack.wide_pivots = true;
    const bool fits = AreSame(type, {type_b}) && SetFill(fill, &lapack) && lda >= n && ldb >= n;
    lapack.operands = {MatrixOf(a, lda), VectorOf(pivots), MatrixOf(b, ldb), {}};
    return RunSolver(handle, fits, {n, lines}, lapack);
  });
}

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType type, const void*, int64_t lda, cudaDataType type_tau,
                                             const void*, cudaDataType compute, size_t* device, size_t* host) {
  return WHARF_GENERIC(
      cusolverDnXgeqrf_bufferSize, false,
      return StoreSizes(AreSame(type, {type_tau, compute}) && m >= 0 && n >= 0 && lda >= m, device, host););
}
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType type, void* a, int64_t lda, cudaDataType type_tau, void* tau,
                                  cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  return WHARF_GENERIC(cusolverDnXgeqrf, true, {
    Lapack lapack = Begin(LapackRoutine::kGeqrf, type, m, n, 1, info);
    lapack.operands = {MatrixOf(a, lda), VectorOf(tau), {}, {}};
    return RunSolver(handle, AreSame(type, {type_tau, compute}) && lda >= m, {m, n}, lapack);
  });
}

cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t,
                                             cublasFillMode_t, int64_t n, cudaDataType type, const void*, int64_t lda,
                                             cudaDataType type_w, const void*, cudaDataType compute, size_t* device,
                                             size_t* host) {
  return WHARF_GENERIC(
      cusolverDnXsyevd_bufferSize, false,
      return StoreSizes(AreSame(type, {compute}) && IsRealOf(type_w, type) && n >= 0 && lda >= n, device, host););
}
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t mode,
                                  cublasFillMode_t fill, int64_t n, cudaDataType type, void* a, int64_t lda,
                                  cudaDataType type_w, void* w, cudaDataType compute, void*, size_t, void*, size_t,
                                  int* info) {
  return WHARF_GENERIC(cusolverDnXsyevd, true, {
    Lapack lapack = Begin(LapackRoutine::kSyevd, type, 1, n, 1, info);
    const bool fits = AreSame(type, {compute}) && IsRealOf(type_w, type) && SetVectors(mode, false, &lapack) &&
                      SetFill(fill, &lapack) && lda >= n;
    lapack.operands = {MatrixOf(a, lda), VectorOf(w), {}, {}};
    return RunSolver(handle, fits, {n}, lapack);
  });
}
cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                                   cusolverEigMode_t, cublasFillMode_t, int64_t n, cudaDataType type,
                                                   const void*, int64_t lda, cudaDataType type_w, const void*,
                                                   cudaDataType compute, size_t* device, size_t* host, int64_t batch) {
  return WHARF_GENERIC(
      cusolverDnXsyevBatched_bufferSize, false,
      return StoreSizes(AreSame(type, {compute}) && IsRealOf(type_w, type) && n >= 0 && lda >= n && batch >= 0, device,
                        host););
}
// One behind the other.
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t mode,
                                        cublasFillMode_t fill, int64_t n, cudaDataType type, void* a, int64_t lda,
                                        cudaDataType type_w, void* w, cudaDataType compute, void*, size_t, void*,
                                        size_t, int* info, int64_t batch) {
  return WHARF_GENERIC(cusolverDnXsyevBatched, true, {
    constexpr int64_t kMost = int64_t{1} << 31;
    Lapack lapack = Begin(LapackRoutine::kSyevd, type, 1, n, 1, info);
    const bool fits = AreSame(type, {compute}) && IsRealOf(type_w, type) && SetVectors(mode, false, &lapack) &&
                      SetFill(fill, &lapack) && lda >= n && n < kMost && lda < kMost;
    if (!fits) return CUSOLVER_STATUS_INVALID_VALUE;
    lapack.batch = batch;
    lapack.operands = {MatrixOf(a, lda, lda * n), VectorOf(w, n), {}, {}};
    return RunSolver(handle, fits, {n, batch}, lapack);
  });
}

// Eigenvalues are complex, also of real matrices.
cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t,
                                            cusolverEigMode_t, int64_t n, cudaDataType type, const void*, int64_t lda,
                                            cudaDataType type_w, const void*, cudaDataType, const void*, int64_t,
                                            cudaDataType, const void*, int64_t, cudaDataType compute, size_t* device,
                                            size_t* host) {
  return WHARF_GENERIC(cusolverDnXgeev_bufferSize, false, {
    const bool is_complex = type_w == CUDA_C_32F || type_w == CUDA_C_64F;
    return StoreSizes(AreSame(type, {compute}) && RealOf(type_w) == RealOf(type) && is_complex && n >= 0 && lda >= n,
                      device, host);
  });
}
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t left,
                                 cusolverEigMode_t right, int64_t n, cudaDataType type, void* a, int64_t lda,
                                 cudaDataType type_w, void* w, cudaDataType type_left, void* vl, int64_t ldvl,
                                 cudaDataType type_right, void* vr, int64_t ldvr, cudaDataType compute, void*, size_t,
                                 void*, size_t, int* info) {
  return WHARF_GENERIC(cusolverDnXgeev, true, {
    Lapack lapack = Begin(LapackRoutine::kGeev, type, 1, n, 1, info);
    const bool is_complex = type_w == CUDA_C_32F || type_w == CUDA_C_64F;
    bool fits = AreSame(type, {compute}) && RealOf(type_w) == RealOf(type) && is_complex && lda >= n;
    if (left == CUSOLVER_EIG_MODE_VECTOR) {
      fits = fits && type_left == type && ldvl >= n;
      lapack.left = LapackVectors::kAll;
    }
    if (right == CUSOLVER_EIG_MODE_VECTOR) {
      fits = fits && type_right == type && ldvr >= n;
      lapack.right_vectors = LapackVectors::kAll;
    }
    lapack.operands = {MatrixOf(a, lda), VectorOf(w), MatrixOf(vl, ldvl), MatrixOf(vr, ldvr)};
    return RunSolver(handle, fits, {n}, lapack);
  });
}

cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char,
                                             signed char, int64_t m, int64_t n, cudaDataType type, const void*,
                                             int64_t lda, cudaDataType type_s, const void*, cudaDataType type_u,
                                             const void*, int64_t, cudaDataType type_vt, const void*, int64_t,
                                             cudaDataType compute, size_t* device, size_t* host) {
  return WHARF_GENERIC(cusolverDnXgesvd_bufferSize, false, {
    const bool fits = AreSame(type, {type_u, type_vt, compute}) && IsRealOf(type_s, type);
    return StoreSizes(fits && n >= 0 && m >= n && lda >= m, device, host);
  });
}
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char left,
                                  signed char right, int64_t m, int64_t n, cudaDataType type, void* a, int64_t lda,
                                  cudaDataType type_s, void* s, cudaDataType type_u, void* u, int64_t ldu,
                                  cudaDataType type_vt, void* vt, int64_t ldvt, cudaDataType compute, void*, size_t,
                                  void*, size_t, int* info) {
  return WHARF_GENERIC(cusolverDnXgesvd, true, {
    Lapack lapack = Begin(LapackRoutine::kGesvd, type, m, n, 1, info);
    const bool fits = AreSame(type, {type_u, type_vt, compute}) && IsRealOf(type_s, type) &&
                      SetJob(left, &lapack.left) && SetJob(right, &lapack.right_vectors) && m >= n && lda >= m;
    lapack.operands = {MatrixOf(a, lda), VectorOf(s), MatrixOf(u, ldu), MatrixOf(vt, ldvt)};
    return RunSolver(handle, fits, {m, n}, lapack);
  });
}

}  // extern "C"
