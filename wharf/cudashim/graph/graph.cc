#include "wharf/cudashim/graph/graph.h"

#include <algorithm>
#include <atomic>
#include <queue>
#include <set>
#include <unordered_map>

namespace wharf::cudagraph {
namespace {

uint64_t NextNodeId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

EdgeData DataAt(std::span<const EdgeData> data, size_t i) { return data.empty() ? EdgeData{} : data[i]; }

Params CopyOf(const Params& params) {
  if (const auto* const child = std::get_if<ChildParams>(&params)) return ChildParams{child->graph->Clone()};
  Params copy = params;
  if (auto* const conditional = std::get_if<ConditionalParams>(&copy)) {
    for (size_t i = 0; i < conditional->bodies.size(); ++i) {
      conditional->bodies[i] = conditional->bodies[i]->Clone();
      conditional->handles[i] = conditional->bodies[i].get();
    }
  }
  return copy;
}

// The graphs inside of a node.
std::vector<const Graph*> GraphsIn(const Params& params) {
  std::vector<const Graph*> inside;
  if (const auto* const child = std::get_if<ChildParams>(&params)) inside.push_back(child->graph.get());
  if (const auto* const conditional = std::get_if<ConditionalParams>(&params)) {
    inside.assign(conditional->handles.begin(), conditional->handles.end());
  }
  return inside;
}

}  // namespace

NodeType TypeOf(const Params& params) {
  static constexpr NodeType kTypes[] = {
      NodeType::kKernel, NodeType::kKernel, NodeType::kCopy,       NodeType::kFill, NodeType::kHost,
      NodeType::kChild,  NodeType::kEmpty,  NodeType::kRecord,     NodeType::kWait, NodeType::kAllocation,
      NodeType::kFree,   NodeType::kKernel, NodeType::kConditional};
  static_assert(std::size(kTypes) == std::variant_size_v<Params>);
  return kTypes[params.index()];
}

Node::Node(Graph* owner, Params what) : id(NextNodeId()), graph(owner), params(std::move(what)) {}

Graph::~Graph() = default;

bool Graph::Owns(const Node* node) const { return Node::Contains(node) && node->graph == this; }

bool Graph::Connected(const Node* from, const Node* to) const {
  return std::any_of(to->dependencies_.begin(), to->dependencies_.end(),
                     [&](const Edge& edge) { return edge.from == from; });
}

CudaError Graph::Add(Params params, std::span<Node* const> dependencies, std::span<const EdgeData> data, Node** node) {
  std::set<const Node*> seen;
  for (const Node* const one : dependencies) {
    if (!Owns(one) || !seen.insert(one).second) return CudaError::kInvalidValue;
  }
  nodes_.push_back(std::make_unique<Node>(this, std::move(params)));
  Node* const made = nodes_.back().get();
  for (size_t i = 0; i < dependencies.size(); ++i) {
    made->dependencies_.push_back({dependencies[i], DataAt(data, i)});
    dependencies[i]->dependents_.push_back(made);
  }
  if (node != nullptr) *node = made;
  return CudaError::kSuccess;
}

CudaError Graph::Connect(std::span<Node* const> from, std::span<Node* const> to, std::span<const EdgeData> data) {
  std::set<std::pair<const Node*, const Node*>> seen;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool known = Owns(from[i]) && Owns(to[i]) && from[i] != to[i];
    if (!known || Connected(from[i], to[i]) || !seen.emplace(from[i], to[i]).second) return CudaError::kInvalidValue;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    to[i]->dependencies_.push_back({from[i], DataAt(data, i)});
    from[i]->dependents_.push_back(to[i]);
  }
  return CudaError::kSuccess;
}

CudaError Graph::Disconnect(std::span<Node* const> from, std::span<Node* const> to, std::span<const EdgeData> data) {
  if (!from.empty() && HasMemoryNodes()) return CudaError::kNotSupported;
  std::set<std::pair<const Node*, const Node*>> seen;
  const auto is_edge = [&](size_t i) {
    return [&, i](const Edge& edge) { return edge.from == from[i] && edge.data == DataAt(data, i); };
  };
  for (size_t i = 0; i < from.size(); ++i) {
    if (!Owns(from[i]) || !Owns(to[i]) || !seen.emplace(from[i], to[i]).second) return CudaError::kInvalidValue;
    const auto& edges = to[i]->dependencies_;
    if (std::none_of(edges.begin(), edges.end(), is_edge(i))) return CudaError::kInvalidValue;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    std::erase_if(to[i]->dependencies_, is_edge(i));
    std::erase(from[i]->dependents_, to[i]);
  }
  return CudaError::kSuccess;
}

CudaError Graph::Remove(Node* node) {
  if (!Owns(node)) return CudaError::kInvalidValue;
  if (HasMemoryNodes()) return CudaError::kNotSupported;
  if (captures != 0) return kIllegalState;
  for (const Edge& edge : node->dependencies_) std::erase(edge.from->dependents_, node);
  for (Node* const later : node->dependents_) {
    std::erase_if(later->dependencies_, [&](const Edge& edge) { return edge.from == node; });
  }
  std::erase_if(nodes_, [&](const auto& one) { return one.get() == node; });
  return CudaError::kSuccess;
}

bool Graph::Order(std::vector<Node*>* order) const {
  std::unordered_map<const Node*, size_t> place, missing;
  for (size_t i = 0; i < nodes_.size(); ++i) place[nodes_[i].get()] = i;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (const auto& node : nodes_) {
    missing[node.get()] = node->dependencies_.size();
    if (node->dependencies_.empty()) ready.push(place[node.get()]);
  }
  order->clear();
  while (!ready.empty()) {
    Node* const node = nodes_[ready.top()].get();
    ready.pop();
    order->push_back(node);
    for (const Node* const later : node->dependents_) {
      if (--missing[later] == 0) ready.push(place[later]);
    }
  }
  return order->size() == nodes_.size();
}

std::shared_ptr<Graph> Graph::Clone() const {
  auto clone = std::make_shared<Graph>();
  std::unordered_map<const Node*, Node*> made;
  for (const auto& node : nodes_) {
    clone->nodes_.push_back(std::make_unique<Node>(clone.get(), CopyOf(node->params)));
    Node* const copy = clone->nodes_.back().get();
    copy->origin = node->id;
    copy->enabled = node->enabled;
    made[node.get()] = copy;
  }
  for (const auto& node : nodes_) {
    for (const Edge& edge : node->dependencies_)
      made[node.get()]->dependencies_.push_back({made[edge.from], edge.data});
    for (const Node* const later : node->dependents_) made[node.get()]->dependents_.push_back(made[later]);
  }
  return clone;
}

Node* Graph::FindClone(uint64_t origin, bool in_children) const {
  for (const auto& node : nodes_) {
    if (node->origin == origin) return node.get();
    if (!in_children) continue;
    for (const Graph* const inside : GraphsIn(node->params)) {
      if (Node* const found = inside->FindClone(origin, true)) return found;
    }
  }
  return nullptr;
}

bool Graph::HasMemoryNodes() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return node->type() == NodeType::kAllocation || node->type() == NodeType::kFree;
  });
}

}  // namespace wharf::cudagraph
