// cuSOLVER's sparse half: systems of equations in all four types, on the host and on the device; symmetry, orders and
// permutations; what singular matrices and wrong calls return.
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

#include <algorithm>
#include <complex>
#include <numeric>

#include "tests/cuda/harness.h"

#define SOLVER_OK(call) EXPECT_EQ(call, CUSOLVER_STATUS_SUCCESS)

using Value = std::complex<double>;

struct Session {
  cusolverSpHandle_t solver = nullptr;
  cusparseMatDescr_t descriptor = nullptr;
  explicit Session(cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO) {
    SOLVER_OK(cusolverSpCreate(&solver));
    EXPECT_EQ(cusparseCreateMatDescr(&descriptor), CUSPARSE_STATUS_SUCCESS);
    EXPECT_EQ(cusparseSetMatIndexBase(descriptor, base), CUSPARSE_STATUS_SUCCESS);
  }
  ~Session() {
    EXPECT_EQ(cusparseDestroyMatDescr(descriptor), CUSPARSE_STATUS_SUCCESS);
    SOLVER_OK(cusolverSpDestroy(solver));
  }
};

// A square matrix, compressed by rows.
struct Sparse {
  int rows = 0, base = 0;
  std::vector<int> offsets{0}, columns;
  std::vector<Value> values;

  int entries() const { return int(columns.size()); }
  void Add(int column, Value value) {
    columns.push_back(column + base);
    values.push_back(value);
  }
  void EndRow() {
    offsets.push_back(entries() + base);
    ++rows;
  }
  std::vector<Value> Times(const std::vector<Value>& x) const {
    std::vector<Value> y(rows);
    for (int i = 0; i < rows; ++i)
      for (int at = offsets[i] - base; at < offsets[i + 1] - base; ++at) y[i] += values[at] * x[columns[at] - base];
    return y;
  }
};

// A grid's Laplacian, with something on the diagonal; Hermitian, or not even symmetric.
static Sparse Grid(int side, int base, bool symmetric, bool complex) {
  Sparse a;
  a.base = base;
  a.offsets[0] = base;
  const auto weight = [&](int i, int j) {
    const Value below(-1 - 0.1 * std::min(i, j) / (side * side), complex ? 0.3 : 0);
    return i > j ? below : symmetric ? std::conj(below) : below * 0.5;
  };
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int i = y * side + x;
      if (y > 0) a.Add(i - side, weight(i, i - side));
      if (x > 0) a.Add(i - 1, weight(i, i - 1));
      a.Add(i, 5);
      if (x + 1 < side) a.Add(i + 1, weight(i, i + 1));
      if (y + 1 < side) a.Add(i + side, weight(i, i + side));
      a.EndRow();
    }
  }
  return a;
}

template <typename T>
struct Traits;
#define TRAITS(T, Letter, R, make, get, kTolerance_)                      \
  template <>                                                             \
  struct Traits<T> {                                                      \
    using Real = R;                                                       \
    static constexpr double kTolerance = kTolerance_;                     \
    static constexpr auto lu_host = cusolverSp##Letter##csrlsvluHost;     \
    static constexpr auto qr_host = cusolverSp##Letter##csrlsvqrHost;     \
    static constexpr auto qr = cusolverSp##Letter##csrlsvqr;              \
    static constexpr auto chol_host = cusolverSp##Letter##csrlsvcholHost; \
    static constexpr auto chol = cusolverSp##Letter##csrlsvchol;          \
    static T Make(Value v) { return make; }                               \
    static Value Get(T v) { return get; }                                 \
  };
TRAITS(float, S, float, float(v.real()), v, 1e-4)
TRAITS(double, D, double, v.real(), v, 1e-12)
TRAITS(cuComplex, C, float, (cuComplex{float(v.real()), float(v.imag())}), (Value{v.x, v.y}), 1e-4)
TRAITS(cuDoubleComplex, Z, double, (cuDoubleComplex{v.real(), v.imag()}), (Value{v.x, v.y}), 1e-12)

