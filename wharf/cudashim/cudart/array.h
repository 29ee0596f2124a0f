// CUDA arrays in the runtime's terms (cudashim/client/texture/array.h).
#pragma once

#include <optional>

#include "wharf/cudashim/client/texture/array.h"
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {

using client::Array;
using client::BoxIn;
using client::FindArray;

// One, two or four channels of 8, 16 or 32 bits, all alike. nullopt if it is no format of texels.
std::optional<device::ChannelFormat> FormatOf(const cudaChannelFormatDesc& format);
cudaChannelFormatDesc DescribeFormat(const device::ChannelFormat& format);

// kInvalidMemcpyDirection unless `kind` copies to (from) a device, as a copy to (from) an array does.
CudaError CheckArrayDirection(cudaMemcpyKind kind, bool to_array, bool from_array);

}  // namespace wharf::cudashim
