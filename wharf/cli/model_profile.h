// A model's profile on this machine, for those who run it.
#pragma once

#include <string>

#include "wharf/split/profiler.h"
#include "wharf/split/runtime/model.h"

namespace wharf::cli {

// Its operators' times as they were measured before, or measured now. `cache_directory`: as `wharf profile
// --cache-dir`.
absl::StatusOr<split::MachineProfile> ProfileHere(const split::Model& model, const split::Sha256& hash,
                                                  const std::string& cache_directory);

}  // namespace wharf::cli
