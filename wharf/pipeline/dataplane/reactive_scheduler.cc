#include "wharf/pipeline/dataplane/reactive_scheduler.h"

#include <algorithm>

namespace wharf::pipeline {

ReactiveScheduler::ReactiveScheduler(const Deployment& deployment, const Clock& clock, Workers& workers,
                                     RequestSink& sink, const SchedulerOptions& options)
    : deployment_(deployment),
      clock_(clock),
      workers_(workers),
      sink_(sink),
      options_(options),
      queues_(deployment.models.size()),
      gpus_(deployment.vgpus.size()) {
  for (int p = 0; p < static_cast<int>(deployment.pipelines.size()); ++p) {
    const DeployedPipeline& pipeline = deployment.pipelines[p];
    queues_[pipeline.model].pools.push_back({p, 0});
    queue_of_.push_back({pipeline.model});
    for (int stage = 1; stage < static_cast<int>(pipeline.stages.size()); ++stage) {
      queue_of_.back().push_back(static_cast<int>(queues_.size()));
      queues_.emplace_back().pools.push_back({p, stage});
    }
  }
}

ReactiveScheduler::Queue& ReactiveScheduler::QueueOf(const Pool& pool) {
  return queues_[queue_of_[pool.pipeline][pool.stage]];
}

void ReactiveScheduler::Submit(const Request& request) {
  queues_[request.model].items.push_back({request, -1, {}, Nanoseconds(0), Nanoseconds(0), Nanoseconds(0)});
  Serve(queues_[request.model]);
}

void ReactiveScheduler::Poll() {
  const TimePoint now = clock_.Now();
  for (Queue& queue : queues_) {
    if (queue.wakeup <= now) Serve(queue);
  }
}

TimePoint ReactiveScheduler::NextWakeup() const {
  TimePoint next = kNever;
  for (const Queue& queue : queues_) next = std::min(next, queue.wakeup);
  return next;
}

// By the rules, of those that take a batch; -1: none does.
int ReactiveScheduler::Available(const Queue& queue, const Pool& pool) const {
  using Choice = ReactiveRules::Choice;
  const int most = pool.stage == 0 ? 1 : options_.reactive.ahead;
  const std::vector<int>& vgpus = StageOf(pool).vgpus;
  const size_t first = options_.reactive.choice == Choice::kRoundRobin ? queue.turns % vgpus.size() : 0;
  int best = -1;
  for (size_t i = 0; i < vgpus.size(); ++i) {
    const int vgpu = vgpus[(first + i) % vgpus.size()];
    if (!gpus_[vgpu].usable || gpus_[vgpu].batches >= most) continue;
    if (best < 0 || gpus_[vgpu].free_at < gpus_[best].free_at) best = vgpu;
    if (options_.reactive.choice != Choice::kFreeFirst) break;
  }
  return best;
}

// Alone on the links, from another host.
Nanoseconds ReactiveScheduler::MoveTime(const Pool& pool, int batch) const {
  if (pool.stage == 0) return Nanoseconds(0);
  const DeployedStage& before = deployment_.pipelines[pool.pipeline].stages[pool.stage - 1];
  const int from = deployment_.vgpus[before.vgpus.front()].host;
  const int to = deployment_.vgpus[StageOf(pool).vgpus.front()].host;
  return deployment_.TransferTime(from, to, batch * StageOf(pool).input_bytes);
}

// Of the last stage, if `vgpu` begins as soon as it can (-1: now) and nothing after it is waited for: a batch that is
// larger than a later stage's is there as several at once.
TimePoint ReactiveScheduler::Finish(const Pool& pool, int vgpu, int batch) const {
  TimePoint finish = clock_.Now() + MoveTime(pool, batch);
  if (vgpu >= 0) finish = std::max(finish, gpus_[vgpu].free_at);
  finish = finish + StageOf(pool).compute[batch - 1];
  const std::vector<DeployedStage>& stages = deployment_.pipelines[pool.pipeline].stages;
  for (int stage = pool.stage + 1; stage < static_cast<int>(stages.size()); ++stage) {
    const int next = std::min(batch, stages[stage].Batch());
    finish = finish + MoveTime({pool.pipeline, stage}, next) + stages[stage].compute[next - 1];
  }
  return finish;
}

int ReactiveScheduler::LargestBatch(const Pool& pool, int vgpu, TimePoint finish_by) const {
  int batch = StageOf(pool).Batch();
  while (batch > 0 && Finish(pool, vgpu, batch) > finish_by) --batch;
  return batch;
}

void ReactiveScheduler::Serve(Queue& queue) {
  queue.wakeup = kNever;
  while (!queue.items.empty()) {
    bool hopeless = true;
    if (ServeOldest(queue, hopeless)) continue;
    if (!hopeless) return;
    Drop(queue.items.front(), Fate::kTooLate);
    queue.items.pop_front();
  }
}

// True if a batch went off. Otherwise sets when to look again, and whether no pool could still be in time.
bool ReactiveScheduler::ServeOldest(Queue& queue, bool& hopeless) {
  const Request& oldest = queue.items.front().request;
  const Nanoseconds slo = deployment_.models[oldest.model].slo;
  const TimePoint finish_by = Deadline(oldest) - std::chrono::duration_cast<Nanoseconds>(slo * options_.guard);
  const int waiting = static_cast<int>(queue.items.size());
  TimePoint wakeup = Deadline(oldest);
  for (const Pool& pool : queue.pools) {
    const int vgpu = Available(queue, pool);
    int batch = LargestBatch(pool, vgpu, finish_by);
    if (batch == 0) batch = LargestBatch(pool, vgpu, Deadline(oldest));  // without room to spare
    if (batch == 0) continue;
    hopeless = false;
    if (vgpu < 0) continue;
    const bool waits = options_.reactive.waits && waiting < batch;
    const Nanoseconds spare = waits ? finish_by - Finish(pool, vgpu, waiting) : Nanoseconds(0);
    if (spare < kShortestWait) {
      Dispatch(queue, pool, vgpu, std::min(waiting, batch));
      return true;
    }
    wakeup = std::min(wakeup, clock_.Now() + spare);
  }
  queue.wakeup = wakeup;
  return false;
}

void ReactiveScheduler::Dispatch(Queue& queue, const Pool& pool, int vgpu, int count) {
  if (free_batches_.empty()) {
    free_batches_.push_back(static_cast<int>(batches_.size()));
    batches_.emplace_back();
  }
  const int index = free_batches_.back();
  free_batches_.pop_back();
  Batch& batch = batches_[index];
  batch.pool = pool;
  batch.vgpu = vgpu;
  batch.moving = 0;
  const auto end = queue.items.begin() + count;
  batch.items.assign(queue.items.begin(), end);
  queue.items.erase(queue.items.begin(), end);
  ++queue.turns;
  Gpu& gpu = gpus_[vgpu];
  ++gpu.batches;
  gpu.free_at = std::max(gpu.free_at, clock_.Now() + MoveTime(pool, count)) + StageOf(pool).compute[count - 1];

  // One transfer from each virtual GPU that holds some of them.
  std::stable_sort(batch.items.begin(), batch.items.end(),
                   [](const Item& a, const Item& b) { return a.from_vgpu < b.from_vgpu; });
  for (size_t i = 0; i < batch.items.size();) {
    const int from = batch.items[i].from_vgpu;
    requests_.clear();
    for (; i < batch.items.size() && batch.items[i].from_vgpu == from; ++i) requests_.push_back(batch.items[i].request);
    if (from < 0 || deployment_.vgpus[from].host == deployment_.vgpus[vgpu].host) continue;
    ++batch.moving;
    tasks_[++last_task_] = index;
    workers_.Transfer({last_task_, pool.pipeline, pool.stage, from, vgpu,
                       StageOf(pool).input_bytes * static_cast<double>(requests_.size()), requests_});
  }
  if (batch.moving == 0) Compute(index);
}

void ReactiveScheduler::Compute(int index) {
  const Batch& batch = batches_[index];
  requests_.clear();
  for (const Item& item : batch.items) requests_.push_back(item.request);
  tasks_[++last_task_] = index;
  workers_.Compute({last_task_, batch.pool.pipeline, batch.pool.stage, batch.vgpu, requests_});
}

void ReactiveScheduler::OnTransferred(TaskId task, TimePoint start, TimePoint end) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  const int index = found->second;
  tasks_.erase(found);
  for (Item& item : batches_[index].items) item.transferred = std::max(item.transferred, item.moved + (end - start));
  if (--batches_[index].moving == 0) Compute(index);
}

