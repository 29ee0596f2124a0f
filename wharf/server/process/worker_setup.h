// What the worker processes of both programs, wharf and wharf-model, do alike before they serve anybody.
#pragma once

#include <memory>

#include "wharf/server/process/control.h"
#include "wharf/server/process/fair_share.h"

namespace wharf::server {

struct WorkerSetup {
  Configure configure;
  std::shared_ptr<SharedPage> shares;  // null if the device is not shared
};
// The daemon's first message. Fails as ReceiveControl, DecodeControl and SharedPage::Map.
absl::StatusOr<WorkerSetup> ReceiveSetup(int control_socket);

// A peer whose machine or network is gone sends no FIN: the kernel finds out even while nobody reads `connection`. Does
// nothing to Unix sockets, whose peers cannot vanish without a hang-up.
void ArmKernelKeepAlive(int connection, Nanoseconds idle_timeout);

}  // namespace wharf::server
