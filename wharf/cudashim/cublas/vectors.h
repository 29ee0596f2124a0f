// What the kernels of vectors.cu are given, as solvers.h says of those of solvers.cu.
#pragma once

#include "wharf/cudashim/cublas/solvers.h"

namespace WHARF_SOLVER_NAMESPACE {

// By BLAS's rule: a vector that runs backwards (a negative step) begins at its last place in memory.
struct VectorView {
  void* data;
  long long step;
};

// op(A), where a triangle, a band or both may be all of A that is stored. A(i, j) is data[i + j * leading], which a
// band's `data` and `leading` are made for; of a packed triangle of `size` columns these lie one behind the other.
// Row i of op(A) has columns from i - below to i + above. `mirrored`: what is not in the triangle is in its place.
struct MatrixView {
  const void* data;
  long long leading, size, below, above;
  int packed, upper, mirrored, hermitian, unit, swapped, conjugated;
};

// "multiply_vector": y = alpha op(A) x + beta y; y may not be x. Lines are rows. A batch lies `stride_…` elements apart
// or (`batched`) is arrays of addresses.
struct VectorProduct {
  MatrixView a;
  VectorView x, y;
  ScalarArgument alpha, beta;
  long long rows, columns, stride_a, stride_x, stride_y;
  int batched;
};

// "copy_entries": to(i, j) = from(i, j), everywhere or (`triangle`) in the triangle that `to` is. Lines are
// rows, the batch columns.
struct EntryCopy {
  MatrixView from, to;
  long long rows;
  int triangle;
};

// "solve_vector": x becomes the solution of op(A) x = x, for a triangle. One block.
struct VectorSolver {
  MatrixView a;
  VectorView x;
  long long size;
};

// "update_by_vectors": A += alpha x y', and (`twice`) alpha' y x' too; of a whole matrix, or of the triangle that A is.
// `conjugated`: the second vector of each product, alpha in the second one, and a triangle's diagonal becomes real.
// Lines are rows, the batch columns.
struct VectorUpdate {
  MatrixView a;
  VectorView x, y;
  ScalarArgument alpha;
  long long rows, columns;
  int triangle, twice, conjugated;
};

// "combine_vectors": y = alpha x, or (`added`) alpha x + y, or (`copied`) x; y may be x. Lines are elements.
struct VectorCombination {
  VectorView x, y;
  ScalarArgument alpha;
  long long count;
  int added, copied;
};

// "multiply_vectors": the sum of x(i) y(i), x conjugated or not. One block.
struct VectorDot {
  VectorView x, y;
  void* result;
  long long count;
  int conjugated;
};

// "rotate_vectors": (x, y) become (c x + s y, c y - s' x), s' the conjugate; or (`modified`) what the five parameters
// of rotm say, on the device or here. Lines are elements.
struct VectorRotation {
  VectorView x, y;
  ScalarArgument cosine, sine;
  const void* parameters_on_device;
  double parameters[5];
  long long count;
  int modified;
};

// "make_rotation" (rotg) and "make_modified_rotation" (rotmg): of numbers on the device. One thread does it.
struct RotationMaker {
  void *a, *b, *c, *s;
};
struct ModifiedRotationMaker {
  void *d1, *d2, *x1;
  const void* y1;
  void* parameters;
};

}  // namespace WHARF_SOLVER_NAMESPACE
