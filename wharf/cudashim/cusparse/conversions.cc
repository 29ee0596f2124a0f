// From one form of a matrix to another, and sorting.
#include <algorithm>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {
namespace {

// A dense matrix by the lines of a sparse one.
DenseMatrix ByLines(const cusparseDnMatDescr& dense, const cusparseSpMatDescr& sparse) {
  return DenseOf(dense, IsByColumns(sparse));
}

cusparseStatus_t CheckConversion(const cusparseSpMatDescr* sparse, const cusparseDnMatDescr* dense) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(sparse));
  WHARF_SPARSE_RETURN_IF_ERROR(CheckDense(dense));
  const bool fits = sparse->type == dense->type && sparse->rows == dense->rows && sparse->columns == dense->columns;
  return fits ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

DenseConversion ConversionOf(const cusparseSpMatDescr& sparse, const cusparseDnMatDescr& dense, void* counts) {
  return {MatrixOf(sparse), ByLines(dense, sparse), static_cast<long long*>(counts)};  // NOLINT
}

cusparseStatus_t SortCoordinates(cusparseHandle_t handle, int entries, int* major, int* minor, int* numbers) {
  if (entries < 0 || (entries > 0 && (major == nullptr || minor == nullptr))) return CUSPARSE_STATUS_INVALID_VALUE;
  if (entries < 2) return CUSPARSE_STATUS_SUCCESS;
  int64_t highest = 1;
  while (highest * 2 < entries) highest *= 2;
  SparseSort sort{};
  sort.major = major, sort.minor = minor, sort.numbers = numbers;
  sort.entries = entries;
  for (int64_t p = highest; p > 0; p /= 2) {
    int64_t q = highest, r = 0, d = p;
    while (true) {
      sort.p = p, sort.r = r, sort.d = d;
      WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, CUDA_R_32F, "exchange", entries - d, &sort));
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t SortLines(cusparseHandle_t handle, int lines, int entries, cusparseMatDescr_t descriptor,
                           const int* offsets, int* indices, int* numbers) {
  if (lines < 0 || entries < 0 || descriptor == nullptr ||
      (entries > 0 && (offsets == nullptr || indices == nullptr))) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  if (entries == 0) return CUSPARSE_STATUS_SUCCESS;
  SparseSort sort{};
  sort.minor = indices, sort.numbers = numbers;
  sort.offsets = offsets;
  sort.lines = lines;
  sort.base = descriptor->base == CUSPARSE_INDEX_BASE_ONE ? 1 : 0;
  return LaunchSparse(handle, CUDA_R_32F, "sort_lines", lines, &sort);
}

// Of an m by n matrix by columns; the total is on the device, or to be brought to the host.
cusparseStatus_t CountElements(cusparseHandle_t handle, cudaDataType type, cusparseDirection_t direction, int m, int n,
                               cusparseMatDescr_t descriptor, const void* a, int leading, int* counts, int* total) {
  if (m < 0 || n < 0 || leading < std::max(m, 1) || descriptor == nullptr || total == nullptr ||
      (direction != CUSPARSE_DIRECTION_ROW && direction != CUSPARSE_DIRECTION_COLUMN)) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  if (descriptor->type != CUSPARSE_MATRIX_TYPE_GENERAL) return CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  const bool by_rows = direction == CUSPARSE_DIRECTION_ROW;
  const int lines = by_rows ? m : n, width = by_rows ? n : m;
  if (lines > 0 && (counts == nullptr || (width > 0 && a == nullptr))) return CUSPARSE_STATUS_INVALID_VALUE;
  const bool on_host = handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST;
  if (on_host && handle->result == 0) {
    const CudaError error = client::AllocateOwn(sizeof(int), &handle->result);
    if (error != CudaError::kSuccess) return SparseStatusOf(error);
  }
  const ElementCount count{{const_cast<void*>(a), by_rows ? 1 : leading, by_rows ? leading : 1},
                           lines,
                           width,
                           counts,
                           on_host ? reinterpret_cast<int*>(handle->result) : total};
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, type, "count_elements", lines, &count));
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, type, "sum_elements", 1, &count));
  return on_host ? ReadBack(handle, count.total, total, sizeof(int)) : CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t,
                                                  cusparseDnMatDescr_t, cusparseSparseToDenseAlg_t, size_t* size) {
  return WHARF_SPARSE(cusparseSparseToDense_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t sparse,
                                       cusparseDnMatDescr_t dense, cusparseSparseToDenseAlg_t, void*) {
  return WHARF_SPARSE(cusparseSparseToDense, handle, true, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckConversion(sparse, dense));
    const DenseScale zero{DenseOf(*dense, false), NumberOf(0), dense->rows, dense->columns};
    WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, dense->type, "scale_dense", dense->rows * dense->columns, &zero));
    const DenseConversion conversion = ConversionOf(*sparse, *dense, nullptr);
    const int64_t items = conversion.a.coordinates != 0 ? conversion.a.entries : conversion.a.lines;
    return LaunchSparse(handle, dense->type, "to_dense", items, &conversion);
  });
}

