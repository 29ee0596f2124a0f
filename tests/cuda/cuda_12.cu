// What CUDA 12 has otherwise than CUDA 13: functions with other parameters, structs that are shorter or have other
// fields, and functions that CUDA 13 has removed. Compiled against CUDA 12's headers only.
#define NAMES_OF_CUDA_12
#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <memory>

#include "harness.h"

static_assert(CUDART_VERSION >= 12000 && CUDART_VERSION < 13000, "this is about CUDA 12");

// A struct that is filled by a function, and bytes behind it that must stay as they are.
template <class T>
class Fenced {
 public:
  Fenced() {
    std::memset(&value_, 0xa5, sizeof(value_));
    fence_.fill(kFence);
  }
  T* get() { return &value_; }
  T* operator->() { return &value_; }
  bool Intact() const {
    return std::all_of(fence_.begin(), fence_.end(), [](unsigned char byte) { return byte == kFence; });
  }

 private:
  static constexpr unsigned char kFence = 0x5a;
  T value_;
  std::array<unsigned char, 512> fence_;
};

CASE(versions) {
  int runtime = 0, driver = 0;
  CUDA_OK(cudaRuntimeGetVersion(&runtime));
  CUDA_OK(cudaDriverGetVersion(&driver));
  EXPECT_EQ(runtime, 12080);
  EXPECT(driver >= runtime);
}

static int Attribute(cudaDeviceAttr attribute) {
  int value = -1;
  CUDA_OK(cudaDeviceGetAttribute(&value, attribute, 0));
  return value;
}

