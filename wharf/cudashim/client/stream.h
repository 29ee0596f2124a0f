// Streams and events as both shims see them.
#pragma once

#include <functional>

#include "wharf/cudashim/client/memory.h"

namespace wharf::client {

using EventHandle = uint64_t;

WHARF_CLIENT_API CudaError CreateStream(uint32_t flags, int32_t priority, StreamHandle* stream);
WHARF_CLIENT_API CudaError DestroyStream(StreamHandle stream);
WHARF_CLIENT_API CudaError SynchronizeStream(StreamHandle stream);
WHARF_CLIENT_API CudaError QueryStream(StreamHandle stream);
// `external`: while the stream is captured the graph gets a node that waits; an error if it is not.
WHARF_CLIENT_API CudaError WaitEvent(StreamHandle stream, EventHandle event, bool external);
WHARF_CLIENT_API CudaError SynchronizeDevice();

struct StreamInfo {
  uint64_t id = 0;
  uint32_t flags = 0;
  int32_t priority = 0;
};
WHARF_CLIENT_API CudaError DescribeStream(StreamHandle stream, StreamInfo* info);

using HostFunction = void (*)(void* user);
using StreamCallback = std::function<void(CudaError status)>;
WHARF_CLIENT_API CudaError LaunchHostFunction(StreamHandle stream, HostFunction function, void* user);
WHARF_CLIENT_API CudaError AddStreamCallback(StreamHandle stream, StreamCallback callback);

WHARF_CLIENT_API CudaError CreateEvent(uint32_t flags, EventHandle* event);
WHARF_CLIENT_API CudaError DestroyEvent(EventHandle event);
// `external`: as for WaitEvent.
WHARF_CLIENT_API CudaError RecordEvent(EventHandle event, StreamHandle stream, bool external);
WHARF_CLIENT_API CudaError SynchronizeEvent(EventHandle event);
WHARF_CLIENT_API CudaError QueryEvent(EventHandle event);
WHARF_CLIENT_API CudaError ElapsedTime(float* milliseconds, EventHandle start, EventHandle end);

}  // namespace wharf::client
