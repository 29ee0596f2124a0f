// EncodedPlans: the plans that one model may be run by, in every encoding that is allowed, and which of them to use
// now.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wharf/split/costs/coding_costs.h"
#include "wharf/split/simulation/simulate.h"

namespace wharf::split {

// Plans that were made before. Thread-safe.
class KeptPlans {
 public:
  virtual ~KeptPlans() = default;
  // Empty: there are none. Whether they can be carried out is for the caller to check.
  virtual std::vector<Plan> Find(const std::string& planner, const Encoding& encoding) const = 0;
  virtual void Keep(const std::string& planner, const Encoding& encoding, const std::vector<Plan>& plans) const = 0;
};

struct PlanningOptions {
  std::string planner = "intra-dp";
  PlannerOptions planner_options;
  std::vector<Encoding> encodings = {Encoding()};  // that are allowed; at least one
  std::vector<Plan> plans;                         // instead of the planner's: made elsewhere for this model
  Objective objective;                             // by which they are chosen
  CodingCosts costs;                               // of their codings
  Link link;                                       // its rate does not matter
  const KeptPlans* kept = nullptr;                 // asked before a sweep, told after; must outlive Make
  // Called now and then while plans are made, with the share that is done. False: Make fails with kCancelled.
  std::function<bool(double share)> go_on;
};

// Not thread-safe.
class EncodedPlans {
 public:
  // One sweep for each encoding; what intra-dp finds is never worse than the server alone in any of them, nor than the
  // device alone, at any rate. kInvalidArgument: no such planner, or plans that cannot be carried out. REQUIRES:
  // Validate(profile).ok().
  static absl::StatusOr<std::unique_ptr<EncodedPlans>> Make(Profile profile, const PlanningOptions& options);

  // What was learnt of device and rows by others of the same model and encodings holds here from now on.
  void TakeOver(const EncodedPlans& before);

  // The last one: all on the device.
  const std::vector<Plan>& Plans() const { return plans_; }
  // Its place in Plans(); as PlanTable::Choose.
  uint32_t Choose(double bytes_per_ms, double doubt);
  // REQUIRES: `plan` is a place in Plans().
  Outcome Evaluate(uint32_t plan, const Link& link);
  Outcome Record(uint32_t plan, const Link& link, std::vector<Event>& events);

  // What rows of operators really became, encoded bytes over plain ones, when this plan was carried out: counts for a
  // quarter. Plans stay, but are chosen by what is known now. O(operators) for each encoding if something has changed.
  void Learn(uint32_t plan, const std::map<int, double>& size_by_operator);

  // How many times as long as the profile says the device takes now; what is said above of plans counts with it.
  double DeviceSlowness() const { return slowness_; }
  // It took so many times as long in the last inference: counts for a quarter, between a half and sixteen.
  void LearnDevice(double slowness);
  // What the profile says that the device takes: for its rows of these operators of a plan, laid out; for so many rows
  // of each of the model's operators.
  double ProfiledMs(uint32_t plan, std::span<const int> ops);
  double ProfiledMs(std::span<const int> rows) const;

 private:
  EncodedPlans(Profile profile, const PlanningOptions& options)
      : profile_(std::move(profile)),
        profiled_(profile_),
        profiled_plans_(profiled_),
        encodings_(options.encodings),
        costs_(options.costs) {}
  std::unique_ptr<RowGraph> GraphNow(const Encoding& encoding) const;
  void Update();
  absl::Status Add(const PlanningOptions& options, const Encoding& encoding);
  absl::StatusOr<std::vector<Plan>> FindOrMake(const PlanningOptions& options, const std::string& planner,
                                               const RowGraph& graph, const Encoding& encoding);
  absl::Status AddPlans(const PlanningOptions& options, const Encoding& encoding);

  const Profile profile_;  // plain
  const RowGraph profiled_;
  PlanEvaluator profiled_plans_;
  double learnt_slowness_ = 1, slowness_ = 1;  // the latter is in the graphs
  const std::vector<Encoding> encodings_;
  CodingCosts costs_;
  std::vector<std::unique_ptr<RowGraph>> graphs_;  // by encoding
  std::unique_ptr<PlanTable> table_;
  std::vector<Plan> plans_;
};

}  // namespace wharf::split
