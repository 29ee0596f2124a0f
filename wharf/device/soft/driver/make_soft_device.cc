#include "wharf/device/soft/driver/make_soft_device.h"

#include <algorithm>

#include "wharf/base/mutex.h"
#include "wharf/device/soft/driver/soft_device.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/runtime/fiber.h"

namespace wharf::device {
namespace {

// A program has code, however little memory it wants.
soft::CompilerOptions OptionsFor(const DeviceOptions& options) {
  constexpr uint64_t kLeastCode = uint64_t{256} << 20;
  soft::CompilerOptions compiling;
  compiling.code_bytes = std::min(compiling.code_bytes, std::max(options.memory_quota, kLeastCode));
  return compiling;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> MakeSoftDevice(const DeviceOptions& options) {
  TrustLockOrder();
  WHARF_ASSIGN_OR_RETURN(std::unique_ptr<soft::Compiler> compiler,
                         soft::Compiler::Create(options.cache_directory, OptionsFor(options)));
  return soft::SoftDevice::Create(options, std::move(compiler));
}

absl::StatusOr<std::unique_ptr<Device>> MakeSoftDevice(const DeviceOptions& options, int compiler,
                                                       std::shared_ptr<const pack::PackSet> packs,
                                                       std::shared_ptr<soft::check::Findings> findings) {
  TrustLockOrder();
  soft::CompilerOptions compiling = OptionsFor(options);
  if (findings != nullptr) compiling.checks = findings->checks();
  WHARF_ASSIGN_OR_RETURN(auto elsewhere, soft::Compiler::CreateElsewhere(options.cache_directory, compiler, compiling));
  WHARF_ASSIGN_OR_RETURN(auto device, soft::SoftDevice::Create(options, std::move(elsewhere), std::move(packs)));
  if (findings != nullptr) WHARF_RETURN_IF_ERROR(device->SetFindings(std::move(findings)));
  return device;
}

void ReadMachineForSoftDevices() {
  soft::MaxStacks();
  soft::ReadProcessor();
}

}  // namespace wharf::device
