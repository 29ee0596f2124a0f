// Random graphs: orders, clones, instances and updates keep what they promise, whatever the edges are.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "wharf/cudashim/graph/exec.h"

namespace wharf::cudagraph {
namespace {

// A graph without circles whose nodes were not added in an order of their dependencies: each node has a rank, and edges
// lead from lower to higher ones. A node is told by the value that it fills with.
std::shared_ptr<Graph> RandomGraph(const std::vector<int>& ranks, const std::vector<std::pair<size_t, size_t>>& edges) {
  auto graph = std::make_shared<Graph>();
  std::vector<Node*> nodes;
  for (size_t i = 0; i < ranks.size(); ++i) {
    Node* node = nullptr;
    RC_ASSERT(graph->Add(FillParams{{}, {1, 1, 1}, static_cast<uint32_t>(i), 1}, {}, {}, &node) == CudaError::kSuccess);
    nodes.push_back(node);
  }
  for (const auto& [a, b] : edges) {
    size_t from = a % ranks.size(), to = b % ranks.size();
    if (ranks[from] == ranks[to]) continue;
    if (ranks[from] > ranks[to]) std::swap(from, to);
    // What is there already is refused.
    (void)graph->Connect(std::vector<Node*>{nodes[from]}, std::vector<Node*>{nodes[to]}, {});
  }
  return graph;
}

std::shared_ptr<Graph> AnyGraph() {
  const auto ranks =
      *rc::gen::resize(40, rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9))));
  const auto edges = *rc::gen::container<std::vector<std::pair<size_t, size_t>>>(
      rc::gen::pair(rc::gen::inRange<size_t>(0, 64), rc::gen::inRange<size_t>(0, 64)));
  return RandomGraph(ranks, edges);
}

uint32_t ValueOf(const Node& node) { return std::get<FillParams>(node.params).value; }

// The edges, by values.
std::set<std::pair<uint32_t, uint32_t>> Edges(const Graph& graph) {
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (const auto& node : graph.nodes()) {
    for (const Edge& edge : node->dependencies()) edges.emplace(ValueOf(*edge.from), ValueOf(*node));
  }
  return edges;
}

RC_GTEST_PROP(GraphProperty, OrdersHaveEveryNodeBehindWhatItDependsOn, ()) {
  const auto graph = AnyGraph();
  std::vector<Node*> order;
  RC_ASSERT(graph->Order(&order));
  std::map<const Node*, size_t> place;
  for (size_t i = 0; i < order.size(); ++i) RC_ASSERT(place.emplace(order[i], i).second);
  RC_ASSERT(place.size() == graph->nodes().size());
  for (const auto& node : graph->nodes()) {
    for (const Edge& edge : node->dependencies()) RC_ASSERT(place.at(edge.from) < place.at(node.get()));
  }
}

RC_GTEST_PROP(GraphProperty, AnEdgeBackMakesACircleWhichNothingInstantiates, ()) {
  const auto graph = AnyGraph();
  std::vector<Node*> order;
  RC_ASSERT(graph->Order(&order));
  // Follows dependencies from some node as far as they go; then the first is made to wait for the last.
  Node* const last = order[*rc::gen::inRange<size_t>(0, order.size())];
  Node* first = last;
  while (!first->dependencies().empty()) {
    first = first->dependencies()[*rc::gen::inRange<size_t>(0, first->dependencies().size())].from;
  }
  RC_PRE(first != last);
  RC_ASSERT(graph->Connect(std::vector<Node*>{last}, std::vector<Node*>{first}, {}) == CudaError::kSuccess);
  RC_ASSERT(!graph->Order(&order));
  std::shared_ptr<Exec> exec;
  RC_ASSERT(Exec::Instantiate(*graph, 0, &exec) == CudaError::kInvalidValue);
  RC_ASSERT(exec == nullptr);
}

RC_GTEST_PROP(GraphProperty, EdgesAndDependentsSayTheSameAfterAnyRemoval, ()) {
  const auto graph = AnyGraph();
  while (!graph->nodes().empty() && *rc::gen::inRange(0, 4) != 0) {
    Node* const gone = graph->nodes()[*rc::gen::inRange<size_t>(0, graph->nodes().size())].get();
    RC_ASSERT(graph->Remove(gone) == CudaError::kSuccess);
  }
  size_t forward = 0, back = 0;
  for (const auto& node : graph->nodes()) {
    back += node->dependencies().size();
    forward += node->dependents().size();
    for (const Node* const later : node->dependents()) {
      const auto& edges = later->dependencies();
      RC_ASSERT(std::count_if(edges.begin(), edges.end(), [&](const Edge& e) { return e.from == node.get(); }) == 1);
    }
  }
  RC_ASSERT(forward == back);
}

RC_GTEST_PROP(GraphProperty, ACloneHasTheSameNodesAndEdges, ()) {
  const auto graph = AnyGraph();
  const auto clone = graph->Clone();
  RC_ASSERT(Edges(*clone) == Edges(*graph));
  RC_ASSERT(clone->nodes().size() == graph->nodes().size());
  for (const auto& node : graph->nodes()) {
    const Node* const copy = clone->FindClone(node->id, false);
    RC_ASSERT(copy != nullptr && copy != node.get());
    RC_ASSERT(ValueOf(*copy) == ValueOf(*node));
  }
}

// A graph that is its like with other values: every node gets the value of the one that it is a clone of.
RC_GTEST_PROP(GraphProperty, AnInstanceIsUpdatedByAnyGraphOfItsShape, ()) {
  const auto graph = AnyGraph();
  std::shared_ptr<Exec> exec;
  RC_ASSERT(Exec::Instantiate(*graph, 0, &exec) == CudaError::kSuccess);
  const auto wanted = graph->Clone();
  for (const auto& node : wanted->nodes()) std::get<FillParams>(node->params).value += 1000;
  RC_ASSERT(exec->Update(*wanted).result == UpdateResult::kSuccess);
  for (const auto& node : graph->nodes()) {
    const Node* const now = exec->Find(node.get());
    RC_ASSERT(now != nullptr);
    RC_ASSERT(ValueOf(*now) == ValueOf(*node) + 1000);
  }
  RC_ASSERT(exec->steps().size() == graph->nodes().size());
}

RC_GTEST_PROP(GraphProperty, AnInstanceIsLeftAloneByAGraphWithOneEdgeLess, ()) {
  const auto graph = AnyGraph();
  std::shared_ptr<Exec> exec;
  RC_ASSERT(Exec::Instantiate(*graph, 0, &exec) == CudaError::kSuccess);
  const auto wanted = graph->Clone();
  std::vector<std::pair<Node*, Node*>> edges;
  for (const auto& node : wanted->nodes()) {
    std::get<FillParams>(node->params).value += 1000;
    for (const Edge& edge : node->dependencies()) edges.emplace_back(edge.from, node.get());
  }
  RC_PRE(!edges.empty());
  const auto [from, to] = edges[*rc::gen::inRange<size_t>(0, edges.size())];
  RC_ASSERT(wanted->Disconnect(std::vector<Node*>{from}, std::vector<Node*>{to}, {}) == CudaError::kSuccess);
  RC_ASSERT(exec->Update(*wanted).result == UpdateResult::kTopologyChanged);
  for (const auto& node : graph->nodes()) RC_ASSERT(ValueOf(*exec->Find(node.get())) == ValueOf(*node));
}

}  // namespace
}  // namespace wharf::cudagraph
