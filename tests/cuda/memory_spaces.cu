// Global, constant, shared and local memory: initialisers, symbols, vector accesses, generic addresses, cache hints.
#include "tests/cuda/harness.h"

using u8 = unsigned char;
using u32 = uint32_t;
using u64 = unsigned long long;

__constant__ int constant_numbers[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__constant__ float constant_float = 2.5f;
__constant__ struct {
  char c;
  double d;
  short s[2];
} constant_struct = {'x', 1e100, {-1, 300}};
__constant__ u8 constant_text[] = "constant memory";
__device__ int global_numbers[4][3] = {{1, 2, 3}, {4, 5, 6}, {7}};
__device__ double global_double = -0.125;
__device__ u8 zeroed[1000];
__device__ int target_number = 77;
__device__ int* pointer_to_number = &target_number;
__device__ const int* pointer_into_array = &global_numbers[1][2];
__device__ u64 wide_numbers[2] = {0x123456789ABCDEFull, ~0ull};
__device__ float4 aligned_vector = {1, 2, 3, 4};
static __device__ int file_local = 5;

__global__ void ReadInitialised(double* out) {
  out[0] = 0, out[1] = 0;
  for (int i = 0; i < 8; ++i) out[0] = out[0] * 3 + constant_numbers[i];
  for (int i = 0; i < 12; ++i) out[1] = out[1] * 2 + global_numbers[i / 3][i % 3];
  out[2] = constant_float, out[3] = constant_struct.d,
  out[4] = constant_struct.c + constant_struct.s[1] + constant_struct.s[0];
  out[5] = global_double, out[6] = *pointer_to_number, out[7] = *pointer_into_array;
  out[8] = double(wide_numbers[0] >> 8), out[9] = double(wide_numbers[1] & 0xFF), out[10] = aligned_vector.z,
  out[11] = file_local;
  int zeros = 0, text = 0;
  for (int i = 0; i < 1000; ++i) zeros += zeroed[i];
  for (int i = 0; constant_text[i]; ++i) text += constant_text[i];
  out[12] = zeros, out[13] = text;
}
CASE(initialised_variables) {
  Buffer<double> out(14);
  ReadInitialised<<<1, 1>>>(out);
  double a = 0, b = 0;
  const int numbers[8] = {1, -2, 3, -4, 5, -6, 7, -8}, grid[12] = {1, 2, 3, 4, 5, 6, 7};
  for (int v : numbers) a = a * 3 + v;
  for (int v : grid) b = b * 2 + v;
  int text = 0;
  for (const char* p = "constant memory"; *p; ++p) text += *p;
  EXPECT_SAME(out.Get(), (std::vector<double>{a, b, 2.5, 1e100, 'x' + 299.0, -0.125, 77, 6,
                                              double(0x123456789ABCDEFull >> 8), 255, 3, 5, 0, double(text)}));
}

__constant__ float table[256];
__device__ int counters[16];
__global__ void UseSymbols(float* out) {
  out[threadIdx.x] = table[threadIdx.x] + table[255 - threadIdx.x];
  atomicAdd(&counters[threadIdx.x % 16], int(threadIdx.x));
}
CASE(symbols_written_and_read) {
  std::vector<float> values(256), want(256);
  for (int i = 0; i < 256; ++i) values[i] = float(i * i);
  for (int i = 0; i < 256; ++i) want[i] = values[i] + values[255 - i];
  CUDA_OK(cudaMemcpyToSymbol(table, values.data(), 128 * sizeof(float)));
  CUDA_OK(cudaMemcpyToSymbol(table, values.data() + 128, 128 * sizeof(float), 128 * sizeof(float)));
  Buffer<float> out(256);
  UseSymbols<<<1, 256>>>(out);
  EXPECT_SAME(out.Get(), want);
  int got[16], sum = 0;
  CUDA_OK(cudaMemcpyFromSymbol(got, counters, sizeof(got)));
  for (int v : got) sum += v;
  EXPECT_EQ(sum, 255 * 128);
  void* address = nullptr;
  size_t size = 0;
  CUDA_OK(cudaGetSymbolAddress(&address, counters));
  CUDA_OK(cudaGetSymbolSize(&size, counters));
  EXPECT_EQ(size, sizeof(counters));
  CUDA_OK(cudaMemset(address, 0, size));
  CUDA_OK(cudaMemcpyFromSymbol(got, counters, sizeof(got)));
  EXPECT_EQ(got[7], 0);
}

__global__ void LocalArrays(const u32* in, u32* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32 values[40];
  u8 bytes[64];
  for (int k = 0; k < 40; ++k) values[k] = in[i] * k;
  for (int k = 0; k < 64; ++k) bytes[k] = u8(in[i] >> (k % 24));
  u32 sum = 0;
  for (int k = 0; k < 100; ++k) {
    const u32 index = (in[i] + k * 7) % 40;
    values[index] += bytes[(k * in[i]) % 64];
    sum += values[(index * 3) % 40];
  }
  u64* overlay = reinterpret_cast<u64*>(&values[2]);
  out[i] = sum ^ u32(overlay[1] >> 32) ^ values[3];
}
CASE(local_arrays) {
  std::vector<u32> in(100), want;
  for (u32 i = 0; i < 100; ++i) in[i] = i * 2654435761u >> 7;
  Buffer<u32> device(in), out(100);
  LocalArrays<<<2, 64>>>(device, out, 100);
  for (u32 x : in) {
    u32 values[40], sum = 0;
    u8 bytes[64];
    for (u32 k = 0; k < 40; ++k) values[k] = x * k;
    for (u32 k = 0; k < 64; ++k) bytes[k] = u8(x >> (k % 24));
    for (u32 k = 0; k < 100; ++k) {
      const u32 index = (x + k * 7) % 40;
      values[index] += bytes[(k * x) % 64];
      sum += values[(index * 3) % 40];
    }
    want.push_back(sum ^ values[5] ^ values[3]);
  }
  EXPECT_SAME(out.Get(), want);
}

template <class V>
__global__ void Swap(const V* in, V* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[n - 1 - i] = in[i];
}
template <class V>
static void CheckVector() {
  constexpr int kN = 100;
  std::vector<V> in(kN), want(kN);
  for (size_t i = 0; i < kN * sizeof(V); ++i) reinterpret_cast<u8*>(in.data())[i] = u8(i * 13 + 7);
  for (int i = 0; i < kN; ++i) want[kN - 1 - i] = in[i];
  Buffer<V> device(in), out(kN);
  Swap<V><<<2, 64>>>(device, out, kN);
  EXPECT_SAME(out.Get(), want);
}
CASE(vectors_of_8_and_16_bits) {
  CheckVector<char2>(), CheckVector<uchar4>(), CheckVector<short2>(), CheckVector<ushort4>(), CheckVector<char3>();
}
CASE(vectors_of_32_bits) { CheckVector<int2>(), CheckVector<uint4>(), CheckVector<float3>(), CheckVector<float4>(); }
CASE(vectors_of_64_bits) {
  CheckVector<double2>(), CheckVector<longlong2>(), CheckVector<ulonglong2>(), CheckVector<double3>();
}

__global__ void Hints(const float* in, const int4* vectors, float* out, int* out2) {
  const int t = int(threadIdx.x);
  float v = __ldg(in + t) + __ldcg(in + t) * 2 + __ldca(in + t) * 3 + __ldcs(in + t) * 4 + __ldlu(in + t) * 5 +
            __ldcv(in + t) * 6;
  float w;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(w) : "l"(in + t));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + t));
  __stcs(out + t, v + w), __stcg(out + 32 + t, v), __stwt(out + 64 + t, w), __stwb(out + 96 + t, -v);
  const int4 q = __ldg(vectors + t);
  out2[t] = q.x + q.y * 10 + q.z * 100 + q.w * 1000;
}
CASE(cache_hints) {
  std::vector<float> in(32), want(128);
  std::vector<int4> vectors(32);
  std::vector<int> want2(32);
  for (int i = 0; i < 32; ++i) {
    in[i] = float(i) + 0.5f, want[i] = in[i] * 22, want[32 + i] = in[i] * 21, want[64 + i] = in[i],
    want[96 + i] = in[i] * -21;
    vectors[i] = make_int4(i, i + 1, i + 2, i + 3), want2[i] = i + (i + 1) * 10 + (i + 2) * 100 + (i + 3) * 1000;
  }
  Buffer<float> device(in), out(128);
  Buffer<int4> device2(vectors);
  Buffer<int> out2(32);
  Hints<<<1, 32>>>(device, device2, out, out2);
  EXPECT_SAME(out.Get(), want);
  EXPECT_SAME(out2.Get(), want2);
}

