// cuSPARSE: products, triangular solvers and conversions of random sparse matrices against dense ones, in all four
// types of values, both sizes of indices and both bases; sorting; what wrong calls return.
#include <tuple>

#include "tests/cuda/cusparse_harness.h"

// By rows.
struct Dense {
  int rows, columns;
  std::vector<Value> values;
  Dense(int r, int c) : rows(r), columns(c), values(size_t(r) * c) {}
  Value& operator()(int i, int j) { return values[size_t(i) * columns + j]; }
  Value operator()(int i, int j) const { return values[size_t(i) * columns + j]; }
};
static Dense Op(const Dense& a, cusparseOperation_t operation) {
  if (operation == CUSPARSE_OPERATION_NON_TRANSPOSE) return a;
  Dense t(a.columns, a.rows);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j)
      t(j, i) = operation == CUSPARSE_OPERATION_TRANSPOSE ? a(i, j) : std::conj(a(i, j));
  return t;
}
static Dense Times(const Dense& a, const Dense& b) {
  Dense c(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i)
    for (int k = 0; k < a.columns; ++k)
      for (int j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
static double Difference(const Dense& a, const Dense& b) {
  if (a.rows != b.rows || a.columns != b.columns) return 1e9;
  double most = 0;
  for (size_t i = 0; i < a.values.size(); ++i) most = std::max(most, std::abs(a.values[i] - b.values[i]));
  return most;
}

constexpr cusparseOperation_t kOperations[] = {CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE,
                                               CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE};
constexpr cusparseFormat_t kFormats[] = {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO};

template <typename T>
struct DenseOnDevice {
  harness::Buffer<T> data;
  int rows, columns;
  cusparseOrder_t order;
  int leading;
  cusparseDnMatDescr_t descriptor;

  DenseOnDevice(const Dense& a, cusparseOrder_t o)
      : data(size_t(a.rows + 1) * (a.columns + 1)),
        rows(a.rows),
        columns(a.columns),
        order(o),
        leading((o == CUSPARSE_ORDER_COL ? a.rows : a.columns) + 1) {
    std::vector<T> all(data.size());
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) all[Place(i, j)] = Traits<T>::Make(a(i, j));
    data.Set(all);
    SPARSE_OK(cusparseCreateDnMat(&descriptor, rows, columns, leading, data.get(), Traits<T>::kType, order));
  }
  ~DenseOnDevice() { SPARSE_OK(cusparseDestroyDnMat(descriptor)); }
  size_t Place(int i, int j) const {
    return order == CUSPARSE_ORDER_COL ? i + size_t(j) * leading : j + size_t(i) * leading;
  }
  Dense Get() const {
    std::vector<T> all(data.size());
    CUDA_OK(cudaMemcpy(all.data(), data.get(), all.size() * sizeof(T), cudaMemcpyDeviceToHost));
    Dense a(rows, columns);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) a(i, j) = Traits<T>::Get(all[Place(i, j)]);
    return a;
  }
};

// A sparse matrix of the entries that are not 0.
template <typename T>
struct SparseOnDevice {
  std::vector<int64_t> offsets, indices;
  std::vector<T> values;
  harness::Buffer<char> offset_data, index_data;
  harness::Buffer<T> value_data;
  cusparseSpMatDescr_t descriptor;

