// Compiled by nvcc with several options; see nvcc_ptx_test.cc, which expects what stands here.
#include <cassert>
#include <cstdio>

struct Options {
  double scale;
  int offsets[3];
  char mode;
};

__constant__ float table[4] = {1, 2, 4, 8};
__device__ int counter = 42;
__device__ const char* greeting = "hello";

__device__ __noinline__ float Weigh(float x, Options options) {
  return x * static_cast<float>(options.scale) + options.offsets[threadIdx.x % 3];
}
__device__ __noinline__ int Twice(int x) { return 2 * x; }
__device__ __noinline__ int Thrice(int x) { return 3 * x; }
__device__ int (*functions[])(int) = {Twice, Thrice};

extern "C" __global__ void __launch_bounds__(256, 2)
    features(float* out, const float4* in, unsigned char small, short medium, Options options) {
  __shared__ float tile[256];
  extern __shared__ int dynamic[];
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  const float4 v = in[i];
  tile[threadIdx.x] = v.x + v.y * v.z - v.w;
  dynamic[threadIdx.x] = small + medium;
  __syncthreads();
  out[i] = Weigh(tile[255 - threadIdx.x], options) + table[i & 3] + dynamic[0];
  out[i + 1] = functions[i & 1](atomicAdd(&counter, 1));
  assert(out[i] > 0);
  printf("%d %f %s\n", i, out[i], greeting);
}

extern "C" __global__ void branches(int* out, int k) {
  switch (k) {
    case 0:
      out[0] = Twice(k);
      break;
    case 1:
      out[1] = 1;
      break;
    case 2:
      out[2] *= 77;
      break;
    case 3:
      out[3] = __popc(k);
      break;
    case 4:
      out[4] = __brev(k);
      break;
    case 5:
      out[5] ^= k;
      break;
    case 6:
      out[6] = clock();
      break;
    case 7:
      out[7] -= 9;
      break;
    case 8:
      out[10] = out[11] / k;
      break;
    case 9:
      out[12] = Thrice(k);
      break;
    case 10:
      out[13] |= 5;
      break;
    case 11:
      out[14] = k % 7;
      break;
    default:
      out[15] = k;
  }
  asm volatile(
      "{\n .reg .pred p;\n .reg .b32 t;\n setp.ne.b32 p, %1, 0;\n mov.b32 t, 1;\n @p bra DONE;\n"
      " mov.b32 t, 2;\n DONE: mov.b32 %0, t;\n }"
      : "=r"(out[8])
      : "r"(k));
  asm volatile(
      "{\n .reg .pred p;\n .reg .b32 t;\n setp.ne.b32 p, %1, 0;\n mov.b32 t, 3;\n @p bra DONE;\n"
      " mov.b32 t, 4;\n DONE: mov.b32 %0, t;\n }"
      : "=r"(out[9])
      : "r"(k));
}
