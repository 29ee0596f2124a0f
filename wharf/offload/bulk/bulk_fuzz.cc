// What a hostile sender can have a decoder do. Input: payloads, each u8 flags, u8 place, u16 bytes of the payload, u16
// bytes of the bulk, the bulk. None may crash it, take more than is agreed, or become another size than was asked for.
// The input is a payload too: it must come back from coding and decoding as it is.
#include <cstdlib>
#include <cstring>

#include "wharf/offload/bulk/bulk_decoder.h"
#include "wharf/offload/bulk/bulk_encoder.h"

namespace wharf::offload {
namespace {

using Input = std::span<const std::byte>;

uint16_t Number(Input input) {
  uint16_t number = 0;
  std::memcpy(&number, input.data(), sizeof(number));
  return number;
}

void DecodeAll(Input input) {
  BulkDecoder decoder;
  while (input.size() >= 6) {
    const auto coding = CodingOf(static_cast<uint8_t>(input[0]));
    const Place place{static_cast<uint64_t>(input[1]), Number(input.subspan(2))};
    const Input bulk = input.subspan(6, std::min<size_t>(Number(input.subspan(4)), input.size() - 6));
    input = input.subspan(6 + bulk.size());
    if (!coding.ok()) continue;
    const auto payload = decoder.Decode(*coding, place, {bulk.begin(), bulk.end()});
    if (payload.ok() && payload->size() != place.bytes) std::abort();
    if (!payload.ok() && payload.status().code() != absl::StatusCode::kDataLoss) std::abort();
    if (decoder.remembered_bytes() > kMostRememberedBytes) std::abort();
    std::vector<std::byte> into(place.bytes);
    decoder.DecodeInto(*coding, bulk, into).IgnoreError();
  }
}

void EncodeAndDecode(Input payload) {
  constexpr double kSlow = 1e6;
  BulkEncoder encoder;
  BulkDecoder decoder;
  for (int i = 0; i < 4; ++i) {
    const Place place{7, payload.size()};
    const EncodedBulk sent = encoder.Encode(place, BulkEncoder::Memory::kPlaces, payload, kSlow);
    const auto coding = CodingOf(sent.flags);
    if (!coding.ok() || sent.bytes.size() > payload.size()) std::abort();
    const auto received = decoder.Decode(*coding, place, {sent.bytes.begin(), sent.bytes.end()});
    if (!received.ok() || !std::equal(received->begin(), received->end(), payload.begin(), payload.end())) std::abort();
  }
}

}  // namespace
}  // namespace wharf::offload

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  wharf::offload::DecodeAll(input);
  wharf::offload::EncodeAndDecode(input);
  return 0;
}
