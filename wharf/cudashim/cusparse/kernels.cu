// Kernels of cuSPARSE's functions. Compiled once for each element type: REAL is float or double, COMPLEX is defined for
// complex ones. They run on every device, as kernels of the program's would: what indices say is looked at as any
// address of a kernel is. Loops are not unrolled: the software device does that itself, and compiles short kernels
// faster.
#include "wharf/cudashim/cusparse/elements.cuh"

extern "C" __global__ void scale_dense(DenseScale s) {
  const Element beta = ValueOf(s.beta);
#pragma unroll 1
  for (Long e = First(); e < s.rows * s.columns; e += Step()) {
    Element* const c = At(s.c, e % s.rows, e / s.rows);
    *c = IsZero(beta) ? Make(0, 0) : beta * *c;
  }
}

extern "C" __global__ void multiply_lines(SparseProduct p) {
  const Element alpha = ValueOf(p.alpha), beta = ValueOf(p.beta);
#pragma unroll 1
  for (Long e = First(); e < p.a.lines * p.columns; e += Step()) {
    const Long line = e % p.a.lines, j = e / p.a.lines;
    Element sum = Make(0, 0);
    const Long end = Get(p.a.offsets, line + 1);
#pragma unroll 1
    for (Long n = Get(p.a.offsets, line); n < end; ++n) {
      sum = sum + If(p.conjugated_a, Values(p.a)[n]) * If(p.conjugated_b, *At(p.b, Get(p.a.indices, n), j));
    }
    Element* const c = At(p.c, line, j);
    *c = IsZero(beta) ? alpha * sum : alpha * sum + beta * *c;
  }
}

extern "C" __global__ void multiply_entries(SparseProduct p) {
  const Element alpha = ValueOf(p.alpha);
  const Long items = p.a.coordinates ? p.a.entries : p.a.lines;
#pragma unroll 1
  for (Long e = First(); e < items * p.columns; e += Step()) {
    const Long item = e % items, j = e / items;
    const Long line = p.a.coordinates ? Get(p.a.offsets, item) : item;
    const Long begin = p.a.coordinates ? item : Get(p.a.offsets, item);
    const Long end = p.a.coordinates ? item + 1 : Get(p.a.offsets, item + 1);
#pragma unroll 1
    for (Long n = begin; n < end; ++n) {
      const Long index = Get(p.a.indices, n);
      const Element b = If(p.conjugated_b, *At(p.b, p.crossed ? line : index, j));
      AddTo(At(p.c, p.crossed ? index : line, j), alpha * If(p.conjugated_a, Values(p.a)[n]) * b);
    }
  }
}

extern "C" __global__ void sample_product(SampledProduct p) {
  const Element alpha = ValueOf(p.alpha), beta = ValueOf(p.beta);
  const Long items = p.c.coordinates ? p.c.entries : p.c.lines;
#pragma unroll 1
  for (Long item = First(); item < items; item += Step()) {
    const Long line = p.c.coordinates ? Get(p.c.offsets, item) : item;
    const Long begin = p.c.coordinates ? item : Get(p.c.offsets, item);
    const Long end = p.c.coordinates ? item + 1 : Get(p.c.offsets, item + 1);
#pragma unroll 1
    for (Long n = begin; n < end; ++n) {
      const Long index = Get(p.c.indices, n), row = p.crossed ? index : line, column = p.crossed ? line : index;
      Element sum = Make(0, 0);
#pragma unroll 1
      for (Long k = 0; k < p.inner; ++k) {
        sum = sum + If(p.conjugated_a, *At(p.a, row, k)) * If(p.conjugated_b, *At(p.b, k, column));
      }
      Element* const c = Values(p.c) + n;
      *c = IsZero(beta) ? alpha * sum : alpha * sum + beta * *c;
    }
  }
}

