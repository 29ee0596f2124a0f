// What `wharf split` runs a model on, and how it may travel: an image, whose bytes become the model's input, or a
// tensor.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wharf/exec/engine.h"
#include "wharf/split/codec/image_file.h"
#include "wharf/split/costs/encoding.h"

namespace wharf::cli {

struct SplitInputOptions {
  std::string path;  // "": a random input, as `random` says as well
  std::string encoding = "auto";
  bool random = false, allow_half = false;
  std::optional<int> jpeg_quality;     // where JPEG is allowed
  std::vector<float> mean, deviation;  // of images; empty: Normalization::Default
};

// --input, --random, --encoding, --allow-f16, --allow-jpeg, --mean, --std.
void AddSplitInput(CLI::App* command, SplitInputOptions& options);

class SplitInput {
 public:
  // kInvalidArgument: not an image where one is needed, or a damaged one; others as ReadFile.
  static absl::StatusOr<SplitInput> Load(const SplitInputOptions& options);

  // The model that runs: `onnx`, or with bytes as its input where an image travels as such.
  absl::StatusOr<std::vector<std::byte>> ModelFor(std::span<const std::byte> onnx) const;
  // How rows may travel.
  std::vector<split::Encoding> Encodings() const;
  // For a model with an input of this type. kInvalidArgument: it does not fit.
  absl::StatusOr<exec::TensorPtr> Tensor(const exec::Engine& engine, const graph::TensorType& type) const;
  // One line about an image and what is done to it, "" about other inputs.
  std::string Text(const graph::TensorType& type) const;

 private:
  graph::Normalization NormalizationFor(int64_t channels) const;

  SplitInputOptions options_;
  std::string file_;
  std::optional<split::Image> image_;
};

}  // namespace wharf::cli
