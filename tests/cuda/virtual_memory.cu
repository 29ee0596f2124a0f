// The driver's virtual memory management: addresses that are reserved, physical memory that is mapped there, and what
// makes no sense of it.
#include <cuda.h>

#include "tests/cuda/harness.h"

namespace {

constexpr size_t kMiB = 1 << 20;

CUmemAllocationProp OnDevice() {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = 0;
  return properties;
}

// Sizes are part of no hash.
size_t Unit() {
  const CUmemAllocationProp properties = OnDevice();
  size_t unit = 0;
  EXPECT_EQ(int(cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)), 0);
  return unit == 0 ? 2 * kMiB : unit;
}

CUmemGenericAllocationHandle Create(size_t size) {
  const CUmemAllocationProp properties = OnDevice();
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(int(cuMemCreate(&handle, size, &properties, 0)), 0);
  return handle;
}

CUdeviceptr Reserve(size_t size) {
  CUdeviceptr address = 0;
  EXPECT_EQ(int(cuMemAddressReserve(&address, size, 0, 0, 0)), 0);
  return address;
}

CUresult Open(CUdeviceptr address, size_t size) {
  CUmemAccessDesc access = {};
  access.location = OnDevice().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return cuMemSetAccess(address, size, &access, 1);
}

__global__ void Fill(unsigned* data, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    data[i] = unsigned(i) ^ seed;
}
__global__ void Add(const unsigned* a, const unsigned* b, unsigned* c, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}

template <class T>
T* At(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

// Of the words the first thousand are part of the hash: how many there are depends on the device.
void ExpectFilled(CUdeviceptr address, size_t n, unsigned seed) {
  std::vector<unsigned> words(n);
  CUDA_OK(cudaMemcpy(words.data(), At<void>(address), n * 4, cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < n; ++i)
    if (words[i] != (unsigned(i) ^ seed)) return harness::Fail(__FILE__, __LINE__, "word " + std::to_string(i));
  harness::Hash(words.data(), std::min<size_t>(n, 1000) * 4);
}

}  // namespace

CASE(attributes) {
  int value = 0;
  CUDA_OK(cudaFree(nullptr));
  EXPECT_EQ(int(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0)), 0);
  EXPECT_EQ(value, 1);
  const CUmemAllocationProp properties = OnDevice();
  size_t least = 0, best = 0;
  EXPECT_EQ(int(cuMemGetAllocationGranularity(&least, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM)), 0);
  EXPECT_EQ(int(cuMemGetAllocationGranularity(&best, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)), 0);
  EXPECT(least != 0 && (least & (least - 1)) == 0 && best % least == 0);
}

// As NVIDIA's vectorAddMMAP does: handles are given back as soon as they are mapped.
CASE(vector_add) {
  const size_t unit = Unit(), n = 50'000;
  CUdeviceptr address[3];
  for (CUdeviceptr& one : address) {
    one = Reserve(unit);
    const CUmemGenericAllocationHandle handle = Create(unit);
    EXPECT_EQ(int(cuMemMap(one, unit, 0, handle, 0)), 0);
    EXPECT_EQ(int(cuMemRelease(handle)), 0);
    EXPECT_EQ(int(Open(one, unit)), 0);
  }
  Fill<<<8, 128>>>(At<unsigned>(address[0]), n, 7);
  Fill<<<8, 128>>>(At<unsigned>(address[1]), n, 99);
  Add<<<8, 128>>>(At<unsigned>(address[0]), At<unsigned>(address[1]), At<unsigned>(address[2]), n);
  std::vector<unsigned> sum(n), expected(n);
  for (size_t i = 0; i < n; ++i) expected[i] = (unsigned(i) ^ 7) + (unsigned(i) ^ 99);
  CUDA_OK(cudaMemcpy(sum.data(), At<void>(address[2]), n * 4, cudaMemcpyDeviceToHost));
  EXPECT_SAME(sum, expected);
  for (const CUdeviceptr one : address) {
    EXPECT_EQ(int(cuMemUnmap(one, unit)), 0);
    EXPECT_EQ(int(cuMemAddressFree(one, unit)), 0);
  }
}

