// The daemon behind `wharf serve`: listens, starts one worker process a client, keeps to the limits, counts, drains. It
// never reads a byte that a client sent.
#pragma once

#include "wharf/server/daemon/options.h"

namespace wharf::server {

// Serves until SIGTERM or SIGINT, then drains; OK after an orderly end. Blocks SIGTERM, SIGINT, SIGCHLD, SIGUSR1 and
// SIGHUP in the calling thread, which must be the process's first. SIGUSR1 logs the counters.
absl::Status RunDaemon(const ServerOptions& options);

}  // namespace wharf::server
