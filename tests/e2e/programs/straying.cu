// Kernels that leave the memory they were given, for `wharf run --check memory`: `straying NAME` runs one. Tests find
// lines by the words behind the @ of a comment. What strays by a few bytes goes unnoticed without a check; exit code 3:
// a CUDA error, which is what comes of going further.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                          \
  do {                                       \
    if ((call) != cudaSuccess) std::exit(3); \
  } while (false)

constexpr int kThreads = 64;

// As a loop whose bound is one too high.
__global__ void Add(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= count) values[i] += 1;  // @add
}

__global__ void Far(float* values, long distance) {
  values[distance] = 1;  // @far
}

// Of a tile that has no room for the last neighbour.
__global__ void Tile(float* values) {
  extern __shared__ float tile[];
  tile[threadIdx.x + 1] = values[threadIdx.x];  // @tile
  __syncthreads();
  values[threadIdx.x] = tile[threadIdx.x];
}

__global__ void Pairs(const char* bytes, double* sums) {
  const double* from = reinterpret_cast<const double*>(bytes + 4);
  sums[threadIdx.x] = from[threadIdx.x];  // @pairs
}

__device__ int counts[4];

__global__ void Count(int which) { atomicAdd(&counts[threadIdx.x % 4], which); }

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  float* values = nullptr;
  CHECK(cudaMalloc(&values, 101 * sizeof(float)));
  CHECK(cudaMemset(values, 0, 101 * sizeof(float)));
  if (std::strcmp(name, "add") == 0) Add<<<2, kThreads>>>(values, 101);
  if (std::strcmp(name, "in_bounds") == 0) Add<<<2, kThreads>>>(values, 100);
  if (std::strcmp(name, "far") == 0) Far<<<1, 1>>>(values, 1L << 20);
  if (std::strcmp(name, "tile") == 0) Tile<<<1, kThreads, kThreads * sizeof(float)>>>(values);
  if (std::strcmp(name, "pairs") == 0) {
    double* sums = nullptr;
    CHECK(cudaMalloc(&sums, 16 * sizeof(double)));
    Pairs<<<1, 16>>>(reinterpret_cast<const char*>(values), sums);
    const cudaError_t error = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorName(error));
    if (error != cudaSuccess) return 4;  // as on a GPU
    CHECK(cudaFree(sums));
  }
  Count<<<1, kThreads>>>(1);
  CHECK(cudaDeviceSynchronize());
  if (std::strcmp(name, "leak") != 0) CHECK(cudaFree(values));
  std::puts("done");
  return 0;
}
