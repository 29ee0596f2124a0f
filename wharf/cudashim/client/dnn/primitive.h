// Primitives of neural networks, from libcudnn; and Fourier transforms, from libcufft.
#pragma once

#include <string>

#include "wharf/cudashim/client/call.h"
#include "wharf/cudashim/client/memory.h"
#include "wharf/device/dnn_norm.h"
#include "wharf/device/primitive.h"

namespace wharf::client {

// What can be said of it before it is sent: all but whether its memory is there. `why` gets the reason.
WHARF_CLIENT_API CudaError CheckPrimitive(const device::Primitive& primitive, std::string* why);
// Checks and queues it, or adds it to the graph that the stream is captured into.
WHARF_CLIENT_API CudaError RunPrimitive(StreamHandle stream, const device::Primitive& primitive, std::string* why);

// Of batch normalization in training, for the drop-in library, which has none of the device's code.
WHARF_CLIENT_API device::DnnGraph DescribeNorm(const device::DnnNorm& norm);

// Of a recurrent network, for the drop-in library, which has none of the device's code: whether its sizes are such that
// the rest of this can be asked; the weights, and where each is.
WHARF_CLIENT_API CudaError CheckNetwork(const device::Recurrent& network, std::string* why);
WHARF_CLIENT_API int64_t CountWeights(const device::Recurrent& network);
WHARF_CLIENT_API device::RecurrentWeights::Part FindMatrix(const device::Recurrent& network, int32_t layer, int32_t id);
WHARF_CLIENT_API device::RecurrentWeights::Part FindBias(const device::Recurrent& network, int32_t layer, int32_t id);

}  // namespace wharf::client
