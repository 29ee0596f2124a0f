// Asks a server whether it would let a client in, so that what is wrong is said in one line before a program starts.
#pragma once

#include <optional>
#include <string>

#include "wharf/link/byte_stream.h"

namespace wharf::cli {

struct CheckedServer {
  std::string driver;             // of its device: "soft", "cuda"
  bool has_kernel_packs = false;  // it may have PTX for programs that carry none
  bool has_room = false;          // for one more session
  uint64_t sessions = 0;          // that it has
  // Of packets between both, the shortest of this connection; zero where it is none of TCP.
  Nanoseconds round_trip{0};
};

// A failure's message is the line to print: no server there,
// wrong token, another version, a server that shuts down.
absl::StatusOr<CheckedServer> CheckServer(const std::string& address, const link::ConnectOptions& options,
                                          const std::string& token);

}  // namespace wharf::cli
