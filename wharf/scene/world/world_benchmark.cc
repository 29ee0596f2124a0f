// How long a frame of the synthetic world takes, on one core. docs/benchmarks/ar.md has the figures.
#include <benchmark/benchmark.h>

#include "wharf/scene/world/videos.h"

namespace wharf::scene {
namespace {

const World& HighHigh() {
  static const World world = [] {
    const auto video = FindVideo(kCategories[3], 0, Split::kCalibration);
    return World(video->seed, video->Options());
  }();
  return world;
}

void BM_Frame(benchmark::State& state) {
  HighHigh();  // is built before the clock runs
  int64_t index = 0;
  for (auto _ : state) {
    const Frame frame = HighHigh().FrameAt(index, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    benchmark::DoNotOptimize(frame.image.rgb.data());
    index = (index + 97) % World::kFrames;
  }
}
BENCHMARK(BM_Frame)->Args({448, 128})->Args({832, 256})->Unit(benchmark::kMillisecond);

void BM_Truth(benchmark::State& state) {
  HighHigh();
  int64_t index = 0;
  for (auto _ : state) {
    const Truth truth = HighHigh().TruthAt(index, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
    benchmark::DoNotOptimize(truth.depth.metres.data());
    index = (index + 97) % World::kFrames;
  }
}
BENCHMARK(BM_Truth)->Args({448, 128})->Args({832, 256})->Unit(benchmark::kMillisecond);

void BM_Build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(World(7, {.much_traffic = true, .many_turns = true, .imu = {}}));
}
BENCHMARK(BM_Build)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wharf::scene

BENCHMARK_MAIN();
