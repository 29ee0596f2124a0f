// What planning costs: one evaluation, one plan's search, one bound, per stored model.
#include <benchmark/benchmark.h>

#include <string>

#include "wharf/split/bound.h"
#include "wharf/split/cuts.h"
#include "wharf/split/layer_cut.h"
#include "wharf/split/planner.h"

namespace wharf::split {
namespace {

constexpr const char* kModels[] = {"vgg19_bn",       "densenet121", "regnet_x_16gf", "convnext_base",
                                   "convnext_large", "kapao",       "agrnav"};

Profile Stored(benchmark::State& state) {
  const std::string model = kModels[state.range(0)];
  state.SetLabel(model);
  return *Profile::Load(std::string(WHARF_PROFILES) + "/" + model + ".csv");
}

Link TenMegabytes() {
  Link link;
  link.bytes_per_ms = 10000;
  return link;
}

void Evaluate(benchmark::State& state) {
  const RowGraph graph(Stored(state));
  const Link link = TenMegabytes();
  const Plan layers = PlanOf(graph, LayerCutter(graph).Cheapest(LatencyCosts(graph, link), Replication::kNo));
  const Cuts cuts = CutsOf(graph, layers);
  CutDecoder decoder(graph);
  Evaluator evaluator(graph);
  Plan plan;
  for (auto _ : state) {
    decoder.Decode(cuts, plan);
    benchmark::DoNotOptimize(evaluator.Evaluate(plan, decoder.Needed(), link));
  }
  state.SetItemsProcessed(state.iterations() * graph.Size());
}
BENCHMARK(Evaluate)->DenseRange(0, 6);

void Bound(benchmark::State& state) {
  const RowGraph graph(Stored(state));
  LowerBound bound(graph);
  for (auto _ : state) benchmark::DoNotOptimize(bound.Latency(TenMegabytes()));
}
BENCHMARK(Bound)->DenseRange(0, 6)->Unit(benchmark::kMillisecond);

// All 51 plans.
void Sweep(benchmark::State& state, const char* planner) {
  const RowGraph graph(Stored(state));
  std::vector<double> rates;
  for (int megabytes = 0; megabytes <= 50; ++megabytes) rates.push_back(megabytes * 1e3);
  for (auto _ : state) {
    benchmark::DoNotOptimize((*MakePlanner(planner, graph, {}))->Sweep(TenMegabytes(), rates, Objective::Latency()));
  }
}
BENCHMARK_CAPTURE(Sweep, dsccs, "dsccs")->DenseRange(0, 6)->Unit(benchmark::kSecond)->Iterations(1);
BENCHMARK_CAPTURE(Sweep, intra_dp, "intra-dp")->DenseRange(0, 6)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace wharf::split

BENCHMARK_MAIN();
