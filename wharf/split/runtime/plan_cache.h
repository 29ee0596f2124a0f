// PlanCache: plans of models on disk, beside their profiles, so that a model is planned once.
#pragma once

#include <string>

#include "wharf/split/plan_json.h"
#include "wharf/split/simulation/encoded_plans.h"

namespace wharf::split {

// Plans by what they answer: the model, what both machines take for it, the planner with its options and version, the
// aim, the encoding, and the round trip, within a factor of two. Files appear whole; what is damaged, or of another
// question, is as good as not there. Thread-safe.
class PlanCache final : public KeptPlans {
 public:
  // "": keeps nothing and finds nothing. Of `options` planner_options, objective and link are read.
  PlanCache(const std::string& cache_directory, const Profile& profile, const PlanningOptions& options);
  std::vector<Plan> Find(const std::string& planner, const Encoding& encoding) const override;
  void Keep(const std::string& planner, const Encoding& encoding, const std::vector<Plan>& plans) const override;

 private:
  std::string NameOf(const std::string& planner, const Encoding& encoding, int round_trip_step) const;

  const std::string directory_;
  std::string question_;  // without planner, encoding and round trip
  StoredPlan stored_;     // without a plan
};

}  // namespace wharf::split