// As PyTorch's expandable segments do: one large reservation, physical memory behind it piece by piece, arrays that
// cross the seams, and pieces that go and come back.
CASE(expandable_segment) {
  const size_t unit = Unit(), pieces = 6, words = unit / 4;
  const CUdeviceptr segment = Reserve(64 * unit);
  CUmemGenericAllocationHandle handles[pieces];
  const auto grow = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; ++i) {
      handles[i] = Create(unit);
      EXPECT_EQ(int(cuMemMap(segment + i * unit, unit, 0, handles[i], 0)), 0);
    }
    EXPECT_EQ(int(Open(segment + first * unit, (end - first) * unit)), 0);
  };
  const auto shrink = [&](size_t first, size_t end) {
    CUDA_OK(cudaDeviceSynchronize());
    for (size_t i = first; i < end; ++i) {
      EXPECT_EQ(int(cuMemUnmap(segment + i * unit, unit)), 0);
      EXPECT_EQ(int(cuMemRelease(handles[i])), 0);
    }
  };
  grow(0, 2);
  Fill<<<8, 256>>>(At<unsigned>(segment), 2 * words, 1);
  ExpectFilled(segment, 2 * words, 1);
  grow(2, pieces);
  ExpectFilled(segment, 2 * words, 1);
  // The same again and again, which `replay` predicts: kernels, fills and copies over seams.
  const size_t n = 4 * words;
  const CUdeviceptr middle = segment + unit + 4096;
  for (unsigned round = 0; round < 8; ++round) {
    Fill<<<8, 256>>>(At<unsigned>(middle), n, 5);
    ExpectFilled(middle, n, 5);
    CUDA_OK(cudaMemset(At<void>(middle), 0, n * 4));
    CUDA_OK(cudaMemcpy(At<void>(segment), At<void>(middle), 2 * unit, cudaMemcpyDeviceToDevice));
    std::vector<unsigned> zeros(2 * words, 1);
    CUDA_OK(cudaMemcpy(zeros.data(), At<void>(segment), 2 * unit, cudaMemcpyDeviceToHost));
    EXPECT(std::all_of(zeros.begin(), zeros.end(), [](unsigned word) { return word == 0; }));
  }
  shrink(2, 4);
  Fill<<<8, 256>>>(At<unsigned>(segment + 4 * unit), 2 * words, 3);
  grow(2, 4);
  Fill<<<8, 256>>>(At<unsigned>(segment + unit), 2 * words, 9);
  ExpectFilled(segment + 4 * unit, 2 * words, 3);
  ExpectFilled(segment + unit, 2 * words, 9);
  shrink(0, pieces);
  EXPECT_EQ(int(cuMemAddressFree(segment, 64 * unit)), 0);
}

CASE(content_lasts_as_long_as_the_handle) {
  const size_t unit = Unit(), words = unit / 4;
  const CUdeviceptr range = Reserve(4 * unit);
  const CUmemGenericAllocationHandle first = Create(unit), second = Create(unit);
  EXPECT_EQ(int(cuMemMap(range, unit, 0, first, 0)), 0);
  EXPECT_EQ(int(Open(range, unit)), 0);
  Fill<<<8, 256>>>(At<unsigned>(range), words, 11);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(int(cuMemUnmap(range, unit)), 0);
  EXPECT_EQ(int(cuMemMap(range, unit, 0, second, 0)), 0);
  EXPECT_EQ(int(cuMemMap(range + unit, unit, 0, first, 0)), 0);
  EXPECT_EQ(int(Open(range, 2 * unit)), 0);
  Fill<<<8, 256>>>(At<unsigned>(range), words, 22);
  ExpectFilled(range + unit, words, 11);
  ExpectFilled(range, words, 22);
  EXPECT_EQ(int(cuMemUnmap(range, 2 * unit)), 0);
  EXPECT_EQ(int(cuMemAddressFree(range, 4 * unit)), 0);
  const CUdeviceptr other = Reserve(2 * unit);
  EXPECT_EQ(int(cuMemMap(other, unit, 0, second, 0)), 0);
  EXPECT_EQ(int(cuMemMap(other + unit, unit, 0, first, 0)), 0);
  EXPECT_EQ(int(Open(other, 2 * unit)), 0);
  ExpectFilled(other, words, 22);
  ExpectFilled(other + unit, words, 11);
  EXPECT_EQ(int(cuMemRelease(first)), 0);
  EXPECT_EQ(int(cuMemRelease(second)), 0);
  EXPECT_EQ(int(cuMemUnmap(other, 2 * unit)), 0);
  EXPECT_EQ(int(cuMemAddressFree(other, 2 * unit)), 0);
}