extern "C" __global__ void solve_lines(SparseSolver s) {
  const Element alpha = ValueOf(s.alpha);
#pragma unroll 1
  for (Long j = First(); j < s.columns; j += Step()) {
#pragma unroll 1
    for (Long i = 0; i < s.a.lines; ++i) *At(s.x, i, j) = alpha * If(s.conjugated_b, *At(s.b, i, j));
#pragma unroll 1
    for (Long o = 0; o < s.a.lines; ++o) {
      const Long line = s.forward ? o : s.a.lines - 1 - o;
      const Long begin = Get(s.a.offsets, line), end = Get(s.a.offsets, line + 1);
      Element diagonal = Make(s.unit ? 1 : 0, 0);
      Element x = *At(s.x, line, j);
#pragma unroll 1
      for (Long n = begin; n < end; ++n) {
        const Long index = Get(s.a.indices, n);
        const Element value = If(s.conjugated, Values(s.a)[n]);
        if (index == line && !s.unit) diagonal = value;
        // Of what is known already; nothing is looked at on the other side.
        if (!s.crossed && (s.forward ? index < line : index > line)) x = x - value * *At(s.x, index, j);
      }
      x = x / diagonal;
      *At(s.x, line, j) = x;
      if (!s.crossed) continue;
#pragma unroll 1
      for (Long n = begin; n < end; ++n) {
        const Long index = Get(s.a.indices, n);
        if (s.forward ? index <= line : index >= line) continue;
        *At(s.x, index, j) = *At(s.x, index, j) - If(s.conjugated, Values(s.a)[n]) * x;
      }
    }
  }
}

