// Stream capture: what becomes of work on captured streams, how capture spreads and is joined, what it does not
// survive.
#include <cublas_v2.h>

#include <functional>
#include <memory>
#include <thread>

#include "tests/cuda/harness.h"

__global__ void Scale(int* values, int n, int by, int plus) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * by + plus;
}
__global__ void Sum(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

static constexpr int kN = 1000, kBlocks = 8;

struct Stream {
  cudaStream_t stream = nullptr;
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { CUDA_OK(cudaStreamCreateWithFlags(&stream, flags)); }
  ~Stream() { CUDA_OK(cudaStreamDestroy(stream)); }
  operator cudaStream_t() const { return stream; }
};
struct Event {
  cudaEvent_t event = nullptr;
  Event() { CUDA_OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); }
  ~Event() { CUDA_OK(cudaEventDestroy(event)); }
  operator cudaEvent_t() const { return event; }
};

static cudaError_t Begin(cudaStream_t stream) { return cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal); }
// Ends a capture and makes an instance of what was captured.
static cudaGraphExec_t Finish(cudaStream_t stream, size_t* nodes = nullptr) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  if (nodes) CUDA_OK(cudaGraphGetNodes(graph, nullptr, nodes));
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  CUDA_OK(cudaGraphDestroy(graph));
  return exec;
}
// Ends a capture that did not survive.
static void EndsWith(cudaStream_t stream, cudaError_t want) {
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), want);
  EXPECT(graph == nullptr);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  CUDA_OK(cudaStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  cudaGetLastError();
}
static cudaStreamCaptureStatus StatusOf(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  CUDA_OK(cudaStreamIsCapturing(stream, &status));
  return status;
}

static void CUDART_CB CountUp(void* counter) { ++*static_cast<int*>(counter); }

