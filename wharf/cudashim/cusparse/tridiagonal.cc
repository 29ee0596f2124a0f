// Systems of equations of three diagonals.
#include <algorithm>

#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {
namespace {

// Element i of each diagonal is in row i: the lower one's first and the upper one's last are not looked at.
struct DiagonalCall {
  cusparseHandle_t handle;
  cudaDataType type;
  int size;
  const void *lower, *diagonal, *upper;
  void* sides;
  int columns, leading;  // of one system
  int systems, stride;   // or several, of one right-hand side each
};

bool FitsDiagonals(const DiagonalCall& call) {
  constexpr int kLeast = 3;  // the vendor's
  return call.size >= kLeast && call.columns >= 0 && call.systems >= 0 && call.leading >= call.size &&
         (call.systems < 2 || call.stride >= call.size);
}

size_t FactorBytes(const DiagonalCall& call) {
  return static_cast<size_t>(call.systems) * static_cast<size_t>(call.size) * 4 *
         device::ElementBytes(*SparseTypeOf(call.type));
}
cusparseStatus_t StoreDiagonalWork(const DiagonalCall& call, size_t* size) {
  if (!FitsDiagonals(call)) return CUSPARSE_STATUS_INVALID_VALUE;
  const size_t exchanged = static_cast<size_t>(call.systems) * static_cast<size_t>(call.size) * sizeof(int);
  return StoreTo(size, std::max(FactorBytes(call) + exchanged, kSparseWork));
}

cusparseStatus_t SolveDiagonals(const DiagonalCall& call, void* buffer) {
  if (!FitsDiagonals(call) || call.lower == nullptr || call.diagonal == nullptr || call.upper == nullptr ||
      call.sides == nullptr || buffer == nullptr) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  const DiagonalSystems s{
      call.lower,   call.diagonal, call.upper,
      call.sides,   buffer,        reinterpret_cast<int*>(static_cast<char*>(buffer) + FactorBytes(call)),
      call.size,    call.systems,  call.stride,
      call.columns, call.leading};
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchFactorization(call.handle, call.type, "factor_diagonals", call.systems, &s));
  const int64_t sides = int64_t{call.systems} * call.columns;
  return LaunchFactorization(call.handle, call.type, "solve_diagonals", sides, &s);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

// Pivots are exchanged where the name says that they need not be, too.
#define WHARF_DIAGONALS(letter, T, type, name)                                                                      \
  cusparseStatus_t cusparse##letter##name##_bufferSizeExt(cusparseHandle_t handle, int m, int n, const T* lower,    \
                                                          const T* diagonal, const T* upper, const T* sides,        \
                                                          int leading, size_t* size) {                              \
    return WHARF_SPARSE(cusparse##letter##name##_bufferSizeExt, handle, false, [&] {                                \
      return StoreDiagonalWork({handle, type, m, lower, diagonal, upper, const_cast<T*>(sides), n, leading, 1, 0},  \
                               size);                                                                               \
    });                                                                                                             \
  }                                                                                                                 \
  cusparseStatus_t cusparse##letter##name(cusparseHandle_t handle, int m, int n, const T* lower, const T* diagonal, \
                                          const T* upper, T* sides, int leading, void* buffer) {                    \
    return WHARF_SPARSE(cusparse##letter##name, handle, true, [&] {                                                 \
      return SolveDiagonals({handle, type, m, lower, diagonal, upper, sides, n, leading, 1, 0}, buffer);            \
    });                                                                                                             \
  }
#define WHARF_DIAGONAL_BATCH(letter, T, type)                                                                        \
  cusparseStatus_t cusparse##letter##gtsv2StridedBatch_bufferSizeExt(cusparseHandle_t handle, int m, const T* lower, \
                                                                     const T* diagonal, const T* upper, const T* x,  \
                                                                     int systems, int stride, size_t* size) {        \
    return WHARF_SPARSE(cusparse##letter##gtsv2StridedBatch_bufferSizeExt, handle, false, [&] {                      \
      return StoreDiagonalWork({handle, type, m, lower, diagonal, upper, const_cast<T*>(x), 1, m, systems, stride},  \
                               size);                                                                                \
    });                                                                                                              \
  }                                                                                                                  \
  cusparseStatus_t cusparse##letter##gtsv2StridedBatch(cusparseHandle_t handle, int m, const T* lower,               \
                                                       const T* diagonal, const T* upper, T* x, int systems,         \
                                                       int stride, void* buffer) {                                   \
    return WHARF_SPARSE(cusparse##letter##gtsv2StridedBatch, handle, true, [&] {                                     \
      return SolveDiagonals({handle, type, m, lower, diagonal, upper, x, 1, m, systems, stride}, buffer);            \
    });                                                                                                              \
  }
#define WHARF_ALL_DIAGONALS(letter, T, type)      \
  WHARF_DIAGONALS(letter, T, type, gtsv2)         \
  WHARF_DIAGONALS(letter, T, type, gtsv2_nopivot) \
  WHARF_DIAGONAL_BATCH(letter, T, type)
WHARF_ALL_DIAGONALS(S, float, CUDA_R_32F)
WHARF_ALL_DIAGONALS(D, double, CUDA_R_64F)
WHARF_ALL_DIAGONALS(C, cuComplex, CUDA_C_32F)
WHARF_ALL_DIAGONALS(Z, cuDoubleComplex, CUDA_C_64F)
#undef WHARF_ALL_DIAGONALS
#undef WHARF_DIAGONAL_BATCH
#undef WHARF_DIAGONALS

}  // extern "C"
