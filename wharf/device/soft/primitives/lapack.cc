// LAPACK's routines. They work on copies: what is a pivot of a factorization, or a number that an iteration trusts to
// be one, could be changed by other streams in the program's memory.
#include <cmath>
#include <limits>
#include <optional>

#include "wharf/device/cuda_error.h"
#include "wharf/device/soft/primitives/lapack_routines.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace wharf::device::soft {
namespace {

using routines::kIsComplex;
using routines::Real;

bool IsFinite(float value) { return std::isfinite(value); }
bool IsFinite(double value) { return std::isfinite(value); }
template <typename R>
bool IsFinite(std::complex<R> value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

template <typename T>
T Conjugate(T value) {
  if constexpr (kIsComplex<T>) {
    return std::conj(value);
  } else {
    return value;
  }
}

char JobOf(LapackVectors what) {
  switch (what) {
    case LapackVectors::kAll:
      return 'A';
    case LapackVectors::kThin:
      return 'S';
    case LapackVectors::kOverwritten:
      return 'O';
    default:
      return 'N';
  }
}

// One of the batch. T is the elements' type.
template <typename T>
class LapackRun {
 public:
  using R = Real<T>;
  LapackRun(const Lapack& lapack, int64_t member) : l_(lapack), member_(member), parts_(PartsOf(lapack)) {}

  void Run() {
    const int info = Compute();
    if (l_.info != 0) reinterpret_cast<int32_t*>(l_.info)[member_] = info;
  }

 private:
  const LapackPart* PartOf(int operand) const {
    for (const LapackPart& part : parts_) {
      if (part.operand == operand) return &part;
    }
    return nullptr;
  }
  template <typename E>
  E* Column(const LapackPart& part, int64_t column) const {
    const LapackOperand& operand = l_.operands[static_cast<size_t>(part.operand)];
    return reinterpret_cast<E*>(operand.address) + member_ * operand.stride + column * operand.leading;
  }
  // An operand's elements, its columns one behind the other; none, of one that there is not.
  template <typename E>
  std::vector<E> Load(int operand) const {
    const LapackPart* const part = PartOf(operand);
    if (part == nullptr) return {};
    std::vector<E> data(static_cast<size_t>(part->rows * part->columns));
    if (!part->read) return data;
    for (int64_t j = 0; j < part->columns; ++j) {
      std::copy_n(Column<E>(*part, j), part->rows, data.data() + j * part->rows);
    }
    return data;
  }
  template <typename E>
  void Store(int operand, const std::vector<E>& data) const {
    const LapackPart* const part = PartOf(operand);
    if (part == nullptr) return;
    for (int64_t j = 0; j < part->columns; ++j) {
      std::copy_n(data.data() + j * part->rows, part->rows, Column<E>(*part, j));
    }
  }

  std::vector<int> LoadPivots(int64_t count) const {
    std::vector<int> pivots(static_cast<size_t>(count));
    if (PartOf(1) == nullptr) {
      for (size_t i = 0; i < pivots.size(); ++i) pivots[i] = static_cast<int>(i + 1);
    } else if (l_.wide_pivots) {
      const std::vector<int64_t> wide = Load<int64_t>(1);
      // Those that no matrix has become 0, which none is.
      for (size_t i = 0; i < pivots.size(); ++i) {
        pivots[i] = std::abs(static_cast<double>(wide[i])) <= static_cast<double>(kLongestLapack)
                        ? static_cast<int>(wide[i])
                        : 0;
      }
    } else {
      pivots = Load<int32_t>(1);
    }
    return pivots;
  }
  void StorePivots(const std::vector<int>& pivots) const {
    if (l_.wide_pivots) {
      Store(1, std::vector<int64_t>(pivots.begin(), pivots.end()));
    } else {
      Store(1, pivots);
    }
  }

  // What is looked at of a matrix: all of it, or the triangle that is given.
  bool AllFinite(const std::vector<T>& a, int64_t rows, bool triangle) const {
    for (size_t e = 0; e < a.size(); ++e) {
      const int64_t i = static_cast<int64_t>(e) % rows, j = static_cast<int64_t>(e) / rows;
      if (triangle && (l_.upper ? i > j : i < j)) continue;
      if (!IsFinite(a[e])) return false;
    }
    return true;
  }
  // What an iteration that found no end leaves.
  template <typename... E>
  static void Spoil(std::vector<E>&... results) {
    (std::fill(results.begin(), results.end(), E(std::numeric_limits<Real<E>>::quiet_NaN())), ...);
  }

  int Compute() {
    switch (l_.routine) {
      case LapackRoutine::kPotrf:
      case LapackRoutine::kPotri:
        return InPlace([&](T* a) {
          return l_.routine == LapackRoutine::kPotrf ? routines::Potrf(uplo_, n_, a) : routines::Potri(uplo_, n_, a);
        });
      case LapackRoutine::kPotrs:
        return Solve(1, [&](const T* a, T* b) { return routines::Potrs(uplo_, n_, k_, a, b); });
      case LapackRoutine::kGetrs:
        return SolveByLu();
      case LapackRoutine::kSytrs:
        return SolveBySymmetric();
      case LapackRoutine::kGetrf:
        return FactorLu();
      case LapackRoutine::kSytrf:
        return FactorSymmetric();
      case LapackRoutine::kGeqrf: {
        std::vector<T> tau = Load<T>(1);
        const int info = InPlace([&](T* a) { return routines::Geqrf(m_, n_, a, tau.data()); });
        Store(1, tau);
        return info;
      }
      case LapackRoutine::kOrgqr: {
        const std::vector<T> tau = Load<T>(1);
        return InPlace([&](T* a) { return routines::Orgqr(m_, n_, k_, a, tau.data()); });
      }
      case LapackRoutine::kOrmqr:
        return MultiplyByQ();
      case LapackRoutine::kGesvd:
      case LapackRoutine::kGesvdj:
        return SingularValues();
      case LapackRoutine::kSyevd:
      case LapackRoutine::kSyevj:
      case LapackRoutine::kSygvd:
        return SymmetricEigenvalues();
      case LapackRoutine::kGeev:
        return Eigenvalues();
    }
    return 0;
  }

  template <typename Body>
  int InPlace(Body&& body) const {
    std::vector<T> a = Load<T>(0);
    const int info = body(a.data());
    Store(0, a);
    return std::max(info, 0);
  }
  template <typename Body>
  int Solve(int right, Body&& body) const {
    const std::vector<T> a = Load<T>(0);
    std::vector<T> b = Load<T>(right);
    const int info = body(a.data(), b.data());
    Store(right, b);
    return std::max(info, 0);
  }

  // Pivots that no factorization makes solve nothing: what is not a number.
  template <typename Body>
  int SolveWith(bool sound, Body&& body) const {
    if (sound) return Solve(2, body);
    std::vector<T> b = Load<T>(2);
    Spoil(b);
    Store(2, b);
    return 0;
  }
  int SolveByLu() const {
    const std::vector<int> pivots = LoadPivots(l_.n);
    const bool sound = std::all_of(pivots.begin(), pivots.end(), [this](int p) { return p >= 1 && p <= n_; });
    const char transpose = l_.transpose == LapackTranspose::kNone         ? 'N'
                           : l_.transpose == LapackTranspose::kTransposed ? 'T'
                                                                          : 'C';
    return SolveWith(sound, [&](const T* a, T* b) { return routines::Getrs(transpose, n_, k_, a, pivots.data(), b); });
  }
  int SolveBySymmetric() const {
    const std::vector<int> pivots = LoadPivots(l_.n);
    return SolveWith(AreOfBlocks(pivots),
                     [&](const T* a, T* b) { return routines::Sytrs(uplo_, n_, k_, a, pivots.data(), b); });
  }
  // Negative ones come in pairs, from the end that the solver starts at in either direction.
  bool AreOfBlocks(const std::vector<int>& pivots) const {
    const auto n = static_cast<int64_t>(pivots.size());
    for (const int pivot : pivots) {
      if (pivot == 0 || pivot > n || pivot < -n) return false;
    }
    for (int64_t i = 0; i < n; ++i) {
      if (pivots[static_cast<size_t>(i)] > 0) continue;
      if (i + 1 == n || pivots[static_cast<size_t>(i + 1)] > 0) return false;
      ++i;
    }
    return true;
  }

  int FactorLu() const {
    if (PartOf(1) == nullptr) return InPlace([this](T* a) { return FactorWithoutPivots(a); });
    std::vector<int> pivots(static_cast<size_t>(l_.Least()));
    const int info = InPlace([&](T* a) { return routines::Getrf(m_, n_, a, pivots.data()); });
    StorePivots(pivots);
    return info;
  }
  int FactorWithoutPivots(T* a) const {
    int info = 0;
    for (int64_t p = 0; p < l_.Least(); ++p) {
      T* const pivot_column = a + p * l_.m;
      if (pivot_column[p] == T(0)) {
        if (info == 0) info = static_cast<int>(p + 1);
        continue;
      }
      for (int64_t i = p + 1; i < l_.m; ++i) pivot_column[i] /= pivot_column[p];
      for (int64_t j = p + 1; j < l_.n; ++j) {
        T* const column = a + j * l_.m;
        for (int64_t i = p + 1; i < l_.m; ++i) column[i] -= pivot_column[i] * column[p];
      }
    }
    return info;
  }
  int FactorSymmetric() const {
    std::vector<int> pivots(static_cast<size_t>(l_.n));
    const int info = InPlace([&](T* a) { return routines::Sytrf(uplo_, n_, a, pivots.data()); });
    StorePivots(pivots);
    return info;
  }

  int MultiplyByQ() const {
    const std::vector<T> tau = Load<T>(1);
    const char transposed = kIsComplex<T> ? 'C' : 'T';
    return Solve(2, [&](const T* a, T* c) {
      return routines::Ormqr(l_.right ? 'R' : 'L', l_.transpose == LapackTranspose::kNone ? 'N' : transposed, m_, n_,
                             k_, a, l_.right ? n_ : m_, tau.data(), c);
    });
  }

  int SingularValues() const {
    std::vector<T> a = Load<T>(0), u = Load<T>(2), v = Load<T>(3);
    std::vector<R> s = Load<R>(1);
    const LapackPart* const v_part = PartOf(3);
    const bool transposed = l_.routine == LapackRoutine::kGesvdj;
    const int vt_rows = v_part == nullptr ? 1 : static_cast<int>(transposed ? v_part->columns : v_part->rows);
    int info = m_ < n_ ? m_ : n_;
    if (AllFinite(a, l_.m, false)) {
      const bool alike = l_.left == l_.right_vectors;
      info = alike ? routines::Gesdd(JobOf(l_.left), m_, n_, a.data(), s.data(), u.data(), v.data(), vt_rows)
                   : routines::Gesvd(JobOf(l_.left), JobOf(l_.right_vectors), m_, n_, a.data(), s.data(), u.data(),
                                     v.data(), vt_rows);
    } else {
      Spoil(a, s, u, v);
    }
    Store(0, a);
    Store(1, s);
    Store(2, u);
    Store(3, transposed ? Transposed(v, vt_rows) : v);
    return std::max(info, 0);
  }
  // And conjugated.
  static std::vector<T> Transposed(const std::vector<T>& matrix, int64_t rows) {
    const int64_t columns = static_cast<int64_t>(matrix.size()) / rows;
    std::vector<T> result(matrix.size());
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        result[static_cast<size_t>(j + i * columns)] = Conjugate(matrix[static_cast<size_t>(i + j * rows)]);
      }
    }
    return result;
  }

