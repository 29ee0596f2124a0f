// Stream capture as both shims see it: from its beginning to its end. What is put on captured streams meanwhile becomes
// nodes where it is put there (stream_work.h).
#pragma once

#include "wharf/cudashim/client/graph/graphs.h"
#include "wharf/cudashim/graph/capture.h"

namespace wharf::client {

// Modes and flags are the numbers of both APIs.
WHARF_CLIENT_API CudaError BeginCapture(StreamHandle stream, int mode);
WHARF_CLIENT_API CudaError BeginCaptureTo(StreamHandle stream, GraphHandle graph, const Dependencies& behind, int mode);
// The graph is the program's.
WHARF_CLIENT_API CudaError EndCapture(StreamHandle stream, GraphHandle* graph);
WHARF_CLIENT_API CudaError GetCaptureInfo(StreamHandle stream, cudagraph::CaptureInfo* info);
WHARF_CLIENT_API CudaError UpdateCaptureDependencies(StreamHandle stream, const Dependencies& dependencies,
                                                     unsigned flags);

}  // namespace wharf::client
