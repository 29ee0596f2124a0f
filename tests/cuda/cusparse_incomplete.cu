// cuSPARSE's incomplete factorizations, counts of elements and tridiagonal systems: against plain ones of the host, in
// all four types of values and from both bases; zero pivots; a preconditioned method; what wrong calls return.
#define DISABLE_CUSPARSE_DEPRECATED
#include <memory>

#include "tests/cuda/cusparse_harness.h"

template <typename T>
struct Calls;
#define CALLS(letter, T)                                                                 \
  template <>                                                                            \
  struct Calls<T> {                                                                      \
    static constexpr auto LuSize = cusparse##letter##csrilu02_bufferSize;                \
    static constexpr auto AnalyzeLu = cusparse##letter##csrilu02_analysis;               \
    static constexpr auto Lu = cusparse##letter##csrilu02;                               \
    static constexpr auto Boost = cusparse##letter##csrilu02_numericBoost;               \
    static constexpr auto CholeskySize = cusparse##letter##csric02_bufferSize;           \
    static constexpr auto AnalyzeCholesky = cusparse##letter##csric02_analysis;          \
    static constexpr auto Cholesky = cusparse##letter##csric02;                          \
    static constexpr auto Count = cusparse##letter##nnz;                                 \
    static constexpr auto DiagonalSize = cusparse##letter##gtsv2_bufferSizeExt;          \
    static constexpr auto Diagonal = cusparse##letter##gtsv2;                            \
    static constexpr auto PlainSize = cusparse##letter##gtsv2_nopivot_bufferSizeExt;     \
    static constexpr auto Plain = cusparse##letter##gtsv2_nopivot;                       \
    static constexpr auto BatchSize = cusparse##letter##gtsv2StridedBatch_bufferSizeExt; \
    static constexpr auto Batch = cusparse##letter##gtsv2StridedBatch;                   \
  };
CALLS(S, float)
CALLS(D, double)
CALLS(C, float2)
CALLS(Z, double2)

constexpr cusparseSolvePolicy_t kPolicies[] = {CUSPARSE_SOLVE_POLICY_NO_LEVEL, CUSPARSE_SOLVE_POLICY_USE_LEVEL};

// Square, with a pattern: what is not there is 0.
struct Matrix {
  int size;
  std::vector<Value> values;
  std::vector<char> there;
  explicit Matrix(int n) : size(n), values(size_t(n) * n), there(size_t(n) * n) {}
  Value& operator()(int i, int j) { return values[size_t(i) * size + j]; }
  Value operator()(int i, int j) const { return values[size_t(i) * size + j]; }
  bool Has(int i, int j) const { return there[size_t(i) * size + j] != 0; }
  void Set(int i, int j, Value value) {
    (*this)(i, j) = value;
    there[size_t(i) * size + j] = 1;
  }
  void Remove(int i, int j) {
    (*this)(i, j) = 0;
    there[size_t(i) * size + j] = 0;
  }
};

static Matrix LuOf(Matrix a) {
  for (int i = 0; i < a.size; ++i)
    for (int k = 0; k < i; ++k) {
      if (!a.Has(i, k)) continue;
      a(i, k) /= a(k, k);
      for (int j = k + 1; j < a.size; ++j)
        if (a.Has(i, j)) a(i, j) -= a(i, k) * a(k, j);
    }
  return a;
}
// What is above the diagonal stays.
static Matrix CholeskyOf(Matrix a) {
  for (int i = 0; i < a.size; ++i)
    for (int j = 0; j <= i; ++j) {
      if (!a.Has(i, j)) continue;
      Value sum = a(i, j);
      for (int k = 0; k < j; ++k) sum -= a(i, k) * std::conj(a(j, k));
      a(i, j) = i == j ? std::sqrt(sum.real()) : sum / a(j, j);
    }
  return a;
}

// Compressed rows on the device, with the info of each factorization and a buffer for both.
template <typename T>
struct Rows {
  const int base, size;
  std::vector<int> offsets, indices;
  std::vector<T> values;
  harness::Buffer<int> offset_data, index_data;
  harness::Buffer<T> value_data;
  std::unique_ptr<harness::Buffer<char>> buffer;
  cusparseMatDescr_t descriptor;
  csrilu02Info_t lu;
  csric02Info_t cholesky;

