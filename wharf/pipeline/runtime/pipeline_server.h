// PipelineServer: a plan carried out for real: watches which workers there are, gives each its stage, has the scheduler
// dispatch requests on the real clock, and when workers come or go has the plan made anew and changes over to it.
//
// A worker that is lost (its connection, its lease, or it is silent) takes nothing with it that is not reported: its
// requests begin again on others if their deadlines allow it, or are answered as dropped.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wharf/base/event_loop.h"
#include "wharf/pipeline/membership/membership.h"
#include "wharf/pipeline/runtime/client_shares.h"
#include "wharf/pipeline/runtime/plan_execution.h"

namespace wharf::pipeline {

struct PipelineServerConfig {
  Plan plan;
  std::vector<ModelSource> models;   // of the plan, in its order
  Membership* membership = nullptr;  // must outlive it
  PeerAccess access;                 // to workers
  SchedulerKind scheduler = SchedulerKind::kReserving;
  SchedulerOptions scheduling;
  // Another plan for the same models on another cluster; null: the plan is kept. Called on a thread of its own.
  std::function<absl::StatusOr<Plan>(const Cluster&)> replan;
  Nanoseconds settle = std::chrono::milliseconds(500);  // workers must have been the same for so long before
  Nanoseconds task_timeout = std::chrono::seconds(3);   // a worker that does not report a task for so long is lost
  bool paced = false;                                   // PlanExecutionConfig
  const Clock* clock = &Clock::Real();
};

class PipelineServer final : private WorkerEvents {
 public:
  // What goes on.
  struct State {
    int plans = 0;  // made so far, the first included
    int members = 0;
    int vgpus = 0, ready = 0;  // of the plan that takes requests
    friend bool operator==(const State&, const State&) = default;
  };

  // Fails as PlanExecution::Make.
  static absl::StatusOr<std::unique_ptr<PipelineServer>> Start(PipelineServerConfig config);
  // Answers what is in flight as kWorkerLost.
  ~PipelineServer();

  // `answer` is called on the loop's thread, exactly once; kNoCapacity also for what is beyond the client's share when
  // clients ask for more than the plan serves. Thread-safe. REQUIRES: a model of the plan, and its bytes.
  void Submit(ClientId client, int model, Sample input, Answer answer);
  const std::vector<ModelSource>& Models() const { return config_.models; }
  const Plan& FirstPlan() const { return config_.plan; }
  // Thread-safe.
  State GetState() const;
  // Returns when `wanted` holds, or the time is up: whether it does. Thread-safe.
  bool AwaitState(const std::function<bool(const State&)>& wanted, Nanoseconds timeout) const;

 private:
  struct KnownWorker {
    std::unique_ptr<WorkerSupervisor> supervisor;
    std::vector<uint32_t> duties;  // stages it was last told to serve
  };

  explicit PipelineServer(PipelineServerConfig config);
  PlanExecutionConfig ExecutionConfig() const;
  void Watch();
  TimePoint Step();

  void OnView(const View& view);
  void OnWorkerReady(const std::string& worker, std::shared_ptr<WorkerConnection> connection,
                     const std::vector<uint32_t>& stages) override;
  void OnWorkerGone(const std::string& worker, uint64_t connection, const absl::Status& why) override;
  void OnWorkerComputed(uint64_t connection, uint64_t task, Nanoseconds took, std::vector<std::byte> outputs) override;
  void OnWorkerArrived(uint64_t connection, uint64_t task) override;
  void OnWorkerFailed(uint64_t connection, uint64_t task, const absl::Status& why) override;
  void OnPlan(const absl::StatusOr<Plan>& plan, int64_t for_view);
  void Schedule(ClientId client, int model, TimePoint arrival, Sample input, Answer answer);

  void Dismiss(const std::string& worker, std::unique_ptr<WorkerSupervisor> supervisor);
  void AssignWorkers(PlanExecution& execution);
  void TellDuties();
  void PlanAgainIfDue();
  void ChangeOver();
  Cluster ClusterOfMembers() const;
  bool FitsMembers(const Plan& plan) const;
  void PostState();

  const PipelineServerConfig config_;
  EventLoop loop_, chores_;
  // Of the loop's thread.
  WireNumbers numbers_;
  RequestId next_request_ = 0;
  std::vector<ClientShares> shares_;  // by model
  View view_;
  std::map<std::string, KnownWorker> workers_;
  std::vector<std::unique_ptr<PlanExecution>> executions_;  // the last is the newest
  size_t current_ = 0;                                      // the one that takes requests
  TimePoint plan_due_ = kNever, change_by_ = kNever;
  bool planning_ = false;
  int plans_ = 1;

  mutable absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  std::thread chore_thread_, watch_thread_, loop_thread_;
};

}  // namespace wharf::pipeline