// The buffer has the counts of lines from the analysis on.
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t dense,
                                                  cusparseSpMatDescr_t sparse, cusparseDenseToSparseAlg_t,
                                                  size_t* size) {
  return WHARF_SPARSE(cusparseDenseToSparse_bufferSize, handle, false, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckConversion(sparse, dense));
    return StoreTo(size, (static_cast<size_t>(MatrixOf(*sparse).lines) + 1) * sizeof(int64_t));
  });
}
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t dense,
                                                cusparseSpMatDescr_t sparse, cusparseDenseToSparseAlg_t, void* buffer) {
  return WHARF_SPARSE(cusparseDenseToSparse_analysis, handle, true, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckConversion(sparse, dense));
    if (buffer == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const DenseConversion conversion = ConversionOf(*sparse, *dense, buffer);
    const int64_t lines = conversion.a.lines;
    sparse->entries = 0;
    if (lines == 0) return CUSPARSE_STATUS_SUCCESS;
    WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, dense->type, "count_dense", lines, &conversion));
    const CountSum sum{conversion.counts, lines};
    WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, dense->type, "sum_counts", 1, &sum));
    return ReadCount(handle, conversion.counts + lines, &sparse->entries);
  });
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t dense,
                                               cusparseSpMatDescr_t sparse, cusparseDenseToSparseAlg_t, void* buffer) {
  return WHARF_SPARSE(cusparseDenseToSparse_convert, handle, true, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckConversion(sparse, dense));
    if (buffer == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const DenseConversion conversion = ConversionOf(*sparse, *dense, buffer);
    return LaunchSparse(handle, dense->type, "fill_sparse", conversion.a.lines, &conversion);
  });
}

cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* offsets, int entries, int lines, int* of_entries,
                                  cusparseIndexBase_t base) {
  return WHARF_SPARSE(cusparseXcsr2coo, handle, true, [&] {
    if (lines < 0 || entries < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    const LineConversion c{IndicesOf(offsets, base), IndicesOf(of_entries, base), lines, entries};
    return LaunchSparse(handle, CUDA_R_32F, "expand_offsets", entries == 0 ? 0 : lines, &c);
  });
}
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* of_entries, int entries, int lines, int* offsets,
                                  cusparseIndexBase_t base) {
  return WHARF_SPARSE(cusparseXcoo2csr, handle, true, [&] {
    if (lines < 0 || entries < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    const LineConversion c{IndicesOf(offsets, base), IndicesOf(of_entries, base), lines, entries};
    return LaunchSparse(handle, CUDA_R_32F, "compress_lines", int64_t{lines} + 1, &c);
  });
}
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int, int, int, const void*, const int*,
                                               const int*, void*, int*, int*, cudaDataType, cusparseAction_t,
                                               cusparseIndexBase_t, cusparseCsr2CscAlg_t, size_t* size) {
  return WHARF_SPARSE(cusparseCsr2cscEx2_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int entries, const void* values,
                                    const int* offsets, const int* indices, void* to_values, int* to_offsets,
                                    int* to_indices, cudaDataType type, cusparseAction_t action,
                                    cusparseIndexBase_t base, cusparseCsr2CscAlg_t, void*) {
  return WHARF_SPARSE(cusparseCsr2cscEx2, handle, true, [&] {
    if (m < 0 || n < 0 || entries < 0 || to_offsets == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const bool with_values = action == CUSPARSE_ACTION_NUMERIC;
    if (with_values && !SparseTypeOf(type).has_value()) {
      client::ReportUnsupported("cuSPARSE's values of half precision or integers");
      return CUSPARSE_STATUS_NOT_SUPPORTED;
    }
    const SparseTransposition t{
        {IndicesOf(offsets, base), IndicesOf(indices, base), const_cast<void*>(values), m, n, entries, 0},
        {IndicesOf(to_offsets, base), IndicesOf(to_indices, base), to_values, n, m, entries, 0},
        with_values ? 1 : 0};
    return LaunchSparse(handle, type, "transpose_lines", 1, &t);
  });
}

cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* numbers) {
  return WHARF_SPARSE(cusparseCreateIdentityPermutation, handle, true, [&] {
    if (n < 0 || (n > 0 && numbers == nullptr)) return CUSPARSE_STATUS_INVALID_VALUE;
    SparseSort sort{};
    sort.numbers = numbers;
    sort.entries = n;
    return LaunchSparse(handle, CUDA_R_32F, "identity", n, &sort);
  });
}
cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*, const int*,
                                                size_t* size) {
  return WHARF_SPARSE(cusparseXcoosort_bufferSizeExt, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int, int, int entries, int* rows, int* columns,
                                       int* numbers, void*) {
  return WHARF_SPARSE(cusparseXcoosortByRow, handle, true,
                      [&] { return SortCoordinates(handle, entries, rows, columns, numbers); });
}
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int, int, int entries, int* rows, int* columns,
                                          int* numbers, void*) {
  return WHARF_SPARSE(cusparseXcoosortByColumn, handle, true,
                      [&] { return SortCoordinates(handle, entries, columns, rows, numbers); });
}
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*, const int*,
                                                size_t* size) {
  return WHARF_SPARSE(cusparseXcsrsort_bufferSizeExt, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int, int entries, const cusparseMatDescr_t descriptor,
                                  const int* offsets, int* indices, int* numbers, void*) {
  return WHARF_SPARSE(cusparseXcsrsort, handle, true,
                      [&] { return SortLines(handle, m, entries, descriptor, offsets, indices, numbers); });
}
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int, int, int, const int*, const int*,
                                                size_t* size) {
  return WHARF_SPARSE(cusparseXcscsort_bufferSizeExt, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int, int n, int entries, const cusparseMatDescr_t descriptor,
                                  const int* offsets, int* indices, int* numbers, void*) {
  return WHARF_SPARSE(cusparseXcscsort, handle, true,
                      [&] { return SortLines(handle, n, entries, descriptor, offsets, indices, numbers); });
}

#define WHARF_COUNT(letter, T, type)                                                                                \
  cusparseStatus_t cusparse##letter##nnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,      \
                                         const cusparseMatDescr_t descriptor, const T* a, int leading, int* counts, \
                                         int* total) {                                                              \
    return WHARF_SPARSE(cusparse##letter##nnz, handle, true, [&] {                                                  \
      return CountElements(handle, type, direction, m, n, descriptor, a, leading, counts, total);                   \
    });                                                                                                             \
  }
WHARF_COUNT(S, float, CUDA_R_32F)
WHARF_COUNT(D, double, CUDA_R_64F)
WHARF_COUNT(C, cuComplex, CUDA_C_32F)
WHARF_COUNT(Z, cuDoubleComplex, CUDA_C_64F)
#undef WHARF_COUNT

}  // extern "C"
