// A cuSOLVER on host memory, for tests of solver/solver.cc with the fake driver: the functions that it calls, with the
// vendor's own declarations, on the software device's routines. What is asked for is done before a call returns.
#include <cusolverDn.h>
#include <dlfcn.h>

#include "wharf/device/primitive.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace device = wharf::device;
using device::ElementType;
using device::Lapack;
using device::LapackOperand;
using device::LapackRoutine;
using device::LapackTranspose;
using device::LapackVectors;

// Handles and what else there is are all such.
struct cusolverDnContext {
  cudaStream_t stream = nullptr;
};
struct cusolverDnParams {};
struct syevjInfo {
  double tolerance = 0;
  int sweeps = 0, sorted = 1;
};
struct gesvdjInfo : syevjInfo {};

namespace {

constexpr int kWork = 8;

template <typename T>
constexpr ElementType kTypeOf = ElementType::kF32;
template <>
constexpr ElementType kTypeOf<double> = ElementType::kF64;
template <>
constexpr ElementType kTypeOf<cuComplex> = ElementType::kC32;
template <>
constexpr ElementType kTypeOf<cuDoubleComplex> = ElementType::kC64;

LapackOperand At(const void* address, int64_t leading = 1, int64_t stride = 0) {
  return {reinterpret_cast<device::DeviceAddress>(address), leading, stride};
}

Lapack Make(LapackRoutine routine, ElementType type, int64_t m, int64_t n, int64_t k, const int* info) {
  Lapack l;
  l.routine = routine;
  l.type = type;
  l.m = m, l.n = n, l.k = k;
  l.info = reinterpret_cast<device::DeviceAddress>(info);
  return l;
}

// Behind what was queued before. All calls are to have room to work in.
cusolverStatus_t Run(const Lapack& lapack, const void* work, int64_t size) {
  static void* const driver = dlopen(WHARF_FAKE_DRIVER, RTLD_NOW);
  static const auto synchronize = reinterpret_cast<int (*)()>(dlsym(driver, "cuCtxSynchronize"));
  if (synchronize == nullptr || synchronize() != 0) return CUSOLVER_STATUS_EXECUTION_FAILED;
  if (work == nullptr || size < kWork || lapack.info == 0) return CUSOLVER_STATUS_INVALID_VALUE;
  const device::Primitive primitive = lapack;
  if (!device::CheckPrimitive(primitive, [](uint64_t, uint64_t) { return true; }).ok()) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  device::soft::RunPrimitive(primitive);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t RunWithoutWork(const Lapack& lapack) { return Run(lapack, &lapack, kWork); }

Lapack With(Lapack l, cublasFillMode_t fill, std::array<LapackOperand, 4> operands) {
  l.upper = fill == CUBLAS_FILL_MODE_UPPER;
  l.operands = operands;
  return l;
}
Lapack WithVectors(Lapack l, cusolverEigMode_t mode, bool thin = false) {
  const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
  l.left = l.right_vectors = !vectors ? LapackVectors::kNone : thin ? LapackVectors::kThin : LapackVectors::kAll;
  return l;
}
LapackVectors VectorsOf(signed char job) {
  return job == 'A'   ? LapackVectors::kAll
         : job == 'S' ? LapackVectors::kThin
         : job == 'O' ? LapackVectors::kOverwritten
                      : LapackVectors::kNone;
}
LapackTranspose TransposeOf(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N   ? LapackTranspose::kNone
         : operation == CUBLAS_OP_T ? LapackTranspose::kTransposed
                                    : LapackTranspose::kConjugated;
}
ElementType TypeOf(cudaDataType type) {
  return type == CUDA_R_32F   ? ElementType::kF32
         : type == CUDA_R_64F ? ElementType::kF64
         : type == CUDA_C_32F ? ElementType::kC32
                              : ElementType::kC64;
}

cusolverStatus_t Sizes(size_t* device_bytes, size_t* host_bytes) {
  *device_bytes = *host_bytes = kWork;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  *handle = new cusolverDnContext();
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) {
  *params = new cusolverDnParams();
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) {
  delete params;
  return CUSOLVER_STATUS_SUCCESS;
}

#define FAKE_JACOBI(Kind, kind)                                                           \
  cusolverStatus_t cusolverDnCreate##Kind##Info(kind##Info_t* info) {                     \
    *info = new kind##Info();                                                             \
    return CUSOLVER_STATUS_SUCCESS;                                                       \
  }                                                                                       \
  cusolverStatus_t cusolverDnDestroy##Kind##Info(kind##Info_t info) {                     \
    delete info;                                                                          \
    return CUSOLVER_STATUS_SUCCESS;                                                       \
  }                                                                                       \
  cusolverStatus_t cusolverDnX##kind##SetTolerance(kind##Info_t info, double tolerance) { \
    info->tolerance = tolerance;                                                          \
    return CUSOLVER_STATUS_SUCCESS;                                                       \
  }                                                                                       \
  cusolverStatus_t cusolverDnX##kind##SetMaxSweeps(kind##Info_t info, int sweeps) {       \
    info->sweeps = sweeps;                                                                \
    return CUSOLVER_STATUS_SUCCESS;                                                       \
  }                                                                                       \
  cusolverStatus_t cusolverDnX##kind##SetSortEig(kind##Info_t info, int sorted) {         \
    info->sorted = sorted;                                                                \
    return CUSOLVER_STATUS_SUCCESS;                                                       \
  }