template <typename T>
static std::vector<T> Made(const std::vector<Value>& values) {
  std::vector<T> made;
  for (const Value& value : values) made.push_back(Traits<T>::Make(value));
  return made;
}
template <typename T>
static double Difference(const std::vector<T>& a, const std::vector<Value>& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) most = std::max(most, std::abs(Traits<T>::Get(a[i]) - b[i]));
  return most;
}

// What was solved on the program's side, in whose last bits processors differ: the case's hash is without.
template <typename T>
static std::vector<T> Solved(const Buffer<T>& buffer) {
  std::vector<T> host(buffer.size());
  CUDA_OK(cudaMemcpy(host.data(), buffer.get(), sizeof(T) * host.size(), cudaMemcpyDeviceToHost));
  return host;
}

template <typename T>
static void Systems(bool complex) {
  using One = Traits<T>;
  for (const int base : {0, 1}) {
    const Session session(base == 0 ? CUSPARSE_INDEX_BASE_ZERO : CUSPARSE_INDEX_BASE_ONE);
    for (const bool symmetric : {true, false}) {
      const Sparse a = Grid(9, base, symmetric, complex);
      std::vector<Value> want;
      for (int i = 0; i < a.rows; ++i) want.emplace_back(1 + i % 7, complex ? i % 3 : 0);
      const auto values = Made<T>(a.values), b = Made<T>(a.Times(want));
      Buffer<T> d_values(values), d_b(b);
      Buffer<int> d_offsets(a.offsets), d_columns(a.columns);
      const auto host = [&](auto solve, int reorder) {
        std::vector<T> x(a.rows);
        int singular = 7;
        SOLVER_OK(solve(session.solver, a.rows, a.entries(), session.descriptor, values.data(), a.offsets.data(),
                        a.columns.data(), b.data(), typename One::Real(1e-6), reorder, x.data(), &singular));
        EXPECT_EQ(singular, -1);
        EXPECT(Difference(x, want) < One::kTolerance);
      };
      const auto device = [&](auto solve, int reorder) {
        Buffer<T> x(a.rows);
        int singular = 7;
        SOLVER_OK(solve(session.solver, a.rows, a.entries(), session.descriptor, d_values, d_offsets, d_columns, d_b,
                        typename One::Real(1e-6), reorder, x, &singular));
        EXPECT_EQ(singular, -1);
        EXPECT(Difference(Solved(x), want) < One::kTolerance);
      };
      for (int reorder = 0; reorder <= 3; ++reorder) {
        host(One::lu_host, reorder);
        host(One::qr_host, reorder);
        device(One::qr, reorder);
        if (symmetric) host(One::chol_host, reorder);
        if (symmetric) device(One::chol, reorder);
      }
    }
  }
}
CASE(systems_of_float) { Systems<float>(false); }
CASE(systems_of_double) { Systems<double>(false); }
CASE(systems_of_complex_float) { Systems<cuComplex>(true); }
CASE(systems_of_complex_double) { Systems<cuDoubleComplex>(true); }

CASE(singular_matrices) {
  const Session session;
  // 1 2 0 / 2 4 0 / 0 0 3, and one without anything in its second row and column.
  const std::vector<int> offsets{0, 2, 4, 5}, columns{0, 1, 0, 1, 2}, gap{0, 1, 1, 2}, gap_columns{0, 2};
  const std::vector<double> values{1, 2, 2, 4, 3}, ones(3, 1), negative{-1, 0, 0, -1, -1};
  std::vector<double> x(3, 8);
  const auto found = [&](auto solve, const auto& off, const auto& col, const std::vector<double>& val,
                         double tolerance) {
    int singular = -7;
    SOLVER_OK(solve(session.solver, 3, int(col.size()), session.descriptor, val.data(), off.data(), col.data(),
                    ones.data(), tolerance, 0, x.data(), &singular));
    EXPECT(singular >= -1 && singular < 3);
    return singular;
  };
  EXPECT(found(cusolverSpDcsrlsvluHost, offsets, columns, values, 1e-9) >= 0);
  EXPECT(found(cusolverSpDcsrlsvqrHost, offsets, columns, values, 1e-9) >= 0);
  EXPECT_EQ(found(cusolverSpDcsrlsvcholHost, offsets, columns, values, 1e-9), 1);
  EXPECT(found(cusolverSpDcsrlsvluHost, gap, gap_columns, {1, 1}, 1e-9) >= 0);
  EXPECT_EQ(found(cusolverSpDcsrlsvcholHost, gap, gap_columns, {1, 1}, 1e-9), 1);
  EXPECT_EQ(found(cusolverSpDcsrlsvcholHost, offsets, columns, negative, 1e-9), 0);
  EXPECT(found(cusolverSpDcsrlsvluHost, gap, gap_columns, {1, 1}, 0) >= 0);
  EXPECT_SAME(x, std::vector<double>(3, 8));  // which nothing has written
  const std::vector<double> small{1e-8, 0, 0, 1, 1};
  EXPECT(found(cusolverSpDcsrlsvqrHost, offsets, columns, small, 1e-6) >= 0);
  EXPECT_EQ(found(cusolverSpDcsrlsvqrHost, offsets, columns, small, 1e-12), -1);
}

