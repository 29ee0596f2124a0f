// Work on a stream of the session, past any capture of it: what launches of graphs are made of. Making work checks it,
// as the calls of both APIs do. Internal to libwharf_client.so.
#pragma once

#include "wharf/cudashim/client/module.h"
#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/graph/capture.h"
#include "wharf/offload/wire.h"

namespace wharf::client {

// Runs `body(connection, stream id)` with a valid stream.
template <typename Body>
CudaError WithStream(StreamHandle stream, Body&& body) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  return error == CudaError::kSuccess ? body(*connection, id) : error;
}

// Whether a copy to the host may return before its data is there: no; if the memory is pinned; wherever it is.
enum class Landing { kBeforeReturn, kLaterIfPinned, kLater };

// Finds out which side is where. `params` has the boxes, the extent and the kind.
CudaError CheckCopyParams(cudagraph::CopyParams* params);
CudaError CheckFillParams(const cudagraph::FillParams& params);

CudaError LaunchOn(Connection& connection, device::StreamId stream, const cudagraph::KernelParams& kernel);
CudaError GemmOn(Connection& connection, const offload::RunGemm& op);
CudaError PrimitiveOn(Connection& connection, device::StreamId stream, const device::Primitive& primitive);
CudaError CopyOn(Connection& connection, device::StreamId stream, const cudagraph::CopyParams& copy, Landing landing);
CudaError FillOn(Connection& connection, device::StreamId stream, const cudagraph::FillParams& fill);
CudaError HostFunctionOn(Connection& connection, device::StreamId stream, const cudagraph::HostParams& call);
CudaError RecordOn(Connection& connection, device::StreamId stream, EventHandle event);
CudaError SynchronizeOn(Connection& connection, device::StreamId stream);
// Memory of a graph that its launches allocate and free. It lies in the session's arena until the last owner is gone.
CudaError MakeGraphMemory(Connection& connection, uint64_t size, std::shared_ptr<cudagraph::GraphMemory>* memory);
// The same, or any other allocation, is freed by a launch.
CudaError FreeOn(Connection& connection, uint64_t address);

// kCaptureUnsupported, and a capture invalidated, if this thread must not make unsafe calls now.
CudaError ForbidUnsafe(Connection& connection);
cudagraph::ThreadId ThisThread();
// A thread's own default stream that was never used.
bool IsUnmade(const Connection& connection, StreamHandle stream);

}  // namespace wharf::client
