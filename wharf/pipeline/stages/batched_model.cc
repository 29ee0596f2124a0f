#include "wharf/pipeline/stages/batched_model.h"

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/pipeline/stages/blocks.h"

namespace wharf::pipeline {
namespace {

bool Grows(const graph::TensorType& one, const graph::TensorType& many, int batch) {
  if (one.Rank() == 0 || one.Rank() != many.Rank() || one.element != many.element) return false;
  return many.shape[0] == batch * one.shape[0] &&
         std::equal(one.shape.begin() + 1, one.shape.end(), many.shape.begin() + 1);
}

bool GrowAll(const graph::Graph& one, const graph::Graph& many, int batch, std::span<const int> values) {
  return std::ranges::all_of(values, [&](int value) { return Grows(one.Type(value), many.Type(value), batch); });
}

// Whether the graphs differ in nothing but the batch.
bool IsBatchOf(const graph::Graph& one, const graph::Graph& many, int batch) {
  if (one.values.size() != many.values.size() || one.inputs != many.inputs || one.outputs != many.outputs) return false;
  const bool same_nodes = std::ranges::equal(one.nodes, many.nodes, [](const graph::Node& a, const graph::Node& b) {
    return a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs;
  });
  return same_nodes && GrowAll(one, many, batch, one.inputs) && GrowAll(one, many, batch, one.outputs);
}

// Weights of both are those of `one`, so that the engine has them once (exec::Engine::Prepare).
void ShareConstants(const graph::Graph& one, graph::Graph& many) {
  for (size_t value = 0; value < one.values.size(); ++value) {
    const auto& known = one.values[value].constant;
    auto& constant = many.values[value].constant;
    if (!known || !constant || known->type != constant->type) continue;
    if (*known->bytes == *constant->bytes) constant = known;
  }
}

}  // namespace

absl::StatusOr<graph::Graph> ImportBatch(std::span<const std::byte> onnx, int batch) {
  graph::ImportOptions options;
  options.dimensions = {{"batch", batch}, {"batch_size", batch}, {"N", batch}};
  return graph::ImportOnnx(onnx, options);
}

absl::StatusOr<std::shared_ptr<const BatchedModel>> BatchedModel::Load(const exec::Engine& engine,
                                                                       std::span<const std::byte> onnx, int max_batch) {
  std::shared_ptr<BatchedModel> model(new BatchedModel(engine, max_batch));
  WHARF_ASSIGN_OR_RETURN(graph::Graph one, ImportBatch(onnx, 1));
  WHARF_ASSIGN_OR_RETURN(auto program, engine.Prepare(std::move(one)));
  model->programs_.push_back(std::move(program));
  for (int batch = 2; batch <= max_batch; ++batch) {
    auto many = ImportBatch(onnx, batch);
    if (!many.ok() || !IsBatchOf(model->Graph(), *many, batch)) {
      Log(LogLevel::kInfo, "a model for one sample at a time", {{"model", model->Graph().name}});
      model->programs_.resize(1);
      break;
    }
    ShareConstants(model->Graph(), *many);
    WHARF_ASSIGN_OR_RETURN(program, engine.Prepare(*std::move(many)));
    model->programs_.push_back(std::move(program));
  }
  return model;
}

bool BatchedModel::CanCutAt(int place) const {
  const int batch = static_cast<int>(programs_.size());
  return batch == 1 || GrowAll(Graph(), programs_.back()->Graph(), batch, Frontier(Graph(), place));
}

absl::StatusOr<BatchedModel::Tensors> BatchedModel::Enter(int place, int batch, const Values& values) const {
  const int size = RunSize(batch), runs = batch / size;
  const graph::Graph& graph = programs_[size - 1]->Graph();
  const std::vector<int> frontier = Frontier(graph, place);
  if (values.size() != frontier.size()) {
    return InvalidArgument("{} values where {} travel", values.size(), frontier.size());
  }
  Tensors tensors{batch, {}};
  for (int run = 0; run < runs; ++run) {
    auto& made = tensors.runs.emplace_back();
    for (size_t i = 0; i < frontier.size(); ++i) {
      const size_t bytes = values[i].size() / runs;
      WHARF_ASSIGN_OR_RETURN(made.emplace_back(), engine_.MakeTensor(graph.Type(frontier[i]),
                                                                     std::span(values[i]).subspan(run * bytes, bytes)));
    }
  }
  return tensors;
}

absl::StatusOr<BatchedModel::Tensors> BatchedModel::Compute(int first, int end, const Tensors& inputs) const {
  const exec::Program& program = *programs_[RunSize(inputs.batch) - 1];
  const std::vector<int> from = Frontier(program.Graph(), first);
  std::vector<exec::Rows> wanted;
  for (const int value : Frontier(program.Graph(), end)) wanted.push_back({value, exec::AllRows(program, value)});
  Tensors outputs{inputs.batch, {}};
  for (const auto& tensors : inputs.runs) {
    std::vector<exec::Part> given;
    for (size_t i = 0; i < from.size(); ++i) given.push_back({{from[i], exec::AllRows(program, from[i])}, tensors[i]});
    WHARF_ASSIGN_OR_RETURN(outputs.runs.emplace_back(), program.Run(given, wanted));
  }
  return outputs;
}

BatchedModel::Values BatchedModel::Leave(const Tensors& outputs) {
  Values values(outputs.runs.front().size());
  for (const auto& tensors : outputs.runs) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const size_t before = values[i].size();
      values[i].resize(before + tensors[i]->Type().Bytes());
      tensors[i]->Read(std::span(values[i]).subspan(before));
    }
  }
  return values;
}

}  // namespace wharf::pipeline
