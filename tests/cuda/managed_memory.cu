// Memory that the program and its kernels use by the same addresses: cudaMallocManaged, __managed__ variables, mapped
// host memory; prefetching, advice, attributes; copies and fills of it; threads.
#include <cuda.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "tests/cuda/harness.h"

#define CU_OK(call) EXPECT_EQ((call), CUDA_SUCCESS)

template <class T>
static T* Managed(size_t count) {
  T* data = nullptr;
  CUDA_OK(cudaMallocManaged(&data, count * sizeof(T)));
  return data;
}

__global__ void Scale(int* data, int n, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + i;
}

static void Launch(int* data, int n, int factor) { Scale<<<(n + 255) / 256, 256>>>(data, n, factor); }

CASE(both_sides_in_turns) {
  constexpr int kCount = 300000;  // some blocks of pages, and a rest
  int* data = Managed<int>(kCount);
  std::vector<int> want(kCount);
  for (int i = 0; i < kCount; ++i) data[i] = want[size_t(i)] = i % 1000;
  for (int round = 0; round < 4; ++round) {
    Launch(data, kCount, 3);
    CUDA_OK(cudaDeviceSynchronize());
    for (int i = 0; i < kCount; ++i) want[size_t(i)] = want[size_t(i)] * 3 + i;
    // Some of it is changed here, some only read, most not touched.
    for (int i = round; i < kCount; i += 50021) data[i] += 7, want[size_t(i)] += 7;
    EXPECT_EQ(data[12345], want[12345]);
  }
  const std::vector<int> got(data, data + kCount);
  EXPECT_SAME(got, want);
  harness::Hash(data, kCount * sizeof(int));
  CUDA_OK(cudaFree(data));
}
CASE(one_value_many_launches) {
  int* value = Managed<int>(1);
  *value = 1;
  int want = 1;
  for (int i = 0; i < 50; ++i) {
    Launch(value, 1, 2);
    CUDA_OK(cudaDeviceSynchronize());
    want *= 2;
    if (i % 20 == 19) *value = want = 1;
    EXPECT_EQ(*value, want);
  }
  CUDA_OK(cudaFree(value));
}

struct Node {
  int value;
  Node* next;
};
__global__ void Sum(const Node* node, int* sum) {
  *sum = 0;
  for (; node != nullptr; node = node->next) *sum += node->value;
}
// Pointers mean the same on both sides.
CASE(a_list_with_pointers) {
  Node* head = nullptr;
  int want = 0;
  for (int i = 0; i < 20; ++i) {
    Node* node = Managed<Node>(1);
    *node = {i * i, head};
    head = node;
    want += i * i;
  }
  int* sum = Managed<int>(1);
  Sum<<<1, 1>>>(head, sum);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(*sum, want);
  while (head != nullptr) {
    Node* const next = head->next;
    CUDA_OK(cudaFree(head));
    head = next;
  }
  CUDA_OK(cudaFree(sum));
}

// A class that lives in managed memory, with its new and delete.
struct InManaged {
  static void* operator new(size_t size) { return Managed<char>(size); }
  static void operator delete(void* pointer) { CUDA_OK(cudaFree(pointer)); }
};
struct Counter : InManaged {
  int count = 5;
  double half = 2.5;
};
__global__ void Step(Counter* counter) {
  counter->count += 1;
  counter->half *= 2;
}
CASE(objects) {
  auto* counter = new Counter;
  Step<<<1, 1>>>(counter);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(counter->count, 6);
  EXPECT_EQ(counter->half, 5.0);
  delete counter;
}