CASE(nothing_happens_before_the_launch) {
  Stream stream;
  Buffer<int> values(kN);
  std::vector<int> out(kN, -1);
  int* in = nullptr;
  int counter = 0;
  CUDA_OK(cudaMallocHost(&in, kN * 4));
  CUDA_OK(Begin(stream));
  EXPECT_EQ(StatusOf(stream), cudaStreamCaptureStatusActive);
  CUDA_OK(cudaMemcpyAsync(values, in, kN * 4, cudaMemcpyHostToDevice, stream));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 3, 1);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaMemsetAsync(values, 0, 400, stream));
  CUDA_OK(cudaMemcpyAsync(out.data(), values, kN * 4, cudaMemcpyDeviceToHost, stream));
  CUDA_OK(cudaLaunchHostFunc(stream, CountUp, &counter));
  size_t nodes = 0;
  const cudaGraphExec_t exec = Finish(stream, &nodes);
  EXPECT_EQ(nodes, 5u);
  EXPECT_EQ(counter, 0);
  EXPECT_SAME(out, std::vector<int>(kN, -1));
  for (int round = 0; round < 20; ++round) {
    std::vector<int> want(kN);
    for (int i = 0; i < kN; ++i) {
      in[i] = i + round * 100;
      want[i] = i < 100 ? 0 : in[i] * 3 + 1;
    }
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_SAME(out, want);
    harness::Hash(out.data(), kN * 4);
  }
  EXPECT_EQ(counter, 20);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaFreeHost(in));
}
CASE(fork_and_join) {
  Stream first, second;
  Event fork, join;
  Buffer<int> a(kN), b(kN), sum(kN);
  CUDA_OK(Begin(first));
  CUDA_OK(cudaEventRecord(fork, first));
  CUDA_OK(cudaStreamWaitEvent(second, fork, 0));
  EXPECT_EQ(StatusOf(second), cudaStreamCaptureStatusActive);
  Scale<<<kBlocks, 128, 0, first>>>(a, kN, 2, 1);
  Scale<<<kBlocks, 128, 0, second>>>(b, kN, 3, 1);
  CUDA_OK(cudaEventRecord(join, second));
  CUDA_OK(cudaStreamWaitEvent(first, join, 0));
  Sum<<<kBlocks, 128, 0, first>>>(a, b, sum, kN);
  cudaGraph_t graph = nullptr;
  CUDA_OK(cudaStreamEndCapture(first, &graph));
  EXPECT_EQ(StatusOf(second), cudaStreamCaptureStatusNone);
  size_t roots = 0, edges = 0;
  CUDA_OK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  CUDA_OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(roots, 2u);
  EXPECT_EQ(edges, 2u);
  cudaGraphExec_t exec = nullptr;
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  int x = 0, y = 0;
  for (int i = 0; i < 10; ++i) {
    CUDA_OK(cudaGraphLaunch(exec, second));
    x = x * 2 + 1, y = y * 3 + 1;
  }
  CUDA_OK(cudaStreamSynchronize(second));
  EXPECT_SAME(sum.Get(), std::vector<int>(kN, x + y));
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}
CASE(a_branch_that_was_joined_may_be_destroyed) {
  Stream first;
  auto second = std::make_unique<Stream>();
  Buffer<int> values(kN);
  CUDA_OK(Begin(first));
  {
    Event fork, join;
    CUDA_OK(cudaEventRecord(fork, first));
    CUDA_OK(cudaStreamWaitEvent(*second, fork, 0));
    Scale<<<kBlocks, 128, 0, *second>>>(values, kN, 1, 2);
    CUDA_OK(cudaEventRecord(join, *second));
    CUDA_OK(cudaStreamWaitEvent(first, join, 0));
    second.reset();
  }
  Scale<<<kBlocks, 128, 0, first>>>(values, kN, 3, 1);
  size_t nodes = 0;
  const cudaGraphExec_t exec = Finish(first, &nodes);
  EXPECT_EQ(nodes, 2u);
  CUDA_OK(cudaGraphLaunch(exec, first));
  CUDA_OK(cudaStreamSynchronize(first));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 7));
  CUDA_OK(cudaGraphExecDestroy(exec));
}
CASE(captured_again_to_change_an_instance) {
  Stream stream;
  Buffer<int> values(kN);
  cudaGraphExec_t exec = nullptr;
  int want = 0;
  for (int round = 1; round <= 5; ++round) {
    cudaGraph_t graph = nullptr;
    CUDA_OK(Begin(stream));
    Scale<<<kBlocks, 128, 0, stream>>>(values, kN, round, 1);
    Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 1, round);
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExecUpdateResultInfo info{};
    if (exec == nullptr) {
      CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    } else {
      CUDA_OK(cudaGraphExecUpdate(exec, graph, &info));
    }
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaGraphLaunch(exec, stream));
    want = want * round + 1 + round;
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, want));
  CUDA_OK(cudaGraphExecDestroy(exec));
}
CASE(launches_of_graphs_invalidate) {
  Stream stream, other;
  Buffer<int> values(kN);
  CUDA_OK(Begin(stream));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 1, 1);
  const cudaGraphExec_t inner = Finish(stream);
  for (const auto mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    CUDA_OK(cudaStreamBeginCapture(stream, mode));
    CUDA_OK(cudaGraphLaunch(inner, other));
    EXPECT_EQ(cudaGraphLaunch(inner, stream), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(StatusOf(stream), cudaStreamCaptureStatusInvalidated);
    EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  }
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaGraphUpload(inner, stream), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaStreamSynchronize(other));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 3));
  CUDA_OK(cudaGraphExecDestroy(inner));
}
CASE(into_a_graph_that_is_there) {
  Stream stream;
  Buffer<int> values(kN);
  cudaGraph_t graph = nullptr, ended = nullptr;
  cudaGraphNode_t fill = nullptr;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  const cudaMemsetParams params{values.get(), 0, 5, 4, kN, 1};
  CUDA_OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &params));
  CUDA_OK(cudaStreamBeginCaptureToGraph(stream, graph, &fill, nullptr, 1, cudaStreamCaptureModeGlobal));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 2, 0);
  CUDA_OK(cudaStreamEndCapture(stream, &ended));
  EXPECT(ended == graph);
  cudaGraphExec_t exec = nullptr;
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 10));
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}
CASE(nodes_made_by_hand_meanwhile) {
  Stream stream;
  Buffer<int> values(kN);
  CUDA_OK(Begin(stream));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 1, 4);
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* last = nullptr;
  size_t count = 0;
  CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &last, nullptr, &count));
  EXPECT(status == cudaStreamCaptureStatusActive && graph != nullptr && count == 1);
  cudaGraphNode_t fill = nullptr;
  const cudaMemsetParams params{values.get(), 0, 9, 4, kN / 2, 1};
  CUDA_OK(cudaGraphAddMemsetNode(&fill, graph, last, count, &params));
  CUDA_OK(cudaStreamUpdateCaptureDependencies(stream, &fill, nullptr, 1, cudaStreamSetCaptureDependencies));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 10, 0);
  const cudaGraphExec_t exec = Finish(stream);
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  std::vector<int> want(kN, 40);
  std::fill_n(want.begin(), kN / 2, 90);
  EXPECT_SAME(values.Get(), want);
  CUDA_OK(cudaGraphExecDestroy(exec));
  EXPECT_EQ(cudaStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, 0), cudaErrorIllegalState);
  cudaGetLastError();
}
CASE(events_for_others_become_nodes) {
  Stream stream;
  Event event;
  Buffer<int> values(kN);
  CUDA_OK(Begin(stream));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 1, 4);
  CUDA_OK(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
  size_t nodes = 0;
  const cudaGraphExec_t exec = Finish(stream, &nodes);
  EXPECT_EQ(nodes, 2u);
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaEventSynchronize(event));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 4));
  CUDA_OK(cudaGraphExecDestroy(exec));
}
CASE(memory_in_stream_order) {
  Stream stream;
  Buffer<int> out(kN);
  int* memory = nullptr;
  CUDA_OK(Begin(stream));
  CUDA_OK(cudaMallocAsync(reinterpret_cast<void**>(&memory), kN * 4, stream));
  CUDA_OK(cudaMemsetAsync(memory, 1, kN * 4, stream));
  Scale<<<kBlocks, 128, 0, stream>>>(memory, kN, 2, 0);
  CUDA_OK(cudaMemcpyAsync(out, memory, kN * 4, cudaMemcpyDeviceToDevice, stream));
  CUDA_OK(cudaFreeAsync(memory, stream));
  size_t nodes = 0;
  const cudaGraphExec_t exec = Finish(stream, &nodes);
  EXPECT_EQ(nodes, 5u);
  for (int i = 0; i < 3; ++i) CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(out.Get(), std::vector<int>(kN, 0x02020202));
  CUDA_OK(cudaGraphExecDestroy(exec));
}
CASE(cublas) {
  Stream stream;
  cublasHandle_t handle = nullptr;
  EXPECT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSetStream(handle, stream), CUBLAS_STATUS_SUCCESS);
  constexpr int kSide = 16;
  std::vector<float> a(kSide * kSide), b(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) a[i] = float(i % 7 - 3), b[i] = float(i % 5 - 2);
  Buffer<float> da(a), db(b), dc(kSide * kSide), y(kSide);
  const float one = 1, two = 2, zero = 0;
  CUDA_OK(Begin(stream));
  EXPECT_EQ(
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &one, da, kSide, db, kSide, &zero, dc, kSide),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSaxpy(handle, kSide, &two, dc, 1, y, 1), CUBLAS_STATUS_SUCCESS);
  const cudaGraphExec_t exec = Finish(stream);
  EXPECT_SAME(dc.Get(), std::vector<float>(kSide * kSide, 0));
  std::vector<float> c(kSide * kSide), want(kSide);
  for (int round = 1; round <= 3; ++round) {
    for (float& value : a) value += 1;
    CUDA_OK(cudaMemcpyAsync(da, a.data(), a.size() * 4, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaGraphLaunch(exec, stream));
    for (int i = 0; i < kSide; ++i)
      for (int j = 0; j < kSide; ++j) {
        float sum = 0;
        for (int k = 0; k < kSide; ++k) sum += a[k * kSide + i] * b[j * kSide + k];
        c[j * kSide + i] = sum;
      }
    for (int i = 0; i < kSide; ++i) want[i] += 2 * c[i];
  }
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(dc.Get(), c);
  EXPECT_SAME(y.Get(), want);
  CUDA_OK(cudaGraphExecDestroy(exec));
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}
CASE(the_legacy_stream_is_not_captured) {
  EXPECT_EQ(Begin(nullptr), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(Begin(cudaStreamLegacy), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureUnsupported);
  Buffer<int> values(kN);
  CUDA_OK(Begin(cudaStreamPerThread));
  Scale<<<kBlocks, 128, 0, cudaStreamPerThread>>>(values, kN, 1, 4);
  const cudaGraphExec_t exec = Finish(cudaStreamPerThread);
  CUDA_OK(cudaGraphLaunch(exec, nullptr));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 4));
  CUDA_OK(cudaGraphExecDestroy(exec));
}
CASE(waiting_invalidates) {
  Stream stream;
  Buffer<int> values(kN);
  CUDA_OK(Begin(stream));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 1, 4);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(StatusOf(stream), cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(cudaMemsetAsync(values, 0, 4, stream), cudaErrorStreamCaptureInvalidated);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 0));
}
CASE(calls_of_the_legacy_stream_invalidate) {
  Stream blocking(cudaStreamDefault), other;
  Buffer<int> values(kN);
  std::vector<int> host(kN);
  CUDA_OK(Begin(blocking));
  Scale<<<kBlocks, 128>>>(values, kN, 1, 4);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  EndsWith(blocking, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(Begin(blocking));
  EXPECT_EQ(cudaMemcpy(host.data(), values, kN * 4, cudaMemcpyDeviceToHost), cudaErrorStreamCaptureImplicit);
  EndsWith(blocking, cudaErrorStreamCaptureInvalidated);
  // Non-blocking streams have nothing to do with it.
  CUDA_OK(Begin(other));
  Scale<<<kBlocks, 128>>>(values, kN, 1, 4);
  CUDA_OK(cudaGetLastError());
  CUDA_OK(cudaGraphExecDestroy(Finish(other)));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 4));
}
CASE(unsafe_calls_by_mode) {
  Stream stream;
  void* memory = nullptr;
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CUDA_OK(cudaMalloc(&memory, 4));
  CUDA_OK(cudaGraphExecDestroy(Finish(stream)));
  CUDA_OK(Begin(stream));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  CUDA_OK(cudaFree(memory));
  CUDA_OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  CUDA_OK(cudaGraphExecDestroy(Finish(stream)));
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  std::thread([&] {
    CUDA_OK(cudaMalloc(&memory, 4));
    CUDA_OK(cudaFree(memory));
    EndsWith(stream, cudaErrorStreamCaptureWrongThread);
  }).join();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);  // that was its end
  CUDA_OK(Begin(stream));
  CUDA_OK(cudaStreamEndCapture(stream, nullptr));  // nobody wants the graph
  EXPECT_EQ(StatusOf(stream), cudaStreamCaptureStatusNone);
  cudaGetLastError();
}
CASE(instances_and_registered_memory_are_unsafe) {
  Stream stream;
  std::vector<char> memory(1 << 16);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA_OK(cudaGraphCreate(&graph, 0));
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaHostRegister(memory.data(), memory.size(), 0), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}
// Of any stream, captured or not; a copy that waits for its own is safe.
CASE(waiting_is_unsafe) {
  Stream stream, other;
  Buffer<int> values(kN);
  int value = 0;
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaStreamQuery(other), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaStreamSynchronize(other), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CUDA_OK(cudaStreamSynchronize(other));
  CUDA_OK(cudaGraphExecDestroy(Finish(stream)));
  CUDA_OK(Begin(stream));
  CUDA_OK(cudaMemcpy(&value, values, 4, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaGraphExecDestroy(Finish(stream)));
}
CASE(what_was_forked_must_be_joined) {
  Stream first, second;
  Event fork;
  Buffer<int> values(kN);
  CUDA_OK(Begin(first));
  CUDA_OK(cudaEventRecord(fork, first));
  CUDA_OK(cudaStreamWaitEvent(second, fork, 0));
  Scale<<<kBlocks, 128, 0, second>>>(values, kN, 1, 4);
  EndsWith(first, cudaErrorStreamCaptureUnjoined);
  CUDA_OK(Begin(first));
  CUDA_OK(cudaEventRecord(fork, first));
  CUDA_OK(cudaStreamWaitEvent(second, fork, 0));
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(second, &graph), cudaErrorStreamCaptureUnmatched);
  EndsWith(first, cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(second, &graph), cudaErrorIllegalState);
  cudaGetLastError();
}
CASE(captures_do_not_mix) {
  Stream first, second;
  Event before, inside;
  CUDA_OK(cudaEventRecord(before, first));
  CUDA_OK(Begin(first));
  EXPECT_EQ(cudaStreamWaitEvent(first, before, 0), cudaErrorStreamCaptureIsolation);
  EndsWith(first, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(Begin(first));
  CUDA_OK(Begin(second));
  CUDA_OK(cudaEventRecord(inside, second));
  EXPECT_EQ(cudaStreamWaitEvent(first, inside, 0), cudaErrorStreamCaptureMerge);
  EndsWith(first, cudaErrorStreamCaptureInvalidated);
  EndsWith(second, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(Begin(first));
  CUDA_OK(cudaEventRecord(inside, first));
  EXPECT_EQ(cudaEventSynchronize(inside), cudaErrorCapturedEvent);
  EndsWith(first, cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(Begin(first), cudaSuccess);
  EXPECT_EQ(Begin(first), cudaErrorIllegalState);
  CUDA_OK(cudaGraphExecDestroy(Finish(first)));
  cudaGetLastError();
}
CASE(other_calls_that_captures_do_not_survive) {
  Stream stream;
  void* pinned = nullptr;
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaMallocHost(&pinned, 4096), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  int* managed = nullptr;
  CUDA_OK(cudaMallocManaged(&managed, 4096));
  cudaMemLocation location{};
  location.type = cudaMemLocationTypeDevice;
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 4096, location, 0, stream), cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaMemPrefetchAsync(managed, 4096, location, 0, stream));
  CUDA_OK(Begin(stream));
  EXPECT_EQ(cudaStreamAddCallback(
                stream, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0),
            cudaErrorStreamCaptureUnsupported);
  EndsWith(stream, cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaFree(managed));
}
CASE(managed_memory_in_graphs) {
  Stream stream;
  int* values = nullptr;
  CUDA_OK(cudaMallocManaged(&values, kN * 4));
  CUDA_OK(Begin(stream));
  Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 2, 1);
  const cudaGraphExec_t exec = Finish(stream);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < kN; ++i) values[i] = i + round;
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    std::vector<int> want(kN);
    for (int i = 0; i < kN; ++i) want[i] = (i + round) * 2 + 1;
    EXPECT_SAME(std::vector<int>(values, values + kN), want);
  }
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaFree(values));
}
CASE(threads_capture_beside_each_other) {
  constexpr int kThreads = 4;
  std::vector<std::vector<int>> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&results, t] {
      Stream stream;
      int* values = nullptr;
      CUDA_OK(cudaMalloc(&values, kN * 4));
      for (int round = 0; round < 10; ++round) {
        CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        CUDA_OK(cudaMemsetAsync(values, 0, kN * 4, stream));
        for (int i = 0; i <= t; ++i) Scale<<<kBlocks, 128, 0, stream>>>(values, kN, 3, round);
        const cudaGraphExec_t exec = Finish(stream);
        CUDA_OK(cudaGraphLaunch(exec, stream));
        CUDA_OK(cudaStreamSynchronize(stream));
        CUDA_OK(cudaGraphExecDestroy(exec));
      }
      results[t].resize(kN);
      CUDA_OK(cudaMemcpy(results[t].data(), values, kN * 4, cudaMemcpyDeviceToHost));
      CUDA_OK(cudaFree(values));
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    int want = 0;
    for (int i = 0; i <= t; ++i) want = want * 3 + 9;
    EXPECT_SAME(results[t], std::vector<int>(kN, want));
  }
}

