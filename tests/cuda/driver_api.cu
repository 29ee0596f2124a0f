// The driver API: contexts, modules from PTX (a string, and what NVRTC compiles here), launches, memory, streams,
// events.
#include <cuda.h>
#include <nvrtc.h>

#include "tests/cuda/harness.h"

#define CU_OK(call)                                                                                      \
  do {                                                                                                   \
    const CUresult result = (call);                                                                      \
    const char* name = "?";                                                                              \
    if (result != CUDA_SUCCESS && cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "unknown error"; \
    if (result != CUDA_SUCCESS) harness::Fail(__FILE__, __LINE__, std::string(#call) + ": " + name);     \
  } while (0)

static const char kPtx[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .global .align 4 .u32 offset = 1000;
.visible .entry add_offset(.param .u64 out, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [offset];
  add.s32 %r7, %r5, %r6;
  st.global.u32 [%rd4], %r7;
DONE:
  ret;
}
)";

struct Context {
  CUdevice device = 0;
  CUcontext context = nullptr;
  Context() {
    CU_OK(cuInit(0));
    CU_OK(cuDeviceGet(&device, 0));
    CU_OK(cuDevicePrimaryCtxRetain(&context, device));
    CU_OK(cuCtxSetCurrent(context));
  }
  ~Context() { cuDevicePrimaryCtxRelease(device); }
};

CASE(devices) {
  Context context;
  int count = 0, version = 0, value = 0;
  CU_OK(cuDeviceGetCount(&count));
  EXPECT(count >= 1);
  CU_OK(cuDriverGetVersion(&version));
  EXPECT(version >= 12000);
  char name[128] = "";
  CU_OK(cuDeviceGetName(name, sizeof(name), context.device));
  EXPECT(name[0] != 0);
  size_t bytes = 0;
  CU_OK(cuDeviceTotalMem(&bytes, context.device));
  EXPECT(bytes > 0);
  CU_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, context.device));
  EXPECT_EQ(value, 32);
  CUcontext current = nullptr;
  CU_OK(cuCtxGetCurrent(&current));
  EXPECT(current == context.context);
  unsigned flags = 0;
  int active = 0;
  CU_OK(cuDevicePrimaryCtxGetState(context.device, &flags, &active));
  EXPECT_EQ(active, 1);
}
CASE(destroying_a_context_waits) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  int done = 0;
  CU_OK(cuInit(0));
  CU_OK(cuDeviceGet(&device, 0));
  CU_OK(cuCtxCreate(&context, nullptr, 0, device));
  CU_OK(cuLaunchHostFunc(
      nullptr, [](void* place) { *static_cast<int*>(place) = 1; }, &done));
  CU_OK(cuCtxDestroy(context));
  EXPECT_EQ(done, 1);
}
CASE(module_from_ptx) {
  Context context;
  CUmodule module;
  CUfunction function;
  CU_OK(cuModuleLoadData(&module, kPtx));
  CU_OK(cuModuleGetFunction(&function, module, "add_offset"));
  CUdeviceptr out, variable;
  size_t size = 0;
  CU_OK(cuModuleGetGlobal(&variable, &size, module, "offset"));
  EXPECT_EQ(size, size_t(4));
  const unsigned offset = 500;
  CU_OK(cuMemcpyHtoD(variable, &offset, 4));
  CU_OK(cuMemAlloc(&out, 4000));
  unsigned n = 1000;
  void* arguments[] = {&out, &n};
  CU_OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  CU_OK(cuCtxSynchronize());
  std::vector<unsigned> got(1000), want(1000);
  CU_OK(cuMemcpyDtoH(got.data(), out, 4000));
  for (unsigned i = 0; i < 1000; ++i) want[i] = i + 500;
  EXPECT_SAME(got, want);
  harness::Hash(got.data(), 4000);
  CU_OK(cuMemFree(out));
  CU_OK(cuModuleUnload(module));
}
CASE(launch_with_packed_parameters) {
  Context context;
  CUmodule module;
  CUfunction function;
  CU_OK(cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr));
  CU_OK(cuModuleGetFunction(&function, module, "add_offset"));
  CUdeviceptr out;
  CU_OK(cuMemAlloc(&out, 400));
  struct {
    CUdeviceptr out;
    unsigned n;
  } packed = {out, 100};
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CU_OK(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
  std::vector<unsigned> got(100);
  CU_OK(cuMemcpyDtoH(got.data(), out, 400));
  EXPECT_EQ(got[99], 1099u);
  CU_OK(cuMemFree(out));
  CU_OK(cuModuleUnload(module));
}
CASE(functions_and_occupancy) {
  Context context;
  CUmodule module;
  CUfunction function;
  CU_OK(cuModuleLoadData(&module, kPtx));
  EXPECT_EQ(cuModuleGetFunction(&function, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
  CU_OK(cuModuleGetFunction(&function, module, "add_offset"));
  int value = 0;
  CU_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT(value >= 256);
  CU_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 128, 0));
  EXPECT(value >= 1);
  CU_OK(cuModuleUnload(module));
}
CASE(bad_ptx_is_refused) {
  Context context;
  CUmodule module;
  const CUresult result = cuModuleLoadData(&module, ".version 6.4\n.target sm_75\n.address_size 64\n.entry broken( {");
  EXPECT(result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_INVALID_IMAGE);
}
CASE(memory_streams_events) {
  Context context;
  CUstream stream;
  CUevent first, last;
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
  CU_OK(cuEventCreate(&last, CU_EVENT_DEFAULT));
  CUdeviceptr a, b;
  CU_OK(cuMemAlloc(&a, 4096));
  CU_OK(cuMemAlloc(&b, 4096));
  CU_OK(cuEventRecord(first, stream));
  CU_OK(cuMemsetD32Async(a, 0x01020304, 1024, stream));
  CU_OK(cuMemsetD8Async(a + 100, 9, 50, stream));
  CU_OK(cuMemcpyDtoDAsync(b, a, 4096, stream));
  std::vector<unsigned char> got(4096), want(4096);
  CU_OK(cuMemcpyDtoHAsync(got.data(), b, 4096, stream));
  CU_OK(cuEventRecord(last, stream));
  CU_OK(cuStreamSynchronize(stream));
  for (int i = 0; i < 4096; ++i) want[i] = i >= 100 && i < 150 ? 9 : (unsigned char)(4 - i % 4);
  EXPECT_SAME(got, want);
  float ms = -1;
  CU_OK(cuEventElapsedTime(&ms, first, last));
  EXPECT(ms >= 0);
  CUdeviceptr base;
  size_t size = 0;
  CU_OK(cuMemGetAddressRange(&base, &size, a + 100));
  EXPECT(base == a && size >= 4096);
  CU_OK(cuMemFree(a));
  CU_OK(cuMemFree(b));
  CU_OK(cuEventDestroy(first));
  CU_OK(cuEventDestroy(last));
  CU_OK(cuStreamDestroy(stream));
}

