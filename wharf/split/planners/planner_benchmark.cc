// What planning costs, per stored model: one evaluation, one bound, all 51 plans; and how good plans are beside either
// machine alone, and beside what the published search (differential evolution) finds in a hundred times as long.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

#include "wharf/split/bounds/bound.h"
#include "wharf/split/plan_evaluator.h"
#include "wharf/split/planners/cuts.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/planners/planner.h"
#include "wharf/split/simulation/encoded_plans.h"

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

// All plans of a session whose rows may travel as they are or as halves, beside the device alone and the server alone
// in both encodings, at every rate that is planned for; with the input as the papers send it, or as bytes.
void BesideEitherAlone(benchmark::State& state, std::string_view input) {
  const Profile profile = InNamedEncoding(Stored(state), input);
  PlanningOptions options;
  options.encodings = {{}, {{}, {RowCoding::kHalf, 0}}};
  options.costs[RowCoding::kHalf] = {std::vector<double>(profile.operators.size(), 0.5), 0};
  int worse = 0;
  double best_share = 1;
  for (auto _ : state) {
    const auto plans = *EncodedPlans::Make(profile, options);
    Link link;
    for (const double rate : PlanningRates()) {
      link.bytes_per_ms = rate;
      double others = std::numeric_limits<double>::infinity();
      for (const Encoding& encoding : options.encodings) {
        const RowGraph graph(Encoded(profile, encoding, options.costs));
        Evaluator evaluator(graph);
        others = std::min({others, evaluator.Evaluate(DeviceOnlyPlan(graph), link).latency_ms,
                           evaluator.Evaluate(ServerOnlyPlan(graph), link).latency_ms});
      }
      const double ours = plans->Evaluate(plans->Choose(rate, 0), link).latency_ms;
      worse += ours > others + 1e-4;
      best_share = std::min(best_share, ours / others);
    }
  }
  state.counters["rates"] = static_cast<double>(PlanningRates().size());
  state.counters["rates_where_worse"] = worse;
  state.counters["at_best_less_percent"] = 100 * (1 - best_share);
}
BENCHMARK_CAPTURE(BesideEitherAlone, f32, "f32")->DenseRange(0, 6)->Unit(benchmark::kSecond)->Iterations(1);
BENCHMARK_CAPTURE(BesideEitherAlone, u8, "u8")->DenseRange(0, 6)->Unit(benchmark::kSecond)->Iterations(1);

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Made {
  double latency_ms = 0, cpu_s = 0;
};

Made MakeOne(const RowGraph& graph, const Link& link, const char* name, const PlannerOptions& options) {
  const double start = CpuSeconds();
  const Plan plan = (*MakePlanner(name, graph, options))->MakePlan(link, Objective::Latency());
  const double cpu_s = CpuSeconds() - start;
  return {PlanEvaluator(graph).Evaluate(plan, link).latency_ms, cpu_s};
}

// Our plan at so many MB/s, and the best of LOSS by differential evolution: as published, or allowed to send outputs of
// any size. Evolution's budget is raised until it has had a hundred times our CPU time; every run starts anew.
void AgainstEvolution(benchmark::State& state, bool small_outputs_only) {
  const RowGraph graph(Stored(state));
  Link link;
  link.bytes_per_ms = static_cast<double>(state.range(1)) * 1e3;
  Made ours, evolution;
  for (auto _ : state) {
    ours = MakeOne(graph, link, "intra-dp", {});
    PlannerOptions options;
    options.small_outputs_only = small_outputs_only;
    evolution = MakeOne(graph, link, "loss-de", options);
    while (evolution.cpu_s < 100 * ours.cpu_s) {
      options.budget = static_cast<int64_t>(static_cast<double>(options.budget) *
                                            std::max(1.05, 105 * ours.cpu_s / evolution.cpu_s));
      const Made longer = MakeOne(graph, link, "loss-de", options);
      evolution = {std::min(evolution.latency_ms, longer.latency_ms), longer.cpu_s};
    }
  }
  state.counters["ours_ms"] = ours.latency_ms;
  state.counters["ours_cpu_s"] = ours.cpu_s;
  state.counters["evolution_ms"] = evolution.latency_ms;
  state.counters["evolution_cpu_s"] = evolution.cpu_s;
}
BENCHMARK_CAPTURE(AgainstEvolution, published, true)
    ->ArgsProduct({benchmark::CreateDenseRange(0, 6, 1), {10, 25}})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(AgainstEvolution, any_output, false)
    ->ArgsProduct({benchmark::CreateDenseRange(0, 6, 1), {10, 25}})
    ->Unit(benchmark::kSecond)
    ->Iterations(1);

}  // namespace
}  // namespace wharf::split

BENCHMARK_MAIN();
