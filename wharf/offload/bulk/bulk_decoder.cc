#include "wharf/offload/bulk/bulk_decoder.h"

#include <cstring>
#include <utility>

namespace wharf::offload {

absl::Status CheckCodedSize(const BulkCoding& coding, uint64_t bulk_bytes, uint64_t expected) {
  const bool can_be =
      coding.codec == Codec::kNone ? bulk_bytes == expected : bulk_bytes > kCodedPrefixBytes && bulk_bytes < expected;
  if (!can_be) return DataLoss("{} bytes came as a payload of {}", bulk_bytes, expected);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> DeclaredBytes(std::span<const std::byte> bulk) {
  if (bulk.size() <= kCodedPrefixBytes) return DataLoss("compressed data of {} bytes", bulk.size());
  uint32_t bytes = 0;
  std::memcpy(&bytes, bulk.data(), kCodedPrefixBytes);
  return bytes;
}

absl::StatusOr<std::vector<std::byte>> BulkDecoder::Decode(const BulkCoding& coding, const Place& place,
                                                           std::vector<std::byte> bulk) {
  WHARF_RETURN_IF_ERROR(CheckCodedSize(coding, bulk.size(), place.bytes));
  if (coding.remember && (place.bytes == 0 || place.bytes > kMostRememberedPayload)) {
    return DataLoss("a payload of {} bytes is to be remembered; 1 to {}", place.bytes, kMostRememberedPayload);
  }
  std::span<const std::byte> base;
  if (coding.difference) {
    base = coding.latest ? remembered_.FindLatest(place.bytes) : remembered_.Find(place);
    if (base.empty()) return DataLoss("data differ from what was never sent there, or is not remembered any more");
  }
  std::vector<std::byte> payload;
  if (coding.codec == Codec::kNone) {
    payload = std::move(bulk);
  } else {
    WHARF_ASSIGN_OR_RETURN(const uint32_t declared, DeclaredBytes(bulk));
    if (declared != place.bytes) return DataLoss("data of {} bytes came for {}", declared, place.bytes);
    payload.resize(place.bytes);
    WHARF_RETURN_IF_ERROR(Expand(coding, bulk, base, payload));
  }
  if (coding.remember) remembered_.Remember(place, payload);
  return payload;
}

absl::Status BulkDecoder::DecodeInto(const BulkCoding& coding, std::span<const std::byte> bulk,
                                     std::span<std::byte> payload) {
  if (coding.codec == Codec::kNone || coding.difference || coding.remember) {
    return DataLoss("data that belong to no place can neither differ nor be remembered");
  }
  WHARF_RETURN_IF_ERROR(CheckCodedSize(coding, bulk.size(), payload.size()));
  WHARF_ASSIGN_OR_RETURN(const uint32_t declared, DeclaredBytes(bulk));
  if (declared != payload.size()) return DataLoss("data of {} bytes came for {}", declared, payload.size());
  return Expand(coding, bulk, {}, payload);
}

absl::Status BulkDecoder::Expand(const BulkCoding& coding, std::span<const std::byte> bulk,
                                 std::span<const std::byte> base, std::span<std::byte> payload) {
  const TimePoint begin = Clock::OfThread().Now();
  WHARF_RETURN_IF_ERROR(decompressor_.Decompress(coding.codec, bulk.subspan(kCodedPrefixBytes), payload));
  if (coding.difference) Add(base, payload);
  counters_.Add(coding, payload.size(), bulk.size(), Clock::OfThread().Now() - begin);
  return absl::OkStatus();
}

}  // namespace wharf::offload
