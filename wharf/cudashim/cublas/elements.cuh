// Elements of the kernels' type: REAL is float or double, COMPLEX is defined for complex ones. For nvcc only.
#pragma once

#include "wharf/cudashim/cublas/solvers.h"

using namespace wharf_solvers;

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
__device__ inline Element operator*(Element a, REAL b) { return {a.re * b, a.im * b}; }
// By the larger part, so that nothing overflows on the way (Smith).
__device__ inline Element operator/(Element a, Element b) {
  const bool real = fabs(b.re) >= fabs(b.im);
  const REAL large = real ? b.re : b.im, small = real ? b.im : b.re, ratio = small / large;
  const REAL below = large + small * ratio;
  return real ? Element{(a.re + a.im * ratio) / below, (a.im - a.re * ratio) / below}
              : Element{(a.re * ratio + a.im) / below, (a.im * ratio - a.re) / below};
}
__device__ inline Element Conjugate(Element a) { return {a.re, -a.im}; }
__device__ inline REAL Real(Element a) { return a.re; }
__device__ inline REAL Imaginary(Element a) { return a.im; }
#else
using Element = REAL;
__device__ inline Element Make(double re, double) { return REAL(re); }
__device__ inline Element Conjugate(Element a) { return a; }
__device__ inline REAL Real(Element a) { return a; }
__device__ inline REAL Imaginary(Element) { return 0; }
#endif
__device__ inline bool IsZero(Element a) { return Real(a) == 0 && Imaginary(a) == 0; }
// What BLAS compares pivots by.
__device__ inline REAL Size(Element a) { return fabs(Real(a)) + fabs(Imaginary(a)); }
__device__ inline REAL Square(Element a) { return Real(a) * Real(a) + Imaginary(a) * Imaginary(a); }

__device__ inline void Exchange(Element& a, Element& b) {
  const Element kept = a;
  a = b;
  b = kept;
}

// The lines of a thread: first, and how far apart.
__device__ inline long long FirstLine() { return blockIdx.y * static_cast<long long>(blockDim.x) + threadIdx.x; }
__device__ inline long long LineStep() { return gridDim.y * static_cast<long long>(blockDim.x); }

__device__ inline Element Scalar(const ScalarArgument& scalar) {
  if (scalar.on_device == nullptr) return Make(scalar.number[0], scalar.number[1]);
  if (scalar.real) return Make(*static_cast<const REAL*>(scalar.on_device), 0);
  return *static_cast<const Element*>(scalar.on_device);
}
