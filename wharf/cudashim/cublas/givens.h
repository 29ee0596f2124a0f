// Givens rotations, and the modified ones, as BLAS makes and applies them: one source for the host and for kernels.
// R is float or double; complex numbers are two of them.
#pragma once

#include <math.h>

#ifdef __CUDACC__
#define WHARF_GIVENS __device__ inline
#define WHARF_GIVENS_NAMESPACE wharf_solvers
#else
#define WHARF_GIVENS inline
#define WHARF_GIVENS_NAMESPACE wharf::cudashim
#endif

namespace WHARF_GIVENS_NAMESPACE {

// rotg: c and s such that (a, b) turns into (r, 0); a becomes r, and b the number from which c and s can be had again.
template <typename R>
WHARF_GIVENS void MakeRotation(R* a, R* b, R* c, R* s) {
  const R size_a = fabs(*a), size_b = fabs(*b), scale = size_a + size_b;
  if (scale == 0) {
    *c = 1;
    *s = *a = *b = 0;
    return;
  }
  const R x = *a / scale, y = *b / scale, root = scale * sqrt(x * x + y * y);
  const R r = (size_a > size_b ? *a : *b) < 0 ? -root : root;
  *c = *a / r;
  *s = *b / r;
  *b = size_a > size_b ? *s : *c != 0 ? 1 / *c : 1;
  *a = r;
}

template <typename R>
WHARF_GIVENS R SizeOfComplex(const R* a) {
  const R most = fmax(fabs(a[0]), fabs(a[1])), least = fmin(fabs(a[0]), fabs(a[1]));
  if (most == 0) return 0;
  return most * sqrt(1 + (least / most) * (least / most));
}

// b stays; c is real.
template <typename R>
WHARF_GIVENS void MakeComplexRotation(R* a, const R* b, R* c, R* s) {
  const R size_a = SizeOfComplex(a), size_b = SizeOfComplex(b);
  if (size_a == 0) {
    *c = 0;
    s[0] = 1;
    s[1] = 0;
    a[0] = b[0];
    a[1] = b[1];
    return;
  }
  const R scale = size_a + size_b, x = size_a / scale, y = size_b / scale, norm = scale * sqrt(x * x + y * y);
  const R re = a[0] / size_a, im = a[1] / size_a;
  *c = size_a / norm;
  s[0] = (re * b[0] + im * b[1]) / norm;
  s[1] = (im * b[0] - re * b[1]) / norm;
  a[0] = re * norm;
  a[1] = im * norm;
}

// The matrix of a modified rotation, and what rotm's parameters have of it: a flag, then h11, h21, h12, h22.
template <typename R>
struct ModifiedRotation {
  R flag, h11, h21, h12, h22;
};

template <typename R>
WHARF_GIVENS ModifiedRotation<R> ReadModifiedRotation(const R* parameters) {
  const R flag = parameters[0];
  if (flag == -2) return {flag, 1, 0, 0, 1};
  if (flag == 0) return {flag, 1, parameters[2], parameters[3], 1};
  if (flag == 1) return {flag, parameters[1], -1, 1, parameters[4]};
  return {flag, parameters[1], parameters[2], parameters[3], parameters[4]};
}

// While one of the two weights is too small or too large for its type, the matrix is no longer of a short form.
template <typename R>
WHARF_GIVENS void ScaleModifiedRotation(ModifiedRotation<R>* m, R* weight, R* h_of_x, R* h_of_y, R* x) {
  constexpr R kGamma = 4096, kMost = kGamma * kGamma, kLeast = 1 / kMost;
  while (*weight != 0 && isfinite(*weight) && (fabs(*weight) <= kLeast || fabs(*weight) >= kMost)) {
    m->flag = -1;
    const bool small = fabs(*weight) <= kLeast;
    *weight = small ? *weight * kMost : *weight / kMost;
    const R factor = small ? 1 / kGamma : kGamma;
    *h_of_x *= factor;
    *h_of_y *= factor;
    if (x != nullptr) *x *= factor;
  }
}

// rotmg: of (x1 sqrt(d1), y1 sqrt(d2)) the second becomes 0.
template <typename R>
WHARF_GIVENS void MakeModifiedRotation(R* d1, R* d2, R* x1, R y1, R* parameters) {
  ModifiedRotation<R> m{-1, 0, 0, 0, 0};
  const R p2 = *d2 * y1, p1 = *d1 * *x1, q2 = p2 * y1, q1 = p1 * *x1;
  bool impossible = *d1 < 0;
  if (!impossible && p2 == 0) {
    parameters[0] = -2;
    return;
  }
  if (!impossible && fabs(q1) > fabs(q2)) {
    m = {0, 1, -y1 / *x1, p2 / p1, 1};
    const R u = 1 - m.h12 * m.h21;
    impossible = !(u > 0);
    if (!impossible) *d1 /= u, *d2 /= u, *x1 *= u;
  } else if (!impossible) {
    impossible = q2 < 0;
    if (!impossible) {
      m = {1, p1 / p2, -1, 1, *x1 / y1};
      const R u = 1 + m.h11 * m.h22, before = *d1;
      *d1 = *d2 / u;
      *d2 = before / u;
      *x1 = y1 * u;
    }
  }
  if (impossible) {
    m = {-1, 0, 0, 0, 0};
    *d1 = *d2 = *x1 = 0;
  } else {
    ScaleModifiedRotation(&m, d1, &m.h11, &m.h12, x1);
    ScaleModifiedRotation(&m, d2, &m.h21, &m.h22, static_cast<R*>(nullptr));
  }
  parameters[0] = m.flag;
  if (m.flag != 0) parameters[1] = m.h11, parameters[4] = m.h22;
  if (m.flag != 1) parameters[2] = m.h21, parameters[3] = m.h12;
}

}  // namespace WHARF_GIVENS_NAMESPACE
