// PlanExecution: one plan being carried out on real workers: the scheduler's commands become frames, and what workers
// report goes back to it. Belongs to an event loop: not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/pipeline/dataplane/scheduler.h"
#include "wharf/pipeline/runtime/worker_supervisor.h"
#include "wharf/pipeline/stages/stage_runner.h"

namespace wharf::pipeline {

// How a request ended, and what the model made of it unless it was dropped. Called exactly once.
using Answer = std::function<void(const RequestRecord& record, std::vector<std::byte> outputs)>;

// Numbers that workers see, never used again. Shared by the executions.
struct WireNumbers {
  uint32_t stage = 0;
  uint64_t task = 0, sample = 0;
};

struct PlanExecutionConfig {
  SchedulerKind scheduler = SchedulerKind::kReserving;
  SchedulerOptions scheduling;
  const std::vector<ModelSource>* models = nullptr;  // as plans have them; outlives the execution
  const Clock* clock = &Clock::Real();
  Nanoseconds task_timeout = std::chrono::seconds(3);
  bool paced = false;  // workers take the plan's times, or longer if they must
};

class PlanExecution final : private Workers, private RequestSink {
 public:
  // kInvalidArgument: a plan that Deploy refuses, or one of other models.
  static absl::StatusOr<std::unique_ptr<PlanExecution>> Make(const Plan& plan, const PlanExecutionConfig& config,
                                                             WireNumbers& numbers);

  const Plan& GetPlan() const { return plan_; }
  int Vgpus() const { return static_cast<int>(vgpus_.size()); }
  int Hosts() const { return static_cast<int>(deployment_.hosts.size()); }
  // That the plan uses of the host; 0: it has nothing to do.
  int GpusOf(int host) const;
  // REQUIRES: GpusOf(host) > 0; the same of those below.
  const std::string& ClassOf(int host) const { return deployment_.classes[VgpuIn(host).gpu_class].name; }
  const std::string& WorkerOfHost(int host) const;  // "": nobody's
  Duty DutyOf(int vgpu) const { return vgpus_[vgpu].duty; }
  const std::string& WorkerOf(int vgpu) const { return vgpus_[vgpu].worker; }  // "": nobody's
  const std::shared_ptr<WorkerConnection>& ConnectionOf(int vgpu) const { return vgpus_[vgpu].connection; }
  bool IsReady(int vgpu) const { return ConnectionOf(vgpu) != nullptr; }
  // The host is that worker's: "" takes it from whoever has it. Loses what it was ready for.
  void Assign(int host, const std::string& worker, const std::string& address);
  // Its worker may be commanded, or may not any more.
  void Ready(int vgpu, std::shared_ptr<WorkerConnection> connection);
  void Lose(int vgpu);

  void Submit(const Request& request, Sample input, Answer answer);
  size_t InFlight() const { return requests_.size(); }
  // Ends what is in flight as kWorkerLost.
  void DropAll();

  // Reports, over the connection of that id; false if the task is none of this execution's, or not that worker's.
  bool Computed(uint64_t connection, uint64_t task, Nanoseconds took, std::vector<std::byte> outputs);
  bool Arrived(uint64_t connection, uint64_t task);
  // A computation begins again; after several that failed in a row the worker has a rest. After a transfer the receiver
  // has a rest if others can serve in its place, else the sender: both can be reached from here, so that only the way
  // between them is known to be bad.
  bool Failed(uint64_t connection, uint64_t task);

  TimePoint NextWakeup() const;
  // Does what is due, and cuts off workers that have been silent for too long.
  void Step();

 private:
  static constexpr Nanoseconds kShortestRest = std::chrono::seconds(20), kLongestRest = std::chrono::minutes(1);

  struct Vgpu {
    Duty duty;
    uint32_t number = 0;  // among those of its host
    std::string worker, address;
    std::shared_ptr<WorkerConnection> connection;  // while it may be commanded
    int failures = 0;                              // computations, one after the other
    // After a transfer failed that it was to send or to receive, or several computations in a row, it has a rest: it is
    // commanded nothing meanwhile.
    std::shared_ptr<WorkerConnection> resting;
    TimePoint rests_until;
    Nanoseconds next_rest = kShortestRest;
  };
  struct Task {
    TaskId id = 0;
    int vgpu = 0;   // who is to compute, or to receive
    int from = -1;  // who is to send, if it is a transfer
    TimePoint commanded;
    std::vector<RequestId> requests;
  };
  struct InFlightRequest {
    Request request;
    Sample input;
    Answer answer;
    uint64_t sample = 0;  // its number at the workers, another for each try
    std::vector<std::byte> outputs;
  };

  const VirtualGpu& VgpuIn(int host) const;
  PlanExecution(const Plan& plan, Deployment deployment, const PlanExecutionConfig& config, WireNumbers& numbers);
  void Transfer(const TransferCommand& command) override;
  void Compute(const ComputeCommand& command) override;
  void OnEnded(const RequestRecord& record) override;
  uint64_t Remember(TaskId id, int vgpu, int from, absl::Span<const Request> requests);
  void Forget(int vgpu);
  bool Serves(int vgpu, uint64_t connection) const;
  std::vector<uint64_t> SamplesOf(absl::Span<const Request> requests) const;
  void SendInputs(const ComputeCommand& command);
  void TransferFailed(const Task& task);
  void ComputationFailed(int vgpu);
  void Rest(int vgpu, std::string_view why);
  bool KeepOutputs(const Task& task, std::span<const std::byte> outputs);
  void TryAgain(int vgpu);

  const Plan plan_;
  const Deployment deployment_;
  const PlanExecutionConfig config_;
  WireNumbers& numbers_;
  std::vector<Vgpu> vgpus_;
  absl::flat_hash_map<uint64_t, Task> tasks_;  // by the number on the wire
  absl::flat_hash_map<RequestId, std::unique_ptr<InFlightRequest>> requests_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace wharf::pipeline