  Rows(const Matrix& a, bool from_one)
      : base(from_one ? 1 : 0),
        size(a.size),
        offset_data(size_t(a.size) + 1),
        index_data(a.values.size()),
        value_data(a.values.size()) {
    offsets.push_back(base);
    for (int i = 0; i < size; ++i) {
      for (int j = 0; j < size; ++j) {
        if (!a.Has(i, j)) continue;
        indices.push_back(j + base);
        values.push_back(Traits<T>::Make(a(i, j)));
      }
      offsets.push_back(int(indices.size()) + base);
    }
    offset_data.Set(offsets), index_data.Set(indices), value_data.Set(values);
    SPARSE_OK(cusparseCreateMatDescr(&descriptor));
    SPARSE_OK(cusparseSetMatIndexBase(descriptor, from_one ? CUSPARSE_INDEX_BASE_ONE : CUSPARSE_INDEX_BASE_ZERO));
    SPARSE_OK(cusparseCreateCsrilu02Info(&lu));
    SPARSE_OK(cusparseCreateCsric02Info(&cholesky));
    int lu_bytes = 0, cholesky_bytes = 0;
    SPARSE_OK(
        Calls<T>::LuSize(handle, size, Entries(), descriptor, value_data, offset_data, index_data, lu, &lu_bytes));
    SPARSE_OK(Calls<T>::CholeskySize(handle, size, Entries(), descriptor, value_data, offset_data, index_data, cholesky,
                                     &cholesky_bytes));
    EXPECT(lu_bytes > 0 && cholesky_bytes > 0);
    buffer = std::make_unique<harness::Buffer<char>>(size_t(std::max(lu_bytes, cholesky_bytes)));
  }
  ~Rows() {
    SPARSE_OK(cusparseDestroyMatDescr(descriptor));
    SPARSE_OK(cusparseDestroyCsrilu02Info(lu));
    SPARSE_OK(cusparseDestroyCsric02Info(cholesky));
  }
  int Entries() const { return int(values.size()); }
  void Analyze(cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL) {
    SPARSE_OK(Calls<T>::AnalyzeLu(handle, size, Entries(), descriptor, value_data, offset_data, index_data, lu, policy,
                                  buffer->get()));
    SPARSE_OK(Calls<T>::AnalyzeCholesky(handle, size, Entries(), descriptor, value_data, offset_data, index_data,
                                        cholesky, policy, buffer->get()));
  }
  void Lu(cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL) {
    SPARSE_OK(Calls<T>::Lu(handle, size, Entries(), descriptor, value_data, offset_data, index_data, lu, policy,
                           buffer->get()));
  }
  void Cholesky(cusparseSolvePolicy_t policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL) {
    SPARSE_OK(Calls<T>::Cholesky(handle, size, Entries(), descriptor, value_data, offset_data, index_data, cholesky,
                                 policy, buffer->get()));
  }
  // The position, or -1.
  int LuPivot() {
    int position = -2;
    const cusparseStatus_t status = cusparseXcsrilu02_zeroPivot(handle, lu, &position);
    EXPECT_EQ(status, position == -1 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT);
    return position;
  }
  int CholeskyPivot() {
    int position = -2;
    const cusparseStatus_t status = cusparseXcsric02_zeroPivot(handle, cholesky, &position);
    EXPECT_EQ(status, position == -1 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT);
    return position;
  }
  Matrix Get() const {
    const std::vector<T> all = value_data.Get();
    Matrix a(size);
    for (int i = 0; i < size; ++i)
      for (int n = offsets[size_t(i)] - base; n < offsets[size_t(i) + 1] - base; ++n)
        a.Set(i, indices[size_t(n)] - base, Traits<T>::Get(all[size_t(n)]));
    return a;
  }
};

static double Difference(const Matrix& a, const Matrix& b) {
  double most = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    if (a.there[i]) most = std::max(most, std::abs(a.values[i] - b.values[i]));
  return most;
}

template <typename T>
struct Checks {
  const bool wide = std::is_same_v<T, double> || std::is_same_v<T, double2>;
  const bool is_complex = std::is_same_v<T, float2> || std::is_same_v<T, double2>;
  const double tolerance = wide ? 1e-12 : 1e-4;
  harness::Random random{7};

