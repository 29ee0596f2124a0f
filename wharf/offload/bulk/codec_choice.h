// CodecChoice: how a payload should travel, by what was measured: the link's rate, the processor time that a codec
// takes for a byte on this machine, and how small payloads of the same kind became lately. Pure arithmetic: no clock,
// no bytes.
//
// A payload of n bytes takes n / rate as it is, and n * (time to compress and to decompress a byte) + coded / rate
// compressed. Where the first term is already below the cheapest codec's, nothing is tried at all: on a fast link a
// choice costs a comparison. Where nothing shrinks, what is tried again comes rarer and rarer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wharf/offload/bulk/bulk_coding.h"

namespace wharf::offload {

// A way to travel other than as it is (bulk_coding.h).
struct Way {
  Codec codec = Codec::kLz4;
  bool difference = false, latest = false;
  bool operator==(const Way&) const = default;
};
inline constexpr std::array<Way, 6> kWays = {Way{Codec::kLz4, false, false}, Way{Codec::kZstd, false, false},
                                             Way{Codec::kLz4, true, false},  Way{Codec::kZstd, true, false},
                                             Way{Codec::kLz4, true, true},   Way{Codec::kZstd, true, true}};
inline size_t IndexOf(const Way& way) {
  return (way.codec == Codec::kZstd ? 1u : 0u) + (way.difference ? 2u : 0u) + (way.latest ? 2u : 0u);
}
using Ratios = std::array<double, kWays.size()>;  // by IndexOf

// What a payload could differ from: what went to its place before, and the latest one of its size, if that is another.
struct Bases {
  bool place = false, latest = false;
  bool Any() const { return place || latest; }
  bool Permit(const Way& way) const { return !way.difference || (way.latest ? latest : place); }
};

// Processor time of the codecs, from the payloads they have compressed.
class CodecCosts {
 public:
  // Seconds for a byte to be compressed here and decompressed there, which is taken to be half as dear.
  double SecondsPerByte(const Way& way) const;
  // So many bytes took so long to be compressed.
  void Note(const Way& way, size_t bytes, double seconds);
  // Whether even bytes that shrink to nothing would gain by it on such a link. Never if the rate is not known (0).
  bool CouldPay(double bits_per_second) const;

 private:
  // At first: what machines of the last ten years do better than.
  Ratios compressing_ = {2e-9, 6e-9, 2e-9, 6e-9, 2e-9, 6e-9};
};

// Payloads of one kind: those of one size, say.
class PayloadKind {
 public:
  // Whether the next payload is to be tried in all ways; counts it.
  bool WantsTrial(const Bases& bases);
  // What the trial showed: coded bytes by the payload's, 1 or more if it did not shrink, of the ways that the bases
  // permit.
  void NoteTrial(const Ratios& ratios, const Bases& bases, double bits_per_second, const CodecCosts& costs);
  // A payload went this way, or was to go: 1 or more if it did not shrink.
  void NoteResult(const Way& way, double ratio);
  // The best way for the next payload; nullopt: as it is.
  std::optional<Way> Best(const Bases& bases, double bits_per_second, const CodecCosts& costs) const;
  // Whether the payload that goes now should be remembered: the next one may gain by it.
  bool WantsBase(double bits_per_second, const CodecCosts& costs) const;

 private:
  Ratios ratios_ = {1, 1, 1, 1, 1, 1};
  uint32_t until_trial_ = 0;  // payloads before the next trial
  uint32_t pause_ = 0;        // how many that were after the last one
  bool tried_difference_ = false;
};

}  // namespace wharf::offload
