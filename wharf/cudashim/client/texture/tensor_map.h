// Tensor maps (device/tensor_map.h), encoded by the server's driver. They are kept, so that a program that encodes the
// same ones before each launch waits for each once.
#pragma once

#include "wharf/cudashim/client/memory.h"
#include "wharf/device/tensor_map.h"

namespace wharf::client {

// kNotSupported if the session's device has none.
WHARF_CLIENT_API CudaError EncodeTensorMap(const device::TensorMapDescription& description, device::TensorMap* map);

}  // namespace wharf::client
