// What the kernels of solvers.cu are given: plain structs, the same for every element type, for the library that
// launches them and for nvcc. Matrices are column major. A batch is an array of addresses on the device (`batched`), or
// one matrix.
#pragma once

#ifdef __CUDACC__
#define WHARF_SOLVER_NAMESPACE wharf_solvers
#else
#define WHARF_SOLVER_NAMESPACE wharf::cudashim
#endif

namespace WHARF_SOLVER_NAMESPACE {

// Threads of a block of every kernel. Kernels with a line of the right-hand side for each thread take the lines in y
// and the batch in x; the others a block for each matrix.
constexpr int kSolverThreads = 128;

struct SolverMatrix {
  void* data;
  long long leading;
  int batched;
};

// On the device, or the number if that is null. `real`: a real scalar, whatever the elements are.
struct ScalarArgument {
  const void* on_device;
  double number[2];
  int real;
};

// "solve_triangle": each line of b is the solution x of M x = alpha * line. Lines are columns, or rows (`of_rows`).
// M(i, j) is a(i, j), or a(j, i) if `swapped`, and triangular: below the diagonal if `forward`, above it otherwise.
struct TriangleSolver {
  SolverMatrix a, b;
  const void* alpha_on_device;  // null: the number below
  double alpha[2];
  long long lines;
  int size, of_rows, swapped, conjugated, forward, unit;
};

// "scale_matrix": each element of b times alpha, or zero.
struct MatrixScale {
  SolverMatrix b;
  const void* alpha_on_device;
  long long rows, lines;
};

// "multiply_triangle": each line of c becomes alpha * M line of b; c may be b. Lines and M as above.
struct TriangleProduct {
  SolverMatrix a, b, c;
  double alpha[2];
  long long lines;
  int size, of_rows, swapped, conjugated, forward, unit;
};

// "add_triangle": the lower or upper triangle of c becomes that of a + beta c. `hermitian`: the diagonal becomes real.
// Lines are rows, the batch columns.
struct TriangleSum {
  SolverMatrix a, c;
  ScalarArgument beta;
  int size, upper, hermitian;
};

// "write_scalars": elements one, zero, alpha, beta and alpha's conjugate. One thread does it.
struct ScalarWriter {
  ScalarArgument alpha, beta;
  void* elements;
};

// "add_matrices": c becomes alpha op(a) + beta op(b), and may be one of them.
struct MatrixSum {
  SolverMatrix a, b, c;
  ScalarArgument alpha, beta;
  long long rows, columns;
  int swapped_a, swapped_b, conjugated_a, conjugated_b;
};

// "invert_small": b becomes the inverse of a, of at most kMostInverted rows. `info`: as of "factor_lu"; then b is not
// what it should be.
constexpr int kMostInverted = 32;
struct SmallInversion {
  SolverMatrix a, b;
  int size;
  int* info;
};

// "factor_lu": a = P L U in its place, rows exchanged unless `pivots` is null, which are counted from 1. `info`: 0, or
// the number of the first zero on the diagonal of U.
struct LuFactorization {
  SolverMatrix a;
  int size;
  int* pivots;
  int* info;
};

// "exchange_rows": what the factorization did to a's rows, for b, or the reverse of it.
struct RowExchange {
  SolverMatrix b;
  const int* pivots;
  long long lines;
  int size, backward;
};

// "begin_inverse": b becomes the identity, and `info` what the factorization's was.
struct InverseBegin {
  SolverMatrix a, b;
  int size;
  int* info;
};

// "factor_qr": a = Q R as LAPACK has it, in its place. Columns of c, if there are any, become Q' times themselves.
// `tau`, if not null: an array of addresses. `info`, if not null: 0, or the number of the first zero on the diagonal of
// R.
struct QrFactorization {
  SolverMatrix a, c;
  void* tau;
  int* info;
  int rows, columns, lines;
};

// A vector's first element is at its address, also if it runs backwards (a negative step).
// "find_extreme": the number, counted from 1, of the first element with the largest (`least`: smallest) |re| + |im|; an
// int, or 64 bits wide. "sum_sizes": the sum of these, or (`norm`) the root of the sum of squares. One block.
struct VectorReduction {
  const void* x;
  void* result;
  long long count, step;
  int least, wide, norm;
};

// "exchange_vectors". Lines are elements.
struct VectorExchange {
  void *x, *y;
  long long count, step_x, step_y;
};

// "scale_lines": c = diag(x) a (`rows_scaled`) or a diag(x); c may be a. Lines are elements.
struct LineScale {
  SolverMatrix a, c;
  const void* x;
  long long rows, columns, step;
  int rows_scaled;
};

}  // namespace WHARF_SOLVER_NAMESPACE
