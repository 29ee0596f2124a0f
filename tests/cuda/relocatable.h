// What the two halves of the program in relocatable.cu and relocatable_part.cu know of each other.
#pragma once

extern __device__ int shared_variable;
extern __constant__ float coefficients[4];
extern __managed__ int managed_count;

__device__ int Twice(int x);
__device__ float Polynomial(float x);

struct Shape {
  __device__ virtual float Area() const = 0;
};
__device__ float AreaOfSquare(float side);

__global__ void FillFromOtherPart(int* out, int n);

// In both halves, and one in the program.
template <class T>
__device__ T Cube(T x) {
  return x * x * x;
}
