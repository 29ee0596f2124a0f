// What computes with sparse matrices and vectors.
#include <algorithm>

#include "wharf/cudashim/cusparse/sparse.h"

namespace wharf::cudashim {
namespace {

bool IsOperation(cusparseOperation_t operation) {
  return operation == CUSPARSE_OPERATION_NON_TRANSPOSE || operation == CUSPARSE_OPERATION_TRANSPOSE ||
         operation == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}
bool IsTransposed(cusparseOperation_t operation) { return operation != CUSPARSE_OPERATION_NON_TRANSPOSE; }
int IsConjugated(cusparseOperation_t operation) { return operation == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? 1 : 0; }

// All of one type; others, which the vendor may have, are refused by name.
cusparseStatus_t CheckTypes(cudaDataType type, std::initializer_list<cudaDataType> others) {
  const bool same = std::all_of(others.begin(), others.end(), [type](cudaDataType other) { return other == type; });
  if (same && SparseTypeOf(type).has_value()) return CUSPARSE_STATUS_SUCCESS;
  client::ReportUnsupported("cuSPARSE's values of mixed types");
  return CUSPARSE_STATUS_NOT_SUPPORTED;
}

// C = alpha op(A) B + beta C, C of so many rows.
cusparseStatus_t Multiply(cusparseHandle_t handle, cusparseOperation_t operation, const cusparseSpMatDescr& a,
                          SparseProduct product, int64_t rows) {
  product.a = MatrixOf(a);
  product.conjugated_a = IsConjugated(operation);
  product.crossed = IsTransposed(operation) != IsByColumns(a) ? 1 : 0;
  if (product.crossed == 0 && product.a.coordinates == 0) {
    return LaunchSparse(handle, a.type, "multiply_lines", product.a.lines * product.columns, &product);
  }
  const DenseScale scale{product.c, product.beta, rows, product.columns};
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, a.type, "scale_dense", rows * product.columns, &scale));
  const int64_t items = product.a.coordinates != 0 ? product.a.entries : product.a.lines;
  return LaunchSparse(handle, a.type, "multiply_entries", items * product.columns, &product);
}

cusparseStatus_t MultiplyVector(cusparseHandle_t handle, cusparseOperation_t operation, const void* alpha,
                                const cusparseSpMatDescr* a, const cusparseDnVecDescr* x, const void* beta,
                                const cusparseDnVecDescr* y, cudaDataType compute) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(a));
  if (x == nullptr || y == nullptr || alpha == nullptr || beta == nullptr || !IsOperation(operation)) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  WHARF_SPARSE_RETURN_IF_ERROR(CheckTypes(a->type, {x->type, y->type, compute}));
  const bool transposed = IsTransposed(operation);
  if (x->size != (transposed ? a->rows : a->columns) || y->size != (transposed ? a->columns : a->rows)) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  SparseProduct product{};
  product.b = {x->values, 1, 0};
  product.c = {y->values, 1, 0};
  product.alpha = ScalarOf(handle, compute, alpha);
  product.beta = ScalarOf(handle, compute, beta);
  product.columns = 1;
  return Multiply(handle, operation, *a, product, y->size);
}

cusparseStatus_t MultiplyMatrix(cusparseHandle_t handle, cusparseOperation_t operation_a,
                                cusparseOperation_t operation_b, const void* alpha, const cusparseSpMatDescr* a,
                                const cusparseDnMatDescr* b, const void* beta, const cusparseDnMatDescr* c,
                                cudaDataType compute) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(a));
  WHARF_SPARSE_RETURN_IF_ERROR(CheckDense(b));
  WHARF_SPARSE_RETURN_IF_ERROR(CheckDense(c));
  if (alpha == nullptr || beta == nullptr || !IsOperation(operation_a) || !IsOperation(operation_b)) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  WHARF_SPARSE_RETURN_IF_ERROR(CheckTypes(a->type, {b->type, c->type, compute}));
  const bool transposed = IsTransposed(operation_a), transposed_b = IsTransposed(operation_b);
  const int64_t rows = transposed ? a->columns : a->rows, inner = transposed ? a->rows : a->columns;
  if (c->rows != rows || (transposed_b ? b->columns : b->rows) != inner ||
      (transposed_b ? b->rows : b->columns) != c->columns) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  SparseProduct product{};
  product.b = DenseOf(*b, transposed_b);
  product.c = DenseOf(*c, false);
  product.alpha = ScalarOf(handle, compute, alpha);
  product.beta = ScalarOf(handle, compute, beta);
  product.columns = c->columns;
  product.conjugated_b = IsConjugated(operation_b);
  return Multiply(handle, operation_a, *a, product, rows);
}

