// Kernels that read what nobody has written, and those that do not, for `wharf run --check init`: `unwritten NAME` runs
// one. Tests find lines by the words behind the @ of a comment. Exit code 3: a CUDA error.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                          \
  do {                                       \
    if ((call) != cudaSuccess) std::exit(3); \
  } while (false)

constexpr int kThreads = 64;
constexpr size_t kBytes = kThreads * sizeof(float);

__global__ void Sum(const float* in, float* out) {
  atomicAdd(out, in[threadIdx.x]);  // @sum
}

// All but the last word of a tile are written.
__global__ void Last(float* out) {
  __shared__ float tile[kThreads];
  if (threadIdx.x < kThreads - 1) tile[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = tile[kThreads - 1];  // @last
}

__global__ void Set(float* out) { out[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  float host[kThreads] = {}, *in = nullptr, *copy = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, kBytes));
  CHECK(cudaMalloc(&copy, kBytes));
  CHECK(cudaMalloc(&out, sizeof host));
  CHECK(cudaMemset(out, 0, sizeof host));
  const float* from = in;
  if (is("half") || is("copied_half")) CHECK(cudaMemcpy(in, host, kBytes / 2, cudaMemcpyHostToDevice));
  if (is("host") || is("copied")) CHECK(cudaMemcpy(in, host, kBytes, cudaMemcpyHostToDevice));
  if (is("fill")) CHECK(cudaMemset2D(in, 64, 0, 64, kBytes / 64));
  if (is("kernel")) Set<<<1, kThreads>>>(in);
  if (is("device")) {
    Set<<<1, kThreads>>>(copy);
    CHECK(cudaMemcpy(in, copy, kBytes, cudaMemcpyDeviceToDevice));
  }
  if (is("copied") || is("copied_half")) {
    CHECK(cudaMemcpy(copy, in, kBytes, cudaMemcpyDeviceToDevice));
    from = copy;
  }
  Sum<<<1, kThreads>>>(from, out);
  if (is("half")) Last<<<2, kThreads>>>(out);
  CHECK(cudaDeviceSynchronize());
  for (float* memory : {in, copy, out}) CHECK(cudaFree(memory));
  std::puts("done");
  return 0;
}
