// Scheduler: the server's decisions, for one inference engine: which clients it serves, when each offloads, and which
// requests form a batch. It knows time only from a Clock, and the world only through the three interfaces below, so
// that the same code serves emulated clients in virtual time and real ones.
//
// Who drives it calls, one at a time: OnRequest, OnReport and OnGone for what clients do, OnBatchDone for what the
// engine reports, and Poll at NextWakeup().
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "wharf/base/clock.h"
#include "wharf/serving/arrival_predictor.h"
#include "wharf/serving/types.h"
#include "wharf/track/drop/drop_rate.h"

namespace wharf::serving {

// Runs one batch at a time.
class Engine {
 public:
  virtual ~Engine() = default;
  // To begin at once; when it is done, Scheduler::OnBatchDone is called, not before this has returned. `due`: when the
  // plan has it begin at the latest; nullopt where nothing is planned. REQUIRES: none is running; a request or more.
  virtual void Start(const std::vector<Request>& batch, std::optional<TimePoint> due) = 0;
};

class ClientPort {
 public:
  virtual ~ClientPort() = default;
  // In place of what the client was told before.
  virtual void Send(ClientId client, const ClientPlan& plan) = 0;
};

// What moves with a client from server to server.
struct ClientState {
  ClientId id = 0;
  ClientModel model;
  ArrivalPredictor arrivals{60};
  FrameId last_frame = 0;  // that it was told to offload
  track::Offload newest;   // of its results that are there or on their way
};

// The cluster's load balancer, as one of its servers sees it.
class Balancer {
 public:
  virtual ~Balancer() = default;
  // The client to take next if there is room, with its state on the server that it is on now. The same until Admit or
  // Redirect names it, unless it goes.
  virtual std::optional<ClientState> NextWaiting() = 0;
  // That client is served here from now on.
  virtual void Admit(ClientId client) = 0;
  // Not served here, or no longer: another server's. It comes behind all that wait.
  virtual void Redirect(ClientState client) = 0;
  // Not served any more, because it has sent nothing of what was planned for some time. One that is there after all may
  // wait again.
  virtual void Vanished(ClientState) {}
};

struct SchedulerStats {
  uint64_t requests = 0;     // taken
  uint64_t unscheduled = 0;  // dropped: not the client's turn, or no client of this server
  uint64_t late = 0;         // came after their batch had begun: taken along by the next
  uint64_t too_late = 0;     // or dropped, because that would have delayed the batch after it
  uint64_t admitted = 0, evicted = 0, vanished = 0;
  uint64_t rounds = 0;
  // Of the requests taken that were planned: when they came, less when their clients' last arrivals had let expect
  // them.
  double arrival_error_s = 0, arrival_error_s2 = 0;  // sum, sum of squares
};

// Not thread-safe.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void OnRequest(ClientId client, FrameId frame) = 0;
  // Values that cannot be are ignored, others limited to what can (ApplyReport).
  virtual void OnReport(ClientId client, const ClientReport& report) = 0;
  // It has closed its connection, or ended. A client that falls silent without is given up like one that said so.
  virtual void OnGone(ClientId client) = 0;
  virtual void OnBatchDone() = 0;
  virtual void Poll() = 0;
  virtual TimePoint NextWakeup() const = 0;

  virtual size_t clients() const = 0;
  virtual bool Serves(ClientId client) const = 0;
  const SchedulerStats& stats() const { return stats_; }

 protected:
  SchedulerStats stats_;
};

// Changes nothing if a value is not finite or, but for what was lost, negative; else limits a drop rate to
// kMostDropRate, a network to kMostNetworkSeconds, and what was lost to one of each frame. That single measurements are
// noise, and SLAs of means, is the client's to see to.
inline constexpr double kMostDropRate = 1, kMostNetworkSeconds = 0.5;
void ApplyReport(const ClientReport& report, ClientModel& model);

}  // namespace wharf::serving
