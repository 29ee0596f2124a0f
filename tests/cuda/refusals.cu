// What Wharf does not have, on whatever device: the status that programs get, and the words that their users read.
#include <cuda.h>

#include "tests/cuda/harness.h"

// NVIDIA's own libraries have it.
static const bool skips = [] {
  void* memory = nullptr;
  cudaIpcMemHandle_t handle;
  if (cudaMalloc(&memory, 16) != cudaSuccess) return false;
  const cudaError_t error = cudaIpcGetMemHandle(&handle, memory);
  cudaFree(memory);
  (void)cudaGetLastError();
  if (error == cudaErrorNotSupported) return false;
  std::printf("skipped: memory of other processes is not refused\n");
  std::exit(77);
}();

// Runs a child, which must pass, and in whose output, or errors, each of `words` must stand once.
static void ExpectTold(const char* child, const std::vector<std::string>& words) {
  const harness::ChildResult result = harness::RunChild(child);
  EXPECT_EQ(result.status, 0);
  for (const std::string& told : words) {
    int count = 0;
    for (size_t at = result.output.find(told); at != std::string::npos; at = result.output.find(told, at + 1)) ++count;
    if (count != 1) harness::Fail(__FILE__, __LINE__, "told " + std::to_string(count) + " times: " + told);
  }
}

static void ExpectRefused(cudaError_t error, const char* call, int line) {
  if (error != cudaErrorNotSupported || cudaGetLastError() != cudaErrorNotSupported)
    harness::Fail(__FILE__, line, std::string(call) + ": got " + cudaGetErrorName(error));
}
#define REFUSED(call) ExpectRefused(call, #call, __LINE__)

CHILD(calls) {
  Buffer<int> values(4);
  cudaEvent_t event = nullptr;
  CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  cudaEvent_t shared = nullptr;
  REFUSED(cudaEventCreateWithFlags(&shared, cudaEventDisableTiming | cudaEventInterprocess));
  EXPECT_EQ(cudaEventCreateWithFlags(&shared, cudaEventInterprocess), cudaErrorInvalidValue);
  (void)cudaGetLastError();
  cudaIpcEventHandle_t event_handle{};
  cudaIpcMemHandle_t memory_handle{};
  cudaExternalMemory_t memory = nullptr;
  cudaExternalMemoryHandleDesc memory_from{};
  cudaExternalSemaphore_t semaphore = nullptr;
  cudaExternalSemaphoreHandleDesc semaphore_from{};
  void* opened = nullptr;
  for (int round = 0; round < 2; ++round) {  // told once
    REFUSED(cudaIpcGetEventHandle(&event_handle, event));
    REFUSED(cudaIpcOpenMemHandle(&opened, memory_handle, cudaIpcMemLazyEnablePeerAccess));
    REFUSED(cudaImportExternalMemory(&memory, &memory_from));
    REFUSED(cudaImportExternalSemaphore(&semaphore, &semaphore_from));
    REFUSED(cudaGraphicsMapResources(0, nullptr, 0));
  }
  CUDA_OK(cudaEventDestroy(event));
}
CASE(calls_that_are_not_covered_are_named_once) {
  std::vector<std::string> words{"function=\"cudaEventCreateWithFlags (cudaEventInterprocess)\"\n"};
  for (const char* function : {"cudaIpcGetEventHandle", "cudaIpcOpenMemHandle", "cudaImportExternalMemory",
                               "cudaImportExternalSemaphore", "cudaGraphicsMapResources"}) {
    words.push_back(std::string("a CUDA function that Wharf does not cover was called; it returned \"not supported\" "
                                "function=") +
                    function + "\n");
  }
  ExpectTold("calls", words);
}

// What NVIDIA's own libraries ask of its driver is described nowhere.
CHILD(table_of_functions) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  CUDA_OK(cudaGetDriverEntryPointByVersion("cuGetExportTable", &function, 12000, cudaEnableDefault, &found));
  EXPECT_EQ(found, cudaDriverEntryPointSuccess);
  if (function == nullptr) return;
  const auto get = reinterpret_cast<int (*)(const void**, const cudaUUID_t*)>(function);
  const cudaUUID_t unknown{"no such table"};
  const void* table = &unknown;
  constexpr int kNotFound = 500;
  for (int round = 0; round < 2; ++round) EXPECT_EQ(get(&table, &unknown), kNotFound);
  EXPECT(table == nullptr);
}
CASE(functions_that_only_nvidias_driver_has_are_told_once) {
  ExpectTold("table_of_functions",
             {"wharf: a library of the program asks for functions that only NVIDIA's driver has"});
}