cusparseStatus_t SampleProduct(cusparseHandle_t handle, cusparseOperation_t operation_a,
                               cusparseOperation_t operation_b, const void* alpha, const cusparseDnMatDescr* a,
                               const cusparseDnMatDescr* b, const void* beta, const cusparseSpMatDescr* c,
                               cudaDataType compute) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(c));
  WHARF_SPARSE_RETURN_IF_ERROR(CheckDense(a));
  WHARF_SPARSE_RETURN_IF_ERROR(CheckDense(b));
  if (alpha == nullptr || beta == nullptr || !IsOperation(operation_a) || !IsOperation(operation_b)) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  WHARF_SPARSE_RETURN_IF_ERROR(CheckTypes(c->type, {a->type, b->type, compute}));
  const bool transposed_a = IsTransposed(operation_a), transposed_b = IsTransposed(operation_b);
  const int64_t inner = transposed_a ? a->rows : a->columns;
  if ((transposed_a ? a->columns : a->rows) != c->rows || (transposed_b ? b->columns : b->rows) != inner ||
      (transposed_b ? b->rows : b->columns) != c->columns) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  const SampledProduct product{
      DenseOf(*a, transposed_a),        DenseOf(*b, transposed_b),       MatrixOf(*c),
      ScalarOf(handle, compute, alpha), ScalarOf(handle, compute, beta), inner,
      IsByColumns(*c) ? 1 : 0,          IsConjugated(operation_a),       IsConjugated(operation_b)};
  const int64_t items = product.c.coordinates != 0 ? product.c.entries : product.c.lines;
  return LaunchSparse(handle, c->type, "sample_product", items, &product);
}

// op(A) X = alpha B, of a triangle.
cusparseStatus_t Solve(cusparseHandle_t handle, cusparseOperation_t operation, const void* alpha,
                       const cusparseSpMatDescr* a, const DenseMatrix& b, const DenseMatrix& x, int64_t columns,
                       bool conjugated_b) {
  if (a->format == CUSPARSE_FORMAT_COO) {
    client::ReportUnsupported("cuSPARSE's triangular solvers of coordinates");
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  }
  const bool transposed = IsTransposed(operation), upper = a->fill == CUSPARSE_FILL_MODE_UPPER;
  const SparseSolver solver{MatrixOf(*a),
                            b,
                            x,
                            ScalarOf(handle, a->type, alpha),
                            columns,
                            transposed != IsByColumns(*a) ? 1 : 0,
                            IsConjugated(operation),
                            conjugated_b ? 1 : 0,
                            upper == transposed ? 1 : 0,
                            a->diagonal == CUSPARSE_DIAG_TYPE_UNIT ? 1 : 0};
  return LaunchSparse(handle, a->type, "solve_lines", columns, &solver);
}

cusparseStatus_t CheckSolver(cusparseOperation_t operation, const void* alpha, const cusparseSpMatDescr* a,
                             cudaDataType type_b, cudaDataType type_x, cudaDataType compute) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(a));
  if (alpha == nullptr || !IsOperation(operation) || a->rows != a->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  return CheckTypes(a->type, {type_b, type_x, compute});
}

struct VectorCall {
  const cusparseSpVecDescr* x;
  const cusparseDnVecDescr* y;
};
cusparseStatus_t CheckVectors(const VectorCall& call) {
  if (call.x == nullptr || call.y == nullptr || call.x->size != call.y->size) return CUSPARSE_STATUS_INVALID_VALUE;
  return CheckTypes(call.x->type, {call.y->type});
}
SparseVector VectorOf(const VectorCall& call) {
  SparseVector v{};
  v.indices = IndicesOf(call.x->indices, call.x->index_type, call.x->base);
  v.values = call.x->values;
  v.dense = call.y->values;
  v.entries = call.x->entries;
  return v;
}

