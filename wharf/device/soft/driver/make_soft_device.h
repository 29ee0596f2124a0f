#pragma once

#include <memory>

#include "wharf/device/device.h"

namespace wharf::device {

// As MakeSoftDevice (device.h), but kernels are compiled by another process: owns `compiler`, the client's end of a
// socket to it (soft/jit/compile_service.h). The directory of the cache is only read.
absl::StatusOr<std::unique_ptr<Device>> MakeSoftDevice(const DeviceOptions& options, int compiler);

}  // namespace wharf::device
