// Output and deliberate ends of kernels. What ends with a broken context runs in a process of its own.
#include <cassert>

#include "tests/cuda/harness.h"

__global__ void Print(int a, double b, const char* device_text) {
  printf("int %d unsigned %u hex %x long %lld\n", a, 4000000000u, 0xBEEF, -5000000000ll);
  printf("double %.3f sci %e char %c percent %%\n", b, b * 1e10, 'z');
  printf("%5d|%-5d|%05d|%+d\n", 42, 42, 42, 42);
  printf("string %s and %s\n", "literal", device_text);
  printf("no arguments\n");
}
__device__ const char text_on_device[] = "on the device";
CHILD(print) {
  char* text = nullptr;
  CUDA_OK(cudaGetSymbolAddress(reinterpret_cast<void**>(&text), text_on_device));
  Print<<<1, 1>>>(-17, 2.5, text);
  CUDA_OK(cudaDeviceSynchronize());
}
CASE(printf_formats) {
  const harness::ChildResult result = harness::RunChild("print");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, std::string("int -17 unsigned 4000000000 hex beef long -5000000000\n"
                                       "double 2.500 sci 2.500000e+10 char z percent %\n"
                                       "   42|42   |00042|+42\n"
                                       "string literal and on the device\n"
                                       "no arguments\n"));
  harness::Hash(result.output.data(), result.output.size());
}
__global__ void PrintMany() { printf("[%d %d]\n", blockIdx.x, threadIdx.x); }
CHILD(print_many) {
  PrintMany<<<3, 40>>>();
  CUDA_OK(cudaDeviceSynchronize());
}
CASE(printf_from_many_threads) {
  const harness::ChildResult result = harness::RunChild("print_many");
  EXPECT_EQ(result.status, 0);
  for (int block = 0; block < 3; ++block)
    for (int thread = 0; thread < 40; ++thread) {
      const std::string line = "[" + std::to_string(block) + " " + std::to_string(thread) + "]\n";
      EXPECT(result.output.find(line) != std::string::npos);
    }
}

__global__ void Assert(int limit) { assert(int(threadIdx.x) < limit && "thread within the limit"); }
CASE(assert_that_holds) {
  Assert<<<2, 32>>>(32);
  CUDA_OK(cudaDeviceSynchronize());
}
CHILD(assertion) {
  Assert<<<1, 32>>>(31);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);
  EXPECT_EQ(cudaGetLastError(), cudaErrorAssert);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);  // for ever
}
CASE(assert_that_fails) {
  const harness::ChildResult result = harness::RunChild("assertion");
  EXPECT_EQ(result.status, 0);
  EXPECT(result.output.find("thread within the limit") != std::string::npos);
  EXPECT(result.output.find("printf_assert_trap.cu") != std::string::npos);
}

__global__ void Trap(int thread) {
  if (int(threadIdx.x) == thread) asm volatile("trap;");
}
CHILD(trap) {
  Trap<<<1, 32>>>(5);
  const cudaError_t status = cudaDeviceSynchronize();
  EXPECT(status == cudaErrorLaunchFailure || status == cudaErrorIllegalInstruction);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 100), status);
}
CASE(trap_ends_the_context) { EXPECT_EQ(harness::RunChild("trap").status, 0); }
CASE(trap_not_reached) {
  Trap<<<1, 32>>>(99);
  CUDA_OK(cudaDeviceSynchronize());
}
__global__ void ExitEarly(int* out) {
  if (threadIdx.x % 3 == 1) asm volatile("exit;");
  out[threadIdx.x] = 1;
}
CASE(exit_instruction) {
  Buffer<int> out(32);
  ExitEarly<<<1, 32>>>(out);
  std::vector<int> want;
  for (int t = 0; t < 32; ++t) want.push_back(t % 3 != 1);
  EXPECT_SAME(out.Get(), want);
}
