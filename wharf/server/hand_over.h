// A connection that resumes a session of another worker: it is passed on, or, if it is encrypted, carried there.
#pragma once

#include <memory>

#include "wharf/link/resumable_stream.h"

namespace wharf::server {

// Asks the daemon, over `control`, to pass the connection on to the worker that has the session; refuses the client if
// there is none. A plain connection goes there as the descriptor `fd`, which stays the caller's. The state of TLS
// cannot move: then `fd` is -1, the worker at the other end gets a Unix socket, and this one carries the bytes until
// either side ends. Returns the process's exit code.
int HandOver(int control, std::unique_ptr<link::ByteStream> connection, int fd, const link::Opening& opening);

}  // namespace wharf::server
