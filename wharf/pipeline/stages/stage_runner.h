// StageRunner: a stage of a model on samples as they travel: at cuts float32 is rounded to halves, the model's inputs
// and outputs stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "wharf/pipeline/stages/batched_model.h"

namespace wharf::pipeline {

// The values of one sample, one after the other, each row-major and little-endian.
using Sample = std::vector<std::byte>;

// How one sample travels at a place of a graph.
class SampleFormat {
 public:
  SampleFormat(const graph::Graph& graph, int place);
  size_t Bytes() const { return bytes_; }
  // Samples into the values of a batch, and back. REQUIRES: every sample has Bytes().
  std::vector<std::vector<std::byte>> Join(std::span<const Sample> samples) const;
  // kInternal: values that are not those of so many samples.
  absl::StatusOr<std::vector<Sample>> Divide(std::span<const std::vector<std::byte>> values, int batch) const;

 private:
  struct Value {
    size_t plain_bytes = 0;  // of one sample, as the engine has it
    bool half = false;
    size_t Coded() const { return half ? plain_bytes / 2 : plain_bytes; }
  };
  std::vector<Value> values_;
  size_t bytes_ = 0;
};

// Immutable; thread-safe.
class StageRunner {
 public:
  // Nodes [first, end). kInvalidArgument: no nodes of the model, or it cannot be cut there.
  static absl::StatusOr<std::shared_ptr<const StageRunner>> Make(std::shared_ptr<const BatchedModel> model, int first,
                                                                 int end);

  size_t InputBytes() const { return input_.Bytes(); }
  size_t OutputBytes() const { return output_.Bytes(); }
  int MaxBatch() const { return model_->MaxBatch(); }
  // What the samples become, in their order. kInvalidArgument: none, more than MaxBatch, or not of InputBytes;
  // otherwise as BatchedModel.
  absl::StatusOr<std::vector<Sample>> Run(std::span<const Sample> samples) const;
  // Its three steps: onto the engine, there, and back.
  absl::StatusOr<BatchedModel::Tensors> Enter(std::span<const Sample> samples) const;
  absl::StatusOr<BatchedModel::Tensors> Compute(const BatchedModel::Tensors& inputs) const;
  absl::StatusOr<std::vector<Sample>> Leave(const BatchedModel::Tensors& outputs) const;

 private:
  StageRunner(std::shared_ptr<const BatchedModel> model, int first, int end)
      : model_(std::move(model)),
        first_(first),
        end_(end),
        input_(model_->Graph(), first),
        output_(model_->Graph(), end) {}

  const std::shared_ptr<const BatchedModel> model_;
  const int first_, end_;
  const SampleFormat input_, output_;
};

}  // namespace wharf::pipeline
