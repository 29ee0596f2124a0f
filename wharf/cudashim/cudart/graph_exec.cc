// Instantiated CUDA graphs: making, launching and changing them.
#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cudart/runtime.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return Runtime(Call::k_cudaGraphInstantiate, [&] { return client::Instantiate(Graph(graph), flags, Exec(exec)); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return Runtime(Call::k_cudaGraphInstantiateWithFlags,
                 [&] { return client::Instantiate(Graph(graph), flags, Exec(exec)); });
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphInstantiateParams* how) {
  return Runtime(Call::k_cudaGraphInstantiateWithParams, [&] {
    if (how == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::Instantiate(Graph(graph), how->flags, Exec(exec));
    how->errNode_out = nullptr;
    how->result_out = error == CudaError::kSuccess        ? cudaGraphInstantiateSuccess
                      : error == CudaError::kInvalidValue ? cudaGraphInstantiateInvalidStructure
                                                          : cudaGraphInstantiateError;
    return error;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return Runtime(Call::k_cudaGraphExecDestroy, [&] { return client::DestroyExec(Exec(exec)); });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  return Runtime(Call::k_cudaGraphExecGetFlags, [&] {
    uint64_t number = 0;
    const CudaError error = flags == nullptr ? CudaError::kInvalidValue : client::FlagsOfExec(Exec(exec), &number);
    if (error == CudaError::kSuccess) *flags = number;
    return error;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return Runtime(Call::k_cudaGraphLaunch, [&] { return client::LaunchGraph(Exec(exec), Stream(stream)); });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return Runtime(Call::k_cudaGraphUpload, [&] { return client::UploadGraph(Exec(exec), Stream(stream)); });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  return Runtime(Call::k_cudaGraphNodeSetEnabled,
                 [&] { return client::SetNodeEnabled(Exec(exec), Node(node), enabled != 0); });
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
  return Runtime(Call::k_cudaGraphNodeGetEnabled,
                 [&] { return client::GetNodeEnabled(Exec(exec), Node(node), enabled); });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  return Runtime(Call::k_cudaGraphExecUpdate, [&] {
    cudagraph::UpdateOutcome outcome{cudagraph::UpdateResult::kError};
    const CudaError error = client::UpdateExec(Exec(exec), Graph(graph), &outcome);
    if (info != nullptr) StoreOutcome(outcome, info);
    return error;
  });
}

}  // extern "C"
