// A program that calls CUDA and has no kernels of its own.
#include <cuda_runtime.h>

int main() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? 0 : 1;
}
