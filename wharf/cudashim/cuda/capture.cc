// Stream capture in the driver API.
#include "wharf/cudashim/client/graph/capture.h"

#include "wharf/cudashim/client/graph/handles.h"
#include "wharf/cudashim/cuda/driver.h"

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return Driver(Call::k_cuStreamBeginCapture_v2, [&] { return client::BeginCapture(Stream(stream), mode); });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* data, size_t count, CUstreamCaptureMode mode) {
  return Driver(Call::k_cuStreamBeginCaptureToGraph, [&] {
    return client::BeginCaptureTo(Stream(stream), Graph(graph), {Nodes(dependencies), Data(data), count}, mode);
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return Driver(Call::k_cuStreamEndCapture, [&] { return client::EndCapture(Stream(stream), Graph(graph)); });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return Driver(Call::k_cuStreamIsCapturing, [&] {
    cudagraph::CaptureInfo info;
    if (status == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::GetCaptureInfo(Stream(stream), &info);
    if (error == CudaError::kSuccess) *status = static_cast<CUstreamCaptureStatus>(info.status);
    return error;
  });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                const CUgraphNode** dependencies, const CUgraphEdgeData** data, size_t* count) {
  return Driver(Call::k_cuStreamGetCaptureInfo_v3, [&] {
    cudagraph::CaptureInfo info;
    if (status == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::GetCaptureInfo(Stream(stream), &info);
    return error != CudaError::kSuccess ? error : StoreCapture(info, status, id, graph, dependencies, data, count);
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, const CUgraphEdgeData* data,
                                           size_t count, unsigned flags) {
  return Driver(Call::k_cuStreamUpdateCaptureDependencies_v2, [&] {
    return client::UpdateCaptureDependencies(Stream(stream), {Nodes(dependencies), Data(data), count}, flags);
  });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return DriverLocal(Call::k_cuThreadExchangeStreamCaptureMode,
                     [&] { return client::ExchangeCaptureMode(reinterpret_cast<int*>(mode)); });
}

}  // extern "C"
