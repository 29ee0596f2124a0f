#include "wharf/cudashim/client/graph/graphs.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/client/graph/owned.h"
#include "wharf/cudashim/client/launch_attribute.h"
#include "wharf/cudashim/client/stream_work.h"
#include "wharf/cudashim/graph/dot.h"

namespace wharf::client {
namespace {

using cudagraph::EdgeData;
using cudagraph::Graph;
using cudagraph::Node;
using cudagraph::Params;

CudaError CheckEvent(EventHandle event) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  absl::MutexLock lock(&connection->mutex);
  return connection->events.contains(event) ? CudaError::kSuccess : CudaError::kInvalidValue;
}

CudaError CheckFreed(uint64_t address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const auto range = connection->FindRange(address);
  return range && range->address == address ? CudaError::kSuccess : CudaError::kInvalidValue;
}

// Only a kernel has other ports than "all of it is done", and only work that follows one has other kinds of edges.
CudaError CheckEdges(const NodeHandle* from, const EdgeData* data, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!Node::Contains(from[i])) return CudaError::kInvalidValue;
    if (data == nullptr || data[i] == EdgeData{}) continue;
    const bool known = data[i].to_port == 0 && data[i].reserved == EdgeData{}.reserved && data[i].from_port <= 2 &&
                       data[i].type <= 1 && from[i]->type() == cudagraph::NodeType::kKernel;
    if (!known) return CudaError::kInvalidValue;
  }
  return CudaError::kSuccess;
}

template <typename T>
std::span<const T> SpanOf(const T* first, size_t count) {
  return {first, first == nullptr ? 0 : count};
}

CudaError Give(const std::vector<NodeHandle>& all, NodeHandle* room, size_t* count) {
  if (count == nullptr) return CudaError::kInvalidValue;
  if (room == nullptr) {
    *count = all.size();
    return CudaError::kSuccess;
  }
  const size_t stored = std::min(*count, all.size());
  std::copy_n(all.begin(), stored, room);
  std::fill(room + stored, room + *count, nullptr);
  *count = stored;
  return CudaError::kSuccess;
}

// Edges as a list of both ends; of `to` there may be no room wanted, if it is the same for all.
CudaError GiveEdges(const std::vector<std::pair<NodeHandle, EdgeData>>& from, const std::vector<NodeHandle>& to,
                    NodeHandle* from_room, NodeHandle* to_room, EdgeData* data, size_t* count) {
  if (count == nullptr) return CudaError::kInvalidValue;
  if (from_room == nullptr) {
    *count = from.size();
    return CudaError::kSuccess;
  }
  const size_t stored = std::min(*count, from.size());
  const bool plain = std::all_of(from.begin(), from.end(), [](const auto& edge) { return edge.second == EdgeData{}; });
  if (data == nullptr && !plain) return cudagraph::kLossyQuery;
  for (size_t i = 0; i < *count; ++i) {
    from_room[i] = i < stored ? from[i].first : nullptr;
    if (to_room != nullptr) to_room[i] = i < stored ? to[i] : nullptr;
    if (data != nullptr) data[i] = i < stored ? from[i].second : EdgeData{};
  }
  *count = stored;
  return CudaError::kSuccess;
}

cudagraph::KernelParams* KernelOf(NodeHandle node) {
  return Node::Contains(node) ? std::get_if<cudagraph::KernelParams>(&node->params) : nullptr;
}

// Of all graphs, by their handles.
class Conditions {
 public:
  static Conditions& Get() {
    static auto* const conditions = new Conditions;
    return *conditions;
  }
  void Add(uint64_t handle, const std::shared_ptr<const cudagraph::Condition>& condition) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& one) { return one.second.expired(); });
    all_[handle] = condition;
  }
  std::shared_ptr<const cudagraph::Condition> Find(uint64_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(handle);
    return found == all_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::weak_ptr<const cudagraph::Condition>> all_;
};

