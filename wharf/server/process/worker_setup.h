// What the worker processes of both programs, wharf and wharf-model, do alike before they serve anybody.
#pragma once

#include <memory>
#include <optional>

#include "wharf/base/sandbox/policies.h"
#include "wharf/server/process/control.h"
#include "wharf/server/process/fair_share.h"

namespace wharf::server {

struct WorkerSetup {
  Configure configure;
  std::shared_ptr<SharedPage> shares;  // null if the device is not shared
};
// The daemon's first message. Fails as ReceiveControl, DecodeControl and SharedPage::Map.
absl::StatusOr<WorkerSetup> ReceiveSetup(int control_socket);

// Bytes that a worker of a program on the software device may take beside what it has before it serves anybody: the
// device's memory, its own, and what running kernels takes on each core that it may use. No limit: a GPU's driver
// takes memory as it likes, and so does a sanitizer.
std::optional<uint64_t> ProgramMemory(const Configure& configure);

// Shuts this process in for good: no more than `memory` bytes, if given, no file system unless `keeps_files`, then
// `policy`. A worker that cannot be shut in as it was configured must serve nobody.
absl::Status Confine(const Configure& configure, const SandboxPolicy& policy, bool keeps_files,
                     std::optional<uint64_t> memory);

// A peer whose machine or network is gone sends no FIN: the kernel finds out even while nobody reads `connection`. Does
// nothing to Unix sockets, whose peers cannot vanish without a hang-up.
void ArmKernelKeepAlive(int connection, Nanoseconds idle_timeout);

}  // namespace wharf::server
