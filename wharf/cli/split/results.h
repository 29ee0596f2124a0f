// What `wharf split` says of a model's results, of what else it could have done, and of what its encoding costs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wharf/split/runtime/client.h"

namespace wharf::cli {

// The largest difference over all outputs, relative to the largest number of its output.
double RelativeError(const std::vector<exec::TensorPtr>& ours, const std::vector<exec::TensorPtr>& whole);

// The five largest of an output that has ten numbers or more in one dimension beyond the first; of others their type
// and range.
std::string ResultsAsText(const graph::Graph& graph, const std::vector<exec::TensorPtr>& outputs);

// One output: its name and type, and the `top` largest numbers with their places where it has ten numbers or more in
// one dimension beyond the first ("top"), else their range ("least", "largest").
nlohmann::ordered_json OutputAsJson(const std::string& name, const exec::Tensor& output, int top);

// What device and server alone, and the plan chosen last, were planned to take then, and how its rows travelled.
std::string AlternativesAsText(split::SplitClient& session);

// Of the last inference, if its rows did not travel exactly: how far its results are from those of the whole model, and
// whether they say the same. `whole`: empty if that is not known.
std::string AccuracyAsText(const split::SplitClient& session, const std::vector<exec::TensorPtr>& outputs,
                           const std::vector<exec::TensorPtr>& whole);

}  // namespace wharf::cli
