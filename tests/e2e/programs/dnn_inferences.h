// What programs share that make one inference on cuDNN after another.
#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void Check(bool ok, const char* call) {
  if (ok) return;
  char why[256] = "";
  cudnnGetLastErrorString(why, sizeof why);
  std::fprintf(stderr, "%s: %s, %s\n", call, cudaGetErrorName(cudaGetLastError()), why);
  std::exit(3);
}
#define CUDA(call) Check((call) == cudaSuccess, #call)
#define DNN(call) Check((call) == CUDNN_STATUS_SUCCESS, #call)

constexpr int kKinds = 3;  // of inputs

// Each inference has an input of `size` numbers, one of three kinds in turns, and is compared with what the first gave
// for its kind. The program's exit code: 4 if one differs, or none does for other inputs.
template <typename Infer>
int RunInferences(int inferences, size_t size, const Infer& infer) {
  std::vector<std::vector<float>> known(kKinds);
  for (int i = 0; i < inferences; ++i) {
    std::vector<float> input(size);
    for (size_t j = 0; j < size; ++j) input[j] = std::cos(static_cast<float>(j * (i % kKinds + 1)));
    const std::vector<float> result = infer(input);
    if (i < kKinds) {
      known[i] = result;
      if (i > 0 && known[i] == known[i - 1]) return 4;
    } else if (result != known[i % kKinds]) {
      std::fprintf(stderr, "inference %d differs from the first with its input\n", i);
      return 4;
    }
  }
  std::puts("done");
  return 0;
}
