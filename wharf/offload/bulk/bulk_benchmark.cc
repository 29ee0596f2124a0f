// What coding a payload costs and saves: a drawn picture, the same with some of it moved, a camera-like one whose every
// byte has noise, and random bytes; on a slow link, one of a gigabit, and a fast one.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

#include "wharf/offload/bulk/bulk_decoder.h"
#include "wharf/offload/bulk/bulk_encoder.h"

namespace wharf::offload {
namespace {

constexpr size_t kWidth = 320, kHeight = 256, kBytes = kWidth * kHeight * 3;

enum Content { kStill, kMoves, kCamera, kRandom };

std::vector<std::byte> Frame(Content content, int frame) {
  std::mt19937 random(static_cast<uint32_t>(frame));
  std::vector<std::byte> bytes(kBytes);
  const size_t shift = content == kStill ? 0 : static_cast<size_t>(frame);
  for (size_t i = 0; i < kBytes; ++i) {
    const size_t x = i / 3 % kWidth + shift, y = i / 3 / kWidth;
    const auto drawn = static_cast<unsigned>(x / 40 * 31 + y / 32 * 17);
    const double smooth = 128 + 60 * std::sin(static_cast<double>(x) / 23) + 50 * std::sin(static_cast<double>(y) / 31);
    unsigned value = drawn;
    if (content == kCamera) value = static_cast<unsigned>(smooth) + (random() & 3);
    if (content == kRandom) value = random();
    bytes[i] = static_cast<std::byte>(value);
  }
  return bytes;
}

void BM_Encode(benchmark::State& state) {
  const auto content = static_cast<Content>(state.range(0));
  const double rate = static_cast<double>(state.range(1)) * 1e6;
  std::vector<std::vector<std::byte>> frames;
  for (int i = 0; i < 16; ++i) frames.push_back(Frame(content, i));
  BulkEncoder encoder;
  uint64_t sent = 0;
  size_t next = 0;
  for (auto _ : state) {
    const auto& frame = frames[next++ % frames.size()];
    const EncodedBulk coded = encoder.Encode({1, kBytes}, BulkEncoder::Memory::kPlaces, frame, rate);
    sent += coded.bytes.size();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kBytes));
  state.counters["ratio"] = static_cast<double>(sent) / static_cast<double>(state.iterations() * kBytes);
}
BENCHMARK(BM_Encode)
    ->ArgNames({"content", "mbit"})
    ->ArgsProduct({{kStill, kMoves, kCamera, kRandom}, {93, 1000, 40'000}});

void BM_Decode(benchmark::State& state) {
  const auto content = static_cast<Content>(state.range(0));
  struct Sent {
    BulkCoding coding;
    std::vector<std::byte> bulk;
  };
  BulkEncoder encoder;
  std::vector<Sent> sent;
  for (int i = 0; i < 64; ++i) {
    const auto frame = Frame(content, i);
    const EncodedBulk coded = encoder.Encode({1, kBytes}, BulkEncoder::Memory::kPlaces, frame, 93e6);
    sent.push_back({CodingOf(coded.flags).value(), {coded.bytes.begin(), coded.bytes.end()}});
  }
  for (auto _ : state) {
    BulkDecoder decoder;
    for (const Sent& one : sent) {
      if (!decoder.Decode(one.coding, {1, kBytes}, one.bulk).ok()) state.SkipWithError("not what was sent");
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kBytes * sent.size()));
}
BENCHMARK(BM_Decode)->ArgName("content")->Arg(kStill)->Arg(kMoves)->Arg(kCamera)->Arg(kRandom);

}  // namespace
}  // namespace wharf::offload

BENCHMARK_MAIN();
