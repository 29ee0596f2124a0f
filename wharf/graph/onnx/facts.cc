// What import.h says of a model's file without importing it.
#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include <charconv>
#include <limits>
#include <set>

#include "wharf/graph/onnx/import.h"
#include "wharf/graph/split_attention.h"
#include "wharf/graph/tensor.h"

namespace wharf::graph {
namespace {

absl::StatusOr<onnx::ModelProto> Parsed(std::span<const std::byte> bytes) {
  onnx::ModelProto model;
  const bool fits = bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max());  // protobuf's own limit
  if (fits && model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return model;
  return InvalidArgument("this is no ONNX model");
}

std::set<std::string> Weights(const onnx::GraphProto& graph) {
  std::set<std::string> weights;
  for (const onnx::TensorProto& tensor : graph.initializer()) weights.insert(tensor.name());
  return weights;
}

// "1,3,480,640".
absl::StatusOr<Shape> ToShape(std::string_view text) {
  Shape shape;
  for (std::string_view rest = text; !rest.empty();) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    const auto read = static_cast<size_t>(end - rest.data());
    const bool last = read == rest.size();
    if (error != std::errc() || size < 1 || (!last && (rest[read] != ',' || read + 1 == rest.size()))) {
      return InvalidArgument("\"{}\" is no shape: say NAME=1,3,480,640", text);
    }
    shape.push_back(size);
    rest.remove_prefix(last ? read : read + 1);
  }
  if (shape.empty()) return InvalidArgument("an empty shape: say NAME=1,3,480,640");
  WHARF_RETURN_IF_ERROR(Validate(TensorType{ElementType::kUint8, shape}));
  return shape;
}

// The one of this name; "": the only one.
absl::StatusOr<onnx::ValueInfoProto*> InputNamed(onnx::GraphProto& graph, std::string_view name) {
  const std::set<std::string> weights = Weights(graph);
  std::vector<onnx::ValueInfoProto*> inputs;
  std::string names;
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    if (weights.contains(input.name())) continue;
    if (input.name() == name) return &input;
    inputs.push_back(&input);
    names += (names.empty() ? "" : ", ") + input.name();
  }
  if (name.empty() && inputs.size() == 1) return inputs.front();
  return InvalidArgument("the model has no input \"{}\"; its inputs are: {}", name, names);
}

}  // namespace

absl::StatusOr<std::vector<std::byte>> WithInputShape(std::span<const std::byte> bytes, std::string_view text) {
  if (text.empty()) return std::vector<std::byte>(bytes.begin(), bytes.end());
  const size_t equals = text.rfind('=');
  const std::string_view name = equals == std::string_view::npos ? "" : text.substr(0, equals);
  WHARF_ASSIGN_OR_RETURN(const Shape shape, ToShape(text.substr(equals == std::string_view::npos ? 0 : equals + 1)));
  WHARF_ASSIGN_OR_RETURN(onnx::ModelProto model, Parsed(bytes));
  WHARF_ASSIGN_OR_RETURN(onnx::ValueInfoProto* const input, InputNamed(*model.mutable_graph(), name));
  auto& dimensions = *input->mutable_type()->mutable_tensor_type()->mutable_shape();
  if (dimensions.dim_size() != static_cast<int>(shape.size())) {
    return InvalidArgument("input \"{}\" has {} dimensions, not {}", input->name(), dimensions.dim_size(),
                           shape.size());
  }
  for (int i = 0; i < dimensions.dim_size(); ++i) {
    auto& dimension = *dimensions.mutable_dim(i);
    if (dimension.has_dim_value() && dimension.dim_value() != shape[i]) {
      return InvalidArgument(
          "the model fixes dimension {} of input \"{}\" at {}: {} needs an export with that dimension open", i,
          input->name(), dimension.dim_value(), shape[i]);
    }
    dimension.set_dim_value(shape[i]);
  }
  std::vector<std::byte> result(model.ByteSizeLong());
  model.SerializeToArray(result.data(), static_cast<int>(result.size()));
  return result;
}

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
  const std::set<std::string> weights = Weights(model.graph());
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& input : model.graph().input()) {
    if (weights.count(input.name()) == 0) names.push_back(input.name());
  }
  return names;
}

}  // namespace wharf::graph
