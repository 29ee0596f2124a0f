// A CUDA graph as the program builds it: nodes and the dependencies between them. Pure: no session, no launching.
//
// Like CUDA's, a graph is not thread-safe; different graphs may be used by different threads.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wharf/cudashim/graph/errors.h"
#include "wharf/cudashim/graph/live.h"
#include "wharf/cudashim/graph/params.h"

namespace wharf::cudagraph {

class Node;

// cudaGraphEdgeData and CUgraphEdgeData. Which part of the node behind waits for which part of the one before; all work
// waits for all here, which is always right, so it is only kept.
struct EdgeData {
  uint8_t from_port = 0, to_port = 0, type = 0;
  std::array<uint8_t, 5> reserved{};
  friend bool operator==(const EdgeData&, const EdgeData&) = default;
};
static_assert(sizeof(EdgeData) == 8);

struct Edge {
  Node* from = nullptr;
  EdgeData data;
};

class Node : public Live<Node> {
 public:
  Node(Graph* owner, Params what);

  const uint64_t id;  // of this process, never used twice
  Graph* const graph;
  Params params;
  uint64_t origin = 0;           // of a clone: the node's that it was made from
  bool enabled = true;           // of an instance
  std::vector<void*> arguments;  // pointers that queries of a kernel's parameters gave away
  const std::vector<Edge>& dependencies() const { return dependencies_; }
  const std::vector<Node*>& dependents() const { return dependents_; }
  NodeType type() const { return TypeOf(params); }

 private:
  friend class Graph;
  std::vector<Edge> dependencies_;  // in the order in which they were added
  std::vector<Node*> dependents_;
};

class Graph : public Live<Graph>, public std::enable_shared_from_this<Graph> {
 public:
  Graph() = default;
  ~Graph();

  // In the order in which they were added.
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  bool Owns(const Node* node) const;

  // `data` is empty or has an element for each dependency. kInvalidValue if one is of another graph or named twice.
  CudaError Add(Params params, std::span<Node* const> dependencies, std::span<const EdgeData> data, Node** node);
  // Adds, or removes, edges: all or, with kInvalidValue, none. There must be none yet, or one with that data. A circle
  // is found when the graph is instantiated.
  CudaError Connect(std::span<Node* const> from, std::span<Node* const> to, std::span<const EdgeData> data);
  CudaError Disconnect(std::span<Node* const> from, std::span<Node* const> to, std::span<const EdgeData> data);
  // Removes a node and its edges.
  CudaError Remove(Node* node);

  // Nodes of which none stands before one that it depends on; otherwise as they were added. False if there is a circle.
  bool Order(std::vector<Node*>* order) const;
  // A copy, children included, whose nodes know what they were made from.
  std::shared_ptr<Graph> Clone() const;
  // The clone of the node with that number, in this graph or in its children; nullptr if there is none.
  Node* FindClone(uint64_t origin, bool in_children) const;
  // Allocations and frees, which restrict what can be done with a graph.
  bool HasMemoryNodes() const;

  // For conditional nodes of it or its children.
  std::vector<std::shared_ptr<const Condition>> conditions;
  // How many captures put nodes into it.
  int captures = 0;
  // What the instance of a graph with memory nodes holds.
  std::weak_ptr<int> instance;

 private:
  bool Connected(const Node* from, const Node* to) const;

  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace wharf::cudagraph
