// ModelSource: a model as the scheduler has it, to be given to workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wharf/pipeline/runtime/messages.h"
#include "wharf/pipeline/stages/profile_folder.h"

namespace wharf::pipeline {

struct ModelSource {
  std::string name;
  std::shared_ptr<const std::vector<std::byte>> onnx;
  Sha256 hash{};
  std::vector<int> first_node;  // of each block
  int nodes = 0;
  uint64_t input_bytes = 0, output_bytes = 0;  // of one request
};

// kInvalidArgument: blocks beyond the model's nodes; otherwise as graph::ImportOnnx.
absl::StatusOr<ModelSource> MakeModelSource(const std::string& name, std::vector<std::byte> onnx,
                                            std::vector<int> first_node);

// What a folder of profiles says of a model. kNotFound: it, or its ONNX file, is not there; kFailedPrecondition: the
// file is not the one that was measured; otherwise as above.
absl::StatusOr<ModelSource> LoadModelSource(const std::string& folder, const std::string& model);

}  // namespace wharf::pipeline
