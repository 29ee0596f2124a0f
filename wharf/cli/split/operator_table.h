// Tables about operators: those Wharf runs, and those of a model by how they can be cut into rows.
#pragma once

#include <string>

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"

namespace wharf::cli {

// Of graph/operators.h.
std::string SupportedOperatorsAsText();
// How many of each operator are local and how many global (Intra-DP, Table I), and all together. As there, what is one
// operator in PyTorch and several in ONNX counts as one (graph/fuse.h).
absl::StatusOr<std::string> ModelOperatorsAsText(const graph::Graph& graph);

}  // namespace wharf::cli
