// Kernels that lack a barrier, and the same ones with it, for `wharf run --check race`: `racing NAME [ordered] [CODE]`
// runs one and ends with exit code CODE, or 0. Tests find lines by the words behind the @ of a comment. Exit code 3: a
// CUDA error.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int kThreads = 128, kBlocks = 3;

__device__ float WarpMax(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
  return x;
}

__device__ float WarpSum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// exp(x - max) / sum over a block. The warps' maxima and then their sums go through the same few words: a warp that is
// quick writes its sum where a slow one has still to read a maximum.
template <bool kOrdered>
__global__ void Softmax(const float* in, float* out) {
  __shared__ float scratch[kThreads / 32];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const float x = in[blockIdx.x * kThreads + thread];
  const float own_max = WarpMax(x);
  if (lane == 0) scratch[warp] = own_max;
  __syncthreads();
  float max = scratch[0];                                                // @softmax first
  for (int i = 1; i < kThreads / 32; ++i) max = fmaxf(max, scratch[i]);  // @softmax read
  const float power = expf(x - max), own_sum = WarpSum(power);
  if (kOrdered) __syncthreads();
  if (lane == 0) scratch[warp] = own_sum;  // @softmax write
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < kThreads / 32; ++i) sum += scratch[i];
  out[blockIdx.x * kThreads + thread] = power / sum;
}

// A tree of sums whose last steps, within a warp, rely on its lanes going in step.
template <bool kOrdered>
__global__ void Tree(const float* in, float* out) {
  __shared__ float sums[kThreads];
  const int thread = threadIdx.x;
  sums[thread] = in[blockIdx.x * kThreads + thread];
  __syncthreads();
  for (int step = kThreads / 2; step >= 32; step /= 2) {
    if (thread < step) sums[thread] += sums[thread + step];
    __syncthreads();
  }
  if (thread >= 32) return;
  for (int step = 16; step > 0; step /= 2) {
    if (thread < step) sums[thread] += sums[thread + step];  // @tree
    if (kOrdered) __syncwarp();
  }
  if (thread == 0) out[blockIdx.x * kThreads] = sums[0];
}

// Neighbours' bytes by way of shared memory.
template <bool kOrdered>
__global__ void Blur(const unsigned char* in, unsigned char* out) {
  extern __shared__ unsigned char tile[];
  const int thread = threadIdx.x;
  tile[thread] = in[blockIdx.x * kThreads + thread];  // @blur write
  if (kOrdered) __syncthreads();
  const int left = thread == 0 ? 0 : thread - 1, right = thread == kThreads - 1 ? thread : thread + 1;
  out[blockIdx.x * kThreads + thread] = (tile[left] + 2 * tile[thread] + tile[right]) / 4;  // @blur read
}

// Warps in pairs: the first of each pair makes, the second uses. A barrier for each pair, at which the first only
// arrives, and for which the second does not wait unless kOrdered.
template <bool kOrdered>
__global__ void Pairs(const float* in, float* out) {
  __shared__ float made[kThreads];
  const int thread = threadIdx.x, pair = thread / 64, within = thread % 64;
  const int barrier = pair + 1, place = pair * 32 + within % 32;
  if (within < 32) {
    made[place] = 2 * in[blockIdx.x * kThreads + thread];  // @pairs write
    asm volatile("barrier.cta.arrive %0, 64;" ::"r"(barrier) : "memory");
  } else {
    if (kOrdered) asm volatile("barrier.cta.sync %0, 64;" ::"r"(barrier) : "memory");
    out[blockIdx.x * kThreads + thread] = made[place];  // @pairs read
    if (!kOrdered) asm volatile("barrier.cta.sync %0, 64;" ::"r"(barrier) : "memory");
  }
}

// Counts that are only ever updated by atomic operations until a barrier; a flag that many set, to one value.
template <bool kOrdered>
__global__ void Histogram(const unsigned char* in, unsigned* out) {
  __shared__ unsigned counts[16];
  __shared__ int any;
  const int thread = threadIdx.x;
  if (thread < 16) counts[thread] = 0;
  if (thread == 16) any = 0;
  __syncthreads();
  const unsigned char value = in[blockIdx.x * kThreads + thread];
  atomicAdd(&counts[value % 16], 1u);  // @histogram update
  if (value != 0) any = 1;
  if (kOrdered) __syncthreads();
  if (thread < 16) out[blockIdx.x * kThreads + thread] = counts[thread] + any;  // @histogram read
}

#define CHECK(call)                          \
  do {                                       \
    if ((call) != cudaSuccess) std::exit(3); \
  } while (false)

template <typename In, typename Out>
void Run(void (*kernel)(const In*, Out*), size_t shared) {
  In host[kBlocks * kThreads], *in = nullptr;
  Out* out = nullptr;
  for (int i = 0; i < kBlocks * kThreads; ++i) host[i] = static_cast<In>(i * 7 % 32);
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, kBlocks * kThreads * sizeof(Out)));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(out, 0, kBlocks * kThreads * sizeof(Out)));
  kernel<<<kBlocks, kThreads, shared>>>(in, out);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}

template <bool kOrdered>
bool RunNamed(const char* name) {
  if (std::strcmp(name, "softmax") == 0) return Run(Softmax<kOrdered>, 0), true;
  if (std::strcmp(name, "tree") == 0) return Run(Tree<kOrdered>, 0), true;
  if (std::strcmp(name, "blur") == 0) return Run(Blur<kOrdered>, kThreads), true;
  if (std::strcmp(name, "pairs") == 0) return Run(Pairs<kOrdered>, 0), true;
  if (std::strcmp(name, "histogram") == 0) return Run(Histogram<kOrdered>, 0), true;
  return false;
}

int main(int argc, char** argv) {
  const bool ordered = argc > 2 && std::strcmp(argv[2], "ordered") == 0;
  const bool known = argc > 1 && (ordered ? RunNamed<true>(argv[1]) : RunNamed<false>(argv[1]));
  std::puts(known ? "done" : "which?");
  const int code = argc > 2 + ordered ? 2 + ordered : 0;
  return !known ? 2 : code == 0 ? 0 : std::atoi(argv[code]);
}
