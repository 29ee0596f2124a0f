// What the profiles of a pipeline's models say by themselves (thesis, Figures 4.2 and 4.3): `wharf bench pipeline
// --times`.
#pragma once

#include <span>

#include "wharf/pipeline/model_profile.h"
#include "wharf/report/table.h"

namespace wharf::cli {

// Whole models at this batch size on each class of GPU, the fastest class of all models together first: the sum of
// their blocks; and how many times as long the slowest class takes as each other. Empty where it was not measured.
report::Table ModelTimesAsTable(std::span<const pipeline::ModelProfile> profiles, int batch);
// By block, how many times as long the slowest class takes as each other one: a row for each model and class.
report::Table BlockRatiosAsTable(std::span<const pipeline::ModelProfile> profiles, int batch);

}  // namespace wharf::cli
