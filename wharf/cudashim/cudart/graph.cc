// CUDA graphs: making them, and what hangs on what. Nodes of each kind are in graph_node.cc and graph_copy.cc,
// instances in graph_exec.cc.
#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cudart/runtime.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return Runtime(Call::k_cudaGraphCreate,
                 [&] { return flags != 0 ? CudaError::kInvalidValue : client::CreateGraph(Graph(graph)); });
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph, unsigned initial,
                                             unsigned flags) {
  return Runtime(Call::k_cudaGraphConditionalHandleCreate,
                 [&] { return CreateCondition(graph, initial, flags, handle); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Runtime(Call::k_cudaGraphDestroy, [&] { return client::DestroyGraph(Graph(graph)); });
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return Runtime(Call::k_cudaGraphClone, [&] { return client::CloneGraph(Graph(original), Graph(clone)); });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  return Runtime(Call::k_cudaGraphNodeFindInClone,
                 [&] { return client::FindInClone(Node(original), Graph(clone), Nodes(node)); });
}

// All that is known of a node is printed, whatever the flags ask for.
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned) {
  return Runtime(Call::k_cudaGraphDebugDotPrint, [&] { return client::PrintGraph(Graph(graph), path); });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return Runtime(Call::k_cudaGraphGetNodes, [&] { return client::ListNodes(Graph(graph), Nodes(nodes), count); });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return Runtime(Call::k_cudaGraphGetRootNodes, [&] { return client::ListRoots(Graph(graph), Nodes(nodes), count); });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
                              size_t* count) {
  return Runtime(Call::k_cudaGraphGetEdges,
                 [&] { return client::ListEdges(Graph(graph), Nodes(from), Nodes(to), Data(data), count); });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
                                         size_t* count) {
  return Runtime(Call::k_cudaGraphNodeGetDependencies,
                 [&] { return client::ListDependencies(Node(node), Nodes(nodes), Data(data), count); });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
                                           size_t* count) {
  return Runtime(Call::k_cudaGraphNodeGetDependentNodes,
                 [&] { return client::ListDependents(Node(node), Nodes(nodes), Data(data), count); });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* data, size_t count) {
  return Runtime(Call::k_cudaGraphAddDependencies,
                 [&] { return client::ConnectNodes(Graph(graph), Nodes(from), Nodes(to), Data(data), count); });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* data, size_t count) {
  return Runtime(Call::k_cudaGraphRemoveDependencies,
                 [&] { return client::DisconnectNodes(Graph(graph), Nodes(from), Nodes(to), Data(data), count); });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return Runtime(Call::k_cudaGraphDestroyNode, [&] { return client::RemoveNode(Node(node)); });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return Runtime(Call::k_cudaGraphNodeGetType, [&] {
    int number = 0;
    if (type == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::TypeOfNode(Node(node), &number);
    if (error == CudaError::kSuccess) *type = static_cast<cudaGraphNodeType>(number);
    return error;
  });
}

}  // extern "C"
