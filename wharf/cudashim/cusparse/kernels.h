// What the kernels of kernels.cu are given: plain structs, the same for every element type, for the library that
// launches them and for nvcc. They have no gaps, for replay predicts their bytes.
#pragma once

#ifdef __CUDACC__
#define WHARF_SPARSE_NAMESPACE wharf_sparse
#else
#define WHARF_SPARSE_NAMESPACE wharf::cudashim
#endif

namespace WHARF_SPARSE_NAMESPACE {

// Threads of a block of every kernel; a thread takes as many lines, entries or elements as there are too many.
constexpr int kSparseThreads = 128;

struct IndexArray {
  void* data;
  int wide, base;  // int64_t rather than int32_t; what the first is called
};
struct SparseScalar {
  const void* on_device;  // null: the number below
  double number[2];
};
// Lines are rows, or, of a matrix that is compressed by columns, columns. `offsets` are those of lines, or, of one that
// is a list of coordinates, the lines of entries.
struct SparseMatrix {
  IndexArray offsets, indices;
  void* values;
  long long lines, width, entries;
  long long coordinates;
};
// Element (i, j) is data[i * row + j * column].
struct DenseMatrix {
  void* data;
  long long row, column;
};

// "multiply_lines": C = alpha A B + beta C, a thread for each element of C. "multiply_entries": C += alpha op(A) B, a
// thread for each line of A, or each of its coordinates, and each column; C's rows are A's lines, or, if `crossed`, its
// indices.
struct SparseProduct {
  SparseMatrix a;
  DenseMatrix b, c;
  SparseScalar alpha, beta;
  long long columns;
  long long crossed, conjugated_a, conjugated_b;
};

// "scale_dense": C *= beta, and 0 where beta is.
struct DenseScale {
  DenseMatrix c;
  SparseScalar beta;
  long long rows, columns;
};

// "sample_product": C = alpha (A B at C's places) + beta C. C's indices are the rows of A B if `crossed`.
struct SampledProduct {
  DenseMatrix a, b;
  SparseMatrix c;
  SparseScalar alpha, beta;
  long long inner;
  long long crossed, conjugated_a, conjugated_b;
};

// "solve_lines": op(A) X = alpha B, a thread for each column. A's lines are op(A)'s rows, or, if `crossed`, its
// columns.
struct SparseSolver {
  SparseMatrix a;
  DenseMatrix b, x;
  SparseScalar alpha;
  long long columns;
  long long crossed, conjugated, conjugated_b, forward, unit;
};

// "add_vector": y = alpha x + beta y, of which the first kernel ("scale_dense") makes beta y. "gather", "scatter",
// and "dot", by one block.
struct SparseVector {
  IndexArray indices;
  void* values;
  void* dense;
  SparseScalar alpha;
  void* result;
  long long entries;
  long long conjugated;
};

// "to_dense", of a matrix that is zero. "count_dense": how many are not 0 in each line, in counts[line + 1].
// "fill_sparse": the entries of a matrix from a dense one, by counts that were summed.
struct DenseConversion {
  SparseMatrix a;
  DenseMatrix dense;
  long long* counts;
};

// "sum_counts", by one thread: counts become offsets.
struct CountSum {
  long long* counts;
  long long lines;
};

// "expand_offsets": the line of each entry. "compress_lines": offsets, from lines in their order.
struct LineConversion {
  IndexArray offsets, of_entries;
  long long lines, entries;
};

// "transpose_lines", by one thread: the same matrix compressed the other way, its entries in order.
struct SparseTransposition {
  SparseMatrix from, to;
  long long with_values;
};

// "identity": 0, 1, 2 and so on. "exchange": one step of Batcher's merging exchange sort (Knuth 5.2.2 M) of entries by
// major, minor and number, which goes along. "sort_lines": a thread for each line, by index.
struct SparseSort {
  int *major, *minor, *numbers;
  long long entries;
  long long p, r, d;
  const int* offsets;
  long long lines, base;
};

// C = alpha A B, all compressed by rows: workers take lines in turn, and have a place for each of C's
// columns to mark what they met. "count_products" leaves counts, "fill_products" C's entries in order, by offsets.
struct SparseSquare {
  SparseMatrix a, b, c;
  SparseScalar alpha;
  long long* counts;
  long long* marks;
  long long workers;
};

// C = alpha A + beta B, all compressed by rows and in order. "count_sums" leaves each line's count in C's offset behind
// it; "sum_offsets", by one thread, makes offsets of them, and says how many entries there are; "fill_sums" fills.
struct SparseSum {
  SparseMatrix a, b, c;
  SparseScalar alpha, beta;
  int* total;
};

// "count_elements": how many of a dense matrix are not 0 in each line. "sum_elements", by one block: and in all of
// them.
struct ElementCount {
  DenseMatrix a;
  long long lines, width;
  int *counts, *total;
};

// Of factorizations.cu.

// A factorization on the pattern of A, of as many rows as columns, each row's entries in order. "find_pivot", by one
// block, says which row is the first without a diagonal entry; "factor_lu" and "factor_cholesky", by one thread, which
// is the first whose pivot is missing, is 0, or has no real root. Diagonal elements that are smaller than the
// tolerance become `boost`, if they are to.
struct IncompleteFactor {
  SparseMatrix a;
  SparseScalar tolerance, boost;  // a double whatever the type; of the type
  unsigned* pivot;                // from the base; the largest number: none
  long long boosted;
};

// Systems of three diagonals, `stride` elements from one to the next, each with so many right-hand sides.
// "factor_diagonals", a thread for each system: L U with exchanges of neighbours. "solve_diagonals", a thread for each
// right-hand side.
struct DiagonalSystems {
  const void *lower, *diagonal, *upper;
  void* sides;
  void* factors;  // of each system four lines of elements: L below the diagonal, and U's three diagonals
  int* exchanged;
  long long size, systems, stride;
  long long columns, leading;
};

}  // namespace WHARF_SPARSE_NAMESPACE
