#pragma once

#include <memory>

#include "wharf/device/device.h"
#include "wharf/device/pack/match.h"

namespace wharf::device {

// As MakeSoftDevice (device.h), but kernels are compiled by another process: owns `compiler`, the client's end of a
// socket to it (soft/jit/compile_service.h). The directory of the cache is only read. `packs`: where the PTX of
// programs is that carry none; null: nowhere.
absl::StatusOr<std::unique_ptr<Device>> MakeSoftDevice(const DeviceOptions& options, int compiler,
                                                       std::shared_ptr<const pack::PackSet> packs);

}  // namespace wharf::device
