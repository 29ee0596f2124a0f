// Singular values and eigenvalues.
#include <algorithm>

#include "wharf/cudashim/cusolver/solver.h"

namespace wharf::cudashim {
namespace {

void SetJacobi(const syevjInfo& info, Lapack* lapack) {
  lapack->tolerance = info.tolerance;
  lapack->sweeps = info.sweeps;
  lapack->sorted = info.sorted;
}

struct SingularCall {
  cusolverDnHandle_t handle;
  ElementType type;
  int64_t m, n;
  const void *a, *s, *u, *v;
  int64_t lda, ldu, ldv;
  const int* info;
};

// By Jacobi's method: V rather than V'. A batch lies one behind the other, at most 32 by 32.
cusolverStatus_t RunJacobi(const SingularCall& call, cusolverEigMode_t mode, bool thin, gesvdjInfo_t how, int batch,
                           bool batched) {
  constexpr int64_t kMostOfBatch = 32;
  Lapack lapack = LapackOf(LapackRoutine::kGesvdj, call.type, call.m, call.n, 1, call.info);
  const int64_t least = std::min(call.m, call.n);
  bool fits = SetVectors(mode, thin, &lapack) && how != nullptr && call.lda >= call.m && batch >= 0;
  if (mode == CUSOLVER_EIG_MODE_VECTOR) fits = fits && call.ldu >= call.m && call.ldv >= call.n;
  if (batched) fits = fits && call.m <= kMostOfBatch && call.n <= kMostOfBatch;
  if (!fits) return CUSOLVER_STATUS_INVALID_VALUE;
  SetJacobi(*how, &lapack);
  lapack.batch = batch;
  lapack.operands = {MatrixOf(call.a, call.lda, call.lda * call.n), VectorOf(call.s, least),
                     MatrixOf(call.u, call.ldu, call.ldu * call.m), MatrixOf(call.v, call.ldv, call.ldv * call.n)};
  return RunSolver(call.handle, true, {call.m, call.n, batch}, lapack);
}

// The vendor's is for as many rows as columns, or more.
cusolverStatus_t RunSingular(const SingularCall& call, signed char left, signed char right) {
  Lapack lapack = LapackOf(LapackRoutine::kGesvd, call.type, call.m, call.n, 1, call.info);
  const bool fits =
      SetJob(left, &lapack.left) && SetJob(right, &lapack.right_vectors) && call.m >= call.n && call.lda >= call.m;
  lapack.operands = {MatrixOf(call.a, call.lda), VectorOf(call.s), MatrixOf(call.u, call.ldu),
                     MatrixOf(call.v, call.ldv)};
  return RunSolver(call.handle, fits, {call.m, call.n}, lapack);
}

struct EigenCall {
  cusolverDnHandle_t handle;
  ElementType type;
  cusolverEigMode_t mode;
  cublasFillMode_t fill;
  int64_t n;
  const void* a;
  int64_t lda;
  const void* w;
  const int* info;
};

cusolverStatus_t RunEigen(const EigenCall& call, LapackRoutine routine, const syevjInfo* how, int64_t batch = 1) {
  Lapack lapack = LapackOf(routine, call.type, 1, call.n, 1, call.info);
  const bool fits = SetVectors(call.mode, false, &lapack) && SetFill(call.fill, &lapack) && call.lda >= call.n &&
                    batch >= 0 && (routine == LapackRoutine::kSyevd || how != nullptr);
  if (how != nullptr) SetJacobi(*how, &lapack);
  lapack.batch = batch;
  lapack.operands = {MatrixOf(call.a, call.lda, call.lda * call.n), VectorOf(call.w, call.n), {}, {}};
  return RunSolver(call.handle, fits, {call.n, batch}, lapack);
}

cusolverStatus_t RunGeneralEigen(const EigenCall& call, cusolverEigType_t problem, const void* b, int64_t ldb) {
  Lapack lapack = LapackOf(LapackRoutine::kSygvd, call.type, 1, call.n, problem, call.info);
  const bool fits = SetVectors(call.mode, false, &lapack) && SetFill(call.fill, &lapack) && call.lda >= call.n &&
                    ldb >= call.n && problem >= CUSOLVER_EIG_TYPE_1 && problem <= CUSOLVER_EIG_TYPE_3;
  lapack.operands = {MatrixOf(call.a, call.lda), MatrixOf(b, ldb), VectorOf(call.w), {}};
  return RunSolver(call.handle, fits, {call.n}, lapack);
}

cusolverStatus_t SizeOf(bool fits, int* size) {
  return fits ? StoreTo(size, kWorkElements) : CUSOLVER_STATUS_INVALID_VALUE;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_SINGULAR(letter, T, R)                                                                                   \
  cusolverStatus_t cusolverDn##letter##gesvd_bufferSize(cusolverDnHandle_t handle, int m, int n, int* size) {          \
    return WHARF_SOLVER(cusolverDn##letter##gesvd_bufferSize, handle, false,                                           \
                        [&] { return SizeOf(n >= 0 && m >= n, size); });                                               \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gesvd(cusolverDnHandle_t handle, signed char left, signed char right, int m,    \
                                             int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, T*, int, R*,  \
                                             int* info) {                                                              \
    return WHARF_SOLVER(cusolverDn##letter##gesvd, handle, true, [&] {                                                 \
      return RunSingular({handle, SolverType<T>::kType, m, n, a, s, u, vt, lda, ldu, ldvt, info}, left, right);        \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gesvdj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t, int, int m,     \
                                                         int n, const T*, int lda, const R*, const T*, int, const T*,  \
                                                         int, int* size, gesvdjInfo_t how) {                           \
    return WHARF_SOLVER(cusolverDn##letter##gesvdj_bufferSize, handle, false,                                          \
                        [&] { return SizeOf(n >= 0 && m >= 0 && lda >= m && how != nullptr, size); });                 \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gesvdj(cusolverDnHandle_t handle, cusolverEigMode_t mode, int thin, int m,      \
                                              int n, T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T*, int,       \
                                              int* info, gesvdjInfo_t how) {                                           \
    return WHARF_SOLVER(cusolverDn##letter##gesvdj, handle, true, [&] {                                                \
      return RunJacobi({handle, SolverType<T>::kType, m, n, a, s, u, v, lda, ldu, ldv, info}, mode, thin != 0, how, 1, \
                       false);                                                                                         \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t, int m,   \
                                                                int n, const T*, int lda, const R*, const T*, int,     \
                                                                const T*, int, int* size, gesvdjInfo_t how, int) {     \
    return WHARF_SOLVER(cusolverDn##letter##gesvdjBatched_bufferSize, handle, false,                                   \
                        [&] { return SizeOf(n >= 0 && m >= 0 && lda >= m && how != nullptr, size); });                 \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode, int m, int n,  \
                                                     T* a, int lda, R* s, T* u, int ldu, T* v, int ldv, T*, int,       \
                                                     int* info, gesvdjInfo_t how, int batch) {                         \
    return WHARF_SOLVER(cusolverDn##letter##gesvdjBatched, handle, true, [&] {                                         \
      return RunJacobi({handle, SolverType<T>::kType, m, n, a, s, u, v, lda, ldu, ldv, info}, mode, false, how, batch, \
                       true);                                                                                          \
    });                                                                                                                \
  }
WHARF_SINGULAR(S, float, float)
WHARF_SINGULAR(D, double, double)
WHARF_SINGULAR(C, cuComplex, float)
WHARF_SINGULAR(Z, cuDoubleComplex, double)
#undef WHARF_SINGULAR

// `ev` and `gv`: syev and sygv, or heev and hegv.
#define WHARF_EIGEN(letter, T, R, ev, gv)                                                                              \
  cusolverStatus_t cusolverDn##letter##ev##d_bufferSize(                                                               \
      cusolverDnHandle_t handle, cusolverEigMode_t, cublasFillMode_t, int n, const T*, int lda, const R*, int* size) { \
    return WHARF_SOLVER(cusolverDn##letter##ev##d_bufferSize, handle, false,                                           \
                        [&] { return SizeOf(n >= 0 && lda >= n, size); });                                             \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##ev##d(cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t fill, \
                                             int n, T* a, int lda, R* w, T*, int, int* info) {                         \
    return WHARF_SOLVER(cusolverDn##letter##ev##d, handle, true, [&] {                                                 \
      return RunEigen({handle, SolverType<T>::kType, mode, fill, n, a, lda, w, info}, LapackRoutine::kSyevd, nullptr); \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##ev##j_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t,                  \
                                                        cublasFillMode_t, int n, const T*, int lda, const R*,          \
                                                        int* size, syevjInfo_t how) {                                  \
    return WHARF_SOLVER(cusolverDn##letter##ev##j_bufferSize, handle, false,                                           \
                        [&] { return SizeOf(n >= 0 && lda >= n && how != nullptr, size); });                           \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##ev##j(cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t fill, \
                                             int n, T* a, int lda, R* w, T*, int, int* info, syevjInfo_t how) {        \
    return WHARF_SOLVER(cusolverDn##letter##ev##j, handle, true, [&] {                                                 \
      return RunEigen({handle, SolverType<T>::kType, mode, fill, n, a, lda, w, info}, LapackRoutine::kSyevj, how);     \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##ev##jBatched_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t,           \
                                                               cublasFillMode_t, int n, const T*, int lda, const R*,   \
                                                               int* size, syevjInfo_t how, int) {                      \
    return WHARF_SOLVER(cusolverDn##letter##ev##jBatched_bufferSize, handle, false,                                    \
                        [&] { return SizeOf(n >= 0 && lda >= n && how != nullptr, size); });                           \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##ev##jBatched(cusolverDnHandle_t handle, cusolverEigMode_t mode,                 \
                                                    cublasFillMode_t fill, int n, T* a, int lda, R* w, T*, int,        \
                                                    int* info, syevjInfo_t how, int batch) {                           \
    return WHARF_SOLVER(cusolverDn##letter##ev##jBatched, handle, true, [&] {                                          \
      return RunEigen({handle, SolverType<T>::kType, mode, fill, n, a, lda, w, info}, LapackRoutine::kSyevj, how,      \
                      batch);                                                                                          \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gv##d_bufferSize(cusolverDnHandle_t handle, cusolverEigType_t,                  \
                                                        cusolverEigMode_t, cublasFillMode_t, int n, const T*, int lda, \
                                                        const T*, int ldb, const R*, int* size) {                      \
    return WHARF_SOLVER(cusolverDn##letter##gv##d_bufferSize, handle, false,                                           \
                        [&] { return SizeOf(n >= 0 && lda >= n && ldb >= n, size); });                                 \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gv##d(cusolverDnHandle_t handle, cusolverEigType_t problem,                     \
                                             cusolverEigMode_t mode, cublasFillMode_t fill, int n, T* a, int lda,      \
                                             T* b, int ldb, R* w, T*, int, int* info) {                                \
    return WHARF_SOLVER(cusolverDn##letter##gv##d, handle, true, [&] {                                                 \
      return RunGeneralEigen({handle, SolverType<T>::kType, mode, fill, n, a, lda, w, info}, problem, b, ldb);         \
    });                                                                                                                \
  }
WHARF_EIGEN(S, float, float, syev, sygv)
WHARF_EIGEN(D, double, double, syev, sygv)
WHARF_EIGEN(C, cuComplex, float, heev, hegv)
WHARF_EIGEN(Z, cuDoubleComplex, double, heev, hegv)
#undef WHARF_EIGEN

}  // extern "C"
