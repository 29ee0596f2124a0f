// Several host threads at once, each with its own stream and memory; then all on the same.
#include <atomic>
#include <thread>

#include "tests/cuda/harness.h"

__global__ void Step(unsigned* values, int n, unsigned by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 1664525u + by;
}
static void Join(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) running.emplace_back(body, t);
  for (std::thread& thread : running) thread.join();
}
// Harness messages are not for several threads: count here.
static std::atomic<int> failures;
static void Need(bool ok) { failures += !ok; }

CASE(a_stream_for_each_thread) {
  failures = 0;
  Join(6, [](int t) {
    constexpr int kN = 500;
    cudaStream_t stream;
    Need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    unsigned* device = nullptr;
    Need(cudaMalloc(&device, kN * 4) == cudaSuccess);
    for (int round = 0; round < 5; ++round) {
      Need(cudaMemsetAsync(device, t, kN * 4, stream) == cudaSuccess);
      for (int i = 0; i < 20; ++i) Step<<<4, 128, 0, stream>>>(device, kN, unsigned(t));
      std::vector<unsigned> out(kN);
      Need(cudaMemcpyAsync(out.data(), device, kN * 4, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
      Need(cudaStreamSynchronize(stream) == cudaSuccess);
      unsigned want = unsigned(t) * 0x01010101u;
      for (int i = 0; i < 20; ++i) want = want * 1664525u + unsigned(t);
      for (unsigned v : out) Need(v == want);
    }
    Need(cudaFree(device) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess &&
         cudaGetLastError() == cudaSuccess);
  });
  EXPECT_EQ(failures.load(), 0);
}
CASE(default_stream_from_many_threads) {
  failures = 0;
  Join(4, [](int t) {
    for (int round = 0; round < 10; ++round) {
      unsigned *device = nullptr, value = unsigned(t * 100 + round), out = 0;
      Need(cudaMalloc(&device, 4) == cudaSuccess);
      Need(cudaMemcpy(device, &value, 4, cudaMemcpyHostToDevice) == cudaSuccess);
      Step<<<1, 1>>>(device, 1, 5);
      Need(cudaMemcpy(&out, device, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
      Need(out == value * 1664525u + 5);
      Need(cudaFree(device) == cudaSuccess);
    }
  });
  EXPECT_EQ(failures.load(), 0);
}
CASE(events_between_threads) {
  failures = 0;
  cudaEvent_t ready;
  CUDA_OK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  cudaStream_t producer;
  CUDA_OK(cudaStreamCreate(&producer));
  Buffer<unsigned> values(1000);
  CUDA_OK(cudaDeviceSynchronize());
  for (int i = 0; i < 100; ++i) Step<<<8, 128, 0, producer>>>(values, 1000, 3);
  CUDA_OK(cudaEventRecord(ready, producer));
  unsigned want = 0;
  for (int i = 0; i < 100; ++i) want = want * 1664525u + 3;
  Join(4, [&](int t) {
    Need(cudaEventSynchronize(ready) == cudaSuccess);
    unsigned out = 0;
    Need(cudaMemcpy(&out, values + t * 200, 4, cudaMemcpyDeviceToHost) == cudaSuccess && out == want);
  });
  EXPECT_EQ(failures.load(), 0);
  cudaEventDestroy(ready), cudaStreamDestroy(producer);
}
CASE(errors_stay_with_their_thread) {
  failures = 0;
  Join(4, [](int t) {
    for (int round = 0; round < 20; ++round) {
      if (t % 2) Need(cudaSetDevice(50 + t) == cudaErrorInvalidDevice);
      Need(cudaGetLastError() == (t % 2 ? cudaErrorInvalidDevice : cudaSuccess));
    }
  });
  EXPECT_EQ(failures.load(), 0);
}