CASE(handles_and_queries) {
  const size_t unit = Unit();
  const CUdeviceptr range = Reserve(2 * unit);
  const CUmemGenericAllocationHandle handle = Create(2 * unit);
  CUmemAllocationProp properties = {};
  EXPECT_EQ(int(cuMemGetAllocationPropertiesFromHandle(&properties, handle)), 0);
  EXPECT_EQ(int(properties.type), int(CU_MEM_ALLOCATION_TYPE_PINNED));
  EXPECT_EQ(int(properties.location.type), int(CU_MEM_LOCATION_TYPE_DEVICE));
  EXPECT_EQ(int(cuMemMap(range, 2 * unit, 0, handle, 0)), 0);
  unsigned long long flags = 99;
  const CUmemLocation here = OnDevice().location;
  EXPECT_EQ(int(cuMemGetAccess(&flags, &here, range)), 0);
  EXPECT_EQ(int(flags), int(CU_MEM_ACCESS_FLAGS_PROT_NONE));
  EXPECT_EQ(int(Open(range, 2 * unit)), 0);
  EXPECT_EQ(int(cuMemGetAccess(&flags, &here, range + unit)), 0);
  EXPECT_EQ(int(flags), int(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  CUmemGenericAllocationHandle again = 0;
  EXPECT_EQ(int(cuMemRetainAllocationHandle(&again, At<void>(range + unit + 5))), 0);
  EXPECT(again == handle);
  cudaPointerAttributes attributes = {};
  CUDA_OK(cudaPointerGetAttributes(&attributes, At<void>(range + 100)));
  EXPECT_EQ(int(attributes.type), int(cudaMemoryTypeDevice));
  EXPECT_EQ(cudaFree(At<void>(range)), cudaErrorInvalidValue);
  (void)cudaGetLastError();
  EXPECT_EQ(int(cuMemRelease(handle)), 0);
  EXPECT_EQ(int(cuMemRelease(handle)), 0);
  EXPECT_EQ(int(cuMemRelease(handle)), int(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(int(cuMemUnmap(range, 2 * unit)), 0);
  EXPECT_EQ(int(cuMemGetAccess(&flags, &here, range)), int(CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(int(cuMemAddressFree(range, 2 * unit)), 0);
}

CASE(memory_is_counted) {
  const size_t unit = Unit();
  size_t before = 0, during = 0, after = 0, total = 0;
  CUDA_OK(cudaMemGetInfo(&before, &total));
  const CUdeviceptr range = Reserve(unit);
  const CUmemGenericAllocationHandle handle = Create(unit);
  CUDA_OK(cudaMemGetInfo(&during, &total));
  EXPECT(during <= before - unit);
  EXPECT_EQ(int(cuMemRelease(handle)), 0);
  CUDA_OK(cudaMemGetInfo(&after, &total));
  EXPECT(after >= during + unit);
  CUmemGenericAllocationHandle none = 0;
  const CUmemAllocationProp properties = OnDevice();
  EXPECT_EQ(int(cuMemCreate(&none, total / unit * unit + unit, &properties, 0)), int(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(int(cuMemAddressFree(range, unit)), 0);
}

CASE(what_makes_no_sense) {
  const int invalid = CUDA_ERROR_INVALID_VALUE;
  const size_t unit = Unit(), huge = ~size_t{0} / unit * unit;
  const CUdeviceptr range = Reserve(4 * unit);
  const CUmemGenericAllocationHandle handle = Create(unit), other = Create(unit);
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle made = 0;
  CUmemAllocationProp properties = OnDevice();
  EXPECT_EQ(int(cuMemAddressReserve(&address, 0, 0, 0, 0)), invalid);
  EXPECT_EQ(int(cuMemAddressReserve(&address, unit + 1, 0, 0, 0)), invalid);
  EXPECT_EQ(int(cuMemAddressReserve(nullptr, unit, 0, 0, 0)), invalid);
  EXPECT(cuMemAddressReserve(&address, huge, 0, 0, 0) != CUDA_SUCCESS);
  EXPECT_EQ(int(cuMemCreate(&made, unit + 1, &properties, 0)), invalid);
  EXPECT_EQ(int(cuMemCreate(&made, unit, nullptr, 0)), invalid);
  EXPECT(cuMemCreate(&made, huge, &properties, 0) != CUDA_SUCCESS);
  properties.location.id = 77;
  EXPECT(cuMemCreate(&made, unit, &properties, 0) != CUDA_SUCCESS);
  EXPECT_EQ(int(cuMemMap(range, unit, 0, 0, 0)), invalid);
  EXPECT_EQ(int(cuMemMap(range + 4 * unit, unit, 0, handle, 0)), invalid);
  EXPECT_EQ(int(cuMemMap(range + 1, unit, 0, handle, 0)), invalid);
  EXPECT_EQ(int(cuMemMap(range, 2 * unit, 0, handle, 0)), int(CUDA_ERROR_NOT_SUPPORTED));
  EXPECT_EQ(int(cuMemMap(huge, unit, 0, handle, 0)), invalid);
  EXPECT_EQ(int(cuMemMap(range, huge, 0, handle, 0)), int(CUDA_ERROR_NOT_SUPPORTED));
  EXPECT_EQ(int(cuMemMap(range, unit, 0, handle, 0)), 0);
  EXPECT_EQ(int(cuMemMap(range, unit, 0, other, 0)), invalid);
  EXPECT_EQ(int(Open(range, 2 * unit)), invalid);
  EXPECT_EQ(int(Open(range + unit, unit)), invalid);
  EXPECT_EQ(int(Open(range, huge)), invalid);
  EXPECT_EQ(int(cuMemSetAccess(range, unit, nullptr, 1)), invalid);
  EXPECT_EQ(int(cuMemUnmap(range, 2 * unit)), 0);  // of what is mapped there
  EXPECT_EQ(int(cuMemUnmap(range, unit)), 0);      // nothing
  EXPECT_EQ(int(cuMemAddressFree(range, 4 * unit)), 0);
  EXPECT_EQ(int(cuMemUnmap(range, unit)), invalid);
  EXPECT_EQ(int(cuMemAddressFree(range, 4 * unit)), invalid);
  EXPECT_EQ(int(cuMemRetainAllocationHandle(&made, At<void>(range))), invalid);
  EXPECT_EQ(int(cuMemRelease(handle)), 0);
  EXPECT_EQ(int(cuMemRelease(other)), 0);
  EXPECT_EQ(int(cuMemRelease(other)), invalid);
}

CHILD(without_access) {
  CUDA_OK(cudaFree(nullptr));  // a driver's functions want it begun
  const size_t unit = Unit();
  const CUdeviceptr range = Reserve(unit);
  EXPECT_EQ(int(cuMemMap(range, unit, 0, Create(unit), 0)), 0);
  Fill<<<1, 32>>>(At<unsigned>(range), 32, 1);
  const cudaError_t error = cudaDeviceSynchronize();
  EXPECT(error != cudaSuccess);
  std::printf("a kernel ended with %s\n", cudaGetErrorName(error));
}

// Which error it is, no page says.
CASE(access_is_asked_for_first) {
  const harness::ChildResult child = harness::RunChild("without_access");
  EXPECT_EQ(child.status, 0);
  if (child.status != 0) std::fputs(child.output.c_str(), stderr);
}
