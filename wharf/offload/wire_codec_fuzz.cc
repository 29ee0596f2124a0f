// Arbitrary bytes as every message of the protocol: decoding must not crash or take more memory than the input
// justifies, and what decodes must encode again to something that decodes to the same.
//
// The first byte picks the message, the rest is its encoding.
#include <cstdlib>

#include "wharf/offload/wire_codec.h"
#include "wharf/offload/wire_samples.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wharf::offload;
  if (size == 0) return 0;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  size_t index = 0;
  size_t count = 0;
  ForEachMessage([&count](auto) { ++count; });
  ForEachMessage([&]<typename Message>(Message) {
    if (index++ != data[0] % count) return;
    const auto decoded = Decode<Message>(bytes);
    if (!decoded.ok()) return;
    const auto encoded = Encode(*decoded);
    if (encoded.size() != bytes.size()) std::abort();
    const auto again = Decode<Message>(encoded);
    if (!again.ok() || Encode(*again) != encoded) std::abort();
  });
  return 0;
}
