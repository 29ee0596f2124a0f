// Tests of LAPACK's routines by what they promise: products of factors, residuals of solutions, orthogonality; for all
// types of elements, with columns apart and in batches. They are those of each file that includes this, which says by
// RunRoutine how they are run, in host memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <vector>

#include "wharf/base/random.h"
#include "wharf/device/cuda_error.h"
#include "wharf/device/primitive.h"

namespace wharf::device {

// kNotSupported for what it does not have. Done when it returns.
absl::Status RunRoutine(const Lapack& lapack);

namespace {

constexpr double kUnset = -77;

template <typename T>
struct TypeTraits {
  using Real = T;
  static constexpr ElementType kType = std::is_same_v<T, float> ? ElementType::kF32 : ElementType::kF64;
};
template <typename R>
struct TypeTraits<std::complex<R>> {
  using Real = R;
  static constexpr ElementType kType = std::is_same_v<R, float> ? ElementType::kC32 : ElementType::kC64;
};

using Value = std::complex<double>;

// Column major, with columns `gap` elements further apart than they are long.
template <typename T>
struct Matrix {
  Matrix(int64_t r, int64_t c, int64_t gap = 2)
      : rows(r), columns(c), leading(r + gap), data(static_cast<size_t>(leading * c), T(kUnset)) {}
  T& operator()(int64_t i, int64_t j) { return data[static_cast<size_t>(i + j * leading)]; }
  Value At(int64_t i, int64_t j) const { return Value(data[static_cast<size_t>(i + j * leading)]); }
  LapackOperand Operand() { return {reinterpret_cast<DeviceAddress>(data.data()), leading, 0}; }
  bool KeepsGaps() const {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = rows; i < leading; ++i) {
        if (data[static_cast<size_t>(i + j * leading)] != T(kUnset)) return false;
      }
    }
    return true;
  }

  int64_t rows, columns, leading;
  std::vector<T> data;
};

using Dense = std::vector<std::vector<Value>>;  // by rows

template <typename T>
Dense ToDense(const Matrix<T>& a) {
  Dense d(static_cast<size_t>(a.rows), std::vector<Value>(static_cast<size_t>(a.columns)));
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < a.columns; ++j) d[i][j] = a.At(i, j);
  }
  return d;
}
Dense Times(const Dense& a, const Dense& b) {
  Dense c(a.size(), std::vector<Value>(b.empty() ? 0 : b[0].size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t k = 0; k < b.size(); ++k) {
      for (size_t j = 0; j < b[k].size(); ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  return c;
}
Dense Adjoint(const Dense& a, bool conjugated = true) {
  Dense t(a[0].size(), std::vector<Value>(a.size()));
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < a[i].size(); ++j) t[j][i] = conjugated ? std::conj(a[i][j]) : a[i][j];
  }
  return t;
}
Dense Diagonal(const std::vector<double>& values, size_t rows, size_t columns) {
  Dense d(rows, std::vector<Value>(columns));
  for (size_t i = 0; i < values.size(); ++i) d[i][i] = values[i];
  return d;
}
double Difference(const Dense& a, const Dense& b) {
  double most = a.size() == b.size() ? 0 : 1e9;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i].size() != b[i].size()) return 1e9;
    for (size_t j = 0; j < a[i].size(); ++j) most = std::max(most, std::abs(a[i][j] - b[i][j]));
  }
  return most;
}

bool IsMapped(DeviceAddress, uint64_t) { return true; }

void RunChecked(const Lapack& lapack) {
  const Primitive primitive = lapack;
  ASSERT_EQ(CheckPrimitive(primitive, IsMapped), absl::OkStatus());
  ASSERT_EQ(RunRoutine(lapack), absl::OkStatus());
}

template <typename T>
class LapackTest : public ::testing::Test {
 protected:
  using Real = typename TypeTraits<T>::Real;
  static constexpr bool kComplex = !std::is_same_v<T, Real>;
  const double tolerance_ = std::is_same_v<Real, float> ? 2e-4 : 1e-11;