CASE(symmetry_orders_and_permutations) {
  const Session session(CUSPARSE_INDEX_BASE_ONE);
  Sparse a = Grid(6, 1, true, false);
  int symmetric = -1;
  SOLVER_OK(cusolverSpXcsrissymHost(session.solver, a.rows, a.entries(), session.descriptor, a.offsets.data(),
                                    a.offsets.data() + 1, a.columns.data(), &symmetric));
  EXPECT_EQ(symmetric, 1);
  std::vector<int> ends(a.offsets.begin() + 1, a.offsets.end());
  --ends[0];  // the first row ends early: what is left has no mirror image
  SOLVER_OK(cusolverSpXcsrissymHost(session.solver, a.rows, a.entries(), session.descriptor, a.offsets.data(),
                                    ends.data(), a.columns.data(), &symmetric));
  EXPECT_EQ(symmetric, 0);

  const auto check = [&](const std::vector<int>& p) {
    std::vector<int> sorted = p, in_order(a.rows);
    std::sort(sorted.begin(), sorted.end());
    std::iota(in_order.begin(), in_order.end(), 0);
    EXPECT_SAME(sorted, in_order);
    std::vector<int> offsets = a.offsets, columns = a.columns, map(a.entries());
    std::iota(map.begin(), map.end(), 100);  // what is there is permuted
    size_t size = 0;
    SOLVER_OK(cusolverSpXcsrperm_bufferSizeHost(session.solver, a.rows, a.rows, a.entries(), session.descriptor,
                                                offsets.data(), columns.data(), p.data(), p.data(), &size));
    std::vector<char> work(size);
    SOLVER_OK(cusolverSpXcsrpermHost(session.solver, a.rows, a.rows, a.entries(), session.descriptor, offsets.data(),
                                     columns.data(), p.data(), p.data(), map.data(), work.data()));
    std::vector<Value> x(a.rows), of_rows(a.rows);
    for (int i = 0; i < a.rows; ++i) x[i] = of_rows[i] = i * i % 11;
    Sparse b = a;
    b.offsets = offsets;
    b.columns = columns;
    for (int at = 0; at < a.entries(); ++at) b.values[at] = a.values[map[at] - 100];
    for (int i = 0; i < a.rows; ++i) x[i] = of_rows[p[i]];
    const auto permuted = b.Times(x), plain = a.Times(of_rows);
    for (int i = 0; i < a.rows; ++i) EXPECT(std::abs(permuted[i] - plain[p[i]]) < 1e-12);
    for (int i = 0; i < a.rows; ++i) {
      EXPECT(std::is_sorted(columns.begin() + offsets[i] - 1, columns.begin() + offsets[i + 1] - 1));
    }
  };
  for (const auto order : {cusolverSpXcsrsymrcmHost, cusolverSpXcsrsymmdqHost, cusolverSpXcsrsymamdHost}) {
    std::vector<int> p(a.rows, -1);
    SOLVER_OK(
        order(session.solver, a.rows, a.entries(), session.descriptor, a.offsets.data(), a.columns.data(), p.data()));
    check(p);
  }
  std::vector<int> p(a.rows, -1);
  SOLVER_OK(cusolverSpXcsrmetisndHost(session.solver, a.rows, a.entries(), session.descriptor, a.offsets.data(),
                                      a.columns.data(), nullptr, p.data()));
  check(p);
}

