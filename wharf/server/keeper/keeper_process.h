// The keeper of files: a process that reads and writes caches for worker processes, on a socket for each. It sees
// nothing but the directory of the caches. Who may have which files in it, the daemon says.
#pragma once

#include "wharf/server/process/control.h"

namespace wharf::server {

// For a process that was started as one, with its end of the control socket (control.h). Runs until the daemon is gone;
// returns the process's exit code.
int RunKeeper(int control_socket);

}  // namespace wharf::server