  template <typename I>
  static std::vector<char> Bytes(const std::vector<int64_t>& numbers) {
    std::vector<char> bytes(numbers.size() * sizeof(I));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const I number = I(numbers[i]);
      std::memcpy(bytes.data() + i * sizeof(I), &number, sizeof(I));
    }
    return bytes;
  }
  SparseOnDevice(const Dense& a, cusparseFormat_t format, bool wide = false, bool from_one = false)
      : offset_data(8 * size_t(a.rows + a.columns + 1 + a.rows * a.columns)),
        index_data(8 * size_t(a.rows) * a.columns + 8),
        value_data(size_t(a.rows) * a.columns + 1) {
    const bool by_columns = format == CUSPARSE_FORMAT_CSC;
    const int lines = by_columns ? a.columns : a.rows, width = by_columns ? a.rows : a.columns, base = from_one ? 1 : 0;
    if (format != CUSPARSE_FORMAT_COO) offsets.push_back(base);
    for (int line = 0; line < lines; ++line) {
      for (int i = 0; i < width; ++i) {
        const Value value = by_columns ? a(i, line) : a(line, i);
        if (value == 0.0) continue;
        if (format == CUSPARSE_FORMAT_COO) offsets.push_back(line + base);
        indices.push_back(i + base);
        values.push_back(Traits<T>::Make(value));
      }
      if (format != CUSPARSE_FORMAT_COO) offsets.push_back(int64_t(indices.size()) + base);
    }
    const auto copy = [&](const harness::Buffer<char>& to, const std::vector<int64_t>& numbers) {
      const std::vector<char> bytes = wide ? Bytes<int64_t>(numbers) : Bytes<int32_t>(numbers);
      CUDA_OK(cudaMemcpy(to.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    };
    copy(offset_data, offsets), copy(index_data, indices);
    CUDA_OK(cudaMemcpy(value_data.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    const auto type = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    const auto index_base = from_one ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO;
    if (format == CUSPARSE_FORMAT_COO) {
      SPARSE_OK(cusparseCreateCoo(&descriptor, a.rows, a.columns, int64_t(values.size()), offset_data.get(),
                                  index_data.get(), value_data.get(), type, index_base, Traits<T>::kType));
    } else {
      const auto create = by_columns ? cusparseCreateCsc : cusparseCreateCsr;
      SPARSE_OK(create(&descriptor, a.rows, a.columns, int64_t(values.size()), offset_data.get(), index_data.get(),
                       value_data.get(), type, type, index_base, Traits<T>::kType));
    }
  }
  ~SparseOnDevice() { SPARSE_OK(cusparseDestroySpMat(descriptor)); }
};

template <typename T>
struct Add;
#define ADD(letter, T)                                                     \
  template <>                                                              \
  struct Add<T> {                                                          \
    static constexpr auto Size = cusparse##letter##csrgeam2_bufferSizeExt; \
    static constexpr auto Run = cusparse##letter##csrgeam2;                \
  };
ADD(S, float)
ADD(D, double)
ADD(C, float2)
ADD(Z, double2)

template <typename T>
struct Checks {
  static constexpr cudaDataType kType = Traits<T>::kType;
  const bool wide_values = kType == CUDA_R_64F || kType == CUDA_C_64F;
  const bool is_complex = kType == CUDA_C_32F || kType == CUDA_C_64F;
  const double tolerance = wide_values ? 1e-12 : 1e-4;
  harness::Random random{5};
  const T alpha = Traits<T>::Make({1.5, 0.5}), beta = Traits<T>::Make({-0.5, 0.25}), zero = Traits<T>::Make(0),
          one = Traits<T>::Make(1);

  Value Any() {
    const double imaginary = is_complex ? random.Uniform() * 2 - 1 : 0;  // first: a call's arguments have no order
    const Value v(random.Uniform() * 2 - 1, imaginary);
    return Traits<T>::Get(Traits<T>::Make(v));
  }
  Dense Random(int rows, int columns, double density = 1) {
    Dense a(rows, columns);
    for (Value& v : a.values)
      if (random.Uniform() < density) v = Any();
    return a;
  }
  Dense Combined(const Dense& product, const Dense& c) {
    Dense sum = c;
    for (size_t i = 0; i < sum.values.size(); ++i)
      sum.values[i] = Traits<T>::Get(alpha) * product.values[i] + Traits<T>::Get(beta) * c.values[i];
    return sum;
  }

  // Real numbers have no conjugates.
  std::vector<cusparseOperation_t> Operations() const {
    if (is_complex) return {kOperations, std::end(kOperations)};
    return {CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE};
  }
  static Dense InFull(cusparseSpMatDescr_t sparse, int rows, int columns, cusparseOrder_t order) {
    DenseOnDevice<T> full(Dense(rows, columns), order);
    size_t size = 0;
    SPARSE_OK(
        cusparseSparseToDense_bufferSize(handle, sparse, full.descriptor, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &size));
    harness::Buffer<char> buffer(size);
    SPARSE_OK(cusparseSparseToDense(handle, sparse, full.descriptor, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, buffer.get()));
    return full.Get();
  }

  void Products() {
    const Dense a = Random(13, 9, 0.3);
    for (const cusparseFormat_t format : kFormats) {
      for (const cusparseOperation_t operation : Operations()) {
        const Dense op = Op(a, operation);
        for (const bool wide : {false, true}) {
          SparseOnDevice<T> sparse(a, format, wide, wide);
          // A vector.
          const Dense x = Random(op.columns, 1), y = Random(op.rows, 1);
          DenseOnDevice<T> dx(x, CUSPARSE_ORDER_COL), dy(y, CUSPARSE_ORDER_COL);
          cusparseDnVecDescr_t vx, vy;
          SPARSE_OK(cusparseCreateDnVec(&vx, op.columns, dx.data.get(), kType));
          SPARSE_OK(cusparseCreateDnVec(&vy, op.rows, dy.data.get(), kType));
          size_t size = 0;
          SPARSE_OK(cusparseSpMV_bufferSize(handle, operation, &alpha, sparse.descriptor, vx, &beta, vy, kType,
                                            CUSPARSE_SPMV_ALG_DEFAULT, &size));
          harness::Buffer<char> buffer(size);
          SPARSE_OK(cusparseSpMV(handle, operation, &alpha, sparse.descriptor, vx, &beta, vy, kType,
                                 CUSPARSE_SPMV_ALG_DEFAULT, buffer.get()));
          EXPECT(Difference(dy.Get(), Combined(Times(op, x), y)) < tolerance);
          SPARSE_OK(cusparseDestroyDnVec(vx));
          SPARSE_OK(cusparseDestroyDnVec(vy));
        }
        // Matrices.
        SparseOnDevice<T> sparse(a, format);
        for (const cusparseOperation_t operation_b : Operations()) {
          const Dense inner = Random(op.columns, 6), c = Random(op.rows, 6);
          const Dense b = Op(inner, operation_b);
          DenseOnDevice<T> db(b, CUSPARSE_ORDER_ROW), dc(c, CUSPARSE_ORDER_COL);
          size_t size = 0;
          SPARSE_OK(cusparseSpMM_bufferSize(handle, operation, operation_b, &alpha, sparse.descriptor, db.descriptor,
                                            &beta, dc.descriptor, kType, CUSPARSE_SPMM_ALG_DEFAULT, &size));
          harness::Buffer<char> buffer(size);
          SPARSE_OK(cusparseSpMM(handle, operation, operation_b, &alpha, sparse.descriptor, db.descriptor, &beta,
                                 dc.descriptor, kType, CUSPARSE_SPMM_ALG_DEFAULT, buffer.get()));
          EXPECT(Difference(dc.Get(), Combined(Times(op, inner), c)) < tolerance);
        }
      }
    }
  }

  void Sampled() {
    const Dense pattern = Random(8, 7, 0.4), a = Random(8, 5), b = Random(5, 7);
    SparseOnDevice<T> c(pattern, CUSPARSE_FORMAT_CSR);
    DenseOnDevice<T> da(a, CUSPARSE_ORDER_COL), db(b, CUSPARSE_ORDER_ROW);
    const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t size = 0;
    SPARSE_OK(cusparseSDDMM_bufferSize(handle, plain, plain, &alpha, da.descriptor, db.descriptor, &beta, c.descriptor,
                                       kType, CUSPARSE_SDDMM_ALG_DEFAULT, &size));
    harness::Buffer<char> buffer(size);
    SPARSE_OK(cusparseSDDMM(handle, plain, plain, &alpha, da.descriptor, db.descriptor, &beta, c.descriptor, kType,
                            CUSPARSE_SDDMM_ALG_DEFAULT, buffer.get()));
    Dense want = Combined(Times(a, b), pattern);
    for (size_t i = 0; i < want.values.size(); ++i)
      if (pattern.values[i] == 0.0) want.values[i] = 0;
    EXPECT(Difference(InFull(c.descriptor, 8, 7, CUSPARSE_ORDER_ROW), want) < tolerance);
  }

  void Triangles() {
    const int n = 11;
    Dense a = Random(n, n, 0.4);
    for (int i = 0; i < n; ++i) a(i, i) = 3.0 + Any();
    for (const cusparseOperation_t operation : Operations()) {
      for (const bool upper : {false, true}) {
        for (const bool unit : {false, true}) {
          Dense triangle = a;
          for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j)
              if (upper ? i > j : i < j) triangle(i, j) = 0;
            if (unit) triangle(i, i) = 1;
          }
          SparseOnDevice<T> sparse(a, CUSPARSE_FORMAT_CSR);
          cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
          cusparseDiagType_t diagonal = unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
          SPARSE_OK(cusparseSpMatSetAttribute(sparse.descriptor, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
          SPARSE_OK(cusparseSpMatSetAttribute(sparse.descriptor, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
          const Dense b = Random(n, 3);
          DenseOnDevice<T> db(b, CUSPARSE_ORDER_COL), dx(Dense(n, 3), CUSPARSE_ORDER_ROW);
          cusparseSpSMDescr_t how;
          SPARSE_OK(cusparseSpSM_createDescr(&how));
          size_t size = 0;
          const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
          SPARSE_OK(cusparseSpSM_bufferSize(handle, operation, plain, &one, sparse.descriptor, db.descriptor,
                                            dx.descriptor, kType, CUSPARSE_SPSM_ALG_DEFAULT, how, &size));
          harness::Buffer<char> buffer(size);
          SPARSE_OK(cusparseSpSM_analysis(handle, operation, plain, &one, sparse.descriptor, db.descriptor,
                                          dx.descriptor, kType, CUSPARSE_SPSM_ALG_DEFAULT, how, buffer.get()));
          SPARSE_OK(cusparseSpSM_solve(handle, operation, plain, &one, sparse.descriptor, db.descriptor, dx.descriptor,
                                       kType, CUSPARSE_SPSM_ALG_DEFAULT, how));
          // What is solved may be large where the diagonal is small, or ones.
          const Dense x = dx.Get();
          double largest = 1;
          for (const Value v : x.values) largest = std::max(largest, std::abs(v));
          EXPECT(Difference(Times(Op(triangle, operation), x), b) < 20 * largest * tolerance);
          SPARSE_OK(cusparseSpSM_destroyDescr(how));
        }
      }
    }
    // One vector.
    Dense lower = a;
    for (int i = 0; i < n; ++i)
      for (int j = i + 1; j < n; ++j) lower(i, j) = 0;
    SparseOnDevice<T> sparse(lower, CUSPARSE_FORMAT_CSR, true, true);
    const Dense b = Random(n, 1);
    DenseOnDevice<T> db(b, CUSPARSE_ORDER_COL), dx(Dense(n, 1), CUSPARSE_ORDER_COL);
    cusparseDnVecDescr_t vb, vx;
    SPARSE_OK(cusparseCreateDnVec(&vb, n, db.data.get(), kType));
    SPARSE_OK(cusparseCreateDnVec(&vx, n, dx.data.get(), kType));
    cusparseSpSVDescr_t how;
    SPARSE_OK(cusparseSpSV_createDescr(&how));
    const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    size_t size = 0;
    SPARSE_OK(cusparseSpSV_bufferSize(handle, plain, &one, sparse.descriptor, vb, vx, kType, CUSPARSE_SPSV_ALG_DEFAULT,
                                      how, &size));
    harness::Buffer<char> buffer(size);
    SPARSE_OK(cusparseSpSV_analysis(handle, plain, &one, sparse.descriptor, vb, vx, kType, CUSPARSE_SPSV_ALG_DEFAULT,
                                    how, buffer.get()));
    SPARSE_OK(
        cusparseSpSV_solve(handle, plain, &one, sparse.descriptor, vb, vx, kType, CUSPARSE_SPSV_ALG_DEFAULT, how));
    EXPECT(Difference(Times(lower, dx.Get()), b) < 100 * tolerance);
    SPARSE_OK(cusparseSpSV_destroyDescr(how));
    SPARSE_OK(cusparseDestroyDnVec(vb));
    SPARSE_OK(cusparseDestroyDnVec(vx));
  }

  void Conversions() {
    const Dense a = Random(9, 12, 0.3);
    for (const cusparseFormat_t format : kFormats) {
      for (const bool wide : {false, true}) {
        const cusparseOrder_t order = wide ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
        SparseOnDevice<T> want(a, format, wide, wide), got(Dense(9, 12), format, wide, wide);
        DenseOnDevice<T> dense(a, order);
        size_t size = 0;
        SPARSE_OK(cusparseDenseToSparse_bufferSize(handle, dense.descriptor, got.descriptor,
                                                   CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &size));
        harness::Buffer<char> buffer(size);
        SPARSE_OK(cusparseDenseToSparse_analysis(handle, dense.descriptor, got.descriptor,
                                                 CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer.get()));
        int64_t rows = 0, columns = 0, entries = 0;
        SPARSE_OK(cusparseSpMatGetSize(got.descriptor, &rows, &columns, &entries));
        EXPECT_EQ(entries, int64_t(want.values.size()));
        SPARSE_OK(cusparseDenseToSparse_convert(handle, dense.descriptor, got.descriptor,
                                                CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, buffer.get()));
        EXPECT_SAME(got.offset_data.Get(), want.offset_data.Get());
        EXPECT_SAME(got.index_data.Get(), want.index_data.Get());
        EXPECT_EQ(Difference(InFull(got.descriptor, 9, 12, order), a), 0);
      }
    }
    // The other way of compressing.
    SparseOnDevice<T> by_rows(a, CUSPARSE_FORMAT_CSR, false, true), want(a, CUSPARSE_FORMAT_CSC, false, true),
        got(Dense(9, 12), CUSPARSE_FORMAT_CSC, false, true);
    const auto integers = [](const harness::Buffer<char>& data) { return reinterpret_cast<int*>(data.get()); };
    const auto convert = [&](auto function, auto last) {
      SPARSE_OK(function(handle, 9, 12, int(by_rows.values.size()), by_rows.value_data.get(),
                         integers(by_rows.offset_data), integers(by_rows.index_data), got.value_data.get(),
                         integers(got.offset_data), integers(got.index_data), kType, CUSPARSE_ACTION_NUMERIC,
                         CUSPARSE_INDEX_BASE_ONE, CUSPARSE_CSR2CSC_ALG_DEFAULT, last));
    };
    size_t size = 0;
    convert(cusparseCsr2cscEx2_bufferSize, &size);
    harness::Buffer<char> buffer(size);
    convert(cusparseCsr2cscEx2, buffer.get());
    EXPECT_SAME(got.offset_data.Get(), want.offset_data.Get());
    EXPECT_SAME(got.index_data.Get(), want.index_data.Get());
    EXPECT_SAME(got.value_data.Get(), want.value_data.Get());
  }

  void Squares() {
    const Dense a = Random(20, 15, 0.2), b = Random(15, 18, 0.2);
    SparseOnDevice<T> da(a, CUSPARSE_FORMAT_CSR), db(b, CUSPARSE_FORMAT_CSR), dc(Dense(20, 18), CUSPARSE_FORMAT_CSR);
    cusparseSpGEMMDescr_t how;
    SPARSE_OK(cusparseSpGEMM_createDescr(&how));
    const auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const auto algorithm = CUSPARSE_SPGEMM_DEFAULT;
    size_t size = 0, more = 0;
    SPARSE_OK(cusparseSpGEMM_workEstimation(handle, plain, plain, &alpha, da.descriptor, db.descriptor, &zero,
                                            dc.descriptor, kType, algorithm, how, &size, nullptr));
    harness::Buffer<char> first(size);
    SPARSE_OK(cusparseSpGEMM_workEstimation(handle, plain, plain, &alpha, da.descriptor, db.descriptor, &zero,
                                            dc.descriptor, kType, algorithm, how, &size, first.get()));
    SPARSE_OK(cusparseSpGEMM_compute(handle, plain, plain, &alpha, da.descriptor, db.descriptor, &zero, dc.descriptor,
                                     kType, algorithm, how, &more, nullptr));
    harness::Buffer<char> second(more);
    SPARSE_OK(cusparseSpGEMM_compute(handle, plain, plain, &alpha, da.descriptor, db.descriptor, &zero, dc.descriptor,
                                     kType, algorithm, how, &more, second.get()));
    int64_t rows = 0, columns = 0, entries = 0;
    SPARSE_OK(cusparseSpMatGetSize(dc.descriptor, &rows, &columns, &entries));
    Dense want = Times(a, b);
    EXPECT_EQ(entries, std::count_if(want.values.begin(), want.values.end(), [](Value v) { return v != 0.0; }));
    SPARSE_OK(cusparseCsrSetPointers(dc.descriptor, dc.offset_data.get(), dc.index_data.get(), dc.value_data.get()));
    SPARSE_OK(cusparseSpGEMM_copy(handle, plain, plain, &alpha, da.descriptor, db.descriptor, &zero, dc.descriptor,
                                  kType, algorithm, how));
    for (Value& v : want.values) v *= Traits<T>::Get(alpha);
    EXPECT(Difference(InFull(dc.descriptor, 20, 18, CUSPARSE_ORDER_ROW), want) < tolerance);
    SPARSE_OK(cusparseSpGEMM_destroyDescr(how));
  }

  // All of one base: NVIDIA's compares columns as they stand.
  void Sums(bool from_one) {
    const Dense a = Random(10, 8, 0.3), b = Random(10, 8, 0.3);
    const SparseOnDevice<T> da(a, CUSPARSE_FORMAT_CSR, false, from_one), db(b, CUSPARSE_FORMAT_CSR, false, from_one),
        dc(Dense(10, 8), CUSPARSE_FORMAT_CSR);
    const auto base = from_one ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO;
    cusparseMatDescr_t kind;
    SPARSE_OK(cusparseCreateMatDescr(&kind));
    SPARSE_OK(cusparseSetMatIndexBase(kind, base));
    const auto integers = [](const harness::Buffer<char>& data) { return reinterpret_cast<int*>(data.get()); };
    const int count_a = int(da.values.size()), count_b = int(db.values.size());
    const auto add = [&](auto function, auto last) {
      SPARSE_OK(function(handle, 10, 8, &alpha, kind, count_a, da.value_data.get(), integers(da.offset_data),
                         integers(da.index_data), &beta, kind, count_b, db.value_data.get(), integers(db.offset_data),
                         integers(db.index_data), kind, dc.value_data.get(), integers(dc.offset_data),
                         integers(dc.index_data), last));
    };
    size_t size = 0;
    add(Add<T>::Size, &size);
    harness::Buffer<char> buffer(size);
    int total = -1;
    SPARSE_OK(cusparseXcsrgeam2Nnz(handle, 10, 8, kind, count_a, integers(da.offset_data), integers(da.index_data),
                                   kind, count_b, integers(db.offset_data), integers(db.index_data), kind,
                                   integers(dc.offset_data), &total, buffer.get()));
    Dense want(10, 8);
    int expected = 0;
    for (size_t i = 0; i < want.values.size(); ++i) {
      expected += a.values[i] != 0.0 || b.values[i] != 0.0;
      want.values[i] = Traits<T>::Get(alpha) * a.values[i] + Traits<T>::Get(beta) * b.values[i];
    }
    EXPECT_EQ(total, expected);
    add(Add<T>::Run, buffer.get());
    cusparseSpMatDescr_t sum;
    SPARSE_OK(cusparseCreateCsr(&sum, 10, 8, total, dc.offset_data.get(), dc.index_data.get(), dc.value_data.get(),
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, base, kType));
    EXPECT(Difference(InFull(sum, 10, 8, CUSPARSE_ORDER_ROW), want) < tolerance);
    SPARSE_OK(cusparseDestroySpMat(sum));
    SPARSE_OK(cusparseDestroyMatDescr(kind));
  }

  void Vectors() {
    const Dense y = Random(30, 1);
    const std::vector<int64_t> places = {2, 3, 7, 19, 29};
    std::vector<T> numbers;
    Dense x(30, 1);
    for (const int64_t place : places) x(int(place), 0) = Any(), numbers.push_back(Traits<T>::Make(x(int(place), 0)));
    harness::Buffer<int64_t> indices(places);
    harness::Buffer<T> values(numbers);
    DenseOnDevice<T> dy(y, CUSPARSE_ORDER_COL);
    cusparseSpVecDescr_t vx;
    cusparseDnVecDescr_t vy;
    SPARSE_OK(cusparseCreateSpVec(&vx, 30, 5, indices.get(), values.get(), CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO,
                                  kType));
    SPARSE_OK(cusparseCreateDnVec(&vy, 30, dy.data.get(), kType));
    SPARSE_OK(cusparseAxpby(handle, &alpha, vx, &beta, vy));
    const Dense sum = Combined(x, y);
    EXPECT(Difference(dy.Get(), sum) < tolerance);
    size_t size = 0;
    T result;
    const auto conjugated = is_complex ? CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    SPARSE_OK(cusparseSpVV_bufferSize(handle, conjugated, vx, vy, &result, kType, &size));
    harness::Buffer<char> buffer(size);
    SPARSE_OK(cusparseSpVV(handle, conjugated, vx, vy, &result, kType, buffer.get()));
    Value dot = 0;
    for (int i = 0; i < 30; ++i) dot += (is_complex ? std::conj(x(i, 0)) : x(i, 0)) * sum(i, 0);
    EXPECT(std::abs(Traits<T>::Get(result) - dot) < 10 * tolerance);
    // With scalars and results on the device.
    harness::Buffer<T> on_device(std::vector<T>{alpha, beta, zero});
    SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
    SPARSE_OK(cusparseSpVV(handle, conjugated, vx, vy, on_device.get() + 2, kType, buffer.get()));
    SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
    EXPECT(std::abs(Traits<T>::Get(on_device.Get()[2]) - dot) < 10 * tolerance);
    SPARSE_OK(cusparseGather(handle, vy, vx));
    EXPECT(std::abs(Traits<T>::Get(values.Get()[3]) - sum(19, 0)) < tolerance);
    values.Set(numbers);
    SPARSE_OK(cusparseScatter(handle, vx, vy));
    EXPECT_EQ(std::abs(dy.Get()(7, 0) - x(7, 0)), 0);
    SPARSE_OK(cusparseDestroySpVec(vx));
    SPARSE_OK(cusparseDestroyDnVec(vy));
  }

  void All() {
    const Session session;
    Products();
    Sampled();
    Triangles();
    Conversions();
    Squares();
    Sums(false);
    Sums(true);
    Vectors();
  }
};

CASE(float_values) { Checks<float>().All(); }
CASE(double_values) { Checks<double>().All(); }
CASE(complex_values) { Checks<float2>().All(); }
CASE(double_complex_values) { Checks<double2>().All(); }

CASE(sorting) {
  const Session session;
  for (const int entries : {1, 2, 3, 5, 8, 100, 1000}) {
    harness::Random random{uint64_t(entries)};
    std::vector<int> rows, columns;
    for (int i = 0; i < entries; ++i) rows.push_back(random.Below(20)), columns.push_back(random.Below(9));
    std::vector<int> order(rows.size());
    for (int i = 0; i < entries; ++i) order[size_t(i)] = i;
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::make_tuple(rows[size_t(a)], columns[size_t(a)], a) <
             std::make_tuple(rows[size_t(b)], columns[size_t(b)], b);
    });
    harness::Buffer<int> d_rows(rows), d_columns(columns), numbers(order.size()), offsets(21), lines(order.size());
    SPARSE_OK(cusparseCreateIdentityPermutation(handle, entries, numbers.get()));
    size_t size = 0;
    SPARSE_OK(cusparseXcoosort_bufferSizeExt(handle, 20, 9, entries, d_rows.get(), d_columns.get(), &size));
    harness::Buffer<char> buffer(size);
    SPARSE_OK(
        cusparseXcoosortByRow(handle, 20, 9, entries, d_rows.get(), d_columns.get(), numbers.get(), buffer.get()));
    EXPECT_SAME(numbers.Get(), order);
    // Offsets and back.
    SPARSE_OK(cusparseXcoo2csr(handle, d_rows.get(), entries, 20, offsets.get(), CUSPARSE_INDEX_BASE_ZERO));
    SPARSE_OK(cusparseXcsr2coo(handle, offsets.get(), entries, 20, lines.get(), CUSPARSE_INDEX_BASE_ZERO));
    EXPECT_SAME(lines.Get(), d_rows.Get());
    EXPECT_EQ(offsets.Get()[20], entries);
    // Rows out of order, and in order again.
    std::vector<int> sorted = d_columns.Get(), mixed = sorted;
    const std::vector<int> ends = offsets.Get();
    for (size_t row = 0; row < 20; ++row) std::reverse(mixed.begin() + ends[row], mixed.begin() + ends[row + 1]);
    d_columns.Set(mixed);
    cusparseMatDescr_t descriptor;
    SPARSE_OK(cusparseCreateMatDescr(&descriptor));
    SPARSE_OK(cusparseXcsrsort_bufferSizeExt(handle, 20, 9, entries, offsets.get(), d_columns.get(), &size));
    harness::Buffer<char> room(size);
    SPARSE_OK(cusparseCreateIdentityPermutation(handle, entries, numbers.get()));
    SPARSE_OK(cusparseXcsrsort(handle, 20, 9, entries, descriptor, offsets.get(), d_columns.get(), numbers.get(),
                               room.get()));
    EXPECT_SAME(d_columns.Get(), sorted);
    std::vector<int> by_numbers = numbers.Get();
    for (int& number : by_numbers) number = mixed[size_t(number)];
    EXPECT_SAME(by_numbers, sorted);
    SPARSE_OK(cusparseDestroyMatDescr(descriptor));
  }
}

CASE(wrong_calls) {
  const Session session;
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t x;
  EXPECT_EQ(cusparseCreateDnVec(&x, -1, nullptr, CUDA_R_32F), CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusparseCreateCsr(&a, 2, -2, 0, nullptr, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
            CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusparseSetStream(nullptr, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
  harness::Buffer<int> offsets(3);
  harness::Buffer<float> values(4);
  SPARSE_OK(cusparseCreateCsr(&a, 2, 3, 0, offsets.get(), nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  SPARSE_OK(cusparseCreateDnVec(&x, 2, values.get(), CUDA_R_32F));
  const float one = 1;
  EXPECT_EQ(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, x, &one, x, CUDA_R_32F,
                         CUSPARSE_SPMV_ALG_DEFAULT, nullptr),
            CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(std::string(cusparseGetErrorName(CUSPARSE_STATUS_ZERO_PIVOT)), std::string("CUSPARSE_STATUS_ZERO_PIVOT"));
  SPARSE_OK(cusparseDestroySpMat(a));
  SPARSE_OK(cusparseDestroyDnVec(x));
}
