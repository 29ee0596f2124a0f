// What it costs to decode clients' pictures in a process of their own.
#include <benchmark/benchmark.h>

#include "wharf/ar/decoder/picture_decoder.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::ar {
namespace {

void Decode(benchmark::State& state, PictureDecoder& decoder) {
  const int width = static_cast<int>(state.range(0)), height = static_cast<int>(state.range(1));
  std::vector<uint8_t> pixels(static_cast<size_t>(3 * width * height));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 4096 % 251);
  const std::vector<std::byte> jpeg = *split::EncodeJpeg({width, height, 3, pixels}, 90);
  for (auto _ : state) {
    const auto picture = decoder.Decode(jpeg, width, height);
    if (!picture.ok()) state.SkipWithError("not decoded");
  }
  state.counters["jpeg_bytes"] = static_cast<double>(jpeg.size());
}

void BM_InThisProcess(benchmark::State& state) { Decode(state, *MakeLocalDecoder()); }
void BM_InItsOwn(benchmark::State& state) { Decode(state, **StartDecoderProcess(WHARF_DECODE)); }
BENCHMARK(BM_InThisProcess)->Args({448, 128})->Args({832, 256})->UseRealTime();
BENCHMARK(BM_InItsOwn)->Args({448, 128})->Args({832, 256})->UseRealTime();

void BM_StartAndEnd(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(StartDecoderProcess(WHARF_DECODE));
}
BENCHMARK(BM_StartAndEnd)->UseRealTime();

}  // namespace
}  // namespace wharf::ar

BENCHMARK_MAIN();
