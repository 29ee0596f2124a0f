#include "wharf/offload/bulk/bulk_encoder.h"

#include <algorithm>
#include <cstring>

namespace wharf::offload {
namespace {

// A trial looks at so many bytes of the beginning, the middle and the end.
constexpr size_t kSampleBytes = 8 << 10;
constexpr size_t kSamples = 3;
constexpr size_t kMostKinds = 4096;
// Memory for coding that is kept between payloads.
constexpr size_t kKeptScratch = 1 << 20;

template <typename Visit>
void ForEachSample(size_t bytes, Visit visit) {
  if (bytes <= kSamples * kSampleBytes) return visit(size_t{0}, bytes);
  for (size_t i = 0; i < kSamples; ++i) visit((bytes - kSampleBytes) / (kSamples - 1) * i, kSampleBytes);
}

std::span<std::byte> Scratch(std::vector<std::byte>& scratch, size_t bytes) {
  if (scratch.size() < bytes || scratch.size() > std::max(bytes, kKeptScratch)) {
    scratch = std::vector<std::byte>(bytes);
  }
  return std::span(scratch).first(bytes);
}

}  // namespace

EncodedBulk BulkEncoder::Encode(const Place& place, Memory memory, Bytes payload, double bits_per_second) {
  if (payload.size() <= kLeastCodedBytes) return {payload, 0};
  if (!costs_.CouldPay(bits_per_second)) {
    counters_.Add({}, payload.size(), payload.size(), Nanoseconds::zero());
    return {payload, 0};
  }
  const TimePoint begin = Clock::OfThread().Now();
  const auto known = kinds_.find(place.bytes);
  PayloadKind& kind = known == kinds_.end() ? first_ : known->second;
  const Candidates candidates = memory == Memory::kPlaces ? Find(place) : Candidates();
  const Bases bases = candidates.Which();
  if (kind.WantsTrial(bases)) kind.NoteTrial(Try(payload, candidates), bases, bits_per_second, costs_);
  BulkCoding coding;
  Bytes bytes = payload;
  if (const std::optional<Way> way = kind.Best(bases, bits_per_second, costs_)) {
    const Bytes coded = Compress(*way, payload, candidates.For(*way));
    kind.NoteResult(*way, coded.empty() ? 1 : static_cast<double>(coded.size()) / static_cast<double>(payload.size()));
    if (!coded.empty()) {
      coding = {way->codec, way->difference, false, way->latest};
      bytes = coded;
    }
  }
  if (known != kinds_.end()) {
    const bool fits = memory == Memory::kPlaces && payload.size() <= kMostRememberedPayload;
    coding.remember = fits && kind.WantsBase(bits_per_second, costs_);
    if (coding.remember) remembered_.Remember(place, payload);
  } else {
    if (kinds_.size() >= kMostKinds) kinds_.clear();
    kinds_.emplace(place.bytes, PayloadKind());
  }
  counters_.Add(coding, payload.size(), bytes.size(), Clock::OfThread().Now() - begin);
  return {bytes, coding.Flags()};
}

BulkEncoder::Candidates BulkEncoder::Find(const Place& place) const {
  Candidates found{remembered_.Find(place), remembered_.FindLatest(place.bytes)};
  if (found.place.data() == found.latest.data()) found.place = {};
  return found;
}

Ratios BulkEncoder::Try(Bytes payload, const Candidates& candidates) {
  Ratios coded{};
  size_t bytes = 0;
  ForEachSample(payload.size(), [&](size_t begin, size_t size) {
    bytes += size;
    const Bytes sample = payload.subspan(begin, size);
    const std::span<std::byte> out = Scratch(coded_, size);
    for (const Way& way : kWays) {
      Bytes in = sample;
      if (way.difference) {
        const Bytes base = candidates.For(way);
        if (base.empty()) continue;
        const std::span<std::byte> difference = Scratch(difference_, size);
        Subtract(sample, base.subspan(begin, size), difference);
        in = difference;
      }
      const size_t taken = compressor_.Compress(way.codec, in, out);
      coded[IndexOf(way)] += static_cast<double>(taken == 0 ? size : taken);
    }
  });
  for (double& ratio : coded) ratio /= static_cast<double>(bytes);
  return coded;
}

BulkEncoder::Bytes BulkEncoder::Compress(const Way& way, Bytes payload, Bytes base) {
  const TimePoint begin = Clock::OfThread().Now();
  Bytes in = payload;
  if (way.difference) {
    const std::span<std::byte> difference = Scratch(difference_, payload.size());
    Subtract(payload, base, difference);
    in = difference;
  }
  const std::span<std::byte> out = Scratch(coded_, payload.size());
  const auto size = static_cast<uint32_t>(payload.size());
  std::memcpy(out.data(), &size, kCodedPrefixBytes);
  // A byte less than the payload, so that what is coded is known to be smaller.
  const size_t room = payload.size() - kCodedPrefixBytes - 1;
  const size_t taken = compressor_.Compress(way.codec, in, out.subspan(kCodedPrefixBytes, room));
  costs_.Note(way, payload.size(), Seconds(Clock::OfThread().Now() - begin));
  return taken == 0 ? Bytes() : Bytes(out.first(kCodedPrefixBytes + taken));
}

}  // namespace wharf::offload
