// cuSOLVER's sparse half: systems of equations, symmetry, orders and permutations. All of it is computed here, in
// double precision; what is on the device comes from there and goes back.
#include "wharf/cudashim/cusolver/sparse.h"

#include <algorithm>
#include <cstring>

namespace wharf::cudashim {

cusolverStatus_t CopySparse(cusolverSpHandle_t handle, const void* from, void* to, size_t bytes,
                            client::CopyKind kind) {
  if (bytes == 0) return CUSOLVER_STATUS_SUCCESS;
  if (kind == client::CopyKind::kHostToHost) {
    std::memcpy(to, from, bytes);
    return CUSOLVER_STATUS_SUCCESS;
  }
  client::Box target, source;
  target.address = reinterpret_cast<uint64_t>(to);
  source.address = reinterpret_cast<uint64_t>(from);
  const auto stream = reinterpret_cast<client::StreamHandle>(handle->stream);
  return SolverStatusOf(client::Copy(stream, target, source, {bytes, 1, 1}, kind, false));
}

cusolverStatus_t CheckSparse(const SparseArgument& a) {
  if (a.rows < 0 || a.entries < 0 || a.descriptor == nullptr || a.offsets == nullptr ||
      (a.entries > 0 && a.columns == nullptr)) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  const bool general = a.descriptor->type == CUSPARSE_MATRIX_TYPE_GENERAL;
  return general ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

cusolverStatus_t FetchPattern(cusolverSpHandle_t handle, bool on_device, const SparseArgument& a,
                              SparsePattern* pattern) {
  std::vector<int> offsets, columns;
  WHARF_SOLVER_RETURN_IF_ERROR(CheckSparse(a));
  WHARF_SOLVER_RETURN_IF_ERROR(Fetch(handle, on_device, a.offsets, a.rows + size_t{1}, &offsets));
  WHARF_SOLVER_RETURN_IF_ERROR(Fetch(handle, on_device, a.columns, a.entries, &columns));
  const bool is_one =
      client::ReadPattern(a.rows, a.entries, a.descriptor->base, offsets.data(), columns.data(), pattern);
  return is_one ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

namespace {

// symrcm, symamd, metis: any order will do, and the last two have the same aim.
constexpr SparseOrder kOrders[] = {SparseOrder::kNone, SparseOrder::kReverseCuthillMcKee, SparseOrder::kMinimumDegree,
                                   SparseOrder::kMinimumDegree};

// x of a x = b, with memory of the device if `on_device`.
template <typename T>
cusolverStatus_t SolveSystem(cusolverSpHandle_t handle, bool on_device, SparseMethod method, const SparseArgument& a,
                             const T* values, const T* b, double tolerance, int reorder, T* x, int* singularity) {
  using Number = typename Computed<T>::Type;
  const bool complete = (a.entries <= 0 || values != nullptr) && (a.rows <= 0 || (b != nullptr && x != nullptr));
  if (!complete || singularity == nullptr || reorder < 0 || reorder > 3) return CUSOLVER_STATUS_INVALID_VALUE;
  SparsePattern pattern;
  std::vector<Number> numbers, right;
  WHARF_SOLVER_RETURN_IF_ERROR(FetchPattern(handle, on_device, a, &pattern));
  WHARF_SOLVER_RETURN_IF_ERROR(FetchNumbers(handle, on_device, values, a.entries, &numbers));
  WHARF_SOLVER_RETURN_IF_ERROR(FetchNumbers(handle, on_device, b, a.rows, &right));
  const auto factor = SparseFactor<Number>::Of(method, kOrders[reorder], pattern, numbers);
  *singularity = factor->SmallPivot(tolerance);
  if (*singularity >= 0) return CUSOLVER_STATUS_SUCCESS;
  std::vector<Number> left(a.rows);
  factor->Solve(right, left);
  return StoreNumbers<T>(handle, on_device, left, x);
}

cusolverStatus_t Order(cusolverSpHandle_t handle, const SparseArgument& a, SparseOrder order, int* p) {
  SparsePattern pattern;
  WHARF_SOLVER_RETURN_IF_ERROR(FetchPattern(handle, false, a, &pattern));
  if (a.rows > 0 && p == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  const std::vector<int> found = client::OrderOf(pattern, order);
  std::copy(found.begin(), found.end(), p);
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t Permute(cusolverSpHandle_t handle, const SparseArgument& a, int* offsets, int* columns, const int* p,
                         const int* q, int* map) {
  SparsePattern pattern;
  WHARF_SOLVER_RETURN_IF_ERROR(FetchPattern(handle, false, a, &pattern));
  const auto count = static_cast<size_t>(a.rows);
  if ((count > 0 && (p == nullptr || q == nullptr)) || (a.entries > 0 && map == nullptr) ||
      !client::IsPermutation({p, count}) || !client::IsPermutation({q, count})) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  std::vector<int> from;
  const SparsePattern permuted = client::Permuted(pattern, {p, count}, {q, count}, &from);
  const int base = a.descriptor->base;
  std::transform(permuted.offsets.begin(), permuted.offsets.end(), offsets, [&](int offset) { return offset + base; });
  std::transform(permuted.columns.begin(), permuted.columns.end(), columns, [&](int column) { return column + base; });
  const std::vector<int> before(map, map + a.entries);
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
    WHARF_SOLVER_RETURN_IF_ERROR(CheckSparse({rows, entries, descriptor, offsets, columns}));
    const int base = descriptor->base;
    for (int i = 0; i < rows; ++i) {
      if (ends == nullptr || offsets[i] < base || ends[i] < offsets[i] || ends[i] - base > entries) {
        return CUSOLVER_STATUS_INVALID_VALUE;
      }
    }
    return StoreTo(symmetric, client::IsSymmetric(rows, base, offsets, ends, columns) ? 1 : 0);
  });
}

#define WHARF_SPARSE_ORDER(name, order)                                                                \
  cusolverStatus_t cusolverSpXcsr##name##Host(cusolverSpHandle_t handle, int rows, int entries,        \
                                              const cusparseMatDescr_t descriptor, const int* offsets, \
                                              const int* columns, int* p) {                            \
    return WHARF_SPARSE_SOLVER(cusolverSpXcsr##name##Host, handle, false, [&] {                        \
      return Order(handle, {rows, entries, descriptor, offsets, columns}, SparseOrder::order, p);      \
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
    return Order(handle, {rows, entries, descriptor, offsets, columns}, SparseOrder::kMinimumDegree, p);
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
    if (rows != columns) return CUSOLVER_STATUS_NOT_SUPPORTED;
    return Permute(handle, {rows, entries, descriptor, offsets, indices}, offsets, indices, p, q, map);
  });
}

// What NVIDIA's solves by QR is solved by LU, with pivoting, too: x is the same, and Eigen's sparse QR takes minutes
// for what this does in a second.
#define WHARF_SPARSE_SYSTEM(function, T, Real, method, on_device)                                                   \
  cusolverStatus_t function(cusolverSpHandle_t handle, int rows, int entries, const cusparseMatDescr_t descriptor,  \
                            const T* values, const int* offsets, const int* columns, const T* b, Real tolerance,    \
                            int reorder, T* x, int* singularity) {                                                  \
    return WHARF_SPARSE_SOLVER(function, handle, on_device, [&] {                                                   \
      return SolveSystem<T>(handle, on_device, SparseMethod::method, {rows, entries, descriptor, offsets, columns}, \
                            values, b, tolerance, reorder, x, singularity);                                         \
    });                                                                                                             \
  }
#define WHARF_SPARSE_SYSTEMS(letter, T, Real)                                        \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvluHost, T, Real, kLu, false)         \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvqrHost, T, Real, kLu, false)         \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvqr, T, Real, kLu, true)              \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvcholHost, T, Real, kCholesky, false) \
  WHARF_SPARSE_SYSTEM(cusolverSp##letter##csrlsvchol, T, Real, kCholesky, true)
WHARF_SPARSE_SYSTEMS(S, float, float)
WHARF_SPARSE_SYSTEMS(D, double, double)
WHARF_SPARSE_SYSTEMS(C, cuComplex, float)
WHARF_SPARSE_SYSTEMS(Z, cuDoubleComplex, double)

}  // extern "C"