// The result is on the device, or to be brought to the host.
cusparseStatus_t Dot(cusparseHandle_t handle, cusparseOperation_t operation, const VectorCall& call, void* result,
                     cudaDataType compute, void* buffer) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckVectors(call));
  if (result == nullptr || !IsOperation(operation)) return CUSPARSE_STATUS_INVALID_VALUE;
  WHARF_SPARSE_RETURN_IF_ERROR(CheckTypes(call.x->type, {compute}));
  const bool on_host = handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST;
  if (on_host && buffer == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  SparseVector v = VectorOf(call);
  v.conjugated = IsConjugated(operation);
  v.result = on_host ? buffer : result;
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, compute, "dot", 1, &v));
  if (!on_host) return CUSPARSE_STATUS_SUCCESS;
  return ReadBack(handle, buffer, result, device::ElementBytes(*SparseTypeOf(compute)));
}

// --- C = alpha A B ---

int64_t WorkersOf(int64_t lines, int64_t width) {
  constexpr int64_t kMost = 1024, kMarks = int64_t{8} << 20;
  return std::clamp<int64_t>(kMarks / std::max<int64_t>(width, 1), 1, std::clamp<int64_t>(lines, 1, kMost));
}

struct SquareCall {
  cusparseHandle_t handle;
  cusparseOperation_t operation_a, operation_b;
  const void* alpha;
  const cusparseSpMatDescr *a, *b;
  const void* beta;
  cusparseSpMatDescr* c;
  cudaDataType compute;
  cusparseSpGEMMDescr_t descriptor;
};

cusparseStatus_t CheckSquare(const SquareCall& call) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(call.a));
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(call.b));
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSparse(call.c));
  if (call.descriptor == nullptr || call.alpha == nullptr || call.beta == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  WHARF_SPARSE_RETURN_IF_ERROR(CheckTypes(call.a->type, {call.b->type, call.c->type, call.compute}));
  if (call.a->columns != call.b->rows || call.c->rows != call.a->rows || call.c->columns != call.b->columns) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  const bool plain = call.operation_a == CUSPARSE_OPERATION_NON_TRANSPOSE &&
                     call.operation_b == CUSPARSE_OPERATION_NON_TRANSPOSE && call.a->format == CUSPARSE_FORMAT_CSR &&
                     call.b->format == CUSPARSE_FORMAT_CSR && call.c->format == CUSPARSE_FORMAT_CSR;
  // The vendor's C has a place to add to only where it has the same pattern already.
  const bool adds = call.handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE ||
                    ScalarOf(call.handle, call.compute, call.beta).number[0] != 0 ||
                    ScalarOf(call.handle, call.compute, call.beta).number[1] != 0;
  if (plain && !adds) return CUSPARSE_STATUS_SUCCESS;
  client::ReportUnsupported("cusparseSpGEMM of what is not compressed by rows, or with a beta that is not 0");
  return CUSPARSE_STATUS_NOT_SUPPORTED;
}

SparseSquare SquareOf(const SquareCall& call) {
  SparseSquare square{};
  square.a = MatrixOf(*call.a);
  square.b = MatrixOf(*call.b);
  square.c = MatrixOf(*call.c);
  square.alpha = ScalarOf(call.handle, call.compute, call.alpha);
  square.counts = static_cast<long long*>(call.descriptor->counts);  // NOLINT
  square.marks = static_cast<long long*>(call.descriptor->marks);    // NOLINT
  square.workers = WorkersOf(call.a->rows, call.b->columns);
  return square;
}

