// CUDA graphs: nodes of every kind, order, queries, instances and their changes, memory of graphs.
#include <cuda.h>

#include <fstream>
#include <iterator>

#include "tests/cuda/harness.h"

__global__ void Scale(int* values, int n, int by, int plus) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * by + plus;
}
__global__ void Sum(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
__global__ void Nothing() {}
__device__ int variable[100];

static constexpr int kN = 1000;

struct Graph {
  cudaGraph_t graph = nullptr;
  Graph() { CUDA_OK(cudaGraphCreate(&graph, 0)); }
  ~Graph() { CUDA_OK(cudaGraphDestroy(graph)); }
  operator cudaGraph_t() const { return graph; }
};
struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { CUDA_OK(cudaStreamCreate(&stream)); }
  ~Stream() { CUDA_OK(cudaStreamDestroy(stream)); }
  operator cudaStream_t() const { return stream; }
};
struct Exec {
  cudaGraphExec_t exec = nullptr;
  explicit Exec(cudaGraph_t graph, unsigned long long flags = 0) { CUDA_OK(cudaGraphInstantiate(&exec, graph, flags)); }
  ~Exec() { CUDA_OK(cudaGraphExecDestroy(exec)); }
  operator cudaGraphExec_t() const { return exec; }
};

using Nodes = std::vector<cudaGraphNode_t>;

// What a kernel node's parameters point to, as long as a call needs it.
struct ScaleCall {
  int* values;
  int n, by, plus;
  void* arguments[4] = {&values, &n, &by, &plus};
  cudaKernelNodeParams params{};
  ScaleCall(int* v, int count, int factor, int addend) : values(v), n(count), by(factor), plus(addend) {
    params.func = reinterpret_cast<void*>(Scale);
    params.gridDim = dim3((count + 127) / 128);
    params.blockDim = dim3(128);
    params.kernelParams = arguments;
  }
  ScaleCall(const ScaleCall&) = delete;
};
static cudaGraphNode_t AddScale(cudaGraph_t graph, const Nodes& after, int* values, int n, int by, int plus) {
  cudaGraphNode_t node = nullptr;
  const ScaleCall call(values, n, by, plus);
  CUDA_OK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &call.params));
  return node;
}
static cudaGraphNode_t AddSum(cudaGraph_t graph, const Nodes& after, int* a, int* b, int* out, int n) {
  void* arguments[] = {&a, &b, &out, &n};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(Sum);
  params.gridDim = dim3((n + 127) / 128);
  params.blockDim = dim3(128);
  params.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
  return node;
}
static cudaGraphNode_t AddCopy(cudaGraph_t graph, const Nodes& after, void* to, const void* from, size_t bytes,
                               cudaMemcpyKind kind) {
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddMemcpyNode1D(&node, graph, after.data(), after.size(), to, from, bytes, kind));
  return node;
}
static cudaGraphNode_t AddFill(cudaGraph_t graph, const Nodes& after, void* to, unsigned value, unsigned element,
                               size_t width, size_t height = 1, size_t pitch = 0) {
  cudaMemsetParams params{to, pitch, value, element, width, height};
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddMemsetNode(&node, graph, after.data(), after.size(), &params));
  return node;
}
static cudaGraphNode_t AddHost(cudaGraph_t graph, const Nodes& after, cudaHostFn_t function, void* user) {
  cudaHostNodeParams params{function, user};
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddHostNode(&node, graph, after.data(), after.size(), &params));
  return node;
}
static cudaGraphNode_t AddEmpty(cudaGraph_t graph, const Nodes& after) {
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddEmptyNode(&node, graph, after.data(), after.size()));
  return node;
}
static void Run(cudaGraphExec_t exec, cudaStream_t stream) {
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
}

struct Doubler {
  int* values;
  int calls = 0;
};
static void CUDART_CB Double(void* user) {
  auto* const doubler = static_cast<Doubler*>(user);
  for (int i = 0; i < kN; ++i) doubler->values[i] *= 2;
  ++doubler->calls;
}