CASE(reverse_cuthill_mckee_narrows_a_band) {
  const Session session;
  // A chain whose links are far apart: 0 - 37 - 74 - … modulo 101.
  constexpr int kRows = 101;
  Sparse a;
  for (int i = 0; i < kRows; ++i) {
    std::vector<int> neighbours{i};
    const int place = i * 71 % kRows;  // 37 * 71 = 1 modulo 101
    if (place > 0) neighbours.push_back((i + kRows - 37) % kRows);
    if (place + 1 < kRows) neighbours.push_back((i + 37) % kRows);
    std::sort(neighbours.begin(), neighbours.end());
    for (const int j : neighbours) a.Add(j, 1);
    a.EndRow();
  }
  std::vector<int> p(kRows), place(kRows);
  SOLVER_OK(cusolverSpXcsrsymrcmHost(session.solver, kRows, a.entries(), session.descriptor, a.offsets.data(),
                                     a.columns.data(), p.data()));
  for (int i = 0; i < kRows; ++i) place[p[i]] = i;
  for (int i = 0; i < kRows; ++i)
    for (int at = a.offsets[i]; at < a.offsets[i + 1]; ++at) EXPECT(std::abs(place[i] - place[a.columns[at]]) <= 1);
}

// The low-level interface, on the host or on the device.
#define FACTORS(Host)                                                                                                \
  static void Factors##Host(const Session& s, const Sparse& a, const double* values, const int* offsets,             \
                            const int* columns, const double* b, double* x) {                                        \
    const int n = a.rows, entries = a.entries();                                                                     \
    size_t kept = 0, size = 0;                                                                                       \
    int position = 7;                                                                                                \
    csrcholInfo##Host##_t chol = nullptr;                                                                            \
    SOLVER_OK(cusolverSpCreateCsrcholInfo##Host(&chol));                                                             \
    EXPECT_EQ(cusolverSpDcsrcholZeroPivot##Host(s.solver, chol, 1e-9, &position), CUSOLVER_STATUS_INVALID_VALUE);    \
    SOLVER_OK(cusolverSpXcsrcholAnalysis##Host(s.solver, n, entries, s.descriptor, offsets, columns, chol));         \
    SOLVER_OK(cusolverSpDcsrcholBufferInfo##Host(s.solver, n, entries, s.descriptor, values, offsets, columns, chol, \
                                                 &kept, &size));                                                     \
    EXPECT(size > 0);                                                                                                \
    Buffer<char> work(size);                                                                                         \
    EXPECT_EQ(cusolverSpDcsrcholSolve##Host(s.solver, n, b, x, chol, work), CUSOLVER_STATUS_INVALID_VALUE);          \
    SOLVER_OK(                                                                                                       \
        cusolverSpDcsrcholFactor##Host(s.solver, n, entries, s.descriptor, values, offsets, columns, chol, work));   \
    SOLVER_OK(cusolverSpDcsrcholZeroPivot##Host(s.solver, chol, 1e-9, &position));                                   \
    EXPECT_EQ(position, -1);                                                                                         \
    SOLVER_OK(cusolverSpDcsrcholZeroPivot##Host(s.solver, chol, 1e9, &position));                                    \
    EXPECT_EQ(position, 0);                                                                                          \
    SOLVER_OK(cusolverSpDcsrcholSolve##Host(s.solver, n, b, x, chol, work));                                         \
    SOLVER_OK(cusolverSpDestroyCsrcholInfo##Host(chol));                                                             \
    csrqrInfo##Host##_t qr = nullptr;                                                                                \
    double* const right = const_cast<double*>(b);                                                                    \
    SOLVER_OK(cusolverSpCreateCsrqrInfo##Host(&qr));                                                                 \
    SOLVER_OK(cusolverSpXcsrqrAnalysis##Host(s.solver, n, n, entries, s.descriptor, offsets, columns, qr));          \
    SOLVER_OK(cusolverSpDcsrqrBufferInfo##Host(s.solver, n, n, entries, s.descriptor, values, offsets, columns, qr,  \
                                               &kept, &size));                                                       \
    EXPECT_EQ(cusolverSpDcsrqrFactor##Host(s.solver, n, n, entries, nullptr, nullptr, qr, work),                     \
              CUSOLVER_STATUS_INVALID_VALUE);                                                                        \
    EXPECT_EQ(cusolverSpDcsrqrSetup##Host(s.solver, n, n, entries, s.descriptor, values, offsets, columns, 1, qr),   \
              CUSOLVER_STATUS_NOT_SUPPORTED);                                                                        \
    SOLVER_OK(cusolverSpDcsrqrSetup##Host(s.solver, n, n, entries, s.descriptor, values, offsets, columns, 0, qr));  \
    SOLVER_OK(cusolverSpDcsrqrFactor##Host(s.solver, n, n, entries, nullptr, nullptr, qr, work));                    \
    SOLVER_OK(cusolverSpDcsrqrZeroPivot##Host(s.solver, qr, 1e-9, &position));                                       \
    EXPECT_EQ(position, -1);                                                                                         \
    SOLVER_OK(cusolverSpDcsrqrSolve##Host(s.solver, n, n, right, x + n, qr, work));                                  \
    SOLVER_OK(cusolverSpDestroyCsrqrInfo##Host(qr));                                                                 \
  }
FACTORS()
FACTORS(Host)
CASE(factors_are_kept) {
  const Session session;
  const Sparse a = Grid(9, 0, true, false);
  std::vector<Value> want;
  for (int i = 0; i < a.rows; ++i) want.emplace_back(1 + i % 7);
  const auto values = Made<double>(a.values), b = Made<double>(a.Times(want));
  const auto check = [&](const std::vector<double>& x) {
    EXPECT(Difference(std::vector<double>(x.begin(), x.begin() + a.rows), want) < 1e-12);
    EXPECT(Difference(std::vector<double>(x.begin() + a.rows, x.end()), want) < 1e-12);
  };
  std::vector<double> x(2 * a.rows);
  FactorsHost(session, a, values.data(), a.offsets.data(), a.columns.data(), b.data(), x.data());
  check(x);
  Buffer<double> d_values(values), d_b(b), d_x(2 * a.rows);
  Buffer<int> offsets(a.offsets), columns(a.columns);
  Factors(session, a, d_values, offsets, columns, d_b, d_x);
  check(Solved(d_x));
}

CASE(wrong_calls) {
  const Session session;
  const std::vector<int> offsets{0, 1, 2}, columns{0, 1}, beyond{0, 2}, falling{0, 2, 1};
  const std::vector<double> values{1, 1}, b{1, 1};
  std::vector<double> x(2);
  int singular = 0;
  const auto solve = [&](cusolverSpHandle_t handle, int rows, const std::vector<int>& off, const std::vector<int>& col,
                         int reorder, double* to) {
    return cusolverSpDcsrlsvluHost(handle, rows, 2, session.descriptor, values.data(), off.data(), col.data(), b.data(),
                                   1e-9, reorder, to, &singular);
  };
  SOLVER_OK(solve(session.solver, 2, offsets, columns, 0, x.data()));
  EXPECT_EQ(solve(nullptr, 2, offsets, columns, 0, x.data()), CUSOLVER_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(solve(session.solver, -1, offsets, columns, 0, x.data()), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(solve(session.solver, 2, offsets, beyond, 0, x.data()), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(solve(session.solver, 2, falling, columns, 0, x.data()), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(solve(session.solver, 2, offsets, columns, 4, x.data()), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(solve(session.solver, 2, offsets, columns, 0, nullptr), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusparseSetMatType(session.descriptor, CUSPARSE_MATRIX_TYPE_SYMMETRIC), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(solve(session.solver, 2, offsets, columns, 0, x.data()), CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED);
}