std::string Label(const Node& node) {
  if (const auto* const kernel = std::get_if<cudagraph::KernelParams>(&node.params)) {
    const device::Dim3 &grid = kernel->config.grid, &block = kernel->config.block;
    return fmt::format("KERNEL\n{}\n{}x{}x{} blocks of {}x{}x{} threads",
                       FunctionName(static_cast<Function*>(kernel->function)), grid.x, grid.y, grid.z, block.x, block.y,
                       block.z);
  }
  if (const auto* const gemm = std::get_if<cudagraph::GemmParams>(&node.params)) {
    return fmt::format("KERNEL\ncuBLAS, {} x {} x {}", gemm->gemm.m, gemm->gemm.n, gemm->gemm.k);
  }
  if (const auto* const params = std::get_if<cudagraph::PrimitiveParams>(&node.params)) {
    const char* const library = std::holds_alternative<device::Fourier>(params->primitive)  ? "cuFFT"
                                : std::holds_alternative<device::Lapack>(params->primitive) ? "cuSOLVER"
                                                                                            : "cuDNN";
    return fmt::format("KERNEL\n{}, {}", library, device::NameOf(params->primitive));
  }
  if (const auto* const copy = std::get_if<cudagraph::CopyParams>(&node.params)) {
    return fmt::format("MEMCPY\n{} bytes", copy->extent.width * copy->extent.height * copy->extent.depth);
  }
  if (const auto* const fill = std::get_if<cudagraph::FillParams>(&node.params)) {
    return fmt::format("MEMSET\n{} bytes", fill->extent.width * fill->extent.height * fill->extent.depth);
  }
  switch (node.type()) {
    case cudagraph::NodeType::kHost:
      return "HOST";
    case cudagraph::NodeType::kChild:
      return "GRAPH";
    case cudagraph::NodeType::kWait:
      return "EVENT_WAIT";
    case cudagraph::NodeType::kRecord:
      return "EVENT_RECORD";
    case cudagraph::NodeType::kAllocation:
      return "MEM_ALLOC";
    case cudagraph::NodeType::kFree:
      return "MEM_FREE";
    case cudagraph::NodeType::kConditional:
      return "CONDITIONAL";
    default:
      return "EMPTY";
  }
}

}  // namespace

CudaError CompleteParams(Params* params) {
  if (auto* const copy = std::get_if<cudagraph::CopyParams>(params)) return CheckCopyParams(copy);
  if (auto* const fill = std::get_if<cudagraph::FillParams>(params)) return CheckFillParams(*fill);
  if (auto* const record = std::get_if<cudagraph::RecordParams>(params)) return CheckEvent(record->event);
  if (auto* const wait = std::get_if<cudagraph::WaitParams>(params)) return CheckEvent(wait->event);
  if (auto* const freed = std::get_if<cudagraph::FreeParams>(params)) return CheckFreed(freed->address);
  if (auto* const host = std::get_if<cudagraph::HostParams>(params)) {
    return host->function == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
  }
  return CudaError::kSuccess;
}

CudaError CreateGraph(GraphHandle* graph) {
  if (graph == nullptr) return CudaError::kInvalidValue;
  *graph = OwnedGraphs::Get().Add(std::make_shared<Graph>());
  return CudaError::kSuccess;
}

CudaError DestroyGraph(GraphHandle graph) {
  return OwnedGraphs::Get().Remove(graph) == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
}

CudaError CloneGraph(GraphHandle original, GraphHandle* clone) {
  if (clone == nullptr || !Graph::Contains(original)) return CudaError::kInvalidValue;
  if (original->HasMemoryNodes()) return CudaError::kNotSupported;
  *clone = OwnedGraphs::Get().Add(original->Clone());
  return CudaError::kSuccess;
}

CudaError FindInClone(NodeHandle original, GraphHandle clone, NodeHandle* node) {
  if (node == nullptr || !Node::Contains(original) || !Graph::Contains(clone)) return CudaError::kInvalidValue;
  *node = clone->FindClone(original->id, /*in_children=*/false);
  return *node == nullptr ? CudaError::kInvalidValue : CudaError::kSuccess;
}

CudaError PrintGraph(GraphHandle graph, const char* path) {
  if (path == nullptr || !Graph::Contains(graph)) return CudaError::kInvalidValue;
  std::ofstream file(path);
  file << cudagraph::ToDot(*graph, Label);
  return file.flush().good() ? CudaError::kSuccess : CudaError::kInvalidValue;
}

CudaError MakeChild(GraphHandle graph, Params* params) {
  if (!Graph::Contains(graph)) return CudaError::kInvalidValue;
  if (graph->HasMemoryNodes()) return CudaError::kNotSupported;
  *params = cudagraph::ChildParams{graph->Clone()};
  return CudaError::kSuccess;
}

CudaError MakeAllocation(uint64_t size, Params* params, uint64_t* address) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  cudagraph::AllocationParams allocation;
  error = MakeGraphMemory(*connection, size, &allocation.memory);
  if (error != CudaError::kSuccess) return error;
  *address = allocation.memory->address;
  *params = std::move(allocation);
  return CudaError::kSuccess;
}

