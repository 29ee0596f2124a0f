#include "wharf/server/worker/device_factory.h"

#include <unistd.h>

#include <utility>

#include "wharf/base/log.h"
#include "wharf/device/soft/driver/make_soft_device.h"
#include "wharf/offload/client/session_environment.h"
#include "wharf/offload/partition/cut_planner.h"
#include "wharf/offload/partition/partitioned_device.h"
#include "wharf/offload/partition/remote_device.h"
#include "wharf/server/process/control.h"

namespace wharf::server {
namespace {

using Packs = std::shared_ptr<const device::pack::PackSet>;

// Where `wharf run` reads what was found (cli/offload/local_server.h); a line is one write.
void SayOnStandardError(const std::string& line) {
  const std::string whole = line + "\n";
  if (write(STDERR_FILENO, whole.data(), whole.size()) < 0) return;  // nobody reads
}

// Null if WHARF_CHECK names none.
absl::StatusOr<std::shared_ptr<device::soft::check::Findings>> MakeFindings() {
  const std::string names = offload::EnvironmentVariable(offload::kProgramVariables, "CHECK");
  if (names.empty()) return nullptr;
  WHARF_ASSIGN_OR_RETURN(const device::soft::check::Checks checks, device::soft::check::ParseChecks(names));
  return std::make_shared<device::soft::check::Findings>(checks, SayOnStandardError);
}

absl::StatusOr<std::unique_ptr<device::Device>> MakeSoftDevice(const device::DeviceOptions& options,
                                                               link::UniqueFd compiler, Packs packs) {
  if (compiler.get() < 0) return device::MakeSoftDevice(options);
  WHARF_ASSIGN_OR_RETURN(auto findings, MakeFindings());
  return device::MakeSoftDevice(options, compiler.Release(), std::move(packs), std::move(findings));
}

absl::StatusOr<std::unique_ptr<device::Device>> MakePartitionedDevice(const device::DeviceOptions& options,
                                                                      link::UniqueFd compiler, Packs packs) {
  const auto variable = [](const char* name) { return offload::EnvironmentVariable(offload::kProgramVariables, name); };
  const std::string policy = variable("PARTITION"), driver = variable("PARTITION_DEVICE");
  if (policy != "local" && policy != "auto") {
    return InvalidArgument("WHARF_PARTITION is '{}': it must be local or auto", policy);
  }
  WHARF_ASSIGN_OR_RETURN(auto remote, offload::RemoteDevice::Open([](auto output) {
                           offload::ClientSessionOptions session;
                           session.program = "partition";
                           session.output = std::move(output);
                           return offload::OpenSession(offload::kUpstreamVariables, std::move(session),
                                                       [](const std::string& line) {
                                                         Log(LogLevel::kError, "upstream", {{"why", line}});
                                                       });
                         }));
  device::DeviceOptions at_same_place = options;  // addresses mean the same on both sides
  at_same_place.arena_base = remote->Arena().base;
  WHARF_ASSIGN_OR_RETURN(
      auto local, MakeDevice(driver.empty() ? "auto" : driver, at_same_place, std::move(compiler), std::move(packs)));
  std::unique_ptr<offload::Placement> placement = std::make_unique<offload::AllLocal>();
  if (policy == "auto") {
    placement = std::make_unique<offload::CutPlanner>([session = &remote->session()] { return session->Link(); });
  }
  return offload::PartitionedDevice::Create(std::move(local), std::move(remote), std::move(placement));
}

}  // namespace

absl::StatusOr<std::unique_ptr<device::Device>> MakeDevice(const std::string& driver,
                                                           const device::DeviceOptions& options,
                                                           link::UniqueFd compiler, Packs packs) {
  if (driver == kPartitionDriver) return MakePartitionedDevice(options, std::move(compiler), std::move(packs));
  if (driver == "soft") return MakeSoftDevice(options, std::move(compiler), std::move(packs));
  absl::StatusOr<std::unique_ptr<device::Device>> gpu = device::MakeCudaDevice(options);
  if (gpu.ok()) return gpu;
  if (driver == "cuda") {
    return Unavailable("no GPU can be used ({}); `wharf doctor` says more, --device soft uses the CPU",
                       Message(gpu.status()));
  }
  Log(LogLevel::kInfo, "no GPU, using the CPU", {{"why", Message(gpu.status())}});
  return MakeSoftDevice(options, std::move(compiler), std::move(packs));
}

}  // namespace wharf::server
