// Does one thing wrong, and says what CUDA made of it: `misbehave overrun|wild|null|trap|assert|hoard|endless|waits
// |host|managed_after_fault|managed_in_host_function`.
#include <cuda_runtime.h>

#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstring>

__global__ void Write(int* where) { *where = 1; }
__global__ void Trap() { __trap(); }
__global__ void FailAssertion(int value) { assert(value == 42); }
__global__ void Endless(volatile int* flag) {
  while (*flag == 0) {
  }
}
// Half a block waits for what the other half never says.
__global__ void WaitInVain(volatile int* flag) {
  __syncthreads();
  if (threadIdx.x < 32) {
    while (*flag == 0) __syncwarp();
  }
  __syncthreads();
}

static void Report(const char* call, cudaError_t error) { std::printf("%s: %s\n", call, cudaGetErrorName(error)); }

static void Hoard() {
  void* block = nullptr;
  int blocks = 0;
  cudaError_t error = cudaSuccess;
  while (blocks < 1000 && (error = cudaMalloc(&block, size_t{64} << 20)) == cudaSuccess) ++blocks;
  std::printf("blocks: %d\n", blocks);
  Report("cudaMalloc", error);
  Report("cudaGetLastError", cudaGetLastError());
  Report("cudaFree", cudaFree(block));
}

// What the device has cannot be looked at once it faulted, nor by a function that the device waits for.
static void LookAtManaged(bool in_host_function) {
  int* shared = nullptr;
  Report("cudaMallocManaged", cudaMallocManaged(&shared, 4));
  Write<<<1, 1>>>(shared);
  Report("cudaDeviceSynchronize", cudaDeviceSynchronize());
  if (in_host_function) {
    cudaLaunchHostFunc(
        nullptr, [](void* user) { std::printf("%d\n", *static_cast<int*>(user)); }, shared);
  } else {
    Write<<<1, 1>>>(nullptr);
  }
  Report("cudaDeviceSynchronize", cudaDeviceSynchronize());
  std::fflush(stdout);
  std::printf("%d\n", *shared);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strncmp(what, "managed_", 8) == 0) {
    LookAtManaged(std::strcmp(what, "managed_in_host_function") == 0);
    return 0;
  }
  if (std::strcmp(what, "hoard") == 0) {
    Hoard();
    return 0;
  }
  int* memory = nullptr;
  Report("cudaMalloc", cudaMalloc(&memory, 1024));
  Report("cudaMemset", cudaMemset(memory, 0, 1024));
  if (std::strcmp(what, "overrun") == 0) Write<<<1, 1>>>(memory + 1024 / sizeof(int) + 128);
  // Sanitizers leave a gap there too.
  if (std::strcmp(what, "wild") == 0) Write<<<1, 1>>>(reinterpret_cast<int*>(uintptr_t{0x9012345000}));
  if (std::strcmp(what, "null") == 0) Write<<<1, 1>>>(nullptr);
  if (std::strcmp(what, "host") == 0) Write<<<1, 1>>>(new int(3));
  if (std::strcmp(what, "trap") == 0) Trap<<<1, 1>>>();
  if (std::strcmp(what, "assert") == 0) FailAssertion<<<1, 1>>>(7);
  if (std::strcmp(what, "endless") == 0) {
    std::puts("ready");
    std::fflush(stdout);
    Endless<<<1, 1>>>(memory);
  }
  if (std::strcmp(what, "waits") == 0) WaitInVain<<<4, 64>>>(memory);
  Report("launch", cudaGetLastError());
  Report("cudaDeviceSynchronize", cudaDeviceSynchronize());
  Report("cudaMalloc again", cudaMalloc(&memory, 1024));
  Report("cudaGetLastError", cudaGetLastError());
  return 0;
}
