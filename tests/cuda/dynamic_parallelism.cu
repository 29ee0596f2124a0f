// Kernels that launch kernels, compiled with -rdc=true: CUDA's dynamic parallelism.
#include "tests/cuda/harness.h"

namespace {

constexpr int kWords = 1 << 12;

// What happened, in order: each entry is taken by whoever gets its index.
struct Trace {
  int count;
  int events[kWords];
};

__device__ void Note(Trace* trace, int event) { trace->events[atomicAdd(&trace->count, 1)] = event; }

std::vector<int> EventsOf(const Buffer<int>& trace) {
  std::vector<int> words = trace.Get();
  return std::vector<int>(words.begin() + 1, words.begin() + 1 + words[0]);
}

}  // namespace

__global__ void Scale(float* out, const float* in, float by, double plus, int count) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = in[i] * by + float(plus);
}

// A block each, of rows of different lengths.
__global__ void ScaleRows(float* out, const float* in, const int* lengths, int stride) {
  const int row = int(blockIdx.x);
  if (threadIdx.x != 0) return;
  const int length = lengths[row];
  Scale<<<(length + 63) / 64, 64>>>(out + row * stride, in + row * stride, float(row), 0.5, length);
}

// A kernel with barriers and shared memory of a size that its parent knows.
__global__ void SumInBlock(int* out, const int* in) {
  extern __shared__ int partial[];
  partial[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// 4096 numbers to one, by two launches in order.
__global__ void SumInTwoSteps(int* out, int* partial, const int* in) {
  SumInBlock<<<64, 64, 64 * sizeof(int)>>>(partial, in);
  SumInBlock<<<1, 64, 64 * sizeof(int)>>>(out, partial);
}

__global__ void QuickSort(int* values, int left, int right) {
  int l = left, r = right;
  const int pivot = values[(left + right) / 2];
  while (l <= r) {
    while (values[l] < pivot) ++l;
    while (values[r] > pivot) --r;
    if (l > r) break;
    const int value = values[l];
    values[l++] = values[r];
    values[r--] = value;
  }
  if (left < r) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    QuickSort<<<1, 1, 0, stream>>>(values, left, r);
    cudaStreamDestroy(stream);
  }
  if (l < right) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    QuickSort<<<1, 1, 0, stream>>>(values, l, right);
    cudaStreamDestroy(stream);
  }
}

__global__ void Leaf(Trace* trace, int event) { Note(trace, event); }

__global__ void Middle(Trace* trace, int event) {
  Note(trace, event);
  Leaf<<<1, 1>>>(trace, event + 1);
  Leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(trace, event + 3);
  Leaf<<<1, 1>>>(trace, event + 2);
}

__global__ void Root(Trace* trace) {
  Note(trace, 0);
  Leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(trace, 99);
  Middle<<<1, 1>>>(trace, 10);
  Middle<<<1, 1>>>(trace, 20);
}

// Itself again when all is done, as a loop that no host turns.
__global__ void Iterate(int* value, int rounds) {
  *value = *value * 3 + 1;
  if (rounds > 1) Iterate<<<1, 1, 0, cudaStreamTailLaunch>>>(value, rounds - 1);
}

__global__ void Fork(int* count, int depth) {
  if (threadIdx.x == 0) atomicAdd(count, 1);
  if (depth > 0) Fork<<<1, 2, 0, cudaStreamFireAndForget>>>(count, depth - 1);
}

__global__ void WaitForEvents(Trace* trace) {
  cudaStream_t first, second;
  cudaEvent_t done;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  Leaf<<<1, 1, 0, first>>>(trace, 1);
  cudaEventRecord(done, first);
  cudaStreamWaitEvent(second, done, 0);
  Leaf<<<1, 1, 0, second>>>(trace, 2);
  cudaEventDestroy(done);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

__global__ void LaunchWrongly(int* errors, int* out, int none) {
  Iterate<<<none, 32>>>(out, 1);
  errors[0] = cudaGetLastError();
  errors[1] = cudaGetLastError();
  Iterate<<<1, 2048>>>(out, 1);
  errors[2] = cudaPeekAtLastError();
  errors[3] = cudaGetLastError();
  printf("%s\n", cudaGetErrorString(cudaSuccess));
  Iterate<<<1, 1>>>(out, 1);
  errors[4] = cudaGetLastError();
}

__global__ void FaultBelow(int* nowhere) { Iterate<<<1, 1>>>(nowhere, 1); }

__global__ void Ramp(int* words, int count, int from) {
  for (int i = int(threadIdx.x); i < count; i += int(blockDim.x)) words[i] = from + i;
}

// A copy of what a child has written, then other words there, then a fill of some of these.
__global__ void CopyAndFill(int* copy, int* words, int count) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  Ramp<<<1, 64, 0, stream>>>(words, count, 100);
  cudaMemcpyAsync(copy, words, size_t(count) * sizeof(int), cudaMemcpyDeviceToDevice, stream);
  Ramp<<<1, 64, 0, stream>>>(words, count, 500);
  cudaMemsetAsync(words + 1, 0x11, 2 * sizeof(int), stream);
  cudaStreamDestroy(stream);
}

__global__ void CopyFromNowhere(int* words) {
  cudaMemcpyAsync(words, nullptr, sizeof(int), cudaMemcpyDeviceToDevice, cudaStreamFireAndForget);
}

__device__ int counter;
__global__ void CountUp() { atomicAdd(&counter, 1); }
__global__ void CountTwice() {
  CountUp<<<2, 32>>>();
  CountUp<<<1, 16>>>();
}

