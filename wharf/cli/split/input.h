// What `wharf split` runs a model on, and how it may travel: images, whose bytes become the model's input, or tensors.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wharf/cli/split/input_files.h"
#include "wharf/exec/engine.h"
#include "wharf/graph/onnx/byte_input.h"
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
  // kInvalidArgument: not an image where one is needed; others as InputFiles::Open.
  static absl::StatusOr<SplitInput> Load(const SplitInputOptions& options);

  // The model that runs: `onnx`, or with bytes as its input where an image travels as such.
  absl::StatusOr<std::vector<std::byte>> ModelFor(std::span<const std::byte> onnx) const;
  // How rows may travel.
  std::vector<split::Encoding> Encodings() const;
  // The input at hand, at first the first, for a model with an input of this type. kInvalidArgument: it does not fit;
  // others as InputFiles::Next.
  absl::StatusOr<exec::TensorPtr> Tensor(const exec::Engine& engine, const graph::TensorType& type);
  // Whether inputs differ from one inference to the next, and end.
  bool Many() const { return files_ != nullptr && files_->Many(); }
  // Goes on to the next of many. False: there is none. Fails as InputFiles::Next.
  absl::StatusOr<bool> Advance(const graph::TensorType& type);
  // Of the input at hand.
  const std::string& Name() const { return piece_.name; }
  // One line about an image and what is done to it, "" about other inputs. REQUIRES: Tensor was called.
  std::string Text(const graph::TensorType& type) const;

 private:
  graph::Normalization NormalizationFor(int64_t channels) const;

  bool Pictures() const { return files_ != nullptr && files_->Pictures(); }

  SplitInputOptions options_;
  std::unique_ptr<InputFiles> files_;  // null: a random input
  InputPiece piece_;                   // at hand, if `begun_`
  bool begun_ = false;
  bool conversion_said_ = false;  // of the first picture that is converted
};

}  // namespace wharf::cli
