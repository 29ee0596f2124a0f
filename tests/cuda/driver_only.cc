// A program that calls the driver API only. nvcc links its static runtime into it all the same.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static const char kPtx[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .entry store_index(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

static void Check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::printf("driver_only: FAILED: %s gives %d\n", call, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) Check(call, #call)

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUdeviceptr out;
  if (cuInit(0) == CUDA_ERROR_NO_DEVICE) return 77;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&function, module, "store_index"));
  CHECK(cuMemAlloc(&out, 64 * sizeof(unsigned)));
  void* arguments[] = {&out};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  std::vector<unsigned> got(64);
  CHECK(cuMemcpyDtoH(got.data(), out, 64 * sizeof(unsigned)));
  for (unsigned i = 0; i < 64; ++i) {
    if (got[i] == i) continue;
    std::printf("driver_only: FAILED: element %u is %u\n", i, got[i]);
    return 1;
  }
  std::printf("driver_only: ok\n");
  return 0;
}
