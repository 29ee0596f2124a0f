// PeerAccess: how the scheduler gets in to workers, workers to each other, and clients to the scheduler.
#pragma once

#include <optional>
#include <string>

#include "wharf/link/byte_stream.h"
#include "wharf/pipeline/runtime/messages.h"

namespace wharf::pipeline {

struct PeerAccess {
  std::string token;                          // shown to them; "": nothing. Never logged
  std::optional<link::TlsClientOptions> tls;  // nothing: connections are not encrypted

  link::ConnectOptions Connecting(Nanoseconds timeout) const { return {.timeout = timeout, .tls = tls}; }
};

// A worker's of those who come: other workers that know `token` and schedulers that know `scheduler_token`; both "":
// whoever is one.
wire::ClientCheck WorkersCheck(const std::string& token, const std::string& scheduler_token);

}  // namespace wharf::pipeline
