// PeerAccess: how the scheduler gets in to workers, workers to each other, and clients to the scheduler.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "wharf/link/byte_stream.h"
#include "wharf/pipeline/runtime/messages.h"

namespace wharf::pipeline {

struct PeerAccess {
  std::string token;                           // shown to them; "": nothing. Never logged
  std::shared_ptr<const link::TlsClient> tls;  // null: connections are not encrypted
  bool by_number = false;                      // their addresses are numbers (link::CheckNumber)

  link::ConnectOptions Connecting(Nanoseconds timeout) const {
    return {.timeout = timeout, .tls = std::nullopt, .tls_client = tls, .by_number = by_number};
  }
};

// A worker's of those who come: other workers that know `token` and schedulers that know `scheduler_token`; both "":
// whoever is one.
wire::ClientCheck WorkersCheck(const std::string& token, const std::string& scheduler_token);

}  // namespace wharf::pipeline
