// The process that compiles the kernels of one program's session: it gets PTX and returns object code, and runs
// neither. It cannot make memory executable, knows no token and no key, and has no descriptor of the client's.
#pragma once

#include "wharf/server/process/control.h"

namespace wharf::server {

// Runs until the session's worker or the daemon is gone; returns the process's exit code.
int RunCompiler(int control_socket, const Configure& configure);

}  // namespace wharf::server
