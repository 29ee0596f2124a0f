// CUDA arrays in the driver API's terms (cudashim/client/texture/array.h).
#pragma once

#include <optional>

#include "wharf/cudashim/client/texture/array.h"
#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {

// nullopt if it is no format of texels, or none that is offered: planar, normalized and compressed ones.
std::optional<device::ChannelFormat> FormatOf(CUarray_format format, unsigned channels);
CUarray_format DescribeFormat(const device::ChannelFormat& format);

}  // namespace wharf::cudashim