  int SymmetricEigenvalues() const {
    const bool general = l_.routine == LapackRoutine::kSygvd;
    std::vector<T> a = Load<T>(0);
    std::vector<T> b = general ? Load<T>(1) : std::vector<T>();
    std::vector<R> w = Load<R>(general ? 2 : 1);
    const char job = l_.left == LapackVectors::kNone ? 'N' : 'V';
    int info = n_;
    if (AllFinite(a, l_.n, true) && AllFinite(b, l_.n, true)) {
      info = general ? routines::Sygvd(k_, job, uplo_, n_, a.data(), b.data(), w.data())
                     : routines::Syevd(job, uplo_, n_, a.data(), w.data());
    } else {
      Spoil(a, w);
    }
    Store(0, a);
    if (general) Store(1, b);
    Store(general ? 2 : 1, w);
    return std::max(info, 0);
  }

  int Eigenvalues() const {
    std::vector<T> a = Load<T>(0), left = Load<T>(2), right = Load<T>(3);
    std::vector<std::complex<R>> w = Load<std::complex<R>>(1);
    int info = n_;
    if (AllFinite(a, l_.n, false)) {
      info = routines::Geev(left.empty() ? 'N' : 'V', right.empty() ? 'N' : 'V', n_, a.data(), w.data(), left.data(),
                            right.data());
    } else {
      Spoil(a, w, left, right);
    }
    Store(0, a);
    Store(1, w);
    Store(2, left);
    Store(3, right);
    return std::max(info, 0);
  }

