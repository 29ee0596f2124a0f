// CUDA's error state: what is sticky, what is not, what each thread sees. Broken contexts live in child processes.
#include <thread>

#include "tests/cuda/harness.h"

__global__ void Nothing() {}
__global__ void Write(int* p) { p[threadIdx.x] = 1; }
__global__ __launch_bounds__(64) void Bounded(int* p) { p[threadIdx.x] = int(threadIdx.x); }

CASE(last_error_is_reset_by_reading) {
  EXPECT_EQ(cudaMemcpy(nullptr, nullptr, 16, cudaMemcpyKind(77)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}
CASE(success_does_not_clear_the_last_error) {
  EXPECT_EQ(cudaSetDevice(1234), cudaErrorInvalidDevice);
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}
// CUDA 13 has no error of its own for them any more.
CASE(invalid_configurations) {
  Nothing<<<1, 2000>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  Nothing<<<0, 32>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  Nothing<<<1, dim3(1, 1, 65)>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  Nothing<<<dim3(1, 70000), 1>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  Nothing<<<1, 1, 512 * 1024>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  Nothing<<<1, 1>>>();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  CUDA_OK(cudaDeviceSynchronize());
}
CASE(launch_bounds_are_kept) {
  Buffer<int> out(128);
  Bounded<<<1, 128>>>(out);
  // At once or at the next synchronising call, but not for ever.
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) status = cudaDeviceSynchronize();
  EXPECT(status == cudaErrorLaunchOutOfResources || status == cudaErrorInvalidValue);
  cudaGetLastError();
  Bounded<<<1, 64>>>(out);
  CUDA_OK(cudaGetLastError());
  EXPECT_EQ(out.Get()[63], 63);
}
CASE(errors_belong_to_threads) {
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  cudaError_t other = cudaErrorUnknown, own = cudaErrorUnknown;
  std::thread([&] {
    other = cudaGetLastError();
    void* p = nullptr;
    cudaMalloc(&p, size_t(1) << 50);
    own = cudaPeekAtLastError();
  }).join();
  EXPECT_EQ(other, cudaSuccess);
  EXPECT_EQ(own, cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}
CASE(bad_arguments) {
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(nullptr, 100), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(reinterpret_cast<void*>(0x1234)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&p, 100), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(reinterpret_cast<void*>(0x1000), 0, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventRecord(nullptr), cudaErrorInvalidResourceHandle);
  cudaDeviceProp properties;
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 77), cudaErrorInvalidDevice);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDeviceAttr(100000), 0), cudaErrorInvalidValue);
  cudaGetLastError();
}
CASE(names_and_texts) {
  EXPECT_EQ(std::string(cudaGetErrorName(cudaErrorIllegalAddress)), std::string("cudaErrorIllegalAddress"));
  EXPECT_EQ(std::string(cudaGetErrorString(cudaSuccess)), std::string("no error"));
  EXPECT_EQ(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)), std::string("cudaErrorMemoryAllocation"));
  EXPECT_EQ(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)), std::string("out of memory"));
}
static void ExpectBroken(cudaError_t error) {
  EXPECT_EQ(cudaDeviceSynchronize(), error);
  EXPECT_EQ(cudaGetLastError(), error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // every call that needs the context tells again
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 16), error);
  Nothing<<<1, 1>>>();
  EXPECT_EQ(cudaPeekAtLastError(), error);
  cudaStream_t stream;
  EXPECT_EQ(cudaStreamCreate(&stream), error);
}
CHILD(null_pointer) {
  Write<<<1, 32>>>(nullptr);
  ExpectBroken(cudaErrorIllegalAddress);
}
CHILD(wild_pointer) {
  Write<<<1, 32>>>(reinterpret_cast<int*>(0x7000000000000000));
  ExpectBroken(cudaErrorIllegalAddress);
}
CHILD(host_pointer) {
  static int on_host[32];
  int* outside = on_host;
  Write<<<1, 32>>>(outside);
  ExpectBroken(cudaErrorIllegalAddress);
}
CHILD(far_past_the_end) {
  int* p = nullptr;
  CUDA_OK(cudaMalloc(&p, 1024));
  Write<<<1, 32>>>(p + (size_t(1) << 36));
  ExpectBroken(cudaErrorIllegalAddress);
}
// Which of its errors a GPU has for it depends on where the thread comes to.
__device__ __noinline__ int Recurse(const int* end, int depth) {
  volatile int local[64];
  local[depth % 64] = depth;
  return depth == *end ? 0 : Recurse(end, depth + 1) + local[(depth + 1) % 64];
}
__global__ void RecurseFrom(const int* end, int* out) { *out = Recurse(end, 0); }
CHILD(recursion_without_end) {
  Buffer<int> end(std::vector<int>{-1}), out(1);
  RecurseFrom<<<1, 1>>>(end, out);
  const cudaError_t error = cudaDeviceSynchronize();
  EXPECT(error == cudaErrorLaunchFailure || error == cudaErrorIllegalAddress || error == cudaErrorHardwareStackError);
  ExpectBroken(error);
}
CASE(recursion_without_end_breaks_the_context) { EXPECT_EQ(harness::RunChild("recursion_without_end").status, 0); }
CASE(null_pointer_breaks_the_context) { EXPECT_EQ(harness::RunChild("null_pointer").status, 0); }
CASE(wild_pointer_breaks_the_context) { EXPECT_EQ(harness::RunChild("wild_pointer").status, 0); }
CASE(far_past_the_end_breaks_the_context) { EXPECT_EQ(harness::RunChild("far_past_the_end").status, 0); }
// On most GPUs the host's memory is not theirs.
CASE(host_pointer_breaks_the_context) {
  int pageable = 0;
  CUDA_OK(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, 0));
  if (!pageable) EXPECT_EQ(harness::RunChild("host_pointer").status, 0);
}
CHILD(async_error_surfaces_at_copy) {
  Buffer<int> fine(16);
  Write<<<1, 32>>>(nullptr);
  int value = 0;
  EXPECT_EQ(cudaMemcpy(&value, fine, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
}
CASE(async_error_surfaces_at_next_synchronising_call) {
  EXPECT_EQ(harness::RunChild("async_error_surfaces_at_copy").status, 0);
}
CHILD(reset) {
  Write<<<1, 32>>>(nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
// Another process's fault is nobody else's.
CASE(others_are_unharmed) {
  Buffer<int> out(32);
  EXPECT_EQ(harness::RunChild("reset").status, 0);
  Write<<<1, 32>>>(out);
  EXPECT_SAME(out.Get(), std::vector<int>(32, 1));
}
