// What a round of the coordinator takes, by the number of clients (thesis: 0.8 ms; at most 1 ms for 100 clients), and
// that it grows with the requests.
#include <benchmark/benchmark.h>

#include <deque>
#include <optional>

#include "wharf/base/random.h"
#include "wharf/serving/coordinator.h"
#include "wharf/serving/testing.h"

namespace wharf::serving {
namespace {

// Always the same one.
class Line final : public Candidates {
 public:
  explicit Line(std::optional<PlanningClient> one) : one_(std::move(one)) {}
  std::optional<PlanningClient> Next() override { return one_; }
  void Admit() override {}
  void Refuse() override {}

 private:
  const std::optional<PlanningClient> one_;
};

// `refused`: with as many candidates as a round tries, who do not fit however short their intervals.
void BM_Coordinate(benchmark::State& state, bool refused) {
  const InferenceProfile profile = ProfileOf({1, 1.4, 1.8, 2.2, 2.6, 3.0, 3.4, 3.8});
  const TimePoint now{std::chrono::seconds(10)};
  Random random(7);
  std::deque<ArrivalPredictor> arrivals;
  std::vector<PlanningClient> clients;
  const CoordinatorOptions options;
  for (ClientId id = 0; id < static_cast<ClientId>(state.range(0)); ++id) {
    arrivals.emplace_back(60);
    for (FrameId frame = 0; frame < 96; frame += 6) {
      arrivals.back().Add(frame, now + FromSeconds(static_cast<double>(frame - 96) / 60 + 0.01 * random.Uniform()));
    }
    const ClientModel model{60, 0.03, random.Uniform(0.003, 0.008), 0.02};
    clients.push_back({id, model, *BestSettings(model, profile, options.limits), &arrivals.back(), 90, {90, 92}});
  }
  std::optional<PlanningClient> hard;
  if (refused) {
    hard = clients.front();
    hard->id = clients.size();
    hard->model.sla = 1e-6;
    hard->settings.interval = 12;
  }
  Line line(hard);
  size_t requests = 0;
  for (auto _ : state) {
    std::vector<PlanningClient> served = clients;
    const Coordination result = Coordinate(served, {}, now, now + options.overlap, profile, options, line);
    requests = 0;
    for (const PlannedBatch& batch : result.plan) requests += batch.requests.size();
    benchmark::DoNotOptimize(requests);
  }
  state.counters["requests"] = static_cast<double>(requests);
}

BENCHMARK_CAPTURE(BM_Coordinate, calm, false)->Arg(25)->Arg(50)->Arg(100)->Arg(200)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Coordinate, refusing, true)->Arg(25)->Arg(50)->Arg(100)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wharf::serving

BENCHMARK_MAIN();
