// The other half of relocatable.cu.
#include "tests/cuda/relocatable.h"

#include <cstdio>

__device__ int shared_variable = 17;
__constant__ float coefficients[4] = {1, 2, 3, 4};
__managed__ int managed_count = 100;
static __device__ int own = 5;  // the other half has one of this name

static __device__ __noinline__ int Helper(int x) { return x + own; }

__device__ int Twice(int x) { return Helper(2 * x) - 5; }

__device__ float Polynomial(float x) {
  float value = 0;
  for (int i = 3; i >= 0; --i) value = value * x + coefficients[i];
  return value;
}

namespace {
struct Square : Shape {
  float side;
  __device__ explicit Square(float length) : side(length) {}
  __device__ float Area() const override { return side * side; }
};
}  // namespace
static __device__ __noinline__ float AreaOf(const Shape& shape) { return shape.Area(); }
__device__ float AreaOfSquare(float side) { return AreaOf(Square(side)); }

__global__ void FillFromOtherPart(int* out, int n) {
  extern __shared__ int scratch[];
  const int i = int(threadIdx.x);
  scratch[i] = Cube(i) + own;
  __syncthreads();
  if (i < n) out[i] = scratch[n - 1 - i];
  if (i == 0) printf("part: %d of %s\n", n, "other");
}
