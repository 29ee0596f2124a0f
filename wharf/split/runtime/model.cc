#include "wharf/split/runtime/model.h"

#include <utility>

#include "wharf/graph/onnx/import.h"

namespace wharf::split {

Model::Model(const exec::Engine& engine, std::unique_ptr<exec::Program> program, ModelOperators operators)
    : engine_(engine), program_(std::move(program)), operators_(std::move(operators)), rows_(Untimed(operators_)) {}

absl::StatusOr<std::shared_ptr<const Model>> Model::Load(const exec::Engine& engine, std::span<const std::byte> onnx) {
  WHARF_ASSIGN_OR_RETURN(graph::Graph graph, graph::ImportOnnx(onnx, {}));
  return Make(engine, std::move(graph));
}

absl::StatusOr<std::shared_ptr<const Model>> Model::Make(const exec::Engine& engine, graph::Graph graph) {
  WHARF_ASSIGN_OR_RETURN(auto program, engine.Prepare(std::move(graph)));
  WHARF_ASSIGN_OR_RETURN(ModelOperators operators, OperatorsOf(program->Graph(), program->RowRules()));
  WHARF_RETURN_IF_ERROR(Validate(Untimed(operators)));
  return std::shared_ptr<const Model>(new Model(engine, std::move(program), std::move(operators)));
}

ModelLoader OnnxLoader(const exec::Engine& engine) {
  return [&engine](std::span<const std::byte> onnx) { return Model::Load(engine, onnx); };
}

Profile Untimed(const ModelOperators& operators) {
  Profile profile;
  for (const graph::Operator& op : operators.operators) profile.operators.emplace_back().op = op;
  return profile;
}

}  // namespace wharf::split
