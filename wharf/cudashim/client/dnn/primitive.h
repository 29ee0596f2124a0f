// Primitives of neural networks, from libcudnn.
#pragma once

#include <string>

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/device/primitive.h"

namespace wharf::client {

// What can be said of it before it is sent: all but whether its memory is there. `why` gets the reason.
WHARF_CLIENT_API CudaError CheckPrimitive(const device::Primitive& primitive, std::string* why);
// Checks and queues it, or adds it to the graph that the stream is captured into.
WHARF_CLIENT_API CudaError RunPrimitive(StreamHandle stream, const device::Primitive& primitive, std::string* why);

}  // namespace wharf::client
