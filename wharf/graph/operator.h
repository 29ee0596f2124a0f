// Operator: one node of a model as planning sees it, whatever the model was read from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "wharf/graph/slicing.h"

namespace wharf::graph {

// A model is a vector of operators in an order in which inputs come before their users; an index is an operator's name.
struct Operator {
  std::string name;                   // for people: "conv2d"
  std::vector<int> inputs;            // indices; empty for the model's input. One may stand here twice
  std::vector<RowRule> rules;         // how it reads each of them
  std::vector<int64_t> output_shape;  // of its first output
  int rows = 1;                       // of the output; 1 if it cannot be sliced
  int64_t output_bytes = 0;           // all outputs, all rows

  // Reads all its inputs whole, and has some.
  bool Global() const {
    return !rules.empty() &&
           std::all_of(rules.begin(), rules.end(), [](const RowRule& rule) { return rule.kind == RowKind::kGlobal; });
  }
  double BytesPerRow() const { return static_cast<double>(output_bytes) / rows; }
};

}  // namespace wharf::graph
