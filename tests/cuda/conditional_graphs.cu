// Conditional nodes of CUDA graphs: if, if and else, while, switch, in one another, built by hand and by capture.
#include "tests/cuda/harness.h"

using Handle = cudaGraphConditionalHandle;

// A server's GPU has no such nodes.
static const bool skips = [] {
  cudaGraph_t graph = nullptr;
  Handle handle = 0;
  if (cudaGraphCreate(&graph, 0) != cudaSuccess) return false;
  const cudaError_t error = cudaGraphConditionalHandleCreate(&handle, graph);
  cudaGraphDestroy(graph);
  if (error != cudaErrorNotSupported) return false;
  std::printf("skipped: no conditional nodes\n");
  std::exit(77);
}();

__global__ void SetFrom(Handle handle, const int* value) { cudaGraphSetConditional(handle, unsigned(*value)); }
__global__ void Add(int* to, int what) { *to += what; }
__global__ void Append(int* list, int what) { list[++list[0]] = what; }
// Counts down; the loop goes on while something is left.
__global__ void CountDown(Handle handle, int* left) { cudaGraphSetConditional(handle, --*left > 0); }
// A Collatz step: odd and even numbers go different ways.
__global__ void Look(Handle loop, Handle odd, const int* number) {
  cudaGraphSetConditional(loop, *number != 1);
  cudaGraphSetConditional(odd, *number % 2);
}
__global__ void Halve(int* number) { *number /= 2; }
__global__ void Triple(int* number) { *number = 3 * *number + 1; }

template <class... Parameters>
static cudaGraphNode_t AddKernel(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, void (*kernel)(Parameters...),
                                 Parameters... parameters) {
  void* pointers[] = {&parameters...};
  cudaGraphNodeParams params = {cudaGraphNodeTypeKernel};
  params.kernel.func = reinterpret_cast<void*>(kernel);
  params.kernel.gridDim = params.kernel.blockDim = dim3(1);
  params.kernel.kernelParams = pointers;
  cudaGraphNode_t node = nullptr;
  CUDA_OK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &params));
  return node;
}

struct Conditional {
  cudaGraphNode_t node = nullptr;
  std::vector<cudaGraph_t> bodies;
  Conditional(cudaGraph_t graph, std::vector<cudaGraphNode_t> after, Handle handle, cudaGraphConditionalNodeType type,
              unsigned size) {
    cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    CUDA_OK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &params));
    bodies.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + size);
    cudaGraphNodeType is;
    CUDA_OK(cudaGraphNodeGetType(node, &is));
    EXPECT_EQ(is, cudaGraphNodeTypeConditional);
  }
};

struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  Graph() { CUDA_OK(cudaGraphCreate(&graph, 0)); }
  ~Graph() {
    CUDA_OK(cudaGraphDestroy(graph));
    if (exec != nullptr) CUDA_OK(cudaGraphExecDestroy(exec));
  }
  Handle NewHandle(unsigned initial = 0, unsigned flags = 0) {
    Handle handle = 0;
    CUDA_OK(cudaGraphConditionalHandleCreate(&handle, graph, initial, flags));
    return handle;
  }
  void Launch() {
    if (exec == nullptr) CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphLaunch(exec, nullptr));
  }
};

CASE(a_body_runs_if_the_condition_is_not_zero) {
  Graph graph;
  Buffer<int> value(1), sum(1);
  const Handle handle = graph.NewHandle();
  const Conditional branch(graph.graph, {AddKernel(graph.graph, {}, SetFrom, handle, (const int*)value.get())}, handle,
                           cudaGraphCondTypeIf, 1);
  AddKernel(branch.bodies[0], {}, Add, sum.get(), 100);
  AddKernel(graph.graph, {branch.node}, Add, sum.get(), 1);
  for (const int one : {0, 1, 5, 0}) {
    value.Set({one});
    graph.Launch();
  }
  EXPECT_SAME(sum.Get(), std::vector<int>{204});
}

CASE(the_other_body_runs_if_it_is_zero) {
  Graph graph;
  Buffer<int> value(1), list(8);
  const Handle handle = graph.NewHandle();
  const Conditional branch(graph.graph, {AddKernel(graph.graph, {}, SetFrom, handle, (const int*)value.get())}, handle,
                           cudaGraphCondTypeIf, 2);
  AddKernel(branch.bodies[0], {}, Append, list.get(), 1);
  AddKernel(branch.bodies[1], {}, Append, list.get(), 2);
  for (const int one : {0, 7, 0}) {
    value.Set({one});
    graph.Launch();
  }
  EXPECT_SAME(list.Get(), (std::vector<int>{3, 2, 1, 2, 0, 0, 0, 0}));
}

