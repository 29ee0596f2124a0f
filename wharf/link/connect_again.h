// Connections that are to go on with a session. A server has places apart for their handshakes, so it wants to know
// them from the first bytes. Over TLS all that it would go by is encrypted: there they say it in the TLS handshake, by
// a name of application protocol (ALPN, RFC 7301).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "wharf/link/byte_stream.h"

namespace wharf::link {

// As Connect.
absl::StatusOr<std::unique_ptr<ByteStream>> ConnectAgain(const std::string& address, const ConnectOptions& options);

// Whether an encrypted connection that begins with these bytes, of which kBeginningBytes are enough, says it goes on
// with a session. Nothing of it is believed, and nothing is parsed: the name is there or not.
inline constexpr size_t kBeginningBytes = 512;
bool GoesOn(std::span<const std::byte> beginning);

}  // namespace wharf::link
