#include "wharf/device/lapack.h"

#include <algorithm>

#include "wharf/device/cuda_error.h"

namespace wharf::device {
namespace {

using Huge = __int128;

// What addresses are made of stays below.
constexpr int64_t kMostApart = int64_t{1} << 58;
constexpr LapackRoutine kLastRoutine = LapackRoutine::kGeev;

uint64_t RealBytes(const Lapack& l) { return l.IsDouble() ? 8 : 4; }

// The parts of one routine, one after the other.
class Parts {
 public:
  explicit Parts(const Lapack& lapack) : l_(lapack) {}

  Parts& Matrix(const char* name, int64_t rows, int64_t columns, bool read, bool written) {
    return Add(name, ElementBytes(l_.type), RealBytes(l_), rows, columns, read, written);
  }
  Parts& Reals(const char* name, int64_t count) {
    return Add(name, RealBytes(l_), RealBytes(l_), count, 1, false, true);
  }
  Parts& Vector(const char* name, int64_t count, bool written) { return Matrix(name, count, 1, !written, written); }
  Parts& Complexes(const char* name, int64_t count) {
    return Add(name, 2 * RealBytes(l_), RealBytes(l_), count, 1, false, true);
  }
  Parts& Pivots(int64_t count, bool written) {
    if (l_.operands[static_cast<size_t>(next_)].address == 0) return Skip();
    const uint64_t bytes = l_.wide_pivots ? 8 : 4;
    return Add("the pivots", bytes, bytes, count, 1, !written, written);
  }
  Parts& Vectors(const char* name, LapackVectors what, int64_t rows, int64_t columns) {
    if (what == LapackVectors::kNone || what == LapackVectors::kOverwritten) return Skip();
    return Matrix(name, rows, columns, false, true);
  }
  Parts& Skip() {
    ++next_;
    return *this;
  }
  std::vector<LapackPart> Take() { return std::move(parts_); }

 private:
  Parts& Add(const char* name, uint64_t bytes, uint64_t aligned_to, int64_t rows, int64_t columns, bool read,
             bool written) {
    parts_.push_back({name, next_++, bytes, aligned_to, rows, columns, read, written});
    return *this;
  }

