// ModelList: which models are to be served, how fast and how much, read from YAML.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/pipeline/planner/planner.h"

namespace wharf::pipeline {

//   profiles: ../data/pipeline      # folder of the models' profiles (LoadModelProfiles), from where this file is
//   slo_scale: 5                    # of models that do not say: the SLO, in requests on the fastest GPU
//   margin: 0.4                     # share of the SLO that planning leaves for waiting
//   models:
//     - {name: encnet, weight: 0.3, slo_ms: 80}
//     - {name: rtmdet, weight: 0.7, expected_rate: 500}
// docs/pipeline.md says what is left out, and every key.
struct ModelList {
  struct Model {
    std::string name;
    double weight = 1;
    std::optional<double> slo_us, expected_rate;
  };
  std::string profiles;
  double slo_scale = 5, margin = 0.4;
  std::vector<Model> models;
};

// kInvalidArgument, one line: no such YAML, a key it does not know, or a number out of range.
absl::StatusOr<ModelList> ParseModelList(std::string_view yaml);

// What to plan for. `profiles` outlive it. kNotFound: a model has no profile (the message names those there are).
absl::StatusOr<std::vector<Demand>> MakeDemands(const ModelList& list, std::span<const ModelProfile> profiles);

}  // namespace wharf::pipeline
