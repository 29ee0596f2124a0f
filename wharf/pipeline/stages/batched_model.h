// BatchedModel: a model that runs several samples at once, whole or any stage of it, from the bytes of its ONNX file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wharf/exec/engine.h"

namespace wharf::pipeline {

// The graph of a batch of `batch` samples: dimensions called "batch", "batch_size" or "N" are that.
absl::StatusOr<graph::Graph> ImportBatch(std::span<const std::byte> onnx, int batch);

// A batch has its samples one after the other along the first dimension of every value. Models are
// imported once for each size; if that fails, or values do not grow with the
// batch that way, the model was made for one sample at a time: then samples of a batch are computed one after the
// other. Immutable; thread-safe.
class BatchedModel {
 public:
  // Takes the weights once. Fails as graph::ImportOnnx and exec::Engine::Prepare do for one sample.
  // `engine` must outlive it. REQUIRES: max_batch >= 1.
  static absl::StatusOr<std::shared_ptr<const BatchedModel>> Load(const exec::Engine& engine,
                                                                  std::span<const std::byte> onnx, int max_batch);

  // Of one sample.
  const graph::Graph& Graph() const { return programs_.front()->Graph(); }
  int MaxBatch() const { return max_batch_; }
  // False: samples of a batch are computed one after the other.
  bool Together() const { return programs_.size() > 1 || max_batch_ == 1; }
  // Whether samples can be told apart in every value that travels there.
  bool CanCutAt(int place) const;

  // The values at a place, of `batch` samples, as bytes that exec::Tensor::Read has, and on the engine: of all samples
  // together, or of one after the other.
  using Values = std::vector<std::vector<std::byte>>;
  struct Tensors {
    int batch = 0;
    std::vector<std::vector<exec::TensorPtr>> runs;  // [run of a program][value of Frontier(place)]
  };
  // kInvalidArgument: the bytes are not those of `batch` samples; otherwise as exec::Engine::MakeTensor. REQUIRES:
  // 1 <= batch <= MaxBatch().
  absl::StatusOr<Tensors> Enter(int place, int batch, const Values& values) const;
  // Nodes [first, end): from the values of Frontier(first) to those of Frontier(end). Fails as exec::Program::Run.
  absl::StatusOr<Tensors> Compute(int first, int end, const Tensors& inputs) const;
  static Values Leave(const Tensors& outputs);

 private:
  BatchedModel(const exec::Engine& engine, int max_batch) : engine_(engine), max_batch_(max_batch) {}
  // Of how many samples one run of a program is.
  int RunSize(int batch) const { return static_cast<int>(programs_.size()) >= batch ? batch : 1; }

  const exec::Engine& engine_;
  const int max_batch_;
  std::vector<std::unique_ptr<exec::Program>> programs_;  // [batch - 1]; or one alone
};

}  // namespace wharf::pipeline