  const Lapack& l_;
  int next_ = 0;
  std::vector<LapackPart> parts_;
};

bool HasRows(LapackRoutine routine) {
  switch (routine) {
    case LapackRoutine::kGetrf:
    case LapackRoutine::kGeqrf:
    case LapackRoutine::kOrmqr:
    case LapackRoutine::kOrgqr:
    case LapackRoutine::kGesvd:
    case LapackRoutine::kGesvdj:
      return true;
    default:
      return false;
  }
}
bool HasThird(LapackRoutine routine) {
  switch (routine) {
    case LapackRoutine::kPotrs:
    case LapackRoutine::kGetrs:
    case LapackRoutine::kSytrs:
    case LapackRoutine::kOrmqr:
    case LapackRoutine::kOrgqr:
    case LapackRoutine::kSygvd:
      return true;
    default:
      return false;
  }
}

absl::Status CheckSizes(const Lapack& l) {
  const auto check = [](const char* name, int64_t size) {
    if (size >= 1 && size <= kLongestLapack) return absl::OkStatus();
    return CudaStatus(CudaError::kInvalidValue, "{} is {}", name, size);
  };
  WHARF_RETURN_IF_ERROR(check("n", l.n));
  if (HasRows(l.routine)) WHARF_RETURN_IF_ERROR(check("m", l.m));
  if (HasThird(l.routine)) WHARF_RETURN_IF_ERROR(check("k", l.k));
  WHARF_RETURN_IF_ERROR(check("the batch", l.batch));
  bool fits = true;
  if (l.routine == LapackRoutine::kOrmqr) fits = l.k <= (l.right ? l.n : l.m);
  if (l.routine == LapackRoutine::kOrgqr) fits = l.n <= l.m && l.k <= l.n;
  if (l.routine == LapackRoutine::kSygvd) fits = l.k <= 3;
  if (!fits) return CudaStatus(CudaError::kInvalidValue, "m, n and k are {}, {} and {}", l.m, l.n, l.k);
  return absl::OkStatus();
}

absl::Status CheckFlags(const Lapack& l) {
  const bool known_type = l.type == ElementType::kF32 || l.type == ElementType::kF64 || l.IsComplex();
  if (!known_type) return CudaStatus(CudaError::kNotSupported, "a type that none computes");
  if (l.transpose > LapackTranspose::kConjugated || l.left > LapackVectors::kOverwritten ||
      l.right_vectors > LapackVectors::kOverwritten) {
    return CudaStatus(CudaError::kNotSupported, "there is no such kind of vectors, or of transposing");
  }
  const bool both = l.left == LapackVectors::kOverwritten && l.right_vectors == LapackVectors::kOverwritten;
  const bool overwrites = l.left == LapackVectors::kOverwritten || l.right_vectors == LapackVectors::kOverwritten;
  if (both || (overwrites && l.routine != LapackRoutine::kGesvd)) {
    return CudaStatus(CudaError::kInvalidValue, "vectors cannot take the matrix's place");
  }
  if (l.routine == LapackRoutine::kGesvdj && l.left != l.right_vectors) {
    return CudaStatus(CudaError::kInvalidValue, "left and right vectors of other kinds");
  }
  // Of complex ones the transpose of Q is none of what Q's reflectors give.
  if (l.routine == LapackRoutine::kOrmqr && l.IsComplex() && l.transpose == LapackTranspose::kTransposed) {
    return CudaStatus(CudaError::kInvalidValue, "a complex Q can only be conjugated");
  }
  return absl::OkStatus();
}

absl::Status CheckPlace(const Lapack& l, const LapackPart& part) {
  const LapackOperand& operand = l.operands[static_cast<size_t>(part.operand)];
  if (operand.address == 0) return CudaStatus(CudaError::kInvalidValue, "{} is not there", part.name);
  if (part.columns > 1 && (operand.leading < part.rows || operand.leading > kMostApart)) {
    return CudaStatus(CudaError::kInvalidValue, "{} has {} rows, and columns {} apart", part.name, part.rows,
                      operand.leading);
  }
  const Huge extent = part.rows + Huge{part.columns - 1} * operand.leading;
  if (extent > kMostApart) return CudaStatus(CudaError::kInvalidValue, "{} is larger than memory can be", part.name);
  if (l.batch == 1) return absl::OkStatus();
  if (operand.stride < 0 || operand.stride > kMostApart || extent + Huge{l.batch - 1} * operand.stride > kMostApart) {
    return CudaStatus(CudaError::kInvalidValue, "{} is larger than memory can be", part.name);
  }
  if (operand.stride < extent) {
    return CudaStatus(CudaError::kNotSupported, "members of the batch share memory in {}", part.name);
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<LapackPart> PartsOf(const Lapack& l) {
  Parts parts(l);
  const int64_t least = l.Least();
  switch (l.routine) {
    case LapackRoutine::kPotrf:
    case LapackRoutine::kPotri:
      return parts.Matrix("A", l.n, l.n, true, true).Take();
    case LapackRoutine::kPotrs:
      return parts.Matrix("A", l.n, l.n, true, false).Matrix("B", l.n, l.k, true, true).Take();
    case LapackRoutine::kGetrf:
      return parts.Matrix("A", l.m, l.n, true, true).Pivots(least, true).Take();
    case LapackRoutine::kGetrs:
    case LapackRoutine::kSytrs:
      return parts.Matrix("A", l.n, l.n, true, false).Pivots(l.n, false).Matrix("B", l.n, l.k, true, true).Take();
    case LapackRoutine::kGeqrf:
      return parts.Matrix("A", l.m, l.n, true, true).Vector("tau", least, true).Take();
    case LapackRoutine::kOrmqr:
      return parts.Matrix("A", l.right ? l.n : l.m, l.k, true, false)
          .Vector("tau", l.k, false)
          .Matrix("C", l.m, l.n, true, true)
          .Take();
    case LapackRoutine::kOrgqr:
      return parts.Matrix("A", l.m, l.n, true, true).Vector("tau", l.k, false).Take();
    case LapackRoutine::kSytrf:
      return parts.Matrix("A", l.n, l.n, true, true).Pivots(l.n, true).Take();
    case LapackRoutine::kGesvd:
      return parts.Matrix("A", l.m, l.n, true, true)
          .Reals("S", least)
          .Vectors("U", l.left, l.m, l.left == LapackVectors::kThin ? least : l.m)
          .Vectors("V'", l.right_vectors, l.right_vectors == LapackVectors::kThin ? least : l.n, l.n)
          .Take();
    case LapackRoutine::kGesvdj:
      return parts.Matrix("A", l.m, l.n, true, true)
          .Reals("S", least)
          .Vectors("U", l.left, l.m, l.left == LapackVectors::kThin ? least : l.m)
          .Vectors("V", l.left, l.n, l.left == LapackVectors::kThin ? least : l.n)
          .Take();
    case LapackRoutine::kSyevd:
    case LapackRoutine::kSyevj:
      return parts.Matrix("A", l.n, l.n, true, true).Reals("W", l.n).Take();
    case LapackRoutine::kSygvd:
      return parts.Matrix("A", l.n, l.n, true, true).Matrix("B", l.n, l.n, true, true).Reals("W", l.n).Take();
    case LapackRoutine::kGeev:
      return parts.Matrix("A", l.n, l.n, true, true)
          .Complexes("W", l.n)
          .Vectors("left vectors", l.left, l.n, l.n)
          .Vectors("right vectors", l.right_vectors, l.n, l.n)
          .Take();
  }
  return {};
}

int64_t ExtentOf(const Lapack& l, const LapackPart& part) {
  const LapackOperand& operand = l.operands[static_cast<size_t>(part.operand)];
  return part.rows + (part.columns - 1) * operand.leading + (l.batch - 1) * operand.stride;
}

double StepsOf(const Lapack& l) {
  const auto m = static_cast<double>(HasRows(l.routine) ? l.m : l.n), n = static_cast<double>(l.n);
  const auto k = static_cast<double>(l.k), least = std::min(m, n);
  double steps = 0;
  switch (l.routine) {
    case LapackRoutine::kPotrf:
      steps = n * n * n / 6;
      break;
    case LapackRoutine::kPotrs:
    case LapackRoutine::kGetrs:
    case LapackRoutine::kSytrs:
      steps = n * n * k;
      break;
    case LapackRoutine::kOrmqr:
      steps = 2 * m * n * k;
      break;
    case LapackRoutine::kSytrf:
      steps = n * n * n / 3;
      break;
    case LapackRoutine::kGesvd:
    case LapackRoutine::kGesvdj:
      steps = 10 * m * n * least;
      break;
    case LapackRoutine::kSyevd:
    case LapackRoutine::kSyevj:
    case LapackRoutine::kSygvd:
      steps = 6 * n * n * n;
      break;
    case LapackRoutine::kGeev:
      steps = 15 * n * n * n;
      break;
    default:
      steps = m * n * least;
  }
  return static_cast<double>(l.batch) * (l.IsComplex() ? 4 : 1) * (steps + 64);
}

const char* NameOf(LapackRoutine routine) {
  constexpr const char* kNames[] = {"potrf", "potrs", "potri", "getrf",  "getrs", "geqrf", "ormqr", "orgqr",
                                    "sytrf", "sytrs", "gesvd", "gesvdj", "syevd", "syevj", "sygvd", "geev"};
  return routine <= kLastRoutine ? kNames[static_cast<size_t>(routine)] : "an unknown routine";
}

absl::Status CheckShape(const Lapack& l) {
  if (l.routine > kLastRoutine) {
    return CudaStatus(CudaError::kNotSupported, "there is no kind {}", static_cast<int>(l.routine));
  }
  WHARF_RETURN_IF_ERROR(CheckFlags(l));
  WHARF_RETURN_IF_ERROR(CheckSizes(l));
  for (const LapackPart& part : PartsOf(l)) WHARF_RETURN_IF_ERROR(CheckPlace(l, part));
  return absl::OkStatus();
}

}  // namespace wharf::device