// One pointer, four spaces.
__constant__ int constant_cell = 1000;
__device__ int global_cell = 200;
__device__ __noinline__ int Load(const int* p) { return *p; }
__global__ void GenericAddresses(int* out, u32* spaces) {
  __shared__ int shared_cell;
  int local_cell = 4 + int(threadIdx.x);
  if (threadIdx.x == 0) shared_cell = 30;
  __syncthreads();
  const int* cells[4] = {&constant_cell, &global_cell, &shared_cell, &local_cell};
  out[threadIdx.x] = Load(cells[threadIdx.x % 4]) + Load(cells[(threadIdx.x + 1) % 4]);
  spaces[threadIdx.x] = __isConstant(&constant_cell) | __isGlobal(&global_cell) << 1 | __isShared(&shared_cell) << 2 |
                        __isLocal(&local_cell) << 3 | __isGlobal(&shared_cell) << 4 | __isShared(&local_cell) << 5;
}
CASE(generic_addresses) {
  Buffer<int> out(8);
  Buffer<u32> spaces(8);
  GenericAddresses<<<1, 8>>>(out, spaces);
  std::vector<int> want;
  for (int t = 0; t < 8; ++t) {
    const int cells[4] = {1000, 200, 30, 4 + t};
    want.push_back(cells[t % 4] + cells[(t + 1) % 4]);
  }
  EXPECT_SAME(out.Get(), want);
  EXPECT_SAME(spaces.Get(), std::vector<u32>(8, 15));
}
__global__ void SharedAddresses(int* out) {
  __shared__ int cells[64];
  const u32 base = u32(__cvta_generic_to_shared(cells));
  asm volatile("st.shared.s32 [%0+4], %1;" ::"r"(base + 8 * threadIdx.x), "r"(int(threadIdx.x) * 11) : "memory");
  __syncthreads();
  asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(base + 8 * ((threadIdx.x + 1) % 32)), "r"(5),
               "r"(int(threadIdx.x))
               : "memory");
  __syncthreads();
  int a, b;
  asm volatile("ld.shared.v2.s32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(base + 8 * threadIdx.x));
  out[threadIdx.x] = a * 100 + b;
}
CASE(shared_addresses_in_assembly) {
  Buffer<int> out(32);
  SharedAddresses<<<1, 32>>>(out);
  std::vector<int> want;
  for (int t = 0; t < 32; ++t) want.push_back(500 + (t + 31) % 32);
  EXPECT_SAME(out.Get(), want);
}

