// BulkDecoder: makes payloads of what a BulkEncoder sent. What comes is hostile until checked: memory is taken for the
// bytes that the caller expects and no others, and only once the frame said that it has exactly those.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wharf/offload/bulk/bulk_coding.h"
#include "wharf/offload/bulk/bulk_counters.h"
#include "wharf/offload/bulk/compression.h"
#include "wharf/offload/bulk/remembered_payloads.h"

namespace wharf::offload {

// Whether bulk of so many bytes can be a payload of `expected` bytes in this coding: before memory is taken for it.
// kDataLoss.
absl::Status CheckCodedSize(const BulkCoding& coding, uint64_t bulk_bytes, uint64_t expected);
// The payload's size that compressed bulk says it has: its sender's word. kDataLoss if it says none.
absl::StatusOr<uint32_t> DeclaredBytes(std::span<const std::byte> bulk);

// Not thread-safe, but for Counters.
class BulkDecoder {
 public:
  // The payload for `place`, place.bytes long; `bulk` itself if it was not coded. kDataLoss: it is no such payload, or
  // differs from one that is not remembered, or asks for more to be remembered than is agreed.
  absl::StatusOr<std::vector<std::byte>> Decode(const BulkCoding& coding, const Place& place,
                                                std::vector<std::byte> bulk);
  // Compressed bulk that belongs to no place, to where the payload belongs. kDataLoss: it is no such payload.
  absl::Status DecodeInto(const BulkCoding& coding, std::span<const std::byte> bulk, std::span<std::byte> payload);

  // Of what was compressed.
  BulkTraffic Counters() const { return counters_.Get(); }
  size_t remembered_bytes() const { return remembered_.bytes(); }

 private:
  absl::Status Expand(const BulkCoding& coding, std::span<const std::byte> bulk, std::span<const std::byte> base,
                      std::span<std::byte> payload);

  Decompressor decompressor_;
  RememberedPayloads remembered_;
  BulkCounters counters_;
};

}  // namespace wharf::offload
