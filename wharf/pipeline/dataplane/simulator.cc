#include "wharf/pipeline/dataplane/simulator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "wharf/base/mersenne_random.h"
#include "wharf/pipeline/dataplane/network_model.h"

namespace wharf::pipeline {
namespace {

// Workers in virtual time: virtual GPUs compute one thing after the other, links are a NetworkModel's.
class SimulatedWorkers final : public Workers {
 public:
  SimulatedWorkers(const Deployment& deployment, const Clock& clock, const SimulationOptions& options)
      : deployment_(deployment),
        clock_(clock),
        options_(options),
        random_(options.seed ^ 0x5ca1ab1e),
        network_(deployment),
        free_at_(deployment.vgpus.size()),
        epoch_(deployment.vgpus.size()),
        busy_(deployment.classes.size()) {}

  void Transfer(const TransferCommand& command) override {
    const double bytes = command.bytes * Factor(options_.variation.transfer_cv);
    const int from = deployment_.vgpus[command.from_vgpu].host, to = deployment_.vgpus[command.to_vgpu].host;
    network_.Start(command.task, from, to, bytes, clock_.Now());
    if (options_.keep_timeline) {
      moving_[command.task] = {true,
                               command.pipeline,
                               command.stage,
                               static_cast<int>(command.requests.size()),
                               command.to_vgpu,
                               command.from_vgpu,
                               {},
                               {}};
    }
  }

  void Compute(const ComputeCommand& command) override {
    const DeployedStage& stage = deployment_.pipelines[command.pipeline].stages[command.stage];
    const int requests = static_cast<int>(command.requests.size());
    const double planned = static_cast<double>(stage.compute[command.requests.size() - 1].count());
    const double factor = Factor(options_.variation.compute_cv);
    const TimePoint start = std::max(clock_.Now(), free_at_[command.vgpu]);
    const TimePoint end = start + Nanoseconds(std::max<int64_t>(1, std::llround(planned * factor)));
    free_at_[command.vgpu] = end;
    computations_.push({command.task,
                        epoch_[command.vgpu],
                        {false, command.pipeline, command.stage, requests, command.vgpu, -1, start, end}});
  }

  // kNever if nothing is under way.
  TimePoint NextReport() { return std::min(NextComputed(), network_.NextEnd()); }

  void ReportNext(Scheduler& scheduler) {
    if (network_.NextEnd() < NextComputed()) {
      const NetworkModel::Transfer done = network_.TakeNext();
      if (options_.keep_timeline) {
        BusySpan span = moving_.extract(done.id).mapped();
        span.start = done.start;
        span.end = done.end;
        timeline_.push_back(span);
      }
      scheduler.OnTransferred(done.id, done.start, done.end);
      return;
    }
    const Computation done = computations_.top();
    computations_.pop();
    if (done.epoch != epoch_[done.span.vgpu]) return;
    Count(done.span);
    scheduler.OnComputed(done.task, done.span.start, done.span.end);
  }

  // What it computes is lost.
  void Lose(int vgpu) {
    ++epoch_[vgpu];
    free_at_[vgpu] = TimePoint();
  }

  double Utilisation(int gpu_class) const {
    const double all = deployment_.classes[gpu_class].gpus * options_.seconds;
    return all > 0 ? busy_[gpu_class] / all : 0;
  }
  std::vector<BusySpan> TakeTimeline() { return std::move(timeline_); }

 private:
  struct Computation {
    TaskId task;
    uint64_t epoch;  // of its virtual GPU: another means that it was lost since
    BusySpan span;
    bool operator>(const Computation& other) const {
      return span.end != other.span.end ? span.end > other.span.end : task > other.task;
    }
  };

  TimePoint NextComputed() const { return computations_.empty() ? kNever : computations_.top().span.end; }

  double Factor(double cv) {
    if (cv <= 0) return 1;
    const double normal = random_.BoxMuller();
    if (options_.variation.kind == VariationKind::kGaussian) return std::max(0.1, 1 + cv * normal);
    const double variance = std::log1p(cv * cv);
    return std::exp(std::sqrt(variance) * normal - variance / 2);
  }

  void Count(const BusySpan& span) {
    const VirtualGpu& vgpu = deployment_.vgpus[span.vgpu];
    const TimePoint measured{FromSeconds(options_.seconds)};
    const Nanoseconds busy = std::min(span.end, measured) - std::min(span.start, measured);
    busy_[vgpu.gpu_class] += vgpu.share * Seconds(busy);
    if (options_.keep_timeline) timeline_.push_back(span);
  }

  const Deployment& deployment_;
  const Clock& clock_;
  const SimulationOptions& options_;
  MersenneRandom random_;
  NetworkModel network_;
  std::vector<TimePoint> free_at_;
  std::vector<uint64_t> epoch_;
  std::vector<double> busy_;  // GPU seconds, by class
  std::priority_queue<Computation, std::vector<Computation>, std::greater<>> computations_;
  std::map<TaskId, BusySpan> moving_;
  std::vector<BusySpan> timeline_;
};

// Adds up what became of the requests.
class Tally final : public RequestSink {
 public:
  Tally(const Deployment& deployment, bool keep_records) : keep_records_(keep_records) {
    result_.models.resize(deployment.models.size());
    result_.pipelines.resize(deployment.pipelines.size());
    latencies_ms_.resize(deployment.models.size());
  }