  T Any() {
    const double re = random_.Uniform() * 2 - 1;
    if constexpr (kComplex) {
      return T(static_cast<Real>(re), static_cast<Real>(random_.Uniform() * 2 - 1));
    } else {
      return static_cast<T>(re);
    }
  }
  Matrix<T> AnyMatrix(int64_t rows, int64_t columns) {
    Matrix<T> a(rows, columns);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) a(i, j) = Any();
    }
    return a;
  }
  // Hermitian; positive definite by `shift`.
  Matrix<T> Hermitian(int64_t n, double shift, bool conjugated = true) {
    Matrix<T> a = AnyMatrix(n, n);
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < j; ++i) a(j, i) = conjugated ? Conjugate(a(i, j)) : a(i, j);
      a(j, j) = T(static_cast<Real>(std::real(a(j, j)) + shift));
    }
    return a;
  }
  static T Conjugate(T value) {
    if constexpr (kComplex) {
      return std::conj(value);
    } else {
      return value;
    }
  }
  // What is not looked at.
  static void Forget(Matrix<T>& a, bool upper_is_kept) {
    for (int64_t j = 0; j < a.columns; ++j) {
      for (int64_t i = 0; i < a.rows; ++i) {
        if (upper_is_kept ? i > j : i < j) a(i, j) = T(std::numeric_limits<Real>::quiet_NaN());
      }
    }
  }
  Lapack Make(LapackRoutine routine, int64_t m, int64_t n, int64_t k = 1) {
    Lapack l;
    l.routine = routine;
    l.type = TypeTraits<T>::kType;
    l.m = m, l.n = n, l.k = k;
    l.info = reinterpret_cast<DeviceAddress>(info_);
    info_[0] = -9;
    return l;
  }
  void Near(const Dense& a, const Dense& b) { EXPECT_LT(Difference(a, b), tolerance_); }
  void IsUnitary(const Dense& q) {
    Near(Times(Adjoint(q), q), Diagonal(std::vector<double>(q[0].size(), 1), q[0].size(), q[0].size()));
  }
  static LapackOperand Of(auto& vector) { return {reinterpret_cast<DeviceAddress>(vector.data()), 1, 0}; }
  static std::vector<double> Doubles(const std::vector<Real>& values) { return {values.begin(), values.end()}; }

  Random random_{7};
  int32_t info_[4] = {};
};

using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LapackTest, Types);

TYPED_TEST(LapackTest, Cholesky) {
  for (const bool upper : {false, true}) {
    auto a = this->Hermitian(9, 8);
    const Dense whole = ToDense(a);
    this->Forget(a, upper);
    auto b = this->AnyMatrix(9, 4);
    const Dense right = ToDense(b);
    Lapack l = this->Make(LapackRoutine::kPotrf, 1, 9);
    l.upper = upper;
    l.operands[0] = a.Operand();
    RunChecked(l);
    EXPECT_EQ(this->info_[0], 0);
    l.routine = LapackRoutine::kPotrs;
    l.k = 4;
    l.operands[1] = b.Operand();
    RunChecked(l);
    this->Near(Times(whole, ToDense(b)), right);
    EXPECT_TRUE(b.KeepsGaps() && a.KeepsGaps());
    l.routine = LapackRoutine::kPotri;
    RunChecked(l);
    Dense inverse = ToDense(a);
    for (size_t i = 0; i < 9; ++i) {
      for (size_t j = 0; j < 9; ++j) {
        if (upper ? i > j : i < j) inverse[i][j] = std::conj(inverse[j][i]);
      }
    }
    this->Near(Times(whole, inverse), Diagonal(std::vector<double>(9, 1), 9, 9));
  }
  auto a = this->Hermitian(5, 8);
  a(2, 2) = -50;
  Lapack l = this->Make(LapackRoutine::kPotrf, 1, 5);
  l.operands[0] = a.Operand();
  RunChecked(l);
  EXPECT_EQ(this->info_[0], 3);  // the minor that is not positive
}

TYPED_TEST(LapackTest, Lu) {
  for (const LapackTranspose transpose :
       {LapackTranspose::kNone, LapackTranspose::kTransposed, LapackTranspose::kConjugated}) {
    for (const int pivots : {0, 4, 8}) {  // their bytes
      auto a = this->Hermitian(7, pivots == 0 ? 9 : 0);
      a(0, 1) += TypeParam(1);
      const Dense whole = ToDense(a);
      auto b = this->AnyMatrix(7, 3);
      const Dense right = ToDense(b);
      std::vector<int64_t> exchanged(7);
      Lapack l = this->Make(LapackRoutine::kGetrf, 7, 7);
      l.operands[0] = a.Operand();
      if (pivots != 0) l.operands[1] = this->Of(exchanged);
      l.wide_pivots = pivots == 8;
      RunChecked(l);
      EXPECT_EQ(this->info_[0], 0);
      l.routine = LapackRoutine::kGetrs;
      l.k = 3;
      l.transpose = transpose;
      l.operands[2] = b.Operand();
      RunChecked(l);
      const Dense op =
          transpose == LapackTranspose::kNone ? whole : Adjoint(whole, transpose == LapackTranspose::kConjugated);
      this->Near(Times(op, ToDense(b)), right);
      EXPECT_TRUE(b.KeepsGaps());
    }
  }
}

