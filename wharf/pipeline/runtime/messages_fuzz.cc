// Arbitrary bytes as every message of a pipeline: decoding must not crash or take more memory than the input justifies,
// and what decodes encodes again to the same.
//
// The first byte picks the message, the rest is its encoding.
#include <cstdlib>

#include "wharf/pipeline/runtime/messages.h"

namespace wharf::pipeline {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename T>
void DecodeOne(std::span<const std::byte> bytes) {
  const auto decoded = DecodeHead<T>(bytes, "a message");
  if (!decoded.ok()) return;
  const auto encoded = wire::Encode(*decoded);
  Require(encoded.size() == bytes.size());
  const auto again = wire::Decode<T>(encoded);
  Require(again.ok() && wire::Encode(*again) == encoded);
}

void DecodeModels(std::span<const std::byte> bytes) {
  const auto models = DecodeList<ModelEntry>(bytes);
  if (models.ok()) Require(EncodeList(*models).size() == bytes.size());
}

// The first byte says how many are let in.
void DecodeNumbers(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto most = static_cast<size_t>(bytes[0]);
  const auto samples = DecodeSamples(bytes.subspan(1), most);
  if (samples.ok())
    Require(!samples->empty() && samples->size() <= most && EncodeList(*samples).size() == bytes.size() - 1);
}

void SayGoodbye(std::span<const std::byte> bytes) {
  const auto goodbye = wire::Decode<Goodbye>(bytes);
  if (goodbye.ok()) Require(!wire::StatusOf(*goodbye).ok());
}

constexpr void (*kDecoders[])(std::span<const std::byte>) = {
    DecodeOne<Hello>,         DecodeOne<Welcome>,     DecodeOne<Goodbye>, DecodeOne<OpenModel>,
    DecodeOne<ModelState>,    DecodeOne<DefineStage>, DecodeOne<Samples>, DecodeOne<StageDefined>,
    DecodeOne<Compute>,       DecodeOne<Computed>,    DecodeOne<Send>,    DecodeOne<Arrived>,
    DecodeOne<Failed>,        DecodeOne<Models>,      DecodeModels,       DecodeOne<ModelRequest>,
    DecodeOne<ModelResponse>, DecodeNumbers,          SayGoodbye};

}  // namespace
}  // namespace wharf::pipeline

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  wharf::pipeline::kDecoders[data[0] % std::size(wharf::pipeline::kDecoders)](bytes.subspan(1));
  return 0;
}