// The fields that are also attributes, CUDA 13's and those that only CUDA 12 has.
static void ExpectFields(const cudaDeviceProp& p) {
  EXPECT_EQ(int(p.sharedMemPerBlock), Attribute(cudaDevAttrMaxSharedMemoryPerBlock));
  EXPECT_EQ(p.regsPerBlock, Attribute(cudaDevAttrMaxRegistersPerBlock));
  EXPECT_EQ(p.warpSize, Attribute(cudaDevAttrWarpSize));
  EXPECT_EQ(p.maxThreadsPerBlock, Attribute(cudaDevAttrMaxThreadsPerBlock));
  EXPECT_EQ(p.maxThreadsDim[2], Attribute(cudaDevAttrMaxBlockDimZ));
  EXPECT_EQ(p.maxGridSize[0], Attribute(cudaDevAttrMaxGridDimX));
  EXPECT_EQ(p.clockRate, Attribute(cudaDevAttrClockRate));
  EXPECT_EQ(int(p.totalConstMem), Attribute(cudaDevAttrTotalConstantMemory));
  EXPECT_EQ(p.major, Attribute(cudaDevAttrComputeCapabilityMajor));
  EXPECT_EQ(p.minor, Attribute(cudaDevAttrComputeCapabilityMinor));
  EXPECT_EQ(int(p.textureAlignment), Attribute(cudaDevAttrTextureAlignment));
  EXPECT_EQ(int(p.texturePitchAlignment), Attribute(cudaDevAttrTexturePitchAlignment));
  EXPECT_EQ(p.deviceOverlap, Attribute(cudaDevAttrGpuOverlap));
  EXPECT_EQ(p.multiProcessorCount, Attribute(cudaDevAttrMultiProcessorCount));
  EXPECT_EQ(p.kernelExecTimeoutEnabled, Attribute(cudaDevAttrKernelExecTimeout));
  EXPECT_EQ(p.canMapHostMemory, Attribute(cudaDevAttrCanMapHostMemory));
  EXPECT_EQ(p.computeMode, Attribute(cudaDevAttrComputeMode));
  EXPECT_EQ(p.maxTexture1D, Attribute(cudaDevAttrMaxTexture1DWidth));
  EXPECT_EQ(p.maxTexture1DLinear, Attribute(cudaDevAttrMaxTexture1DLinearWidth));
  EXPECT_EQ(p.maxTexture2D[1], Attribute(cudaDevAttrMaxTexture2DHeight));
  EXPECT_EQ(p.maxTexture2DLinear[2], Attribute(cudaDevAttrMaxTexture2DLinearPitch));
  EXPECT_EQ(p.maxTexture3D[2], Attribute(cudaDevAttrMaxTexture3DDepth));
  EXPECT_EQ(p.maxSurfaceCubemapLayered[1], Attribute(cudaDevAttrMaxSurfaceCubemapLayeredLayers));
  EXPECT_EQ(int(p.surfaceAlignment), Attribute(cudaDevAttrSurfaceAlignment));
  EXPECT_EQ(p.concurrentKernels, Attribute(cudaDevAttrConcurrentKernels));
  EXPECT_EQ(p.pciBusID, Attribute(cudaDevAttrPciBusId));
  EXPECT_EQ(p.asyncEngineCount, Attribute(cudaDevAttrAsyncEngineCount));
  EXPECT_EQ(p.unifiedAddressing, Attribute(cudaDevAttrUnifiedAddressing));
  EXPECT_EQ(p.memoryClockRate, Attribute(cudaDevAttrMemoryClockRate));
  EXPECT_EQ(p.memoryBusWidth, Attribute(cudaDevAttrGlobalMemoryBusWidth));
  EXPECT_EQ(p.l2CacheSize, Attribute(cudaDevAttrL2CacheSize));
  EXPECT_EQ(p.maxThreadsPerMultiProcessor, Attribute(cudaDevAttrMaxThreadsPerMultiProcessor));
  EXPECT_EQ(int(p.sharedMemPerMultiprocessor), Attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  EXPECT_EQ(p.regsPerMultiprocessor, Attribute(cudaDevAttrMaxRegistersPerMultiprocessor));
  EXPECT_EQ(p.managedMemory, Attribute(cudaDevAttrManagedMemory));
  EXPECT_EQ(p.pageableMemoryAccess, Attribute(cudaDevAttrPageableMemoryAccess));
  EXPECT_EQ(p.concurrentManagedAccess, Attribute(cudaDevAttrConcurrentManagedAccess));
  EXPECT_EQ(p.cooperativeLaunch, Attribute(cudaDevAttrCooperativeLaunch));
  EXPECT_EQ(int(p.sharedMemPerBlockOptin), Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  EXPECT_EQ(p.maxBlocksPerMultiProcessor, Attribute(cudaDevAttrMaxBlocksPerMultiprocessor));
}

CASE(device_properties) {
  Fenced<cudaDeviceProp> properties;
  CUDA_OK(cudaGetDeviceProperties(properties.get(), 0));
  EXPECT(properties.Intact());
  ExpectFields(*properties.get());
  EXPECT(std::strlen(properties->name) > 0 && std::strlen(properties->name) < 256);
  size_t available = 0, total = 0;
  CUDA_OK(cudaMemGetInfo(&available, &total));
  EXPECT_EQ(properties->totalGlobalMem, total);
  EXPECT(properties->clockRate > 0 && properties->maxTexture1DLinear > 0);
  EXPECT_EQ(properties->hostRegisterSupported, Attribute(cudaDevAttrHostRegisterSupported));
  EXPECT_EQ(properties->memoryPoolsSupported, Attribute(cudaDevAttrMemoryPoolsSupported));
  EXPECT_EQ(properties->clusterLaunch, Attribute(cudaDevAttrClusterLaunch));
  EXPECT_EQ(cudaGetDeviceProperties(properties.get(), 77), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

template <class Function>
static Function* OfCuda12(const char* name) {
  void* const found = dlvsym(RTLD_DEFAULT, name, "libcudart.so.12");
  EXPECT(found != nullptr);
  return reinterpret_cast<Function*>(found);
}

// Without a version the name is that of CUDA 11's function, whose struct ends where 12's goes on.
CASE(device_properties_of_11) {
  Fenced<cudaDeviceProp> properties;
  auto* const get = OfCuda12<cudaError_t(cudaDeviceProp*, int)>("cudaGetDeviceProperties");
  if (get == nullptr) return;
  CUDA_OK(get(properties.get(), 0));
  ExpectFields(*properties.get());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(properties.get());
  for (size_t i = offsetof(cudaDeviceProp, hostRegisterSupported); i < sizeof(cudaDeviceProp); ++i)
    EXPECT_EQ(int(bytes[i]), 0xa5);
}

CASE(pointer_attributes) {
  Buffer<int> buffer(16);
  void* host = nullptr;
  CUDA_OK(cudaMallocHost(&host, 64));
  Fenced<cudaPointerAttributes> attributes;
  CUDA_OK(cudaPointerGetAttributes(attributes.get(), buffer.get() + 3));
  EXPECT_EQ(attributes->type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes->devicePointer, static_cast<void*>(buffer.get() + 3));
  EXPECT(attributes.Intact());
  CUDA_OK(cudaPointerGetAttributes(attributes.get(), host));
  EXPECT_EQ(attributes->type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes->hostPointer, host);
  EXPECT(attributes.Intact());
  EXPECT_EQ(cudaPointerGetAttributes(nullptr, host), cudaErrorInvalidValue);
  cudaGetLastError();
  CUDA_OK(cudaFreeHost(host));
}

__global__ void FetchAll(cudaTextureObject_t texture, float* to) {
  to[threadIdx.x] = tex1Dfetch<float>(texture, int(threadIdx.x));
}
__global__ void WriteAll(cudaSurfaceObject_t surface) {
  surf1Dwrite(float(threadIdx.x * threadIdx.x), surface, int(threadIdx.x) * 4);
}

CASE(textures_and_surfaces) {
  constexpr int kCount = 32;
  std::vector<float> values;
  for (int i = 0; i < kCount; ++i) values.push_back(float(i) * 1.5f);
  Buffer<float> from(values), to(kCount);
  // In memory whose end nothing may be read behind.
  auto resource = std::make_unique<cudaResourceDesc>();
  std::memset(resource.get(), 0, sizeof(*resource));
  resource->resType = cudaResourceTypeLinear;
  resource->res.linear = {from.get(), cudaCreateChannelDesc<float>(), kCount * sizeof(float)};
  cudaTextureDesc sampling{};
  cudaTextureObject_t texture = 0;
  CUDA_OK(cudaCreateTextureObject(&texture, resource.get(), &sampling, nullptr));
  FetchAll<<<1, kCount>>>(texture, to);
  EXPECT(to.Get() == values);
  Fenced<cudaResourceDesc> seen;
  CUDA_OK(cudaGetTextureObjectResourceDesc(seen.get(), texture));
  EXPECT_EQ(seen->resType, cudaResourceTypeLinear);
  EXPECT_EQ(seen->res.linear.devPtr, static_cast<void*>(from.get()));
  EXPECT_EQ(seen->res.linear.sizeInBytes, kCount * sizeof(float));
  EXPECT(seen.Intact());
  CUDA_OK(cudaDestroyTextureObject(texture));
  EXPECT_EQ(cudaCreateTextureObject(&texture, nullptr, &sampling, nullptr), cudaErrorInvalidValue);
  cudaGetLastError();

  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CUDA_OK(cudaMallocArray(&array, &format, kCount, 0, cudaArraySurfaceLoadStore));
  resource->resType = cudaResourceTypeArray;
  resource->res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  CUDA_OK(cudaCreateSurfaceObject(&surface, resource.get()));
  WriteAll<<<1, kCount>>>(surface);
  CUDA_OK(cudaMemcpy2DFromArray(values.data(), kCount * 4, array, 0, 0, kCount * 4, 1, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(values[size_t(i)], float(i * i));
  Fenced<cudaResourceDesc> of_surface;
  CUDA_OK(cudaGetSurfaceObjectResourceDesc(of_surface.get(), surface));
  EXPECT_EQ(of_surface->res.array.array, array);
  EXPECT(of_surface.Intact());
  CUDA_OK(cudaDestroySurfaceObject(surface));

  cudaResourceViewDesc view{};
  view.format = cudaResViewFormatSignedInt1;
  view.width = kCount;
  CUDA_OK(cudaCreateTextureObject(&texture, resource.get(), &sampling, &view));
  Fenced<cudaResourceViewDesc> seen_view;
  CUDA_OK(cudaGetTextureObjectResourceViewDesc(seen_view.get(), texture));
  EXPECT_EQ(seen_view->format, cudaResViewFormatSignedInt1);
  EXPECT_EQ(seen_view->width, size_t(kCount));
  EXPECT(seen_view.Intact());
  CUDA_OK(cudaDestroyTextureObject(texture));
  CUDA_OK(cudaFreeArray(array));
}

__global__ void Double(int* data, int count) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) data[i] *= 2;
}

CASE(managed_memory_by_device_number) {
  constexpr int kCount = 4096, kDevice = 0;
  int* data = nullptr;
  CUDA_OK(cudaMallocManaged(&data, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) data[i] = i;
  CUDA_OK(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetPreferredLocation, kDevice));
  CUDA_OK(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
  CUDA_OK(cudaMemPrefetchAsync(data, kCount * sizeof(int), kDevice));
  Double<<<kCount / 256, 256>>>(data, kCount);
  CUDA_OK(cudaMemPrefetchAsync(data, kCount * sizeof(int), cudaCpuDeviceId));
  CUDA_OK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(data[i], 2 * i);
  EXPECT_EQ(cudaMemPrefetchAsync(data, kCount * sizeof(int), 7), cudaErrorInvalidDevice);
  cudaGetLastError();

  cudaMemLocation device{};
  device.type = cudaMemLocationTypeDevice;
  CUDA_OK(cudaMemAdvise_v2(data, kCount * sizeof(int), cudaMemAdviseSetReadMostly, device));
  CUDA_OK(cudaMemPrefetchAsync_v2(data, kCount * sizeof(int), device, 0));
  Double<<<kCount / 256, 256>>>(data, kCount);
  CUDA_OK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(data[i], 4 * i);

  const auto address = reinterpret_cast<CUdeviceptr>(data);
  EXPECT_EQ(cuMemAdvise(address, kCount * sizeof(int), CU_MEM_ADVISE_UNSET_READ_MOSTLY, kDevice), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPrefetchAsync(address, kCount * sizeof(int), CU_DEVICE_CPU, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPrefetchAsync(address, kCount * sizeof(int), 7, nullptr), CUDA_ERROR_INVALID_DEVICE);
  CUDA_OK(cudaFree(data));
}

CASE(capture) {
  Buffer<int> data(std::vector<int>(256, 3));
  cudaStream_t stream = nullptr;
  CUDA_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Double<<<1, 256, 0, stream>>>(data, 256);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0, same = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* last = nullptr;
  size_t count = 0;
  CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &last, &count));  // by its header this is _v2
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_EQ(count, size_t{1});
  const cudaGraphNode_t first = last[0];
  const cudaGraphEdgeData* edges = nullptr;
  CUDA_OK(cudaStreamGetCaptureInfo_v3(stream, &status, &same, &graph, &last, &edges, &count));
  EXPECT_EQ(same, id);
  EXPECT(edges != nullptr);
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM  // else the name is that of the variant
  auto* const oldest =
      OfCuda12<cudaError_t(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*)>("cudaStreamGetCaptureInfo");
  if (oldest != nullptr) CUDA_OK(oldest(stream, &status, &same));
  EXPECT_EQ(same, id);
#endif
  cuuint64_t of_driver = 0;
  CUstreamCaptureStatus its_status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(cuStreamGetCaptureInfo(stream, &its_status, &of_driver, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(of_driver, id);
  Double<<<1, 256, 0, stream>>>(data, 256);
  cudaGraphNode_t before = first;
  CUDA_OK(cudaStreamUpdateCaptureDependencies(stream, &before, 1, cudaStreamAddCaptureDependencies));
  CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &last, &count));
  EXPECT_EQ(count, size_t{2});
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(stream, &before, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES), CUDA_SUCCESS);
  CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &last, &count));
  EXPECT_EQ(count, size_t{1});
  // So this one is beside the second.
  CUDA_OK(cudaMemsetAsync(data.get() + 100, 0, 4, stream));
  CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &last, &count));
  cudaGraphNode_t dependencies[2] = {};
  size_t found = 2;
  CUDA_OK(cudaGraphNodeGetDependencies(last[0], dependencies, &found));
  EXPECT_EQ(found, size_t{1});
  EXPECT_EQ(dependencies[0], first);
  cudaGraph_t ended = nullptr;
  CUDA_OK(cudaStreamEndCapture(stream, &ended));
  CUDA_OK(cudaGraphGetNodes(ended, nullptr, &found));
  EXPECT_EQ(found, size_t{3});
  CUDA_OK(cudaGraphDestroy(ended));
  CUDA_OK(cudaStreamDestroy(stream));
}