  void OnEnded(const RequestRecord& record) override {
    if (keep_records_) result_.records.push_back(record);
    ModelResult& model = result_.models[record.request.model];
    ++model.requests;
    ++model.fates[static_cast<size_t>(record.fate)];
    if (record.fate != Fate::kOnTime && record.fate != Fate::kLate) return;
    const Nanoseconds latency = record.ended - record.request.arrival;
    latencies_ms_[record.request.model].push_back(static_cast<float>(Milliseconds(latency)));
    model.mean_ms += Milliseconds(latency);
    model.queued_ms += Milliseconds(record.queued);
    model.computed_ms += Milliseconds(record.computed);
    model.transferred_ms += Milliseconds(record.transferred);
    model.waited_ms += Milliseconds(latency - record.queued - record.computed - record.transferred);
    PipelineResult& pipeline = result_.pipelines[record.pipeline];
    ++pipeline.requests;
    pipeline.mean_batch += record.batch;
  }

  SimulationResult Take() {
    for (size_t i = 0; i < result_.models.size(); ++i) {
      ModelResult& model = result_.models[i];
      std::vector<float>& latencies = latencies_ms_[i];
      if (latencies.empty()) continue;
      for (double* sum :
           {&model.mean_ms, &model.queued_ms, &model.computed_ms, &model.transferred_ms, &model.waited_ms}) {
        *sum /= static_cast<double>(latencies.size());
      }
      model.p50_ms = Percentile(latencies, 0.5);
      model.p99_ms = Percentile(latencies, 0.99);
    }
    for (PipelineResult& pipeline : result_.pipelines) {
      if (pipeline.requests > 0) pipeline.mean_batch /= static_cast<double>(pipeline.requests);
    }
    return std::move(result_);
  }

 private:
  // Nearest rank. REQUIRES: some values.
  static double Percentile(std::vector<float>& values, double fraction) {
    const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(values.size()))) - 1;
    std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(rank), values.end());
    return values[rank];
  }

  const bool keep_records_;
  SimulationResult result_;
  std::vector<std::vector<float>> latencies_ms_;
};

// What happens to virtual GPUs from outside, by time.
struct Change {
  TimePoint at;
  int vgpu;
  bool lost;
};

std::vector<Change> ChangesOf(const std::vector<Outage>& outages) {
  std::vector<Change> changes;
  for (const Outage& outage : outages) {
    changes.push_back({outage.from, outage.vgpu, true});
    changes.push_back({outage.until, outage.vgpu, false});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return changes;
}

}  // namespace

double SimulationResult::Attainment() const {
  uint64_t requests = 0, on_time = 0;
  for (const ModelResult& model : models) {
    requests += model.requests;
    on_time += model.Of(Fate::kOnTime);
  }
  return requests == 0 ? 1 : static_cast<double>(on_time) / static_cast<double>(requests);
}

SimulationResult Simulate(const Deployment& deployment, const std::vector<Arrival>& arrivals,
                          const SimulationOptions& options) {
  VirtualClock clock;
  SimulatedWorkers workers(deployment, clock, options);
  Tally tally(deployment, options.keep_records);
  const auto scheduler = MakeScheduler(options.scheduler, deployment, clock, workers, tally, options.scheduling);
  const std::vector<Change> changes = ChangesOf(options.outages);
  size_t arrived = 0, changed = 0;
  while (true) {
    const TimePoint report = workers.NextReport(), wakeup = scheduler->NextWakeup();
    const TimePoint arrival = arrived < arrivals.size() ? arrivals[arrived].at : kNever;
    const TimePoint change = changed < changes.size() ? changes[changed].at : kNever;
    const TimePoint next = std::min({report, change, arrival, wakeup});
    if (next == kNever) break;
    if (next > clock.Now()) clock.Advance(next - clock.Now());
    if (report == next) {  // first: what is over makes room
      workers.ReportNext(*scheduler);
    } else if (change == next) {
      const Change& what = changes[changed++];
      if (what.lost) {
        workers.Lose(what.vgpu);
        scheduler->OnWorkerLost(what.vgpu);
      } else {
        scheduler->OnWorkerBack(what.vgpu);
      }
    } else if (arrival == next) {
      scheduler->Submit({arrived, arrivals[arrived].model, arrival});
      ++arrived;
    } else {
      scheduler->Poll();
    }
  }
  SimulationResult result = tally.Take();
  for (int c = 0; c < static_cast<int>(deployment.classes.size()); ++c) {
    result.utilisation.push_back(workers.Utilisation(c));
  }
  result.timeline = workers.TakeTimeline();
  return result;
}

}  // namespace wharf::pipeline
