// Kernels that pull in as much of the toolkit's device headers as possible: nvcc_kernels_test.cc compiles all of them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <curand_kernel.h>
#include <cassert>
#include <cstdio>
#include <cuda/atomic>
#include <cuda/std/atomic>
namespace cg = cooperative_groups;
__global__ void rnd(float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState s;
  curand_init(1, i, 0, &s);
  o[i] = curand_normal(&s) + curand_uniform(&s);
}
__global__ void rnd2(float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t s;
  curand_init(1, i, 0, &s);
  float4 v = curand_normal4(&s);
  o[i] = v.x + v.y;
  o[i] += curand_poisson(&s, 3.0);
}
__global__ void rnd3(double* o) {
  int i = threadIdx.x;
  curandStateMRG32k3a s;
  curand_init(1, i, 0, &s);
  o[i] = curand_normal_double(&s);
}
__global__ void cgk(int* o, const int* in) {
  auto b = cg::this_thread_block();
  auto t = cg::tiled_partition<16>(b);
  int v = in[b.thread_rank()];
  v = cg::reduce(t, v, cg::plus<int>());
  v += cg::inclusive_scan(t, v);
  b.sync();
  auto c = cg::coalesced_threads();
  if (v & 1) {
    auto q = cg::coalesced_threads();
    v += q.size();
  }
  o[b.thread_rank()] = v + c.size() + t.shfl_down(v, 1) + t.any(v) + cg::labeled_partition(t, v & 3).size();
}
__global__ void half1(__half* o, const __half* a) {
  int i = threadIdx.x;
  o[i] = hexp(a[i]) + hlog(a[i]) * hsqrt(a[i]) / hsin(a[i]) + __float2half(tanhf(__half2float(a[i])));
  o[i] = __hmax(o[i], a[i]) - hrcp(a[i]);
}
__global__ void half2k(__half2* o, const __half2* a) {
  int i = threadIdx.x;
  o[i] = h2exp(a[i]) + h2log2(a[i]) * h2sqrt(a[i]);
  o[i] = __hfma2_relu(o[i], a[i], a[i]);
  o[i] = __hgt2(o[i], a[i]);
}
__global__ void bf(__nv_bfloat16* o, const __nv_bfloat16* a) {
  int i = threadIdx.x;
  o[i] = hexp(a[i]) + hlog(a[i]) * hsqrt(a[i]);
  o[i] = __hmax(o[i], a[i]) - __int2bfloat16_rn(i) + __double2bfloat16(i * 0.3);
}
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
__global__ void bf2(__nv_bfloat162* o, const __nv_bfloat162* a) {
  int i = threadIdx.x;
  o[i] = __hfma2(a[i], a[i], o[i]) * h2exp(a[i]);
  o[i] = __hmin2(o[i], a[i]);
}
#endif
__global__ void math(double* o, const double* a, float* p, const float* q) {
  int i = threadIdx.x;
  o[i] = sin(a[i]) + exp(a[i]) * log(a[i]) + pow(a[i], 1.3) + erf(a[i]) + tgamma(a[i]) + cbrt(a[i]) + fmod(a[i], 3.0) +
         atan2(a[i], 2.) + lgamma(a[i]) + normcdf(a[i]) + j0(a[i]);
  p[i] = sinf(q[i]) + powf(q[i], 2.2f) + erff(q[i]) + tgammaf(q[i]) + fmodf(q[i], 2.f) + __powf(q[i], 3.f) +
         rsqrtf(q[i]) + tanf(q[i]) + acosf(q[i]) + log1pf(q[i]) + expm1f(q[i]) + sinhf(q[i]) + remainderf(q[i], 3.f) +
         ldexpf(q[i], 3) + nearbyintf(q[i]) + __fdiv_ru(q[i], 3.f) + __fsqrt_rd(q[i]) + __fmaf_rz(q[i], q[i], q[i]) +
         __frcp_ru(q[i]) + __double2float_rd(a[i]) + __ll2float_rz(i) + __dadd_ru(a[i], a[i]);
}
__global__ void atom(cuda::atomic<int>* a, cuda::std::atomic<long long>* b, float* f, double* d, __half* h, __half2* h2,
                     unsigned short* s, unsigned* u, __nv_bfloat16* bb) {
  a->fetch_add(1);
  b->fetch_or(3);
  a->store(2, cuda::memory_order_release);
  while (a->load(cuda::memory_order_acquire) != 2)
    ;
  atomicAdd(f, 1.f);
  atomicAdd(d, 1.);
  atomicAdd(h, h[1]);
  atomicAdd(h2, h2[1]);
  atomicCAS(s, (unsigned short)1, (unsigned short)2);
  atomicInc(u, 7);
  atomicDec(u, 7);
  atomicExch(u, 3);
  atomicAdd_system(u, 3);
  atomicAnd_block(u, 3);
  atomicAdd(bb, bb[1]);
  a->wait(5);
}
__global__ void pr(int* x) {
  printf("%d %f %s\n", x[0], 1.5, "hey");
  assert(x[0] > 0);
  int* p = (int*)malloc(16);
  p[0] = 3;
  x[1] = p[0];
  free(p);
}
struct B {
  __device__ virtual int f(int) = 0;
};
struct D1 : B {
  __device__ int f(int x) override { return x + 1; }
};
struct D2 : B {
  __device__ int f(int x) override { return x * 2; }
};
__global__ void mk(B** b, int k) { b[0] = k ? (B*)new D1 : (B*)new D2; }
__global__ void vcall(B** b, int* o) { o[threadIdx.x] = b[0]->f(threadIdx.x); }
typedef int (*fp)(int);
__device__ int f1(int x) { return x + 3; }
__device__ int f2(int x) { return x * 3; }
__device__ fp tab[2] = {f1, f2};
__global__ void fcall(int* o, int k) { o[threadIdx.x] = tab[k & 1](threadIdx.x); }
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void rec(int* o) { o[threadIdx.x] = fib(threadIdx.x); }
__global__ void sw(int* o, int k) {
  switch (o[threadIdx.x]) {
    case 0:
      o[1] = 3;
      break;
    case 1:
      o[2] = 5;
      break;
    case 2:
      o[3] = k;
      break;
    case 3:
      o[4] = 7;
      break;
    case 4:
      o[5] = k * k;
      break;
    case 5:
      o[k] = 2;
      break;
    case 6:
      o[7] = 0;
      break;
    default:
      o[8] = 1;
  }
}
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
#include <cuda_pipeline.h>
__global__ void pipe(float* o, const float* a) {
  __shared__ float s[256];
  __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  o[threadIdx.x] = s[255 - threadIdx.x];
}
#endif
