// Kernels of the device conformance tests. After a change run make_kernels.sh.
#include <cassert>
#include <cstdio>

__device__ int counter = 3;
__constant__ float weights[4] = {1, 2, 4, 8};

extern "C" __global__ void saxpy(float* y, const float* x, float a, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

// Writes where each thread is: block and thread coordinates and the sizes.
extern "C" __global__ void coordinates(uint4* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      make_uint4(blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16, threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16,
                 gridDim.x | gridDim.y << 8 | gridDim.z << 16, blockDim.x | blockDim.y << 8 | blockDim.z << 16);
}

extern "C" __global__ void sum_blocks(unsigned* out, const unsigned* in, unsigned n) {
  __shared__ unsigned partial[32];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned value = i < n ? in[i] : 0;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x == 0) out[blockIdx.x] = value;
  }
}

extern "C" __global__ void reverse(int* data) {
  extern __shared__ int shared[];
  shared[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void histogram(unsigned* bins, const unsigned char* data, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[data[i]], 1u);
  }
}

extern "C" __global__ void shared_histogram(unsigned* bins, const unsigned char* data, unsigned n) {
  __shared__ unsigned own[64];
  if (threadIdx.x < 64) own[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&own[data[i]], 1u);
  __syncthreads();
  if (threadIdx.x < 64) bins[threadIdx.x] = own[threadIdx.x];
}

extern "C" __global__ void scatter(float* out, const float* in, const int* to, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[to[i]] = in[i];
}

extern "C" __global__ void gather(float4* out, const float4* in, const int* from, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[from[i]];
}

// How many steps it is from each place to the end of its list; there is none if the list is a ring.
extern "C" __global__ void follow(int* steps, const int* next) {
  int at = threadIdx.x, count = 0;
  while (next[at] >= 0) {
    at = next[at];
    ++count;
  }
  steps[threadIdx.x] = count;
}

extern "C" __global__ void count(float* out) {
  atomicAdd(&counter, 1);
  out[threadIdx.x] = weights[threadIdx.x % 4];
}

extern "C" __global__ void ballots(unsigned* out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned result = 0;
  if (lane % 2 == 0) {
    result = __ballot_sync(0x55555555, lane % 4 == 0);
  } else {
    result = __ballot_sync(0xaaaaaaaa, lane > 15);
  }
  out[threadIdx.x] = result + __popc(__match_any_sync(~0u, lane / 5));
}

// Each block waits for the one before it.
extern "C" __global__ void chain(volatile unsigned* flag, unsigned* out) {
  if (threadIdx.x == 0) {
    while (*flag != blockIdx.x) {
    }
    __threadfence();
    out[blockIdx.x] = blockIdx.x == 0 ? 1 : out[blockIdx.x - 1] * 3;
    __threadfence();
    *flag = blockIdx.x + 1;
  }
  __syncthreads();
}

extern "C" __global__ void say(int value) {
  printf("thread %d of %s: %d %.2f\n", threadIdx.x, "many", value, value / 8.0);
}

extern "C" __global__ void check(int value) { assert(value == 1); }

extern "C" __global__ void stop() { asm volatile("trap;"); }

extern "C" __global__ void poke(int* where, int value) { *where = value; }

struct Large {
  double d;
  char c[13];
  int i;
};
extern "C" __global__ void unpack(char a, Large large, short b, long long* out) {
  out[0] = a;
  out[1] = static_cast<long long>(large.d);
  out[2] = large.c[12];
  out[3] = large.i;
  out[4] = b;
}
