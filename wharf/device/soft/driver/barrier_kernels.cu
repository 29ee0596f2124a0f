// The kernels of barrier_kernels.cl for CUDA.
#define KERNEL extern "C" __global__
#define GLOBAL
#define SHARED __shared__
#define BARRIER() __syncthreads()
#define THREAD_X static_cast<int>(threadIdx.x)
#define THREAD_Y static_cast<int>(threadIdx.y)
#define BLOCK_X static_cast<int>(blockIdx.x)
#define BLOCK_Y static_cast<int>(blockIdx.y)
#define BLOCKS_X static_cast<int>(gridDim.x)
#define SHUFFLE_DOWN(value, by) __shfl_down_sync(0xffffffffu, value, by)
#define SHUFFLE_XOR(value, by) __shfl_xor_sync(0xffffffffu, value, by)
#define EXPONENTIAL(x) __expf(x)
#define RSQRT(x) rsqrtf(x)
#define MAXIMUM(a, b) fmaxf(a, b)
#define ADD_SHARED(at, by) atomicAdd(at, by)
#define ADD_GLOBAL(at, by) atomicAdd(at, by)
#include "barrier_kernels.cl"