// The first call of each pair asks for the size of a buffer, the second brings it.
cusparseStatus_t Estimate(const SquareCall& call, size_t* size, void* buffer) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSquare(call));
  if (buffer == nullptr) return StoreTo(size, (static_cast<size_t>(call.a->rows) + 1) * sizeof(int64_t));
  call.descriptor->counts = buffer;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t ComputePattern(const SquareCall& call, size_t* size, void* buffer) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSquare(call));
  const SparseSquare sizes = SquareOf(call);
  if (buffer == nullptr) {
    return StoreTo(size, static_cast<size_t>(sizes.workers * std::max<int64_t>(call.b->columns, 1)) * sizeof(int64_t));
  }
  if (call.descriptor->counts == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  call.descriptor->marks = buffer;
  call.c->entries = 0;
  if (call.a->rows == 0) return CUSPARSE_STATUS_SUCCESS;
  const SparseSquare square = SquareOf(call);
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(call.handle, call.compute, "count_products", square.workers, &square));
  const CountSum sum{square.counts, call.a->rows};
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(call.handle, call.compute, "sum_counts", 1, &sum));
  return ReadCount(call.handle, square.counts + call.a->rows, &call.c->entries);
}
cusparseStatus_t FillProducts(const SquareCall& call) {
  WHARF_SPARSE_RETURN_IF_ERROR(CheckSquare(call));
  if (call.descriptor->marks == nullptr || call.c->offsets == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  const SparseSquare square = SquareOf(call);
  return LaunchSparse(call.handle, call.compute, "fill_products", call.a->rows == 0 ? 0 : square.workers, &square);
}

// --- C = alpha A + beta B ---

struct CompressedRows {
  cusparseMatDescr_t descriptor;
  int entries;
  const void* values;
  const int *offsets, *indices;

  bool Fits() const { return descriptor != nullptr && entries >= 0 && (entries == 0 || offsets != nullptr); }
  SparseMatrix Of(int rows, int columns) const {
    return {IndicesOf(offsets, descriptor->base),
            IndicesOf(indices, descriptor->base),
            const_cast<void*>(values),
            rows,
            columns,
            entries,
            0};
  }
};

cusparseStatus_t CountSums(cusparseHandle_t handle, int rows, int columns, const CompressedRows& a,
                           const CompressedRows& b, const CompressedRows& c, int* total, void* workspace) {
  const bool on_host = handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST;
  if (rows < 0 || columns < 0 || !a.Fits() || !b.Fits() || c.descriptor == nullptr || c.offsets == nullptr ||
      total == nullptr || (on_host && workspace == nullptr)) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  SparseSum sum{a.Of(rows, columns), b.Of(rows, columns), c.Of(rows, columns), {}, {}, total};
  if (on_host) sum.total = static_cast<int*>(workspace);
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, CUDA_R_32F, "count_sums", rows, &sum));
  WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, CUDA_R_32F, "sum_offsets", 1, &sum));
  return on_host ? ReadBack(handle, workspace, total, sizeof(int)) : CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t FillSums(cusparseHandle_t handle, cudaDataType type, int rows, int columns, const void* alpha,
                          const CompressedRows& a, const void* beta, const CompressedRows& b, const CompressedRows& c) {
  if (rows < 0 || columns < 0 || !a.Fits() || !b.Fits() || c.descriptor == nullptr || alpha == nullptr ||
      beta == nullptr) {
    return CUSPARSE_STATUS_INVALID_VALUE;
  }
  const SparseSum sum{a.Of(rows, columns),           b.Of(rows, columns),          c.Of(rows, columns),
                      ScalarOf(handle, type, alpha), ScalarOf(handle, type, beta), nullptr};
  return LaunchSparse(handle, type, "fill_sums", rows, &sum);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

// --- vectors ---

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y) {
  return WHARF_SPARSE(cusparseAxpby, handle, true, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckVectors({x, y}));
    if (alpha == nullptr || beta == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    const DenseScale scale{{y->values, 1, 0}, ScalarOf(handle, y->type, beta), y->size, 1};
    WHARF_SPARSE_RETURN_IF_ERROR(LaunchSparse(handle, y->type, "scale_dense", y->size, &scale));
    SparseVector v = VectorOf({x, y});
    v.alpha = ScalarOf(handle, y->type, alpha);
    return LaunchSparse(handle, y->type, "add_vector", x->entries, &v);
  });
}
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x) {
  return WHARF_SPARSE(cusparseGather, handle, true, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckVectors({x, y}));
    const SparseVector v = VectorOf({x, y});
    return LaunchSparse(handle, x->type, "gather", x->entries, &v);
  });
}
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y) {
  return WHARF_SPARSE(cusparseScatter, handle, true, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckVectors({x, y}));
    const SparseVector v = VectorOf({x, y});
    return LaunchSparse(handle, x->type, "scatter", x->entries, &v);
  });
}
cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseConstSpVecDescr_t,
                                         cusparseConstDnVecDescr_t, const void*, cudaDataType, size_t* size) {
  return WHARF_SPARSE(cusparseSpVV_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t operation, cusparseConstSpVecDescr_t x,
                              cusparseConstDnVecDescr_t y, void* result, cudaDataType compute, void* buffer) {
  return WHARF_SPARSE(cusparseSpVV, handle, true, [&] {
    return Dot(handle, operation, {x, y}, result, compute, buffer);
  });
}

// --- matrices and vectors ---

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, size_t* size) {
  return WHARF_SPARSE(cusparseSpMV_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void*,
                                         cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void*) {
  return WHARF_SPARSE(cusparseSpMV_preprocess, handle, false, [] { return CUSPARSE_STATUS_SUCCESS; });
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t operation, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  return WHARF_SPARSE(cusparseSpMV, handle, true,
                      [&] { return MultiplyVector(handle, operation, alpha, a, x, beta, y, compute); });
}
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, size_t* size) {
  return WHARF_SPARSE(cusparseSpMM_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, void*) {
  return WHARF_SPARSE(cusparseSpMM_preprocess, handle, false, [] { return CUSPARSE_STATUS_SUCCESS; });
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t operation_a, cusparseOperation_t operation_b,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t,
                              void*) {
  return WHARF_SPARSE(cusparseSpMM, handle, true,
                      [&] { return MultiplyMatrix(handle, operation_a, operation_b, alpha, a, b, beta, c, compute); });
}
cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                                          const void*, cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t,
                                          const void*, cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t,
                                          size_t* size) {
  return WHARF_SPARSE(cusparseSDDMM_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t,
                                          const void*, cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t,
                                          const void*, cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t, void*) {
  return WHARF_SPARSE(cusparseSDDMM_preprocess, handle, false, [] { return CUSPARSE_STATUS_SUCCESS; });
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t operation_a,
                               cusparseOperation_t operation_b, const void* alpha, cusparseConstDnMatDescr_t a,
                               cusparseConstDnMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                               cudaDataType compute, cusparseSDDMMAlg_t, void*) {
  return WHARF_SPARSE(cusparseSDDMM, handle, true,
                      [&] { return SampleProduct(handle, operation_a, operation_b, alpha, a, b, beta, c, compute); });
}

// --- triangles ---

#define WHARF_SOLVER_DESCRIPTOR(kind)                                                                                  \
  cusparseStatus_t cusparse##kind##_createDescr(cusparse##kind##Descr_t* descriptor) {                                 \
    return WHARF_SPARSE_LOCAL(cusparse##kind##_createDescr, [&] {                                                      \
      return descriptor == nullptr ? CUSPARSE_STATUS_INVALID_VALUE : StoreTo(descriptor, new cusparse##kind##Descr()); \
    });                                                                                                                \
  }                                                                                                                    \
  cusparseStatus_t cusparse##kind##_destroyDescr(cusparse##kind##Descr_t descriptor) {                                 \
    return WHARF_SPARSE_LOCAL(cusparse##kind##_destroyDescr, [&] {                                                     \
      delete descriptor;                                                                                               \
      return CUSPARSE_STATUS_SUCCESS;                                                                                  \
    });                                                                                                                \
  }
