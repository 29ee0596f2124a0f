// The committed networks by size of batch, on one thread: milliseconds of a batch, and of an image in it.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <span>
#include <vector>

#include "wharf/exec/torch_engine.h"
#include "wharf/perception/depth_network.h"
#include "wharf/perception/detector.h"

namespace wharf::perception {
namespace {

constexpr int kBatches = 8;

const exec::Engine& Engine() {
  static const std::unique_ptr<exec::Engine> kEngine = exec::MakeTorchEngine({.threads = 1});
  return *kEngine;
}

// Times `run` on batches of as many grey images as the benchmark's argument says.
template <typename Network, typename Run>
void Measure(benchmark::State& state, const absl::StatusOr<Network>& network, Run run) {
  if (!network.ok()) return state.SkipWithError(ToString(network.status()).c_str());
  const int width = network->Width(), height = network->Height();
  const scene::Image grey{width, height, std::vector<uint8_t>(size_t{3} * width * height, 128)};
  const std::vector<scene::Image> batch(state.range(0), grey);
  for (auto _ : state) {
    const auto results = run(*network, batch);
    if (!results.ok()) return state.SkipWithError(ToString(results.status()).c_str());
    benchmark::DoNotOptimize(results);
  }
  state.counters["image"] = benchmark::Counter(
      static_cast<double>(batch.size()), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void Depth(benchmark::State& state, const std::string& name) {
  const auto network = DepthNetwork::Load(Engine(), WHARF_AR_NETWORKS "/" + name, {.largest_batch = kBatches});
  Measure(state, network,
          [](const DepthNetwork& depth, std::span<const scene::Image> images) { return depth.Estimate(images); });
}

void Detect(benchmark::State& state) {
  const auto network = Detector::Load(Engine(), WHARF_AR_NETWORKS "/detector.onnx", {.largest_batch = kBatches});
  Measure(state, network,
          [](const Detector& detector, std::span<const scene::Image> images) { return detector.Detect(images); });
}

void Loading(benchmark::State& state) {
  for (auto _ : state) {
    const auto network = DepthNetwork::Load(Engine(), WHARF_AR_NETWORKS "/depth.onnx",
                                            {.largest_batch = static_cast<int>(state.range(0))});
    if (!network.ok()) return state.SkipWithError(ToString(network.status()).c_str());
    benchmark::DoNotOptimize(network);
  }
}

BENCHMARK_CAPTURE(Depth, server, "depth.onnx")->RangeMultiplier(2)->Range(1, kBatches)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Depth, lite, "lite.onnx")->RangeMultiplier(2)->Range(1, kBatches)->Unit(benchmark::kMillisecond);
BENCHMARK(Detect)->RangeMultiplier(2)->Range(1, kBatches)->Unit(benchmark::kMillisecond);
BENCHMARK(Loading)->Arg(1)->Arg(kBatches)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wharf::perception

int main(int argc, char** argv) {
  if (const std::string caution = wharf::perception::Engine().Caution(); !caution.empty()) {
    std::fprintf(stderr, "%s\n", caution.c_str());
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
