// cuSOLVER's low-level interface to systems with a sparse matrix: analysis, factorization and solving one by one, by
// Cholesky's method and by what stands for QR (sparse.cc). What is kept lies in the program, not on the device.
#include "wharf/cudashim/cusolver/sparse.h"

namespace wharf::cudashim {

struct FactorInfo {
  bool analyzed = false, set = false;
  SparsePattern pattern;
  // Of the last set-up and factorization, in one of the two kinds of numbers.
  std::vector<double> values;
  std::vector<std::complex<double>> complex_values;
  std::unique_ptr<SparseFactor<double>> factor;
  std::unique_ptr<SparseFactor<std::complex<double>>> complex_factor;
};

}  // namespace wharf::cudashim

struct csrcholInfo : wharf::cudashim::FactorInfo {};
struct csrcholInfoHost : wharf::cudashim::FactorInfo {};
struct csrqrInfo : wharf::cudashim::FactorInfo {};
struct csrqrInfoHost : wharf::cudashim::FactorInfo {};

namespace wharf::cudashim {
namespace {

auto& ValuesOf(FactorInfo* info, double) { return info->values; }
auto& ValuesOf(FactorInfo* info, std::complex<double>) { return info->complex_values; }
auto& FactorOf(FactorInfo* info, double) { return info->factor; }
auto& FactorOf(FactorInfo* info, std::complex<double>) { return info->complex_factor; }

template <typename Info>
cusolverStatus_t MakeInfo(Call call, Info** info) {
  return AnswerSolver(call, false,
                      [&] { return info == nullptr ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(info, new Info()); });
}
template <typename Info>
cusolverStatus_t DestroyInfo(Call call, Info* info) {
  return AnswerSolver(call, false, [&] {
    delete info;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

cusolverStatus_t Analyze(cusolverSpHandle_t handle, bool on_device, const SparseArgument& a, FactorInfo* info) {
  if (info == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *info = {};
  WHARF_SOLVER_RETURN_IF_ERROR(FetchPattern(handle, on_device, a, &info->pattern));
  info->analyzed = true;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t SizesOf(const FactorInfo* info, size_t* kept, size_t* work) {
  if (info == nullptr || !info->analyzed || kept == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *kept = kWorkBytes;
  return StoreTo(work, kWorkBytes);
}

// The values of the matrix that was analyzed.
template <typename T>
cusolverStatus_t SetUp(cusolverSpHandle_t handle, bool on_device, int rows, int entries, const T* values,
                       FactorInfo* info) {
  if (info == nullptr || !info->analyzed || rows != info->pattern.rows ||
      static_cast<size_t>(entries) != info->pattern.columns.size() || (entries > 0 && values == nullptr)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  using Number = typename Computed<T>::Type;
  WHARF_SOLVER_RETURN_IF_ERROR(FetchNumbers(handle, on_device, values, entries, &ValuesOf(info, Number())));
  info->set = true;
  return CUSOLVER_STATUS_SUCCESS;
}

template <typename T>
cusolverStatus_t Factorize(SparseMethod method, FactorInfo* info) {
  using Number = typename Computed<T>::Type;
  if (info == nullptr || !info->set) return CUSOLVER_STATUS_INVALID_VALUE;
  const auto& values = ValuesOf(info, Number());
  if (values.size() != info->pattern.columns.size()) return CUSOLVER_STATUS_INVALID_VALUE;
  FactorOf(info, Number()) = SparseFactor<Number>::Of(method, SparseOrder::kMinimumDegree, info->pattern, values);
  return CUSOLVER_STATUS_SUCCESS;
}

template <typename T>
cusolverStatus_t FindSmallPivot(FactorInfo* info, double tolerance, int* position) {
  using Number = typename Computed<T>::Type;
  if (info == nullptr || FactorOf(info, Number()) == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  return StoreTo(position, FactorOf(info, Number())->SmallPivot(tolerance));
}

template <typename T>
cusolverStatus_t SolveByFactor(cusolverSpHandle_t handle, bool on_device, int rows, const T* b, T* x,
                               FactorInfo* info) {
  using Number = typename Computed<T>::Type;
  if (info == nullptr || FactorOf(info, Number()) == nullptr || rows != info->pattern.rows ||
      (rows > 0 && (b == nullptr || x == nullptr))) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  const auto& factor = FactorOf(info, Number());
  if (factor->SmallPivot(0) >= 0) return CUSOLVER_STATUS_ZERO_PIVOT;
  std::vector<Number> right, left(rows);
  WHARF_SOLVER_RETURN_IF_ERROR(FetchNumbers(handle, on_device, b, rows, &right));
  factor->Solve(right, left);
  return StoreNumbers<T>(handle, on_device, left, x);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

// `Host` or nothing.
#define WHARF_SPARSE_INFO(method, Host)                                                         \
  cusolverStatus_t cusolverSpCreateCsr##method##Info##Host(csr##method##Info##Host##_t* info) { \
    return MakeInfo(Call::k_cusolverSpCreateCsr##method##Info##Host, info);                     \
  }                                                                                             \
  cusolverStatus_t cusolverSpDestroyCsr##method##Info##Host(csr##method##Info##Host##_t info) { \
    return DestroyInfo(Call::k_cusolverSpDestroyCsr##method##Info##Host, info);                 \
  }
WHARF_SPARSE_INFO(chol, )
WHARF_SPARSE_INFO(chol, Host)
WHARF_SPARSE_INFO(qr, )
WHARF_SPARSE_INFO(qr, Host)
#undef WHARF_SPARSE_INFO

#define WHARF_CHOLESKY_ANALYSIS(Host, on_device)                                                             \
  cusolverStatus_t cusolverSpXcsrcholAnalysis##Host(cusolverSpHandle_t handle, int rows, int entries,        \
                                                    const cusparseMatDescr_t descriptor, const int* offsets, \
                                                    const int* columns, csrcholInfo##Host##_t info) {        \
    return WHARF_SPARSE_SOLVER(cusolverSpXcsrcholAnalysis##Host, handle, on_device, [&] {                    \
      return Analyze(handle, on_device, {rows, entries, descriptor, offsets, columns}, info);                \
    });                                                                                                      \
  }
WHARF_CHOLESKY_ANALYSIS(, true)
WHARF_CHOLESKY_ANALYSIS(Host, false)
#undef WHARF_CHOLESKY_ANALYSIS

#define WHARF_SPARSE_CHOLESKY(letter, T, Real, Host, on_device)                                                      \
  cusolverStatus_t cusolverSp##letter##csrcholBufferInfo##Host(                                                      \
      cusolverSpHandle_t handle, int, int, const cusparseMatDescr_t, const T*, const int*, const int*,               \
      csrcholInfo##Host##_t info, size_t* kept, size_t* work) {                                                      \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrcholBufferInfo##Host, handle, false,                           \
                               [&] { return SizesOf(info, kept, work); });                                           \
  }                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrcholFactor##Host(cusolverSpHandle_t handle, int rows, int entries,         \
                                                           const cusparseMatDescr_t, const T* values, const int*,    \
                                                           const int*, csrcholInfo##Host##_t info, void*) {          \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrcholFactor##Host, handle, on_device, [&] {                     \
      WHARF_SOLVER_RETURN_IF_ERROR(SetUp(handle, on_device, rows, entries, values, info));                           \
      return Factorize<T>(SparseMethod::kCholesky, info);                                                            \
    });                                                                                                              \
  }                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrcholZeroPivot##Host(cusolverSpHandle_t handle, csrcholInfo##Host##_t info, \
                                                              Real tolerance, int* position) {                       \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrcholZeroPivot##Host, handle, false,                            \
                               [&] { return FindSmallPivot<T>(info, tolerance, position); });                        \
  }                                                                                                                  \
  cusolverStatus_t cusolverSp##letter##csrcholSolve##Host(cusolverSpHandle_t handle, int rows, const T* b, T* x,     \
                                                          csrcholInfo##Host##_t info, void*) {                       \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrcholSolve##Host, handle, on_device,                            \
                               [&] { return SolveByFactor(handle, on_device, rows, b, x, info); });                  \
  }

