// BulkEncoder: makes payloads smaller before they travel, where that pays. One direction of a session has one, and a
// BulkDecoder at its other end: what the encoder gave out must reach that one in the same order.
//
//   const EncodedBulk coded = encoder.Encode(place, BulkEncoder::Memory::kPlaces, payload,
//   estimate.up_bits_per_second); channel->Send(kind, tag, head, coded.bytes, ownership, urgency, coded.flags);
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "wharf/offload/bulk/bulk_coding.h"
#include "wharf/offload/bulk/bulk_counters.h"
#include "wharf/offload/bulk/codec_choice.h"
#include "wharf/offload/bulk/compression.h"
#include "wharf/offload/bulk/remembered_payloads.h"

namespace wharf::offload {

struct EncodedBulk {
  std::span<const std::byte> bytes;  // the payload itself, or the encoder's until its next call
  uint16_t flags = 0;                // BulkCoding::Flags
};

// Not thread-safe, but for Counters.
class BulkEncoder {
 public:
  enum class Memory {
    kNone,   // what was sent is forgotten
    kPlaces  // payloads of sizes seen before are remembered, and sent as differences
  };
  // `bits_per_second`: of the link; 0: not known, then everything goes as it is.
  EncodedBulk Encode(const Place& place, Memory memory, std::span<const std::byte> payload, double bits_per_second);

  BulkTraffic Counters() const { return counters_.Get(); }
  size_t remembered_bytes() const { return remembered_.bytes(); }

 private:
  using Bytes = std::span<const std::byte>;
  // What a payload could differ from; empty if there is none. If both are the same, it is the latest.
  struct Candidates {
    Bytes place, latest;
    Bytes For(const Way& way) const { return way.latest ? latest : place; }
    Bases Which() const { return {!place.empty(), !latest.empty()}; }
  };
  Candidates Find(const Place& place) const;
  Ratios Try(Bytes payload, const Candidates& candidates);
  // The whole payload, coded, with its prefix; empty if it does not shrink.
  Bytes Compress(const Way& way, Bytes payload, Bytes base);

  CodecCosts costs_;
  Compressor compressor_;
  RememberedPayloads remembered_;
  std::map<uint64_t, PayloadKind> kinds_;  // by size, of sizes seen before
  PayloadKind first_;                      // what is the first of its size
  std::vector<std::byte> coded_, difference_;
  BulkCounters counters_;
};

}  // namespace wharf::offload