__managed__ int counter_variable = 40;
__managed__ float table_variable[1000];
__device__ int plain_variable = 3;
__global__ void UseVariables() {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) counter_variable += plain_variable;
  if (i < 1000) table_variable[i] = table_variable[i] * 2 + float(i);
}
CASE(managed_variables) {
  EXPECT_EQ(counter_variable, 40);
  counter_variable = 50;
  for (int i = 0; i < 1000; ++i) table_variable[i] = 0.5f;
  UseVariables<<<4, 256>>>();
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(counter_variable, 53);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(table_variable[i], 1.0f + float(i));
  // What lies beside them stays the device's.
  const int five = 5;
  CUDA_OK(cudaMemcpyToSymbol(plain_variable, &five, sizeof(five)));
  counter_variable = 1;
  UseVariables<<<4, 256>>>();
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(counter_variable, 6);
  int copy = 0;
  CUDA_OK(cudaMemcpyFromSymbol(&copy, counter_variable, sizeof(copy)));
  EXPECT_EQ(copy, 6);
  int* address = nullptr;
  CUDA_OK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), counter_variable));
  EXPECT(address == &counter_variable);
  Launch(&counter_variable, 1, 10);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(counter_variable, 60);
}

CASE(copies_and_fills) {
  constexpr int kCount = 50000;
  int* managed = Managed<int>(kCount);
  std::vector<int> host(kCount), want(kCount);
  for (int i = 0; i < kCount; ++i) host[size_t(i)] = i;
  Buffer<int> device(kCount);
  for (const cudaMemcpyKind kind : {cudaMemcpyDefault, cudaMemcpyHostToDevice, cudaMemcpyHostToHost}) {
    managed[0] = -1;
    CUDA_OK(cudaMemcpy(managed + 1, host.data(), (kCount - 1) * sizeof(int), kind));
    EXPECT_EQ(managed[0], -1);
    EXPECT_EQ(managed[kCount - 1], kCount - 2);
  }
  for (const cudaMemcpyKind kind : {cudaMemcpyDefault, cudaMemcpyHostToDevice, cudaMemcpyDeviceToDevice}) {
    managed[7] = int(kind);
    CUDA_OK(cudaMemcpy(device, managed, kCount * sizeof(int), kind));
    EXPECT_EQ(device.Get()[7], int(kind));
  }
  CUDA_OK(cudaMemset(managed + 10, 0xff, 40));
  EXPECT_EQ(managed[9], 8);
  EXPECT_EQ(managed[10], -1);
  EXPECT_EQ(managed[19], -1);
  EXPECT_EQ(managed[20], 19);
  for (const cudaMemcpyKind kind : {cudaMemcpyDefault, cudaMemcpyDeviceToHost, cudaMemcpyHostToHost}) {
    managed[3] = 100 + int(kind);
    CUDA_OK(cudaMemcpy(want.data(), managed, kCount * sizeof(int), kind));
    EXPECT_EQ(want[3], 100 + int(kind));
    EXPECT_EQ(want[15], -1);
  }
  CUDA_OK(cudaMemcpy2D(managed, 80, host.data(), 40, 40, 10, cudaMemcpyDefault));
  EXPECT_EQ(managed[20], 10);
  EXPECT_EQ(managed[29], 19);
  CUDA_OK(cudaFree(managed));
}

