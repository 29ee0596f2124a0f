#include "wharf/exec/engine.h"

namespace wharf::exec {

graph::RowRange AllRows(const Program& program, int value) {
  return {0, program.RowRules().Rows(program.Graph(), value)};
}

absl::StatusOr<std::vector<TensorPtr>> RunWhole(const Program& program, std::span<const TensorPtr> inputs) {
  const graph::Graph& graph = program.Graph();
  if (inputs.size() != graph.inputs.size()) {
    return InvalidArgument("{} inputs for a model of {}", inputs.size(), graph.inputs.size());
  }
  std::vector<Part> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    given.push_back({{graph.inputs[i], AllRows(program, graph.inputs[i])}, inputs[i]});
  }
  std::vector<Rows> wanted;
  for (const int value : graph.outputs) wanted.push_back({value, AllRows(program, value)});
  return program.Run(given, wanted);
}

}  // namespace wharf::exec