FAKE_JACOBI(Syevj, syevj)
FAKE_JACOBI(Gesvdj, gesvdj)

#define FAKE_SIZE(name, place, ...)                                                 \
  cusolverStatus_t cusolverDn##name##_bufferSize(cusolverDnHandle_t, __VA_ARGS__) { \
    *place = kWork;                                                                 \
    return CUSOLVER_STATUS_SUCCESS;                                                 \
  }

#define FAKE_ROUTINES(X, T, R, orm, org, syev, sygv)                                                                  \
  FAKE_SIZE(X##potrf, size, cublasFillMode_t, int, T*, int, int* size)                                                \
  cusolverStatus_t cusolverDn##X##potrf(cusolverDnHandle_t, cublasFillMode_t fill, int n, T* a, int lda, T* work,     \
                                        int size, int* info) {                                                        \
    return Run(With(Make(LapackRoutine::kPotrf, kTypeOf<T>, 1, n, 1, info), fill, {At(a, lda)}), work, size);         \
  }                                                                                                                   \
  FAKE_SIZE(X##potri, size, cublasFillMode_t, int, T*, int, int* size)                                                \
  cusolverStatus_t cusolverDn##X##potri(cusolverDnHandle_t, cublasFillMode_t fill, int n, T* a, int lda, T* work,     \
                                        int size, int* info) {                                                        \
    return Run(With(Make(LapackRoutine::kPotri, kTypeOf<T>, 1, n, 1, info), fill, {At(a, lda)}), work, size);         \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##X##potrs(cusolverDnHandle_t, cublasFillMode_t fill, int n, int k, const T* a, int lda, \
                                        T* b, int ldb, int* info) {                                                   \
    return RunWithoutWork(                                                                                            \
        With(Make(LapackRoutine::kPotrs, kTypeOf<T>, 1, n, k, info), fill, {At(a, lda), At(b, ldb)}));                \
  }                                                                                                                   \
  FAKE_SIZE(X##getrf, size, int, int, T*, int, int* size)                                                             \
  cusolverStatus_t cusolverDn##X##getrf(cusolverDnHandle_t, int m, int n, T* a, int lda, T* work, int* pivots,        \
                                        int* info) {                                                                  \
    return Run(With(Make(LapackRoutine::kGetrf, kTypeOf<T>, m, n, 1, info), CUBLAS_FILL_MODE_LOWER,                   \
                    {At(a, lda), At(pivots)}),                                                                        \
               work, kWork);                                                                                          \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##X##getrs(cusolverDnHandle_t, cublasOperation_t operation, int n, int k, const T* a,    \
                                        int lda, const int* pivots, T* b, int ldb, int* info) {                       \
    Lapack l = With(Make(LapackRoutine::kGetrs, kTypeOf<T>, 1, n, k, info), CUBLAS_FILL_MODE_LOWER,                   \
                    {At(a, lda), At(pivots), At(b, ldb)});                                                            \
    l.transpose = TransposeOf(operation);                                                                             \
    return RunWithoutWork(l);                                                                                         \
  }                                                                                                                   \
  FAKE_SIZE(X##sytrf, size, int, T*, int, int* size)                                                                  \
  cusolverStatus_t cusolverDn##X##sytrf(cusolverDnHandle_t, cublasFillMode_t fill, int n, T* a, int lda, int* pivots, \
                                        T* work, int size, int* info) {                                               \
    return Run(With(Make(LapackRoutine::kSytrf, kTypeOf<T>, 1, n, 1, info), fill, {At(a, lda), At(pivots)}), work,    \
               size);                                                                                                 \
  }                                                                                                                   \
  FAKE_SIZE(X##geqrf, size, int, int, T*, int, int* size)                                                             \
  cusolverStatus_t cusolverDn##X##geqrf(cusolverDnHandle_t, int m, int n, T* a, int lda, T* tau, T* work, int size,   \
                                        int* info) {                                                                  \
    return Run(                                                                                                       \
        With(Make(LapackRoutine::kGeqrf, kTypeOf<T>, m, n, 1, info), CUBLAS_FILL_MODE_LOWER, {At(a, lda), At(tau)}),  \
        work, size);                                                                                                  \
  }                                                                                                                   \
  FAKE_SIZE(X##orm##qr, size, cublasSideMode_t, cublasOperation_t, int, int, int, const T*, int, const T*, const T*,  \
            int, int* size)                                                                                           \
  cusolverStatus_t cusolverDn##X##orm##qr(cusolverDnHandle_t, cublasSideMode_t side, cublasOperation_t operation,     \
                                          int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc,      \
                                          T* work, int size, int* info) {                                             \
    Lapack l = With(Make(LapackRoutine::kOrmqr, kTypeOf<T>, m, n, k, info), CUBLAS_FILL_MODE_LOWER,                   \
                    {At(a, lda), At(tau), At(c, ldc)});                                                               \
    l.transpose = TransposeOf(operation);                                                                             \
    l.right = side == CUBLAS_SIDE_RIGHT;                                                                              \
    return Run(l, work, size);                                                                                        \
  }                                                                                                                   \
  FAKE_SIZE(X##org##qr, size, int, int, int, const T*, int, const T*, int* size)                                      \
  cusolverStatus_t cusolverDn##X##org##qr(cusolverDnHandle_t, int m, int n, int k, T* a, int lda, const T* tau,       \
                                          T* work, int size, int* info) {                                             \
    return Run(                                                                                                       \
        With(Make(LapackRoutine::kOrgqr, kTypeOf<T>, m, n, k, info), CUBLAS_FILL_MODE_LOWER, {At(a, lda), At(tau)}),  \
        work, size);                                                                                                  \
  }                                                                                                                   \
  FAKE_SIZE(X##gesvd, size, int, int, int* size)                                                                      \
  cusolverStatus_t cusolverDn##X##gesvd(cusolverDnHandle_t, signed char left, signed char right, int m, int n, T* a,  \
                                        int lda, R* s, T* u, int ldu, T* vt, int ldvt, T* work, int size, R*,         \
                                        int* info) {                                                                  \
    if (m < n) return CUSOLVER_STATUS_INVALID_VALUE;                                                                  \
    Lapack l = With(Make(LapackRoutine::kGesvd, kTypeOf<T>, m, n, 1, info), CUBLAS_FILL_MODE_LOWER,                   \
                    {At(a, lda), At(s), At(u, ldu), At(vt, ldvt)});                                                   \
    l.left = VectorsOf(left), l.right_vectors = VectorsOf(right);                                                     \
    return Run(l, work, size);                                                                                        \
  }                                                                                                                   \
  FAKE_SIZE(X##gesvdj, size, cusolverEigMode_t, int, int, int, const T*, int, const R*, const T*, int, const T*, int, \
            int* size, gesvdjInfo_t)                                                                                  \
  cusolverStatus_t cusolverDn##X##gesvdj(cusolverDnHandle_t, cusolverEigMode_t mode, int thin, int m, int n, T* a,    \
                                         int lda, R* s, T* u, int ldu, T* v, int ldv, T* work, int size, int* info,   \
                                         gesvdjInfo_t how) {                                                          \
    if (how->tolerance <= 0 || how->sweeps <= 0) return CUSOLVER_STATUS_INVALID_VALUE;                                \
    const Lapack l = With(Make(LapackRoutine::kGesvdj, kTypeOf<T>, m, n, 1, info), CUBLAS_FILL_MODE_LOWER,            \
                          {At(a, lda), At(s), At(u, ldu), At(v, ldv)});                                               \
    return Run(WithVectors(l, mode, thin != 0), work, size);                                                          \
  }                                                                                                                   \
  FAKE_SIZE(X##gesvdjBatched, size, cusolverEigMode_t, int, int, const T*, int, const R*, const T*, int, const T*,    \
            int, int* size, gesvdjInfo_t, int)                                                                        \
  cusolverStatus_t cusolverDn##X##gesvdjBatched(cusolverDnHandle_t, cusolverEigMode_t mode, int m, int n, T* a,       \
                                                int lda, R* s, T* u, int ldu, T* v, int ldv, T* work, int size,       \
                                                int* info, gesvdjInfo_t, int batch) {                                 \
    Lapack l = With(Make(LapackRoutine::kGesvdj, kTypeOf<T>, m, n, 1, info), CUBLAS_FILL_MODE_LOWER,                  \
                    {At(a, lda, int64_t{lda} * n), At(s, 1, std::min(m, n)), At(u, ldu, int64_t{ldu} * m),            \
                     At(v, ldv, int64_t{ldv} * n)});                                                                  \
    l.batch = batch;                                                                                                  \
    return Run(WithVectors(l, mode), work, size);                                                                     \
  }                                                                                                                   \
  FAKE_SIZE(X##syev##d, size, cusolverEigMode_t, cublasFillMode_t, int, const T*, int, const R*, int* size)           \
  cusolverStatus_t cusolverDn##X##syev##d(cusolverDnHandle_t, cusolverEigMode_t mode, cublasFillMode_t fill, int n,   \
                                          T* a, int lda, R* w, T* work, int size, int* info) {                        \
    const Lapack l = With(Make(LapackRoutine::kSyevd, kTypeOf<T>, 1, n, 1, info), fill, {At(a, lda), At(w)});         \
    return Run(WithVectors(l, mode), work, size);                                                                     \
  }                                                                                                                   \
  FAKE_SIZE(X##syev##j, size, cusolverEigMode_t, cublasFillMode_t, int, const T*, int, const R*, int* size,           \
            syevjInfo_t)                                                                                              \
  cusolverStatus_t cusolverDn##X##syev##j(cusolverDnHandle_t, cusolverEigMode_t mode, cublasFillMode_t fill, int n,   \
                                          T* a, int lda, R* w, T* work, int size, int* info, syevjInfo_t) {           \
    const Lapack l = With(Make(LapackRoutine::kSyevj, kTypeOf<T>, 1, n, 1, info), fill, {At(a, lda), At(w)});         \
    return Run(WithVectors(l, mode), work, size);                                                                     \
  }                                                                                                                   \
  FAKE_SIZE(X##syev##jBatched, size, cusolverEigMode_t, cublasFillMode_t, int, const T*, int, const R*, int* size,    \
            syevjInfo_t, int)                                                                                         \
  cusolverStatus_t cusolverDn##X##syev##jBatched(cusolverDnHandle_t, cusolverEigMode_t mode, cublasFillMode_t fill,   \
                                                 int n, T* a, int lda, R* w, T* work, int size, int* info,            \
                                                 syevjInfo_t, int batch) {                                            \
    Lapack l = With(Make(LapackRoutine::kSyevj, kTypeOf<T>, 1, n, 1, info), fill,                                     \
                    {At(a, lda, int64_t{lda} * n), At(w, 1, n)});                                                     \
    l.batch = batch;                                                                                                  \
    return Run(WithVectors(l, mode), work, size);                                                                     \
  }                                                                                                                   \
  FAKE_SIZE(X##sygv##d, size, cusolverEigType_t, cusolverEigMode_t, cublasFillMode_t, int, const T*, int, const T*,   \
            int, const R*, int* size)                                                                                 \
  cusolverStatus_t cusolverDn##X##sygv##d(cusolverDnHandle_t, cusolverEigType_t problem, cusolverEigMode_t mode,      \
                                          cublasFillMode_t fill, int n, T* a, int lda, T* b, int ldb, R* w, T* work,  \
                                          int size, int* info) {                                                      \
    const Lapack l =                                                                                                  \
        With(Make(LapackRoutine::kSygvd, kTypeOf<T>, 1, n, problem, info), fill, {At(a, lda), At(b, ldb), At(w)});    \
    return Run(WithVectors(l, mode), work, size);                                                                     \
  }