  Value Any() {
    const double imaginary = is_complex ? random.Uniform() * 2 - 1 : 0;  // first: a call's arguments have no order
    const Value v(random.Uniform() * 2 - 1, imaginary);
    return Traits<T>::Get(Traits<T>::Make(v));
  }
  Value AboutOne() {
    const Value off = Any() * 0.1;  // first, too
    return 1.0 + random.Uniform() + off;
  }
  // Its diagonal is large enough for every factorization.
  Matrix Random(int size, double density, bool hermitian) {
    Matrix a(size);
    for (int i = 0; i < size; ++i)
      for (int j = 0; j < (hermitian ? i : size); ++j)
        if (i != j && random.Uniform() < density) a.Set(i, j, Any());
    for (int i = 0; i < size; ++i) {
      for (int j = 0; hermitian && j < i; ++j)
        if (a.Has(i, j)) a.Set(j, i, std::conj(a(i, j)));
      a.Set(i, i, 8 + random.Below(8));
    }
    return a;
  }

  void Factorizations() {
    for (const int size : {1, 5, 40}) {
      for (const bool from_one : {false, true}) {
        const cusparseSolvePolicy_t policy = kPolicies[from_one];
        const Matrix a = Random(size, 0.15, false);
        Rows<T> rows(a, from_one);
        rows.Analyze(policy);
        EXPECT_EQ(rows.LuPivot(), -1);
        rows.Lu(policy);
        EXPECT_EQ(rows.LuPivot(), -1);
        const Matrix lu = rows.Get();
        EXPECT(Difference(lu, LuOf(a)) < tolerance);
        CheckProduct(a, lu);

        const Matrix b = Random(size, 0.15, true);
        Rows<T> half(b, from_one);
        half.Analyze(policy);
        EXPECT_EQ(half.CholeskyPivot(), -1);
        half.Cholesky(policy);
        EXPECT_EQ(half.CholeskyPivot(), -1);
        EXPECT(Difference(half.Get(), CholeskyOf(b)) < tolerance);
      }
    }
  }
  // L U is A where A has entries.
  void CheckProduct(const Matrix& a, const Matrix& lu) {
    Matrix product = a;
    for (int i = 0; i < a.size; ++i)
      for (int j = 0; j < a.size; ++j) {
        product(i, j) = i <= j ? lu(i, j) : 0;
        for (int k = 0; k < i && k <= j; ++k) product(i, j) += lu(i, k) * lu(k, j);
      }
    EXPECT(Difference(a, product) < 32 * tolerance);
  }

  void Pivots() {
    for (const bool from_one : {false, true}) {
      const int base = from_one ? 1 : 0;
      Matrix missing = Random(200, 0.02, false);
      missing.Remove(161, 161), missing.Remove(7, 7);
      Rows<T> structural(missing, from_one);
      structural.Analyze();
      EXPECT_EQ(structural.LuPivot(), 7 + base);
      EXPECT_EQ(structural.CholeskyPivot(), 7 + base);
      structural.Lu();
      EXPECT_EQ(structural.LuPivot(), 7 + base);
      structural.Cholesky();
      EXPECT_EQ(structural.CholeskyPivot(), 7 + base);

      // Rows 2 and 3 depend on one another.
      Matrix dependent(5);
      for (int i = 0; i < 5; ++i) dependent.Set(i, i, i == 3 ? 4 : 1);
      dependent.Set(2, 3, 2), dependent.Set(3, 2, 2);
      Rows<T> numerical(dependent, from_one);
      numerical.Analyze();
      EXPECT_EQ(numerical.LuPivot(), -1);
      EXPECT_EQ(numerical.CholeskyPivot(), -1);
      numerical.Lu();
      EXPECT_EQ(numerical.LuPivot(), 3 + base);
      CheckOnDevice(numerical, 3 + base);
      numerical.value_data.Set(numerical.values);
      numerical.Cholesky();
      EXPECT_EQ(numerical.CholeskyPivot(), 3 + base);
      Boosts(numerical);
    }
  }
  void CheckOnDevice(Rows<T>& rows, int want) {
    harness::Buffer<int> position(1);
    SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
    EXPECT_EQ(cusparseXcsrilu02_zeroPivot(handle, rows.lu, position), CUSPARSE_STATUS_ZERO_PIVOT);
    SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
    EXPECT_EQ(position.Get()[0], want);
  }
  void Boosts(Rows<T>& rows) {
    double least = 0.5;
    T five = Traits<T>::Make(5);
    rows.value_data.Set(rows.values);
    SPARSE_OK(Calls<T>::Boost(handle, rows.lu, 1, &least, &five));
    rows.Lu();
    EXPECT_EQ(rows.LuPivot(), -1);
    EXPECT(rows.Get()(3, 3) == 5.0 && rows.Get()(2, 2) == 1.0);
    // By numbers on the device; every pivot is small.
    const harness::Buffer<double> limit(std::vector<double>{1.5});
    const harness::Buffer<T> boost(std::vector<T>{Traits<T>::Make(8)});
    rows.value_data.Set(rows.values);
    SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
    SPARSE_OK(Calls<T>::Boost(handle, rows.lu, 1, limit, boost));
    SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
    rows.Lu();
    EXPECT(rows.Get()(2, 2) == 8.0 && rows.Get()(3, 2) == 0.25 && rows.Get()(3, 3) == 3.5);
    SPARSE_OK(Calls<T>::Boost(handle, rows.lu, 0, nullptr, nullptr));
    rows.value_data.Set(rows.values);
    rows.Lu();
    EXPECT_EQ(rows.LuPivot(), 3 + rows.base);
  }