TYPED_TEST(LapackTest, SingularMatricesAreTold) {
  for (const bool pivots : {false, true}) {
    Matrix<TypeParam> a(3, 4);
    for (int64_t j = 0; j < 4; ++j) {
      for (int64_t i = 0; i < 3; ++i) a(i, j) = TypeParam(i == j && i != 1 ? 2 : 0);
    }
    std::vector<int32_t> exchanged(3);
    Lapack l = this->Make(LapackRoutine::kGetrf, 3, 4);
    l.operands[0] = a.Operand();
    if (pivots) l.operands[1] = this->Of(exchanged);
    RunChecked(l);
    EXPECT_EQ(this->info_[0], 2);
  }
}

// As a stranger's kernel may have left them.
TYPED_TEST(LapackTest, PivotsThatCannotBeGiveNoNumbers) {
  for (const LapackRoutine routine : {LapackRoutine::kGetrs, LapackRoutine::kSytrs}) {
    for (const std::vector<int64_t>& pivots :
         {std::vector<int64_t>{1, 2, 1'000'000'000}, {0, 1, 2}, {1, 2, -3}, {-1, 2, 3}, {1, 1 - (1LL << 32), 2}}) {
      auto a = this->Hermitian(3, 4);
      auto b = this->AnyMatrix(3, 2);
      Lapack l = this->Make(routine, 1, 3, 2);
      l.wide_pivots = true;
      l.operands = {a.Operand(), {reinterpret_cast<DeviceAddress>(pivots.data()), 1, 0}, b.Operand(), {}};
      RunChecked(l);
      EXPECT_TRUE(std::isnan(std::real(b(0, 0))));
      EXPECT_TRUE(b.KeepsGaps());
    }
  }
}

TYPED_TEST(LapackTest, Symmetric) {
  for (const bool upper : {false, true}) {
    for (int round = 0; round < 8; ++round) {
      auto a = this->Hermitian(6, 0, false);
      for (int64_t i = 0; i < 6; ++i) a(i, i) = TypeParam(0);  // blocks of two
      const Dense whole = ToDense(a);
      auto b = this->AnyMatrix(6, 2);
      const Dense right = ToDense(b);
      std::vector<int32_t> pivots(6);
      std::vector<int64_t> wide(6);
      Lapack l = this->Make(LapackRoutine::kSytrf, 1, 6, 2);
      l.upper = upper;
      l.operands = {a.Operand(), this->Of(pivots), b.Operand(), {}};
      RunChecked(l);
      ASSERT_EQ(this->info_[0], 0);
      EXPECT_LT(*std::min_element(pivots.begin(), pivots.end()), 0);
      l.routine = LapackRoutine::kSytrs;
      std::copy(pivots.begin(), pivots.end(), wide.begin());
      l.operands[1] = this->Of(wide);
      l.wide_pivots = true;
      RunChecked(l);
      EXPECT_LT(Difference(Times(whole, ToDense(b)), right), 10 * this->tolerance_);
    }
  }
}

TYPED_TEST(LapackTest, Qr) {
  using Real = typename TestFixture::Real;
  auto a = this->AnyMatrix(8, 5);
  const Dense whole = ToDense(a);
  std::vector<TypeParam> tau(5);
  Lapack l = this->Make(LapackRoutine::kGeqrf, 8, 5);
  l.operands[0] = a.Operand(), l.operands[1] = this->Of(tau);
  RunChecked(l);
  EXPECT_EQ(this->info_[0], 0);
  Dense r = ToDense(a);
  r.resize(5);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < i; ++j) r[i][j] = 0;
  }
  auto q = a;
  Lapack make_q = this->Make(LapackRoutine::kOrgqr, 8, 5, 5);
  make_q.operands[0] = q.Operand(), make_q.operands[1] = this->Of(tau);
  RunChecked(make_q);
  this->IsUnitary(ToDense(q));
  this->Near(Times(ToDense(q), r), whole);
  // Q' A = R, and (A' Q) = R'.
  for (const bool right : {false, true}) {
    Matrix<TypeParam> c(right ? 5 : 8, right ? 8 : 5);
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        const Value value = right ? std::conj(whole[i][j]) : whole[i][j];
        TypeParam& to = right ? c(j, i) : c(i, j);
        if constexpr (TestFixture::kComplex) {
          to = TypeParam(static_cast<Real>(value.real()), static_cast<Real>(value.imag()));
        } else {
          to = static_cast<Real>(value.real());
        }
      }
    }
    Lapack multiply = this->Make(LapackRoutine::kOrmqr, c.rows, c.columns, 5);
    multiply.right = right;
    multiply.transpose = right ? LapackTranspose::kNone : LapackTranspose::kConjugated;
    multiply.operands = {a.Operand(), this->Of(tau), c.Operand(), {}};
    RunChecked(multiply);
    Dense product = right ? Adjoint(ToDense(c)) : ToDense(c);
    product.resize(5);
    this->Near(product, r);
    EXPECT_TRUE(c.KeepsGaps());
  }
}

