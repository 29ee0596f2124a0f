// CUDA graphs in the driver API: making them, and what hangs on what.
#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cuda/driver.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return Driver(Call::k_cuGraphCreate,
                [&] { return flags != 0 ? CudaError::kInvalidValue : client::CreateGraph(Graph(graph)); });
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext, unsigned initial,
                                        unsigned flags) {
  return Driver(Call::k_cuGraphConditionalHandleCreate, [&] { return CreateCondition(graph, initial, flags, handle); });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return Driver(Call::k_cuGraphDestroy, [&] { return client::DestroyGraph(Graph(graph)); });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return Driver(Call::k_cuGraphClone, [&] { return client::CloneGraph(Graph(original), Graph(clone)); });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  return Driver(Call::k_cuGraphNodeFindInClone,
                [&] { return client::FindInClone(Node(original), Graph(clone), Nodes(node)); });
}

// All that is known of a node is printed, whatever the flags ask for.
CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned) {
  return Driver(Call::k_cuGraphDebugDotPrint, [&] { return client::PrintGraph(Graph(graph), path); });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return Driver(Call::k_cuGraphGetNodes, [&] { return client::ListNodes(Graph(graph), Nodes(nodes), count); });
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return Driver(Call::k_cuGraphGetRootNodes, [&] { return client::ListRoots(Graph(graph), Nodes(nodes), count); });
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  return Driver(Call::k_cuGraphGetEdges_v2,
                [&] { return client::ListEdges(Graph(graph), Nodes(from), Nodes(to), Data(data), count); });
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  return Driver(Call::k_cuGraphNodeGetDependencies_v2,
                [&] { return client::ListDependencies(Node(node), Nodes(nodes), Data(data), count); });
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  return Driver(Call::k_cuGraphNodeGetDependentNodes_v2,
                [&] { return client::ListDependents(Node(node), Nodes(nodes), Data(data), count); });
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                const CUgraphEdgeData* data, size_t count) {
  return Driver(Call::k_cuGraphAddDependencies_v2,
                [&] { return client::ConnectNodes(Graph(graph), Nodes(from), Nodes(to), Data(data), count); });
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* data, size_t count) {
  return Driver(Call::k_cuGraphRemoveDependencies_v2,
                [&] { return client::DisconnectNodes(Graph(graph), Nodes(from), Nodes(to), Data(data), count); });
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  return Driver(Call::k_cuGraphDestroyNode, [&] { return client::RemoveNode(Node(node)); });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return Driver(Call::k_cuGraphNodeGetType, [&] {
    int number = 0;
    if (type == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::TypeOfNode(Node(node), &number);
    if (error == CudaError::kSuccess) *type = static_cast<CUgraphNodeType>(number);
    return error;
  });
}

}  // extern "C"
