#include "wharf/graph/onnx/byte_input.h"

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "wharf/graph/onnx/validation.h"

namespace wharf::graph {
namespace {

// Of several inputs, those that have no value in the model.
absl::StatusOr<onnx::ValueInfoProto*> TheInput(onnx::GraphProto& graph) {
  std::set<std::string> weights;
  for (const onnx::TensorProto& tensor : graph.initializer()) weights.insert(tensor.name());
  onnx::ValueInfoProto* found = nullptr;
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    if (weights.contains(input.name())) continue;
    if (found != nullptr) return InvalidArgument("the model has several inputs: an image can be one only");
    found = &input;
  }
  if (found == nullptr) return InvalidArgument("the model has no input");
  return found;
}

// Dimensions left open are 1, as at import.
TensorType TypeOf(const onnx::ValueInfoProto& input) {
  const onnx::TypeProto::Tensor& tensor = input.type().tensor_type();
  TensorType type{ElementType::kFloat, {}};
  for (const auto& dimension : tensor.shape().dim()) {
    type.shape.push_back(dimension.has_dim_value() ? dimension.dim_value() : 1);
  }
  return type;
}

// Adds `output` = op(input, one number a channel).
void AddChannelNode(onnx::GraphProto& graph, const std::string& op, const std::string& input, const std::string& output,
                    const std::vector<float>& numbers, bool planar) {
  onnx::NodeProto& constant = *graph.add_node();
  constant.set_op_type("Constant");
  constant.set_name(output + "/by_channel");
  constant.add_output(constant.name());
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  const auto channels = static_cast<int64_t>(numbers.size());
  for (const int64_t n : {int64_t{1}, planar ? channels : 1, int64_t{1}, planar ? 1 : channels}) {
    value.mutable_t()->add_dims(n);
  }
  for (const float number : numbers) value.mutable_t()->add_float_data(number);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(output);
  node.add_input(input);
  node.add_input(constant.name());
  node.add_output(output);
}

void AddCast(onnx::GraphProto& graph, const std::string& input, const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Cast");
  node.set_name(output);
  node.add_input(input);
  node.add_output(output);
  onnx::AttributeProto& to = *node.add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(onnx::TensorProto::FLOAT);
}

}  // namespace

Normalization Normalization::Default(int64_t channels) {
  if (channels != 3) return {{0}, {1}};
  return {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}};
}

absl::StatusOr<PixelMap> PixelMapOf(const Normalization& normalization, int64_t channels) {
  const auto fits = [channels](const std::vector<float>& numbers) {
    return (numbers.size() == 1 || static_cast<int64_t>(numbers.size()) == channels) &&
           std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::isfinite(number); });
  };
  const auto& [mean, deviation] = normalization;
  if (!fits(mean) || !fits(deviation)) {
    return InvalidArgument("a mean and a deviation are one number, or {}: one a channel", channels);
  }
  PixelMap map;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const float centre = mean[mean.size() == 1 ? 0 : channel];
    const float spread = deviation[deviation.size() == 1 ? 0 : channel];
    if (spread <= 0) return InvalidArgument("a deviation must be positive, not {}", spread);
    map.scale.push_back(1 / (255 * spread));
    map.offset.push_back(-centre / spread);
  }
  return map;
}

absl::StatusOr<ImageInput> ImageInputOf(const TensorType& type) {
  const auto is_channels = [](int64_t n) { return n == 1 || n == 3; };
  if (type.Rank() == 4 && type.shape[0] == 1) {
    const Shape& shape = type.shape;
    if (is_channels(shape[1]) && shape[2] > 0 && shape[3] > 0) return ImageInput{shape[1], shape[2], shape[3], true};
    if (is_channels(shape[3]) && shape[1] > 0 && shape[2] > 0) return ImageInput{shape[3], shape[1], shape[2], false};
  }
  return InvalidArgument("the model's input is {}: no image of 1 or 3 channels", type.Text());
}

absl::StatusOr<std::vector<std::byte>> WithByteInput(std::span<const std::byte> onnx,
                                                     const NormalizationOf& normalization) {
  onnx::ModelProto model;
  if (onnx.size() > std::numeric_limits<int32_t>::max() ||
      !model.ParseFromArray(onnx.data(), static_cast<int>(onnx.size()))) {
    return InvalidArgument("this is no ONNX model");
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  WHARF_ASSIGN_OR_RETURN(onnx::ValueInfoProto* const input, TheInput(graph));
  if (input->type().tensor_type().elem_type() == onnx::TensorProto::UINT8) {
    return std::vector<std::byte>(onnx.begin(), onnx.end());
  }
  if (OperatorSet(model) < 7) return Unimplemented("an input of bytes for a model of operator set 6 or less");
  if (input->type().tensor_type().elem_type() != onnx::TensorProto::FLOAT) {
    return InvalidArgument("the model's input is not of float32");
  }
  WHARF_ASSIGN_OR_RETURN(const ImageInput image, ImageInputOf(TypeOf(*input)));
  WHARF_ASSIGN_OR_RETURN(const PixelMap map, PixelMapOf(normalization(image.channels), image.channels));
  const std::string name = input->name(), bytes = name + "/bytes", number = name + "/number", scaled = name + "/scaled";
  input->set_name(bytes);
  input->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::UINT8);
  const auto rest = graph.node();
  graph.clear_node();
  AddCast(graph, bytes, number);
  AddChannelNode(graph, "Mul", number, scaled, map.scale, image.planar);
  AddChannelNode(graph, "Add", scaled, name, map.offset, image.planar);
  graph.mutable_node()->MergeFrom(rest);
  std::vector<std::byte> result(model.ByteSizeLong());
  model.SerializeToArray(result.data(), static_cast<int>(result.size()));
  return result;
}

}  // namespace wharf::graph