void ReactiveScheduler::OnComputed(TaskId task, TimePoint start, TimePoint end) {
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  const int index = found->second;
  tasks_.erase(found);
  Batch& batch = batches_[index];
  const Pool pool = batch.pool;
  Gpu& gpu = gpus_[batch.vgpu];
  if (--gpu.batches == 0) gpu.free_at = end;
  const bool last = pool.stage + 1 == static_cast<int>(deployment_.pipelines[pool.pipeline].stages.size());
  for (Item& item : batch.items) {
    if (pool.stage == 0) item.begun = start;
    item.computed += end - start;
    item.from_vgpu = batch.vgpu;
    item.moved = item.transferred;
    if (last) {
      End(item, batch, end);
    } else {
      QueueOf({pool.pipeline, pool.stage + 1}).items.push_back(item);
    }
  }
  batch.items.clear();
  free_batches_.push_back(index);
  if (!last) Serve(QueueOf({pool.pipeline, pool.stage + 1}));
  Serve(QueueOf(pool));
}

void ReactiveScheduler::End(const Item& item, const Batch& batch, TimePoint end) {
  const Fate fate = end <= Deadline(item.request) ? Fate::kOnTime : Fate::kLate;
  sink_.OnEnded({item.request, fate, end, batch.pool.pipeline, static_cast<int>(batch.items.size()),
                 item.begun - item.request.arrival, item.computed, item.transferred});
}