  void Counts() {
    cusparseMatDescr_t descriptor;
    SPARSE_OK(cusparseCreateMatDescr(&descriptor));
    const int rows = 13, columns = 300, leading = 15;
    std::vector<T> values(size_t(leading) * columns, Traits<T>::Make(1));
    std::vector<int> by_row(rows), by_column(columns);
    int all = 0;
    for (int j = 0; j < columns; ++j)
      for (int i = 0; i < rows; ++i) {
        const bool there = random.Below(3) == 0;
        // Either part makes a complex number one that is not 0.
        const Value value = is_complex && random.Below(2) == 0 ? Value(0, 1) : Value(1);
        values[size_t(j) * leading + i] = Traits<T>::Make(there ? value : 0);
        by_row[size_t(i)] += there, by_column[size_t(j)] += there, all += there;
      }
    const harness::Buffer<T> a(values);
    for (const bool rowwise : {false, true}) {
      const auto direction = rowwise ? CUSPARSE_DIRECTION_ROW : CUSPARSE_DIRECTION_COLUMN;
      const std::vector<int>& want = rowwise ? by_row : by_column;
      harness::Buffer<int> counts(want.size()), total(1);
      int sum = -1;
      SPARSE_OK(Calls<T>::Count(handle, direction, rows, columns, descriptor, a, leading, counts, &sum));
      EXPECT_EQ(sum, all);
      EXPECT_SAME(counts.Get(), want);
      SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_DEVICE));
      SPARSE_OK(Calls<T>::Count(handle, direction, rows, columns, descriptor, a, leading, counts, total));
      SPARSE_OK(cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST));
      EXPECT_EQ(total.Get()[0], all);
    }
    SPARSE_OK(cusparseDestroyMatDescr(descriptor));
  }

  // Three diagonals and right-hand sides, all of one length, that follow one another `stride` apart.
  struct Diagonals {
    int size, stride;
    std::vector<T> lower, diagonal, upper, sides;
    double Error(const std::vector<T>& x, int system, int side) const {
      const auto at = [&](const std::vector<T>& line, int i, int which) {
        return Traits<T>::Get(line[size_t(which) * stride + i]);
      };
      double most = 0;
      for (int i = 0; i < size; ++i) {
        Value sum = at(diagonal, i, system) * at(x, i, side) - at(sides, i, side);
        if (i > 0) sum += at(lower, i, system) * at(x, i - 1, side);
        if (i + 1 < size) sum += at(upper, i, system) * at(x, i + 1, side);
        most = std::max(most, std::abs(sum));
      }
      return most;
    }
  };
  // Pivots have to be exchanged if the diagonal is weak.
  Diagonals RandomDiagonals(int size, int systems, int sides, bool weak) {
    Diagonals d{size, size + 2, {}, {}, {}, {}};
    for (int i = 0; i < systems * d.stride; ++i) {
      const int row = i % d.stride;
      d.lower.push_back(Traits<T>::Make(row == 0 ? 0.0 : AboutOne()));
      d.upper.push_back(Traits<T>::Make(row + 1 == size ? 0.0 : AboutOne()));
      d.diagonal.push_back(Traits<T>::Make(weak ? (row % 3 == 0 ? 0.0 : Any() * 0.1) : 6.0 + Any()));
    }
    for (int i = 0; i < sides * d.stride; ++i) d.sides.push_back(Traits<T>::Make(Any()));
    return d;
  }
  void Tridiagonal() {
    for (const int size : {3, 4, 50}) {
      for (const bool weak : {false, true}) {
        const int sides = 5;
        const Diagonals d = RandomDiagonals(size, 1, sides, weak);
        const harness::Buffer<T> lower(d.lower), diagonal(d.diagonal), upper(d.upper);
        harness::Buffer<T> x(d.sides);
        size_t bytes = 0;
        const auto get_size = weak ? Calls<T>::DiagonalSize : Calls<T>::PlainSize;
        SPARSE_OK(get_size(handle, size, sides, lower, diagonal, upper, x, d.stride, &bytes));
        harness::Buffer<char> buffer(bytes);
        const auto solve = weak ? Calls<T>::Diagonal : Calls<T>::Plain;
        SPARSE_OK(solve(handle, size, sides, lower, diagonal, upper, x, d.stride, buffer.get()));
        const std::vector<T> got = x.Get();
        for (int side = 0; side < sides; ++side) EXPECT(d.Error(got, 0, side) < 100 * tolerance);
      }
      const int systems = 200;
      const Diagonals d = RandomDiagonals(size, systems, systems, false);
      const harness::Buffer<T> lower(d.lower), diagonal(d.diagonal), upper(d.upper);
      harness::Buffer<T> x(d.sides);
      size_t bytes = 0;
      SPARSE_OK(Calls<T>::BatchSize(handle, size, lower, diagonal, upper, x, systems, d.stride, &bytes));
      harness::Buffer<char> buffer(bytes);
      SPARSE_OK(Calls<T>::Batch(handle, size, lower, diagonal, upper, x, systems, d.stride, buffer.get()));
      const std::vector<T> got = x.Get();
      for (int system = 0; system < systems; ++system) EXPECT(d.Error(got, system, system) < tolerance);
    }
  }

  void All() {
    const Session session;
    Factorizations();
    Pivots();
    Counts();
    Tridiagonal();
  }
};

