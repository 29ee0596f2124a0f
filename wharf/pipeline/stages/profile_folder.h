// A folder of measured models: the tables that the planner reads (model_profile.h),
// and a file a model, NAME.blocks.json, which says of which ONNX file and where its blocks begin: what workers need to
// run them.
#pragma once

#include <string>
#include <vector>

#include "wharf/pipeline/stages/block_profiler.h"

namespace wharf::pipeline {

struct BlockMap {
  std::string model;
  std::string onnx;                  // path of the file
  std::string sha256;                // of its bytes, in digits
  std::vector<int> first_node;       // of each block
  std::vector<std::string> classes;  // measured: DeviceClass::Text
  friend bool operator==(const BlockMap&, const BlockMap&) = default;
};

// Adds the model, in place of one of that name, and makes the folder if need be. kInvalidArgument: a name that is none
// for a file, or what is there are no such tables; kPermissionDenied and others by errno: it cannot be written.
absl::Status SaveProfile(const std::string& folder, const BlockProfile& profile, const BlockMap& map);

// kNotFound: no such file; kInvalidArgument: it makes no sense.
absl::StatusOr<BlockMap> LoadBlockMap(const std::string& folder, const std::string& model);

}  // namespace wharf::pipeline
