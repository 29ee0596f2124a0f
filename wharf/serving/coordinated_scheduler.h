// CoordinatedScheduler: ARISE. Every 200 ms the coming second is planned anew for all clients (coordinator.h); clients
// offload and the engine works as planned.
#pragma once

#include <deque>
#include <list>
#include <map>

#include "wharf/serving/coordinator.h"
#include "wharf/serving/learnt_profile.h"
#include "wharf/serving/scheduler.h"

namespace wharf::serving {

class CoordinatedScheduler final : public Scheduler {
 public:
  // All must outlive it.
  CoordinatedScheduler(const InferenceProfile& profile, const CoordinatorOptions& options, const Clock& clock,
                       Engine& engine, ClientPort& port, Balancer& balancer);

  void OnRequest(ClientId client, FrameId frame) override;
  void OnReport(ClientId client, const ClientReport& report) override;
  void OnGone(ClientId client) override;
  void OnBatchDone() override;
  void Poll() override;
  TimePoint NextWakeup() const override;
  size_t clients() const override { return records_.size(); }
  bool Serves(ClientId client) const override { return records_.contains(client); }
  // Whether such a client's SLA can be met if the engine has room.
  bool CouldServe(const ClientState& client) const { return PlanningClientOf(client).has_value(); }

  // Of the last round, for tests: what is left of its plan.
  struct Batch {
    TimePoint arrival, start, end;
    struct Slot {
      ClientId client = 0;
      FrameId frame = 0;
      std::optional<TimePoint> arrived;
    };
    std::vector<Slot> slots;
  };
  const std::deque<Batch>& plan() const { return plan_; }

 private:
  struct Record {
    ClientState state;
    std::vector<FrameId> planned;  // in plan_, in order
    std::vector<FrameId> overdue;  // scheduled, their batches have begun without them; the last few
    int missed = 0;                // one after the other
    std::optional<OffloadSettings> agreed = std::nullopt;  // of its SLA, when a client was admitted last
  };
  class Waiting;

  Batch::Slot* FindSlot(const Record& record, FrameId frame);
  void StartBatches();
  void StartLate();
  bool Start(const Batch& batch);
  bool Run(const std::vector<Request>& requests, std::optional<TimePoint> due);
  bool FitsBeforeNext(size_t requests) const;
  void AddLate(std::vector<Request>& requests);
  void Round();
  void Agree(const std::vector<PlanningClient>& clients);
  void DropVanished();
  std::optional<PlanningClient> PlanningClientOf(const ClientState& state) const;
  std::vector<PlanningClient> PlanningClients();
  BatchPlan Head(std::vector<PlanningClient>& clients) const;
  TimePoint EndOf(const BatchPlan& head) const;
  void Apply(const std::vector<PlanningClient>& clients, const BatchPlan& plan);
  void Evict(ClientId client);
  void Remove(ClientId client);

  LearntProfile profile_;
  const CoordinatorOptions options_;
  const Clock& clock_;
  Engine& engine_;
  ClientPort& port_;
  Balancer& balancer_;
  std::map<ClientId, Record> records_;
  std::deque<Batch> plan_;     // batches that have not begun
  std::vector<Request> late_;  // for the next batch
  bool running_ = false;
  TimePoint engine_free_at_, next_round_;
};

}  // namespace wharf::serving