TYPED_TEST(LapackTest, SingularValues) {
  using Real = typename TestFixture::Real;
  for (const LapackRoutine routine : {LapackRoutine::kGesvd, LapackRoutine::kGesvdj}) {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{7, 4}, {4, 7}, {5, 5}}) {
      for (const LapackVectors vectors : {LapackVectors::kAll, LapackVectors::kThin, LapackVectors::kNone}) {
        auto a = this->AnyMatrix(m, n);
        const Dense whole = ToDense(a);
        const int64_t least = std::min(m, n), kept_u = vectors == LapackVectors::kAll ? m : least,
                      kept_v = vectors == LapackVectors::kAll ? n : least;
        const bool jacobi = routine == LapackRoutine::kGesvdj;
        Matrix<TypeParam> u(m, kept_u), v(jacobi ? n : kept_v, jacobi ? kept_v : n);
        std::vector<Real> s(static_cast<size_t>(least));
        Lapack l = this->Make(routine, m, n);
        l.left = l.right_vectors = vectors;
        l.operands = {a.Operand(), this->Of(s), u.Operand(), v.Operand()};
        if (m < n && CudaErrorOf(RunRoutine(l)) == CudaError::kNotSupported) continue;  // as cuSOLVER
        if (m >= n) RunChecked(l);
        EXPECT_EQ(this->info_[0], 0);
        EXPECT_TRUE(std::is_sorted(s.rbegin(), s.rend()));
        double squares = 0, of_a = 0;
        for (const Real value : s) squares += double{value} * value;
        for (const auto& row : whole) {
          for (const Value value : row) of_a += std::norm(value);
        }
        EXPECT_NEAR(squares, of_a, 10 * this->tolerance_ * of_a);
        if (vectors == LapackVectors::kNone) continue;
        EXPECT_TRUE(u.KeepsGaps() && v.KeepsGaps());
        const Dense vt = jacobi ? Adjoint(ToDense(v)) : ToDense(v);
        this->IsUnitary(ToDense(u));
        this->IsUnitary(Adjoint(vt));
        const Dense diagonal = Diagonal(this->Doubles(s), static_cast<size_t>(kept_u), static_cast<size_t>(kept_v));
        this->Near(Times(Times(ToDense(u), diagonal), vt), whole);
      }
    }
  }
}

TYPED_TEST(LapackTest, SingularVectorsTakeTheMatrixsPlace) {
  using Real = typename TestFixture::Real;
  auto a = this->AnyMatrix(6, 4);
  const Dense whole = ToDense(a);
  Matrix<TypeParam> vt(4, 4);
  std::vector<Real> s(4);
  Lapack l = this->Make(LapackRoutine::kGesvd, 6, 4);
  l.left = LapackVectors::kOverwritten;
  l.right_vectors = LapackVectors::kAll;
  l.operands = {a.Operand(), this->Of(s), {}, vt.Operand()};
  RunChecked(l);
  this->Near(Times(Times(ToDense(a), Diagonal(this->Doubles(s), 4, 4)), ToDense(vt)), whole);
}

