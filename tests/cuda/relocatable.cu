// Device code in two halves, compiled with -rdc=true: functions, variables and kernels of the other half.
#include "tests/cuda/relocatable.h"

#include "tests/cuda/harness.h"

static __device__ int own = 1000;
static __device__ __noinline__ int Helper(int x) { return x - own; }

__global__ void UseOtherPart(int* ints, float* floats) {
  const int i = int(threadIdx.x);
  ints[i] = Twice(i) + shared_variable + Helper(1000);
  floats[i] = Polynomial(float(i)) + AreaOfSquare(float(i)) + Cube(float(i));
  if (i == 0) atomicAdd(&managed_count, 5);
  if (i == 0) printf("main: %s\n", "printed");
}

CASE(functions_and_variables_of_the_other_part) {
  Buffer<int> ints(32);
  Buffer<float> floats(32);
  UseOtherPart<<<1, 32>>>(ints, floats);
  std::vector<int> want(32);
  std::vector<float> wanted(32);
  for (int i = 0; i < 32; ++i) {
    const float x = float(i);
    want[size_t(i)] = 2 * i + 17;
    wanted[size_t(i)] = (((4 * x + 3) * x + 2) * x + 1) + x * x + x * x * x;
  }
  EXPECT_SAME(ints.Get(), want);
  EXPECT_SAME(floats.Get(), wanted);
  EXPECT_EQ(managed_count, 105);
}
CASE(symbols_of_the_other_part) {
  const int value = 30;
  const float other[4] = {0, 1, 0, 0};
  CUDA_OK(cudaMemcpyToSymbol(shared_variable, &value, sizeof(value)));
  CUDA_OK(cudaMemcpyToSymbol(coefficients, other, sizeof(other)));
  Buffer<int> ints(32);
  Buffer<float> floats(32);
  UseOtherPart<<<1, 32>>>(ints, floats);
  EXPECT_EQ(ints.Get()[3], 36);
  EXPECT_EQ(floats.Get()[3], 3.0f + 9.0f + 27.0f);
}
CASE(a_kernel_of_the_other_part) {
  Buffer<int> out(16);
  FillFromOtherPart<<<1, 32, 32 * sizeof(int)>>>(out, 16);
  std::vector<int> want(16);
  for (int i = 0; i < 16; ++i) want[size_t(i)] = (15 - i) * (15 - i) * (15 - i) + 5;
  EXPECT_SAME(out.Get(), want);
}