CHILD(graphs) {
  cudaGraph_t graph = nullptr, child = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  CUDA_OK(cudaGraphCreate(&child, 0));
  CUDA_OK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
  REFUSED(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagDeviceLaunch));
  cudaGraphNodeParams moved{};
  moved.type = cudaGraphNodeTypeGraph;
  moved.graph.graph = child;
  moved.graph.ownership = cudaGraphChildGraphOwnershipMove;
  REFUSED(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &moved));
  cudaGraphNodeParams semaphore{};
  semaphore.type = cudaGraphNodeTypeExtSemaphoreSignal;
  REFUSED(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &semaphore));
  CUDA_OK(cudaGraphDestroy(child));
  CUDA_OK(cudaGraphDestroy(graph));
}
CASE(what_graphs_cannot_do_is_named) {
  ExpectTold("graphs", {"launches of CUDA graphs by kernels (cudaGraphInstantiateFlagDeviceLaunch)",
                        "cudaGraphAddNode (a child graph that moves into its parent)",
                        "cudaGraphAddNode (an external semaphore)"});
}

CHILD(textures) {
  cudaArray_t plane = nullptr, cube = nullptr;
  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<uchar4>(), floats = cudaCreateChannelDesc<float>();
  CUDA_OK(cudaMallocArray(&plane, &bytes, 16, 16));
  CUDA_OK(cudaMalloc3DArray(&cube, &floats, cudaExtent{8, 8, 6}, cudaArrayCubemap));
  cudaTextureObject_t texture = 0;
  cudaResourceDesc of{};
  of.resType = cudaResourceTypeArray;
  of.res.array.array = plane;
  cudaTextureDesc how{};
  how.readMode = cudaReadModeNormalizedFloat;
  how.sRGB = 1;
  REFUSED(cudaCreateTextureObject(&texture, &of, &how, nullptr));
  how.sRGB = 0;
  cudaResourceViewDesc view{};
  view.format = cudaResViewFormatUnsignedBlockCompressed1;
  view.width = view.height = 64;
  REFUSED(cudaCreateTextureObject(&texture, &of, &how, &view));
  of.res.array.array = cube;
  how.readMode = cudaReadModeElementType;
  how.seamlessCubemap = 1;
  how.filterMode = cudaFilterModeLinear;
  REFUSED(cudaCreateTextureObject(&texture, &of, &how, nullptr));
  how.filterMode = cudaFilterModePoint;
  CUDA_OK(cudaCreateTextureObject(&texture, &of, &how, nullptr));
  CUDA_OK(cudaDestroyTextureObject(texture));
  CUDA_OK(cudaFreeArray(plane));
  CUDA_OK(cudaFreeArray(cube));
}
CASE(what_textures_cannot_do_is_named) {
  ExpectTold("textures", {"wharf: not supported: textures that convert sRGB\n",
                          "wharf: not supported: textures of compressed formats\n",
                          "wharf: not supported: seamless filtering of cubes\n"});
}

CHILD(views) {
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  cudaArray_t cubes = nullptr;
  cudaMipmappedArray_t layers = nullptr;
  CUDA_OK(cudaMalloc3DArray(&cubes, &floats, cudaExtent{8, 8, 12}, cudaArrayCubemap | cudaArrayLayered));
  CUDA_OK(cudaMallocMipmappedArray(&layers, &floats, cudaExtent{8, 8, 4}, 2, cudaArrayLayered));
  cudaTextureObject_t texture = 0;
  const cudaTextureDesc how{};
  cudaResourceDesc of{};
  cudaResourceViewDesc view{};
  view.format = cudaResViewFormatFloat1;
  view.width = view.height = 8;
  view.lastLayer = 5;
  of.resType = cudaResourceTypeArray;
  of.res.array.array = cubes;
  view.depth = 12;
  REFUSED(cudaCreateTextureObject(&texture, &of, &how, &view));
  of.resType = cudaResourceTypeMipmappedArray;
  of.res.mipmap.mipmap = layers;
  view.depth = 4;
  view.lastLayer = 1;
  REFUSED(cudaCreateTextureObject(&texture, &of, &how, &view));
  CUDA_OK(cudaFreeMipmappedArray(layers));
  CUDA_OK(cudaFreeArray(cubes));
}
CASE(what_views_cannot_show_is_named) {
  ExpectTold("views", {"wharf: not supported: views of layered cubes\n",
                       "wharf: not supported: views of some layers of mipmapped arrays\n"});
}

