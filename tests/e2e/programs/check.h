// Ends a program with exit code 3 and the error's name on stderr if a CUDA call fails, or, with the last error's name,
// a call of a library whose statuses are its own.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void Check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(error));
  std::exit(3);
}
inline void Check(bool ok, const char* call) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(cudaGetLastError()));
  std::exit(3);
}
#define CHECK(call) Check(call, #call)