CASE(single_values) { Checks<float>().All(); }
CASE(double_values) { Checks<double>().All(); }
CASE(complex_values) { Checks<float2>().All(); }
CASE(double_complex_values) { Checks<double2>().All(); }

// A triangle of a factorization, by the generic solver.
struct Triangle {
  Rows<double>& rows;
  cusparseOperation_t operation;
  cusparseSpMatDescr_t matrix;
  cusparseSpSVDescr_t descriptor;

  Triangle(Rows<double>& r, cusparseFillMode_t fill, cusparseDiagType_t diagonal, bool transposed)
      : rows(r), operation(transposed ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE) {
    SPARSE_OK(cusparseCreateCsr(&matrix, rows.size, rows.size, rows.Entries(), rows.offset_data, rows.index_data,
                                rows.value_data, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                CUDA_R_64F));
    SPARSE_OK(cusparseSpMatSetAttribute(matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof(fill)));
    SPARSE_OK(cusparseSpMatSetAttribute(matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof(diagonal)));
    SPARSE_OK(cusparseSpSV_createDescr(&descriptor));
  }
  ~Triangle() {
    SPARSE_OK(cusparseSpSV_destroyDescr(descriptor));
    SPARSE_OK(cusparseDestroySpMat(matrix));
  }
  std::vector<double> Solve(const std::vector<double>& b) {
    const double one = 1;
    const harness::Buffer<double> from(b), to(b.size());
    cusparseDnVecDescr_t x, y;
    SPARSE_OK(cusparseCreateDnVec(&x, rows.size, from.get(), CUDA_R_64F));
    SPARSE_OK(cusparseCreateDnVec(&y, rows.size, to.get(), CUDA_R_64F));
    size_t bytes = 0;
    SPARSE_OK(cusparseSpSV_bufferSize(handle, operation, &one, matrix, x, y, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT,
                                      descriptor, &bytes));
    harness::Buffer<char> buffer(bytes);
    SPARSE_OK(cusparseSpSV_analysis(handle, operation, &one, matrix, x, y, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT,
                                    descriptor, buffer.get()));
    SPARSE_OK(
        cusparseSpSV_solve(handle, operation, &one, matrix, x, y, CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, descriptor));
    SPARSE_OK(cusparseDestroyDnVec(x));
    SPARSE_OK(cusparseDestroyDnVec(y));
    return to.Get();
  }
};

