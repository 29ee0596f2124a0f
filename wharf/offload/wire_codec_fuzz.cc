// Arbitrary bytes as every message of the protocol: decoding must not crash or take more memory than the input
// justifies, and what decodes must encode again to something that decodes to the same.
//
// The first byte picks the message, the rest is its encoding.
#include <cstdlib>

#include "wharf/offload/testing/wire_samples.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

void DecodeMessage(size_t which, std::span<const std::byte> bytes) {
  size_t count = 0;
  ForEachMessage([&count](auto) { ++count; });
  size_t index = 0;
  ForEachMessage([&]<typename Message>(Message) {
    if (index++ != which % count) return;
    const auto decoded = Decode<Message>(bytes);
    if (!decoded.ok()) return;
    const auto encoded = Encode(*decoded);
    if (encoded.size() != bytes.size()) std::abort();
    const auto again = Decode<Message>(encoded);
    if (!again.ok() || Encode(*again) != encoded) std::abort();
  });
}

}  // namespace
}  // namespace wharf::offload

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) wharf::offload::DecodeMessage(data[0], std::as_bytes(std::span(data, size)).subspan(1));
  return 0;
}
