// Stream capture.
#include "wharf/cudashim/client/graph/capture.h"

#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cudart/runtime.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return Runtime(Call::k_cudaStreamBeginCapture, [&] { return client::BeginCapture(Stream(stream), mode); });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* data, size_t count, cudaStreamCaptureMode mode) {
  return Runtime(Call::k_cudaStreamBeginCaptureToGraph, [&] {
    return client::BeginCaptureTo(Stream(stream), Graph(graph), {Nodes(dependencies), Data(data), count}, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return Runtime(Call::k_cudaStreamEndCapture, [&] { return client::EndCapture(Stream(stream), Graph(graph)); });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return Runtime(Call::k_cudaStreamIsCapturing, [&] {
    cudagraph::CaptureInfo info;
    if (status == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::GetCaptureInfo(Stream(stream), &info);
    if (error == CudaError::kSuccess) *status = static_cast<cudaStreamCaptureStatus>(info.status);
    return error;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** data, size_t* count) {
  return Runtime(Call::k_cudaStreamGetCaptureInfo, [&] {
    cudagraph::CaptureInfo info;
    if (status == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::GetCaptureInfo(Stream(stream), &info);
    return error != CudaError::kSuccess ? error : StoreCapture(info, status, id, graph, dependencies, data, count);
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* data, size_t count, unsigned flags) {
  return Runtime(Call::k_cudaStreamUpdateCaptureDependencies, [&] {
    return client::UpdateCaptureDependencies(Stream(stream), {Nodes(dependencies), Data(data), count}, flags);
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return RuntimeLocal(Call::k_cudaThreadExchangeStreamCaptureMode,
                      [&] { return client::ExchangeCaptureMode(reinterpret_cast<int*>(mode)); });
}

}  // extern "C"
