// A worker process of wharf-model: serves one client's split session, over one connection after the other, then ends.
// Started by the daemon as `wharf-model worker` with its end of the control socket (control.h) as kControlDescriptor,
// when a worker of `wharf` has let a client in (server/worker/model_admission.h).
#pragma once

namespace wharf::server {

// Runs until the client or the daemon is gone; returns the process's exit code.
int RunModelWorker(int control_socket);

}  // namespace wharf::server
