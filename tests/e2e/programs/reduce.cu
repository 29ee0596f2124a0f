// An inference whose input is large and soon reduced, and whose weights are: `reduce N MEGABYTES` copies 2 MB, adds
// them up in blocks, and weighs the sums with weights that take as much memory; N times. Prints the last result. Exit
// codes: 0 all as computed here, 1 not, 3 a CUDA error.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kWords = 512 << 10, kBlocks = 64, kThreads = 128;

__global__ void Reduce(const unsigned* in, unsigned* sums) {
  __shared__ unsigned parts[kThreads];
  unsigned sum = 0;
  const int block = kWords / kBlocks;
  for (int i = threadIdx.x; i < block; i += kThreads) sum += in[blockIdx.x * block + i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kThreads; ++i) sum += parts[i];
  sums[blockIdx.x] = sum;
}

__global__ void Weigh(const unsigned* weights, int stride, const unsigned* sums, unsigned* out) {
  unsigned sum = 0;
  for (int i = 0; i < kBlocks; ++i) sum = sum * 31 + weights[i * stride] * sums[i];
  *out = sum;
}

#define CHECK(call)                      \
  do {                                   \
    if ((call) != cudaSuccess) return 3; \
  } while (false)

int main(int, char** argv) {
  constexpr unsigned kWeight = 0x03030303;
  const int inferences = std::atoi(argv[1]), weight_bytes = std::atoi(argv[2]) << 20;
  const int stride = weight_bytes / static_cast<int>(sizeof(unsigned)) / kBlocks;
  unsigned *in, *sums, *out, *weights;
  CHECK(cudaMalloc(&in, kWords * sizeof *in));
  CHECK(cudaMalloc(&sums, kBlocks * sizeof *sums));
  CHECK(cudaMalloc(&out, sizeof *out));
  CHECK(cudaMalloc(&weights, weight_bytes));
  CHECK(cudaMemset(weights, 3, weight_bytes));
  std::vector<unsigned> words(kWords);
  unsigned got = 0;
  for (int n = 0; n < inferences; ++n) {
    unsigned expected = 0;
    for (int b = 0; b < kBlocks; ++b) {
      unsigned sum = 0;
      for (int i = b * (kWords / kBlocks); i < (b + 1) * (kWords / kBlocks); ++i) sum += words[i] = i * 2654435761u + n;
      expected = expected * 31 + kWeight * sum;
    }
    CHECK(cudaMemcpy(in, words.data(), kWords * sizeof *in, cudaMemcpyHostToDevice));
    Reduce<<<kBlocks, kThreads>>>(in, sums);
    Weigh<<<1, 1>>>(weights, stride, sums, out);
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    if (got != expected) return 1;
  }
  std::printf("%u\n", got);
  return 0;
}
