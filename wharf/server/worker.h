// A worker process: serves one client, then ends. Started by the daemon as `wharf worker` with its end of the control
// socket (control.h) as descriptor kControlDescriptor.
#pragma once

namespace wharf::server {

inline constexpr int kControlDescriptor = 3;

// Runs until the client or the daemon is gone; returns the process's exit code.
int RunWorker(int control_socket);

}  // namespace wharf::server
