// What kernels of both sources start from, besides elements of a type.
#pragma once

#include "wharf/cudashim/client/library/element.cuh"
#include "wharf/cudashim/cublas/solvers.h"

using namespace wharf_solvers;

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
