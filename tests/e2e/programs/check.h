// Ends a program with exit code 3 and the error's name on stderr if a CUDA call fails.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

static void Check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(error));
  std::exit(3);
}
#define CHECK(call) Check(call, #call)