FAKE_ROUTINES(S, float, float, orm, org, syev, sygv)
FAKE_ROUTINES(D, double, double, orm, org, syev, sygv)
FAKE_ROUTINES(C, cuComplex, float, unm, ung, heev, hegv)
FAKE_ROUTINES(Z, cuDoubleComplex, double, unm, ung, heev, hegv)

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType,
                                             const void*, int64_t, cudaDataType, size_t* device_bytes,
                                             size_t* host_bytes) {
  return Sizes(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t, cusolverDnParams_t, int64_t m, int64_t n, cudaDataType type,
                                  void* a, int64_t lda, int64_t* pivots, cudaDataType, void* work, size_t bytes,
                                  void* host, size_t, int* info) {
  if (host == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  Lapack l =
      With(Make(LapackRoutine::kGetrf, TypeOf(type), m, n, 1, info), CUBLAS_FILL_MODE_LOWER, {At(a, lda), At(pivots)});
  l.wide_pivots = true;
  return Run(l, work, static_cast<int64_t>(bytes));
}
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t, cusolverDnParams_t, cublasOperation_t operation, int64_t n,
                                  int64_t k, cudaDataType type, const void* a, int64_t lda, const int64_t* pivots,
                                  cudaDataType, void* b, int64_t ldb, int* info) {
  Lapack l = With(Make(LapackRoutine::kGetrs, TypeOf(type), 1, n, k, info), CUBLAS_FILL_MODE_LOWER,
                  {At(a, lda), At(pivots), At(b, ldb)});
  l.wide_pivots = true;
  l.transpose = TransposeOf(operation);
  return RunWithoutWork(l);
}
cusolverStatus_t cusolverDnXsytrs_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int64_t, int64_t, cudaDataType,
                                             const void*, int64_t, const int64_t*, cudaDataType, void*, int64_t,
                                             size_t* device_bytes, size_t* host_bytes) {
  return Sizes(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXsytrs(cusolverDnHandle_t, cublasFillMode_t fill, int64_t n, int64_t k, cudaDataType type,
                                  const void* a, int64_t lda, const int64_t* pivots, cudaDataType, void* b, int64_t ldb,
                                  void* work, size_t bytes, void*, size_t, int* info) {
  Lapack l = With(Make(LapackRoutine::kSytrs, TypeOf(type), 1, n, k, info), fill, {At(a, lda), At(pivots), At(b, ldb)});
  l.wide_pivots = true;
  return Run(l, work, static_cast<int64_t>(bytes));
}
cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
                                            cusolverEigMode_t, int64_t, cudaDataType, const void*, int64_t,
                                            cudaDataType, const void*, cudaDataType, const void*, int64_t, cudaDataType,
                                            const void*, int64_t, cudaDataType, size_t* device_bytes,
                                            size_t* host_bytes) {
  return Sizes(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t left,
                                 cusolverEigMode_t right, int64_t n, cudaDataType type, void* a, int64_t lda,
                                 cudaDataType, void* w, cudaDataType, void* vl, int64_t ldvl, cudaDataType, void* vr,
                                 int64_t ldvr, cudaDataType, void* work, size_t bytes, void*, size_t, int* info) {
  Lapack l = With(Make(LapackRoutine::kGeev, TypeOf(type), 1, n, 1, info), CUBLAS_FILL_MODE_LOWER,
                  {At(a, lda), At(w), At(vl, ldvl), At(vr, ldvr)});
  if (left == CUSOLVER_EIG_MODE_VECTOR) l.left = LapackVectors::kAll;
  if (right == CUSOLVER_EIG_MODE_VECTOR) l.right_vectors = LapackVectors::kAll;
  return Run(l, work, static_cast<int64_t>(bytes));
}

}  // extern "C"
