#include "wharf/cudashim/graph/update.h"

#include <algorithm>
#include <unordered_map>

namespace wharf::cudagraph {
namespace {

// What an update would change, by the node of the instance.
using Changes = std::vector<std::pair<Node*, const Node*>>;

bool IsOneRow(const device::Extent& extent) { return extent.height <= 1 && extent.depth <= 1; }

bool SameShape(const device::Extent& a, const device::Extent& b) {
  return a.width == b.width && a.height == b.height && a.depth == b.depth;
}

bool SameKind(const CopySide& a, const CopySide& b) {
  return a.on_host == b.on_host && (a.array == nullptr) == (b.array == nullptr);
}

bool MayBecome(const CopyParams& now, const CopyParams& wanted, Change change) {
  if (!SameKind(now.to, wanted.to) || !SameKind(now.from, wanted.from)) return false;
  return change == Change::kOfGraph || (IsOneRow(now.extent) && IsOneRow(wanted.extent));
}

bool MayBecome(const FillParams& now, const FillParams& wanted) {
  if (IsOneRow(now.extent)) return IsOneRow(wanted.extent);
  return SameShape(now.extent, wanted.extent) && now.element_bytes == wanted.element_bytes &&
         now.to.row_pitch == wanted.to.row_pitch;
}

std::vector<Node*> LastNodes(const Graph& graph) {
  std::vector<Node*> last;
  for (const auto& node : graph.nodes()) {
    if (node->dependents().empty()) last.push_back(node.get());
  }
  return last;
}

class Pairing {
 public:
  Pairing(const Graph& instance, const Graph& wanted) : instance_(instance), wanted_(wanted) {}

  UpdateOutcome Make() {
    if (instance_.nodes().size() != wanted_.nodes().size()) return {UpdateResult::kTopologyChanged};
    const std::vector<Node*> now = LastNodes(instance_), last = LastNodes(wanted_);
    if (now.size() != last.size()) return {UpdateResult::kTopologyChanged, last.empty() ? nullptr : last.back()};
    for (size_t i = 0; i < last.size(); ++i) Pair(last[i], now[i]);
    while (!waiting_.empty()) {
      Node* const node = waiting_.back();
      waiting_.pop_back();
      const auto &wanted = node->dependencies(), &is = pairs_.at(node)->dependencies();
      if (wanted.size() != is.size()) return {UpdateResult::kTopologyChanged, node};
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (!Pair(wanted[i].from, is[i].from)) return {UpdateResult::kTopologyChanged, node, wanted[i].from};
      }
    }
    // A circle hangs together with no last node.
    if (pairs_.size() != wanted_.nodes().size()) return {UpdateResult::kTopologyChanged};
    return {};
  }
  Node* Of(const Node* wanted) const { return pairs_.at(wanted); }

 private:
  bool Pair(Node* wanted, Node* instance) {
    const bool fresh = pairs_.emplace(wanted, instance).second;
    if (fresh != back_.emplace(instance, wanted).second) return false;
    if (fresh) waiting_.push_back(wanted);
    return pairs_.at(wanted) == instance;
  }

  const Graph &instance_, &wanted_;
  std::unordered_map<const Node*, Node*> pairs_;
  std::unordered_map<const Node*, const Node*> back_;
  std::vector<Node*> waiting_;
};

UpdateOutcome Collect(const Graph& instance, const Graph& wanted, Changes* changes) {
  Pairing pairing(instance, wanted);
  if (const UpdateOutcome outcome = pairing.Make(); outcome.result != UpdateResult::kSuccess) return outcome;
  for (const auto& node : wanted.nodes()) {
    Node* const now = pairing.Of(node.get());
    const UpdateResult result = CheckChange(now->params, node->params, Change::kOfGraph);
    if (result != UpdateResult::kSuccess) return {result, node.get()};
    const auto update_inside = [&](const Graph& is, const Graph& other) { return Collect(is, other, changes).result; };
    if (const auto* const child = std::get_if<ChildParams>(&node->params)) {
      const UpdateResult inside = update_inside(*std::get<ChildParams>(now->params).graph, *child->graph);
      if (inside != UpdateResult::kSuccess) return {inside, node.get()};
      continue;
    }
    changes->emplace_back(now, node.get());
    const auto* const conditional = std::get_if<ConditionalParams>(&node->params);
    for (size_t i = 0; conditional != nullptr && i < conditional->bodies.size(); ++i) {
      const auto& bodies = std::get<ConditionalParams>(now->params).bodies;
      const UpdateResult inside = update_inside(*bodies[i], *conditional->bodies[i]);
      if (inside != UpdateResult::kSuccess) return {inside, node.get()};
    }
  }
  return {};
}

}  // namespace

UpdateResult CheckChange(const Params& now, const Params& wanted, Change change) {
  if (TypeOf(now) != TypeOf(wanted)) return UpdateResult::kNodeTypeChanged;
  bool fits = true;
  if (const auto* const copy = std::get_if<CopyParams>(&now)) {
    fits = MayBecome(*copy, std::get<CopyParams>(wanted), change);
  } else if (const auto* const fill = std::get_if<FillParams>(&now)) {
    fits = MayBecome(*fill, std::get<FillParams>(wanted));
  } else if (const auto* const allocation = std::get_if<AllocationParams>(&now)) {
    fits = allocation->memory == std::get<AllocationParams>(wanted).memory;
  } else if (const auto* const conditional = std::get_if<ConditionalParams>(&now)) {
    const auto& other = std::get<ConditionalParams>(wanted);
    fits = change == Change::kOfGraph && conditional->branching == other.branching &&
           conditional->bodies.size() == other.bodies.size();
  }
  return fits ? UpdateResult::kSuccess : UpdateResult::kParametersChanged;
}

UpdateOutcome Update(Graph& instance, const Graph& wanted) {
  Changes changes;
  const UpdateOutcome outcome = Collect(instance, wanted, &changes);
  if (outcome.result == UpdateResult::kSuccess) {
    for (const auto& [now, node] : changes) {
      if (auto* const conditional = std::get_if<ConditionalParams>(&now->params)) {
        conditional->condition = std::get<ConditionalParams>(node->params).condition;
      } else {
        now->params = node->params;
      }
    }
  }
  return outcome;
}

}  // namespace wharf::cudagraph