extern "C" __global__ void add_vector(SparseVector v) {
  const Element alpha = ValueOf(v.alpha);
#pragma unroll 1
  for (Long n = First(); n < v.entries; n += Step()) {
    AddTo(static_cast<Element*>(v.dense) + Get(v.indices, n), alpha * static_cast<Element*>(v.values)[n]);
  }
}
extern "C" __global__ void gather(SparseVector v) {
#pragma unroll 1
  for (Long n = First(); n < v.entries; n += Step()) {
    static_cast<Element*>(v.values)[n] = static_cast<Element*>(v.dense)[Get(v.indices, n)];
  }
}
extern "C" __global__ void scatter(SparseVector v) {
#pragma unroll 1
  for (Long n = First(); n < v.entries; n += Step()) {
    static_cast<Element*>(v.dense)[Get(v.indices, n)] = static_cast<Element*>(v.values)[n];
  }
}
extern "C" __global__ void dot(SparseVector v) {
  __shared__ Element sums[kSparseThreads];
  Element sum = Make(0, 0);
#pragma unroll 1
  for (Long n = threadIdx.x; n < v.entries; n += blockDim.x) {
    sum =
        sum + If(v.conjugated, static_cast<Element*>(v.values)[n]) * static_cast<Element*>(v.dense)[Get(v.indices, n)];
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll 1
  for (int t = 1; t < kSparseThreads; ++t) sum = sum + sums[t];
  *static_cast<Element*>(v.result) = sum;
}

extern "C" __global__ void to_dense(DenseConversion c) {
  const Long items = c.a.coordinates ? c.a.entries : c.a.lines;
#pragma unroll 1
  for (Long item = First(); item < items; item += Step()) {
    const Long line = c.a.coordinates ? Get(c.a.offsets, item) : item;
    const Long begin = c.a.coordinates ? item : Get(c.a.offsets, item);
    const Long end = c.a.coordinates ? item + 1 : Get(c.a.offsets, item + 1);
#pragma unroll 1
    for (Long n = begin; n < end; ++n) *At(c.dense, line, Get(c.a.indices, n)) = Values(c.a)[n];
  }
}
extern "C" __global__ void count_dense(DenseConversion c) {
#pragma unroll 1
  for (Long line = First(); line < c.a.lines; line += Step()) {
    Long count = 0;
#pragma unroll 1
    for (Long i = 0; i < c.a.width; ++i) count += !IsZero(*At(c.dense, line, i));
    c.counts[line + 1] = count;
    if (line == 0) c.counts[0] = 0;
  }
}
extern "C" __global__ void fill_sparse(DenseConversion c) {
#pragma unroll 1
  for (Long line = First(); line < c.a.lines; line += Step()) {
    Long n = c.counts[line];
    if (!c.a.coordinates) {
      Set(c.a.offsets, line, n);
      if (line + 1 == c.a.lines) Set(c.a.offsets, line + 1, c.counts[line + 1]);
    }
#pragma unroll 1
    for (Long i = 0; i < c.a.width; ++i) {
      const Element value = *At(c.dense, line, i);
      if (IsZero(value)) continue;
      if (c.a.coordinates) Set(c.a.offsets, n, line);
      Set(c.a.indices, n, i);
      Values(c.a)[n++] = value;
    }
  }
}
extern "C" __global__ void sum_counts(CountSum s) {
  if (First() != 0) return;
  Long sum = 0;
#pragma unroll 1
  for (Long line = 0; line < s.lines; ++line) {
    sum += s.counts[line + 1];
    s.counts[line + 1] = sum;
  }
}

extern "C" __global__ void expand_offsets(LineConversion c) {
#pragma unroll 1
  for (Long line = First(); line < c.lines; line += Step()) {
    const Long end = Get(c.offsets, line + 1);
#pragma unroll 1
    for (Long n = Get(c.offsets, line); n < end; ++n) Set(c.of_entries, n, line);
  }
}
extern "C" __global__ void compress_lines(LineConversion c) {
#pragma unroll 1
  for (Long line = First(); line <= c.lines; line += Step()) {
    Long low = 0, high = c.entries;  // the first entry that is not before the line
#pragma unroll 1
    while (low < high) {
      const Long middle = (low + high) / 2;
      if (Get(c.of_entries, middle) < line) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    Set(c.offsets, line, low);
  }
}
extern "C" __global__ void transpose_lines(SparseTransposition t) {
  if (First() != 0) return;
    // Offsets count what is before each line, then move on to its end, and back.
#pragma unroll 1
  for (Long line = 0; line <= t.to.lines; ++line) Set(t.to.offsets, line, 0);
#pragma unroll 1
  for (Long n = 0; n < t.from.entries; ++n) {
    const Long line = Get(t.from.indices, n) + 1;
    Set(t.to.offsets, line, Get(t.to.offsets, line) + 1);
  }
  Long sum = 0;
#pragma unroll 1
  for (Long line = 0; line <= t.to.lines; ++line) {
    sum += Get(t.to.offsets, line);
    Set(t.to.offsets, line, sum);
  }
#pragma unroll 1
  for (Long line = 0; line < t.from.lines; ++line) {
    const Long end = Get(t.from.offsets, line + 1);
#pragma unroll 1
    for (Long n = Get(t.from.offsets, line); n < end; ++n) {
      const Long to = Get(t.from.indices, n), place = Get(t.to.offsets, to);
      Set(t.to.offsets, to, place + 1);
      Set(t.to.indices, place, line);
      if (t.with_values) Values(t.to)[place] = Values(t.from)[n];
    }
  }
#pragma unroll 1
  for (Long line = t.to.lines; line > 0; --line) Set(t.to.offsets, line, Get(t.to.offsets, line - 1));
  Set(t.to.offsets, 0, 0);
}

extern "C" __global__ void identity(SparseSort s) {
#pragma unroll 1
  for (Long n = First(); n < s.entries; n += Step()) s.numbers[n] = static_cast<int>(n);
}
__device__ inline void Swap(int& a, int& b) {
  const int kept = a;
  a = b;
  b = kept;
}
extern "C" __global__ void exchange(SparseSort s) {
#pragma unroll 1
  for (Long i = First(); i < s.entries - s.d; i += Step()) {
    if ((i & s.p) != s.r) continue;
    const Long k = i + s.d;
    const bool before = s.major[k] != s.major[i]   ? s.major[k] < s.major[i]
                        : s.minor[k] != s.minor[i] ? s.minor[k] < s.minor[i]
                                                   : s.numbers != nullptr && s.numbers[k] < s.numbers[i];
    if (!before) continue;
    Swap(s.major[i], s.major[k]);
    Swap(s.minor[i], s.minor[k]);
    if (s.numbers != nullptr) Swap(s.numbers[i], s.numbers[k]);
  }
}

// Keys in order, by a heap, and what goes along.
template <typename Less, typename Exchange>
__device__ inline void SortBy(Long count, Less less, Exchange swap) {
#pragma unroll 1
  for (Long n = 2 * count - count / 2; n-- > 1;) {
    // First the heap is made, from its last parent on; then the largest goes behind what is left of it.
    Long parent = n >= count ? n - count : 0, left = n >= count ? count : n;
    if (n < count) swap(0, n);
#pragma unroll 1
    while (true) {
      Long child = 2 * parent + 1;
      if (child >= left) break;
      if (child + 1 < left && less(child, child + 1)) ++child;
      if (!less(parent, child)) break;
      swap(parent, child);
      parent = child;
    }
  }
}
extern "C" __global__ void sort_lines(SparseSort s) {
#pragma unroll 1
  for (Long line = First(); line < s.lines; line += Step()) {
    const Long begin = s.offsets[line] - s.base;
    int* const keys = s.minor + begin;
    int* const numbers = s.numbers == nullptr ? nullptr : s.numbers + begin;
    SortBy(
        s.offsets[line + 1] - s.base - begin,
        [&](Long a, Long b) {
          return keys[a] != keys[b] ? keys[a] < keys[b] : numbers != nullptr && numbers[a] < numbers[b];
        },
        [&](Long a, Long b) {
          Swap(keys[a], keys[b]);
          if (numbers != nullptr) Swap(numbers[a], numbers[b]);
        });
  }
}

extern "C" __global__ void count_products(SparseSquare s) {
#pragma unroll 1
  for (Long worker = First(); worker < s.workers; worker += Step()) {
    Long* const marks = s.marks + worker * s.b.width;
#pragma unroll 1
    for (Long i = 0; i < s.b.width; ++i) marks[i] = -1;
#pragma unroll 1
    for (Long line = worker; line < s.a.lines; line += s.workers) {
      Long count = 0;
      const Long end = Get(s.a.offsets, line + 1);
#pragma unroll 1
      for (Long n = Get(s.a.offsets, line); n < end; ++n) {
        const Long inner = Get(s.a.indices, n), last = Get(s.b.offsets, inner + 1);
#pragma unroll 1
        for (Long l = Get(s.b.offsets, inner); l < last; ++l) {
          const Long index = Get(s.b.indices, l);
          if (marks[index] == line) continue;
          marks[index] = line;
          ++count;
        }
      }
      s.counts[line + 1] = count;
      if (line == 0) s.counts[0] = 0;
    }
  }
}
extern "C" __global__ void fill_products(SparseSquare s) {
  const Element alpha = ValueOf(s.alpha);
#pragma unroll 1
  for (Long worker = First(); worker < s.workers; worker += Step()) {
    Long* const marks = s.marks + worker * s.b.width;
#pragma unroll 1
    for (Long i = 0; i < s.b.width; ++i) marks[i] = -1;
#pragma unroll 1
    for (Long line = worker; line < s.a.lines; line += s.workers) {
      const Long begin = s.counts[line], end = Get(s.a.offsets, line + 1);
      Set(s.c.offsets, line, begin);
      if (line + 1 == s.a.lines) Set(s.c.offsets, line + 1, s.counts[line + 1]);
      Long count = 0;
#pragma unroll 1
      for (Long n = Get(s.a.offsets, line); n < end; ++n) {
        const Long inner = Get(s.a.indices, n), last = Get(s.b.offsets, inner + 1);
#pragma unroll 1
        for (Long l = Get(s.b.offsets, inner); l < last; ++l) {
          const Long index = Get(s.b.indices, l);
          if (marks[index] >= 0) continue;
          marks[index] = 0;
          Set(s.c.indices, begin + count++, index);
        }
      }
      SortBy(
          count, [&](Long a, Long b) { return Get(s.c.indices, begin + a) < Get(s.c.indices, begin + b); },
          [&](Long a, Long b) {
            const Long kept = Get(s.c.indices, begin + a);
            Set(s.c.indices, begin + a, Get(s.c.indices, begin + b));
            Set(s.c.indices, begin + b, kept);
          });
#pragma unroll 1
      for (Long i = 0; i < count; ++i) {
        marks[Get(s.c.indices, begin + i)] = begin + i;
        Values(s.c)[begin + i] = Make(0, 0);
      }
#pragma unroll 1
      for (Long n = Get(s.a.offsets, line); n < end; ++n) {
        const Long inner = Get(s.a.indices, n), last = Get(s.b.offsets, inner + 1);
        const Element factor = alpha * Values(s.a)[n];
#pragma unroll 1
        for (Long l = Get(s.b.offsets, inner); l < last; ++l) {
          Element* const c = Values(s.c) + marks[Get(s.b.indices, l)];
          *c = *c + factor * Values(s.b)[l];
        }
      }
#pragma unroll 1
      for (Long i = 0; i < count; ++i) marks[Get(s.c.indices, begin + i)] = -1;
    }
  }
}

// `meet(index, of_a, of_b)` for each index of a line of A or of B, in order; -1 where one has none.
template <typename Meet>
__device__ inline void Merge(const SparseSum& s, Long line, Meet meet) {
  Long a = Get(s.a.offsets, line), b = Get(s.b.offsets, line);
  const Long end_a = Get(s.a.offsets, line + 1), end_b = Get(s.b.offsets, line + 1);
#pragma unroll 1
  while (a < end_a || b < end_b) {
    const bool has_a = a < end_a, has_b = b < end_b;
    const Long index_a = has_a ? Get(s.a.indices, a) : 0, index_b = has_b ? Get(s.b.indices, b) : 0;
    const bool take_a = has_a && (!has_b || index_a <= index_b), take_b = has_b && (!has_a || index_b <= index_a);
    meet(take_a ? index_a : index_b, take_a ? a : -1, take_b ? b : -1);
    a += take_a;
    b += take_b;
  }
}
extern "C" __global__ void count_sums(SparseSum s) {
#pragma unroll 1
  for (Long line = First(); line < s.a.lines; line += Step()) {
    Long count = 0;
    Merge(s, line, [&](Long, Long, Long) { ++count; });
    Set(s.c.offsets, line + 1, count);
  }
}
extern "C" __global__ void sum_offsets(SparseSum s) {
  if (First() != 0) return;
  Long sum = 0;
  Set(s.c.offsets, 0, 0);
#pragma unroll 1
  for (Long line = 1; line <= s.a.lines; ++line) {
    sum += Get(s.c.offsets, line);
    Set(s.c.offsets, line, sum);
  }
  *s.total = static_cast<int>(sum);
}
extern "C" __global__ void fill_sums(SparseSum s) {
  const Element alpha = ValueOf(s.alpha), beta = ValueOf(s.beta);
#pragma unroll 1
  for (Long line = First(); line < s.a.lines; line += Step()) {
    Long n = Get(s.c.offsets, line);
    Merge(s, line, [&](Long index, Long a, Long b) {
      Element sum = Make(0, 0);
      if (a >= 0) sum = sum + alpha * Values(s.a)[a];
      if (b >= 0) sum = sum + beta * Values(s.b)[b];
      Set(s.c.indices, n, index);
      Values(s.c)[n++] = sum;
    });
  }
}

extern "C" __global__ void count_elements(ElementCount c) {
#pragma unroll 1
  for (Long line = First(); line < c.lines; line += Step()) {
    int count = 0;
#pragma unroll 1
    for (Long i = 0; i < c.width; ++i) count += !IsZero(*At(c.a, line, i));
    c.counts[line] = count;
  }
}
extern "C" __global__ void sum_elements(ElementCount c) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int mine = 0;
#pragma unroll 1
  for (Long line = threadIdx.x; line < c.lines; line += blockDim.x) mine += c.counts[line];
  atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) *c.total = sum;
}