// Copies in, kernels, a fill, copies out, a host function that changes what the next copy reads. That memory is pinned:
// CUDA copies pageable memory by way of its own, whose copying it does not order with host functions of the same graph.
CASE(explicit_graph_launched_again_and_again) {
  Graph graph;
  Stream stream;
  Buffer<int> a(kN), b(kN), sum(kN);
  std::vector<int> in(kN), out(kN);
  int* middle = nullptr;
  CUDA_OK(cudaMallocHost(&middle, kN * 4));
  Doubler doubler{middle};
  const auto copy_in = AddCopy(graph, {}, a, in.data(), kN * 4, cudaMemcpyHostToDevice);
  const auto fill = AddFill(graph, {}, b, 7, 4, kN);
  const auto scale = AddScale(graph, {copy_in}, a, kN, 3, 1);
  const auto add = AddSum(graph, {scale, fill}, a, b, sum, kN);
  const auto copy_middle = AddCopy(graph, {add}, middle, sum, kN * 4, cudaMemcpyDeviceToHost);
  const auto host = AddHost(graph, {copy_middle}, Double, &doubler);
  const auto copy_back = AddCopy(graph, {host}, sum, middle, kN * 4, cudaMemcpyHostToDevice);
  const auto last = AddScale(graph, {copy_back}, sum, kN, 1, 5);
  AddCopy(graph, {last}, out.data(), sum, kN * 4, cudaMemcpyDeviceToHost);
  Exec exec(graph);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> want(kN);
    for (int i = 0; i < kN; ++i) {
      in[i] = i * 17 + round * 1000;
      want[i] = (in[i] * 3 + 1 + 7) * 2 + 5;
    }
    Run(exec, stream);
    EXPECT_SAME(out, want);
    harness::Hash(out.data(), kN * 4);
  }
  EXPECT_EQ(doubler.calls, 20);
  CUDA_OK(cudaFreeHost(middle));
}
CASE(dependencies_are_kept_whatever_the_order_of_making) {
  Graph graph;
  Stream stream;
  Buffer<int> values(kN);
  // Made last to first: each multiplies by three and adds its number.
  Nodes nodes;
  for (int i = 8; i >= 1; --i) nodes.push_back(AddScale(graph, {}, values, kN, 3, i));
  const Nodes from(nodes.rbegin(), nodes.rend() - 1), to(nodes.rbegin() + 1, nodes.rend());
  CUDA_OK(cudaGraphAddDependencies(graph, from.data(), to.data(), nullptr, from.size()));
  Exec exec(graph);
  Run(exec, stream);
  int want = 0;
  for (int i = 1; i <= 8; ++i) want = want * 3 + i;
  EXPECT_SAME(values.Get(), std::vector<int>(kN, want));
}
CASE(launches_follow_each_other_on_all_streams) {
  Graph graph;
  Stream first, second;
  Buffer<int> values(kN);
  AddScale(graph, {}, values, kN, 3, 1);
  Exec exec(graph);
  int want = 0;
  for (int i = 0; i < 10; ++i) {
    CUDA_OK(cudaGraphLaunch(exec, i % 2 ? first : second));
    want = want * 3 + 1;
  }
  CUDA_OK(cudaStreamSynchronize(first));
  EXPECT_SAME(values.Get(), std::vector<int>(kN, want));
}
CASE(copies_to_pageable_memory_are_there_after_waiting) {
  Graph graph;
  Stream stream;
  Buffer<int> values(kN);
  std::vector<int> first(kN), second(kN);
  int* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, kN * 4));
  const auto a = AddScale(graph, {}, values, kN, 1, 1);
  const auto b = AddCopy(graph, {a}, first.data(), values, kN * 4, cudaMemcpyDeviceToHost);
  const auto c = AddCopy(graph, {b}, pinned, values, kN * 4, cudaMemcpyDeviceToHost);
  // Reads what a copy of the same launch wrote.
  const auto d = AddCopy(graph, {c}, values, first.data(), kN * 2, cudaMemcpyHostToDevice);
  AddCopy(graph, {d}, second.data(), pinned, kN * 4, cudaMemcpyHostToHost);
  Exec exec(graph);
  for (int round = 1; round <= 5; ++round) {
    Run(exec, stream);
    EXPECT_SAME(first, std::vector<int>(kN, round));
    EXPECT_SAME(second, std::vector<int>(kN, round));
  }
  CUDA_OK(cudaFreeHost(pinned));
}
CASE(boxes_and_fills_of_rows) {
  Graph graph;
  Stream stream;
  constexpr int kWidth = 20, kHeight = 11;
  unsigned char* rows = nullptr;
  size_t pitch = 0;
  CUDA_OK(cudaMallocPitch(&rows, &pitch, kWidth, kHeight));
  const auto whole = AddFill(graph, {}, rows, 0x11, 1, kWidth, kHeight, pitch);
  const auto part = AddFill(graph, {whole}, rows + pitch * 2 + 4, 0x2233, 2, 3, 4, pitch);
  std::vector<unsigned char> out(kWidth * kHeight);
  cudaMemcpy3DParms box{};
  box.srcPtr = make_cudaPitchedPtr(rows, pitch, kWidth, kHeight);
  box.dstPtr = make_cudaPitchedPtr(out.data(), kWidth, kWidth, kHeight);
  box.srcPos = make_cudaPos(4, 1, 0);
  box.dstPos = make_cudaPos(2, 0, 0);
  box.extent = make_cudaExtent(10, 6, 1);
  box.kind = cudaMemcpyDeviceToHost;
  cudaGraphNode_t copy = nullptr;
  CUDA_OK(cudaGraphAddMemcpyNode(&copy, graph, &part, 1, &box));
  cudaMemcpy3DParms read{};
  CUDA_OK(cudaGraphMemcpyNodeGetParams(copy, &read));
  EXPECT(read.srcPtr.ptr == rows && read.srcPtr.pitch == pitch && read.srcPos.x == 4 && read.srcPos.y == 1);
  EXPECT(read.dstPtr.ptr == out.data() && read.dstPos.x == 2 && read.extent.width == 10 && read.extent.height == 6);
  EXPECT_EQ(read.kind, cudaMemcpyDeviceToHost);
  Exec exec(graph);
  Run(exec, stream);
  std::vector<unsigned char> want(kWidth * kHeight);
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 10; ++x) {
      const bool in_part = y + 1 >= 2 && y + 1 < 6 && x < 6;
      want[y * kWidth + x + 2] = !in_part ? 0x11 : x % 2 ? 0x22 : 0x33;
    }
  EXPECT_SAME(out, want);
  CUDA_OK(cudaFree(rows));
}
CASE(module_variables) {
  Graph graph;
  Stream stream;
  const std::vector<int> in(50, 42);
  std::vector<int> out(100, 1);
  cudaGraphNode_t to = nullptr, from = nullptr;
  void* address = nullptr;
  CUDA_OK(cudaGetSymbolAddress(&address, variable));
  const auto fill = AddFill(graph, {}, address, 9, 4, 100);
  CUDA_OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, &fill, 1, variable, in.data(), 200, 40, cudaMemcpyHostToDevice));
  CUDA_OK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, out.data(), variable, 400, 0, cudaMemcpyDeviceToHost));
  Exec exec(graph);
  Run(exec, stream);
  std::vector<int> want(100, 9);
  std::fill_n(want.begin() + 10, 50, 42);
  EXPECT_SAME(out, want);
  // Instances can be given another part of it.
  CUDA_OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, variable, in.data(), 40, 0, cudaMemcpyHostToDevice));
  Run(exec, stream);
  want.assign(100, 9);
  std::fill_n(want.begin(), 10, 42);
  EXPECT_SAME(out, want);
  EXPECT_EQ(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, in.data(), in.data(), 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
}
CASE(events_as_nodes) {
  Graph recorder, waiter;
  Stream a, b;
  cudaEvent_t event;
  CUDA_OK(cudaEventCreate(&event));
  Buffer<int> values(kN), copy(kN);
  const auto scale = AddScale(recorder, {}, values, kN, 1, 33);
  cudaGraphNode_t record = nullptr, wait = nullptr;
  CUDA_OK(cudaGraphAddEventRecordNode(&record, recorder, &scale, 1, event));
  CUDA_OK(cudaGraphAddEventWaitNode(&wait, waiter, nullptr, 0, event));
  AddCopy(waiter, {wait}, copy, values, kN * 4, cudaMemcpyDeviceToDevice);
  cudaEvent_t got = nullptr;
  CUDA_OK(cudaGraphEventRecordNodeGetEvent(record, &got));
  EXPECT(got == event);
  Exec first(recorder), second(waiter);
  CUDA_OK(cudaGraphLaunch(first, a));
  CUDA_OK(cudaGraphLaunch(second, b));
  CUDA_OK(cudaStreamSynchronize(b));
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_SAME(copy.Get(), std::vector<int>(kN, 33));
  EXPECT_EQ(cudaGraphEventWaitNodeSetEvent(record, event), cudaErrorInvalidValue);
  CUDA_OK(cudaEventDestroy(event));
}
CASE(child_graphs_are_copies) {
  Graph child, parent;
  Stream stream;
  Buffer<int> values(kN);
  AddScale(child, {AddScale(child, {}, values, kN, 1, 1)}, values, kN, 10, 0);
  const auto before = AddFill(parent, {}, values, 1, 4, kN);
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddChildGraphNode(&node, parent, &before, 1, child));
  AddScale(parent, {node}, values, kN, 1, 3);
  AddScale(child, {}, values, kN, 0, 0);  // too late for the parent
  cudaGraph_t inner = nullptr;
  CUDA_OK(cudaGraphChildGraphNodeGetGraph(node, &inner));
  EXPECT(inner != child.graph);
  size_t count = 0;
  CUDA_OK(cudaGraphGetNodes(inner, nullptr, &count));
  EXPECT_EQ(count, 2u);
  Exec exec(parent);
  Run(exec, stream);
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 23));
  Graph other;
  AddScale(other, {AddScale(other, {}, values, kN, 1, 2)}, values, kN, 100, 0);
  CUDA_OK(cudaGraphExecChildGraphNodeSetParams(exec, node, other));
  Run(exec, stream);
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 303));
  EXPECT_EQ(cudaGraphExecChildGraphNodeSetParams(exec, node, child), cudaErrorGraphExecUpdateFailure);
}
CASE(queries_of_the_structure) {
  Graph graph;
  const auto a = AddEmpty(graph, {}), b = AddEmpty(graph, {a}), c = AddEmpty(graph, {a, b});
  cudaGraphNode_t nodes[4] = {a, a, a, a};
  size_t count = 4;
  CUDA_OK(cudaGraphGetNodes(graph, nodes, &count));
  EXPECT(count == 3 && nodes[0] == a && nodes[1] == b && nodes[2] == c && nodes[3] == nullptr);
  count = 4;
  CUDA_OK(cudaGraphGetRootNodes(graph, nodes, &count));
  EXPECT(count == 1 && nodes[0] == a && nodes[1] == nullptr);
  cudaGraphNode_t from[3], to[3];
  count = 0;
  CUDA_OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 3u);
  CUDA_OK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
  EXPECT(from[0] == a && to[0] == b && from[1] == a && to[1] == c && from[2] == b && to[2] == c);
  count = 3;
  CUDA_OK(cudaGraphNodeGetDependencies(c, nodes, nullptr, &count));
  EXPECT(count == 2 && nodes[0] == a && nodes[1] == b);
  count = 1;
  CUDA_OK(cudaGraphNodeGetDependentNodes(a, nodes, nullptr, &count));
  EXPECT(count == 1 && nodes[0] == b);
  cudaGraphNodeType type{};
  CUDA_OK(cudaGraphNodeGetType(b, &type));
  EXPECT_EQ(type, cudaGraphNodeTypeEmpty);
  CUDA_OK(cudaGraphRemoveDependencies(graph, &a, &c, nullptr, 1));
  EXPECT_EQ(cudaGraphRemoveDependencies(graph, &a, &c, nullptr, 1), cudaErrorInvalidValue);
  CUDA_OK(cudaGraphDestroyNode(b));
  count = 4;
  CUDA_OK(cudaGraphGetRootNodes(graph, nodes, &count));
  EXPECT(count == 2 && std::count(nodes, nodes + 2, a) == 1 && std::count(nodes, nodes + 2, c) == 1);  // in any order
}
CASE(clones) {
  Graph graph;
  Stream stream;
  Buffer<int> values(kN);
  const auto node = AddScale(graph, {}, values, kN, 1, 4);
  cudaGraph_t clone = nullptr;
  CUDA_OK(cudaGraphClone(&clone, graph));
  cudaGraphNode_t twin = nullptr;
  CUDA_OK(cudaGraphNodeFindInClone(&twin, node, clone));
  EXPECT(twin != nullptr && twin != node);
  const ScaleCall call(values, kN, 1, 50);
  CUDA_OK(cudaGraphKernelNodeSetParams(twin, &call.params));
  Exec first(graph), second(clone);
  Run(first, stream);
  Run(second, stream);
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 54));
  EXPECT_EQ(cudaGraphNodeFindInClone(&twin, twin, clone), cudaErrorInvalidValue);
  CUDA_OK(cudaGraphDestroy(clone));
}
CASE(parameters_of_kernels_are_kept) {
  Graph graph;
  Buffer<int> values(kN);
  const auto node = AddScale(graph, {}, values, kN, 5, 6);
  cudaKernelNodeParams params{};
  CUDA_OK(cudaGraphKernelNodeGetParams(node, &params));
  EXPECT(params.func == reinterpret_cast<void*>(Scale));
  EXPECT(params.gridDim.x == 8 && params.blockDim.x == 128 && params.sharedMemBytes == 0);
  EXPECT(*static_cast<int**>(params.kernelParams[0]) == values.get());
  EXPECT(*static_cast<int*>(params.kernelParams[2]) == 5 && *static_cast<int*>(params.kernelParams[3]) == 6);
  cudaKernelNodeAttrValue value{};
  value.priority = 0;
  CUDA_OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value));
  CUDA_OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
  EXPECT_EQ(value.priority, 0);
  cudaKernelNodeParams wrong = params;
  wrong.blockDim = dim3(4096);
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &wrong), cudaErrorInvalidValue);
  wrong = params;
  wrong.func = &wrong;
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &wrong), cudaErrorInvalidResourceHandle);
  cudaKernelNodeParams nothing{};
  nothing.func = reinterpret_cast<void*>(Nothing);
  nothing.gridDim = nothing.blockDim = dim3(1);
  cudaGraphNode_t other = nullptr;
  CUDA_OK(cudaGraphAddKernelNode(&other, graph, nullptr, 0, &nothing));
}
CASE(instances_change_node_by_node) {
  Graph graph;
  Stream stream;
  Buffer<int> values(kN);
  std::vector<int> out(kN), other(kN);
  const auto fill = AddFill(graph, {}, values, 2, 4, kN);
  const auto scale = AddScale(graph, {fill}, values, kN, 10, 1);
  const auto copy = AddCopy(graph, {scale}, out.data(), values, kN * 4, cudaMemcpyDeviceToHost);
  Exec exec(graph);
  Run(exec, stream);
  EXPECT_SAME(out, std::vector<int>(kN, 21));
  const ScaleCall call(values, kN, 100, 2);
  CUDA_OK(cudaGraphExecKernelNodeSetParams(exec, scale, &call.params));
  const cudaMemsetParams three{values.get(), 0, 3, 4, kN, 1};
  CUDA_OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &three));
  CUDA_OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, other.data(), values, kN * 4, cudaMemcpyDeviceToHost));
  Run(exec, stream);
  EXPECT_SAME(other, std::vector<int>(kN, 302));
  EXPECT_SAME(out, std::vector<int>(kN, 21));
  unsigned enabled = 9;
  CUDA_OK(cudaGraphNodeSetEnabled(exec, scale, 0));
  CUDA_OK(cudaGraphNodeGetEnabled(exec, scale, &enabled));
  EXPECT_EQ(enabled, 0u);
  Run(exec, stream);
  EXPECT_SAME(other, std::vector<int>(kN, 3));
  CUDA_OK(cudaGraphNodeSetEnabled(exec, scale, 1));
  Run(exec, stream);
  EXPECT_SAME(other, std::vector<int>(kN, 302));
  // The graph itself did not change, nor may the direction of a copy.
  Exec fresh(graph);
  Run(fresh, stream);
  EXPECT_SAME(out, std::vector<int>(kN, 21));
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, values, out.data(), kN * 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
}
CASE(instances_change_as_a_whole) {
  Stream stream;
  Buffer<int> values(kN);
  const auto make = [&](cudaGraph_t graph, int plus) {
    const auto fill = AddFill(graph, {}, values, 1, 4, kN);
    return AddScale(graph, {fill}, values, kN, 1, plus);
  };
  Graph graph, same, longer, other;
  make(graph, 1);
  make(same, 2);
  AddScale(longer, {make(longer, 3)}, values, kN, 1, 1);
  AddEmpty(other, {AddFill(other, {}, values, 1, 4, kN)});
  Exec exec(graph);
  cudaGraphExecUpdateResultInfo info{};
  CUDA_OK(cudaGraphExecUpdate(exec, same, &info));
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  Run(exec, stream);
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 3));
  EXPECT_EQ(cudaGraphExecUpdate(exec, longer, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  EXPECT_EQ(cudaGraphExecUpdate(exec, other, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
  Run(exec, stream);
  EXPECT_SAME(values.Get(), std::vector<int>(kN, 3));
}
CASE(memory_of_graphs) {
  Graph graph;
  Stream stream;
  Buffer<int> out(kN);
  cudaMemAllocNodeParams params{};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  params.bytesize = kN * 4;
  cudaGraphNode_t allocation = nullptr, freed = nullptr;
  CUDA_OK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params));
  int* const memory = static_cast<int*>(params.dptr);
  const auto fill = AddFill(graph, {allocation}, memory, 6, 4, kN);
  const auto scale = AddScale(graph, {fill}, memory, kN, 7, 0);
  const auto copy = AddCopy(graph, {scale}, out, memory, kN * 4, cudaMemcpyDeviceToDevice);
  CUDA_OK(cudaGraphAddMemFreeNode(&freed, graph, &copy, 1, memory));
  void* read = nullptr;
  CUDA_OK(cudaGraphMemFreeNodeGetParams(freed, &read));
  EXPECT(read == memory);
  cudaGraph_t clone = nullptr;
  EXPECT_EQ(cudaGraphClone(&clone, graph), cudaErrorNotSupported);
  EXPECT_EQ(cudaGraphDestroyNode(copy), cudaErrorNotSupported);
  Exec exec(graph);
  cudaGraphExec_t second = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&second, graph, 0), cudaErrorNotSupported);
  for (int i = 0; i < 3; ++i) Run(exec, stream);
  EXPECT_SAME(out.Get(), std::vector<int>(kN, 42));
}
CASE(memory_that_a_launch_leaves_to_the_program) {
  Graph graph;
  Stream stream;
  cudaMemAllocNodeParams params{};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  params.bytesize = kN * 4;
  cudaGraphNode_t allocation = nullptr;
  CUDA_OK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params));
  AddFill(graph, {allocation}, params.dptr, 8, 4, kN);
  std::vector<int> out(kN);
  {
    Exec exec(graph);
    Run(exec, stream);
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);  // not freed yet
    CUDA_OK(cudaMemcpy(out.data(), params.dptr, kN * 4, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaFreeAsync(params.dptr, stream));
    Run(exec, stream);
    CUDA_OK(cudaFree(params.dptr));
    EXPECT_EQ(cudaFree(params.dptr), cudaErrorInvalidValue);
  }
  EXPECT_SAME(out, std::vector<int>(kN, 8));
  Exec freeing(graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  for (int i = 0; i < 3; ++i) Run(freeing, stream);
  CUDA_OK(cudaFree(params.dptr));
}
uint64_t GraphMemory(cudaGraphMemAttributeType attribute) {
  uint64_t bytes = 0;
  CUDA_OK(cudaDeviceGetGraphMemAttribute(0, attribute, &bytes));
  return bytes;
}
CASE(memory_of_graphs_is_counted) {
  constexpr uint64_t kBytes = 4 << 20;
  const uint64_t before = GraphMemory(cudaGraphMemAttrReservedMemCurrent);
  {
    Graph graph;
    Stream stream;
    cudaMemAllocNodeParams params{};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = kBytes;
    cudaGraphNode_t allocation = nullptr;
    CUDA_OK(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params));
    AddFill(graph, {allocation}, params.dptr, 8, 4, kN);
    Exec exec(graph);
    Run(exec, stream);
    EXPECT(GraphMemory(cudaGraphMemAttrUsedMemCurrent) >= kBytes);
    EXPECT(GraphMemory(cudaGraphMemAttrReservedMemCurrent) >= kBytes);
    CUDA_OK(cudaFree(params.dptr));
  }
  CUDA_OK(cudaDeviceGraphMemTrim(0));
  EXPECT(GraphMemory(cudaGraphMemAttrReservedMemCurrent) <= before);
  EXPECT(GraphMemory(cudaGraphMemAttrUsedMemHigh) >= kBytes);
  uint64_t none = 0;
  CUDA_OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &none));
  EXPECT(GraphMemory(cudaGraphMemAttrUsedMemHigh) < kBytes + before);
  EXPECT_EQ(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &none), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGraphMemTrim(1), cudaErrorInvalidDevice);
}
CASE(nodes_of_any_kind_by_one_call) {
  Graph graph;
  Stream stream;
  Buffer<int> values(kN);
  std::vector<int> out(kN);
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeMemset;
  params.memset = {values.get(), 0, 5, 4, kN, 1};
  cudaGraphNode_t fill = nullptr, scale = nullptr, copy = nullptr;
  CUDA_OK(cudaGraphAddNode(&fill, graph, nullptr, nullptr, 0, &params));
  const ScaleCall call(values, kN, 2, 1);
  params = {};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = call.params.func;
  params.kernel.gridDim = call.params.gridDim;
  params.kernel.blockDim = call.params.blockDim;
  params.kernel.kernelParams = const_cast<void**>(call.arguments);
  CUDA_OK(cudaGraphAddNode(&scale, graph, &fill, nullptr, 1, &params));
  params = {};
  params.type = cudaGraphNodeTypeMemcpy;
  params.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(values.get(), kN * 4, kN * 4, 1);
  params.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(out.data(), kN * 4, kN * 4, 1);
  params.memcpy.copyParams.extent = make_cudaExtent(kN * 4, 1, 1);
  params.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
  CUDA_OK(cudaGraphAddNode(&copy, graph, &scale, nullptr, 1, &params));
  Exec exec(graph);
  Run(exec, stream);
  EXPECT_SAME(out, std::vector<int>(kN, 11));
  params = {};
  params.type = cudaGraphNodeTypeMemset;
  params.memset = {values.get(), 0, 6, 4, kN, 1};
  CUDA_OK(cudaGraphExecNodeSetParams(exec, fill, &params));
  Run(exec, stream);
  EXPECT_SAME(out, std::vector<int>(kN, 13));
}
CASE(printed_for_people) {
  Graph graph;
  Buffer<int> values(kN);
  AddScale(graph, {AddFill(graph, {}, values, 1, 4, kN)}, values, kN, 1, 1);
  char path[] = "/tmp/wharf_graph_XXXXXX";
  const int file = mkstemp(path);
  EXPECT(file >= 0);
  close(file);
  CUDA_OK(cudaGraphDebugDotPrint(graph, path, 0));
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT(text.find("digraph") != std::string::npos && text.find("->") != std::string::npos);
  EXPECT(text.find("Scale") != std::string::npos);
  unlink(path);
}
CASE(refusals) {
  Graph graph, other;
  Buffer<int> values(kN);
  cudaGraph_t made = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(cudaGraphCreate(&made, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddEmptyNode(&node, nullptr, nullptr, 0), cudaErrorInvalidValue);
  const auto a = AddEmpty(graph, {}), b = AddEmpty(graph, {a}), foreign = AddEmpty(other, {});
  EXPECT_EQ(cudaGraphAddEmptyNode(&node, graph, &foreign, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddDependencies(graph, &a, &b, nullptr, 1), cudaErrorInvalidValue);  // there is one
  cudaHostNodeParams host{};
  EXPECT_EQ(cudaGraphAddHostNode(&node, graph, nullptr, 0, &host), cudaErrorInvalidValue);
  cudaMemsetParams fill{values.get(), 0, 0, 3, kN, 1};
  EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), cudaErrorInvalidValue);
  cudaMemsetParams read{};
  EXPECT_EQ(cudaGraphMemsetNodeGetParams(a, &read), cudaErrorInvalidValue);
  CUDA_OK(cudaGraphAddDependencies(graph, &b, &a, nullptr, 1));  // a circle
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiate(&exec, other, 1ull << 40), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphExecDestroy(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphLaunch(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}
