// Who may connect to a server: those that know its token, or show a certificate of its CA; without either, everybody on
// this machine and nobody else.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"
#include "wharf/wire/handshake.h"

namespace wharf::server {

// Names of files; "" = none.
struct AccessOptions {
  std::string token_file;                // its first line is the token
  std::string tls_certificate, tls_key;  // both or neither: connections are encrypted
  std::string tls_client_ca;             // who connects must show a certificate of this CA
};

// One line that says what to do, kInvalidArgument, if `listen` is no address, options contradict each other, a file
// cannot be read, or others can reach `listen` and there is neither a token nor mutual TLS.
absl::Status Validate(const std::string& listen, const AccessOptions& options);

// What the options say, read from the files.
struct AccessControl {
  std::string token;                          // "": none is asked for. Never logged
  std::optional<link::TlsServerOptions> tls;  // nothing: connections are not encrypted

  // For a server that encrypts its connections in its own process; null: they are not encrypted. Reads the files. Fails
  // as link::TlsServer::Create.
  absl::StatusOr<std::unique_ptr<const link::TlsServer>> MakeTlsServer() const;
  // Of a server that is for clients only.
  wire::ClientCheck ClientsOnly() const;
};
// Fails as Validate, CheckTlsFiles and LoadToken.
absl::StatusOr<AccessControl> MakeAccessControl(const std::string& listen, const AccessOptions& options);

// True if only this machine can reach `address`: 127.0.0.0/8, ::1, localhost, unix:PATH.
bool IsLoopbackAddress(const std::string& address);

// The first line of `path`, without white space around it. kInvalidArgument if it is shorter than 16 characters or
// longer than 4096, kNotFound/kPermissionDenied if it cannot be read.
absl::StatusOr<std::string> LoadToken(const std::string& path);

}  // namespace wharf::server
