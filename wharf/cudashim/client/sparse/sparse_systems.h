// Systems of equations with a sparse matrix, and orders of its rows that keep factors small. Everything here is on the
// host and knows nothing of CUDA. It is in libwharf_client.so once rather than in each cuSOLVER: Eigen words errors by
// a stream, and with that all locales of the C++ library are linked in, half a megabyte.
#pragma once

#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "wharf/cudashim/client/call.h"

namespace wharf::client {

// A square matrix, compressed by rows, with indices from 0 on. No entry is there twice.
struct SparsePattern {
  int rows = 0;
  std::vector<int> offsets;  // rows + 1
  std::vector<int> columns;
};

// As programs give it: offsets and columns that begin at `base`. False if it is none: offsets that fall, columns that
// are not there.
WHARF_CLIENT_API bool ReadPattern(int rows, int entries, int base, const int* offsets, const int* columns,
                                  SparsePattern* pattern);

// Where an entry at (i, j) has one at (j, i). `ends`: where rows end, which need not be where the next begins.
WHARF_CLIENT_API bool IsSymmetric(int rows, int base, const int* offsets, const int* ends, const int* columns);

enum class SparseMethod { kLu, kCholesky };
// How rows and columns are ordered before a factorization.
enum class SparseOrder { kNone, kReverseCuthillMcKee, kMinimumDegree };

// The order of the pattern of A + A^T: which row comes first, second, and so on.
WHARF_CLIENT_API std::vector<int> OrderOf(const SparsePattern& pattern, SparseOrder order);

// A factorization of a matrix. Cholesky's looks at the lower triangle only.
template <typename T>
class WHARF_CLIENT_API SparseFactor {
 public:
  static std::unique_ptr<SparseFactor> Of(SparseMethod method, SparseOrder order, const SparsePattern& pattern,
                                          std::span<const T> values);
  virtual ~SparseFactor() = default;
  // Where the first pivot is that is not above `tolerance`; -1: there is none.
  virtual int SmallPivot(double tolerance) const = 0;
  // x of A x = b, if no pivot is 0.
  virtual void Solve(std::span<const T> b, std::span<T> x) const = 0;
};
extern template class SparseFactor<double>;
extern template class SparseFactor<std::complex<double>>;

// B = A(p, q): its pattern, and for each of its entries which one of A's it is. Both are permutations.
WHARF_CLIENT_API SparsePattern Permuted(const SparsePattern& pattern, std::span<const int> p, std::span<const int> q,
                                        std::vector<int>* from);

WHARF_CLIENT_API bool IsPermutation(std::span<const int> p);

}  // namespace wharf::client
