#include "wharf/serving/coordinator.h"

#include <algorithm>

namespace wharf::serving {
namespace {

// The client that is farthest above its SLA.
std::optional<size_t> WorstViolation(const std::vector<PlanningClient>& clients, const std::vector<double>& drops) {
  std::optional<size_t> worst;
  for (size_t i = 0; i < clients.size(); ++i) {
    const double excess = drops[i] - clients[i].model.sla;
    if (excess > 0 && (!worst || excess > drops[*worst] - clients[*worst].model.sla)) worst = i;
  }
  return worst;
}

class Round {
 public:
  Round(std::vector<PlanningClient>& clients, BatchPlan head, TimePoint now, TimePoint free_at,
        const InferenceProfile& profile, const CoordinatorOptions& options)
      : clients_(clients), head_(std::move(head)), now_(now), free_at_(free_at), profile_(profile), options_(options) {
    Plan();
  }

  // Whether any had to go.
  bool Evict() {
    bool any = false;
    while (const auto worst = WorstViolation(clients_, result_.drops)) {
      result_.evicted.push_back(clients_[*worst].id);
      Remove(static_cast<int>(*worst));
      Plan();
      any = true;
    }
    return any;
  }

  // Whether it can be served as well; nothing has changed if not.
  bool Add(const PlanningClient& client) {
    Coordination before = result_;
    clients_.push_back(client);
    Plan();
    if (!WorstViolation(clients_, result_.drops)) return true;
    clients_.pop_back();
    result_ = std::move(before);
    return false;
  }

  Coordination Take() { return std::move(result_); }

 private:
  void Plan() {
    const auto requests = SimulateRequests(clients_, free_at_, now_ + options_.horizon);
    BatchPlan tail = PackRequests(clients_, requests, profile_, options_.grace, free_at_);
    result_.plan = head_;
    result_.plan.insert(result_.plan.end(), std::make_move_iterator(tail.begin()), std::make_move_iterator(tail.end()));
    result_.drops = EstimateDrops(clients_, result_.plan, profile_, now_);
  }

  // What the head has of it is left out; its batches keep their times.
  void Remove(int client) {
    clients_.erase(clients_.begin() + client);
    for (PlannedBatch& batch : head_) {
      std::erase_if(batch.requests, [&](const PlannedRequest& request) { return request.client == client; });
      for (PlannedRequest& request : batch.requests) request.client -= request.client > client ? 1 : 0;
    }
    std::erase_if(head_, [](const PlannedBatch& batch) { return batch.requests.empty(); });
  }

  std::vector<PlanningClient>& clients_;
  BatchPlan head_;
  const TimePoint now_, free_at_;
  const InferenceProfile& profile_;
  const CoordinatorOptions& options_;
  Coordination result_;
};

}  // namespace

Coordination Coordinate(std::vector<PlanningClient>& clients, BatchPlan head, TimePoint now, TimePoint free_at,
                        const InferenceProfile& profile, const CoordinatorOptions& options, Candidates& candidates) {
  Round round(clients, std::move(head), now, free_at, profile, options);
  if (round.Evict()) return round.Take();
  for (int added = 0; added < options.most_admitted; ++added) {
    const std::optional<PlanningClient> candidate = candidates.Next();
    if (!candidate || !round.Add(*candidate)) break;
    candidates.Admit();
  }
  return round.Take();
}

}  // namespace wharf::serving
