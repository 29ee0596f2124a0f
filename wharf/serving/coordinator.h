// One round of ARISE's step 2: simulate, adjust and verify, with clients removed until every SLA is kept and added
// while all are.
#pragma once

#include <optional>
#include <vector>

#include "wharf/serving/budget.h"
#include "wharf/serving/packing.h"
#include "wharf/serving/settings.h"

namespace wharf::serving {

struct CoordinatorOptions {
  Nanoseconds period = std::chrono::milliseconds(200);    // from round to round
  Nanoseconds horizon = std::chrono::milliseconds(1000);  // that a plan looks ahead
  // Batches of the old plan that are kept: those whose requests are expected before clients can have the new one.
  Nanoseconds overlap = std::chrono::milliseconds(60);
  double grace = 0.1;  // of each batch's inference time, for late requests
  SettingsLimits limits{.coordinated = true, .max_share = 0.25};
  int most_candidates = 4;  // tried in one round
  // Frames by which intervals become shorter than step 1's before a client has to go or is not admitted.
  int most_shortened = 6;
  bool remove_costliest = true;  // ClientToRemove; otherwise FarthestAbove
  // What clients have lost so far decides what they may lose next; nullopt: they may always lose what was agreed.
  std::optional<BudgetOptions> budget = BudgetOptions{};
  // A client that has been served for so long and owes nothing goes if one that waits, and asks for so many times less
  // of the engine, can be served in its place; 0: it stays.
  double replace_at = 1.25, replace_after_s = 5;
  // For clients that nobody vouches for: one that was admitted as a modest one and then asks for more does not get it
  // at the cost of others (PlanningClient::agreed), nobody goes because another says that it asks for less, and one
  // that owes goes like any other if it asks for more than kMostOwedGrowth times what was agreed.
  bool charge_growth = false;
};
inline constexpr double kMostOwedGrowth = 1.5;

// Clients that could be served as well.
class Candidates {
 public:
  virtual ~Candidates() = default;
  // The next one, with settings; nullopt if there is none.
  virtual std::optional<PlanningClient> Next() = 0;
  // Of the one that Next() gave last: it is served; it cannot be, which says nothing of those behind it.
  virtual void Admit() = 0;
  virtual void Refuse() = 0;
};

struct Coordination {
  BatchPlan plan;             // the head first; clients by their index in `clients`
  std::vector<double> drops;  // of each client, by the estimate: all within their SLAs
  std::vector<ClientId> evicted;
  int plans = 0;  // that were made for it
};

// `clients` is changed to those who are served. `head`: the part of the old plan that is kept, by index in `clients` as
// given. What is new begins at `free_at`, not before the head's end. Linear in the requests for each client removed or
// added; of clients that ask for far more than there is, many are removed at once, so that neither is large.
Coordination Coordinate(std::vector<PlanningClient>& clients, BatchPlan head, TimePoint now, TimePoint free_at,
                        const InferenceProfile& profile, const CoordinatorOptions& options, Candidates& candidates);

}  // namespace wharf::serving
