#include "wharf/serving/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "wharf/serving/settings.h"

namespace wharf::serving {
namespace {

constexpr Nanoseconds kOrder = std::chrono::microseconds(100);
constexpr double kMostSimulated = 1e6;  // requests of one client

// A counting sort: as many slots as tenths of a millisecond.
std::vector<SimulatedRequest> ByArrival(const std::vector<SimulatedRequest>& requests, TimePoint from,
                                        TimePoint until) {
  const auto slot = [&](const SimulatedRequest& request) {
    return static_cast<size_t>((request.arrival - from) / kOrder);
  };
  std::vector<size_t> begin(static_cast<size_t>(std::max(Nanoseconds(0), until - from) / kOrder) + 2);
  for (const SimulatedRequest& request : requests) ++begin[slot(request) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<SimulatedRequest> sorted(requests.size());
  for (const SimulatedRequest& request : requests) sorted[begin[slot(request)]++] = request;
  return sorted;
}

// Packs one batch after the other.
class Packer {
 public:
  Packer(std::span<const PlanningClient> clients, const InferenceProfile& profile, double grace, TimePoint free_at)
      : clients_(clients),
        profile_(profile),
        grace_(grace),
        time_(free_at),
        last_frame_(clients.size()),
        batch_of_(clients.size(), SIZE_MAX) {
    for (size_t i = 0; i < clients.size(); ++i) last_frame_[i] = clients[i].last_frame;
  }

  BatchPlan Pack(const std::vector<SimulatedRequest>& requests) {
    for (size_t i = 0; i < requests.size();) {
      const size_t size = Fitting(std::span(requests).subspan(i));
      Coordinate(std::span(requests).subspan(i, size));
      i += size;
    }
    return std::move(plan_);
  }

 private:
  // As many of the first as all of them allow, none twice, and none that the others would have to wait for.
  size_t Fitting(std::span<const SimulatedRequest> requests) {
    size_t limit = static_cast<size_t>(profile_.MaxBatch()), size = 0;
    TimePoint start;
    while (size < requests.size()) {
      const int client = requests[size].client;
      limit = std::min(limit, static_cast<size_t>(clients_[client].settings.batch));
      const TimePoint earliest = clients_[client].arrivals->At(Earliest(client));
      if (size == 0) start = std::max(time_, earliest);
      if (size + 1 > limit || batch_of_[client] == plan_.size() || earliest > start) break;
      batch_of_[client] = plan_.size();
      ++size;
    }
    return size;
  }

  void Coordinate(std::span<const SimulatedRequest> requests) {
    for (const SimulatedRequest& request : requests) {
      time_ = std::max(time_, clients_[request.client].arrivals->At(Earliest(request.client)));
    }
    const double inference_s = profile_.Seconds(static_cast<int>(requests.size()));
    PlannedBatch batch{.arrival = time_, .start = time_ + FromSeconds(grace_ * inference_s), .end = {}, .requests = {}};
    batch.end = batch.start + FromSeconds(inference_s);
    batch.requests.reserve(requests.size());
    for (const auto& [client, frame, arrival] : requests) {
      last_frame_[client] = std::max(Earliest(client), clients_[client].arrivals->LatestBy(time_));
      batch.requests.push_back({client, last_frame_[client]});
    }
    time_ = batch.end;
    plan_.push_back(std::move(batch));
  }

  // Half an interval after its frame before, rounded up.
  FrameId Earliest(int client) const { return last_frame_[client] + (clients_[client].settings.interval + 1) / 2; }

  const std::span<const PlanningClient> clients_;
  const InferenceProfile& profile_;
  const double grace_;
  TimePoint time_;
  std::vector<FrameId> last_frame_;  // of each client
  std::vector<size_t> batch_of_;     // the last it is in
  BatchPlan plan_;
};

double DropOf(const PlanningClient& client, const std::vector<track::Offload>& offloads, FrameId first, FrameId last,
              const InferenceProfile& profile) {
  if (first >= last) return 0;  // nothing is left to be shown
  const auto sum = track::SumOfStrides(offloads, first, last);
  if (!sum.ok()) return std::numeric_limits<double>::infinity();
  const double mean = static_cast<double>(*sum) / static_cast<double>(last - first);
  return client.model.drop_rate * (mean - track::MeanStride(ReferenceOf(client.model, profile)));
}

// Of one client within `horizon`: as its rate has it, with room for the first two and for a line a little steeper.
int MostRequests(const PlanningClient& client, Nanoseconds horizon) {
  const double frames = std::max(0.0, 1.01 * Seconds(horizon) * client.model.fps);
  return static_cast<int>(std::min(frames / client.settings.interval, kMostSimulated)) + 2;
}

// Of the engine's time, with what is beyond what was agreed once more.
double CostOf(const PlanningClient& client, const InferenceProfile& profile) {
  const double share = EngineShare(client.settings, client.model, profile);
  if (!client.agreed) return share;
  return share + std::max(0.0, share - EngineShare(*client.agreed, client.model, profile));
}

}  // namespace

std::vector<SimulatedRequest> SimulateRequests(std::span<const PlanningClient> clients, TimePoint from,
                                               TimePoint until) {
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < static_cast<int>(clients.size()); ++i) {
    const PlanningClient& client = clients[i];
    FrameId frame = std::max(client.last_frame + client.settings.interval, client.arrivals->LatestBy(from));
    for (int left = MostRequests(client, until - from); left > 0; --left) {
      const TimePoint arrival = std::max(client.arrivals->At(frame), from);
      if (arrival >= until) break;
      requests.push_back({i, frame, arrival});
      frame += client.settings.interval;
    }
  }
  return ByArrival(requests, from, until);
}

BatchPlan PackRequests(std::span<const PlanningClient> clients, const std::vector<SimulatedRequest>& requests,
                       const InferenceProfile& profile, double grace, TimePoint free_at) {
  return Packer(clients, profile, grace, free_at).Pack(requests);
}

BatchPlan GroupRequests(std::span<const PlanningClient> clients, const std::vector<SimulatedRequest>& requests,
                        const InferenceProfile& profile, TimePoint free_at) {
  BatchPlan plan;
  for (size_t i = 0; i < requests.size();) {
    const TimePoint start = std::max(free_at, requests[i].arrival);
    PlannedBatch batch{.arrival = start, .start = start, .end = {}, .requests = {}};
    int limit = profile.MaxBatch();
    for (; i < requests.size() && requests[i].arrival <= start; ++i) {
      limit = std::min(limit, clients[requests[i].client].settings.batch);
      if (static_cast<int>(batch.requests.size()) + 1 > limit) break;
      batch.requests.push_back({requests[i].client, requests[i].frame});
    }
    free_at = batch.end = start + profile.Latency(static_cast<int>(batch.requests.size()));
    plan.push_back(std::move(batch));
  }
  return plan;
}

std::optional<size_t> FarthestAbove(std::span<const PlanningClient> clients, const std::vector<double>& drops) {
  std::optional<size_t> farthest;
  double most = 0;
  for (size_t i = 0; i < clients.size(); ++i) {
    const double excess = drops[i] - clients[i].model.sla;
    if (excess <= most) continue;
    farthest = i;
    most = excess;
  }
  return farthest;
}

std::optional<size_t> ClientToRemove(std::span<const PlanningClient> clients, const std::vector<double>& drops,
                                     const InferenceProfile& profile, bool overloaded) {
  if (!FarthestAbove(clients, drops)) return std::nullopt;
  // Of two, the one that owes nothing, then the costlier.
  const auto rank = [&](size_t i) { return std::pair(!clients[i].owes, CostOf(clients[i], profile)); };
  std::optional<size_t> remove;
  for (size_t i = 0; i < clients.size(); ++i) {
    if (!overloaded && drops[i] <= clients[i].model.sla) continue;
    if (!remove || rank(i) > rank(*remove)) remove = i;
  }
  return remove;
}

FrameId FirstUse(const PlanningClient& client, FrameId frame, TimePoint end) {
  const double seconds = client.model.network_s + Seconds(end - client.arrivals->At(frame));
  return frame + std::max<FrameId>(1, static_cast<FrameId>(std::ceil(seconds * client.model.fps - 1e-6)));
}

std::vector<double> EstimateDrops(std::span<const PlanningClient> clients, const BatchPlan& plan,
                                  const InferenceProfile& profile, TimePoint now) {
  std::vector<std::vector<track::Offload>> offloads(clients.size());
  for (size_t i = 0; i < clients.size(); ++i) offloads[i] = {clients[i].newest};
  for (const PlannedBatch& batch : plan) {
    const TimePoint expected_end = batch.arrival + (batch.end - batch.start);
    for (const auto& [client, frame] : batch.requests) {
      // Results keep their order on the way.
      const FrameId use = std::max(FirstUse(clients[client], frame, expected_end), offloads[client].back().usable);
      if (frame > offloads[client].back().frame) offloads[client].push_back({frame, use});
    }
  }
  std::vector<double> drops(clients.size());
  for (size_t i = 0; i < clients.size(); ++i) {
    const FrameId first = std::max(clients[i].newest.usable, clients[i].arrivals->LatestBy(now));
    const FrameId end = plan.empty() ? first : clients[i].arrivals->LatestBy(plan.back().end);
    const FrameId last = offloads[i].size() > 1 ? offloads[i].back().usable : end;
    drops[i] = DropOf(clients[i], offloads[i], first, last, profile);
  }
  return drops;
}

}  // namespace wharf::serving
