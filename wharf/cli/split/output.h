// A model's outputs as a file: arrays of NumPy, or the largest numbers as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wharf/exec/engine.h"
#include "wharf/graph/graph.h"

namespace wharf::cli {

// By the file's ending: .npy, one output; .npz, all by their names; .json, for each input its name and of each output
// the `top` largest numbers with their places (of one output dimension beyond the first; else type and range). Of
// several inputs, arrays stand behind each other along a new first dimension.
class SplitOutput {
 public:
  // kInvalidArgument: another ending.
  static absl::Status CheckEnding(const std::string& path);
  // "": nowhere. Fails as CheckEnding and CheckWritable.
  static absl::StatusOr<SplitOutput> Open(const std::string& path, int top);
  // kInvalidArgument: .npy for a model of several outputs.
  absl::Status Check(const graph::Graph& graph);
  // kResourceExhausted: more than 3 GiB of arrays.
  absl::Status Add(const std::string& input, const std::vector<exec::TensorPtr>& outputs);
  // Of what was added until now; nothing if that is nothing. `many`: whether inputs are counted by a dimension.
  absl::Status Write(bool many) const;

 private:
  enum class Kind { kNone, kNpy, kNpz, kJson };
  std::string path_;
  Kind kind_ = Kind::kNone;
  int top_ = 5;
  std::vector<std::string> names_;              // of outputs
  std::vector<graph::TensorType> types_;        // of each
  std::vector<std::vector<std::byte>> arrays_;  // of each, of all inputs
  int64_t inputs_ = 0;
  size_t bytes_ = 0;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace wharf::cli