CASE(a_loop_whose_body_was_captured) {
  Graph graph;
  Buffer<int> left(1), sum(1);
  const Handle handle = graph.NewHandle(1, cudaGraphCondAssignDefault);
  const Conditional loop(graph.graph, {}, handle, cudaGraphCondTypeWhile, 1);
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaStreamBeginCaptureToGraph(stream, loop.bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
  Add<<<1, 1, 0, stream>>>(sum, 10);
  CountDown<<<1, 1, 0, stream>>>(handle, left);
  CUDA_OK(cudaStreamEndCapture(stream, nullptr));
  for (const int rounds : {4, 1, 20}) {  // at least one: the condition begins as one
    left.Set({rounds});
    graph.Launch();
  }
  EXPECT_SAME(sum.Get(), std::vector<int>{250});
  EXPECT_SAME(left.Get(), std::vector<int>{0});
  CUDA_OK(cudaStreamDestroy(stream));
}

CASE(one_of_several_bodies) {
  Graph graph;
  Buffer<int> value(1), list(8);
  const Handle handle = graph.NewHandle();
  const Conditional choice(graph.graph, {AddKernel(graph.graph, {}, SetFrom, handle, (const int*)value.get())}, handle,
                           cudaGraphCondTypeSwitch, 3);
  for (int i = 0; i < 3; ++i) AddKernel(choice.bodies[i], {}, Append, list.get(), 10 + i);
  for (const int one : {2, 0, 3, 1, -1}) {  // nothing for 3 and -1
    value.Set({one});
    graph.Launch();
  }
  EXPECT_SAME(list.Get(), (std::vector<int>{3, 12, 10, 11, 0, 0, 0, 0}));
}

CASE(branches_in_a_loop) {
  Graph graph;
  Buffer<int> number(1), steps(1);
  const Handle loop = graph.NewHandle(), odd = graph.NewHandle();
  const Conditional rounds(graph.graph, {AddKernel(graph.graph, {}, Look, loop, odd, (const int*)number.get())}, loop,
                           cudaGraphCondTypeWhile, 1);
  const cudaGraph_t body = rounds.bodies[0];
  const Conditional branch(body, {AddKernel(body, {}, Add, steps.get(), 1)}, odd, cudaGraphCondTypeIf, 2);
  AddKernel(branch.bodies[0], {}, Triple, number.get());
  AddKernel(branch.bodies[1], {}, Halve, number.get());
  AddKernel(body, {branch.node}, Look, loop, odd, (const int*)number.get());
  number.Set({27});
  graph.Launch();
  EXPECT_SAME(number.Get(), std::vector<int>{1});
  EXPECT_SAME(steps.Get(), std::vector<int>{111});
}

CASE(a_loop_within_a_capture) {
  Buffer<int> left(1), sum(1);
  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  Add<<<1, 1, 0, stream>>>(sum, 1000);
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t* nodes;
  size_t count;
  CUDA_OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &nodes, nullptr, &count));
  Handle handle;
  CUDA_OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  const Conditional loop(graph, {nodes, nodes + count}, handle, cudaGraphCondTypeWhile, 1);
  AddKernel(loop.bodies[0], {AddKernel(loop.bodies[0], {}, Add, sum.get(), 1)}, CountDown, handle, left.get());
  CUDA_OK(cudaStreamUpdateCaptureDependencies(stream, const_cast<cudaGraphNode_t*>(&loop.node), nullptr, 1,
                                              cudaStreamSetCaptureDependencies));
  Add<<<1, 1, 0, stream>>>(sum, 100);
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
  left.Set({5});
  CUDA_OK(cudaGraphLaunch(exec, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_SAME(sum.Get(), std::vector<int>{1105});
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
  CUDA_OK(cudaStreamDestroy(stream));
}

CASE(what_there_cannot_be) {
  Graph graph;
  Handle handle = 0;
  EXPECT_EQ(cudaGraphConditionalHandleCreate(&handle, graph.graph, 0, 2), cudaErrorInvalidValue);
  handle = graph.NewHandle();
  cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 2;
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddNode(&node, graph.graph, nullptr, nullptr, 0, &params), cudaErrorInvalidValue);
  params.conditional.size = 0;
  EXPECT_EQ(cudaGraphAddNode(&node, graph.graph, nullptr, nullptr, 0, &params), cudaErrorInvalidValue);
  cudaGetLastError();
}
