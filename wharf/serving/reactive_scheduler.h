// ReactiveScheduler: the baselines (thesis 3.6.3). Clients offload at an interval of their own, uncoordinated; whatever
// waits when the engine is free becomes a batch. Clients are removed and added by what happened, not by a plan.
#pragma once

#include <deque>
#include <map>

#include "wharf/serving/learnt_profile.h"
#include "wharf/serving/scheduler.h"
#include "wharf/serving/settings.h"

namespace wharf::serving {

struct ReactiveOptions {
  // What step 1 may choose from: a fixed interval for a Clipper-like server, batches of one for a Chameleon-like one,
  // everything for ARISE-alpha.
  SettingsLimits limits{.max_share = 0.25};
  // Clients whose SLA no settings meet are served at the shortest interval and batch instead of being removed: for a
  // system whose interval was fixed with all clients in mind.
  bool keep_hopeless = false;
  // Static: always as many clients and these settings, whatever their SLAs.
  struct Fixed {
    int clients = 0;
    OffloadSettings settings;
  };
  std::optional<Fixed> fixed;
  bool refuse = false;  // of Static: but for those whose SLAs these settings break, by their estimates
  Nanoseconds period = std::chrono::milliseconds(200);  // from one choice of settings to the next
  // Load adjustment: `step` clients are removed when a batch begins and requests are left for the one after it; as many
  // are added when none were for so long.
  Nanoseconds calm = std::chrono::milliseconds(400);
  int step = 1;
  // Stronger than the thesis's baselines: only requests count whose clients would miss their SLAs if all of their
  // results took as long, and of these clients those that ask for the most of the engine are removed.
  bool tolerant = false;
  // ARISE-alpha: every period the requests of the horizon are simulated and batched as they come, and clients removed
  // until none loses more than its SLA by that.
  bool verify = false;
  Nanoseconds horizon = std::chrono::milliseconds(1000);
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
  bool MayCome(const Record& record, FrameId frame) const;
  void StartBatch();
  size_t Fitting(size_t from) const;
  void CheckDelayed(Nanoseconds first);
  double ShareOf(ClientId client) const;
  bool MissesSla(const Request& request, TimePoint end) const;
  void Round();
  void Verify();
  void Add();
  bool AddOne();
  void Evict(ClientId client);

  LearntProfile profile_;
  const ReactiveOptions options_;
  const Clock& clock_;
  Engine& engine_;
  ClientPort& port_;
  Balancer& balancer_;
  std::map<ClientId, Record> records_;
  std::deque<Request> queue_;
  bool running_ = false;
  TimePoint engine_free_at_, next_round_, calm_since_;
};

}  // namespace wharf::serving
