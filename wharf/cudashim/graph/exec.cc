#include "wharf/cudashim/graph/exec.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace wharf::cudagraph {
namespace {

struct Range {
  uint64_t begin = 0, end = 0;
  bool Overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

// From the first to the last byte of one side of a copy.
Range RangeOf(const CopySide& side, const device::Extent& extent) {
  const uint64_t row = std::max(side.box.row_pitch, extent.width);
  const uint64_t slice = std::max(side.box.slice_pitch, row * extent.height);
  const uint64_t begin = side.box.address;
  return {begin, begin + (extent.depth - 1) * slice + (extent.height - 1) * row + extent.width};
}

const CopyParams* HostReader(const Node& node) {
  const auto* const copy = std::get_if<CopyParams>(&node.params);
  return copy != nullptr && copy->from.on_host ? copy : nullptr;
}

const CopyParams* HostWriter(const Node& node) {
  const auto* const copy = std::get_if<CopyParams>(&node.params);
  return copy != nullptr && copy->to.on_host ? copy : nullptr;
}

}  // namespace

CudaError Exec::Instantiate(Graph& graph, uint64_t flags, std::shared_ptr<Exec>* exec) {
  std::vector<Node*> order;
  if (!graph.Order(&order)) return CudaError::kInvalidValue;
  if (graph.captures != 0) return kIllegalState;
  auto made = std::make_shared<Exec>();
  if (graph.HasMemoryNodes()) {
    if (!graph.instance.expired()) return CudaError::kNotSupported;
    made->only_ = std::make_shared<int>();
    graph.instance = made->only_;
  }
  made->graph_ = graph.Clone();
  made->flags_ = flags;
  *exec = std::move(made);
  return CudaError::kSuccess;
}

Node* Exec::Find(const Node* original) const {
  return Node::Contains(original) ? graph_->FindClone(original->id, /*in_children=*/true) : nullptr;
}

CudaError Exec::Set(const Node* original, Params params) {
  Node* const node = Find(original);
  if (node == nullptr) return CudaError::kInvalidValue;
  if (CheckChange(node->params, params, Change::kSingle) != UpdateResult::kSuccess) return CudaError::kInvalidValue;
  if (auto* const child = std::get_if<ChildParams>(&node->params)) {
    const UpdateOutcome outcome = cudagraph::Update(*child->graph, *std::get<ChildParams>(params).graph);
    if (outcome.result != UpdateResult::kSuccess) return kUpdateFailure;
  } else {
    const auto* const before = std::get_if<KernelParams>(&node->params);
    if (auto* const kernel = std::get_if<KernelParams>(&params); kernel != nullptr && before != nullptr) {
      kernel->KeepAttributesOf(*before);
    }
    node->params = std::move(params);
  }
  stale_ = true;
  return CudaError::kSuccess;
}

CudaError Exec::SetEnabled(const Node* original, bool enabled) {
  Node* const node = Find(original);
  if (node == nullptr) return CudaError::kInvalidValue;
  const NodeType type = node->type();
  if (type != NodeType::kKernel && type != NodeType::kCopy && type != NodeType::kFill) return CudaError::kInvalidValue;
  node->enabled = enabled;
  stale_ = true;
  return CudaError::kSuccess;
}

UpdateOutcome Exec::Update(const Graph& wanted) {
  stale_ = true;
  return cudagraph::Update(*graph_, wanted);
}

const std::vector<Step>& Exec::steps() {
  if (stale_) {
    steps_.clear();
    const bool has_host = Flatten(*graph_, false);
    settles_first_ = has_host && std::any_of(steps_.begin(), steps_.end(),
                                             [](const Step& s) { return HostReader(*s.node) != nullptr; });
    FindOverlaps();
    stale_ = false;
  }
  return steps_;
}

bool Exec::Flatten(const Graph& graph, bool after_host) {
  std::vector<Node*> order;
  graph.Order(&order);
  std::unordered_map<const Node*, bool> host_until;
  bool any = after_host;
  for (const Node* const node : order) {
    bool host = after_host;
    for (const Edge& edge : node->dependencies()) host = host || host_until[edge.from];
    if (const auto* const child = std::get_if<ChildParams>(&node->params)) {
      host = Flatten(*child->graph, host);
    } else if (const auto* const conditional = std::get_if<ConditionalParams>(&node->params)) {
      const size_t at = steps_.size();
      std::vector<size_t> ends;
      steps_.push_back({node});
      for (const auto& body : conditional->bodies) {
        host = Flatten(*body, host);
        ends.push_back(steps_.size());
      }
      steps_[at].ends = std::move(ends);
    } else if (node->enabled && node->type() != NodeType::kEmpty) {
      steps_.push_back({node, host && HostReader(*node) != nullptr});
      host = host || node->type() == NodeType::kHost;
    }
    host_until[node] = host;
    any = any || host;
  }
  return any;
}

void Exec::FindOverlaps() {
  std::vector<Range> written;
  for (const Step& step : steps_) {
    if (const CopyParams* const copy = HostWriter(*step.node)) written.push_back(RangeOf(copy->to, copy->extent));
  }
  size_t before = 0;  // how many of them come before the step
  for (Step& step : steps_) {
    if (const CopyParams* const copy = HostReader(*step.node)) {
      const Range read = RangeOf(copy->from, copy->extent);
      for (size_t i = 0; i < written.size(); ++i) {
        if (!written[i].Overlaps(read)) continue;
        settles_first_ = true;
        step.settle = step.settle || i < before;
      }
    }
    if (HostWriter(*step.node) != nullptr) ++before;
  }
}

}  // namespace wharf::cudagraph
