// A model made ready to run in parts: on the device and on the server the same, from the same bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "wharf/split/execution/steps.h"
#include "wharf/split/messages/messages.h"

namespace wharf::split {

// Immutable; safe to share between threads.
class Model {
 public:
  // `onnx`: the bytes of a model file. Fails as graph::ImportOnnx, exec::Engine::Prepare and OperatorsOf do.
  static absl::StatusOr<std::shared_ptr<const Model>> Load(const exec::Engine& engine, std::span<const std::byte> onnx);
  static absl::StatusOr<std::shared_ptr<const Model>> Make(const exec::Engine& engine, graph::Graph graph);

  const exec::Engine& Engine() const { return engine_; }
  const exec::Program& Program() const { return *program_; }
  const graph::Graph& Graph() const { return program_->Graph(); }
  const ModelOperators& Operators() const { return operators_; }
  SplitModel View() const { return {program_->Graph(), program_->RowRules(), operators_, rows_}; }

 private:
  Model(const exec::Engine& engine, std::unique_ptr<exec::Program> program, ModelOperators operators);

  const exec::Engine& engine_;  // must outlive the model
  const std::unique_ptr<exec::Program> program_;
  const ModelOperators operators_;
  const RowGraph rows_;
};

// From the bytes that name a model to the model. Thread-safe.
using ModelLoader = std::function<absl::StatusOr<std::shared_ptr<const Model>>(std::span<const std::byte>)>;
// Model::Load. `engine` must outlive it.
ModelLoader OnnxLoader(const exec::Engine& engine);

// The operators as a profile in which nothing takes any time.
Profile Untimed(const ModelOperators& operators);

}  // namespace wharf::split
