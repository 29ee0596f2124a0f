// Opens a session as environment variables describe it: the way `wharf run` tells other processes which server to use.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "wharf/base/status.h"
#include "wharf/offload/client/client_session.h"

namespace wharf::offload {

// The server that a program's calls go to, and the one behind the device of `--partition`.
inline constexpr std::string_view kProgramVariables = "WHARF_";
inline constexpr std::string_view kUpstreamVariables = "WHARF_UPSTREAM_";

// Takes one line for the user. Called on the session's threads and on those that use it.
using Tell = std::function<void(const std::string&)>;

// "" if it is not set.
std::string EnvironmentVariable(std::string_view prefix, std::string_view name);

// Connects to SERVER, over TLS if TLS is 1 (with TLS_CA, TLS_PIN, TLS_CERT, TLS_KEY), and shakes hands, with TOKEN or
// the first line of TOKEN_FILE; where that fails, to those that SERVER_NEXT lists with commas between them, one after
// the other, of which `tell` hears: nothing was computed yet. A silent server is lost after TIMEOUT_MS, a dropped
// connection is waited for RESUME_MS, calls travel as MODE says, unless replay is to be unsafe, data as COMPRESSION
// says: the names follow `prefix`. What these do not say is the caller's in `options`. When the server is lost, `tell`
// is told so in one line, also when the wait for a dropped connection begins, and when the server offers none.
// kNotFound, kInvalidArgument: a variable is missing or wrong, with what to do; else link::Connect's and
// ClientSession::Open's errors.
absl::StatusOr<std::unique_ptr<ClientSession>> OpenSession(std::string_view prefix, ClientSessionOptions options,
                                                           Tell tell);

}  // namespace wharf::offload
