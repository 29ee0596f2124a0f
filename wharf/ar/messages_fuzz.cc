// Arbitrary bytes as every message of an AR session and as everything that servers find: decoding must not crash or
// take more memory than the input justifies, and what decodes encodes again to the same.
//
// The first byte picks what it is, the rest is its encoding.
#include <cmath>
#include <cstdlib>

#include "wharf/ar/result_coding.h"

namespace wharf::ar {
namespace {

using Bytes = std::span<const std::byte>;
constexpr int kWidth = 24, kHeight = 16;

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename T>
void DecodeOne(Bytes bytes) {
  const auto decoded = wire::Decode<T>(bytes);
  if (!decoded.ok()) return;
  Require(wire::Encode(*decoded).size() == bytes.size());
}

void TryHello(Bytes bytes) {
  const auto hello = wire::Decode<Hello>(bytes);
  if (!hello.ok() || !CheckHello(*hello).ok()) return;
  Require(hello->tasks != 0 && hello->width <= kMaxSide && hello->fx > 0);
  for (const std::string& model : ModelNames(hello->models)) Require(model.find_first_of("/.\\") == std::string::npos);
}

void TrySchedule(Bytes bytes) {
  const auto schedule = wire::Decode<Schedule>(bytes);
  if (!schedule.ok()) return;
  const auto frames = DecodeList<int64_t>(schedule->frames);
  if (frames.ok()) Require(EncodeList(*frames) == schedule->frames);
}

void TryRedirect(Bytes bytes) {
  const auto redirect = wire::Decode<Redirect>(bytes);
  if (!redirect.ok()) return;
  const auto servers = ServersOf(*redirect);
  if (servers.ok()) Require(!servers->empty() && servers->size() <= kMaxServers);
}

template <DepthCoding coding>
void TryDepth(Bytes bytes) {
  const auto depth = DecodeDepth({bytes.begin(), bytes.end()}, coding, kWidth, kHeight);
  if (!depth.ok()) return;
  Require(depth->metres.size() == kWidth * kHeight);
  for (const float metres : depth->metres) Require(std::isfinite(metres) && metres >= 0);
}

void TryBoxes(Bytes bytes) {
  const auto boxes = DecodeBoxes(bytes);
  if (boxes.ok()) Require(EncodeBoxes(*boxes).size() == bytes.size());
}

void TryMotion(Bytes bytes) {
  const auto motion = DecodeMotion(bytes);
  if (motion.ok()) Require(EncodeMotion(*motion).size() == bytes.size());
}

void TryOutputs(Bytes bytes) {
  const auto outputs = DecodeOutputs(bytes);
  if (!outputs.ok()) return;
  const auto again = DecodeOutputs(EncodeOutputs(*outputs));
  Require(again.ok() && again->size() == outputs->size());
  for (size_t i = 0; i < outputs->size(); ++i)
    Require((*again)[i].type == (*outputs)[i].type && *(*again)[i].bytes == *(*outputs)[i].bytes);
}

constexpr void (*kDecoders[])(Bytes) = {TryHello,
                                        DecodeOne<Welcome>,
                                        DecodeOne<Goodbye>,
                                        DecodeOne<Picture>,
                                        DecodeOne<Result>,
                                        DecodeOne<Failed>,
                                        DecodeOne<Report>,
                                        TrySchedule,
                                        TryRedirect,
                                        TryDepth<DepthCoding::kHalf>,
                                        TryDepth<DepthCoding::kJpeg>,
                                        TryBoxes,
                                        TryMotion,
                                        TryOutputs};

}  // namespace
}  // namespace wharf::ar

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  wharf::ar::kDecoders[data[0] % std::size(wharf::ar::kDecoders)](bytes.subspan(1));
  return 0;
}
