#include "wharf/serving/coordinator.h"

#include <algorithm>
#include <limits>

namespace wharf::serving {
namespace {

// Of the engine's time, asked for: far beyond what rounding, phases and batches that are not full can explain.
constexpr double kSureOverload = 1.5;

class Round {
 public:
  Round(std::vector<PlanningClient>& clients, BatchPlan head, TimePoint now, TimePoint free_at,
        const InferenceProfile& profile, const CoordinatorOptions& options)
      : clients_(clients), head_(std::move(head)), now_(now), free_at_(free_at), profile_(profile), options_(options) {}

  // Whether any had to go.
  bool Evict() {
    bool any = false;
    while (const auto remove = Fit()) {
      Evict(*remove);
      any = true;
      // Whoever would be next: no plan is needed to see that the engine is overloaded still.
      while (options_.remove_costliest && Load() > kSureOverload) Evict(*Costliest());
    }
    return any;
  }

  // Whether it can be served as well; nothing has changed if not.
  bool Add(const PlanningClient& client) {
    return Try([&] { clients_.push_back(client); });
  }

  // Whether it can be served in place of one that asks for much more; nothing has changed if not.
  bool Replace(const PlanningClient& client) {
    const std::optional<size_t> replaced = Replaceable();
    if (!replaced || clients_[*replaced].mean_share < options_.replace_at * client.mean_share) return false;
    return Try([&] {
      Evict(*replaced);
      clients_.push_back(client);
    });
  }

  Coordination Take() {
    result_.plans = plans_;
    return std::move(result_);
  }

 private:
  // Whether all fit after this change; it is taken back if not.
  template <typename Change>
  bool Try(const Change& change) {
    Coordination before = result_;
    BatchPlan head_before = head_;
    std::vector<PlanningClient> clients_before = clients_;
    change();
    if (!Fit()) return true;
    result_ = std::move(before);
    head_ = std::move(head_before);
    clients_ = std::move(clients_before);
    return false;
  }
  // What all ask for, of the engine's time.
  double Load() const {
    double load = 0;
    for (const PlanningClient& client : clients_) load += EngineShare(client.settings, client.model, profile_);
    return load;
  }
  // REQUIRES: there is a client.
  std::optional<size_t> Costliest() const {
    // None of them is kept to its SLA without a plan.
    const std::vector<double> drops(clients_.size(), std::numeric_limits<double>::infinity());
    return ClientToRemove(clients_, drops, profile_, /*overloaded=*/true);
  }
  // The costliest of those that may go although all SLAs are kept.
  std::optional<size_t> Replaceable() const {
    if (options_.replace_at == 0 || options_.charge_growth) return std::nullopt;
    std::optional<size_t> costliest;
    for (size_t i = 0; i < clients_.size(); ++i) {
      const PlanningClient& client = clients_[i];
      if (client.owes || client.model.frames < options_.replace_after_s * client.model.fps) continue;
      if (!costliest || client.mean_share > clients_[*costliest].mean_share) costliest = i;
    }
    return costliest;
  }
  void Evict(size_t client) {
    result_.evicted.push_back(clients_[client].id);
    Remove(static_cast<int>(client));
  }

  // Plans so that every SLA is kept, which may take shorter intervals than step 1's: what it knows nothing of, waiting
  // and whole frames, can cost a client a little more than it may lose, however much of the engine is free. If that
  // does not help, the intervals are as before, and this is the client to remove.
  std::optional<size_t> Fit() {
    const std::vector<PlanningClient> as_before = clients_;
    Plan();
    const std::optional<size_t> remove = ToRemove();
    for (int tries = 0; ToRemove() && tries < options_.most_shortened && Shorten(); ++tries) Plan();
    if (!ToRemove()) return std::nullopt;
    clients_ = as_before;
    return remove;
  }

  std::optional<size_t> ToRemove() const {
    if (!options_.remove_costliest) return FarthestAbove(clients_, result_.drops);
    // What comes within the horizon takes longer than that.
    const bool overloaded = !result_.plan.empty() && result_.plan.back().end > now_ + options_.horizon;
    return ClientToRemove(clients_, result_.drops, profile_, overloaded);
  }

  // The intervals of all that are above their SLAs, by a frame; false if none can be.
  bool Shorten() {
    bool any = false;
    for (size_t i = 0; i < clients_.size(); ++i) {
      if (result_.drops[i] <= clients_[i].model.sla) continue;
      const OffloadSettings shorter{clients_[i].settings.interval - 1, clients_[i].settings.batch};
      if (!Allowed(shorter, clients_[i].model, profile_, options_.limits)) continue;
      clients_[i].settings = shorter;
      any = true;
    }
    return any;
  }

  void Plan() {
    ++plans_;
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
  int plans_ = 0;
};

}  // namespace

Coordination Coordinate(std::vector<PlanningClient>& clients, BatchPlan head, TimePoint now, TimePoint free_at,
                        const InferenceProfile& profile, const CoordinatorOptions& options, Candidates& candidates) {
  Round round(clients, std::move(head), now, free_at, profile, options);
  if (round.Evict()) return round.Take();
  for (int tried = 0; tried < options.most_candidates; ++tried) {
    const std::optional<PlanningClient> candidate = candidates.Next();
    if (!candidate) break;
    if (round.Add(*candidate) || round.Replace(*candidate)) {
      candidates.Admit();
    } else {
      candidates.Refuse();
    }
  }
  return round.Take();
}

}  // namespace wharf::serving
