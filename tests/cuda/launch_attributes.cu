// Extended launches, function attributes, occupancy, device properties.
#include "tests/cuda/harness.h"

__global__ void Fill(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value + int(gridDim.x); }
__global__ void WithShared(int* out) {
  __shared__ int s[1000];
  s[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ __launch_bounds__(128, 2) void Bounded(int* out) { out[threadIdx.x] = 1; }

CASE(launch_kernel_ex) {
  Buffer<int> out(96);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(3), config.blockDim = dim3(32);
  CUDA_OK(cudaLaunchKernelEx(&config, Fill, out.get(), 7));
  EXPECT_SAME(out.Get(), std::vector<int>(96, 10));
}
CASE(launch_kernel_with_argument_array) {
  Buffer<int> out(64);
  int* pointer = out;
  int value = 40;
  void* arguments[] = {&pointer, &value};
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaLaunchKernel(reinterpret_cast<const void*>(Fill), dim3(2), dim3(32), arguments, 0, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(out.Get(), std::vector<int>(64, 42));
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(function_attributes) {
  cudaFuncAttributes attributes;
  CUDA_OK(cudaFuncGetAttributes(&attributes, WithShared));
  EXPECT_EQ(attributes.sharedSizeBytes, size_t(4000));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  CUDA_OK(cudaFuncGetAttributes(&attributes, Bounded));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 128);
  EXPECT(attributes.ptxVersion >= 75);
}
CASE(occupancy) {
  int blocks = 0, grid = 0, block = 0;
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Fill, 256, 0));
  EXPECT(blocks >= 1);
  CUDA_OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, Fill, 0, 0));
  EXPECT(grid >= 1 && block >= 32 && block <= 1024 && block % 32 == 0);
  int few = 0;
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&few, WithShared, 256, 40 * 1024));
  EXPECT(few >= 0 && few <= blocks);
}
CASE(device_properties) {
  int count = 0, device = -1;
  CUDA_OK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);
  CUDA_OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.name[0] != 0 && properties.totalGlobalMem > 0 && properties.multiProcessorCount >= 1);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT(properties.major * 10 + properties.minor >= 75);
  int value = 0;
  CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
  EXPECT_EQ(value, 32);
  CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(value, properties.multiProcessorCount);
  CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT_EQ(value, properties.major);
  int driver = 0, runtime = 0;
  CUDA_OK(cudaDriverGetVersion(&driver));
  CUDA_OK(cudaRuntimeGetVersion(&runtime));
  EXPECT(driver >= runtime && runtime == CUDART_VERSION);
}
CASE(device_calls) {
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaInitDevice(0, 0, 0));
  size_t limit = 0;
  CUDA_OK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  EXPECT(limit > 0);
  unsigned flags = 99;
  CUDA_OK(cudaGetDeviceFlags(&flags));
  char bus[32] = "";
  CUDA_OK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
  EXPECT(std::strlen(bus) >= 12);
}
CASE(limits_are_kept) {
  for (const cudaLimit limit : {cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize}) {
    size_t before = 0, after = 0;
    CUDA_OK(cudaDeviceGetLimit(&before, limit));
    CUDA_OK(cudaDeviceSetLimit(limit, 2 * before));
    CUDA_OK(cudaDeviceGetLimit(&after, limit));
    EXPECT(after >= 2 * before);
    CUDA_OK(cudaDeviceSetLimit(limit, before));
  }
}
// A device has no peer in itself, and copies between it and itself are copies.
CASE(peers) {
  int count = 0, can = 7;
  CUDA_OK(cudaGetDeviceCount(&count));
  CUDA_OK(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, count), cudaErrorInvalidDevice);
  for (const int device : {0, count}) EXPECT_EQ(cudaDeviceEnablePeerAccess(device, 0), cudaErrorInvalidDevice);
  const std::vector<int> values{3, 1, 4, 1};
  const Buffer<int> from(values), by_one(4), by_other(4);
  CUDA_OK(cudaMemcpyPeer(by_one, 0, from, 0, 16));
  CUDA_OK(cudaMemcpyPeerAsync(by_other, 0, from, 0, 16));
  EXPECT_EQ(cudaMemcpyPeer(by_one, 0, from, count, 16), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMemcpyPeerAsync(by_one, count, from, 0, 16), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(count), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_SAME(by_one.Get(), values);
  EXPECT_SAME(by_other.Get(), values);
}
CASE(device_reset_and_again) {
  Buffer<int>* lost = new Buffer<int>(16);  // its memory goes with the context
  (void)lost;
  CUDA_OK(cudaDeviceReset());
  Buffer<int> out(32);
  Fill<<<1, 32>>>(out, 1);
  EXPECT_SAME(out.Get(), std::vector<int>(32, 2));
}
