// Which driver serves a session.
#pragma once

#include <memory>
#include <string>

#include "wharf/device/device.h"

namespace wharf::server {

// `driver`: "soft", "cuda", or "auto" (cuda if there is a usable GPU, else soft). kUnavailable with the reason and what
// to do.
absl::StatusOr<std::unique_ptr<device::Device>> MakeDevice(const std::string& driver,
                                                           const device::DeviceOptions& options);

}  // namespace wharf::server
