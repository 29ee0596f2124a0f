// What a pack has to find: kernels and variables that are local to the file, templates, functions that are not inlined.
#include "tests/cuda/harness.h"

namespace {

__device__ int hidden_calls = 40;
__constant__ float hidden_weights[3] = {0.5f, 2, -1};

struct Sized {
  char letter;
  double number;
  short list[5];
};
struct Empty {};

__global__ void Hidden(float* to, Empty, short last) {
  to[threadIdx.x] = hidden_weights[threadIdx.x % 3] * float(last + int(threadIdx.x));
  atomicAdd(&hidden_calls, 1);
}

template <typename T, int N>
struct Scale {
  T by;
  __device__ T operator()(T value) const { return value * by + N; }
};

}  // namespace

template <typename T, typename Function>
__global__ void Apply(T* to, Sized sized, Function function) {
  to[threadIdx.x] = function(T(threadIdx.x)) + T(sized.number) + T(sized.list[4]) + T(sized.letter);
}

static __global__ void FileLocal(int* to) { to[threadIdx.x] = int(blockDim.x - threadIdx.x); }

static __device__ int file_local = 3;
__device__ int (*chosen)(int) = nullptr;
__device__ __noinline__ int Twice(int x) { return 2 * x + file_local; }
__device__ __noinline__ int Square(int x) { return x * x; }
extern "C" __global__ void choose(int which) { chosen = which == 0 ? Twice : Square; }
extern "C" __global__ void call_chosen(int* to) { to[threadIdx.x] = chosen(int(threadIdx.x)); }

__managed__ int managed_sum = 100;
__global__ void Sum(const int* from) { atomicAdd(&managed_sum, from[threadIdx.x]); }

CASE(kernels_of_anonymous_namespaces) {
  Buffer<float> out(64);
  Hidden<<<1, 64>>>(out, Empty{}, short(7));
  std::vector<float> want(64);
  const float weights[3] = {0.5f, 2, -1};
  for (int i = 0; i < 64; ++i) want[i] = weights[i % 3] * float(7 + i);
  EXPECT_SAME(out.Get(), want);
}

CASE(variables_of_anonymous_namespaces) {
  int calls = 0;
  CUDA_OK(cudaMemcpyFromSymbol(&calls, hidden_calls, sizeof(calls)));
  const int before = calls;
  EXPECT_EQ(before >= 40, true);
  calls = 1000;
  CUDA_OK(cudaMemcpyToSymbol(hidden_calls, &calls, sizeof(calls)));
  const float weights[3] = {1, 2, 3};
  CUDA_OK(cudaMemcpyToSymbol(hidden_weights, weights, sizeof(weights)));
  Buffer<float> out(6);
  Hidden<<<1, 6>>>(out, Empty{}, short(0));
  EXPECT_SAME(out.Get(), (std::vector<float>{0, 2, 6, 3, 8, 15}));
  CUDA_OK(cudaMemcpyFromSymbol(&calls, hidden_calls, sizeof(calls)));
  EXPECT_EQ(calls, 1006);
}

template <typename T, int N>
static void CheckTemplate() {
  Buffer<T> out(32);
  Apply<<<1, 32>>>(out.get(), Sized{'a', 4, {0, 0, 0, 0, 9}}, Scale<T, N>{T(3)});
  std::vector<T> want(32);
  for (int i = 0; i < 32; ++i) want[i] = T(i) * T(3) + N + 4 + 9 + 'a';
  EXPECT_SAME(out.Get(), want);
}
CASE(templates_of_local_types) { CheckTemplate<float, 1>(), CheckTemplate<double, 2>(), CheckTemplate<int, 3>(); }

CASE(static_kernels) {
  Buffer<int> out(8);
  FileLocal<<<1, 8>>>(out);
  EXPECT_SAME(out.Get(), (std::vector<int>{8, 7, 6, 5, 4, 3, 2, 1}));
}

CASE(function_pointers_between_kernels) {
  Buffer<int> out(4);
  choose<<<1, 1>>>(0);
  call_chosen<<<1, 4>>>(out);
  EXPECT_SAME(out.Get(), (std::vector<int>{3, 5, 7, 9}));
  choose<<<1, 1>>>(1);
  call_chosen<<<1, 4>>>(out);
  EXPECT_SAME(out.Get(), (std::vector<int>{0, 1, 4, 9}));
}

CASE(managed_variables) {
  managed_sum += 10;
  Buffer<int> in(std::vector<int>{1, 2, 3, 4});
  Sum<<<1, 4>>>(in);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(managed_sum, 120);
}

CASE(attributes) {
  cudaFuncAttributes attributes{};
  CUDA_OK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&FileLocal)));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
}