CudaError CreateCondition(GraphHandle graph, uint32_t initial, unsigned flags, uint64_t* handle) {
  constexpr unsigned kAssign = 1;
  if (handle == nullptr || !Graph::Contains(graph) || flags > kAssign) return CudaError::kInvalidValue;
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  if (Properties().driver != "soft") {  // what kernels do to a handle there is known to NVIDIA's driver alone
    ReportUnsupported("conditional nodes of CUDA graphs on a GPU");
    return CudaError::kNotSupported;
  }
  auto condition = std::make_shared<cudagraph::Condition>();
  error = MakeGraphMemory(*connection, sizeof(uint32_t), &condition->word);
  if (error != CudaError::kSuccess) return error;
  condition->initial = initial;
  condition->assigns = flags == kAssign;
  *handle = condition->word->address;
  Conditions::Get().Add(*handle, condition);
  graph->conditions.push_back(std::move(condition));
  return CudaError::kSuccess;
}

CudaError MakeConditional(uint64_t handle, int branching, unsigned size, Params* params) {
  cudagraph::ConditionalParams made;
  made.condition = Conditions::Get().Find(handle);
  made.branching = static_cast<cudagraph::Branching>(branching);
  // One node for each handle: beside this there is only the graph that has it.
  if (made.condition == nullptr || made.condition.use_count() > 2 || size == 0) return CudaError::kInvalidValue;
  const bool known = branching == static_cast<int>(cudagraph::Branching::kSwitch) ||
                     (branching == static_cast<int>(cudagraph::Branching::kIf) && size <= 2) ||
                     (branching == static_cast<int>(cudagraph::Branching::kWhile) && size == 1);
  if (!known) return CudaError::kInvalidValue;
  for (unsigned i = 0; i < size; ++i) {
    made.bodies.push_back(std::make_shared<Graph>());
    made.handles.push_back(made.bodies.back().get());
  }
  *params = std::move(made);
  return CudaError::kSuccess;
}

CudaError AddNode(GraphHandle graph, const Dependencies& dependencies, Params params, NodeHandle* node) {
  const bool missing = dependencies.count != 0 && dependencies.nodes == nullptr;
  if (node == nullptr || missing || !Graph::Contains(graph)) return CudaError::kInvalidValue;
  CudaError error = CheckEdges(dependencies.nodes, dependencies.data, dependencies.count);
  if (error == CudaError::kSuccess) error = CompleteParams(&params);
  if (error != CudaError::kSuccess) return error;
  return graph->Add(std::move(params), SpanOf(dependencies.nodes, dependencies.count),
                    SpanOf(dependencies.data, dependencies.count), node);
}

CudaError SetNode(NodeHandle node, Params params) {
  if (!Node::Contains(node) || cudagraph::TypeOf(params) != node->type()) return CudaError::kInvalidValue;
  const CudaError error = CompleteParams(&params);
  if (error != CudaError::kSuccess) return error;
  auto* const kernel = std::get_if<cudagraph::KernelParams>(&params);
  if (const auto* const before = KernelOf(node); before != nullptr && kernel != nullptr) {
    kernel->KeepAttributesOf(*before);
  }
  node->params = std::move(params);
  return CudaError::kSuccess;
}

CudaError ReadNode(NodeHandle node, const Params** params) {
  if (!Node::Contains(node)) return CudaError::kInvalidValue;
  *params = &node->params;
  return CudaError::kSuccess;
}

CudaError RemoveNode(NodeHandle node) {
  return Node::Contains(node) ? node->graph->Remove(node) : CudaError::kInvalidValue;
}

CudaError TypeOfNode(NodeHandle node, int* type) {
  if (type == nullptr || !Node::Contains(node)) return CudaError::kInvalidValue;
  *type = static_cast<int>(node->type());
  return CudaError::kSuccess;
}

CudaError KernelArguments(NodeHandle node, void*** arguments) {
  cudagraph::KernelParams* const kernel = KernelOf(node);
  if (kernel == nullptr) return CudaError::kInvalidValue;
  node->arguments.clear();
  for (const uint32_t offset : kernel->offsets) node->arguments.push_back(kernel->parameters.data() + offset);
  *arguments = node->arguments.empty() ? nullptr : node->arguments.data();
  return CudaError::kSuccess;
}

CudaError SetKernelAttribute(NodeHandle node, int attribute, const cudagraph::AttributeValue& value) {
  cudagraph::KernelParams* const kernel = KernelOf(node);
  if (kernel == nullptr) return CudaError::kInvalidValue;
  CUlaunchAttributeValue given;
  static_assert(sizeof(given) == sizeof(value));
  std::memcpy(&given, value.data(), sizeof(given));
  const CudaError error = CheckLaunchAttribute(attribute, given);
  if (error != CudaError::kSuccess) return error;
  kernel->attributes[attribute] = value;
  ApplyLaunchAttribute(attribute, given, &kernel->config.cooperative);
  return CudaError::kSuccess;
}

