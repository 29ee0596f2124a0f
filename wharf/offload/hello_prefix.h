// The fields that the Hello of every kind of session and of every version of its protocol begins with, so that any two
// can tell each other that they do not fit. docs/protocol.md, "Handshake".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wharf/base/status.h"

namespace wharf::offload {

struct ProtocolVersion {
  const char* client;    // whose Hello it is: "Wharf client"
  const char* protocol;  // what both speak: "protocol"
  uint32_t magic = 0;
  uint16_t major = 0, minor = 0;
};

// Looks at the prefix only. kInvalidArgument: no such client's Hello; kFailedPrecondition: of another major version.
// The message is the line to show to the user.
absl::Status CheckHelloPrefix(std::span<const std::byte> head, const ProtocolVersion& ours);

}  // namespace wharf::offload
