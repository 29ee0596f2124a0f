// How long planning takes: the published cases at two and three partitions, and larger clusters by table and by CBC.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "wharf/pipeline/planner/planner.h"
#include "wharf/pipeline/planner/reference.h"

namespace wharf::pipeline {
namespace {

const std::vector<ModelProfile>& Profiles() {
  static const std::vector<ModelProfile> profiles = *LoadModelProfiles(WHARF_PIPELINE_DATA);
  return profiles;
}

std::vector<ReferenceCase> Cases() {
  std::ifstream file(std::string(WHARF_PIPELINE_DATA) + "/reference_plans.csv");
  std::ostringstream text;
  text << file.rdbuf();
  std::vector<ReferenceCase> cases = *ParseReferenceCases(text.str(), Profiles());
  std::erase_if(cases, [](const ReferenceCase& one) { return one.algorithm != "v4"; });
  return cases;
}

// One published case after the other, each planned once an iteration of all; by_cbc: all candidates, to the optimum.
void PublishedCases(benchmark::State& state) {
  const std::vector<ReferenceCase> cases = Cases();
  PlannerOptions options;
  options.rules.max_partitions = static_cast<int>(state.range(0));
  options.rules.share_gpus = state.range(2) == 1;
  if (state.range(1) == 1) {
    options.max_grid_points = 0;
    options.master = {0, 60, 1 << 20};
  }
  for (auto _ : state) {
    for (const ReferenceCase& one : cases) benchmark::DoNotOptimize(MakePlan(one.cluster, one.demands, options)->value);
  }
  state.counters["s/plan"] = benchmark::Counter(
      static_cast<double>(cases.size()), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(PublishedCases)
    ->ArgNames({"partitions", "by_cbc", "shared"})
    ->Args({2, 0, 0})
    ->Args({3, 0, 0})
    ->Args({2, 1, 0})
    ->Args({2, 0, 1})
    ->Args({3, 0, 1})
    ->Unit(benchmark::kMillisecond);

// The first published case on more GPUs: times the hosts, and by table or by CBC. "of bound": value / linear bound.
void LargerClusters(benchmark::State& state) {
  ReferenceCase one = Cases().front();
  for (HostGroup& group : one.cluster.hosts) group.hosts *= static_cast<int>(state.range(0));
  PlannerOptions options;
  options.max_grid_points = state.range(1) == 0 ? 1 << 30 : 0;
  options.rules.share_gpus = false;
  for (auto _ : state) {
    const Plan plan = *MakePlan(one.cluster, one.demands, options);
    state.counters["of bound"] = plan.value / plan.linear_bound;
  }
}
BENCHMARK(LargerClusters)
    ->ArgNames({"times", "by_cbc"})
    ->Args({1, 0})
    ->Args({1, 1})
    ->Args({2, 0})
    ->Args({2, 1})
    ->Args({4, 0})
    ->Args({4, 1})
    ->Args({10, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wharf::pipeline

BENCHMARK_MAIN();
