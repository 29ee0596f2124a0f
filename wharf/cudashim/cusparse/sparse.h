// What every body in libcusparse.so.12 starts from: handles, descriptors, and the launch of kernels.cu's kernels.
#pragma once

#include <cusparse.h>

#include <optional>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/library/answer.h"
#include "wharf/cudashim/client/library/matrix_description.h"
#include "wharf/cudashim/cusparse/kernels.h"
#include "wharf/device/element_type.h"

// The program's handles and descriptors point to these. One thread uses a handle at a time, as the vendor asks.
struct cusparseContext {
  static constexpr uint64_t kMagic = 0x7768726673706172;
  uint64_t magic = kMagic;
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t pointer_mode = CUSPARSE_POINTER_MODE_HOST;
  uint64_t result = 0;  // on the device, room for a number that goes to the host; 0: not yet
};
struct cusparseSpVecDescr {
  int64_t size, entries;
  void *indices, *values;
  cusparseIndexType_t index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
};
struct cusparseDnVecDescr {
  int64_t size;
  void* values;
  cudaDataType type;
};
struct cusparseSpMatDescr {
  cusparseFormat_t format;
  int64_t rows, columns, entries;
  void *offsets, *indices, *values;  // of coordinates: rows and columns
  cusparseIndexType_t offset_type, index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  int batch = 1;
  int64_t offsets_stride = 0, values_stride = 0;
};
struct cusparseDnMatDescr {
  int64_t rows, columns, leading;
  void* values;
  cudaDataType type;
  cusparseOrder_t order;
  int batch = 1;
  int64_t stride = 0;
};
// Of a factorization: on the device the row of its first zero pivot, from the analysis on (0: there was none).
struct csric02Info {
  uint64_t pivot = 0;
};
struct csrilu02Info {
  uint64_t pivot = 0;
  bool boosted = false;
  wharf::cudashim::SparseScalar tolerance{}, boost{};
};
// What an analysis leaves for later: here nothing.
struct cusparseSpSVDescr {};
struct cusparseSpSMDescr {};
struct cusparseSpGEMMDescr {
  void *counts = nullptr, *marks = nullptr;
};

namespace wharf::cudashim {

using client::Call;
using device::CudaError;
using device::ElementType;

cusparseStatus_t SparseStatusOf(CudaError error);

// A call that `body`, which returns a status, answers; it needs the device if `on_device`.
template <typename Body>
cusparseStatus_t AnswerSparse(Call call, bool on_device, Body&& body) {
  return client::Answer(call, on_device, SparseStatusOf, body);
}
template <typename Body>
cusparseStatus_t WithSparse(Call call, cusparseHandle_t handle, bool on_device, Body&& body) {
  if (handle == nullptr || handle->magic != cusparseContext::kMagic) return CUSPARSE_STATUS_NOT_INITIALIZED;
  return AnswerSparse(call, on_device, body);
}
#define WHARF_SPARSE(function, ...) wharf::cudashim::WithSparse(wharf::client::Call::k_##function, __VA_ARGS__)
#define WHARF_SPARSE_LOCAL(function, ...) \
  wharf::cudashim::AnswerSparse(wharf::client::Call::k_##function, false, __VA_ARGS__)
#define WHARF_SPARSE_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                               \
    if (const cusparseStatus_t wharf_status = (expression); wharf_status != CUSPARSE_STATUS_SUCCESS) \
      return wharf_status;                                                                           \
  } while (false)

template <typename T>
cusparseStatus_t StoreTo(T* place, T value) {
  return client::StoreOr(CUSPARSE_STATUS_INVALID_VALUE, place, value);
}

// Programs allocate what they are told, so it is not nothing.
inline constexpr size_t kSparseWork = 16;

// Of values: float, double, and complex ones; others are refused.
std::optional<ElementType> SparseTypeOf(cudaDataType type);
inline IndexArray IndicesOf(void* data, cusparseIndexType_t type, cusparseIndexBase_t base) {
  return {data, type == CUSPARSE_INDEX_64I ? 1 : 0, base == CUSPARSE_INDEX_BASE_ONE ? 1 : 0};
}
inline IndexArray IndicesOf(const int* data, cusparseIndexBase_t base) {
  return IndicesOf(const_cast<int*>(data), CUSPARSE_INDEX_32I, base);
}
// As kernels have it. REQUIRES: CheckSparse accepted it.
SparseMatrix MatrixOf(const cusparseSpMatDescr& a);
inline bool IsByColumns(const cusparseSpMatDescr& a) { return a.format == CUSPARSE_FORMAT_CSC; }
// Transposed, if so.
DenseMatrix DenseOf(const cusparseDnMatDescr& m, bool transposed);
// Null if it is not there; coordinates and matrices compressed by rows or columns, one of them, of types that there
// are.
cusparseStatus_t CheckSparse(const cusparseSpMatDescr* a);
cusparseStatus_t CheckDense(const cusparseDnMatDescr* m);
// As the handle says where it is: of the call's type.
SparseScalar ScalarOf(cusparseHandle_t handle, cudaDataType type, const void* scalar);
inline SparseScalar NumberOf(double number) { return {nullptr, {number, 0}}; }

// Puts a kernel by its name on the handle's stream, for so many threads at most. `parameters` is a struct of kernels.h.
cusparseStatus_t LaunchSparse(cusparseHandle_t handle, cudaDataType type, const char* kernel, int64_t threads,
                              const void* parameters);
// The same, of factorizations.cu.
cusparseStatus_t LaunchFactorization(cusparseHandle_t handle, cudaDataType type, const char* kernel, int64_t threads,
                                     const void* parameters);
cusparseStatus_t CopyOnDevice(cusparseHandle_t handle, const void* from, void* to, size_t bytes);
// Behind all of the handle's stream: waits.
cusparseStatus_t ReadBack(cusparseHandle_t handle, const void* place, void* to, size_t bytes);
inline cusparseStatus_t ReadCount(cusparseHandle_t handle, const void* place, int64_t* count) {
  return ReadBack(handle, place, count, sizeof(*count));
}

}  // namespace wharf::cudashim
