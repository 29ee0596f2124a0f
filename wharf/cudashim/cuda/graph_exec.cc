// Instantiated CUDA graphs in the driver API: making, launching and changing them.
#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cuda/driver.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return Driver(Call::k_cuGraphInstantiateWithFlags,
                [&] { return client::Instantiate(Graph(graph), flags, Exec(exec)); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* how) {
  return Driver(Call::k_cuGraphInstantiateWithParams, [&] {
    if (how == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::Instantiate(Graph(graph), how->flags, Exec(exec));
    how->hErrNode_out = nullptr;
    how->result_out = error == CudaError::kSuccess        ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                      : error == CudaError::kInvalidValue ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                          : CUDA_GRAPH_INSTANTIATE_ERROR;
    return error;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return Driver(Call::k_cuGraphExecDestroy, [&] { return client::DestroyExec(Exec(exec)); });
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  return Driver(Call::k_cuGraphExecGetFlags, [&] {
    uint64_t number = 0;
    const CudaError error = flags == nullptr ? CudaError::kInvalidValue : client::FlagsOfExec(Exec(exec), &number);
    if (error == CudaError::kSuccess) *flags = number;
    return error;
  });
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return Driver(Call::k_cuGraphLaunch, [&] { return client::LaunchGraph(Exec(exec), Stream(stream)); });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return Driver(Call::k_cuGraphUpload, [&] { return client::UploadGraph(Exec(exec), Stream(stream)); });
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return Driver(Call::k_cuGraphNodeSetEnabled,
                [&] { return client::SetNodeEnabled(Exec(exec), Node(node), enabled != 0); });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  return Driver(Call::k_cuGraphNodeGetEnabled, [&] { return client::GetNodeEnabled(Exec(exec), Node(node), enabled); });
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  return Driver(Call::k_cuGraphExecUpdate_v2, [&] {
    cudagraph::UpdateOutcome outcome{cudagraph::UpdateResult::kError};
    const CudaError error = client::UpdateExec(Exec(exec), Graph(graph), &outcome);
    if (info != nullptr) StoreOutcome(outcome, info);
    return error;
  });
}

}  // extern "C"
