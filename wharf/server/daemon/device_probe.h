// Asks a worker process which device there is: a GPU driver's state must not be in the daemon, which forks.
#pragma once

#include <memory>

#include "wharf/base/status.h"
#include "wharf/server/daemon/worker_process.h"

namespace wharf::server {

// Waits for the answer, two minutes at most, and ends the worker. kUnavailable with the reason if no device can be
// made; kInternal if the worker does not say.
absl::StatusOr<ProbeResult> ProbeDevice(std::unique_ptr<WorkerProcess> worker);

}  // namespace wharf::server
