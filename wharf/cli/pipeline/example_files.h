// The commented files that `wharf pipeline init` writes, which `wharf pipeline plan` takes as they are.
#pragma once

#include <span>
#include <string>

#include "wharf/pipeline/model_profile.h"

namespace wharf::cli {

struct ExampleFiles {
  std::string cluster, models;  // YAML, for pipeline::ParseCluster and pipeline::ParseModelList
};

// The fastest and the slowest class of those measured, and the first two models; comments name the others. `folder` is
// where the profiles are, as the list of models is to say it. kInvalidArgument: no model or no whole GPU was measured.
absl::StatusOr<ExampleFiles> MakeExampleFiles(std::span<const pipeline::ModelProfile> profiles,
                                              const std::string& folder);

}  // namespace wharf::cli