WHARF_SOLVER_DESCRIPTOR(SpSV)
WHARF_SOLVER_DESCRIPTOR(SpSM)
WHARF_SOLVER_DESCRIPTOR(SpGEMM)
#undef WHARF_SOLVER_DESCRIPTOR

cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t,
                                         cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, size_t* size) {
  return WHARF_SPARSE(cusparseSpSV_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t, const void*,
                                       cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t,
                                       cudaDataType, cusparseSpSVAlg_t, cusparseSpSVDescr_t, void*) {
  return WHARF_SPARSE(cusparseSpSV_analysis, handle, false, [] { return CUSPARSE_STATUS_SUCCESS; });
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t operation, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t b, cusparseDnVecDescr_t x,
                                    cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t) {
  return WHARF_SPARSE(cusparseSpSV_solve, handle, true, [&] {
    if (b == nullptr || x == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    WHARF_SPARSE_RETURN_IF_ERROR(CheckSolver(operation, alpha, a, b->type, x->type, compute));
    if (b->size != a->rows || x->size != a->rows) return CUSPARSE_STATUS_INVALID_VALUE;
    return Solve(handle, operation, alpha, a, {b->values, 1, 0}, {x->values, 1, 0}, 1, false);
  });
}
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
                                         cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, size_t* size) {
  return WHARF_SPARSE(cusparseSpSM_bufferSize, handle, false, [&] { return StoreTo(size, kSparseWork); });
}
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                       cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
                                       cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, void*) {
  return WHARF_SPARSE(cusparseSpSM_analysis, handle, false, [] { return CUSPARSE_STATUS_SUCCESS; });
}
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t operation_a,
                                    cusparseOperation_t operation_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                    cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t x, cudaDataType compute,
                                    cusparseSpSMAlg_t, cusparseSpSMDescr_t) {
  return WHARF_SPARSE(cusparseSpSM_solve, handle, true, [&] {
    WHARF_SPARSE_RETURN_IF_ERROR(CheckDense(b));
    WHARF_SPARSE_RETURN_IF_ERROR(CheckDense(x));
    WHARF_SPARSE_RETURN_IF_ERROR(CheckSolver(operation_a, alpha, a, b->type, x->type, compute));
    const bool transposed = IsTransposed(operation_b);
    if (!IsOperation(operation_b) || x->rows != a->rows || (transposed ? b->columns : b->rows) != a->rows ||
        (transposed ? b->rows : b->columns) != x->columns) {
      return CUSPARSE_STATUS_INVALID_VALUE;
    }
    return Solve(handle, operation_a, alpha, a, DenseOf(*b, transposed), DenseOf(*x, false), x->columns,
                 IsConjugated(operation_b) != 0);
  });
}

