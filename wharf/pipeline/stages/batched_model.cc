#include "wharf/pipeline/stages/batched_model.h"

#include <algorithm>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/graph/onnx/import.h"
#include "wharf/pipeline/stages/blocks.h"

namespace wharf::pipeline {
namespace {

using Values = std::vector<std::vector<std::byte>>;

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
    WHARF_ASSIGN_OR_RETURN(program, engine.Prepare(*std::move(many)));
    model->programs_.push_back(std::move(program));
  }
  return model;
}

bool BatchedModel::CanCutAt(int place) const {
  const int batch = static_cast<int>(programs_.size());
  return batch == 1 || GrowAll(Graph(), programs_.back()->Graph(), batch, Frontier(Graph(), place));
}

absl::StatusOr<Values> BatchedModel::Run(int first, int end, int batch, Values inputs) const {
  const bool together = static_cast<int>(programs_.size()) >= batch;
  std::vector<std::span<const std::byte>> given(inputs.begin(), inputs.end());
  if (together) return RunProgram(*programs_[batch - 1], first, end, given);
  Values all;
  for (int sample = 0; sample < batch; ++sample) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t bytes = inputs[i].size() / batch;
      given[i] = std::span(inputs[i]).subspan(sample * bytes, bytes);
    }
    WHARF_ASSIGN_OR_RETURN(Values outputs, RunProgram(*programs_.front(), first, end, given));
    all.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) all[i].insert(all[i].end(), outputs[i].begin(), outputs[i].end());
  }
  return all;
}

absl::StatusOr<Values> BatchedModel::RunProgram(const exec::Program& program, int first, int end,
                                                std::span<const std::span<const std::byte>> inputs) const {
  const graph::Graph& graph = program.Graph();
  const std::vector<int> from = Frontier(graph, first), to = Frontier(graph, end);
  if (inputs.size() != from.size()) return InvalidArgument("{} values where {} travel", inputs.size(), from.size());
  std::vector<exec::Part> given;
  for (size_t i = 0; i < from.size(); ++i) {
    WHARF_ASSIGN_OR_RETURN(exec::TensorPtr tensor, engine_.MakeTensor(graph.Type(from[i]), inputs[i]));
    given.push_back({{from[i], exec::AllRows(program, from[i])}, std::move(tensor)});
  }
  std::vector<exec::Rows> wanted;
  for (const int value : to) wanted.push_back({value, exec::AllRows(program, value)});
  WHARF_ASSIGN_OR_RETURN(const std::vector<exec::TensorPtr> made, program.Run(given, wanted));
  Values outputs;
  for (const exec::TensorPtr& tensor : made) {
    outputs.emplace_back(tensor->Type().Bytes());
    tensor->Read(outputs.back());
  }
  return outputs;
}

}  // namespace wharf::pipeline