CASE(graphs_without_edge_data) {
  Buffer<int> data(std::vector<int>(256, 5));
  cudaGraph_t graph = nullptr;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  int* address = data.get();
  int count = 256;
  void* parameters[] = {&address, &count};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(Double);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = parameters;
  cudaGraphNode_t a = nullptr, b = nullptr, c = nullptr;
  CUDA_OK(cudaGraphAddKernelNode(&a, graph, nullptr, 0, &kernel));
  CUDA_OK(cudaGraphAddKernelNode(&b, graph, nullptr, 0, &kernel));
  CUDA_OK(cudaGraphAddDependencies(graph, &a, &b, 1));
  cudaGraphNodeParams fill{};
  fill.type = cudaGraphNodeTypeMemset;
  fill.memset.dst = data.get() + 8;
  fill.memset.elementSize = 4;
  fill.memset.width = 1;
  fill.memset.height = 1;
  fill.memset.value = 77;
  CUDA_OK(cudaGraphAddNode(&c, graph, &b, 1, &fill));
  cudaGraphNode_t from[4] = {}, to[4] = {};
  size_t edges = 4;
  CUDA_OK(cudaGraphGetEdges(graph, from, to, &edges));
  EXPECT_EQ(edges, size_t{2});
  EXPECT(from[0] == a && to[0] == b && from[1] == b && to[1] == c);
  size_t found = 4;
  CUDA_OK(cudaGraphNodeGetDependentNodes(a, to, &found));
  EXPECT(found == 1 && to[0] == b);
  CUDA_OK(cudaGraphNodeGetDependencies(c, from, &found));
  EXPECT(found == 1 && from[0] == b);
  CUDA_OK(cudaGraphRemoveDependencies(graph, &a, &b, 1));
  EXPECT_EQ(cudaGraphRemoveDependencies(graph, &a, &b, 1), cudaErrorInvalidValue);
  cudaGetLastError();
  CUDA_OK(cudaGraphAddDependencies_v2(graph, &a, &b, nullptr, 1));

  // The driver's, under the names that CUDA 13 gives to others.
  edges = 4;
  EXPECT_EQ(cuGraphGetEdges(graph, from, to, &edges), CUDA_SUCCESS);
  EXPECT_EQ(edges, size_t{2});
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &a, &b, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_SUCCESS);
  found = 4;
  EXPECT_EQ(cuGraphNodeGetDependencies(b, from, &found), CUDA_SUCCESS);
  EXPECT(found == 1 && from[0] == a);
  EXPECT_EQ(cuGraphNodeGetDependentNodes(b, to, &found), CUDA_SUCCESS);
  EXPECT(found == 1 && to[0] == c);
  CUgraphNodeParams nothing{};
  nothing.type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUgraphNode last = nullptr;
  EXPECT_EQ(cuGraphAddNode(&last, graph, &c, 1, &nothing), CUDA_SUCCESS);

  cudaGraphExec_t exec = nullptr;
  CUDA_OK(cudaGraphInstantiate(&exec, graph));
  CUDA_OK(cudaGraphLaunch(exec, nullptr));
  const std::vector<int> seen = data.Get();
  for (int i = 0; i < 256; ++i) EXPECT_EQ(seen[size_t(i)], i == 8 ? 77 : 20);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}

