// Elements of the kernels' type, which a library's kernels are compiled for one by one (wharf_library_kernels): REAL is
// float or double, COMPLEX is defined for complex ones. For nvcc only.
#pragma once

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
