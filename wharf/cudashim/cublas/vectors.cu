// Kernels of cuBLAS's vectors, and of matrices times vectors where a matrix is symmetric, triangular, a band or packed.
// Compiled once for each element type, as solvers.cu is.
#include "wharf/cudashim/cublas/vectors.h"

#include "wharf/cudashim/cublas/elements.cuh"
#include "wharf/cudashim/cublas/givens.h"

// The first element of a vector.
__device__ inline Element* Begin(void* data, long long step, long long count) {
  return static_cast<Element*>(data) + (step < 0 ? (1 - count) * step : 0);
}
__device__ inline Element* Begin(const VectorView& vector, long long count) {
  return Begin(vector.data, vector.step, count);
}

__device__ inline long long PlaceOf(const MatrixView& m, long long i, long long j) {
  if (!m.packed) return i + j * m.leading;
  return i + (m.upper ? j * (j + 1) / 2 : j * (2 * m.size - j - 1) / 2);
}

// op(A)(i, j), which is in A's band.
__device__ inline Element Entry(const MatrixView& m, const Element* a, long long i, long long j) {
  const bool elsewhere = m.mirrored && (m.upper ? i > j : i < j);
  if (i == j && m.unit) return Make(1, 0);
  const Element entry = elsewhere || m.swapped ? a[PlaceOf(m, j, i)] : a[PlaceOf(m, i, j)];
  if (m.hermitian && i == j) return Make(Real(entry), 0);
  return (elsewhere && m.hermitian) || m.conjugated ? Conjugate(entry) : entry;
}

__device__ inline void* Of(const void* data, long long stride, bool batched) {
  if (batched) return static_cast<void* const*>(data)[blockIdx.x];
  return const_cast<Element*>(static_cast<const Element*>(data)) + blockIdx.x * stride;
}

extern "C" __global__ void multiply_vector(VectorProduct p) {
  const Element* const a = static_cast<const Element*>(Of(p.a.data, p.stride_a, p.batched));
  const Element* const x = Begin(Of(p.x.data, p.stride_x, p.batched), p.x.step, p.columns);
  Element* const y = Begin(Of(p.y.data, p.stride_y, p.batched), p.y.step, p.rows);
  const Element alpha = Scalar(p.alpha), beta = Scalar(p.beta);
#pragma unroll 1
  for (long long i = FirstLine(); i < p.rows; i += LineStep()) {
    const long long from = i > p.a.below ? i - p.a.below : 0;
    const long long to = p.columns - i > p.a.above ? i + p.a.above + 1 : p.columns;
    Element sum = Make(0, 0);
#pragma unroll 1
    for (long long j = from; j < (IsZero(alpha) ? from : to); ++j) sum = sum + Entry(p.a, a, i, j) * x[j * p.x.step];
    Element& element = y[i * p.y.step];
    element = IsZero(beta) ? alpha * sum : alpha * sum + beta * element;
  }
}

extern "C" __global__ void copy_entries(EntryCopy c) {
  const Element* const from = static_cast<const Element*>(c.from.data);
  Element* const to = const_cast<Element*>(static_cast<const Element*>(c.to.data));
  const long long j = blockIdx.x;
#pragma unroll 1
  for (long long i = FirstLine(); i < c.rows; i += LineStep()) {
    if (c.triangle && (c.to.upper ? i > j : i < j)) continue;
    to[PlaceOf(c.to, i, j)] = Entry(c.from, from, i, j);
  }
}

// Each thread has an unknown of as many as there are threads: what is known before these is taken off at once, then
// they become known one by one.
extern "C" __global__ void solve_vector(VectorSolver s) {
  __shared__ Element known[kSolverThreads];
  const Element* const a = static_cast<const Element*>(s.a.data);
  Element* const x = Begin(s.x, s.size);
  const bool forward = s.a.above == 0;
  const long long reach = forward ? s.a.below : s.a.above;
#pragma unroll 1
  for (long long done = 0; done < s.size; done += kSolverThreads) {
    const long long number = done + threadIdx.x, i = forward ? number : s.size - 1 - number;
    const bool mine = number < s.size;
    Element sum = Make(0, 0);
    if (mine) {
      sum = x[i * s.x.step];
#pragma unroll 1
      for (long long other = number > reach ? number - reach : 0; other < done; ++other) {
        const long long j = forward ? other : s.size - 1 - other;
        sum = sum - Entry(s.a, a, i, j) * x[j * s.x.step];
      }
    }
    const int left = s.size - done < kSolverThreads ? static_cast<int>(s.size - done) : kSolverThreads;
#pragma unroll 1
    for (int next = 0; next < left; ++next) {
      if (threadIdx.x == next) {
        if (!s.a.unit) sum = sum / Entry(s.a, a, i, i);
        known[next] = x[i * s.x.step] = sum;
      }
      __syncthreads();
      const long long other = done + next, j = forward ? other : s.size - 1 - other;
      if (mine && number > other && number - other <= reach) sum = sum - Entry(s.a, a, i, j) * known[next];
    }
    __syncthreads();
  }
}

