// Systems of equations: factorizations by Cholesky, LU and Bunch-Kaufman, and what is solved by them; QR.
#include "wharf/cudashim/cusolver/solver.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

#define WHARF_CHOLESKY(letter, T)                                                                                    \
  cusolverStatus_t cusolverDn##letter##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t, int n, T*,      \
                                                        int lda, int* size) {                                        \
    return WHARF_SOLVER(cusolverDn##letter##potrf_bufferSize, handle, false, [&] {                                   \
      return n < 0 || lda < n ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkElements);                        \
    });                                                                                                              \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##potrf(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T* a, int lda, \
                                             T*, int, int* info) {                                                   \
    return WHARF_SOLVER(cusolverDn##letter##potrf, handle, true, [&] {                                               \
      Lapack lapack = LapackOf(LapackRoutine::kPotrf, SolverType<T>::kType, 1, n, 1, info);                          \
      const bool fits = SetFill(fill, &lapack) && lda >= n;                                                          \
      lapack.operands[0] = MatrixOf(a, lda);                                                                         \
      return RunSolver(handle, fits, {n}, lapack);                                                                   \
    });                                                                                                              \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##potri_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t, int n, T*,      \
                                                        int lda, int* size) {                                        \
    return WHARF_SOLVER(cusolverDn##letter##potri_bufferSize, handle, false, [&] {                                   \
      return n < 0 || lda < n ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkElements);                        \
    });                                                                                                              \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##potri(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T* a, int lda, \
                                             T*, int, int* info) {                                                   \
    return WHARF_SOLVER(cusolverDn##letter##potri, handle, true, [&] {                                               \
      Lapack lapack = LapackOf(LapackRoutine::kPotri, SolverType<T>::kType, 1, n, 1, info);                          \
      const bool fits = SetFill(fill, &lapack) && lda >= n;                                                          \
      lapack.operands[0] = MatrixOf(a, lda);                                                                         \
      return RunSolver(handle, fits, {n}, lapack);                                                                   \
    });                                                                                                              \
  }                                                                                                                  \
  cusolverStatus_t cusolverDn##letter##potrs(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, int lines,     \
                                             const T* a, int lda, T* b, int ldb, int* info) {                        \
    return WHARF_SOLVER(cusolverDn##letter##potrs, handle, true, [&] {                                               \
      Lapack lapack = LapackOf(LapackRoutine::kPotrs, SolverType<T>::kType, 1, n, lines, info);                      \
      const bool fits = SetFill(fill, &lapack) && lda >= n && ldb >= n;                                              \
      lapack.operands = {MatrixOf(a, lda), MatrixOf(b, ldb), {}, {}};                                                \
      return RunSolver(handle, fits, {n, lines}, lapack);                                                            \
    });                                                                                                              \
  }
WHARF_CHOLESKY(S, float)
WHARF_CHOLESKY(D, double)
WHARF_CHOLESKY(C, cuComplex)
WHARF_CHOLESKY(Z, cuDoubleComplex)
#undef WHARF_CHOLESKY

