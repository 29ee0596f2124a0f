// Asks a server whether it would let a client in, so that what is wrong is said in one line before a program starts.
#pragma once

#include <optional>
#include <string>

#include "wharf/link/byte_stream.h"

namespace wharf::cli {

// Which driver the server's device has ("soft", "cuda"). A failure's message is the line to print: no server there,
// wrong token, another version, a server that shuts down.
absl::StatusOr<std::string> CheckServer(const std::string& address, const link::ConnectOptions& options,
                                        const std::string& token);

}  // namespace wharf::cli
