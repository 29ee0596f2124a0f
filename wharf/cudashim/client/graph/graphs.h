// CUDA graphs as both shims see them: graphs and their nodes. Handles are addresses; those that are none, or were
// destroyed, are kInvalidValue.
#pragma once

#include <cstddef>

#include "wharf/cudashim/client/memory.h"
#include "wharf/cudashim/graph/graph.h"

namespace wharf::client {

using GraphHandle = cudagraph::Graph*;
using NodeHandle = cudagraph::Node*;

WHARF_CLIENT_API CudaError CreateGraph(GraphHandle* graph);
WHARF_CLIENT_API CudaError DestroyGraph(GraphHandle graph);
// kNotSupported if it has memory nodes.
WHARF_CLIENT_API CudaError CloneGraph(GraphHandle original, GraphHandle* clone);
WHARF_CLIENT_API CudaError FindInClone(NodeHandle original, GraphHandle clone, NodeHandle* node);
WHARF_CLIENT_API CudaError PrintGraph(GraphHandle graph, const char* path);

// What a node does, made of what only one of both sides knows: a graph or an allocation of the node's own.
WHARF_CLIENT_API CudaError MakeChild(GraphHandle graph, cudagraph::Params* params);
WHARF_CLIENT_API CudaError MakeAllocation(uint64_t size, cudagraph::Params* params, uint64_t* address);
// Branching and flags are the numbers of both APIs.
WHARF_CLIENT_API CudaError CreateCondition(GraphHandle graph, uint32_t initial, unsigned flags, uint64_t* handle);
WHARF_CLIENT_API CudaError MakeConditional(uint64_t handle, int branching, unsigned size, cudagraph::Params* params);

// Nodes that a node depends on. `data` is null or has an element for each.
struct Dependencies {
  const NodeHandle* nodes = nullptr;
  const cudagraph::EdgeData* data = nullptr;
  size_t count = 0;
};
// `params` is checked as the call that does the same at once would be, and completed: which side of a copy is where.
WHARF_CLIENT_API CudaError AddNode(GraphHandle graph, const Dependencies& dependencies, cudagraph::Params params,
                                   NodeHandle* node);
WHARF_CLIENT_API CudaError SetNode(NodeHandle node, cudagraph::Params params);
WHARF_CLIENT_API CudaError ReadNode(NodeHandle node, const cudagraph::Params** params);
WHARF_CLIENT_API CudaError RemoveNode(NodeHandle node);
WHARF_CLIENT_API CudaError TypeOfNode(NodeHandle node, int* type);
// Pointers to a kernel's parameters, one by one: the node's own, valid until it changes.
WHARF_CLIENT_API CudaError KernelArguments(NodeHandle node, void*** arguments);
WHARF_CLIENT_API CudaError SetKernelAttribute(NodeHandle node, int attribute, const cudagraph::AttributeValue& value);
WHARF_CLIENT_API CudaError GetKernelAttribute(NodeHandle node, int attribute, cudagraph::AttributeValue* value);
WHARF_CLIENT_API CudaError CopyKernelAttributes(NodeHandle to, NodeHandle from);

// `data` is null or has an element for each edge.
WHARF_CLIENT_API CudaError ConnectNodes(GraphHandle graph, const NodeHandle* from, const NodeHandle* to,
                                        const cudagraph::EdgeData* data, size_t count);
WHARF_CLIENT_API CudaError DisconnectNodes(GraphHandle graph, const NodeHandle* from, const NodeHandle* to,
                                           const cudagraph::EdgeData* data, size_t count);

// Lists: where there is room for `*count`, they are stored, and null in the rest of the room; `*count` becomes how many
// were stored, or, without room, how many there are. kLossyQuery if edges' data is not zero and not asked for.
WHARF_CLIENT_API CudaError ListNodes(GraphHandle graph, NodeHandle* nodes, size_t* count);
WHARF_CLIENT_API CudaError ListRoots(GraphHandle graph, NodeHandle* nodes, size_t* count);
WHARF_CLIENT_API CudaError ListEdges(GraphHandle graph, NodeHandle* from, NodeHandle* to, cudagraph::EdgeData* data,
                                     size_t* count);
WHARF_CLIENT_API CudaError ListDependencies(NodeHandle node, NodeHandle* nodes, cudagraph::EdgeData* data,
                                            size_t* count);
WHARF_CLIENT_API CudaError ListDependents(NodeHandle node, NodeHandle* nodes, cudagraph::EdgeData* data, size_t* count);

}  // namespace wharf::client