TYPED_TEST(LapackTest, SymmetricEigenvalues) {
  using Real = typename TestFixture::Real;
  for (const bool upper : {false, true}) {
    for (const LapackRoutine routine : {LapackRoutine::kSyevd, LapackRoutine::kSyevj, LapackRoutine::kSygvd}) {
      auto a = this->Hermitian(8, 0), b = this->Hermitian(8, 9);
      const Dense whole = ToDense(a), metric = ToDense(b);
      this->Forget(a, upper);
      this->Forget(b, upper);
      std::vector<Real> w(8);
      const bool general = routine == LapackRoutine::kSygvd;
      Lapack l = this->Make(routine, 1, 8);
      l.upper = upper;
      l.left = l.right_vectors = LapackVectors::kAll;
      l.operands = {a.Operand(), general ? b.Operand() : this->Of(w), this->Of(w), {}};
      RunChecked(l);
      EXPECT_EQ(this->info_[0], 0);
      EXPECT_TRUE(std::is_sorted(w.begin(), w.end()));
      const Dense vectors = ToDense(a), scaled = Times(vectors, Diagonal(this->Doubles(w), 8, 8));
      this->Near(Times(whole, vectors), general ? Times(metric, scaled) : scaled);
    }
  }
}

TYPED_TEST(LapackTest, Eigenvalues) {
  using Real = typename TestFixture::Real;
  auto a = this->AnyMatrix(6, 6);
  const Dense whole = ToDense(a);
  Matrix<TypeParam> right(6, 6);
  std::vector<std::complex<Real>> w(6);
  Lapack l = this->Make(LapackRoutine::kGeev, 1, 6);
  l.right_vectors = LapackVectors::kAll;
  l.operands = {a.Operand(), this->Of(w), {}, right.Operand()};
  RunChecked(l);
  EXPECT_EQ(this->info_[0], 0);
  // Of real matrices pairs of vectors have the real and the imaginary parts.
  Dense vectors = ToDense(right), values(6, std::vector<Value>(6));
  for (size_t j = 0; j < 6; ++j) {
    values[j][j] = Value(w[j]);
    if (TestFixture::kComplex || w[j].imag() <= 0) continue;
    for (auto& row : vectors) {
      const Value re = row[j], im = row[j + 1];
      row[j] = re + Value(0, 1) * im;
      row[j + 1] = re - Value(0, 1) * im;
    }
  }
  this->Near(Times(whole, vectors), Times(vectors, values));
}

TYPED_TEST(LapackTest, BatchesAndWhatIsNoNumber) {
  using Real = typename TestFixture::Real;
  std::vector<TypeParam> a(3 * 20, TypeParam(kUnset));
  std::vector<Real> w(3 * 4);
  Dense first(4, std::vector<Value>(4));
  for (size_t member = 0; member < 3; ++member) {
    const auto matrix = this->Hermitian(4, 0);
    if (member == 0) first = ToDense(matrix);
    for (int64_t j = 0; j < 4; ++j) {
      for (int64_t i = 0; i < 4; ++i) {
        a[member * 20 + static_cast<size_t>(i + j * 5)] = matrix.data[static_cast<size_t>(i + j * matrix.leading)];
      }
    }
  }
  a[20 + 2] = TypeParam(std::numeric_limits<Real>::infinity());
  Lapack l = this->Make(LapackRoutine::kSyevj, 1, 4);
  l.batch = 3;
  l.left = l.right_vectors = LapackVectors::kAll;
  l.operands[0] = {reinterpret_cast<DeviceAddress>(a.data()), 5, 20};
  l.operands[1] = {reinterpret_cast<DeviceAddress>(w.data()), 1, 4};
  RunChecked(l);
  EXPECT_EQ(this->info_[0], 0);
  EXPECT_GT(this->info_[1], 0);
  EXPECT_EQ(this->info_[2], 0);
  EXPECT_TRUE(std::isnan(w[4]));
  double trace = 0;
  for (size_t i = 0; i < 4; ++i) trace += w[i] - first[i][i].real();
  EXPECT_NEAR(trace, 0, this->tolerance_);
  for (size_t i = 4; i < a.size(); i += 5) EXPECT_EQ(a[i], TypeParam(kUnset));
}

}  // namespace
}  // namespace wharf::device
