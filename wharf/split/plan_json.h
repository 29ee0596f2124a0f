// Plans as text: what `wharf plan --json` writes, `wharf explain` shows and `wharf split --plan` carries out. A plan is
// kept with the question that it answers and with what shows whether a model is the one it was made for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/split/costs/model_operators.h"
#include "wharf/split/objective.h"
#include "wharf/split/plan.h"

namespace wharf::split {

// Where the operators and times came from: either a stored profile, or a model and what two machines measured of it.
struct PlanSource {
  std::string csv;                                    // data/profiles/README.md
  std::string model, device_profile, server_profile;  // ONNX; what `wharf profile --json` wrote
  std::string shape;                                  // of the model's input, where the file leaves it open; or ""
  int split_attention = 0;                            // keys before which the model's attention is split; 0: it is not

  bool Given() const { return !csv.empty() || !model.empty() || !device_profile.empty() || !server_profile.empty(); }
  friend bool operator==(const PlanSource&, const PlanSource&) = default;
};

struct PlannedOperator {
  std::string name;
  int rows = 1;
  friend bool operator==(const PlannedOperator&, const PlannedOperator&) = default;
};

struct StoredPlan {
  std::string model, planner;  // for people
  std::string model_hash;      // SHA-256 of the model's file, 64 hexadecimal digits; "": of a stored profile
  std::vector<PlannedOperator> operators;  // of the profile it was made from
  PlanSource source;
  SliceCost slice_cost;
  std::string encoding = "f32";  // of NamedEncodings
  Link link;                     // without a trace
  Objective objective;
  double lower_bound_ms = 0;  // 0: not computed
  Plan plan;                  // without its encoding
};

std::vector<PlannedOperator> PlannedOperatorsOf(const Profile& profile);
std::vector<PlannedOperator> PlannedOperatorsOf(const ModelOperators& model);

// An array with an object a plan, of the format "wharf-split-plan/2".
std::string PlansAsJson(const std::vector<StoredPlan>& plans);
// Reads what PlansAsJson wrote, and nothing else. kInvalidArgument says what is wrong; whether a plan fits a model, and
// can be carried out, is for CheckFits and CheckPlan. Safe on hostile text: it takes a small multiple of the text's
// memory, and the text is at most 16 MiB.
absl::StatusOr<std::vector<StoredPlan>> ParsePlans(std::string_view text);

// kInvalidArgument: the plan is of another model than the one of these operators, in a file of this hash ("": any).
absl::Status CheckFits(const StoredPlan& stored, const std::vector<PlannedOperator>& operators, std::string_view hash);

}  // namespace wharf::split
