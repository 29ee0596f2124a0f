// What kernels of every source start from: elements of a type, indices of either size, and the items of a thread. REAL
// is float or double, COMPLEX is defined for complex ones.
#pragma once

#include "wharf/cudashim/cusparse/kernels.h"

using namespace wharf_sparse;
using Long = long long;

#ifdef COMPLEX
struct Element {
  REAL re, im;
};
__device__ inline Element Make(double re, double im) { return {REAL(re), REAL(im)}; }
__device__ inline Element operator+(Element a, Element b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Element operator-(Element a, Element b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Element operator*(Element a, Element b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// By the larger part, so that nothing overflows on the way (Smith).
__device__ inline Element operator/(Element a, Element b) {
  const bool real = fabs(b.re) >= fabs(b.im);
  const REAL large = real ? b.re : b.im, small = real ? b.im : b.re, ratio = small / large;
  const REAL below = large + small * ratio;
  return real ? Element{(a.re + a.im * ratio) / below, (a.im - a.re * ratio) / below}
              : Element{(a.re * ratio + a.im) / below, (a.im * ratio - a.re) / below};
}
__device__ inline Element Conjugate(Element a) { return {a.re, -a.im}; }
__device__ inline bool IsZero(Element a) { return a.re == 0 && a.im == 0; }
__device__ inline void AddTo(Element* place, Element a) {
  atomicAdd(&place->re, a.re);
  atomicAdd(&place->im, a.im);
}
#else
using Element = REAL;
__device__ inline Element Make(double re, double) { return REAL(re); }
__device__ inline Element Conjugate(Element a) { return a; }
__device__ inline bool IsZero(Element a) { return a == 0; }
__device__ inline void AddTo(Element* place, Element a) { atomicAdd(place, a); }
#endif

__device__ inline Element ValueOf(const SparseScalar& s) {
  return s.on_device != nullptr ? *static_cast<const Element*>(s.on_device) : Make(s.number[0], s.number[1]);
}
__device__ inline Element If(bool conjugated, Element a) { return conjugated ? Conjugate(a) : a; }
// From 0, whatever the base.
__device__ inline Long Get(const IndexArray& array, Long i) {
  return (array.wide ? static_cast<const Long*>(array.data)[i] : static_cast<const int*>(array.data)[i]) - array.base;
}
__device__ inline void Set(const IndexArray& array, Long i, Long value) {
  if (array.wide) {
    static_cast<Long*>(array.data)[i] = value + array.base;
  } else {
    static_cast<int*>(array.data)[i] = static_cast<int>(value + array.base);
  }
}
__device__ inline Element* Values(const SparseMatrix& a) { return static_cast<Element*>(a.values); }
__device__ inline Element* At(const DenseMatrix& m, Long i, Long j) {
  return static_cast<Element*>(m.data) + i * m.row + j * m.column;
}
__device__ inline Long First() { return blockIdx.x * static_cast<Long>(blockDim.x) + threadIdx.x; }
__device__ inline Long Step() { return gridDim.x * static_cast<Long>(blockDim.x); }
