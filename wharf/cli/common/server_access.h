// How a command reaches a server: its address, the token, TLS.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"

namespace wharf::cli {

struct ServerAccess {
  std::string server;
  std::string token_file;
  bool tls = false;
  std::string tls_ca, tls_certificate, tls_key, tls_pin;
  Nanoseconds timeout = std::chrono::seconds(10);  // for connecting and TLS

  // The file's, else that of WHARF_TOKEN, else of the file that WHARF_TOKEN_FILE names, else none. Fails as
  // server::LoadToken.
  absl::StatusOr<std::string> Token() const;
  link::ConnectOptions Connecting() const;
};

// --server, --token-file and those of TLS; returns the first. `access` must outlive the command.
CLI::Option* AddServerAccess(CLI::App* command, ServerAccess& access);

// After the command line was read: takes WHARF_SERVER where no --server was given, and with it WHARF_TLS, _TLS_CA,
// _TLS_PIN, _TLS_CERT and _TLS_KEY where the option is not given; has what belongs to TLS switch it on. Throws
// CLI::ValidationError, a usage error of `command`.
void FinishServerAccess(const std::string& command, ServerAccess& access);

}  // namespace wharf::cli
