// How the bulk of a frame travels: as it is, compressed, or as the compressed difference from a payload that both ends
// remember. The frame's flags say which (link/channel.h); docs/protocol.md, "Coded bulk", is the same in prose.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "wharf/base/status.h"

namespace wharf::offload {

enum class Codec : uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };

struct BulkCoding {
  Codec codec = Codec::kNone;
  bool difference = false;  // what is compressed are the differences (mod 256) from a remembered payload's bytes
  bool remember = false;    // afterwards this payload is the one that is remembered of its place
  bool latest = false;      // of a difference: from the latest payload of that size, not from that of the same place

  uint16_t Flags() const {
    return static_cast<uint16_t>(static_cast<unsigned>(codec) | (difference ? 0x10u : 0u) | (remember ? 0x20u : 0u) |
                                 (latest ? 0x40u : 0u));
  }
  bool operator==(const BulkCoding&) const = default;
};

// What the flags of a frame say. kDataLoss: no coding.
absl::StatusOr<BulkCoding> CodingOf(uint16_t flags);

// Where a payload goes to. What came there before, and was as long, is what it may differ little from.
struct Place {
  uint64_t address = 0, bytes = 0;
  auto operator<=>(const Place&) const = default;
};

// Payloads of so many bytes or fewer are never coded: a round trip costs more than they do.
inline constexpr size_t kLeastCodedBytes = size_t{4} << 10;
// What either end remembers of a session and direction, and the most of it that one payload may be.
inline constexpr size_t kMostRememberedBytes = size_t{16} << 20;
inline constexpr size_t kMostRememberedPayload = size_t{8} << 20;
inline constexpr size_t kMostRememberedPlaces = 1024;
// A compressed payload begins with the size of what it becomes, u32.
inline constexpr size_t kCodedPrefixBytes = 4;

}  // namespace wharf::offload