#define WHARF_QR_ANALYSIS(Host, on_device)                                                                       \
  cusolverStatus_t cusolverSpXcsrqrAnalysis##Host(cusolverSpHandle_t handle, int rows, int columns, int entries, \
                                                  const cusparseMatDescr_t descriptor, const int* offsets,       \
                                                  const int* indices, csrqrInfo##Host##_t info) {                \
    return WHARF_SPARSE_SOLVER(cusolverSpXcsrqrAnalysis##Host, handle, on_device, [&] {                          \
      if (rows != columns) return CUSOLVER_STATUS_NOT_SUPPORTED;                                                 \
      return Analyze(handle, on_device, {rows, entries, descriptor, offsets, indices}, info);                    \
    });                                                                                                          \
  }
WHARF_QR_ANALYSIS(, true)
WHARF_QR_ANALYSIS(Host, false)
#undef WHARF_QR_ANALYSIS

// Refused: a shift of the diagonal, and solving while factorizing.
#define WHARF_SPARSE_QR(letter, T, Real, Host, on_device)                                                        \
  cusolverStatus_t cusolverSp##letter##csrqrBufferInfo##Host(                                                    \
      cusolverSpHandle_t handle, int, int, int, const cusparseMatDescr_t, const T*, const int*, const int*,      \
      csrqrInfo##Host##_t info, size_t* kept, size_t* work) {                                                    \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrqrBufferInfo##Host, handle, false,                         \
                               [&] { return SizesOf(info, kept, work); });                                       \
  }                                                                                                              \
  cusolverStatus_t cusolverSp##letter##csrqrSetup##Host(cusolverSpHandle_t handle, int rows, int, int entries,   \
                                                        const cusparseMatDescr_t, const T* values, const int*,   \
                                                        const int*, T shift, csrqrInfo##Host##_t info) {         \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrqrSetup##Host, handle, on_device, [&] {                    \
      if (Computed<T>::Of(shift) != 0.0) return CUSOLVER_STATUS_NOT_SUPPORTED;                                   \
      return SetUp(handle, on_device, rows, entries, values, info);                                              \
    });                                                                                                          \
  }                                                                                                              \
  cusolverStatus_t cusolverSp##letter##csrqrFactor##Host(cusolverSpHandle_t handle, int, int, int, T* b, T* x,   \
                                                         csrqrInfo##Host##_t info, void*) {                      \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrqrFactor##Host, handle, false, [&] {                       \
      if (b != nullptr || x != nullptr) return CUSOLVER_STATUS_NOT_SUPPORTED;                                    \
      return Factorize<T>(SparseMethod::kLu, info);                                                              \
    });                                                                                                          \
  }                                                                                                              \
  cusolverStatus_t cusolverSp##letter##csrqrZeroPivot##Host(cusolverSpHandle_t handle, csrqrInfo##Host##_t info, \
                                                            Real tolerance, int* position) {                     \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrqrZeroPivot##Host, handle, false,                          \
                               [&] { return FindSmallPivot<T>(info, tolerance, position); });                    \
  }                                                                                                              \
  cusolverStatus_t cusolverSp##letter##csrqrSolve##Host(cusolverSpHandle_t handle, int rows, int, T* b, T* x,    \
                                                        csrqrInfo##Host##_t info, void*) {                       \
    return WHARF_SPARSE_SOLVER(cusolverSp##letter##csrqrSolve##Host, handle, on_device,                          \
                               [&] { return SolveByFactor<T>(handle, on_device, rows, b, x, info); });           \
  }

#define WHARF_SPARSE_FACTORS(letter, T, Real)         \
  WHARF_SPARSE_CHOLESKY(letter, T, Real, , true)      \
  WHARF_SPARSE_CHOLESKY(letter, T, Real, Host, false) \
  WHARF_SPARSE_QR(letter, T, Real, , true)            \
  WHARF_SPARSE_QR(letter, T, Real, Host, false)
WHARF_SPARSE_FACTORS(S, float, float)
WHARF_SPARSE_FACTORS(D, double, double)
WHARF_SPARSE_FACTORS(C, cuComplex, float)
WHARF_SPARSE_FACTORS(Z, cuDoubleComplex, double)

}  // extern "C"
