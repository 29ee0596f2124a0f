// What serving costs a core: one decision (a request submitted, its batch chosen, reserved and commanded), and a whole
// simulated request, on 100 GPUs: 75 slow ones, one virtual GPU each, and 25 fast ones of four.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <queue>

#include "wharf/base/mersenne_random.h"
#include "wharf/pipeline/dataplane/simulator.h"

namespace wharf::pipeline {
namespace {

constexpr double kLinkBitsPerS = 10e9, kBytes = 5e5;
constexpr int kSlow = 75, kFast = 25, kVgpus = 4, kGpusPerHost = 4;

std::vector<Nanoseconds> Times(Nanoseconds one, Nanoseconds more, int batch) {
  std::vector<Nanoseconds> times;
  for (int i = 0; i < batch; ++i) times.push_back(one + i * more);
  return times;
}

// `models` share the GPUs evenly: each has one pipeline, from its slow GPUs to its fast ones.
Deployment HundredGpus(int models, int batch) {
  Deployment deployment;
  deployment.classes = {{"fast", kFast}, {"slow", kSlow}};
  deployment.hosts.assign(2 * ((kSlow + kFast) / kGpusPerHost + 1), {kLinkBitsPerS});
  const std::vector<Nanoseconds> slow_times = Times(std::chrono::milliseconds(10), std::chrono::milliseconds(8), batch);
  const std::vector<Nanoseconds> fast_times = Times(std::chrono::milliseconds(12), std::chrono::milliseconds(9), batch);
  for (int model = 0; model < models; ++model) {
    deployment.pipelines.push_back({model, {{{}, slow_times, 0}, {{}, fast_times, kBytes}}});
    deployment.models.push_back({"model", std::chrono::milliseconds(150), 0, {model}});
  }
  for (int gpu = 0; gpu < kSlow + kFast; ++gpu) {
    const bool slow = gpu < kSlow;
    for (int i = 0; i < (slow ? 1 : kVgpus); ++i) {
      deployment.pipelines[gpu % models].stages[slow ? 0 : 1].vgpus.push_back(
          static_cast<int>(deployment.vgpus.size()));
      deployment.vgpus.push_back({gpu / kGpusPerHost + (slow ? 0 : 1), slow ? 1 : 0, slow ? 1 : 1.0 / kVgpus});
    }
  }
  for (int model = 0; model < models; ++model) {
    const DeployedStage& first = deployment.pipelines[model].stages[0];
    deployment.models[model].planned_rate =
        static_cast<double>(first.vgpus.size()) * batch / Seconds(first.compute.back());
  }
  return deployment;
}

// Everything takes what was planned.
class ExactWorkers final : public Workers {
 public:
  ExactWorkers(const Deployment& deployment, const Clock& clock) : deployment_(deployment), clock_(clock) {}
  void Transfer(const TransferCommand& command) override {
    Add(command.task, true,
        deployment_.TransferTime(deployment_.vgpus[command.from_vgpu].host, deployment_.vgpus[command.to_vgpu].host,
                                 command.bytes));
  }
  void Compute(const ComputeCommand& command) override {
    const DeployedStage& stage = deployment_.pipelines[command.pipeline].stages[command.stage];
    Add(command.task, false, stage.compute[command.requests.size() - 1]);
  }
  // All that is over at `now`.
  void Report(Scheduler& scheduler, VirtualClock& clock, TimePoint now) {
    while (!reports_.empty() && reports_.top().end <= now) {
      const TaskReport next = reports_.top();
      reports_.pop();
      clock.Advance(next.end - clock.Now());
      next.transfer ? scheduler.OnTransferred(next.task, next.start, next.end)
                    : scheduler.OnComputed(next.task, next.start, next.end);
    }
    clock.Advance(now - clock.Now());
  }

 private:
  struct TaskReport {
    TimePoint start, end;
    TaskId task;
    bool transfer;
    bool operator>(const TaskReport& other) const { return end > other.end; }
  };
  void Add(TaskId task, bool transfer, Nanoseconds duration) {
    reports_.push({clock_.Now(), clock_.Now() + duration, task, transfer});
  }
  const Deployment& deployment_;
  const Clock& clock_;
  std::priority_queue<TaskReport, std::vector<TaskReport>, std::greater<>> reports_;
};

class Count final : public RequestSink {
 public:
  void OnEnded(const RequestRecord& record) override { on_time_ += record.fate == Fate::kOnTime ? 1 : 0; }
  double OnTime() const { return on_time_; }

 private:
  double on_time_ = 0;
};

// Manual time: only Submit, which decides. Arguments: batch size, load in percent.
void Decision(benchmark::State& state, SchedulerKind kind) {
  const Deployment deployment = HundredGpus(1, static_cast<int>(state.range(0)));
  VirtualClock clock;
  ExactWorkers workers(deployment, clock);
  Count count;
  const auto scheduler = MakeScheduler(kind, deployment, clock, workers, count);
  MersenneRandom random(1);
  const double rate = deployment.models[0].planned_rate * static_cast<double>(state.range(1)) / 100;
  TimePoint now;
  RequestId id = 0;
  std::vector<double> took_us;
  for (auto _ : state) {
    now = now + FromSeconds(random.Exponential(1 / rate));
    workers.Report(*scheduler, clock, now);
    if (scheduler->NextWakeup() <= now) scheduler->Poll();
    const TimePoint begin = Clock::Real().Now();
    scheduler->Submit({id++, 0, now});
    const double took = Seconds(Clock::Real().Now() - begin);
    took_us.push_back(took * 1e6);
    state.SetIterationTime(took);
  }
  std::sort(took_us.begin(), took_us.end());
  state.counters["p999_us"] = took_us[took_us.size() * 999 / 1000];
  state.counters["on_time"] = count.OnTime() / static_cast<double>(id);
}
BENCHMARK_CAPTURE(Decision, reserving, SchedulerKind::kReserving)
    ->ArgsProduct({{1, 4}, {50, 95, 150}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Decision, reactive, SchedulerKind::kReactive)
    ->ArgsProduct({{4}, {95}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// Items are requests. Arguments: batch size, percent of variation of what computing takes.
void Simulated(benchmark::State& state) {
  const Deployment deployment = HundredGpus(3, static_cast<int>(state.range(0)));
  std::vector<double> rates;
  for (const DeployedModel& model : deployment.models) rates.push_back(0.95 * model.planned_rate);
  SimulationOptions options;
  options.seconds = 20;
  options.variation.compute_cv = static_cast<double>(state.range(1)) / 100;
  const std::vector<Arrival> arrivals = PoissonArrivals(rates, options.seconds, 1);
  double on_time = 0;
  for (auto _ : state) on_time = Simulate(deployment, arrivals, options).Attainment();
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(arrivals.size()));
  state.counters["on_time"] = on_time;
}
BENCHMARK(Simulated)->ArgsProduct({{1, 4}, {0, 10}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wharf::pipeline

BENCHMARK_MAIN();
