// Kernels of cuBLAS's triangular solvers, batched factorizations and vectors. Compiled once for each element type: REAL
// is float or double, COMPLEX is defined for complex ones. They run on every device, as kernels of the program's would.
// Loops are not unrolled: the software device does that itself, and compiles short kernels faster.
#include "wharf/cudashim/cublas/elements.cuh"
#include "wharf/cudashim/cublas/solvers.h"

__device__ inline Element* At(const SolverMatrix& matrix, int batch) {
  return matrix.batched ? static_cast<Element**>(matrix.data)[batch] : static_cast<Element*>(matrix.data);
}

__device__ inline void SolveLine(const TriangleSolver& s, const Element* a, Element* x, long long step, Element alpha) {
  const long long row = s.swapped ? s.a.leading : 1, column = s.swapped ? 1 : s.a.leading;
#pragma unroll 1
  for (int n = 0; n < s.size; ++n) {
    const int i = s.forward ? n : s.size - 1 - n;
    Element sum = alpha * x[i * step];
#pragma unroll 1
    for (int o = 0; o < n; ++o) {
      const int j = s.forward ? o : s.size - 1 - o;
      const Element factor = a[i * row + j * column];
      sum = sum - (s.conjugated ? Conjugate(factor) : factor) * x[j * step];
    }
    if (!s.unit) {
      const Element pivot = a[i * row + i * column];
      sum = sum / (s.conjugated ? Conjugate(pivot) : pivot);
    }
    x[i * step] = sum;
  }
}

extern "C" __global__ void solve_triangle(TriangleSolver s) {
  const Element* const a = At(s.a, blockIdx.x);
  Element* const b = At(s.b, blockIdx.x);
  const Element alpha =
      s.alpha_on_device != nullptr ? *static_cast<const Element*>(s.alpha_on_device) : Make(s.alpha[0], s.alpha[1]);
  const long long step = s.of_rows ? s.b.leading : 1;
#pragma unroll 1
  for (long long line = FirstLine(); line < s.lines; line += LineStep()) {
    Element* const x = b + line * (s.of_rows ? 1 : s.b.leading);
    if (IsZero(alpha)) {
#pragma unroll 1
      for (int i = 0; i < s.size; ++i) x[i * step] = Make(0, 0);
    } else {
      SolveLine(s, a, x, step, alpha);
    }
  }
}

extern "C" __global__ void scale_matrix(MatrixScale s) {
  Element* const b = At(s.b, blockIdx.x);
  const Element alpha = *static_cast<const Element*>(s.alpha_on_device);
#pragma unroll 1
  for (long long line = FirstLine(); line < s.lines; line += LineStep()) {
#pragma unroll 1
    for (long long i = 0; i < s.rows; ++i) {
      Element& element = b[i + line * s.b.leading];
      element = IsZero(alpha) ? Make(0, 0) : alpha * element;
    }
  }
}

extern "C" __global__ void multiply_triangle(TriangleProduct p) {
  const Element* const a = At(p.a, 0);
  const Element alpha = Make(p.alpha[0], p.alpha[1]);
  const long long row = p.swapped ? p.a.leading : 1, column = p.swapped ? 1 : p.a.leading;
  const long long step_b = p.of_rows ? p.b.leading : 1, step_c = p.of_rows ? p.c.leading : 1;
#pragma unroll 1
  for (long long line = FirstLine(); line < p.lines; line += LineStep()) {
    const Element* const b = At(p.b, 0) + line * (p.of_rows ? 1 : p.b.leading);
    Element* const c = At(p.c, 0) + line * (p.of_rows ? 1 : p.c.leading);
    // What is needed by later ones is written after them.
#pragma unroll 1
    for (int n = 0; n < p.size; ++n) {
      const int i = p.forward ? p.size - 1 - n : n;
      Element sum = Make(0, 0);
#pragma unroll 1
      for (int j = p.forward ? 0 : i; j < (p.forward ? i + 1 : p.size); ++j) {
        Element factor = i == j && p.unit ? Make(1, 0) : a[i * row + j * column];
        if (p.conjugated) factor = Conjugate(factor);
        sum = sum + factor * b[j * step_b];
      }
      c[i * step_c] = IsZero(alpha) ? Make(0, 0) : alpha * sum;
    }
  }
}

