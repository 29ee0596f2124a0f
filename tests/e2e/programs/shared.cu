// Prints the device's compute capability and how many bytes of shared memory a block may ask for, and uses all of them.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

#include "check.h"

__global__ void Reverse(const int* in, int* out, int count) {
  extern __shared__ int row[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) row[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = row[count - 1 - i];
}

int main() {
  cudaDeviceProp properties = {};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  const size_t bytes = properties.sharedMemPerBlockOptin;
  std::vector<int> numbers(bytes / sizeof(int)), results(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 1);
  int *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, bytes));
  CHECK(cudaMalloc(&out, bytes));
  CHECK(cudaMemcpy(in, numbers.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaFuncSetAttribute(Reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  Reverse<<<1, 256, bytes>>>(in, out, static_cast<int>(numbers.size()));
  CHECK(cudaMemcpy(results.data(), out, bytes, cudaMemcpyDeviceToHost));
  const bool right = std::equal(results.rbegin(), results.rend(), numbers.begin());
  std::printf("%d.%d %zu %s\n", properties.major, properties.minor, bytes, right ? "right" : "wrong");
}