#define WHARF_LU(letter, T)                                                                                            \
  cusolverStatus_t cusolverDn##letter##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T*, int lda,          \
                                                        int* size) {                                                   \
    return WHARF_SOLVER(cusolverDn##letter##getrf_bufferSize, handle, false, [&] {                                     \
      return m < 0 || n < 0 || lda < m ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkElements);                 \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T*, int* pivots,  \
                                             int* info) {                                                              \
    return WHARF_SOLVER(cusolverDn##letter##getrf, handle, true, [&] {                                                 \
      Lapack lapack = LapackOf(LapackRoutine::kGetrf, SolverType<T>::kType, m, n, 1, info);                            \
      lapack.operands = {MatrixOf(a, lda), VectorOf(pivots), {}, {}};                                                  \
      return RunSolver(handle, lda >= m, {m, n}, lapack);                                                              \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##getrs(cusolverDnHandle_t handle, cublasOperation_t operation, int n, int lines, \
                                             const T* a, int lda, const int* pivots, T* b, int ldb, int* info) {       \
    return WHARF_SOLVER(cusolverDn##letter##getrs, handle, true, [&] {                                                 \
      Lapack lapack = LapackOf(LapackRoutine::kGetrs, SolverType<T>::kType, 1, n, lines, info);                        \
      const bool fits = SetTranspose(operation, &lapack) && lda >= n && ldb >= n;                                      \
      lapack.operands = {MatrixOf(a, lda), VectorOf(pivots), MatrixOf(b, ldb), {}};                                    \
      return RunSolver(handle, fits, {n, lines}, lapack);                                                              \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##sytrf_bufferSize(cusolverDnHandle_t handle, int n, T*, int lda, int* size) {    \
    return WHARF_SOLVER(cusolverDn##letter##sytrf_bufferSize, handle, false, [&] {                                     \
      return n < 0 || lda < n ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkElements);                          \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##sytrf(cusolverDnHandle_t handle, cublasFillMode_t fill, int n, T* a, int lda,   \
                                             int* pivots, T*, int, int* info) {                                        \
    return WHARF_SOLVER(cusolverDn##letter##sytrf, handle, true, [&] {                                                 \
      Lapack lapack = LapackOf(LapackRoutine::kSytrf, SolverType<T>::kType, 1, n, 1, info);                            \
      const bool fits = SetFill(fill, &lapack) && lda >= n && pivots != nullptr;                                       \
      lapack.operands = {MatrixOf(a, lda), VectorOf(pivots), {}, {}};                                                  \
      return RunSolver(handle, fits, {n}, lapack);                                                                     \
    });                                                                                                                \
  }
WHARF_LU(S, float)
WHARF_LU(D, double)
WHARF_LU(C, cuComplex)
WHARF_LU(Z, cuDoubleComplex)
#undef WHARF_LU

// `mqr` and `gqr`: orm and org, or unm and ung. CuPy asks for sizes with n for the distance of columns.
#define WHARF_QR(letter, T, mqr, gqr)                                                                                  \
  cusolverStatus_t cusolverDn##letter##geqrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T*, int, int* size) { \
    return WHARF_SOLVER(cusolverDn##letter##geqrf_bufferSize, handle, false, [&] {                                     \
      return m < 0 || n < 0 ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkElements);                            \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##geqrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T*, int,  \
                                             int* info) {                                                              \
    return WHARF_SOLVER(cusolverDn##letter##geqrf, handle, true, [&] {                                                 \
      Lapack lapack = LapackOf(LapackRoutine::kGeqrf, SolverType<T>::kType, m, n, 1, info);                            \
      lapack.operands = {MatrixOf(a, lda), VectorOf(tau), {}, {}};                                                     \
      return RunSolver(handle, lda >= m, {m, n}, lapack);                                                              \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##mqr##qr_bufferSize(cusolverDnHandle_t handle, cublasSideMode_t,                 \
                                                          cublasOperation_t, int m, int n, int k, const T*, int,       \
                                                          const T*, const T*, int ldc, int* size) {                    \
    return WHARF_SOLVER(cusolverDn##letter##mqr##qr_bufferSize, handle, false, [&] {                                   \
      return m < 0 || n < 0 || k < 0 || ldc < m ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkElements);        \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##mqr##qr(cusolverDnHandle_t handle, cublasSideMode_t side,                       \
                                               cublasOperation_t operation, int m, int n, int k, const T* a, int lda,  \
                                               const T* tau, T* c, int ldc, T*, int, int* info) {                      \
    return WHARF_SOLVER(cusolverDn##letter##mqr##qr, handle, true, [&] {                                               \
      Lapack lapack = LapackOf(LapackRoutine::kOrmqr, SolverType<T>::kType, m, n, k, info);                            \
      lapack.right = side == CUBLAS_SIDE_RIGHT;                                                                        \
      const bool fits = SetTranspose(operation, &lapack) && (side == CUBLAS_SIDE_LEFT || lapack.right) && ldc >= m &&  \
                        lda >= (lapack.right ? n : m);                                                                 \
      lapack.operands = {MatrixOf(a, lda), VectorOf(tau), MatrixOf(c, ldc), {}};                                       \
      return RunSolver(handle, fits, {m, n, k}, lapack);                                                               \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gqr##qr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k, const T*,    \
                                                          int, const T*, int* size) {                                  \
    return WHARF_SOLVER(cusolverDn##letter##gqr##qr_bufferSize, handle, false, [&] {                                   \
      return n < 0 || m < n || k < 0 || n < k ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkElements);          \
    });                                                                                                                \
  }                                                                                                                    \
  cusolverStatus_t cusolverDn##letter##gqr##qr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda,          \
                                               const T* tau, T*, int, int* info) {                                     \
    return WHARF_SOLVER(cusolverDn##letter##gqr##qr, handle, true, [&] {                                               \
      Lapack lapack = LapackOf(LapackRoutine::kOrgqr, SolverType<T>::kType, m, n, k, info);                            \
      lapack.operands = {MatrixOf(a, lda), VectorOf(tau), {}, {}};                                                     \
      return RunSolver(handle, lda >= m, {m, n}, lapack);                                                              \
    });                                                                                                                \
  }
WHARF_QR(S, float, orm, org)
WHARF_QR(D, double, orm, org)
WHARF_QR(C, cuComplex, unm, ung)
WHARF_QR(Z, cuDoubleComplex, unm, ung)
#undef WHARF_QR

}  // extern "C"