extern "C" __global__ void add_triangle(TriangleSum s) {
  const long long j = blockIdx.x;
  const Element* const a = At(s.a, 0) + j * s.a.leading;
  Element* const c = At(s.c, 0) + j * s.c.leading;
  const Element beta = Scalar(s.beta);
#pragma unroll 1
  for (long long i = FirstLine(); i < s.size; i += LineStep()) {
    if (s.upper ? i > j : i < j) continue;
    const Element result = IsZero(beta) ? a[i] : a[i] + beta * c[i];
    c[i] = s.hermitian && i == j ? Make(Real(result), 0) : result;
  }
}

extern "C" __global__ void write_scalars(ScalarWriter w) {
  if (threadIdx.x != 0) return;
  Element* const elements = static_cast<Element*>(w.elements);
  elements[0] = Make(1, 0);
  elements[1] = Make(0, 0);
  elements[2] = Scalar(w.alpha);
  elements[3] = Scalar(w.beta);
  elements[4] = Conjugate(elements[2]);
}

__device__ inline Element Term(const SolverMatrix& matrix, Element scale, long long i, long long j, bool swapped,
                               bool conjugated) {
  if (IsZero(scale)) return Make(0, 0);  // it need not be there
  const Element element = At(matrix, 0)[swapped ? j + i * matrix.leading : i + j * matrix.leading];
  return scale * (conjugated ? Conjugate(element) : element);
}

extern "C" __global__ void add_matrices(MatrixSum s) {
  const Element alpha = Scalar(s.alpha), beta = Scalar(s.beta);
#pragma unroll 1
  for (long long e = FirstLine(); e < s.rows * s.columns; e += LineStep()) {
    const long long i = e % s.rows, j = e / s.rows;
    At(s.c, 0)[i + j * s.c.leading] =
        Term(s.a, alpha, i, j, s.swapped_a, s.conjugated_a) + Term(s.b, beta, i, j, s.swapped_b, s.conjugated_b);
  }
}

// The row of the largest element of column k, from row k on; in every thread.
__device__ inline int FindPivot(const Element* column, int k, int size, REAL* best, int* where) {
  const int thread = static_cast<int>(threadIdx.x);
  REAL most = -1;
  int place = k;
#pragma unroll 1
  for (int i = k + thread; i < size; i += kSolverThreads) {
    const REAL value = Size(column[i]);
    if (value > most) {
      most = value;
      place = i;
    }
  }
  best[thread] = most;
  where[thread] = place;
  __syncthreads();
  most = best[0];
  place = where[0];
#pragma unroll 1
  for (int i = 1; i < kSolverThreads; ++i) {
    if (best[i] > most || (best[i] == most && where[i] < place)) {
      most = best[i];
      place = where[i];
    }
  }
  __syncthreads();
  return place;
}

extern "C" __global__ void factor_lu(LuFactorization f) {
  __shared__ REAL best[kSolverThreads];
  __shared__ int where[kSolverThreads];
  Element* const a = At(f.a, blockIdx.x);
  const long long leading = f.a.leading;
  const int thread = static_cast<int>(threadIdx.x), size = f.size;
  int singular = 0;
#pragma unroll 1
  for (int k = 0; k < size; ++k) {
    Element* const column = a + k * leading;
    if (f.pivots != nullptr) {
      const int pivot = FindPivot(column, k, size, best, where);
      if (thread == 0) f.pivots[blockIdx.x * static_cast<long long>(size) + k] = pivot + 1;
      if (pivot != k) {
#pragma unroll 1
        for (int j = thread; j < size; j += kSolverThreads) Exchange(a[k + j * leading], a[pivot + j * leading]);
      }
      __syncthreads();
    }
    const Element diagonal = column[k];
    if (IsZero(diagonal)) {
      if (singular == 0) singular = k + 1;
    } else {
#pragma unroll 1
      for (int i = k + 1 + thread; i < size; i += kSolverThreads) column[i] = column[i] / diagonal;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = k + 1 + thread; i < size; i += kSolverThreads) {
      const Element factor = column[i];
#pragma unroll 1
      for (int j = k + 1; j < size; ++j) {
        Element& element = a[i + j * leading];
        element = element - factor * a[k + j * leading];
      }
    }
    __syncthreads();
  }
  if (thread == 0) f.info[blockIdx.x] = singular;
}

