// Step 2 of ARISE (thesis 3.4.4): the requests of the near future are simulated, packed into batches and moved to when
// these begin (Algorithm 2), and the plan is checked against every client's SLA by its own estimates.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "wharf/serving/arrival_predictor.h"
#include "wharf/serving/inference_profile.h"
#include "wharf/serving/types.h"
#include "wharf/track/drop/drop_rate.h"

namespace wharf::serving {

// A client as the steps see it; others are named by their index.
struct PlanningClient {
  ClientId id = 0;
  ClientModel model;  // its SLA is the mean drop that it may have from now on (budget.h)
  OffloadSettings settings;
  const ArrivalPredictor* arrivals = nullptr;  // Known()
  FrameId last_frame = 0;                      // that it offloads before what is to be planned
  // Of its results, the newest that is there or on its way without the plan.
  track::Offload newest;
  // With which others were admitted beside it; what it asks for beyond that counts twice (ClientToRemove).
  std::optional<OffloadSettings> agreed = std::nullopt;
  // Of the engine's time, by what it may lose on average (EngineShare), whatever it has lost so far.
  double mean_share = 0;
  bool owes = false;  // it has lost more than it may: it goes last
};

struct SimulatedRequest {
  int client = 0;
  FrameId frame = 0;
  TimePoint arrival;
};

struct PlannedRequest {
  int client = 0;
  FrameId frame = 0;
};
struct PlannedBatch {
  TimePoint arrival;  // when its requests are expected
  TimePoint start;    // when it begins at the latest: a grace period later
  TimePoint end;
  std::vector<PlannedRequest> requests;
};
using BatchPlan = std::vector<PlannedBatch>;  // one after the other: none begins before the one before has ended

// Simulate: each client goes on from its last frame at its interval, as far as `until`; in order of arrival, to a
// tenth of a millisecond. A client that is behind offloads its newest frame at `from`. O(clients + requests).
std::vector<SimulatedRequest> SimulateRequests(std::span<const PlanningClient> clients, TimePoint from,
                                               TimePoint until);

// Adjust, Algorithm 2: packs requests in their order into batches as large as all of their clients allow, back to back
// from `free_at` on, and moves each to the last frame that will be there when its batch begins. Each batch has
// `grace`, a share of its inference time, for late requests. Two rules keep frames of one client apart: it is in a
// batch once, and offloads at most twice as often as its settings say, however idle the engine is. A batch waits
// for its first request if it must, but not for others. O(requests).
BatchPlan PackRequests(std::span<const PlanningClient> clients, const std::vector<SimulatedRequest>& requests,
                       const InferenceProfile& profile, double grace, TimePoint free_at);

// As a server does that coordinates nothing: whatever has come when the engine is free becomes a batch, as far as all
// of its clients allow. O(requests).
BatchPlan GroupRequests(std::span<const PlanningClient> clients, const std::vector<SimulatedRequest>& requests,
                        const InferenceProfile& profile, TimePoint free_at);

// Verify: the mean drop from the reference that the plan gives each client, by its own drop rate: of the frames from
// now to the first that uses the client's last result of the plan, or to the plan's end if it gets none. Batches are
// taken to begin when their requests are expected: the grace period is for those few that do not.
// O(clients + requests).
std::vector<double> EstimateDrops(std::span<const PlanningClient> clients, const BatchPlan& plan,
                                  const InferenceProfile& profile, TimePoint now);

// The client that is farthest above its SLA; nullopt if none is.
std::optional<size_t> FarthestAbove(std::span<const PlanningClient> clients, const std::vector<double>& drops);
// nullopt if none is above its SLA; otherwise the client that asks for the most of the engine's time, without which
// there is room for the most others: of those above their SLAs, or, if the engine is overloaded, which may be the fault
// of clients whose own SLAs are kept, of all. One that asks for more than was agreed goes before one that did so from
// the beginning. One that owes goes only if no other can.
std::optional<size_t> ClientToRemove(std::span<const PlanningClient> clients, const std::vector<double>& drops,
                                     const InferenceProfile& profile, bool overloaded);

// The first frame that can use the result of `frame` if its batch ends at `end`.
FrameId FirstUse(const PlanningClient& client, FrameId frame, TimePoint end);

}  // namespace wharf::serving
