// Measures what encoding a model's rows costs and saves, on values that an inference really makes.
#pragma once

#include <vector>

#include "wharf/base/clock.h"
#include "wharf/split/costs/coding_costs.h"
#include "wharf/split/execution/slow_down.h"
#include "wharf/split/runtime/model.h"

namespace wharf::split {

// Runs the model on `input` once, whole, and encodes and decodes rows from the middle of what every operator makes,
// some 256 KiB each, in all codings of `encodings` but kPlain. Times are by `work`, of this machine; the other is taken
// to need as long. Memory: all rows of every value that operators read. Fails as Program::Run does.
absl::StatusOr<CodingCosts> MeasureCodings(const Model& model, const exec::TensorPtr& input,
                                           const std::vector<Encoding>& encodings,
                                           const Clock& work = Clock::OfThread());

}  // namespace wharf::split
