#include "wharf/server/device_factory.h"

#include "wharf/base/log.h"

namespace wharf::server {

absl::StatusOr<std::unique_ptr<device::Device>> MakeDevice(const std::string& driver,
                                                           const device::DeviceOptions& options) {
  if (driver == "soft") return device::MakeSoftDevice(options);
  absl::StatusOr<std::unique_ptr<device::Device>> gpu = device::MakeCudaDevice(options);
  if (gpu.ok()) return gpu;
  if (driver == "cuda") {
    return Unavailable("no GPU can be used ({}); `wharf doctor` says more, --device soft uses the CPU",
                       Message(gpu.status()));
  }
  Log(LogLevel::kInfo, "no GPU, using the CPU", {{"why", Message(gpu.status())}});
  return device::MakeSoftDevice(options);
}

}  // namespace wharf::server