extern "C" __global__ void update_by_vectors(VectorUpdate u) {
  Element* const a = const_cast<Element*>(static_cast<const Element*>(u.a.data));
  const Element *const x = Begin(u.x, u.rows), *const y = Begin(u.y, u.columns);
  const Element alpha = Scalar(u.alpha);
  if (IsZero(alpha)) return;
  const long long j = blockIdx.x;
  Element factor = y[j * u.y.step], other = u.twice ? x[j * u.x.step] : Make(0, 0);
  if (u.conjugated) factor = Conjugate(factor), other = Conjugate(other);
  const Element turned = u.conjugated ? Conjugate(alpha) : alpha;
#pragma unroll 1
  for (long long i = FirstLine(); i < u.rows; i += LineStep()) {
    if (u.triangle && (u.a.upper ? i > j : i < j)) continue;
    Element change = alpha * x[i * u.x.step] * factor;
    if (u.twice) change = change + turned * y[i * u.y.step] * other;
    Element& element = a[PlaceOf(u.a, i, j)];
    element = element + change;
    if (u.triangle && u.conjugated && i == j) element = Make(Real(element), 0);
  }
}

extern "C" __global__ void combine_vectors(VectorCombination c) {
  const Element* const x = Begin(c.x, c.count);
  Element* const y = Begin(c.y, c.count);
  const Element alpha = Scalar(c.alpha);
  if (c.added && IsZero(alpha)) return;  // x may be no number
#pragma unroll 1
  for (long long i = FirstLine(); i < c.count; i += LineStep()) {
    const Element element = x[i * c.x.step];
    Element& to = y[i * c.y.step];
    const Element scaled = c.copied ? element : c.alpha.real ? element * Real(alpha) : alpha * element;
    to = c.added ? scaled + to : scaled;
  }
}

extern "C" __global__ void multiply_vectors(VectorDot d) {
  __shared__ Element sums[kSolverThreads];
  const Element *const x = Begin(d.x, d.count), *const y = Begin(d.y, d.count);
  Element sum = Make(0, 0);
#pragma unroll 1
  for (long long i = threadIdx.x; i < d.count; i += kSolverThreads) {
    const Element factor = x[i * d.x.step];
    sum = sum + (d.conjugated ? Conjugate(factor) : factor) * y[i * d.y.step];
  }
  sums[threadIdx.x] = sum;
#pragma unroll 1
  for (unsigned half = kSolverThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *static_cast<Element*>(d.result) = sums[0];
}

struct Turn {
  Element xx, xy, yx, yy;
};

__device__ inline Turn TurnOf(const VectorRotation& r) {
  if (!r.modified) {
    const Element cosine = Scalar(r.cosine), sine = Scalar(r.sine);
    return {cosine, sine, Make(0, 0) - Conjugate(sine), cosine};
  }
  REAL parameters[5];
#pragma unroll 1
  for (int i = 0; i < 5; ++i) {
    parameters[i] = r.parameters_on_device != nullptr ? static_cast<const REAL*>(r.parameters_on_device)[i]
                                                      : static_cast<REAL>(r.parameters[i]);
  }
  const auto m = ReadModifiedRotation(parameters);
  return {Make(m.h11, 0), Make(m.h12, 0), Make(m.h21, 0), Make(m.h22, 0)};
}

extern "C" __global__ void rotate_vectors(VectorRotation r) {
  Element *const x = Begin(r.x, r.count), *const y = Begin(r.y, r.count);
  const Turn turn = TurnOf(r);
#pragma unroll 1
  for (long long i = FirstLine(); i < r.count; i += LineStep()) {
    const Element a = x[i * r.x.step], b = y[i * r.y.step];
    x[i * r.x.step] = turn.xx * a + turn.xy * b;
    y[i * r.y.step] = turn.yx * a + turn.yy * b;
  }
}

extern "C" __global__ void make_rotation(RotationMaker r) {
  if (threadIdx.x != 0) return;
  REAL *const a = static_cast<REAL*>(r.a), *const b = static_cast<REAL*>(r.b);
#ifdef COMPLEX
  MakeComplexRotation(a, b, static_cast<REAL*>(r.c), static_cast<REAL*>(r.s));
#else
  MakeRotation(a, b, static_cast<REAL*>(r.c), static_cast<REAL*>(r.s));
#endif
}

extern "C" __global__ void make_modified_rotation(ModifiedRotationMaker r) {
  if (threadIdx.x != 0) return;
  MakeModifiedRotation(static_cast<REAL*>(r.d1), static_cast<REAL*>(r.d2), static_cast<REAL*>(r.x1),
                       *static_cast<const REAL*>(r.y1), static_cast<REAL*>(r.parameters));
}