  const Lapack& l_;
  const int64_t member_;
  const std::vector<LapackPart> parts_;
  const int m_ = static_cast<int>(l_.m), n_ = static_cast<int>(l_.n), k_ = static_cast<int>(l_.k);
  const char uplo_ = l_.upper ? 'U' : 'L';
};

template <typename T>
void RunMembers(const Lapack& lapack) {
  for (int64_t member = 0; member < lapack.batch; ++member) LapackRun<T>(lapack, member).Run();
}

// Routines whose working memory is counted in 32 bits, and grows with the square of the sizes.
bool Iterates(LapackRoutine routine) {
  switch (routine) {
    case LapackRoutine::kGesvd:
    case LapackRoutine::kGesvdj:
    case LapackRoutine::kSyevd:
    case LapackRoutine::kSyevj:
    case LapackRoutine::kSygvd:
    case LapackRoutine::kGeev:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status CheckLapackLimits(const Lapack& l) {
  constexpr int64_t kMostOfIterations = 20'000, kMost = 1 << 24;
  const int64_t most = Iterates(l.routine) ? kMostOfIterations : kMost;
  for (const LapackPart& part : PartsOf(l)) {
    const int64_t size = std::max(part.rows, part.columns);
    if (size <= most) continue;
    return CudaStatus(CudaError::kNotSupported, "{}: {} of size {} is too large for the software device",
                      NameOf(l.routine), part.name, size);
  }
  return absl::OkStatus();
}

void RunLapack(const Lapack& lapack) {
  switch (lapack.type) {
    case ElementType::kF32:
      return RunMembers<float>(lapack);
    case ElementType::kF64:
      return RunMembers<double>(lapack);
    case ElementType::kC32:
      return RunMembers<std::complex<float>>(lapack);
    default:
      return RunMembers<std::complex<double>>(lapack);
  }
}

}  // namespace wharf::device::soft
