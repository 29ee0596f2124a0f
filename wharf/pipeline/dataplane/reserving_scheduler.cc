#include "wharf/pipeline/dataplane/reserving_scheduler.h"

#include <algorithm>

namespace wharf::pipeline {

ReservingScheduler::ReservingScheduler(const Deployment& deployment, const Clock& clock, Workers& workers,
                                       RequestSink& sink, const SchedulerOptions& options)
    : deployment_(deployment),
      clock_(clock),
      workers_(workers),
      sink_(sink),
      options_(options),
      reservations_(deployment),
      queues_(deployment.models.size()) {
  for (size_t model = 0; model < queues_.size(); ++model) {
    queues_[model].slo = deployment.models[model].slo;
    queues_[model].least = LeastTime(static_cast<int>(model));
  }
}

Nanoseconds ReservingScheduler::LeastTime(int model) const {
  const Reservations nothing_else(deployment_);
  Nanoseconds least = Nanoseconds::max();
  Path path;
  for (const int pipeline : deployment_.models[model].pipelines) {
    if (nothing_else.Probe(pipeline, 1, TimePoint(), path)) least = std::min(least, path.finish.since_epoch);
  }
  return least;
}

void ReservingScheduler::Submit(const Request& request) {
  queues_[request.model].requests.push_back(request);
  Schedule(request.model);
  IssueCommands();
}

void ReservingScheduler::Poll() {
  const TimePoint now = clock_.Now();
  for (size_t model = 0; model < queues_.size(); ++model) {
    if (queues_[model].wakeup <= now) Schedule(static_cast<int>(model));
  }
  IssueCommands();
}

TimePoint ReservingScheduler::NextWakeup() const {
  TimePoint next = kNever;
  for (const Queue& queue : queues_) next = std::min(next, queue.wakeup);
  return next;
}

void ReservingScheduler::Schedule(int model) {
  Queue& queue = queues_[model];
  const TimePoint now = clock_.Now();
  if (queue.requests.size() < queue.wanted && now < queue.wakeup) return;
  reservations_.Advance(now);
  queue.wanted = 0;
  queue.wakeup = kNever;
  while (!queue.requests.empty()) {
    const Request& oldest = queue.requests.front();
    const auto guard = std::chrono::duration_cast<Nanoseconds>(queue.slo * options_.guard);
    const TimePoint finish_by = Deadline(oldest) - guard;
    // The guard is room, not the deadline: on a real clock one wakes late, and what waited as long as it might would be
    // dropped for a microsecond.
    const bool chosen =
        Choose(model, finish_by, best_) || (guard.count() > 0 && Choose(model, Deadline(oldest), best_));
    if (!chosen) {
      Drop(oldest, now + queue.least > Deadline(oldest) ? Fate::kTooLate : Fate::kNoCapacity);
      queue.requests.pop_front();
      continue;
    }
    const size_t waiting = queue.requests.size(), wanted = static_cast<size_t>(best_.batch);
    if (waiting < wanted) {
      // What is there could begin so much later and still be done in time.
      reservations_.Probe(best_.pipeline, static_cast<int>(waiting), now, best_);
      if (finish_by - best_.finish >= kShortestWait) {
        queue.wanted = wanted;
        queue.wakeup = now + (finish_by - best_.finish);
        return;
      }
    }
    Dispatch(queue, std::min(waiting, wanted), best_);
  }
}

bool ReservingScheduler::LargestBatch(int pipeline, TimePoint finish_by, Path& path) {
  for (int batch = deployment_.pipelines[pipeline].Batch(); batch > 0; --batch) {
    if (!reservations_.Probe(pipeline, batch, clock_.Now(), path)) return false;
    if (path.finish <= finish_by) return true;
  }
  return false;
}

// The path of the largest batch that is done by `finish_by`, in the pipeline in which a full one would wait least; in
// another if that pipeline cannot make it.
bool ReservingScheduler::Choose(int model, TimePoint finish_by, Path& path) {
  const std::vector<int>& pipelines = deployment_.models[model].pipelines;
  int chosen = -1;
  Nanoseconds least = Nanoseconds::max();
  for (const int pipeline : pipelines) {
    if (!reservations_.Probe(pipeline, deployment_.pipelines[pipeline].Batch(), clock_.Now(), probe_)) continue;
    if (probe_.wait >= least) continue;
    least = probe_.wait;
    chosen = pipeline;
    std::swap(path, probe_);
  }
  if (chosen < 0) return false;
  if (path.finish <= finish_by || LargestBatch(chosen, finish_by, path)) return true;
  return std::any_of(pipelines.begin(), pipelines.end(),
                     [&](int pipeline) { return pipeline != chosen && LargestBatch(pipeline, finish_by, path); });
}

void ReservingScheduler::Dispatch(Queue& queue, size_t requests, Path& path) {
  if (free_batches_.empty()) {
    free_batches_.push_back(static_cast<int>(batches_.size()));
    batches_.emplace_back();
  }
  const int index = free_batches_.back();
  free_batches_.pop_back();
  Batch& batch = batches_[index];
  std::swap(batch.path, path);
  const auto end = queue.requests.begin() + static_cast<ptrdiff_t>(requests);
  batch.requests.assign(queue.requests.begin(), end);
  queue.requests.erase(queue.requests.begin(), end);
  batch.computed = batch.transferred = Nanoseconds(0);
  batch.under_way = kNoSlot;
  batch.stage = 0;
  reservations_.Reserve(batch.path);
  for (size_t stage = 0; stage < batch.path.steps.size(); ++stage) {
    const PathStep& step = batch.path.steps[stage];
    if (step.transfer_slot != kNoSlot) tasks_[step.transfer_slot] = {index, stage, true};
    tasks_[step.compute_slot] = {index, stage, false};
  }
}

void ReservingScheduler::IssueCommands() {
  for (const SlotId slot : reservations_.TakeReady()) Issue(slot, tasks_.at(slot));
}

void ReservingScheduler::Issue(SlotId slot, const Task& task) {
  Batch& batch = batches_[task.batch];
  const PathStep& step = batch.path.steps[task.stage];
  const int stage = static_cast<int>(task.stage);
  batch.under_way = slot;
  batch.stage = task.stage;
  if (!task.transfer) {
    workers_.Compute({slot, batch.path.pipeline, stage, step.vgpu, batch.requests});
    return;
  }
  const double bytes = deployment_.pipelines[batch.path.pipeline].stages[task.stage].input_bytes;
  workers_.Transfer({slot, batch.path.pipeline, stage, batch.path.steps[task.stage - 1].vgpu, step.vgpu,
                     bytes * static_cast<double>(batch.requests.size()), batch.requests});
}

// The batch of a task that is over; null if nobody waits for it any more.
ReservingScheduler::Batch* ReservingScheduler::TakeTask(SlotId slot, TimePoint end) {
  const auto found = tasks_.find(slot);
  if (found == tasks_.end()) return nullptr;
  Batch& batch = batches_[found->second.batch];
  batch.under_way = kNoSlot;
  if (!found->second.transfer) ++batch.stage;
  tasks_.erase(found);
  reservations_.Finish(slot, end);
  if (!batch.lost) return &batch;
  Free(batch);
  return nullptr;
}

void ReservingScheduler::OnTransferred(TaskId task, TimePoint start, TimePoint end) {
  if (Batch* batch = TakeTask(task, end)) batch->transferred += end - start;
  IssueCommands();
}

void ReservingScheduler::OnComputed(TaskId task, TimePoint start, TimePoint end) {
  if (Batch* batch = TakeTask(task, end)) {
    if (batch->stage == 1) batch->begun = start;
    batch->computed += end - start;
    if (batch->stage == batch->path.steps.size()) End(*batch, end);
  }
  IssueCommands();
}

void ReservingScheduler::End(Batch& batch, TimePoint end) {
  for (const Request& request : batch.requests) {
    const Fate fate = end <= Deadline(request) ? Fate::kOnTime : Fate::kLate;
    sink_.OnEnded({request, fate, end, batch.path.pipeline, static_cast<int>(batch.requests.size()),
                   batch.begun - request.arrival, batch.computed, batch.transferred});
  }
  Free(batch);
}

void ReservingScheduler::Free(Batch& batch) {
  batch.requests.clear();
  batch.lost = false;
  free_batches_.push_back(static_cast<int>(&batch - batches_.data()));
}

void ReservingScheduler::Drop(const Request& request, Fate fate) {
  const TimePoint now = clock_.Now();
  sink_.OnEnded({request, fate, now, -1, 0, now - request.arrival, Nanoseconds(0), Nanoseconds(0)});
}

// Whether a batch has still to compute on it, or its feature maps lie there.
bool ReservingScheduler::Needs(const Batch& batch, int vgpu) const {
  const std::vector<PathStep>& steps = batch.path.steps;
  if (batch.requests.empty() || batch.lost) return false;
  for (size_t stage = batch.stage == 0 ? 0 : batch.stage - 1; stage < steps.size(); ++stage) {
    const bool passed = stage + 1 == batch.stage && batch.under_way == steps[batch.stage].compute_slot;
    if (steps[stage].vgpu == vgpu && !passed) return true;
  }
  return false;
}

// What a worker that is still there computes for it goes on, for nothing; all else is cancelled.
void ReservingScheduler::GiveUp(Batch& batch, std::vector<Request>& again) {
  again.insert(again.end(), batch.requests.begin(), batch.requests.end());
  batch.requests.clear();
  const TimePoint now = clock_.Now();
  for (size_t stage = batch.stage; stage < batch.path.steps.size(); ++stage) {
    const PathStep& step = batch.path.steps[stage];
    for (const SlotId slot : {step.transfer_slot, step.compute_slot}) {
      const bool goes_on = slot == step.compute_slot && slot == batch.under_way && reservations_.Usable(step.vgpu);
      if (goes_on || tasks_.erase(slot) == 0) continue;
      if (slot == batch.under_way) batch.under_way = kNoSlot;
      reservations_.Cancel(slot, now);
    }
  }
  batch.lost = batch.under_way != kNoSlot;
  if (!batch.lost) Free(batch);
}

void ReservingScheduler::OnWorkerLost(int vgpu) {
  reservations_.SetUsable(vgpu, false);
  std::vector<Request> again;
  for (Batch& batch : batches_) {
    if (Needs(batch, vgpu)) GiveUp(batch, again);
    if (batch.lost && batch.path.steps[batch.stage].vgpu == vgpu) GiveUp(batch, again);
  }
  const TimePoint now = clock_.Now();
  std::sort(again.begin(), again.end(), [](const Request& a, const Request& b) { return a.arrival > b.arrival; });
  for (const Request& request : again) {
    Queue& queue = queues_[request.model];
    if (now + queue.least > Deadline(request)) {
      Drop(request, Fate::kWorkerLost);
    } else {
      queue.requests.push_front(request);
    }
  }
  for (size_t model = 0; model < queues_.size(); ++model) {
    queues_[model].wakeup = now;
    Schedule(static_cast<int>(model));
  }
  IssueCommands();
}

void ReservingScheduler::OnWorkerBack(int vgpu) { reservations_.SetUsable(vgpu, true); }

}  // namespace wharf::pipeline