CHILD(virtual_memory) {
  CUDA_OK(cudaFree(nullptr));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  size_t unit = 0;
  EXPECT_EQ(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), CUDA_SUCCESS);
  CUmemGenericAllocationHandle memory = 0;
  EXPECT_EQ(cuMemCreate(&memory, unit, &properties, 0), CUDA_SUCCESS);
  int file = -1;
  EXPECT_EQ(cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_NOT_SUPPORTED);
  CUdeviceptr at = 0;
  EXPECT_EQ(cuMemAddressReserve(&at, unit, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(at, unit, 0, memory, 0), CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  EXPECT_EQ(cuMemSetAccess(at, unit, &access, 1), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemUnmap(at, unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAddressFree(at, unit), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(cuMemCreate(&memory, unit, &properties, 0), CUDA_ERROR_NOT_SUPPORTED);
}
CASE(what_virtual_memory_cannot_do_is_named) {
  ExpectTold("virtual_memory",
             {"function=cuMemExportToShareableHandle\n", "function=\"virtual memory (of the host)\"\n",
              "function=\"virtual memory (access that is less than to read and write)\"\n"});
}

__global__ void Write(int* to) { *to = 1; }
CHILD(clusters) {
  Buffer<int> out(4);
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  config.gridDim = dim3(4), config.blockDim = dim3(1), config.attrs = &attribute, config.numAttrs = 1;
  REFUSED(cudaLaunchKernelEx(&config, Write, out.get()));
}
CASE(launches_of_clusters_are_named) {
  ExpectTold("clusters", {"function=\"a launch (clusters of more than one block)\"\n"});
}

CHILD(host_memory) {
  int on_host = 0;
  Write<<<1, 1>>>(&on_host);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
CASE(memory_that_is_not_for_kernels_is_told) {
  cudaDeviceProp properties{};
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  // Of a GPU's fault the address is not known.
  if (std::strstr(properties.name, "software") == nullptr) return;
  ExpectTold("host_memory",
             {"wharf: kernel _Z5WritePi was given 0x",
              " (at byte 0 of its parameters): this is host memory; kernels can only use memory of cudaMalloc, "
              "cudaMallocManaged or cudaHostAlloc\n"});
}

CHILD(part_of_a_page) {
  const long page = sysconf(_SC_PAGESIZE);
  char* const pages = static_cast<char*>(std::aligned_alloc(size_t(page), size_t(2 * page)));
  void* device = nullptr;
  CUDA_OK(cudaHostRegister(pages + 64, size_t(page), cudaHostRegisterMapped));
  REFUSED(cudaHostGetDevicePointer(&device, pages + 64, 0));
  CUDA_OK(cudaHostUnregister(pages + 64));
  std::free(pages);
}
CASE(registered_memory_that_is_no_whole_pages_is_told) {
  ExpectTold("part_of_a_page",
             {"wharf: kernels cannot use registered host memory (cudaHostRegister) that is not whole pages "
              "of this process alone: align address and size to " +
              std::to_string(sysconf(_SC_PAGESIZE)) + ", or allocate it with cudaHostAlloc or cudaMallocManaged\n"});
}

CHILD(too_much_memory) {
  void* memory = nullptr;
  for (int round = 0; round < 2; ++round) {  // told once
    EXPECT_EQ(cudaMalloc(&memory, size_t(1) << 50), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  }
}
CASE(too_much_memory_is_told_with_the_way_out) {
  ExpectTold("too_much_memory",
             {"wharf: out of device memory: 1125899906842624 bytes are more than the device has; raise "
              "--memory of `wharf serve` or `wharf run --local`\n"});
}
