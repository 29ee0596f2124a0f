// The scheduler that promises only what it has reserved (thesis 4.5.5, Algorithms 3 and 4).
//
// Requests of a model wait in one queue. When it is long enough for a batch, or its oldest request cannot wait longer,
// the pipeline is chosen in which a full batch would wait least, then the largest batch that is done before the oldest
// request's deadline; its whole path is reserved, and commands follow as the path's resources come free.
#pragma once

#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/pipeline/dataplane/reservation.h"
#include "wharf/pipeline/dataplane/scheduler.h"

namespace wharf::pipeline {

class ReservingScheduler final : public Scheduler {
 public:
  ReservingScheduler(const Deployment& deployment, const Clock& clock, Workers& workers, RequestSink& sink,
                     const SchedulerOptions& options);

  void Submit(const Request& request) override;
  void OnTransferred(TaskId task, TimePoint start, TimePoint end) override;
  void OnComputed(TaskId task, TimePoint start, TimePoint end) override;
  void OnWorkerLost(int vgpu) override;
  void OnWorkerBack(int vgpu) override;
  void Poll() override;
  TimePoint NextWakeup() const override;

 private:
  struct Queue {
    std::deque<Request> requests;  // by arrival
    Nanoseconds slo{0}, least{0};  // `least`: of one request, all resources free
    size_t wanted = 0;             // look again when so many are there, or at `wakeup`
    TimePoint wakeup = kNever;
  };
  struct Batch {
    Path path;
    std::vector<Request> requests;  // empty: free
    TimePoint begun;
    Nanoseconds computed{0}, transferred{0};
    SlotId under_way = kNoSlot;  // commanded and not reported
    size_t stage = 0;            // that comes next, or is under way
    bool lost = false;           // its requests are somebody else's now
  };
  struct Task {
    int batch = 0;
    size_t stage = 0;
    bool transfer = false;
  };

  TimePoint Deadline(const Request& request) const { return request.arrival + queues_[request.model].slo; }
  void Schedule(int model);
  bool Choose(int model, TimePoint finish_by, Path& path);
  bool LargestBatch(int pipeline, TimePoint finish_by, Path& path);
  void Dispatch(Queue& queue, size_t requests, Path& path);
  void IssueCommands();
  void Issue(SlotId slot, const Task& task);
  Batch* TakeTask(SlotId slot, TimePoint end);
  void End(Batch& batch, TimePoint end);
  void Free(Batch& batch);
  void Drop(const Request& request, Fate fate);
  bool Needs(const Batch& batch, int vgpu) const;
  void GiveUp(Batch& batch, std::vector<Request>& again);
  Nanoseconds LeastTime(int model) const;

  const Deployment& deployment_;
  const Clock& clock_;
  Workers& workers_;
  RequestSink& sink_;
  const SchedulerOptions options_;
  Reservations reservations_;
  std::vector<Queue> queues_;  // by model
  std::vector<Batch> batches_;
  std::vector<int> free_batches_;
  absl::flat_hash_map<SlotId, Task> tasks_;
  Path probe_, best_;  // working memory
};

}  // namespace wharf::pipeline
