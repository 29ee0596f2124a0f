// What nodes of CUDA graphs do, from the runtime API's structs to ours; and the three things that is done with it.
#pragma once

#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {

// One overload for each struct. A null pointer is kInvalidValue.
CudaError ParamsOf(const cudaKernelNodeParams* given, cudagraph::Params* params);
CudaError ParamsOf(const cudaMemcpy3DParms* given, cudagraph::Params* params);
CudaError ParamsOf(const cudaMemsetParams* given, cudagraph::Params* params);
CudaError ParamsOf(const cudaHostNodeParams* given, cudagraph::Params* params);

struct LineCopy {
  void* to;
  const void* from;
  size_t count;
  cudaMemcpyKind kind;
};
struct CopyToVariable {
  const void* symbol;
  const void* from;
  size_t count, offset;
  cudaMemcpyKind kind;
};
struct CopyFromVariable {
  void* to;
  const void* symbol;
  size_t count, offset;
  cudaMemcpyKind kind;
};
CudaError ParamsOf(const LineCopy* given, cudagraph::Params* params);
CudaError ParamsOf(const CopyToVariable* given, cudagraph::Params* params);
CudaError ParamsOf(const CopyFromVariable* given, cudagraph::Params* params);

// A child, an event or memory to be freed: what a node does needs no struct.
struct ChildOf {
  cudaGraph_t graph;
};
CudaError ParamsOf(const ChildOf* given, cudagraph::Params* params);
inline CudaError ParamsOf(const cudagraph::Params* given, cudagraph::Params* params) {
  *params = *given;
  return CudaError::kSuccess;
}

struct NewNode {
  cudaGraphNode_t* node;
  cudaGraph_t graph;
  const cudaGraphNode_t* dependencies;
  size_t count;
  const cudaGraphEdgeData* data = nullptr;
};
template <typename Given>
CudaError Add(const NewNode& to, const Given* given) {
  cudagraph::Params params;
  const CudaError error = ParamsOf(given, &params);
  if (error != CudaError::kSuccess) return error;
  return client::AddNode(Graph(to.graph), {Nodes(to.dependencies), Data(to.data), to.count}, std::move(params),
                         Nodes(to.node));
}
template <typename Given>
CudaError Set(cudaGraphNode_t node, const Given* given) {
  cudagraph::Params params;
  const CudaError error = ParamsOf(given, &params);
  return error != CudaError::kSuccess ? error : client::SetNode(Node(node), std::move(params));
}
template <typename Given>
CudaError Set(cudaGraphExec_t exec, cudaGraphNode_t node, const Given* given) {
  cudagraph::Params params;
  const CudaError error = ParamsOf(given, &params);
  return error != CudaError::kSuccess ? error : client::SetExecNode(Exec(exec), Node(node), std::move(params));
}

}  // namespace wharf::cudashim
