// Streams, events and host functions: order, waiting, timing.
#include <cuda_profiler_api.h>

#include "tests/cuda/harness.h"

__global__ void AddOne(int* values, int n, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    for (int r = 0; r < rounds; ++r) values[i] = values[i] * 3 + 1;
}
__global__ void CopyKernel(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
static int Rounds(int value, int rounds) {
  unsigned v = unsigned(value);
  for (int r = 0; r < rounds; ++r) v = v * 3 + 1;
  return int(v);
}

CASE(work_on_one_stream_is_ordered) {
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  Buffer<int> values(1000);
  for (int i = 0; i < 50; ++i) AddOne<<<8, 128, 0, stream>>>(values, 1000, 1);
  std::vector<int> got(1000);
  CUDA_OK(cudaMemcpyAsync(got.data(), values, 4000, cudaMemcpyDeviceToHost, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(got, std::vector<int>(1000, Rounds(0, 50)));
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(event_orders_two_streams) {
  cudaStream_t a, b;
  cudaEvent_t done;
  CUDA_OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CUDA_OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CUDA_OK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  Buffer<int> from(5000), to(5000);
  CUDA_OK(cudaDeviceSynchronize());
  AddOne<<<40, 128, 0, a>>>(from, 5000, 200);
  CUDA_OK(cudaEventRecord(done, a));
  CUDA_OK(cudaStreamWaitEvent(b, done, 0));
  CopyKernel<<<40, 128, 0, b>>>(from, to, 5000);
  CUDA_OK(cudaStreamSynchronize(b));
  EXPECT_SAME(to.Get(), std::vector<int>(5000, Rounds(0, 200)));
  CUDA_OK(cudaEventDestroy(done));
  CUDA_OK(cudaStreamDestroy(a));
  CUDA_OK(cudaStreamDestroy(b));
}
CASE(default_stream_waits_for_blocking_streams) {
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  Buffer<int> values(3000), copy(3000);
  AddOne<<<24, 128, 0, stream>>>(values, 3000, 100);
  CopyKernel<<<24, 128>>>(values, copy, 3000);
  EXPECT_SAME(copy.Get(), std::vector<int>(3000, Rounds(0, 100)));
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(event_times_increase) {
  cudaEvent_t first, second, third;
  CUDA_OK(cudaEventCreate(&first));
  CUDA_OK(cudaEventCreate(&second));
  CUDA_OK(cudaEventCreate(&third));
  Buffer<int> values(20000);
  CUDA_OK(cudaEventRecord(first));
  AddOne<<<157, 128>>>(values, 20000, 50);
  CUDA_OK(cudaEventRecord(second));
  AddOne<<<157, 128>>>(values, 20000, 50);
  CUDA_OK(cudaEventRecord(third));
  CUDA_OK(cudaEventSynchronize(third));
  EXPECT_EQ(cudaEventQuery(second), cudaSuccess);
  float a = -1, b = -1, whole = -1;
  CUDA_OK(cudaEventElapsedTime(&a, first, second));
  CUDA_OK(cudaEventElapsedTime(&b, second, third));
  CUDA_OK(cudaEventElapsedTime(&whole, first, third));
  EXPECT(a >= 0 && b >= 0 && whole > 0 && std::fabs(whole - a - b) < 0.01f + 0.001f * whole);
  CUDA_OK(cudaEventDestroy(first));
  CUDA_OK(cudaEventDestroy(second));
  CUDA_OK(cudaEventDestroy(third));
}
CASE(queries_become_success) {
  cudaStream_t stream;
  cudaEvent_t event;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaEventCreate(&event));
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);  // never recorded
  Buffer<int> values(1000);
  AddOne<<<8, 128, 0, stream>>>(values, 1000, 10);
  CUDA_OK(cudaEventRecord(event, stream));
  cudaError_t status;
  while ((status = cudaEventQuery(event)) == cudaErrorNotReady) {
  }
  EXPECT_EQ(status, cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  cudaGetLastError();  // cudaErrorNotReady, if a query came too early
  CUDA_OK(cudaEventDestroy(event));
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(elapsed_time_refusals) {
  cudaEvent_t timed, untimed, unrecorded;
  CUDA_OK(cudaEventCreate(&timed));
  CUDA_OK(cudaEventCreate(&unrecorded));
  CUDA_OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  CUDA_OK(cudaEventRecord(timed));
  CUDA_OK(cudaEventRecord(untimed));
  CUDA_OK(cudaDeviceSynchronize());
  float ms;
  EXPECT_EQ(cudaEventElapsedTime(&ms, timed, unrecorded), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&ms, timed, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  cudaEventDestroy(timed), cudaEventDestroy(untimed), cudaEventDestroy(unrecorded);
}
static void CUDART_CB CountUp(void* counter) { ++*static_cast<int*>(counter); }
CASE(host_functions_run_in_order) {
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  int counter = 0;
  Buffer<int> values(100);
  for (int i = 0; i < 5; ++i) {
    AddOne<<<1, 100, 0, stream>>>(values, 100, 1);
    CUDA_OK(cudaLaunchHostFunc(stream, CountUp, &counter));
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(counter, 5);
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(stream_properties) {
  int least = 5, greatest = 5, priority = 7;
  CUDA_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest <= least);
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  unsigned flags = 99;
  CUDA_OK(cudaStreamGetFlags(stream, &flags));
  CUDA_OK(cudaStreamGetPriority(stream, &priority));
  EXPECT_EQ(flags, unsigned(cudaStreamNonBlocking));
  EXPECT_EQ(priority, greatest);
  CUDA_OK(cudaStreamDestroy(stream));
}
CASE(stream_attributes) {
  int least = 0, greatest = 0;
  CUDA_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream, other;
  CUDA_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  CUDA_OK(cudaStreamCreate(&other));
  Buffer<int> data(1024);
  cudaStreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = data;
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyStreaming;
  CUDA_OK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
  CUDA_OK(cudaStreamCopyAttributes(other, stream));
  CUDA_OK(cudaStreamGetAttribute(stream, cudaStreamAttributePriority, &value));
  EXPECT_EQ(value.priority, greatest);
  CUDA_OK(cudaStreamDestroy(stream));
  CUDA_OK(cudaStreamDestroy(other));
}

CASE(ranges_to_be_profiled_are_taken) {
  CUDA_OK(cudaProfilerStart());
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaProfilerStop());
}

CASE(many_streams_and_events) {
  constexpr int kStreams = 20;
  cudaStream_t streams[kStreams];
  cudaEvent_t events[kStreams];
  Buffer<int> values(kStreams * 64);
  for (int i = 0; i < kStreams; ++i) {
    CUDA_OK(cudaStreamCreate(&streams[i]));
    CUDA_OK(cudaEventCreate(&events[i]));
    if (i) CUDA_OK(cudaStreamWaitEvent(streams[i], events[i - 1], 0));
    AddOne<<<1, 64, 0, streams[i]>>>(values + i * 64, 64, i);
    CUDA_OK(cudaEventRecord(events[i], streams[i]));
  }
  CUDA_OK(cudaEventSynchronize(events[kStreams - 1]));
  std::vector<int> want;
  for (int i = 0; i < kStreams * 64; ++i) want.push_back(Rounds(0, i / 64));
  EXPECT_SAME(values.Get(), want);
  for (int i = 0; i < kStreams; ++i) cudaStreamDestroy(streams[i]), cudaEventDestroy(events[i]);
}
