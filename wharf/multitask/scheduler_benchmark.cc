// What a decision takes: the planner for two and three tasks at a horizon of 30 frames, beside trying all plans as
// Algorithm 1 has it, over drop rates as they occur. The thesis gives 0.2 ms for two tasks on a phone.
#include <benchmark/benchmark.h>

#include <random>

#include "wharf/multitask/plan.h"

namespace wharf::multitask {
namespace {

constexpr int kHorizon = 30, kSituations = 64;

// Latencies of 5 and 4 frames, as depth and odometry have; every second task has a local algorithm.
std::vector<std::vector<TaskStatus>> Situations(int tasks) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> rate(0.0005, 0.01), drop(0.03, 0.15);
  std::uniform_int_distribution<int> stride(4, 14);
  std::vector<std::vector<TaskStatus>> situations(kSituations);
  for (std::vector<TaskStatus>& situation : situations) {
    for (int t = 0; t < tasks; ++t) {
      situation.push_back({.latency_frames = t == 0 ? 5 : 4,
                           .stride = stride(random),
                           .drop_rate = rate(random),
                           .local_drop = t % 2 == 0 ? drop(random) : kNoLocalAlgorithm});
    }
  }
  return situations;
}

void Decide(benchmark::State& state) {
  const int tasks = static_cast<int>(state.range(0));
  const auto situations = Situations(tasks);
  const AccuracyMerge merge = WeightedMerge(std::vector<double>(tasks, 1));
  const Balance balance(tasks, 3);
  size_t i = 0;
  int64_t segments = 0;
  for (auto _ : state) {
    const BestPlan best = FindBestPlan(situations[i++ % kSituations], kHorizon, balance, merge);
    segments += best.segments;
    benchmark::DoNotOptimize(best.drop);
  }
  state.counters["segments"] = benchmark::Counter(static_cast<double>(segments), benchmark::Counter::kAvgIterations);
}
BENCHMARK(Decide)->ArgName("tasks")->DenseRange(1, 4)->Unit(benchmark::kMicrosecond);

void TryAllPlans(benchmark::State& state) {
  const int tasks = static_cast<int>(state.range(0));
  const auto situations = Situations(tasks);
  const AccuracyMerge merge = WeightedMerge(std::vector<double>(tasks, 1));
  size_t i = 0;
  for (auto _ : state) {
    const std::vector<TaskStatus>& situation = situations[i++ % kSituations];
    std::vector<int> latencies;
    for (const TaskStatus& task : situation) latencies.push_back(task.latency_frames);
    PlanEnumerator plan(latencies, kHorizon, Balance(tasks, 3));
    double best = std::numeric_limits<double>::infinity();
    while (const Plan* next = plan.Next()) best = std::min(best, SimulatePlan(*next, situation, kHorizon, merge));
    benchmark::DoNotOptimize(best);
  }
}
BENCHMARK(TryAllPlans)->ArgName("tasks")->DenseRange(1, 3)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace wharf::multitask

BENCHMARK_MAIN();