// Random work on random streams, whose events keep what must be in order in order, captured as one graph; launched some
// times it computes what the same work does one after the other.
class RandomWork {
 public:
  static constexpr int kBuffers = 5, kStreams = 4, kLength = 64, kSteps = 40;
  explicit RandomWork(uint64_t seed) : random_(seed) {
    for (int i = 0; i < kBuffers; ++i) device_.push_back(std::make_unique<Buffer<int>>(kLength));
    host_.assign(kBuffers, std::vector<int>(kLength));
    touched_.assign(kBuffers, std::vector<int>(kStreams, -1));
  }
  cudaGraphExec_t Capture() {
    CUDA_OK(Begin(streams_[0]));
    Event fork;
    CUDA_OK(cudaEventRecord(fork, streams_[0]));
    for (int i = 1; i < kStreams; ++i) CUDA_OK(cudaStreamWaitEvent(streams_[i], fork, 0));
    for (int i = 0; i < kSteps; ++i) Step();
    for (int i = 1; i < kStreams; ++i) Follow(0, i);
    return Finish(streams_[0]);
  }
  // What a launch does, here.
  void RunHere() {
    for (const auto& step : steps_) step(host_);
  }
  void Compare() {
    for (int i = 0; i < kBuffers; ++i) EXPECT_SAME(device_[i]->Get(), host_[i]);
  }

