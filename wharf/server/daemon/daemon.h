// The daemon behind `wharf serve`: listens, starts one worker process a client, keeps to the limits, counts, drains. It
// takes no byte that a client sent: it looks at the first ones, which stay unread, for a name that is there or not
// (front/acceptor.cc), and leaves parsing to the worker.
#pragma once

#include "wharf/server/daemon/options.h"

namespace wharf::server {

// Serves until SIGTERM or SIGINT, then drains; OK after an orderly end. Blocks SIGTERM, SIGINT, SIGCHLD, SIGUSR1 and
// SIGHUP in the calling thread, which must be the process's first. SIGUSR1 logs the counters.
absl::Status RunDaemon(const ServerOptions& options);

}  // namespace wharf::server