static double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
// Steps of the method of conjugate gradients until the residual is small.
template <typename Precondition>
static int Steps(const Matrix& a, Precondition precondition) {
  const size_t size = size_t(a.size);
  harness::Random random{3};
  std::vector<double> r(size), z, p(size), q(size);
  for (double& v : r) v = random.Uniform();
  const double limit = Dot(r, r) * 1e-20;
  double before = 1;
  for (int step = 0; step < 200; ++step) {
    if (Dot(r, r) < limit) return step;
    z = precondition(r);
    const double now = Dot(r, z);
    for (size_t i = 0; i < size; ++i) p[i] = z[i] + (step == 0 ? 0 : now / before) * p[i];
    before = now;
    for (size_t i = 0; i < size; ++i) {
      q[i] = 0;
      for (size_t j = 0; j < size; ++j) q[i] += a.values[i * size + j].real() * p[j];
    }
    const double alpha = now / Dot(p, q);
    for (size_t i = 0; i < size; ++i) r[i] -= alpha * q[i];
  }
  return 200;
}

CASE(preconditioned) {
  const Session session;
  const int side = 12;
  Matrix a(side * side);
  for (int i = 0; i < a.size; ++i) {
    a.Set(i, i, 4);
    if (i % side > 0) a.Set(i, i - 1, -1), a.Set(i - 1, i, -1);
    if (i >= side) a.Set(i, i - side, -1), a.Set(i - side, i, -1);
  }
  const int plain = Steps(a, [](const std::vector<double>& r) { return r; });
  Rows<double> lu(a, false), cholesky(a, false);
  lu.Analyze(), lu.Lu();
  cholesky.Analyze(), cholesky.Cholesky();
  Triangle lower(lu, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, false);
  Triangle upper(lu, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, false);
  const int with_lu = Steps(a, [&](const std::vector<double>& r) { return upper.Solve(lower.Solve(r)); });
  Triangle half(cholesky, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT, false);
  Triangle other(cholesky, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT, true);
  const int with_cholesky = Steps(a, [&](const std::vector<double>& r) { return other.Solve(half.Solve(r)); });
  EXPECT(plain < 200 && 3 * with_lu < 2 * plain);
  EXPECT_EQ(with_cholesky, with_lu);
}

CASE(wrong_calls) {
  const Session session;
  Matrix a(2);
  a.Set(0, 0, 1), a.Set(1, 1, 1);
  Rows<float> rows(a, false);
  const auto policy = CUSPARSE_SOLVE_POLICY_USE_LEVEL;
  int number = 0;
  const auto analyze = [&](int size, int entries, csrilu02Info_t info, void* buffer) {
    return cusparseScsrilu02_analysis(handle, size, entries, rows.descriptor, rows.value_data, rows.offset_data,
                                      rows.index_data, info, policy, buffer);
  };
  EXPECT_EQ(analyze(-1, 2, rows.lu, rows.buffer->get()), CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(analyze(2, -1, rows.lu, rows.buffer->get()), CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(analyze(2, 2, rows.lu, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
  SPARSE_OK(cusparseSetMatType(rows.descriptor, CUSPARSE_MATRIX_TYPE_SYMMETRIC));
  EXPECT_EQ(analyze(2, 2, rows.lu, rows.buffer->get()), CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
  EXPECT_EQ(
      cusparseSnnz(handle, CUSPARSE_DIRECTION_ROW, 1, 1, rows.descriptor, rows.value_data, 1, rows.index_data, &number),
      CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
  SPARSE_OK(cusparseSetMatType(rows.descriptor, CUSPARSE_MATRIX_TYPE_GENERAL));
  EXPECT_EQ(
      cusparseSnnz(handle, CUSPARSE_DIRECTION_ROW, 2, 1, rows.descriptor, rows.value_data, 1, rows.index_data, &number),
      CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(analyze(2, 2, rows.lu, rows.buffer->get()), CUSPARSE_STATUS_SUCCESS);
  const harness::Buffer<float> line(8);
  EXPECT_EQ(cusparseSgtsv2(handle, 3, 1, line, line, line, line, 2, rows.buffer->get()), CUSPARSE_STATUS_INVALID_VALUE);
}
