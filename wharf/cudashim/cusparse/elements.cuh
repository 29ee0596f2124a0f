// What kernels of every source start from, besides elements of a type: indices of either size, and the items of a
// thread.
#pragma once

#include "wharf/cudashim/client/library/element.cuh"
#include "wharf/cudashim/cusparse/kernels.h"

using namespace wharf_sparse;
using Long = long long;

#ifdef COMPLEX
__device__ inline void AddTo(Element* place, Element a) {
  atomicAdd(&place->re, a.re);
  atomicAdd(&place->im, a.im);
}
#else
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
