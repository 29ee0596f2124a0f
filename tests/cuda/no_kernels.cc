// A program without kernels of its own: what it asks of CUDA is the runtime's, and as it was built cuBLAS's and the
// driver's. The host's compiler makes it and nvcc links it.
#include "tests/cuda/harness.h"

CASE(device_query) {
  int device = -1, driver = 0, runtime = 0;
  CUDA_OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  CUDA_OK(cudaDriverGetVersion(&driver));
  CUDA_OK(cudaRuntimeGetVersion(&runtime));
  EXPECT(driver >= runtime && runtime >= 12000);
  cudaDeviceProp properties{};
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(properties.name[0] != 0);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT(properties.totalGlobalMem > 0);
  int threads = 0;
  CUDA_OK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0));
  EXPECT_EQ(threads, properties.maxThreadsPerBlock);
  size_t left = 0, all = 0;
  CUDA_OK(cudaMemGetInfo(&left, &all));
  EXPECT(left <= all && all > 0);
}
CASE(copies) {
  std::vector<int> there(1000);
  for (int i = 0; i < 1000; ++i) there[size_t(i)] = i * i;
  Buffer<int> from(there), to(1000);
  CUDA_OK(cudaMemcpy(to, from, 4000, cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaMemset(to.get() + 500, 0, 2000));
  std::fill(there.begin() + 500, there.end(), 0);
  EXPECT_SAME(to.Get(), there);
}

#ifdef WITH_CUBLAS
#include <cublas_v2.h>

CASE(cublas) {
  cublasHandle_t handle;
  EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  constexpr int kSize = 20;
  std::vector<float> a(kSize * kSize), b(kSize * kSize), want(kSize * kSize);
  harness::Random random;
  for (float& value : a) value = float(random.Below(9) - 4);
  for (float& value : b) value = float(random.Below(9) - 4);
  for (int column = 0; column < kSize; ++column)
    for (int row = 0; row < kSize; ++row)
      for (int k = 0; k < kSize; ++k)
        want[size_t(column * kSize + row)] += a[size_t(k * kSize + row)] * b[size_t(column * kSize + k)];
  Buffer<float> on_device_a(a), on_device_b(b), product(want.size());
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSize, kSize, kSize, &one, on_device_a, kSize, on_device_b,
                        kSize, &zero, product, kSize),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_SAME(product.Get(), want);
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}
#endif

#ifdef WITH_DRIVER
#include <cuda.h>

static const char kPtx[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry square(.param .u64 out)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mul.lo.u32 %r2, %r1, %r1;
  st.global.u32 [%rd3], %r2;
  ret;
}
)";

// The runtime's memory, the driver's kernel.
CASE(driver) {
  CUmodule module;
  CUfunction function;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  CUDA_OK(cudaSetDevice(0));
  EXPECT_EQ(cuModuleLoadData(&module, kPtx), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&function, module, "square"), CUDA_SUCCESS);
  Buffer<unsigned> out(64);
  unsigned* address = out;
  void* arguments[] = {&address};
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr), CUDA_SUCCESS);
  std::vector<unsigned> want(64);
  for (unsigned i = 0; i < 64; ++i) want[i] = i * i;
  EXPECT_SAME(out.Get(), want);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}
#endif
