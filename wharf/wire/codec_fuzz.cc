// Arbitrary bytes as a message with every kind of field, as a list and as a Goodbye: decoding must not crash or take
// more memory than the input justifies, and what decodes encodes again to the same.
//
// The first byte picks what it is, the rest is its encoding.
#include <cstdlib>

#include "wharf/wire/codec_testing.h"
#include "wharf/wire/goodbye.h"
#include "wharf/wire/proof.h"

namespace wharf::wire {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void TryMessage(std::span<const std::byte> bytes) {
  const auto message = Decode<testing::Everything>(bytes);
  if (!message.ok()) return;
  const std::vector<std::byte> encoded = Encode(*message);  // another one if a bool was neither 0 nor 1
  Require(encoded.size() == bytes.size());
  const auto again = Decode<testing::Everything>(encoded);
  Require(again.ok() && Encode(*again) == encoded);
}

void TryList(std::span<const std::byte> bytes) {
  const auto points = DecodeList<testing::Point>(bytes);
  if (points.ok()) Require(EncodeList(*points) == std::vector<std::byte>(bytes.begin(), bytes.end()));
}

void TryGoodbye(std::span<const std::byte> bytes) {
  const auto goodbye = Decode<Goodbye>(bytes);
  if (!goodbye.ok()) return;
  const absl::Status status = StatusOf(*goodbye);
  Require(!status.ok() && Message(status).find('\n') == std::string_view::npos);
}

// Both have one size and no other.
template <typename T>
void TryFixed(std::span<const std::byte> bytes) {
  const auto message = Decode<T>(bytes);
  Require(message.ok() == (bytes.size() == sizeof(T)));
  if (message.ok()) Require(Encode(*message) == std::vector<std::byte>(bytes.begin(), bytes.end()));
}

constexpr void (*kDecoders[])(std::span<const std::byte>) = {TryMessage, TryList, TryGoodbye, TryFixed<Challenge>,
                                                             TryFixed<Proof>};

}  // namespace
}  // namespace wharf::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  wharf::wire::kDecoders[data[0] % std::size(wharf::wire::kDecoders)](bytes.subspan(1));
  return 0;
}
