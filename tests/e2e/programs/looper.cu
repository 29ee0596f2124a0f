// Launches, copies back and checks, over and over: `looper ROUNDS [FILE]`. Prints "ready" after the first round; FILE
// says how many there were. Exit codes: 0 all rounds right, 3 a CUDA error (named on stderr), 4 a wrong result.
#include <cstdio>
#include <cstdlib>

#include "check.h"

__global__ void AddOne(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  std::FILE* const counted = argc > 2 ? std::fopen(argv[2], "w") : nullptr;
  constexpr int kCount = 1000;
  int* values = nullptr;
  CHECK(cudaMalloc(&values, kCount * sizeof(int)));
  CHECK(cudaMemset(values, 0, kCount * sizeof(int)));
  for (int round = 1; round <= rounds; ++round) {
    AddOne<<<(kCount + 127) / 128, 128>>>(values, kCount);
    CHECK(cudaGetLastError());
    int last = 0;
    CHECK(cudaMemcpy(&last, values + kCount - 1, sizeof last, cudaMemcpyDeviceToHost));
    if (last != round) {
      std::fprintf(stderr, "round %d gave %d\n", round, last);
      return 4;
    }
    if (counted != nullptr) {
      std::rewind(counted);
      std::fprintf(counted, "%d", round);
      std::fflush(counted);
    }
    if (round == 1) {
      std::puts("ready");
      std::fflush(stdout);
    }
  }
  CHECK(cudaFree(values));
  std::puts("done");
  return 0;
}
