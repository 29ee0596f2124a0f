// A worker process: serves one client, then ends. Started by the daemon as `wharf worker` with its end of the control
// socket (control.h) as kControlDescriptor.
#pragma once

namespace wharf::server {

// Runs until the client or the daemon is gone; returns the process's exit code.
int RunWorker(int control_socket);

}  // namespace wharf::server
