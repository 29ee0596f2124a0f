// ReactiveScheduler: the baselines (thesis 3.6.3). Clients offload at an interval of their own, uncoordinated; whatever
// waits when the engine is free becomes a batch. Clients are removed and added by what happened, not by a plan.
#pragma once

#include <deque>
#include <map>

#include "wharf/serving/inference_profile.h"
#include "wharf/serving/scheduler.h"
#include "wharf/serving/settings.h"

namespace wharf::serving {

struct ReactiveOptions {
  // What step 1 may choose from: a fixed interval for a Clipper-like server, batches of one for a Chameleon-like one,
  // everything for ARISE-alpha.
  SettingsLimits limits{.max_share = 0.25};
  // Static: always as many clients and these settings, whatever their SLAs.
  struct Fixed {
    int clients = 0;
    OffloadSettings settings;
  };
  std::optional<Fixed> fixed;
  Nanoseconds period = std::chrono::milliseconds(200);  // from one choice of settings to the next
  // Load adjustment: `step` clients are removed when a request has to wait for a batch after the next and its client
  // would miss its SLA by that; as many are added when none had to for so long.
  Nanoseconds calm = std::chrono::milliseconds(400);
  int step = 1;
};

class ReactiveScheduler final : public Scheduler {
 public:
  // All must outlive it.
  ReactiveScheduler(const InferenceProfile& profile, const ReactiveOptions& options, const Clock& clock, Engine& engine,
                    ClientPort& port, Balancer& balancer);

  void OnRequest(ClientId client, FrameId frame) override;
  void OnReport(ClientId client, const ClientReport& report) override;
  void OnGone(ClientId client) override;
  void OnBatchDone() override;
  void Poll() override;
  TimePoint NextWakeup() const override { return next_round_; }
  size_t clients() const override { return records_.size(); }
  bool Serves(ClientId client) const override { return records_.contains(client); }

 private:
  struct Record {
    ClientState state;
    OffloadSettings settings;
    int least_interval = 1;  // of this and the last round: what it may still keep to
    TimePoint last_seen;
  };

  std::optional<OffloadSettings> SettingsOf(const ClientModel& model) const;
  void StartBatch();
  size_t Fitting(size_t from) const;
  void CheckDelayed(Nanoseconds first);
  bool MissesSla(const Request& request, TimePoint end) const;
  void Round();
  void Add();
  bool AddOne();
  void Evict(ClientId client);

  const InferenceProfile& profile_;
  const ReactiveOptions options_;
  const Clock& clock_;
  Engine& engine_;
  ClientPort& port_;
  Balancer& balancer_;
  std::map<ClientId, Record> records_;
  std::deque<Request> queue_;
  bool running_ = false;
  TimePoint next_round_, calm_since_;
};

}  // namespace wharf::serving