// --- products of sparse matrices ---

cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t operation_a,
                                               cusparseOperation_t operation_b, const void* alpha,
                                               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                               cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descriptor, size_t* size,
                                               void* buffer) {
  return WHARF_SPARSE(cusparseSpGEMM_workEstimation, handle, false, [&] {
    return Estimate({handle, operation_a, operation_b, alpha, a, b, beta, c, compute, descriptor}, size, buffer);
  });
}
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t operation_a,
                                        cusparseOperation_t operation_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                        cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                                        cudaDataType compute, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descriptor,
                                        size_t* size, void* buffer) {
  return WHARF_SPARSE(cusparseSpGEMM_compute, handle, true, [&] {
    return ComputePattern({handle, operation_a, operation_b, alpha, a, b, beta, c, compute, descriptor}, size, buffer);
  });
}
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t operation_a,
                                     cusparseOperation_t operation_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                     cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                                     cudaDataType compute, cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t descriptor) {
  return WHARF_SPARSE(cusparseSpGEMM_copy, handle, true, [&] {
    return FillProducts({handle, operation_a, operation_b, alpha, a, b, beta, c, compute, descriptor});
  });
}

// --- sums of sparse matrices ---

cusparseStatus_t cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n, const cusparseMatDescr_t a, int entries_a,
                                      const int* offsets_a, const int* indices_a, const cusparseMatDescr_t b,
                                      int entries_b, const int* offsets_b, const int* indices_b,
                                      const cusparseMatDescr_t c, int* offsets_c, int* total, void* workspace) {
  return WHARF_SPARSE(cusparseXcsrgeam2Nnz, handle, true, [&] {
    return CountSums(handle, m, n, {a, entries_a, nullptr, offsets_a, indices_a},
                     {b, entries_b, nullptr, offsets_b, indices_b}, {c, 0, nullptr, offsets_c, nullptr}, total,
                     workspace);
  });
}
#define WHARF_SUM(letter, T, type)                                                                                   \
  cusparseStatus_t cusparse##letter##csrgeam2_bufferSizeExt(                                                         \
      cusparseHandle_t handle, int, int, const T*, const cusparseMatDescr_t, int, const T*, const int*, const int*,  \
      const T*, const cusparseMatDescr_t, int, const T*, const int*, const int*, const cusparseMatDescr_t, const T*, \
      const int*, const int*, size_t* size) {                                                                        \
    return WHARF_SPARSE(cusparse##letter##csrgeam2_bufferSizeExt, handle, false,                                     \
                        [&] { return StoreTo(size, kSparseWork); });                                                 \
  }                                                                                                                  \
  cusparseStatus_t cusparse##letter##csrgeam2(                                                                       \
      cusparseHandle_t handle, int m, int n, const T* alpha, const cusparseMatDescr_t a, int entries_a,              \
      const T* values_a, const int* offsets_a, const int* indices_a, const T* beta, const cusparseMatDescr_t b,      \
      int entries_b, const T* values_b, const int* offsets_b, const int* indices_b, const cusparseMatDescr_t c,      \
      T* values_c, int* offsets_c, int* indices_c, void*) {                                                          \
    return WHARF_SPARSE(cusparse##letter##csrgeam2, handle, true, [&] {                                              \
      return FillSums(handle, type, m, n, alpha, {a, entries_a, values_a, offsets_a, indices_a}, beta,               \
                      {b, entries_b, values_b, offsets_b, indices_b}, {c, 0, values_c, offsets_c, indices_c});       \
    });                                                                                                              \
  }
WHARF_SUM(S, float, CUDA_R_32F)
WHARF_SUM(D, double, CUDA_R_64F)
WHARF_SUM(C, cuComplex, CUDA_C_32F)
WHARF_SUM(Z, cuDoubleComplex, CUDA_C_64F)
#undef WHARF_SUM

}  // extern "C"
