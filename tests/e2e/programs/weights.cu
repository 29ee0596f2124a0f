// Loads a network's weights as frameworks do, `weights TENSORS`: allocates, copies from pageable memory that is used
// again at once, synchronises, tensor by tensor. Then adds them up on another stream, which no event orders behind the
// copies: the program has waited. Exit codes: 0 right, 3 a CUDA error (named on stderr), 4 a wrong sum.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.h"

constexpr int kElements = 5000;

__global__ void Add(const int* tensor, int count, unsigned long long* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) atomicAdd(sum, static_cast<unsigned long long>(tensor[i]));
}

int main(int argc, char** argv) {
  const int tensors = argc > 1 ? std::atoi(argv[1]) : 10;
  cudaStream_t loading = nullptr, computing = nullptr;
  CHECK(cudaStreamCreateWithFlags(&loading, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&computing, cudaStreamNonBlocking));
  unsigned long long* sum = nullptr;
  CHECK(cudaMalloc(&sum, sizeof *sum));
  CHECK(cudaMemset(sum, 0, sizeof *sum));
  CHECK(cudaDeviceSynchronize());

  std::vector<int> staged(kElements);
  std::vector<int*> loaded;
  unsigned long long wanted = 0;
  for (int tensor = 0; tensor < tensors; ++tensor) {
    for (int i = 0; i < kElements; ++i) wanted += staged[i] = (i * 7 + tensor * 13) % 1000;
    int* weights = nullptr;
    CHECK(cudaMalloc(&weights, kElements * sizeof(int)));
    CHECK(cudaMemcpyAsync(weights, staged.data(), kElements * sizeof(int), cudaMemcpyHostToDevice, loading));
    CHECK(cudaStreamSynchronize(loading));
    loaded.push_back(weights);
  }
  for (const int* weights : loaded) Add<<<(kElements + 127) / 128, 128, 0, computing>>>(weights, kElements, sum);
  CHECK(cudaGetLastError());
  unsigned long long found = 0;
  CHECK(cudaMemcpyAsync(&found, sum, sizeof found, cudaMemcpyDeviceToHost, computing));
  CHECK(cudaStreamSynchronize(computing));
  if (found != wanted) {
    std::fprintf(stderr, "the sum is %llu, not %llu\n", found, wanted);
    return 4;
  }
  std::puts("done");
  return 0;
}