void ReactiveScheduler::Drop(const Item& item, Fate fate) {
  const TimePoint now = clock_.Now();
  const Nanoseconds queued = (item.from_vgpu < 0 ? now : item.begun) - item.request.arrival;
  sink_.OnEnded({item.request, fate, now, -1, 0, queued, item.computed, item.transferred});
}

void ReactiveScheduler::OnWorkerLost(int vgpu) {
  gpus_[vgpu] = {false, 0, clock_.Now()};
  std::vector<Item> again;
  for (int index = 0; index < static_cast<int>(batches_.size()); ++index) {
    Batch& batch = batches_[index];
    const bool holds = batch.moving > 0 && std::any_of(batch.items.begin(), batch.items.end(),
                                                       [&](const Item& item) { return item.from_vgpu == vgpu; });
    if (batch.items.empty() || (batch.vgpu != vgpu && !holds)) continue;
    if (batch.vgpu != vgpu) --gpus_[batch.vgpu].batches;
    again.insert(again.end(), batch.items.begin(), batch.items.end());
    batch.items.clear();
    free_batches_.push_back(index);
    absl::erase_if(tasks_, [index](const auto& task) { return task.second == index; });
  }
  for (Queue& queue : queues_) {
    const auto lost = std::stable_partition(queue.items.begin(), queue.items.end(),
                                            [vgpu](const Item& item) { return item.from_vgpu != vgpu; });
    again.insert(again.end(), lost, queue.items.end());
    queue.items.erase(lost, queue.items.end());
  }
  std::sort(again.begin(), again.end(),
            [](const Item& a, const Item& b) { return a.request.arrival > b.request.arrival; });
  for (const Item& item : again) BeginAgain(item);
  for (Queue& queue : queues_) Serve(queue);
}

void ReactiveScheduler::BeginAgain(const Item& item) {
  Queue& queue = queues_[item.request.model];
  const bool in_time = std::any_of(queue.pools.begin(), queue.pools.end(),
                                   [&](const Pool& pool) { return Finish(pool, -1, 1) <= Deadline(item.request); });
  if (in_time) {
    queue.items.push_front({item.request, -1, {}, Nanoseconds(0), Nanoseconds(0), Nanoseconds(0)});
  } else {
    Drop(item, Fate::kWorkerLost);
  }
}

void ReactiveScheduler::OnWorkerBack(int vgpu) {
  gpus_[vgpu] = {true, 0, clock_.Now()};
  for (Queue& queue : queues_) Serve(queue);
}

}  // namespace wharf::pipeline