static std::string Compile(const char* source, const char* kernel, std::string* lowered) {
  nvrtcProgram program;
  EXPECT_EQ(nvrtcCreateProgram(&program, source, "kernel.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  if (kernel) EXPECT_EQ(nvrtcAddNameExpression(program, kernel), NVRTC_SUCCESS);
  const char* options[] = {"--gpu-architecture=compute_75", "--std=c++17"};
  const nvrtcResult result = nvrtcCompileProgram(program, 2, options);
  EXPECT_EQ(result, NVRTC_SUCCESS);
  size_t size = 0;
  EXPECT_EQ(nvrtcGetPTXSize(program, &size), NVRTC_SUCCESS);
  std::string ptx(size, 0);
  EXPECT_EQ(nvrtcGetPTX(program, ptx.data()), NVRTC_SUCCESS);
  const char* name = nullptr;
  if (kernel && nvrtcGetLoweredName(program, kernel, &name) == NVRTC_SUCCESS) *lowered = name;
  nvrtcDestroyProgram(&program);
  return ptx;
}
// As XLA's autotuner does.
CASE(fills_of_page_locked_memory) {
  Context context;
  void* memory = nullptr;
  CU_OK(cuMemHostAlloc(&memory, 64, 0));
  std::memset(memory, 1, 64);
  const auto at = reinterpret_cast<CUdeviceptr>(memory);
  CU_OK(cuMemsetD32(at, 0x01020304, 4));
  CU_OK(cuMemsetD16(at + 16, 0x0506, 4));
  CU_OK(cuMemsetD8(at + 24, 7, 3));
  EXPECT_EQ(int(cuMemsetD32(at + 2, 0, 1)), int(CUDA_ERROR_INVALID_VALUE));
  CU_OK(cuCtxSynchronize());
  const unsigned char want[32] = {4, 3, 2, 1, 4, 3, 2, 1, 4, 3, 2, 1, 4, 3, 2, 1,
                                  6, 5, 6, 5, 6, 5, 6, 5, 7, 7, 7, 1, 1, 1, 1, 1};
  EXPECT(std::memcmp(memory, want, sizeof(want)) == 0);
  CU_OK(cuMemFreeHost(memory));
}

CASE(compiled_at_run_time) {
  Context context;
  std::string name;
  const std::string ptx = Compile(
      "template <class T, int kFactor> __global__ void scale(T* p, int n) {\n"
      "  __shared__ T s[128];\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  s[threadIdx.x] = i < n ? p[i] : T(0);\n"
      "  __syncthreads();\n"
      "  if (i < n) p[i] = s[threadIdx.x] * kFactor + s[(threadIdx.x + 1) % 128];\n"
      "}\n",
      "scale<float, 3>", &name);
  CUmodule module;
  CUfunction function;
  CU_OK(cuModuleLoadData(&module, ptx.c_str()));
  CU_OK(cuModuleGetFunction(&function, module, name.c_str()));
  std::vector<float> values(256), want(256);
  for (int i = 0; i < 256; ++i) values[i] = float(i);
  for (int i = 0; i < 256; ++i) want[i] = float(3 * i) + float(i / 128 * 128 + (i + 1) % 128);
  CUdeviceptr memory;
  CU_OK(cuMemAlloc(&memory, 1024));
  CU_OK(cuMemcpyHtoD(memory, values.data(), 1024));
  int n = 256;
  void* arguments[] = {&memory, &n};
  CU_OK(cuLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
  CU_OK(cuMemcpyDtoH(values.data(), memory, 1024));
  EXPECT_SAME(values, want);
  CU_OK(cuMemFree(memory));
  CU_OK(cuModuleUnload(module));
}
__global__ void RuntimeKernel(int* p) { p[threadIdx.x] += 5; }
CASE(both_apis_share_the_context) {
  Context context;
  CUdeviceptr memory;
  CU_OK(cuMemAlloc(&memory, 128));
  CU_OK(cuMemsetD32(memory, 7, 32));
  RuntimeKernel<<<1, 32>>>(reinterpret_cast<int*>(memory));
  std::vector<int> got(32);
  CUDA_OK(cudaMemcpy(got.data(), reinterpret_cast<void*>(memory), 128, cudaMemcpyDeviceToHost));
  EXPECT_SAME(got, std::vector<int>(32, 12));
  CU_OK(cuMemFree(memory));
}
static void CountUp(void* counter) { ++*static_cast<int*>(counter); }
CASE(graphs_of_nodes) {
  Context context;
  CUmodule module;
  CUfunction function;
  CU_OK(cuModuleLoadData(&module, kPtx));
  CU_OK(cuModuleGetFunction(&function, module, "add_offset"));
  constexpr unsigned kN = 1000;
  CUdeviceptr memory;
  CU_OK(cuMemAlloc(&memory, kN * 4));
  CUgraph graph;
  CUgraphNode fill, kernel, copy, host;
  CU_OK(cuGraphCreate(&graph, 0));
  CUDA_MEMSET_NODE_PARAMS filled{};
  filled.dst = memory;
  filled.value = 7;
  filled.elementSize = 4;
  filled.width = kN;
  filled.height = 1;
  CU_OK(cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &filled, context.context));
  unsigned n = kN / 2;
  void* arguments[] = {&memory, &n};
  CUDA_KERNEL_NODE_PARAMS launched{};
  launched.func = function;
  launched.gridDimX = 8, launched.gridDimY = launched.gridDimZ = 1;
  launched.blockDimX = 128, launched.blockDimY = launched.blockDimZ = 1;
  launched.kernelParams = arguments;
  CU_OK(cuGraphAddKernelNode(&kernel, graph, &fill, 1, &launched));
  std::vector<unsigned> got(kN), want(kN, 7);
  for (unsigned i = 0; i < kN / 2; ++i) want[i] = i + 1000;
  CUDA_MEMCPY3D copied{};
  copied.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copied.srcDevice = memory;
  copied.dstMemoryType = CU_MEMORYTYPE_HOST;
  copied.dstHost = got.data();
  copied.WidthInBytes = kN * 4;
  copied.Height = copied.Depth = 1;
  CU_OK(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &copied, context.context));
  int counter = 0;
  const CUDA_HOST_NODE_PARAMS called{CountUp, &counter};
  CU_OK(cuGraphAddHostNode(&host, graph, &copy, 1, &called));
  CUDA_KERNEL_NODE_PARAMS read{};
  CU_OK(cuGraphKernelNodeGetParams(kernel, &read));
  EXPECT(read.func == function && *static_cast<unsigned*>(read.kernelParams[1]) == kN / 2);
  CUgraphNodeType type{};
  CU_OK(cuGraphNodeGetType(copy, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY);
  CUgraphExec exec;
  CUstream stream;
  CU_OK(cuGraphInstantiate(&exec, graph, 0));
  CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU_OK(cuGraphLaunch(exec, stream));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_SAME(got, want);
  n = kN;
  CU_OK(cuGraphExecKernelNodeSetParams(exec, kernel, &launched));
  CU_OK(cuGraphLaunch(exec, stream));
  CU_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(got[kN - 1], kN + 999);
  EXPECT_EQ(counter, 2);
  launched.blockDimX = 4096;
  EXPECT_EQ(cuGraphKernelNodeSetParams(kernel, &launched), CUDA_ERROR_INVALID_VALUE);
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
  CU_OK(cuStreamDestroy(stream));
  CU_OK(cuMemFree(memory));
  CU_OK(cuModuleUnload(module));
}
CASE(graphs_of_captured_streams) {
  Context context;
  CUmodule module;
  CUfunction function;
  CU_OK(cuModuleLoadData(&module, kPtx));
  CU_OK(cuModuleGetFunction(&function, module, "add_offset"));
  unsigned n = 1000;
  CUdeviceptr a, b;
  CU_OK(cuMemAlloc(&a, n * 4));
  CU_OK(cuMemAlloc(&b, n * 4));
  CUstream first, second;
  CUevent fork, join;
  CU_OK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CU_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CU_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CU_OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  CU_OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU_OK(cuEventRecord(fork, first));
  CU_OK(cuStreamWaitEvent(second, fork, 0));
  void* arguments[] = {&a, &n};
  CU_OK(cuLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, first, arguments, nullptr));
  CU_OK(cuMemsetD32Async(b, 3, n, second));
  CU_OK(cuEventRecord(join, second));
  CU_OK(cuStreamWaitEvent(first, join, 0));
  CU_OK(cuMemcpyDtoDAsync(b, a, n * 2, first));
  CUstreamCaptureStatus status{};
  CUgraph seen = nullptr, graph = nullptr;
  const CUgraphNode* last = nullptr;
  size_t count = 0;
  CU_OK(cuStreamGetCaptureInfo(first, &status, nullptr, &seen, &last, nullptr, &count));
  EXPECT(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1);
  CU_OK(cuStreamEndCapture(first, &graph));
  EXPECT(graph == seen);
  CU_OK(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, size_t(3));
  CUgraphExec exec;
  CU_OK(cuGraphInstantiate(&exec, graph, 0));
  CU_OK(cuGraphLaunch(exec, first));
  CU_OK(cuStreamSynchronize(first));
  std::vector<unsigned> got(n), want(n, 3);
  for (unsigned i = 0; i < n / 2; ++i) want[i] = i + 1000;
  CU_OK(cuMemcpyDtoH(got.data(), b, n * 4));
  EXPECT_SAME(got, want);
  CU_OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuStreamSynchronize(first), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(first, &graph), CUDA_ERROR_ILLEGAL_STATE);
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(seen));
  CU_OK(cuEventDestroy(fork));
  CU_OK(cuEventDestroy(join));
  CU_OK(cuStreamDestroy(first));
  CU_OK(cuStreamDestroy(second));
  CU_OK(cuMemFree(a));
  CU_OK(cuMemFree(b));
  CU_OK(cuModuleUnload(module));
}
