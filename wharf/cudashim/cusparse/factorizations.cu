// Kernels of cuSPARSE's incomplete factorizations and tridiagonal systems, compiled as those of kernels.cu are.
#include "wharf/cudashim/cusparse/elements.cuh"

#ifdef COMPLEX
__device__ inline double Magnitude(Element a) { return hypot(double(a.re), double(a.im)); }
__device__ inline REAL RealOf(Element a) { return a.re; }
#else
__device__ inline double Magnitude(Element a) { return fabs(double(a)); }
__device__ inline REAL RealOf(Element a) { return a; }
#endif

constexpr unsigned kNone = ~0u;

// The first entry of a line from `begin` on whose index is not below.
__device__ inline Long LowerBound(const IndexArray& indices, Long begin, Long end, Long index) {
#pragma unroll 1
  while (begin < end) {
    const Long middle = (begin + end) / 2;
    if (Get(indices, middle) < index) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}
__device__ inline bool Has(const IndexArray& indices, Long n, Long end, Long index) {
  return n < end && Get(indices, n) == index;
}

extern "C" __global__ void find_pivot(IncompleteFactor f) {
  __shared__ unsigned first;
  if (threadIdx.x == 0) first = kNone;
  __syncthreads();
#pragma unroll 1
  for (Long line = threadIdx.x; line < f.a.lines; line += blockDim.x) {
    const Long end = Get(f.a.offsets, line + 1);
    const Long n = LowerBound(f.a.indices, Get(f.a.offsets, line), end, line);
    if (!Has(f.a.indices, n, end, line)) atomicMin(&first, static_cast<unsigned>(line + f.a.indices.base));
  }
  __syncthreads();
  if (threadIdx.x == 0) *f.pivot = first;
}

extern "C" __global__ void factor_lu(IncompleteFactor f) {
  if (First() != 0) return;
  const IndexArray indices = f.a.indices;
  Element* const values = Values(f.a);
  const double tolerance =
      f.tolerance.on_device != nullptr ? *static_cast<const double*>(f.tolerance.on_device) : f.tolerance.number[0];
  unsigned pivot = kNone;
#pragma unroll 1
  for (Long line = 0; line < f.a.lines; ++line) {
    const Long end = Get(f.a.offsets, line + 1);
    Long n = Get(f.a.offsets, line);
#pragma unroll 1
    for (; n < end && Get(indices, n) < line; ++n) {
      // Less so many times the rest of a line above, where this one has entries too.
      const Long above = Get(indices, n), last = Get(f.a.offsets, above + 1);
      Long m = LowerBound(indices, Get(f.a.offsets, above), last, above), to = n + 1;
      const Element factor = values[n] / (Has(indices, m, last, above) ? values[m++] : Make(0, 0));
      values[n] = factor;
#pragma unroll 1
      for (; m < last; ++m) {
        const Long index = Get(indices, m);
#pragma unroll 1
        while (to < end && Get(indices, to) < index) ++to;
        if (Has(indices, to, end, index)) values[to] = values[to] - factor * values[m];
      }
    }
    const bool there = Has(indices, n, end, line);
    if (there && f.boosted && Magnitude(values[n]) < tolerance) values[n] = ValueOf(f.boost);
    if (pivot == kNone && (!there || IsZero(values[n]))) pivot = static_cast<unsigned>(line + indices.base);
  }
  *f.pivot = pivot;
}

extern "C" __global__ void factor_cholesky(IncompleteFactor f) {
  if (First() != 0) return;
  const IndexArray indices = f.a.indices;
  Element* const values = Values(f.a);
  unsigned pivot = kNone;
#pragma unroll 1
  for (Long line = 0; line < f.a.lines; ++line) {
    const Long begin = Get(f.a.offsets, line), end = Get(f.a.offsets, line + 1);
    bool positive = false;
#pragma unroll 1
    for (Long n = begin; n < end && Get(indices, n) <= line; ++n) {
      // Less the product of what is left of it and of the same columns of the line above, or of its own.
      const Long other = Get(indices, n), last = Get(f.a.offsets, other + 1);
      Long m = Get(f.a.offsets, other), to = begin;
      Element sum = values[n];
#pragma unroll 1
      for (; m < last && Get(indices, m) < other; ++m) {
        const Long index = Get(indices, m);
#pragma unroll 1
        while (to < n && Get(indices, to) < index) ++to;
        if (Has(indices, to, n, index)) sum = sum - values[to] * Conjugate(values[m]);
      }
      if (other < line) {
        values[n] = sum / (Has(indices, m, last, other) ? values[m] : Make(0, 0));
      } else {
        positive = RealOf(sum) > 0;
        values[n] = Make(sqrt(RealOf(sum)), 0);
      }
    }
    if (pivot == kNone && !positive) pivot = static_cast<unsigned>(line + indices.base);
  }
  *f.pivot = pivot;
}

extern "C" __global__ void factor_diagonals(DiagonalSystems s) {
#pragma unroll 1
  for (Long system = First(); system < s.systems; system += Step()) {
    const Element* const lower = static_cast<const Element*>(s.lower) + system * s.stride;
    const Element* const diagonal = static_cast<const Element*>(s.diagonal) + system * s.stride;
    const Element* const upper = static_cast<const Element*>(s.upper) + system * s.stride;
    Element* const below = static_cast<Element*>(s.factors) + 4 * system * s.size;
    Element* const first = below + s.size;
    Element* const second = first + s.size;
    Element* const third = second + s.size;
    Element left = diagonal[0], right = upper[0];  // what a line still has: its diagonal, and behind it
#pragma unroll 1
    for (Long i = 0; i + 1 < s.size; ++i) {
      const Element next = lower[i + 1], behind = i + 2 < s.size ? upper[i + 1] : Make(0, 0);
      const bool exchange = Magnitude(next) > Magnitude(left);
      s.exchanged[system * s.size + i] = exchange ? 1 : 0;
      first[i] = exchange ? next : left;
      second[i] = exchange ? diagonal[i + 1] : right;
      third[i] = exchange ? behind : Make(0, 0);
      below[i] = exchange ? left / next : next / left;
      const Element kept = exchange ? right : diagonal[i + 1];
      left = kept - below[i] * second[i];
      right = exchange ? Make(0, 0) - below[i] * behind : behind;
    }
    first[s.size - 1] = left;
  }
}

extern "C" __global__ void solve_diagonals(DiagonalSystems s) {
#pragma unroll 1
  for (Long e = First(); e < s.systems * s.columns; e += Step()) {
    const Long system = e / s.columns;
    Element* const x = static_cast<Element*>(s.sides) + system * s.stride + (e % s.columns) * s.leading;
    const int* const exchanged = s.exchanged + system * s.size;
    const Element* const below = static_cast<const Element*>(s.factors) + 4 * system * s.size;
    const Element* const first = below + s.size;
    const Element* const second = first + s.size;
    const Element* const third = second + s.size;
    Element left = x[0];
#pragma unroll 1
    for (Long i = 0; i + 1 < s.size; ++i) {
      const Element next = x[i + 1];
      x[i] = exchanged[i] ? next : left;
      left = (exchanged[i] ? left : next) - below[i] * x[i];
    }
    x[s.size - 1] = left;
#pragma unroll 1
    for (Long i = s.size - 1; i >= 0; --i) {
      Element sum = x[i];
      if (i + 1 < s.size) sum = sum - second[i] * x[i + 1];
      if (i + 2 < s.size) sum = sum - third[i] * x[i + 2];
      x[i] = sum / first[i];
    }
  }
}
