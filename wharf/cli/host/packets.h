// Packets on a Unix socket that keeps them apart (SOCK_SEQPACKET), and a descriptor along with one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "wharf/base/status.h"

namespace wharf::cli {

enum class IfFull { kWait, kDrop };

// `fd` >= 0 goes along: the receiver gets a copy. kUnavailable: the other side has gone; kInternal and others by errno:
// too long for the socket. What is dropped is OK.
absl::Status SendPacket(int socket, std::string_view packet, int fd = -1, IfFull if_full = IfFull::kWait);

// The next packet; std::nullopt: the other side has gone, or sent an empty one. Descriptors that come along are closed.
// kDataLoss: longer than `most` bytes, or with more descriptors than anybody passes.
absl::StatusOr<std::optional<std::string>> ReceivePacket(int socket, size_t most);

}  // namespace wharf::cli
