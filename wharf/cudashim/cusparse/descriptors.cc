// Descriptors of vectors and matrices. They live in the client. Those of what is only read are the same.
#include <algorithm>

#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {

std::optional<ElementType> SparseTypeOf(cudaDataType type) {
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

SparseMatrix MatrixOf(const cusparseSpMatDescr& a) {
  const bool by_columns = IsByColumns(a);
  return {IndicesOf(a.offsets, a.offset_type, a.base),
          IndicesOf(a.indices, a.index_type, a.base),
          a.values,
          by_columns ? a.columns : a.rows,
          by_columns ? a.rows : a.columns,
          a.entries,
          a.format == CUSPARSE_FORMAT_COO ? 1 : 0};
}

DenseMatrix DenseOf(const cusparseDnMatDescr& m, bool transposed) {
  const bool by_columns = (m.order == CUSPARSE_ORDER_COL) != transposed;
  return {m.values, by_columns ? 1 : m.leading, by_columns ? m.leading : 1};
}

cusparseStatus_t CheckSparse(const cusparseSpMatDescr* a) {
  if (a == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!SparseTypeOf(a->type).has_value() || a->batch > 1) {
    client::ReportUnsupported(a->batch > 1 ? "cuSPARSE's batches" : "cuSPARSE's values of half precision or integers");
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  }
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t CheckDense(const cusparseDnMatDescr* m) {
  if (m == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!SparseTypeOf(m->type).has_value() || m->batch > 1) {
    client::ReportUnsupported(m->batch > 1 ? "cuSPARSE's batches" : "cuSPARSE's values of half precision or integers");
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  }
  return CUSPARSE_STATUS_SUCCESS;
}

SparseScalar ScalarOf(cusparseHandle_t handle, cudaDataType type, const void* scalar) {
  if (handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE) return {scalar, {}};
  switch (type) {
    case CUDA_R_32F:
      return {nullptr, {*static_cast<const float*>(scalar), 0}};
    case CUDA_R_64F:
      return {nullptr, {*static_cast<const double*>(scalar), 0}};
    case CUDA_C_32F:
      return {nullptr, {static_cast<const float*>(scalar)[0], static_cast<const float*>(scalar)[1]}};
    default:
      return {nullptr, {static_cast<const double*>(scalar)[0], static_cast<const double*>(scalar)[1]}};
  }
}

namespace {

bool IsIndex(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }
bool IsBase(cusparseIndexBase_t base) { return base == CUSPARSE_INDEX_BASE_ZERO || base == CUSPARSE_INDEX_BASE_ONE; }

// A descriptor as it is, where it is to go.
template <typename Place, typename T>
cusparseStatus_t Make(Call call, bool fits, Place* place, const T& made) {
  return AnswerSparse(call, false, [&] {
    if (!fits || place == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    *place = new T(made);
    return CUSPARSE_STATUS_SUCCESS;
  });
}
template <typename T, typename Body>
cusparseStatus_t With(Call call, T* descriptor, Body&& body) {
  return AnswerSparse(call, false, [&] {
    if (descriptor == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    return body();
  });
}
template <typename T>
cusparseStatus_t Destroy(Call call, const T* descriptor) {
  return AnswerSparse(call, false, [&] {
    delete descriptor;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
// Each in its place; all must be there.
template <typename... Pair>
cusparseStatus_t StoreAll(Pair... pairs) {
  if (((pairs.first == nullptr) || ...)) return CUSPARSE_STATUS_INVALID_VALUE;
  ((*pairs.first = pairs.second), ...);
  return CUSPARSE_STATUS_SUCCESS;
}
template <typename T, typename V>
auto In(T* place, V value) {
  return std::pair<T*, T>(place, value);
}

cusparseSpMatDescr Compressed(cusparseFormat_t format, int64_t rows, int64_t columns, int64_t entries,
                              const void* offsets, const void* indices, const void* values,
                              cusparseIndexType_t offset_type, cusparseIndexType_t index_type, cusparseIndexBase_t base,
                              cudaDataType type) {
  return {format,
          rows,
          columns,
          entries,
          const_cast<void*>(offsets),
          const_cast<void*>(indices),
          const_cast<void*>(values),
          offset_type,
          index_type,
          base,
          type};
}
bool Fits(const cusparseSpMatDescr& a) {
  return a.rows >= 0 && a.columns >= 0 && a.entries >= 0 && IsIndex(a.offset_type) && IsIndex(a.index_type) &&
         IsBase(a.base) && (a.entries == 0 || a.format == CUSPARSE_FORMAT_COO || a.offsets != nullptr);
}
bool Fits(const cusparseDnMatDescr& m) {
  const bool order = m.order == CUSPARSE_ORDER_COL || m.order == CUSPARSE_ORDER_ROW;
  return m.rows >= 0 && m.columns >= 0 && order && m.leading >= (m.order == CUSPARSE_ORDER_COL ? m.rows : m.columns);
}

template <typename Pointer>
cusparseStatus_t GetSparse(Call call, const cusparseSpMatDescr* a, cusparseFormat_t format, int64_t* rows,
                           int64_t* columns, int64_t* entries, Pointer** offsets, Pointer** indices, Pointer** values,
                           cusparseIndexType_t* offset_type, cusparseIndexType_t* index_type, cusparseIndexBase_t* base,
                           cudaDataType* type) {
  return With(call, a, [&] {
    if (a->format != format) return CUSPARSE_STATUS_INVALID_VALUE;
    return StoreAll(In(rows, a->rows), In(columns, a->columns), In(entries, a->entries), In(offsets, a->offsets),
                    In(indices, a->indices), In(values, a->values), In(offset_type, a->offset_type),
                    In(index_type, a->index_type), In(base, a->base), In(type, a->type));
  });
}
cusparseStatus_t SetPointers(Call call, cusparseSpMatDescr* a, cusparseFormat_t format, void* offsets, void* indices,
                             void* values) {
  return With(call, a, [&] {
    if (a->format != format) return CUSPARSE_STATUS_INVALID_VALUE;
    a->offsets = offsets, a->indices = indices, a->values = values;
    return CUSPARSE_STATUS_SUCCESS;
  });
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

// --- sparse and dense vectors ---

#define WHARF_VECTORS(Const, constant)                                                                                 \
  cusparseStatus_t cusparseCreate##Const##SpVec(                                                                       \
      cusparse##Const##SpVecDescr_t* x, int64_t size, int64_t entries, constant void* indices, constant void* values,  \
      cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) {                                   \
    const bool fits = size >= 0 && entries >= 0 && entries <= size && IsIndex(index_type) && IsBase(base);             \
    return Make(Call::k_cusparseCreate##Const##SpVec, fits, x,                                                         \
                cusparseSpVecDescr{size, entries, const_cast<void*>(indices), const_cast<void*>(values), index_type,   \
                                   base, type});                                                                       \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##SpVecGet(                                                                          \
      cusparse##Const##SpVecDescr_t x, int64_t* size, int64_t* entries, constant void** indices,                       \
      constant void** values, cusparseIndexType_t* index_type, cusparseIndexBase_t* base, cudaDataType* type) {        \
    return With(Call::k_cusparse##Const##SpVecGet, x, [&] {                                                            \
      return StoreAll(In(size, x->size), In(entries, x->entries), In(indices, x->indices), In(values, x->values),      \
                      In(index_type, x->index_type), In(base, x->base), In(type, x->type));                            \
    });                                                                                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##SpVecGetValues(cusparse##Const##SpVecDescr_t x, constant void** values) {          \
    return With(Call::k_cusparse##Const##SpVecGetValues, x, [&] { return StoreAll(In(values, x->values)); });          \
  }                                                                                                                    \
  cusparseStatus_t cusparseCreate##Const##DnVec(cusparse##Const##DnVecDescr_t* x, int64_t size, constant void* values, \
                                                cudaDataType type) {                                                   \
    return Make(Call::k_cusparseCreate##Const##DnVec, size >= 0, x,                                                    \
                cusparseDnVecDescr{size, const_cast<void*>(values), type});                                            \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##DnVecGet(cusparse##Const##DnVecDescr_t x, int64_t* size, constant void** values,   \
                                             cudaDataType* type) {                                                     \
    return With(Call::k_cusparse##Const##DnVecGet, x,                                                                  \
                [&] { return StoreAll(In(size, x->size), In(values, x->values), In(type, x->type)); });                \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##DnVecGetValues(cusparse##Const##DnVecDescr_t x, constant void** values) {          \
    return With(Call::k_cusparse##Const##DnVecGetValues, x, [&] { return StoreAll(In(values, x->values)); });          \
  }                                                                                                                    \
  cusparseStatus_t cusparseCreate##Const##DnMat(cusparse##Const##DnMatDescr_t* m, int64_t rows, int64_t columns,       \
                                                int64_t leading, constant void* values, cudaDataType type,             \
                                                cusparseOrder_t order) {                                               \
    const cusparseDnMatDescr made{rows, columns, leading, const_cast<void*>(values), type, order};                     \
    return Make(Call::k_cusparseCreate##Const##DnMat, Fits(made), m, made);                                            \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##DnMatGet(cusparse##Const##DnMatDescr_t m, int64_t* rows, int64_t* columns,         \
                                             int64_t* leading, constant void** values, cudaDataType* type,             \
                                             cusparseOrder_t* order) {                                                 \
    return With(Call::k_cusparse##Const##DnMatGet, m, [&] {                                                            \
      return StoreAll(In(rows, m->rows), In(columns, m->columns), In(leading, m->leading), In(values, m->values),      \
                      In(type, m->type), In(order, m->order));                                                         \
    });                                                                                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##DnMatGetValues(cusparse##Const##DnMatDescr_t m, constant void** values) {          \
    return With(Call::k_cusparse##Const##DnMatGetValues, m, [&] { return StoreAll(In(values, m->values)); });          \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##SpMatGetValues(cusparse##Const##SpMatDescr_t a, constant void** values) {          \
    return With(Call::k_cusparse##Const##SpMatGetValues, a, [&] { return StoreAll(In(values, a->values)); });          \
  }                                                                                                                    \
  cusparseStatus_t cusparseCreate##Const##Csr(                                                                         \
      cusparse##Const##SpMatDescr_t* a, int64_t rows, int64_t columns, int64_t entries, constant void* offsets,        \
      constant void* indices, constant void* values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type,  \
      cusparseIndexBase_t base, cudaDataType type) {                                                                   \
    const cusparseSpMatDescr made = Compressed(CUSPARSE_FORMAT_CSR, rows, columns, entries, offsets, indices, values,  \
                                               offset_type, index_type, base, type);                                   \
    return Make(Call::k_cusparseCreate##Const##Csr, Fits(made), a, made);                                              \
  }                                                                                                                    \
  cusparseStatus_t cusparseCreate##Const##Csc(                                                                         \
      cusparse##Const##SpMatDescr_t* a, int64_t rows, int64_t columns, int64_t entries, constant void* offsets,        \
      constant void* indices, constant void* values, cusparseIndexType_t offset_type, cusparseIndexType_t index_type,  \
      cusparseIndexBase_t base, cudaDataType type) {                                                                   \
    const cusparseSpMatDescr made = Compressed(CUSPARSE_FORMAT_CSC, rows, columns, entries, offsets, indices, values,  \
                                               offset_type, index_type, base, type);                                   \
    return Make(Call::k_cusparseCreate##Const##Csc, Fits(made), a, made);                                              \
  }                                                                                                                    \
  cusparseStatus_t cusparseCreate##Const##Coo(cusparse##Const##SpMatDescr_t* a, int64_t rows, int64_t columns,         \
                                              int64_t entries, constant void* row_indices, constant void* indices,     \
                                              constant void* values, cusparseIndexType_t index_type,                   \
                                              cusparseIndexBase_t base, cudaDataType type) {                           \
    const cusparseSpMatDescr made = Compressed(CUSPARSE_FORMAT_COO, rows, columns, entries, row_indices, indices,      \
                                               values, index_type, index_type, base, type);                            \
    return Make(Call::k_cusparseCreate##Const##Coo, Fits(made), a, made);                                              \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##CsrGet(                                                                            \
      cusparse##Const##SpMatDescr_t a, int64_t* rows, int64_t* columns, int64_t* entries, constant void** offsets,     \
      constant void** indices, constant void** values, cusparseIndexType_t* offset_type,                               \
      cusparseIndexType_t* index_type, cusparseIndexBase_t* base, cudaDataType* type) {                                \
    return GetSparse(Call::k_cusparse##Const##CsrGet, a, CUSPARSE_FORMAT_CSR, rows, columns, entries, offsets,         \
                     indices, values, offset_type, index_type, base, type);                                            \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##CscGet(                                                                            \
      cusparse##Const##SpMatDescr_t a, int64_t* rows, int64_t* columns, int64_t* entries, constant void** offsets,     \
      constant void** indices, constant void** values, cusparseIndexType_t* offset_type,                               \
      cusparseIndexType_t* index_type, cusparseIndexBase_t* base, cudaDataType* type) {                                \
    return GetSparse(Call::k_cusparse##Const##CscGet, a, CUSPARSE_FORMAT_CSC, rows, columns, entries, offsets,         \
                     indices, values, offset_type, index_type, base, type);                                            \
  }                                                                                                                    \
  cusparseStatus_t cusparse##Const##CooGet(cusparse##Const##SpMatDescr_t a, int64_t* rows, int64_t* columns,           \
                                           int64_t* entries, constant void** row_indices, constant void** indices,     \
                                           constant void** values, cusparseIndexType_t* index_type,                    \
                                           cusparseIndexBase_t* base, cudaDataType* type) {                            \
    return GetSparse(Call::k_cusparse##Const##CooGet, a, CUSPARSE_FORMAT_COO, rows, columns, entries, row_indices,     \
                     indices, values, index_type, index_type, base, type);                                             \
  }
WHARF_VECTORS(, )
WHARF_VECTORS(Const, const)
#undef WHARF_VECTORS

cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t x) { return Destroy(Call::k_cusparseDestroySpVec, x); }
cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t x, cusparseIndexBase_t* base) {
  return With(Call::k_cusparseSpVecGetIndexBase, x, [&] { return StoreTo(base, x->base); });
}
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t x, void* values) {
  return With(Call::k_cusparseSpVecSetValues, x, [&] { return StoreTo(&x->values, values); });
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t x) { return Destroy(Call::k_cusparseDestroyDnVec, x); }
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t x, void* values) {
  return With(Call::k_cusparseDnVecSetValues, x, [&] { return StoreTo(&x->values, values); });
}

// --- matrices ---

cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t m) { return Destroy(Call::k_cusparseDestroyDnMat, m); }
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t m, void* values) {
  return With(Call::k_cusparseDnMatSetValues, m, [&] { return StoreTo(&m->values, values); });
}
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t m, int batch, int64_t stride) {
  return With(Call::k_cusparseDnMatSetStridedBatch, m, [&] {
    if (batch < 1 || stride < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    m->batch = batch, m->stride = stride;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t m, int* batch, int64_t* stride) {
  return With(Call::k_cusparseDnMatGetStridedBatch, m,
              [&] { return StoreAll(In(batch, m->batch), In(stride, m->stride)); });
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t a) { return Destroy(Call::k_cusparseDestroySpMat, a); }
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t a, cusparseFormat_t* format) {
  return With(Call::k_cusparseSpMatGetFormat, a, [&] { return StoreTo(format, a->format); });
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t a, cusparseIndexBase_t* base) {
  return With(Call::k_cusparseSpMatGetIndexBase, a, [&] { return StoreTo(base, a->base); });
}
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t a, void* values) {
  return With(Call::k_cusparseSpMatSetValues, a, [&] { return StoreTo(&a->values, values); });
}
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t a, int64_t* rows, int64_t* columns, int64_t* entries) {
  return With(Call::k_cusparseSpMatGetSize, a,
              [&] { return StoreAll(In(rows, a->rows), In(columns, a->columns), In(entries, a->entries)); });
}
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t a, int* batch) {
  return With(Call::k_cusparseSpMatGetStridedBatch, a, [&] { return StoreTo(batch, a->batch); });
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t a, int batch, int64_t stride) {
  return With(Call::k_cusparseCooSetStridedBatch, a, [&] {
    if (a->format != CUSPARSE_FORMAT_COO || batch < 1 || stride < 0) return CUSPARSE_STATUS_INVALID_VALUE;
    a->batch = batch, a->offsets_stride = a->values_stride = stride;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t a, int batch, int64_t offsets, int64_t values) {
  return With(Call::k_cusparseCsrSetStridedBatch, a, [&] {
    if (a->format != CUSPARSE_FORMAT_CSR || batch < 1 || offsets < 0 || values < 0) {
      return CUSPARSE_STATUS_INVALID_VALUE;
    }
    a->batch = batch, a->offsets_stride = offsets, a->values_stride = values;
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t a, cusparseSpMatAttribute_t attribute, void* data,
                                           size_t size) {
  return With(Call::k_cusparseSpMatGetAttribute, a, [&] {
    if (data == nullptr || size < sizeof(int)) return CUSPARSE_STATUS_INVALID_VALUE;
    switch (attribute) {
      case CUSPARSE_SPMAT_FILL_MODE:
        return StoreTo(static_cast<cusparseFillMode_t*>(data), a->fill);
      case CUSPARSE_SPMAT_DIAG_TYPE:
        return StoreTo(static_cast<cusparseDiagType_t*>(data), a->diagonal);
    }
    return CUSPARSE_STATUS_INVALID_VALUE;
  });
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t a, cusparseSpMatAttribute_t attribute, void* data,
                                           size_t size) {
  return With(Call::k_cusparseSpMatSetAttribute, a, [&] {
    if (data == nullptr || size < sizeof(int)) return CUSPARSE_STATUS_INVALID_VALUE;
    switch (attribute) {
      case CUSPARSE_SPMAT_FILL_MODE:
        return StoreTo(&a->fill, *static_cast<cusparseFillMode_t*>(data));
      case CUSPARSE_SPMAT_DIAG_TYPE:
        return StoreTo(&a->diagonal, *static_cast<cusparseDiagType_t*>(data));
    }
    return CUSPARSE_STATUS_INVALID_VALUE;
  });
}
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t a, void* offsets, void* indices, void* values) {
  return SetPointers(Call::k_cusparseCsrSetPointers, a, CUSPARSE_FORMAT_CSR, offsets, indices, values);
}
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t a, void* offsets, void* indices, void* values) {
  return SetPointers(Call::k_cusparseCscSetPointers, a, CUSPARSE_FORMAT_CSC, offsets, indices, values);
}
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t a, void* rows, void* columns, void* values) {
  return SetPointers(Call::k_cusparseCooSetPointers, a, CUSPARSE_FORMAT_COO, rows, columns, values);
}

}  // extern "C"
