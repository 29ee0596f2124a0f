// What import.h says of a model's file without importing it.
#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include <limits>
#include <set>

#include "wharf/graph/onnx/import.h"
#include "wharf/graph/split_attention.h"

namespace wharf::graph {
namespace {

absl::StatusOr<onnx::ModelProto> Parsed(std::span<const std::byte> bytes) {
  onnx::ModelProto model;
  const bool fits = bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max());  // protobuf's own limit
  if (fits && model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return model;
  return InvalidArgument("this is no ONNX model");
}

}  // namespace

// Serialised messages one after the other are one message.
std::vector<std::byte> WithSplitAttention(std::span<const std::byte> bytes, int key_row) {
  onnx::ModelProto more;
  auto* const property = more.add_metadata_props();
  property->set_key(std::string(kSplitAttentionProperty));
  property->set_value(std::to_string(key_row));
  const std::string text = more.SerializeAsString();
  const auto raw = std::as_bytes(std::span(text));
  std::vector<std::byte> model(bytes.begin(), bytes.end());
  model.insert(model.end(), raw.begin(), raw.end());
  return model;
}

absl::StatusOr<std::vector<std::string>> OperatorsOf(std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(const onnx::ModelProto model, Parsed(bytes));
  std::set<std::string> names;
  for (const onnx::NodeProto& node : model.graph().node()) names.insert(node.op_type());
  return std::vector<std::string>(names.begin(), names.end());
}

absl::StatusOr<std::vector<std::string>> InputNames(std::span<const std::byte> bytes) {
  WHARF_ASSIGN_OR_RETURN(const onnx::ModelProto model, Parsed(bytes));
  std::set<std::string> weights;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) weights.insert(tensor.name());
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (weights.count(input.name()) == 0) names.push_back(input.name());
  }
  return names;
}

}  // namespace wharf::graph
