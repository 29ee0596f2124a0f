// The socket that a program was started with to listen on, as systemd's socket units pass one.
#pragma once

#include <memory>

#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"

namespace wharf::link {

// By LISTEN_PID and LISTEN_FDS, as sd_listen_fds(3) has them; null: this process was given none. Once a process: it
// owns the descriptor then. kInvalidArgument: there are several, or it is no socket that listens for streams.
absl::StatusOr<std::unique_ptr<Listener>> InheritListener();

}  // namespace wharf::link