CASE(rows_of_different_lengths) {
  constexpr int kRows = 24, kStride = 200;
  std::vector<float> in(kRows * kStride), want(kRows * kStride, 0.0f);
  std::vector<int> lengths(kRows);
  for (int row = 0; row < kRows; ++row) {
    lengths[size_t(row)] = (row * 37) % kStride;
    for (int i = 0; i < kStride; ++i) {
      in[size_t(row * kStride + i)] = float(i);
      if (i < lengths[size_t(row)]) want[size_t(row * kStride + i)] = float(i) * float(row) + 0.5f;
    }
  }
  Buffer<float> device_in(in), out(std::vector<float>(in.size(), 0.0f));
  Buffer<int> device_lengths(lengths);
  ScaleRows<<<kRows, 32>>>(out, device_in, device_lengths, kStride);
  EXPECT_SAME(out.Get(), want);
}
CASE(a_child_sees_what_the_one_before_it_wrote) {
  std::vector<int> in(kWords);
  int sum = 0;
  for (int i = 0; i < kWords; ++i) sum += in[size_t(i)] = i * i % 101;
  Buffer<int> device_in(in), partial(64), out(1);
  SumInTwoSteps<<<1, 1>>>(out, partial, device_in);
  EXPECT_EQ(out.Get()[0], sum);
}
CASE(children_of_children_sort) {
  std::vector<int> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = int(i * 7919 % 1009);
  Buffer<int> device(values);
  QuickSort<<<1, 1>>>(device, 0, int(values.size()) - 1);
  std::sort(values.begin(), values.end());
  EXPECT_SAME(device.Get(), values);
}
CASE(tails_come_when_all_else_is_done) {
  Buffer<int> trace(std::vector<int>(kWords + 1, 0));
  Root<<<1, 1>>>(reinterpret_cast<Trace*>(static_cast<int*>(trace)));
  const std::vector<int> want = {0, 10, 11, 12, 13, 20, 21, 22, 23, 99};
  EXPECT_SAME(EventsOf(trace), want);
}
CASE(a_kernel_launches_itself_as_its_tail) {
  Buffer<int> value(std::vector<int>(1, 1));
  Iterate<<<1, 1>>>(value, 500);
  uint32_t want = 1;
  for (int i = 0; i < 500; ++i) want = want * 3 + 1;
  EXPECT_EQ(uint32_t(value.Get()[0]), want);
}
CASE(a_tree_of_launches) {
  Buffer<int> count(std::vector<int>(1, 0));
  Fork<<<1, 2>>>(count, 7);
  EXPECT_EQ(count.Get()[0], 255);
}
CASE(streams_wait_for_events) {
  Buffer<int> trace(std::vector<int>(kWords + 1, 0));
  WaitForEvents<<<1, 1>>>(reinterpret_cast<Trace*>(static_cast<int*>(trace)));
  const std::vector<int> want = {1, 2};
  EXPECT_SAME(EventsOf(trace), want);
}
CASE(a_wrong_launch_is_an_error_of_the_kernel) {
  Buffer<int> errors(5), out(std::vector<int>(1, 1));
  LaunchWrongly<<<1, 1>>>(errors, out, 0);
  CUDA_OK(cudaDeviceSynchronize());
  const int wrong = cudaErrorInvalidConfiguration;
  const std::vector<int> want = {wrong, 0, wrong, wrong, 0};
  EXPECT_SAME(errors.Get(), want);
  EXPECT_EQ(out.Get()[0], 4);
}
CASE(copies_and_fills_come_in_order) {
  Buffer<int> copy(200), words(200);
  CopyAndFill<<<1, 1>>>(copy, words, 200);
  std::vector<int> want(200), wanted(200);
  for (int i = 0; i < 200; ++i) want[size_t(i)] = 100 + i, wanted[size_t(i)] = 500 + i;
  wanted[1] = wanted[2] = 0x11111111;
  EXPECT_SAME(copy.Get(), want);
  EXPECT_SAME(words.Get(), wanted);
}
CASE(what_the_host_does_next_comes_after_the_children) {
  const int zero = 0;
  int count = 0;
  CUDA_OK(cudaMemcpyToSymbol(counter, &zero, sizeof(zero)));
  for (int i = 0; i < 10; ++i) {
    CountTwice<<<1, 1>>>();
    CUDA_OK(cudaMemcpyFromSymbol(&count, counter, sizeof(count)));
    EXPECT_EQ(count, 80 * (i + 1));
  }
}
CASE(a_graph_of_kernels_that_launch) {
  const int zero = 0;
  int count = 0;
  CUDA_OK(cudaMemcpyToSymbol(counter, &zero, sizeof(zero)));
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CountTwice<<<1, 1, 0, stream>>>();
  CountTwice<<<1, 1, 0, stream>>>();
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaMemcpyFromSymbol(&count, counter, sizeof(count)));
  EXPECT_EQ(count, 480);
}
CHILD(a_fault_of_a_child) {
  FaultBelow<<<1, 1>>>(nullptr);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
CHILD(a_copy_from_nowhere) {
  Buffer<int> words(1);
  CopyFromNowhere<<<1, 1>>>(words);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
CASE(a_copy_from_nowhere_breaks_the_context) { EXPECT_EQ(harness::RunChild("a_copy_from_nowhere").status, 0); }
CASE(a_fault_of_a_child_breaks_the_context) { EXPECT_EQ(harness::RunChild("a_fault_of_a_child").status, 0); }
