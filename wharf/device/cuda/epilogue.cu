// Bias and activation behind a matrix product; loaded by blas.cc. The build needs no nvcc: what it embeds is
// epilogue_ptx.h, made from this file by `make_epilogue.sh`.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

__device__ float Widen(float x) { return x; }
__device__ double Widen(double x) { return x; }
__device__ float Widen(__half x) { return __half2float(x); }
__device__ float Widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void Store(float* to, float x) { *to = x; }
__device__ void Store(double* to, double x) { *to = x; }
__device__ void Store(__half* to, float x) { *to = __float2half_rn(x); }
__device__ void Store(__nv_bfloat16* to, float x) { *to = __float2bfloat16_rn(x); }
__device__ float Tanh(float x) { return tanhf(x); }
__device__ double Tanh(double x) { return tanh(x); }

constexpr int kRelu = 1, kGelu = 2;

template <typename Wide>
__device__ Wide Activate(Wide x, int activation) {
  if (activation == kRelu) return x > Wide(0) ? x : Wide(0);
  if (activation == kGelu) {
    return Wide(0.5) * x * (Wide(1) + Tanh(Wide(0.7978845608028654) * (x + Wide(0.044715) * x * x * x)));
  }
  return x;
}

// d is column major, m x n, `batch` times; bias has m elements or is null. Grid: x over rows, y over columns.
template <typename T>
__device__ void Epilogue(T* d, const T* bias, long long m, long long n, long long batch, long long ldd,
                         long long stride, int activation) {
#pragma unroll 1
  for (long long column = blockIdx.y; column < n * batch; column += gridDim.y) {
    T* first = d + column / n * stride + column % n * ldd;
#pragma unroll 1
    for (long long row = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; row < m;
         row += static_cast<long long>(gridDim.x) * blockDim.x) {
      auto x = Widen(first[row]);
      if (bias != nullptr) x += Widen(bias[row]);
      Store(first + row, Activate(x, activation));
    }
  }
}

}  // namespace

#define WHARF_EPILOGUE(name, T)                                                                                  \
  extern "C" __global__ void name(T* d, const T* bias, long long m, long long n, long long batch, long long ldd, \
                                  long long stride, int activation) {                                            \
    Epilogue(d, bias, m, n, batch, ldd, stride, activation);                                                     \
  }
WHARF_EPILOGUE(wharf_epilogue_f32, float)
WHARF_EPILOGUE(wharf_epilogue_f64, double)
WHARF_EPILOGUE(wharf_epilogue_f16, __half)
WHARF_EPILOGUE(wharf_epilogue_bf16, __nv_bfloat16)
