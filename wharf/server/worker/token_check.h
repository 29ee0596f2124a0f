// Whether a client of a worker knows the server's token.
#pragma once

#include <string>

#include "wharf/wire/handshake.h"

namespace wharf::server {

// "": none is wanted.
wire::TokenCheck CheckAgainst(const std::string& token);

}  // namespace wharf::server