 private:
  // Stream `later` goes on when all on stream `before` until now is done.
  void Follow(int later, int before) {
    Event event;
    CUDA_OK(cudaEventRecord(event, streams_[before]));
    CUDA_OK(cudaStreamWaitEvent(streams_[later], event, 0));
  }
  // Before stream `stream` uses a buffer: everything that used it on other streams comes first.
  void Use(int buffer, int stream) {
    for (int other = 0; other < kStreams; ++other) {
      if (other != stream && touched_[buffer][other] >= 0) Follow(stream, other);
    }
    touched_[buffer].assign(kStreams, -1);
    touched_[buffer][stream] = 1;
  }
  void Step() {
    const int stream = random_.Below(kStreams), a = random_.Below(kBuffers), b = random_.Below(kBuffers),
              c = random_.Below(kBuffers), by = random_.Below(5) - 2, plus = random_.Below(100);
    Use(a, stream), Use(b, stream), Use(c, stream);
    const cudaStream_t on = streams_[stream];
    int *const x = *device_[a], *const y = *device_[b], *const z = *device_[c];
    switch (random_.Below(4)) {
      case 0:
        Scale<<<1, kLength, 0, on>>>(x, kLength, by, plus);
        steps_.push_back([=](auto& m) {
          for (int& value : m[a]) value = int(unsigned(value) * unsigned(by) + unsigned(plus));
        });
        break;
      case 1:
        Sum<<<1, kLength, 0, on>>>(x, y, z, kLength);
        steps_.push_back([=](auto& m) {
          for (int i = 0; i < kLength; ++i) m[c][i] = int(unsigned(m[a][i]) + unsigned(m[b][i]));
        });
        break;
      case 2:
        CUDA_OK(cudaMemcpyAsync(x, y, kLength * 4, cudaMemcpyDeviceToDevice, on));
        steps_.push_back([=](auto& m) { m[a] = std::vector<int>(m[b]); });
        break;
      default:
        CUDA_OK(cudaMemsetAsync(x, plus, kLength * 2, on));
        steps_.push_back([=](auto& m) { std::memset(m[a].data(), plus, kLength * 2); });
    }
  }

  using Memory = std::vector<std::vector<int>>;
  harness::Random random_;
  Stream streams_[kStreams];
  std::vector<std::unique_ptr<Buffer<int>>> device_;
  Memory host_;
  Memory touched_;  // by buffer and stream: not negative if work there used it since another stream followed
  std::vector<std::function<void(Memory&)>> steps_;
};
CASE(random_work_on_many_streams) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomWork work(seed);
    const cudaGraphExec_t exec = work.Capture();
    Stream stream;
    for (int launch = 0; launch < 3; ++launch) {
      CUDA_OK(cudaGraphLaunch(exec, stream));
      work.RunHere();
    }
    CUDA_OK(cudaStreamSynchronize(stream));
    work.Compare();
    CUDA_OK(cudaGraphExecDestroy(exec));
  }
}
