// The scheduler without reservations, to compare with (thesis 4.5.2, 4.7.4): a queue before each pool. Each forms the
// largest batch that would be done in time if nothing downstream, the network included, had to be waited for.
//
// Batches of a stage are formed anew from what has arrived there. Which virtual GPU has one, and how many at a time, is
// by ReactiveRules: as they are by default, one takes a batch while it computes another.
#pragma once

#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/pipeline/dataplane/scheduler.h"

namespace wharf::pipeline {

class ReactiveScheduler final : public Scheduler {
 public:
  ReactiveScheduler(const Deployment& deployment, const Clock& clock, Workers& workers, RequestSink& sink,
                    const SchedulerOptions& options);

  void Submit(const Request& request) override;
  void OnTransferred(TaskId task, TimePoint start, TimePoint end) override;
  void OnComputed(TaskId task, TimePoint start, TimePoint end) override;
  void OnWorkerLost(int vgpu) override;
  void OnWorkerBack(int vgpu) override;
  void Poll() override;
  TimePoint NextWakeup() const override;

 private:
  struct Item {
    Request request;
    int from_vgpu = -1;  // where its feature maps lie; -1: it has not begun
    TimePoint begun;
    Nanoseconds computed{0}, transferred{0};
    Nanoseconds moved{0};  // of `transferred`, to earlier stages
  };
  struct Pool {
    int pipeline = 0, stage = 0;
  };
  struct Queue {
    std::vector<Pool> pools;  // of a model's first stages, or one of a later stage
    std::deque<Item> items;   // by arrival in the queue
    TimePoint wakeup = kNever;
    size_t turns = 0;  // batches that went off
  };
  struct Gpu {
    bool usable = true;
    int batches = 0;  // computing, moving here or waiting
    TimePoint free_at;
  };
  struct Batch {
    Pool pool;
    int vgpu = 0, moving = 0;  // transfers under way
    std::vector<Item> items;
  };

  const DeployedStage& StageOf(const Pool& pool) const {
    return deployment_.pipelines[pool.pipeline].stages[pool.stage];
  }
  TimePoint Deadline(const Request& request) const { return request.arrival + deployment_.models[request.model].slo; }
  Queue& QueueOf(const Pool& pool);
  void Serve(Queue& queue);
  bool ServeOldest(Queue& queue, bool& hopeless);
  int Available(const Queue& queue, const Pool& pool) const;
  TimePoint Finish(const Pool& pool, int vgpu, int batch) const;
  Nanoseconds MoveTime(const Pool& pool, int batch) const;
  int LargestBatch(const Pool& pool, int vgpu, TimePoint finish_by) const;
  void Dispatch(Queue& queue, const Pool& pool, int vgpu, int count);
  void Compute(int batch);
  void End(const Item& item, const Batch& batch, TimePoint end);
  void Drop(const Item& item, Fate fate);
  void BeginAgain(const Item& item);

  const Deployment& deployment_;
  const Clock& clock_;
  Workers& workers_;
  RequestSink& sink_;
  const SchedulerOptions options_;
  std::vector<Queue> queues_;               // of the models, then of the later stages
  std::vector<std::vector<int>> queue_of_;  // [pipeline][stage]
  std::vector<Gpu> gpus_;
  std::vector<Batch> batches_;
  std::vector<int> free_batches_;
  absl::flat_hash_map<TaskId, int> tasks_;  // to their batches
  std::vector<Request> requests_;           // working memory
  TaskId last_task_ = 0;
};

}  // namespace wharf::pipeline
