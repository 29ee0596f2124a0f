#include "wharf/base/mutex.h"
#include "wharf/device/soft/driver/soft_device.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/runtime/fiber.h"

namespace wharf::device {

absl::StatusOr<std::unique_ptr<Device>> MakeSoftDevice(const DeviceOptions& options) {
  TrustLockOrder();
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<soft::Compiler> compiler, soft::Compiler::Create(options.cache_directory));
  return soft::SoftDevice::Create(options, std::move(compiler));
}

void ReadMachineForSoftDevices() { soft::MaxStacks(); }

}  // namespace wharf::device
