// cuSOLVER's sparse half: systems of equations, symmetry, orders and permutations. All of it is computed here, in
// double precision; what is on the device comes from there and goes back.
#include <cusolverSp.h>

#include <algorithm>
#include <numeric>

#include "wharf/cudashim/client/library/matrix_description.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cusolver/solver.h"
#include "wharf/cudashim/cusolver/sparse_systems.h"

// The program's handles point to these. One thread uses a handle at a time, as the vendor asks.
struct cusolverSpContext {
  static constexpr uint64_t kMagic = 0x7768726673767370;
  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;
};

namespace wharf::cudashim {
namespace {

template <typename Body>
cusolverStatus_t WithSparse(Call call, cusolverSpHandle_t handle, bool on_device, Body&& body) {
  if (handle == nullptr || handle->magic != cusolverSpContext::kMagic) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return AnswerSolver(call, on_device, body);
}
#define WHARF_SPARSE_SOLVER(function, ...) WithSparse(Call::k_##function, __VA_ARGS__)

template <typename T>
struct Computed {  // what it is computed in
  using Type = double;
};
template <>
struct Computed<cuComplex> {
  using Type = std::complex<double>;
};
template <>
struct Computed<cuDoubleComplex> {
  using Type = std::complex<double>;
};
double From(double value) { return value; }
std::complex<double> From(cuComplex value) { return {value.x, value.y}; }
std::complex<double> From(cuDoubleComplex value) { return {value.x, value.y}; }
void To(double value, float* place) { *place = static_cast<float>(value); }
void To(double value, double* place) { *place = value; }
void To(std::complex<double> value, cuComplex* place) {
  *place = {static_cast<float>(value.real()), static_cast<float>(value.imag())};
}
void To(std::complex<double> value, cuDoubleComplex* place) { *place = {value.real(), value.imag()}; }

cusolverStatus_t CopyBytes(cusolverSpHandle_t handle, const void* from, void* to, size_t bytes, client::CopyKind kind) {
  client::Box target, source;
  target.address = reinterpret_cast<uint64_t>(to);
  source.address = reinterpret_cast<uint64_t>(from);
  if (bytes == 0) return CUSOLVER_STATUS_SUCCESS;
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SolverStatusOf(client::Copy(stream, target, source, {bytes, 1, 1}, kind, false));
}

cusolverStatus_t CheckMatrix(int rows, int entries, cusparseMatDescr_t descriptor, const int* offsets,
                             const int* columns) {
  if (rows < 0 || entries < 0 || descriptor == nullptr || offsets == nullptr || (entries > 0 && columns == nullptr)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  return descriptor->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSOLVER_STATUS_SUCCESS
                                                          : CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

// A call that solves a system.
template <typename T>
struct System {
  cusolverSpHandle_t handle;
  int rows, entries;
  cusparseMatDescr_t descriptor;
  const T* values;
  const int *offsets, *columns;
  const T* b;
  double tolerance;
  int reorder;
  T* x;
  int* singularity;
};

template <typename T>
cusolverStatus_t CheckSystem(const System<T>& s) {
  const bool complete = (s.entries == 0 || s.values != nullptr) && (s.rows == 0 || (s.b != nullptr && s.x != nullptr));
  if (!complete || s.singularity == nullptr || s.reorder < 0 || s.reorder > 3) return CUSOLVER_STATUS_INVALID_VALUE;
  return CheckMatrix(s.rows, s.entries, s.descriptor, s.offsets, s.columns);
}

template <typename T>
cusolverStatus_t SolveOnHost(SparseMethod method, const System<T>& s) {
  using Number = typename Computed<T>::Type;
  const cusolverStatus_t status = CheckSystem(s);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  SparsePattern pattern;
  if (!ReadPattern(s.rows, s.entries, s.descriptor->base, s.offsets, s.columns, &pattern)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  std::vector<Number> values(s.entries), b(s.rows), x(s.rows);
  std::transform(s.values, s.values + s.entries, values.begin(), [](T value) { return From(value); });
  std::transform(s.b, s.b + s.rows, b.begin(), [](T value) { return From(value); });
  // symrcm, symamd, metis: any order will do, and the last two have the same aim.
  const SparseOrder order = s.reorder == 0   ? SparseOrder::kNone
                            : s.reorder == 1 ? SparseOrder::kReverseCuthillMcKee
                                             : SparseOrder::kMinimumDegree;
  *s.singularity = SolveSparse<Number>(method, order, pattern, values, b, s.tolerance, x);
  if (*s.singularity >= 0) return CUSOLVER_STATUS_SUCCESS;
  for (int i = 0; i < s.rows; ++i) To(x[i], &s.x[i]);
  return CUSOLVER_STATUS_SUCCESS;
}

template <typename T>
cusolverStatus_t SolveOnDevice(SparseMethod method, const System<T>& s) {
  cusolverStatus_t status = CheckSystem(s);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  std::vector<T> values(s.entries), b(s.rows), x(s.rows);
  std::vector<int> offsets(s.rows + size_t{1}), columns(s.entries);
  const auto fetch = [&](const auto* from, auto& to) {
    if (status != CUSOLVER_STATUS_SUCCESS) return;
    status = CopyBytes(s.handle, from, to.data(), to.size() * sizeof(to[0]), client::CopyKind::kDeviceToHost);
  };
  fetch(s.values, values);
  fetch(s.offsets, offsets);
  fetch(s.columns, columns);
  fetch(s.b, b);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  System<T> here = s;
  here.values = values.data();
  here.offsets = offsets.data();
  here.columns = columns.data();
  here.b = b.data();
  here.x = x.data();
  status = SolveOnHost(method, here);
  if (status != CUSOLVER_STATUS_SUCCESS || *s.singularity >= 0) return status;
  return CopyBytes(s.handle, x.data(), s.x, x.size() * sizeof(T), client::CopyKind::kHostToDevice);
}

cusolverStatus_t Order(int rows, int entries, cusparseMatDescr_t descriptor, const int* offsets, const int* columns,
                       SparseOrder order, int* p) {
  const cusolverStatus_t status = CheckMatrix(rows, entries, descriptor, offsets, columns);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  SparsePattern pattern;
  if ((rows > 0 && p == nullptr) || !ReadPattern(rows, entries, descriptor->base, offsets, columns, &pattern)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  const std::vector<int> found = OrderOf(pattern, order);
  std::copy(found.begin(), found.end(), p);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t Permute(int rows, int entries, cusparseMatDescr_t descriptor, int* offsets, int* columns, const int* p,
                         const int* q, int* map) {
  const cusolverStatus_t status = CheckMatrix(rows, entries, descriptor, offsets, columns);
  if (status != CUSOLVER_STATUS_SUCCESS) return status;
  const auto count = static_cast<size_t>(rows);
  SparsePattern pattern;
  if ((rows > 0 && (p == nullptr || q == nullptr)) || (entries > 0 && map == nullptr) || !IsPermutation({p, count}) ||
      !IsPermutation({q, count}) || !ReadPattern(rows, entries, descriptor->base, offsets, columns, &pattern)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  std::vector<int> from;
  const SparsePattern permuted = Permuted(pattern, {p, count}, {q, count}, &from);
  const int base = descriptor->base;
  std::transform(permuted.offsets.begin(), permuted.offsets.end(), offsets, [&](int offset) { return offset + base; });
  std::transform(permuted.columns.begin(), permuted.columns.end(), columns, [&](int column) { return column + base; });
  const std::vector<int> before(map, map + entries);
  std::transform(from.begin(), from.end(), map, [&](int at) { return before[at]; });
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cusolverStatus_t cusolverSpCreate(cusolverSpHandle_t* handle) {
  return AnswerSolver(Call::k_cusolverSpCreate, true, [&] {
    return handle == nullptr ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(handle, new cusolverSpContext());
  });
}
cusolverStatus_t cusolverSpDestroy(cusolverSpHandle_t handle) {
  return WHARF_SPARSE_SOLVER(cusolverSpDestroy, handle, false, [&] {
    handle->magic = 0;
    delete handle;
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream) {
  return WHARF_SPARSE_SOLVER(cusolverSpSetStream, handle, false, [&] { return StoreTo(&handle->stream, stream); });
}
cusolverStatus_t cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t* stream) {
  return WHARF_SPARSE_SOLVER(cusolverSpGetStream, handle, false, [&] { return StoreTo(stream, handle->stream); });
}

cusolverStatus_t cusolverSpXcsrissymHost(cusolverSpHandle_t handle, int rows, int entries,
                                         const cusparseMatDescr_t descriptor, const int* offsets, const int* ends,
                                         const int* columns, int* symmetric) {
  return WHARF_SPARSE_SOLVER(cusolverSpXcsrissymHost, handle, false, [&] {
    const cusolverStatus_t status = CheckMatrix(rows, entries, descriptor, offsets, columns);
    if (status != CUSOLVER_STATUS_SUCCESS) return status;
    const int base = descriptor->base;
    for (int i = 0; i < rows; ++i) {
      if (ends == nullptr || offsets[i] < base || ends[i] < offsets[i] || ends[i] - base > entries) {
        return CUSOLVER_STATUS_INVALID_VALUE;
      }
    }
    return StoreTo(symmetric, IsSymmetric(rows, base, offsets, ends, columns) ? 1 : 0);
  });
}

#define WHARF_SPARSE_ORDER(name, order)                                                                \
  cusolverStatus_t cusolverSpXcsr##name##Host(cusolverSpHandle_t handle, int rows, int entries,        \
                                              const cusparseMatDescr_t descriptor, const int* offsets, \
                                              const int* columns, int* p) {                            \
    return WHARF_SPARSE_SOLVER(cusolverSpXcsr##name##Host, handle, false, [&] {                        \
      return Order(rows, entries, descriptor, offsets, columns, SparseOrder::order, p);                \
    });                                                                                                \
  }
WHARF_SPARSE_ORDER(symrcm, kReverseCuthillMcKee)
WHARF_SPARSE_ORDER(symmdq, kMinimumDegree)
WHARF_SPARSE_ORDER(symamd, kMinimumDegree)
#undef WHARF_SPARSE_ORDER
// METIS is not here; an order by minimum degree has the same aim.
cusolverStatus_t cusolverSpXcsrmetisndHost(cusolverSpHandle_t handle, int rows, int entries,
                                           const cusparseMatDescr_t descriptor, const int* offsets, const int* columns,
                                           const int64_t*, int* p) {
  return WHARF_SPARSE_SOLVER(cusolverSpXcsrmetisndHost, handle, false, [&] {
    return Order(rows, entries, descriptor, offsets, columns, SparseOrder::kMinimumDegree, p);
  });
}

cusolverStatus_t cusolverSpXcsrperm_bufferSizeHost(cusolverSpHandle_t handle, int rows, int columns, int entries,
                                                   const cusparseMatDescr_t, const int*, const int*, const int*,
                                                   const int*, size_t* size) {
  return WHARF_SPARSE_SOLVER(cusolverSpXcsrperm_bufferSizeHost, handle, false, [&] {
    return rows < 0 || columns < 0 || entries < 0 ? CUSOLVER_STATUS_INVALID_VALUE : StoreTo(size, kWorkBytes);
  });
}
cusolverStatus_t cusolverSpXcsrpermHost(cusolverSpHandle_t handle, int rows, int columns, int entries,
                                        const cusparseMatDescr_t descriptor, int* offsets, int* indices, const int* p,
                                        const int* q, int* map, void*) {
  return WHARF_SPARSE_SOLVER(cusolverSpXcsrpermHost, handle, false, [&] {
    return rows != columns ? CUSOLVER_STATUS_NOT_SUPPORTED
                           : Permute(rows, entries, descriptor, offsets, indices, p, q, map);
  });
}

// What NVIDIA's solves by QR is solved by LU, with pivoting, too: x is the same, and Eigen's sparse QR takes minutes
// for what this does in a second.
#define WHARF_SPARSE_SYSTEM(function, T, Real, Solve, method, on_device)                                           \
  cusolverStatus_t function(cusolverSpHandle_t handle, int rows, int entries, const cusparseMatDescr_t descriptor, \
                            const T* values, const int* offsets, const int* columns, const T* b, Real tolerance,   \
                            int reorder, T* x, int* singularity) {                                                 \
    return WHARF_SPARSE_SOLVER(function, handle, on_device, [&] {                                                  \
      return Solve<T>(SparseMethod::method, {handle, rows, entries, descriptor, values, offsets, columns, b,       \
                                             tolerance, reorder, x, singularity});                                 \
    });                                                                                                            \
  }
#define WHARF_SPARSE_SYSTEMS(letter, T, Real)                                                     \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvluHost, T, Real, SolveOnHost, kLu, false)         \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvqrHost, T, Real, SolveOnHost, kLu, false)         \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvqr, T, Real, SolveOnDevice, kLu, true)            \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvcholHost, T, Real, SolveOnHost, kCholesky, false) \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvchol, T, Real, SolveOnDevice, kCholesky, true)
WHARF_SPARSE_SYSTEMS(S, float, float)
WHARF_SPARSE_SYSTEMS(D, double, double)
WHARF_SPARSE_SYSTEMS(C, cuComplex, float)
WHARF_SPARSE_SYSTEMS(Z, cuDoubleComplex, double)

}  // extern "C"
