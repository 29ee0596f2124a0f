// What nodes of CUDA graphs do, from the driver API's structs to ours; and the three things that is done with it.
#pragma once

#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {

// One overload for each struct. A null pointer is kInvalidValue.
CudaError ParamsOf(const CUDA_KERNEL_NODE_PARAMS* given, cudagraph::Params* params);
CudaError ParamsOf(const CUDA_MEMCPY3D* given, cudagraph::Params* params);
CudaError ParamsOf(const CUDA_MEMSET_NODE_PARAMS* given, cudagraph::Params* params);
CudaError ParamsOf(const CUDA_HOST_NODE_PARAMS* given, cudagraph::Params* params);
struct ChildOf {
  CUgraph graph;
};
CudaError ParamsOf(const ChildOf* given, cudagraph::Params* params);
inline CudaError ParamsOf(const cudagraph::Params* given, cudagraph::Params* params) {
  *params = *given;
  return CudaError::kSuccess;
}

struct NewNode {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  size_t count;
  const CUgraphEdgeData* data = nullptr;
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
CudaError Set(CUgraphNode node, const Given* given) {
  cudagraph::Params params;
  const CudaError error = ParamsOf(given, &params);
  return error != CudaError::kSuccess ? error : client::SetNode(Node(node), std::move(params));
}
template <typename Given>
CudaError Set(CUgraphExec exec, CUgraphNode node, const Given* given) {
  cudagraph::Params params;
  const CudaError error = ParamsOf(given, &params);
  return error != CudaError::kSuccess ? error : client::SetExecNode(Exec(exec), Node(node), std::move(params));
}

}  // namespace wharf::cudashim