CASE(elapsed_time) {
  cudaEvent_t first = nullptr, second = nullptr;
  CUDA_OK(cudaEventCreate(&first));
  CUDA_OK(cudaEventCreate(&second));
  CUDA_OK(cudaEventRecord(first));
  CUDA_OK(cudaEventRecord(second));
  CUDA_OK(cudaEventSynchronize(second));
  float milliseconds = -1, newer = -1;
  CUDA_OK(cudaEventElapsedTime(&milliseconds, first, second));
  CUDA_OK(cudaEventElapsedTime_v2(&newer, first, second));
  EXPECT(milliseconds >= 0);
  EXPECT_EQ(newer, milliseconds);
  CUDA_OK(cudaEventDestroy(first));
  CUDA_OK(cudaEventDestroy(second));
}

CASE(contexts) {
  CUcontext context = nullptr, popped = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, CU_CTX_SCHED_AUTO, 0), CUDA_SUCCESS);
  EXPECT(context != nullptr);
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, context);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
}

// What a program gets by name is what the header of its release declares.
CASE(entry_points) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  CUDA_OK(cudaGetDriverEntryPoint("cuCtxGetDevice", &function, cudaEnableDefault, &result));
  EXPECT_EQ(result, cudaDriverEntryPointSuccess);
  CUcontext context = nullptr;
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  CUdevice device = -1;
  EXPECT_EQ(reinterpret_cast<CUresult (*)(CUdevice*)>(function)(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

CASE(functions_of_threads) {
  size_t before = 0, after = 0;
  CUDA_OK(cudaThreadGetLimit(&before, cudaLimitStackSize));
  CUDA_OK(cudaThreadSetLimit(cudaLimitStackSize, before * 2));
  CUDA_OK(cudaDeviceGetLimit(&after, cudaLimitStackSize));
  EXPECT_EQ(after, before * 2);
  cudaFuncCache config = cudaFuncCachePreferNone;
  CUDA_OK(cudaThreadSetCacheConfig(cudaFuncCachePreferL1));
  CUDA_OK(cudaThreadGetCacheConfig(&config));
  EXPECT_EQ(config, cudaFuncCachePreferL1);
  {
    Buffer<int> data(std::vector<int>(256, 1));
    Double<<<1, 256>>>(data, 256);
    CUDA_OK(cudaThreadSynchronize());
    EXPECT(data.Get() == std::vector<int>(256, 2));
  }
  CUDA_OK(cudaThreadExit());
  Buffer<int> again(std::vector<int>(256, 4));
  EXPECT(again.Get() == std::vector<int>(256, 4));
}

CASE(refused) {
  EXPECT_EQ(cudaLaunchCooperativeKernelMultiDevice(nullptr, 0, 0), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
  double number = 1;
  EXPECT_EQ(cudaSetDoubleForDevice(&number), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

// CUDA 13 says that the value is invalid.
CASE(invalid_configurations) {
  Double<<<1, 2000>>>(nullptr, 0);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Double<<<0, 32>>>(nullptr, 0);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Double<<<dim3(1, 70000), 1>>>(nullptr, 0);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Double<<<1, 1, 512 * 1024>>>(nullptr, 0);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}