// By Gauss and Jordan, in shared memory: column by column the matrix turns into its inverse, but for the exchanges of
// rows, which are exchanges of the inverse's columns.
extern "C" __global__ void invert_small(SmallInversion s) {
  __shared__ Element m[kMostInverted * kMostInverted];
  __shared__ Element factors[kMostInverted];
  __shared__ int pivots[kMostInverted];
  const Element* const a = At(s.a, blockIdx.x);
  Element* const b = At(s.b, blockIdx.x);
  const int thread = static_cast<int>(threadIdx.x), size = s.size;
#pragma unroll 1
  for (int e = thread; e < size * size; e += kSolverThreads) m[e] = a[e % size + e / size * s.a.leading];
  int singular = 0;
#pragma unroll 1
  for (int k = 0; k < size; ++k) {
    __syncthreads();
    int pivot = k;  // found by every thread
#pragma unroll 1
    for (int i = k + 1; i < size; ++i) {
      if (Size(m[i + k * size]) > Size(m[pivot + k * size])) pivot = i;
    }
    const Element diagonal = m[pivot + k * size];
    if (IsZero(diagonal)) {
      singular = k + 1;
      break;
    }
    __syncthreads();
    if (pivot != k && thread < size) Exchange(m[k + thread * size], m[pivot + thread * size]);
    __syncthreads();
    if (thread == 0) pivots[k] = pivot;
    if (thread < size) factors[thread] = m[thread + k * size];
    __syncthreads();
    if (thread < size) m[k + thread * size] = (thread == k ? Make(1, 0) : m[k + thread * size]) / diagonal;
    __syncthreads();
#pragma unroll 1
    for (int e = thread; e < size * size; e += kSolverThreads) {
      const int i = e % size, j = e / size;
      if (i != k) m[e] = (j == k ? Make(0, 0) : m[e]) - factors[i] * m[k + j * size];
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int k = singular ? -1 : size - 1; k >= 0; --k) {
    if (thread < size && pivots[k] != k) Exchange(m[thread + k * size], m[thread + pivots[k] * size]);
    __syncthreads();
  }
#pragma unroll 1
  for (int e = thread; e < size * size; e += kSolverThreads) b[e % size + e / size * s.b.leading] = m[e];
  if (thread == 0) s.info[blockIdx.x] = singular;
}

extern "C" __global__ void exchange_rows(RowExchange e) {
  Element* const b = At(e.b, blockIdx.x);
  const int* const pivots = e.pivots + blockIdx.x * static_cast<long long>(e.size);
#pragma unroll 1
  for (long long line = FirstLine(); line < e.lines; line += LineStep()) {
    Element* const x = b + line * e.b.leading;
#pragma unroll 1
    for (int n = 0; n < e.size; ++n) {
      const int i = e.backward ? e.size - 1 - n : n;
      Exchange(x[i], x[pivots[i] - 1]);
    }
  }
}

extern "C" __global__ void begin_inverse(InverseBegin b) {
  const Element* const a = At(b.a, blockIdx.x);
  Element* const inverse = At(b.b, blockIdx.x);
#pragma unroll 1
  for (long long line = FirstLine(); line < b.size; line += LineStep()) {
#pragma unroll 1
    for (int i = 0; i < b.size; ++i) inverse[i + line * b.b.leading] = Make(i == line ? 1 : 0, 0);
    if (line != 0) continue;
    int singular = 0;
#pragma unroll 1
    for (int k = b.size; k > 0; --k) {
      if (IsZero(a[k - 1 + (k - 1) * b.a.leading])) singular = k;
    }
    b.info[blockIdx.x] = singular;
  }
}

// H = I - tau v v' with v(k) = 1 and the rest of v below a's diagonal; a column becomes H' times itself.
__device__ inline void Reflect(const Element* v, int k, int rows, Element tau, Element* column) {
  Element sum = column[k];
#pragma unroll 1
  for (int i = k + 1; i < rows; ++i) sum = sum + Conjugate(v[i]) * column[i];
  sum = Conjugate(tau) * sum;
  column[k] = column[k] - sum;
#pragma unroll 1
  for (int i = k + 1; i < rows; ++i) column[i] = column[i] - v[i] * sum;
}

extern "C" __global__ void factor_qr(QrFactorization f) {
  __shared__ REAL parts[kSolverThreads];
  Element* const a = At(f.a, blockIdx.x);
  Element* const c = f.lines > 0 ? At(f.c, blockIdx.x) : nullptr;
  Element* const tau = f.tau != nullptr ? static_cast<Element**>(f.tau)[blockIdx.x] : nullptr;
  const long long leading = f.a.leading;
  const int thread = static_cast<int>(threadIdx.x), steps = f.rows < f.columns ? f.rows : f.columns;
  int singular = 0;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    Element* const v = a + k * leading;
    REAL part = 0;
#pragma unroll 1
    for (int i = k + 1 + thread; i < f.rows; i += kSolverThreads) part += Square(v[i]);
    parts[thread] = part;
    __syncthreads();
    REAL below = 0;
#pragma unroll 1
    for (int i = 0; i < kSolverThreads; ++i) below += parts[i];
    const Element alpha = v[k];
    Element diagonal = alpha, factor = Make(0, 0), scale = Make(0, 0);
    if (below != 0 || Imaginary(alpha) != 0) {
      const REAL norm = sqrt(Square(alpha) + below);
      diagonal = Make(Real(alpha) >= 0 ? -norm : norm, 0);
      factor = (diagonal - alpha) / diagonal;
      scale = Make(1, 0) / (alpha - diagonal);
    }
    __syncthreads();
#pragma unroll 1
    for (int i = k + 1 + thread; i < f.rows; i += kSolverThreads) v[i] = v[i] * scale;
    __syncthreads();
#pragma unroll 1
    for (int j = k + 1 + thread; j < f.columns; j += kSolverThreads) Reflect(v, k, f.rows, factor, a + j * leading);
#pragma unroll 1
    for (int j = thread; j < f.lines; j += kSolverThreads) Reflect(v, k, f.rows, factor, c + j * f.c.leading);
    if (singular == 0 && IsZero(diagonal)) singular = k + 1;
    if (thread == 0) {
      v[k] = diagonal;
      if (tau != nullptr) tau[k] = factor;
    }
    __syncthreads();
  }
  if (thread == 0 && f.info != nullptr) f.info[blockIdx.x] = singular;
}