struct __attribute__((packed)) Packed {
  char tag;
  char bytes[6];
};
__global__ void Bytes(const u8* in, u8* out, Packed p, int n) {
  const int i = int(threadIdx.x);
  u8 buffer[16];
  memcpy(buffer, in + i, 13);
  memset(buffer + 13, p.bytes[i % 6], 3);
  for (int k = 10; k >= 2; --k) buffer[k] = buffer[k - 2];
  u32 sum = u32(p.tag);
  for (int k = 0; k < 16; ++k) sum = sum * 5 + buffer[k];
  if (i < n) out[i] = u8(sum >> 3);
}
CASE(bytes_copied_in_kernels) {
  std::vector<u8> in(64), want;
  for (int i = 0; i < 64; ++i) in[i] = u8(i * 37);
  const Packed packed = {3, {9, 8, 7, 6, 5, 4}};
  Buffer<u8> device(in), out(40);
  Bytes<<<1, 40>>>(device, out, packed, 40);
  for (int i = 0; i < 40; ++i) {
    u8 buffer[16];
    std::memcpy(buffer, &in[i], 13);
    std::memset(buffer + 13, packed.bytes[i % 6], 3);
    std::memmove(buffer + 2, buffer, 9);
    u32 sum = 3;
    for (u8 b : buffer) sum = sum * 5 + b;
    want.push_back(u8(sum >> 3));
  }
  EXPECT_SAME(out.Get(), want);
}

__global__ void HeapAllocations(int* out) {
  int* mine = static_cast<int*>(malloc(64 * sizeof(int)));
  if (!mine) {
    out[threadIdx.x] = -1;
    return;
  }
  for (int i = 0; i < 64; ++i) mine[i] = i * int(threadIdx.x);
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += mine[i];
  free(mine);
  int* object = new int[3]{1, 2, int(threadIdx.x)};
  sum += object[2];
  delete[] object;
  out[threadIdx.x] = sum;
}
CASE(device_heap) {
  Buffer<int> out(64);
  HeapAllocations<<<1, 64>>>(out);
  std::vector<int> want;
  for (int t = 0; t < 64; ++t) want.push_back(2016 * t + t);
  EXPECT_SAME(out.Get(), want);
}
// As many pieces as there are, each in the one before it. `out`: whether there is none in the end, and how many are
// again when all were given back.
__global__ void ExhaustHeap(int* out) {
  int counts[2] = {0, 0};
  for (int& count : counts) {
    void** last = nullptr;
    for (void** piece; count < 10000 && (piece = static_cast<void**>(malloc(1 << 20))) != nullptr; ++count) {
      *piece = last;
      last = piece;
    }
    while (last != nullptr) {
      void** const before = static_cast<void**>(*last);
      free(last);
      last = before;
    }
  }
  out[0] = counts[0] > 0 && counts[0] < 10000;
  out[1] = counts[1] - counts[0];
}
CASE(device_heap_has_an_end) {
  Buffer<int> out(2);
  ExhaustHeap<<<1, 1>>>(out);
  EXPECT_SAME(out.Get(), std::vector<int>({1, 0}));
}
__global__ void SpecialRegisters(u32* out) {
  u32 ntid, nctaid, warpid, nwarp, smid;
  u64 clock, timer;
  asm volatile("mov.u32 %0, %%ntid.y;" : "=r"(ntid));
  asm volatile("mov.u32 %0, %%nctaid.z;" : "=r"(nctaid));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warpid));
  asm volatile("mov.u32 %0, %%nwarpid;" : "=r"(nwarp));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(smid));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
  const u64 later = clock64();
  out[threadIdx.x + blockDim.x * threadIdx.y] =
      ntid * 100 + nctaid * 10 + (warpid < nwarp) + 2 * (later >= clock) + 4 * (timer > 0) + (smid > 100000);
}
CASE(special_registers) {
  Buffer<u32> out(64);
  SpecialRegisters<<<dim3(1, 1, 3), dim3(32, 2)>>>(out);
  EXPECT_SAME(out.Get(), std::vector<u32>(64, 237));
}