CudaError GetKernelAttribute(NodeHandle node, int attribute, cudagraph::AttributeValue* value) {
  const cudagraph::KernelParams* const kernel = KernelOf(node);
  if (kernel == nullptr || value == nullptr) return CudaError::kInvalidValue;
  const auto found = kernel->attributes.find(attribute);
  *value = found == kernel->attributes.end() ? cudagraph::AttributeValue{} : found->second;
  return CudaError::kSuccess;
}

CudaError CopyKernelAttributes(NodeHandle to, NodeHandle from) {
  cudagraph::KernelParams *const target = KernelOf(to), *const source = KernelOf(from);
  if (target == nullptr || source == nullptr) return CudaError::kInvalidValue;
  target->KeepAttributesOf(*source);
  return CudaError::kSuccess;
}

CudaError ConnectNodes(GraphHandle graph, const NodeHandle* from, const NodeHandle* to, const EdgeData* data,
                       size_t count) {
  if (!Graph::Contains(graph)) return CudaError::kInvalidValue;
  if (count == 0) return CudaError::kSuccess;
  if (from == nullptr || to == nullptr) return CudaError::kInvalidValue;
  const CudaError error = CheckEdges(from, data, count);
  if (error != CudaError::kSuccess) return error;
  return graph->Connect(SpanOf(from, count), SpanOf(to, count), SpanOf(data, count));
}

CudaError DisconnectNodes(GraphHandle graph, const NodeHandle* from, const NodeHandle* to, const EdgeData* data,
                          size_t count) {
  if (!Graph::Contains(graph)) return CudaError::kInvalidValue;
  if (count == 0) return CudaError::kSuccess;
  if (from == nullptr || to == nullptr) return CudaError::kInvalidValue;
  return graph->Disconnect(SpanOf(from, count), SpanOf(to, count), SpanOf(data, count));
}

CudaError ListNodes(GraphHandle graph, NodeHandle* nodes, size_t* count) {
  if (!Graph::Contains(graph)) return CudaError::kInvalidValue;
  std::vector<NodeHandle> all;
  for (const auto& node : graph->nodes()) all.push_back(node.get());
  return Give(all, nodes, count);
}

CudaError ListRoots(GraphHandle graph, NodeHandle* nodes, size_t* count) {
  if (!Graph::Contains(graph)) return CudaError::kInvalidValue;
  std::vector<NodeHandle> roots;
  for (const auto& node : graph->nodes()) {
    if (node->dependencies().empty()) roots.push_back(node.get());
  }
  return Give(roots, nodes, count);
}

CudaError ListEdges(GraphHandle graph, NodeHandle* from, NodeHandle* to, EdgeData* data, size_t* count) {
  if (!Graph::Contains(graph) || (from == nullptr) != (to == nullptr)) return CudaError::kInvalidValue;
  std::vector<std::pair<NodeHandle, EdgeData>> before;
  std::vector<NodeHandle> behind;
  for (const auto& node : graph->nodes()) {
    for (const cudagraph::Edge& edge : node->dependencies()) {
      before.emplace_back(edge.from, edge.data);
      behind.push_back(node.get());
    }
  }
  return GiveEdges(before, behind, from, to, data, count);
}

CudaError ListDependencies(NodeHandle node, NodeHandle* nodes, EdgeData* data, size_t* count) {
  if (!Node::Contains(node)) return CudaError::kInvalidValue;
  std::vector<std::pair<NodeHandle, EdgeData>> before;
  for (const cudagraph::Edge& edge : node->dependencies()) before.emplace_back(edge.from, edge.data);
  return GiveEdges(before, {}, nodes, nullptr, data, count);
}

CudaError ListDependents(NodeHandle node, NodeHandle* nodes, EdgeData* data, size_t* count) {
  if (!Node::Contains(node)) return CudaError::kInvalidValue;
  std::vector<std::pair<NodeHandle, EdgeData>> behind;
  for (Node* const later : node->dependents()) {
    const auto& edges = later->dependencies();
    const auto edge = std::find_if(edges.begin(), edges.end(), [&](const auto& one) { return one.from == node; });
    behind.emplace_back(later, edge->data);
  }
  return GiveEdges(behind, {}, nodes, nullptr, data, count);
}

}  // namespace wharf::client
