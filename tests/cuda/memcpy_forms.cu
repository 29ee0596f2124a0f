// Allocation, copies and fills in all forms and directions.
#include "tests/cuda/harness.h"

using u8 = unsigned char;

static std::vector<u8> Pattern(size_t n, int seed = 1) {
  std::vector<u8> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = u8((i * 131 + i / 256 * 7) * seed + seed);
  return out;
}
static std::vector<u8> Fetch(const void* device, size_t n) {
  std::vector<u8> out(n);
  CUDA_OK(cudaMemcpy(out.data(), device, n, cudaMemcpyDeviceToHost));
  harness::Hash(out.data(), n);
  return out;
}
__global__ void Increment(u8* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += 1;
}

CASE(linear_all_directions) {
  const std::vector<u8> in = Pattern(100003);
  Buffer<u8> a(in.size()), b(in.size());
  std::vector<u8> out(in.size());
  CUDA_OK(cudaMemcpy(a, in.data(), in.size(), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(b, a, in.size(), cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaMemcpy(out.data(), b, in.size(), cudaMemcpyDefault));
  EXPECT_SAME(out, in);
  std::vector<u8> twice(in.size());
  CUDA_OK(cudaMemcpy(twice.data(), out.data(), in.size(), cudaMemcpyHostToHost));
  EXPECT_SAME(twice, in);
  CUDA_OK(cudaMemcpy(a + 1000, b, 5000, cudaMemcpyDefault));
  std::vector<u8> want = in;
  std::copy(in.begin(), in.begin() + 5000, want.begin() + 1000);
  EXPECT_SAME(Fetch(a, in.size()), want);
  CUDA_OK(cudaMemcpy(a, in.data(), 0, cudaMemcpyHostToDevice));
}
CASE(large_copy) {
  const std::vector<u8> in = Pattern(24 << 20, 3);
  Buffer<u8> device(in.size());
  CUDA_OK(cudaMemcpy(device, in.data(), in.size(), cudaMemcpyHostToDevice));
  Increment<<<int(in.size() / 256), 256>>>(device, int(in.size()));
  std::vector<u8> want = in;
  for (u8& v : want) ++v;
  EXPECT(Fetch(device, in.size()) == want);
}
CASE(pageable_source_may_change_after_async) {
  std::vector<u8> in = Pattern(5000);
  const std::vector<u8> before = in;
  Buffer<u8> device(in.size());
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaMemcpyAsync(device, in.data(), in.size(), cudaMemcpyHostToDevice, stream));
  std::fill(in.begin(), in.end(), u8(0));  // pageable memory is staged before the call returns
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(Fetch(device, in.size()), before);
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(pinned_memory) {
  u8* pinned = nullptr;
  CUDA_OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 10000));
  u8* flagged = nullptr;
  CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&flagged), 10000, cudaHostAllocDefault));
  const std::vector<u8> in = Pattern(10000, 5);
  std::copy(in.begin(), in.end(), pinned);
  Buffer<u8> device(10000);
  CUDA_OK(cudaMemcpyAsync(device, pinned, 10000, cudaMemcpyHostToDevice));
  Increment<<<40, 256>>>(device, 10000);
  CUDA_OK(cudaMemcpyAsync(flagged, device, 10000, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaDeviceSynchronize());
  for (int i = 0; i < 10000; ++i)
    if (flagged[i] != u8(in[i] + 1)) {
      EXPECT(!"pinned copy");
      break;
    }
  unsigned flags = 99;
  CUDA_OK(cudaHostGetFlags(&flags, flagged));
  cudaPointerAttributes attributes;
  CUDA_OK(cudaPointerGetAttributes(&attributes, pinned + 10));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  CUDA_OK(cudaPointerGetAttributes(&attributes, device));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.devicePointer, static_cast<void*>(device.get()));
  CUDA_OK(cudaPointerGetAttributes(&attributes, in.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaFreeHost(flagged));
}
CASE(registered_memory) {
  std::vector<u8> host = Pattern(8192, 2);
  CUDA_OK(cudaHostRegister(host.data(), host.size(), cudaHostRegisterDefault));
  Buffer<u8> device(host.size());
  CUDA_OK(cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice));
  EXPECT_SAME(Fetch(device, host.size()), host);
  CUDA_OK(cudaHostUnregister(host.data()));
  EXPECT_EQ(cudaHostUnregister(host.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaGetLastError(), cudaErrorHostMemoryNotRegistered);
}
CASE(fills) {
  Buffer<u8> device(1000);
  CUDA_OK(cudaMemset(device, 0xAB, 1000));
  CUDA_OK(cudaMemsetAsync(device + 100, 7, 333, nullptr));
  std::vector<u8> want(1000, 0xAB);
  std::fill(want.begin() + 100, want.begin() + 433, u8(7));
  EXPECT_SAME(Fetch(device, 1000), want);
}
CASE(pitched_2d) {
  constexpr size_t kWidth = 100, kHeight = 30, kHostPitch = 112;
  u8* device = nullptr;
  size_t pitch = 0;
  CUDA_OK(cudaMallocPitch(reinterpret_cast<void**>(&device), &pitch, kWidth, kHeight));
  EXPECT(pitch >= kWidth && pitch % 32 == 0);
  const std::vector<u8> in = Pattern(kHostPitch * kHeight);
  CUDA_OK(cudaMemset2D(device, pitch, 0x11, kWidth, kHeight));
  CUDA_OK(cudaMemcpy2D(device + pitch * 2 + 5, pitch, in.data() + 3, kHostPitch, 50, 20, cudaMemcpyHostToDevice));
  std::vector<u8> out(kHostPitch * kHeight, 0xEE), want(kHostPitch * kHeight, 0xEE);
  CUDA_OK(cudaMemcpy2DAsync(out.data(), kHostPitch, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  for (size_t y = 0; y < kHeight; ++y)
    for (size_t x = 0; x < kWidth; ++x) {
      const bool inside = y >= 2 && y < 22 && x >= 5 && x < 55;
      want[y * kHostPitch + x] = inside ? in[(y - 2) * kHostPitch + x - 5 + 3] : 0x11;
    }
  EXPECT_SAME(out, want);
  u8* other = nullptr;
  size_t other_pitch = 0;
  CUDA_OK(cudaMallocPitch(reinterpret_cast<void**>(&other), &other_pitch, kWidth * 3, kHeight));
  CUDA_OK(cudaMemcpy2D(other, other_pitch, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToDevice));
  std::vector<u8> again(kHostPitch * kHeight, 0xEE);
  CUDA_OK(cudaMemcpy2D(again.data(), kHostPitch, other, other_pitch, kWidth, kHeight, cudaMemcpyDefault));
  EXPECT_SAME(again, want);
  EXPECT_EQ(cudaMemcpy2D(again.data(), 10, device, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidPitchValue);
  CUDA_OK(cudaFree(device));
  CUDA_OK(cudaFree(other));
}
CASE(volumes_3d) {
  const cudaExtent extent = make_cudaExtent(40, 6, 5);
  cudaPitchedPtr device;
  CUDA_OK(cudaMalloc3D(&device, extent));
  const std::vector<u8> in = Pattern(40 * 6 * 5, 9);
  CUDA_OK(cudaMemset3D(device, 0x22, extent));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<u8*>(in.data()), 40, 40, 6);
  copy.dstPtr = device;
  copy.srcPos = make_cudaPos(1, 1, 1);
  copy.dstPos = make_cudaPos(4, 2, 0);
  copy.extent = make_cudaExtent(30, 3, 4);
  copy.kind = cudaMemcpyHostToDevice;
  CUDA_OK(cudaMemcpy3D(&copy));
  std::vector<u8> out(40 * 6 * 5), want(40 * 6 * 5, 0x22);
  cudaMemcpy3DParms back = {};
  back.srcPtr = device;
  back.dstPtr = make_cudaPitchedPtr(out.data(), 40, 40, 6);
  back.extent = extent;
  back.kind = cudaMemcpyDeviceToHost;
  CUDA_OK(cudaMemcpy3DAsync(&back, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 30; ++x) want[(z * 6 + y + 2) * 40 + x + 4] = in[((z + 1) * 6 + y + 1) * 40 + x + 1];
  EXPECT_SAME(out, want);
  CUDA_OK(cudaFree(device.ptr));
}
__device__ int symbol_values[64];
CASE(symbols_async) {
  int in[64], out[64] = {};
  for (int i = 0; i < 64; ++i) in[i] = i * i;
  CUDA_OK(cudaMemcpyToSymbolAsync(symbol_values, in, 128, 128, cudaMemcpyHostToDevice, nullptr));
  CUDA_OK(cudaMemcpyToSymbolAsync(symbol_values, in + 32, 128, 0, cudaMemcpyHostToDevice, nullptr));
  CUDA_OK(cudaMemcpyFromSymbolAsync(out, symbol_values, 256, 0, cudaMemcpyDeviceToHost, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(out[0], 32 * 32);
  EXPECT_EQ(out[63], 31 * 31);
}
CASE(allocation_sizes_and_memory_info) {
  size_t free_before = 0, free_during = 0, total = 0;
  CUDA_OK(cudaMemGetInfo(&free_before, &total));
  EXPECT(free_before <= total && total > 0);
  void* big = nullptr;
  CUDA_OK(cudaMalloc(&big, 32 << 20));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(big) % 256, uintptr_t(0));
  CUDA_OK(cudaMemGetInfo(&free_during, &total));
  EXPECT(free_during <= free_before);  // less only if the driver had none left of what it took before
  CUDA_OK(cudaFree(big));
  CUDA_OK(cudaFree(nullptr));
  void* never = nullptr;
  EXPECT_EQ(cudaMalloc(&never, size_t(1) << 50), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}
CASE(stream_ordered_allocation) {
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  for (int round = 0; round < 10; ++round) {
    u8* memory = nullptr;
    CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&memory), 4096, stream));
    CUDA_OK(cudaMemsetAsync(memory, round, 4096, stream));
    Increment<<<16, 256, 0, stream>>>(memory, 4096);
    std::vector<u8> out(4096);
    CUDA_OK(cudaMemcpyAsync(out.data(), memory, 4096, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaFreeAsync(memory, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_SAME(out, std::vector<u8>(4096, u8(round + 1)));
  }
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(many_small_allocations) {
  std::vector<int*> blocks(300);
  for (int i = 0; i < 300; ++i) {
    CUDA_OK(cudaMalloc(reinterpret_cast<void**>(&blocks[i]), 4 * size_t(i + 1)));
    CUDA_OK(cudaMemcpy(blocks[i] + i, &i, 4, cudaMemcpyHostToDevice));
  }
  for (int i = 0; i < 300; i += 2) CUDA_OK(cudaFree(blocks[i]));
  for (int i = 1; i < 300; i += 2) {
    int value = -1;
    CUDA_OK(cudaMemcpy(&value, blocks[i] + i, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(value, i);
    CUDA_OK(cudaFree(blocks[i]));
  }
}
