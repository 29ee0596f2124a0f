#include "wharf/cudashim/client/graph/capture.h"

#include <memory>
#include <span>
#include <utility>

#include "wharf/cudashim/client/graph/owned.h"
#include "wharf/cudashim/client/stream_work.h"

namespace wharf::client {
namespace {

bool IsComplete(const Dependencies& all) { return all.count == 0 || all.nodes != nullptr; }
std::span<const NodeHandle> NodesOf(const Dependencies& all) { return {all.nodes, all.count}; }
std::span<const cudagraph::EdgeData> DataOf(const Dependencies& all) {
  return {all.data, all.data == nullptr ? 0 : all.count};
}

CudaError Begin(StreamHandle stream, std::shared_ptr<cudagraph::Graph> graph, const Dependencies& behind, int mode) {
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    return connection.captures.Begin(id, connection.IsBlocking(id), static_cast<cudagraph::CaptureMode>(mode),
                                     ThisThread(), std::move(graph), NodesOf(behind), DataOf(behind));
  });
}

}  // namespace

CudaError BeginCapture(StreamHandle stream, int mode) {
  return Begin(stream, std::make_shared<cudagraph::Graph>(), {}, mode);
}

CudaError BeginCaptureTo(StreamHandle stream, GraphHandle graph, const Dependencies& behind, int mode) {
  // The program's, or one that a node of it has.
  auto owned = cudagraph::Graph::Contains(graph) ? graph->weak_from_this().lock() : nullptr;
  if (owned == nullptr || !IsComplete(behind)) return CudaError::kInvalidValue;
  return Begin(stream, std::move(owned), behind, mode);
}

CudaError EndCapture(StreamHandle stream, GraphHandle* graph) {
  if (graph != nullptr) *graph = nullptr;
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    std::shared_ptr<cudagraph::Graph> captured;
    const CudaError error = connection.captures.End(id, ThisThread(), &captured);
    // Who does not want the graph may end its capture.
    if (error == CudaError::kSuccess && graph != nullptr) *graph = OwnedGraphs::Get().Add(std::move(captured));
    return error;
  });
}

CudaError GetCaptureInfo(StreamHandle stream, cudagraph::CaptureInfo* info) {
  *info = {};
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr || IsUnmade(*connection, stream)) return error;
  return WithStream(stream, [&](Connection& own, device::StreamId id) { return own.captures.Info(id, info); });
}

CudaError UpdateCaptureDependencies(StreamHandle stream, const Dependencies& dependencies, unsigned flags) {
  constexpr unsigned kAdd = 0, kSet = 1;
  if (!IsComplete(dependencies) || flags > kSet) return CudaError::kInvalidValue;
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  if (IsUnmade(*connection, stream)) return cudagraph::kIllegalState;
  return WithStream(stream, [&](Connection& own, device::StreamId id) {
    return own.captures.UpdateDependencies(id, NodesOf(dependencies), DataOf(dependencies), flags != kAdd);
  });
}

}  // namespace wharf::client