extern "C" __global__ void find_extreme(VectorReduction v) {
  __shared__ REAL sizes[kSolverThreads];
  __shared__ long long places[kSolverThreads];
  const Element* const x = static_cast<const Element*>(v.x);
  REAL size = 0;
  long long place = -1;
#pragma unroll 1
  for (long long i = threadIdx.x; i < v.count; i += kSolverThreads) {
    const REAL other = Size(x[i * v.step]);
    if (place < 0 || (v.least ? other < size : other > size)) size = other, place = i;
  }
  sizes[threadIdx.x] = size;
  places[threadIdx.x] = place;
#pragma unroll 1
  for (unsigned half = kSolverThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const REAL mine = sizes[threadIdx.x], other = sizes[threadIdx.x + half];
    const long long at = places[threadIdx.x], other_at = places[threadIdx.x + half];
    const bool better = v.least ? other < mine : other > mine;
    if (other_at >= 0 && (at < 0 || better || (other == mine && other_at < at))) {
      sizes[threadIdx.x] = other;
      places[threadIdx.x] = other_at;
    }
  }
  if (threadIdx.x != 0) return;
  if (v.wide) {
    *static_cast<long long*>(v.result) = places[0] + 1;
  } else {
    *static_cast<int*>(v.result) = static_cast<int>(places[0] + 1);
  }
}

extern "C" __global__ void sum_sizes(VectorReduction v) {
  __shared__ REAL sums[kSolverThreads];
  const Element* const x = static_cast<const Element*>(v.x);
  REAL sum = 0;
#pragma unroll 1
  for (long long i = threadIdx.x; i < v.count; i += kSolverThreads) {
    sum += v.norm ? Square(x[i * v.step]) : Size(x[i * v.step]);
  }
  sums[threadIdx.x] = sum;
#pragma unroll 1
  for (unsigned half = kSolverThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *static_cast<REAL*>(v.result) = v.norm ? sqrt(sums[0]) : sums[0];
}

extern "C" __global__ void exchange_vectors(VectorExchange v) {
  Element *const x = static_cast<Element*>(v.x), *const y = static_cast<Element*>(v.y);
#pragma unroll 1
  for (long long i = FirstLine(); i < v.count; i += LineStep()) Exchange(x[i * v.step_x], y[i * v.step_y]);
}

extern "C" __global__ void scale_lines(LineScale s) {
  const Element* const x = static_cast<const Element*>(s.x);
  const Element* const a = At(s.a, 0);
  Element* const c = At(s.c, 0);
#pragma unroll 1
  for (long long at = FirstLine(); at < s.rows * s.columns; at += LineStep()) {
    const long long i = at % s.rows, j = at / s.rows;
    c[i + j * s.c.leading] = a[i + j * s.a.leading] * x[(s.rows_scaled ? i : j) * s.step];
  }
}