CASE(prefetch_and_advice) {
  constexpr int kCount = 200000;
  int* data = Managed<int>(kCount);
  cudaMemLocation device{}, host{};
  device.type = cudaMemLocationTypeDevice;
  host.type = cudaMemLocationTypeHost;
  for (int i = 0; i < kCount; ++i) data[i] = 1;
  CUDA_OK(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetPreferredLocation, device));
  CUDA_OK(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetReadMostly, device));
  CUDA_OK(cudaMemPrefetchAsync(data, kCount * sizeof(int), device, 0, nullptr));
  Launch(data, kCount, 5);
  CUDA_OK(cudaMemPrefetchAsync(data, kCount * sizeof(int), host, 0, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; i += 999) EXPECT_EQ(data[i], 5 + i);
  CUDA_OK(cudaStreamAttachMemAsync(nullptr, data, 0, cudaMemAttachHost));
  EXPECT_EQ(cudaMemPrefetchAsync(data, (kCount + 1) * sizeof(int), device, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPrefetchAsync(&host, sizeof(host), device, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  CUDA_OK(cudaFree(data));
}
// The system does not wait for the device: what it is to write out is fetched first.
CASE(system_calls_take_what_was_prefetched) {
  int* data = Managed<int>(1000);
  for (int i = 0; i < 1000; ++i) data[i] = i;
  Launch(data, 1000, 1);
  cudaMemLocation host{};
  host.type = cudaMemLocationTypeHost;
  CUDA_OK(cudaMemPrefetchAsync(data, 4000, host, 0, nullptr));
  CUDA_OK(cudaDeviceSynchronize());
  FILE* file = std::tmpfile();
  EXPECT_EQ(write(fileno(file), data, 4000), ssize_t(4000));
  data[0] = 0;  // makes the pages writable
  EXPECT_EQ(pread(fileno(file), data, 4000, 0), ssize_t(4000));
  EXPECT_EQ(data[999], 2 * 999);
  std::fclose(file);
  CUDA_OK(cudaFree(data));
}

CASE(mapped_host_memory) {
  for (const unsigned flags : {unsigned(cudaHostAllocMapped), unsigned(cudaHostAllocMapped | cudaHostAllocPortable)}) {
    int *host = nullptr, *device = nullptr;
    CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&host), 4000, flags));
    CUDA_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0));
    for (int i = 0; i < 1000; ++i) host[i] = i;
    Launch(device, 1000, 9);
    CUDA_OK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(host[i], 10 * i);
    unsigned kept = 0;
    CUDA_OK(cudaHostGetFlags(&kept, host));
    EXPECT_EQ(kept & cudaHostAllocMapped, unsigned(cudaHostAllocMapped));
    cudaPointerAttributes attributes{};
    CUDA_OK(cudaPointerGetAttributes(&attributes, host));
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT(attributes.devicePointer == device && attributes.hostPointer == host);
    EXPECT_EQ(cudaFree(host), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    CUDA_OK(cudaFreeHost(host));
  }
}
// Kernels may use pinned memory however it was allocated, by its own address too.
CASE(pinned_host_memory) {
  constexpr int kCount = 100000;
  int *asked = nullptr, *passed = nullptr, *device = nullptr;
  CUDA_OK(cudaMallocHost(reinterpret_cast<void**>(&asked), kCount * sizeof(int)));
  CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&passed), kCount * sizeof(int), cudaHostAllocDefault));
  for (int i = 0; i < kCount; ++i) asked[i] = passed[i] = i % 100;
  CUDA_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), asked + 10, 0));
  Launch(device, kCount - 10, 4);
  Launch(passed, kCount, 6);
  CUDA_OK(cudaDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(passed[i], i % 100 * 6 + i);
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(asked[i], i < 10 ? i : i % 100 * 4 + i - 10);
  // They are host memory all the same.
  Buffer<int> there(kCount);
  asked[3] = 33;
  CUDA_OK(cudaMemcpyAsync(there, asked, kCount * sizeof(int), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpyAsync(passed, there, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(passed[3], 33);
  EXPECT_EQ(passed[500], 0 * 4 + 490);
  CUDA_OK(cudaMemcpy(asked, passed + 1, 400, cudaMemcpyHostToHost));
  EXPECT_EQ(asked[2], 33);
  CUDA_OK(cudaMemset(passed, 0, 8));
  EXPECT_EQ(passed[1], 0);
  EXPECT_EQ(passed[3], 33);
  cudaPointerAttributes attributes{};
  CUDA_OK(cudaPointerGetAttributes(&attributes, asked + 10));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT(attributes.devicePointer == device && attributes.hostPointer == asked + 10);
  CUDA_OK(cudaFreeHost(asked));
  CUDA_OK(cudaFreeHost(passed));
  EXPECT_EQ(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), asked, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}
CASE(registered_host_memory) {
  const long page = sysconf(_SC_PAGESIZE);  // ARM64 has of 4, 16 and 64 KiB
  const int kCount = int((4 * 65536 + std::max(page, 8192L)) / sizeof(int));
  int *host = static_cast<int*>(std::aligned_alloc(page, kCount * sizeof(int))), *device = nullptr;
  for (int i = 0; i < kCount; ++i) host[i] = i % 10;
  CUDA_OK(cudaHostRegister(host, kCount * sizeof(int), cudaHostRegisterMapped));
  CUDA_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0));
  for (int round = 1; round <= 2; ++round) {
    Launch(device, kCount, 2);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(host[12], round == 1 ? 2 * 2 + 12 : 16 * 2 + 12);
  }
  // It is the program's as before, with what the kernels made of it.
  Launch(device, kCount, 0);
  CUDA_OK(cudaHostUnregister(host));
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(host[i], i);
  EXPECT_EQ(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaGetLastError(), cudaErrorHostMemoryNotRegistered);
  std::free(host);
}
CASE(attributes) {
  int managed = 0, mapped = 0;
  CUDA_OK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
  CUDA_OK(cudaDeviceGetAttribute(&mapped, cudaDevAttrCanMapHostMemory, 0));
  EXPECT_EQ(managed, 1);
  EXPECT_EQ(mapped, 1);
  cudaDeviceProp properties{};
  CUDA_OK(cudaGetDeviceProperties(&properties, 0));
  EXPECT_EQ(properties.managedMemory, 1);
  EXPECT_EQ(properties.canMapHostMemory, 1);
  int* data = Managed<int>(100);
  cudaPointerAttributes attributes{};
  CUDA_OK(cudaPointerGetAttributes(&attributes, data + 50));
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT(attributes.devicePointer == data + 50 && attributes.hostPointer == data + 50);
  CUDA_OK(cudaFree(data));
  CUDA_OK(cudaPointerGetAttributes(&attributes, data));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  int* none = data;
  CUDA_OK(cudaMallocManaged(&none, 0));
  EXPECT(none == nullptr);
  EXPECT_EQ(cudaMallocManaged(&none, 4, 77), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}
CASE(driver_calls) {
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  CUDA_OK(cudaSetDevice(0));
  EXPECT_EQ(cuMemAllocManaged(&pointer, 4000, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  int* const data = reinterpret_cast<int*>(pointer);
  for (int i = 0; i < 1000; ++i) data[i] = -i;
  CUmemLocation device{};
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_EQ(cuMemPrefetchAsync(pointer, 4000, device, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAdvise(pointer, 4000, CU_MEM_ADVISE_SET_ACCESSED_BY, device), CUDA_SUCCESS);
  Launch(data, 1000, 2);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(data[i], -i);
  unsigned managed = 0;
  EXPECT_EQ(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, pointer), CUDA_SUCCESS);
  EXPECT_EQ(managed, 1u);
  EXPECT_EQ(cuMemFree(pointer), CUDA_SUCCESS);
}

// Threads that share nothing but the device.
CASE(threads) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&wrong, thread] {
      constexpr int kCount = 5000;
      cudaStream_t stream;
      int* data = nullptr;
      if (cudaStreamCreate(&stream) != cudaSuccess || cudaMallocManaged(&data, kCount * sizeof(int)) != cudaSuccess) {
        ++wrong;
        return;
      }
      for (int round = 1; round <= 10; ++round) {
        for (int i = 0; i < kCount; ++i) data[i] = round * thread;
        Scale<<<20, 256, 0, stream>>>(data, kCount, 2);
        if (cudaStreamSynchronize(stream) != cudaSuccess) ++wrong;
        for (int i = 0; i < kCount; ++i) wrong += data[i] != round * thread * 2 + i;
      }
      cudaFree(data);
      cudaStreamDestroy(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(int(wrong), 0);
}
CASE(a_pending_error_is_not_lost_by_looking) {
  int* data = Managed<int>(10);
  data[0] = 1;
  Launch(data, 10, 2);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(data[0], 2);
  Scale<<<1, 100000>>>(data, 10, 2);
  EXPECT_EQ(data[0], 2);
  EXPECT_EQ(cudaGetLastError(), CUDART_VERSION < 13000 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue);
  CUDA_OK(cudaFree(data));
}
CASE(large_and_thinly_used) {
  constexpr size_t kBytes = size_t(700) << 20;
  char* data = Managed<char>(kBytes);
  for (size_t i = 0; i < kBytes; i += kBytes / 10) data[i] = char(i / (kBytes / 10) + 1);
  int* numbers = reinterpret_cast<int*>(data + kBytes - 4096);
  numbers[0] = 4;
  Launch(numbers, 1000, 3);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(numbers[0], 12);
  for (size_t i = 0; i + 4096 < kBytes; i += kBytes / 10) EXPECT_EQ(int(data[i]), int(i / (kBytes / 10) + 1));
  CUDA_OK(cudaFree(data));
}
CASE(memory_comes_back_fresh) {
  for (int i = 0; i < 20; ++i) {
    int* data = Managed<int>(1 << 20);
    Launch(data, 100, 1);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(data[99], 99);
    CUDA_OK(cudaFree(data));
  }
}
// Streams that do not wait for the legacy one, too: one that was there, and one that is made between.
CASE(what_was_written_is_there_on_every_stream) {
  constexpr int kCount = 4 << 20;
  int* data = Managed<int>(kCount);
  cudaStream_t early, late;
  CUDA_OK(cudaStreamCreateWithFlags(&early, cudaStreamNonBlocking));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCount; ++i) data[i] = round;
    Scale<<<(kCount + 255) / 256, 256, 0, early>>>(data, kCount, 2);
    CUDA_OK(cudaStreamSynchronize(early));
    CUDA_OK(cudaStreamCreateWithFlags(&late, cudaStreamNonBlocking));
    Scale<<<(kCount + 255) / 256, 256, 0, late>>>(data, kCount, 2);
    CUDA_OK(cudaStreamSynchronize(late));
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) wrong += data[i] != 4 * round + 3 * i;
    EXPECT_EQ(wrong, 0);
    CUDA_OK(cudaStreamDestroy(late));
  }
  CUDA_OK(cudaStreamDestroy(early));
  CUDA_OK(cudaFree(data));
}

// A module's __managed__ variables are the program's by the address that the driver gives, as long as it is loaded.
CASE(variables_of_modules_that_the_driver_loads) {
  const char* const text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 count = 10;
.visible .global .align 4 .u32 plain = 3;
.visible .entry add(.param .u64 out) {
  .reg .b32 %r<3>; .reg .b64 %p;
  ld.global.u32 %r0, [count];
  ld.global.u32 %r1, [plain];
  add.u32 %r2, %r0, %r1;
  st.global.u32 [count], %r2;
  ld.param.u64 %p, [out];
  st.u32 [%p], %r0;
  ret;
})";
  unsigned* seen = Managed<unsigned>(1);
  for (unsigned round = 0; round < 2; ++round) {  // what the first one had is not the second one's
    CUmodule module;
    CUfunction add;
    CUdeviceptr count, plain;
    size_t size = 0;
    CU_OK(cuModuleLoadData(&module, text));
    CU_OK(cuModuleGetFunction(&add, module, "add"));
    CU_OK(cuModuleGetGlobal(&count, &size, module, "count"));
    EXPECT_EQ(size, sizeof(unsigned));
    CU_OK(cuModuleGetGlobal(&plain, &size, module, "plain"));
    int is_managed = 0;
    CU_OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, count));
    EXPECT_EQ(is_managed, 1);
    CU_OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, plain));
    EXPECT_EQ(is_managed, 0);
    auto* const here = reinterpret_cast<volatile unsigned*>(count);
    EXPECT_EQ(*here, 10u);
    *here += 5 + round;
    void* arguments[] = {&seen};
    CU_OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    CU_OK(cuCtxSynchronize());
    EXPECT_EQ(*seen, 15 + round);
    EXPECT_EQ(*here, 18 + round);
    CU_OK(cuModuleUnload(module));
  }
  CUDA_OK(cudaFree(seen));
}
