#pragma once

#include <memory>

#include "wharf/device/device.h"
#include "wharf/device/pack/match.h"
#include "wharf/device/soft/check/findings.h"

namespace wharf::device {

// As MakeSoftDevice (device.h), but kernels are compiled by another process: owns `compiler`, the client's end of a
// socket to it (soft/jit/compile_service.h). The directory of the cache is only read. `packs`: where the PTX of
// programs is that carry none; null: nowhere. `findings`: says what is looked for in kernels, and gets what is found;
// null: nothing is.
absl::StatusOr<std::unique_ptr<Device>> MakeSoftDevice(const DeviceOptions& options, int compiler,
                                                       std::shared_ptr<const pack::PackSet> packs,
                                                       std::shared_ptr<soft::check::Findings> findings = nullptr);

}  // namespace wharf::device
