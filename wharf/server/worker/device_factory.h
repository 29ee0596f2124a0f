// Which driver serves a session.
#pragma once

#include <memory>
#include <string>

#include "wharf/device/device.h"
#include "wharf/device/pack/match.h"
#include "wharf/link/socket.h"

namespace wharf::server {

// `driver`: "soft", "cuda", "auto" (cuda if there is a usable GPU, else soft), or kPartitionDriver: then
// WHARF_PARTITION_DEVICE says which of these is here, WHARF_PARTITION ("local" or "auto") what runs on it, and the
// variables of offload::kUpstreamVariables where the rest does. `compiler`: a socket to whoever compiles for a software
// device, which becomes the device's; -1: this process compiles. `packs`: for a software device
// (make_soft_device.h). WHARF_CHECK names what a software device looks for in kernels (device/soft/check/checks.h);
// what it finds it says on standard error. kUnavailable with the reason and what to do.
absl::StatusOr<std::unique_ptr<device::Device>> MakeDevice(const std::string& driver,
                                                           const device::DeviceOptions& options,
                                                           link::UniqueFd compiler,
                                                           std::shared_ptr<const device::pack::PackSet> packs);

}  // namespace wharf::server
