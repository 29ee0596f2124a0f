// A message is the head of a frame.
#pragma once

#include <cstdint>
#include <span>

#include "wharf/link/channel.h"
#include "wharf/wire/codec.h"

namespace wharf::wire {

// As Channel::Send. `Kind`: the protocol's enumeration of frames.
template <typename Kind, typename T>
absl::Status SendMessage(link::Channel& channel, Kind kind, const T& message, uint64_t tag = 0,
                         std::span<const std::byte> bulk = {},
                         link::BulkOwnership ownership = link::BulkOwnership::kCopy) {
  return channel.Send(static_cast<uint16_t>(kind), tag, Encode(message), bulk, ownership);
}

}  // namespace wharf::wire
