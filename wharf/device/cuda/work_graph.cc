#include "wharf/device/cuda/work_graph.h"

namespace wharf::device::cuda {
namespace {

// The driver's form of a kernel node. It points into itself: not to be moved.
class KernelParameters {
 public:
  explicit KernelParameters(const KernelNode& node) : bytes_(node.parameters.size()) {
    const Dim3 &g = node.config.grid, &b = node.config.block;
    parameters_.function = node.function;
    parameters_.grid_x = g.x, parameters_.grid_y = g.y, parameters_.grid_z = g.z;
    parameters_.block_x = b.x, parameters_.block_y = b.y, parameters_.block_z = b.z;
    parameters_.shared_bytes = node.config.shared_bytes;
    extra_[1] = const_cast<std::byte*>(node.parameters.data());
    extra_[3] = &bytes_;
    if (bytes_ != 0) parameters_.extra = extra_;
  }
  KernelParameters(const KernelParameters&) = delete;
  KernelParameters& operator=(const KernelParameters&) = delete;
  const KernelNodeParameters* get() const { return &parameters_; }

 private:
  size_t bytes_;
  void* extra_[5] = {kLaunchBufferPointer, nullptr, kLaunchBufferSize, nullptr, kLaunchEnd};
  KernelNodeParameters parameters_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkGraph>> WorkGraph::Build(Gpu* gpu, std::span<const GraphNode> nodes) {
  std::unique_ptr<WorkGraph> graph(new WorkGraph(gpu));
  WHARF_RETURN_IF_ERROR(gpu->Check((*gpu)->GraphCreate(&graph->graph_, 0), "cuGraphCreate"));
  for (const GraphNode& node : nodes) WHARF_RETURN_IF_ERROR(graph->Add(node));
  WHARF_RETURN_IF_ERROR(
      gpu->Check((*gpu)->GraphInstantiate(&graph->exec_, graph->graph_, 0), "cuGraphInstantiateWithFlags"));
  return graph;
}

WorkGraph::~WorkGraph() {
  if (exec_ != nullptr) (*gpu_)->GraphExecDestroy(exec_);
  if (graph_ != nullptr) (*gpu_)->GraphDestroy(graph_);
}

absl::Status WorkGraph::Add(const GraphNode& node) {
  const Driver& driver = *gpu_->operator->();
  const GraphNodeHandle before = nodes_.empty() ? nullptr : nodes_.back().handle;
  const size_t count = nodes_.empty() ? 0 : 1;
  GraphNodeHandle added = nullptr;
  Result result = kResultSuccess;
  if (const auto* kernel = std::get_if<KernelNode>(&node)) {
    result = driver.GraphAddKernelNode(&added, graph_, &before, count, KernelParameters(*kernel).get());
  } else if (const auto* copy = std::get_if<Copy3D>(&node)) {
    result = driver.GraphAddMemcpyNode(&added, graph_, &before, count, copy, gpu_->Context());
  } else if (const auto* captured = std::get_if<CapturedGraph>(&node)) {
    result = driver.GraphAddChildGraphNode(&added, graph_, &before, count, captured->handle());
  } else {
    result = driver.GraphAddMemsetNode(&added, graph_, &before, count, &std::get<MemsetNodeParameters>(node),
                                       gpu_->Context());
  }
  WHARF_RETURN_IF_ERROR(gpu_->Check(result, "a node of a CUDA graph"));
  nodes_.push_back({added, node.index()});
  return absl::OkStatus();
}

absl::Status WorkGraph::Set(size_t index, const GraphNode& node) {
  const auto& [handle, kind] = nodes_[index];
  if (kind != node.index()) return InvalidArgument("a node of a graph keeps its kind");
  const Driver& driver = *gpu_->operator->();
  Result result = kResultSuccess;
  if (const auto* kernel = std::get_if<KernelNode>(&node)) {
    result = driver.GraphExecKernelNodeSetParams(exec_, handle, KernelParameters(*kernel).get());
  } else if (const auto* copy = std::get_if<Copy3D>(&node)) {
    result = driver.GraphExecMemcpyNodeSetParams(exec_, handle, copy, gpu_->Context());
  } else if (const auto* captured = std::get_if<CapturedGraph>(&node)) {
    result = driver.GraphExecChildGraphNodeSetParams(exec_, handle, captured->handle());
  } else {
    result = driver.GraphExecMemsetNodeSetParams(exec_, handle, &std::get<MemsetNodeParameters>(node), gpu_->Context());
  }
  return gpu_->Check(result, "a change of a CUDA graph");
}

absl::Status WorkGraph::Launch(StreamHandle stream) {
  return gpu_->Check((*gpu_)->GraphLaunch(exec_, stream), "cuGraphLaunch");
}

}  // namespace wharf::device::cuda
