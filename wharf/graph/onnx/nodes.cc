#include "wharf/graph/onnx/nodes.h"

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "wharf/graph/onnx/caught.h"
#include "wharf/graph/onnx/tensors.h"

namespace wharf::graph {
namespace {

constexpr int64_t kMaxShapeConstant = 4096;  // elements of a constant shown to shape inference: sizes, not weights

// Makes what inference asks for when it does: a node may have any number of inputs, all of them the same constant.
class NodeInference final : public onnx::InferenceContext {
 public:
  NodeInference(const Graph& graph, const Node& node, const onnx::NodeProto& proto)
      : graph_(graph), node_(node), proto_(proto), types_(node.inputs.size()), data_(node.inputs.size()) {
    outputs_.resize(proto.output_size());
  }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    for (const onnx::AttributeProto& attribute : proto_.attribute()) {
      if (attribute.name() == name) return &attribute;
    }
    return nullptr;
  }
  size_t getNumInputs() const override { return types_.size(); }
  const onnx::TypeProto* getInputType(size_t index) const override {
    if (!node_.HasInput(index)) return nullptr;
    std::optional<onnx::TypeProto>& type = types_[index];
    if (!type) type = FromType(graph_.Type(node_.inputs[index]));
    return &*type;
  }
  const onnx::TensorProto* getInputData(size_t index) const override {
    const Constant* const constant = graph_.ConstantInput(node_, index);
    if (constant == nullptr || constant->type.Elements() > kMaxShapeConstant) return nullptr;
    std::optional<onnx::TensorProto>& data = data_[index];
    if (!data) data = FromConstant(*constant);
    return &*data;
  }
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override { return &outputs_.at(index); }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t) const override { return nullptr; }

  // The type of an output after inference.
  absl::StatusOr<TensorType> Output(size_t index) const {
    const onnx::TypeProto& proto = outputs_[index];
    if (!proto.has_tensor_type()) return Unimplemented("output {} is no tensor", index);
    TensorType type;
    WHARF_ASSIGN_OR_RETURN(type.element, FromOnnx(proto.tensor_type().elem_type()));
    if (!proto.tensor_type().has_shape()) return Unimplemented("the shape of output {} depends on data", index);
    for (const auto& dimension : proto.tensor_type().shape().dim()) {
      if (!dimension.has_dim_value()) return Unimplemented("the shape of output {} depends on data", index);
      type.shape.push_back(dimension.dim_value());
    }
    WHARF_RETURN_IF_ERROR(Validate(type));
    return type;
  }

 private:
  const Graph& graph_;
  const Node& node_;
  const onnx::NodeProto& proto_;
  mutable std::vector<std::optional<onnx::TypeProto>> types_;  // of inputs, as far as they were asked for
  mutable std::vector<std::optional<onnx::TensorProto>> data_;
  std::vector<onnx::TypeProto> outputs_;
};

// libonnx infers no types of these two, which are those of their kin.
std::string SchemaName(const onnx::NodeProto& proto) {
  const std::string& name = proto.op_type();
  return name == "GreaterOrEqual" || name == "LessOrEqual" ? "Greater" : name;
}

// What libonnx's inference of windows reads without looking.
absl::Status CheckRanks(const Graph& graph, const Node& node) {
  const bool weighted = node.op == "Conv" || node.op == "ConvTranspose";
  if (!weighted && node.op != "MaxPool" && node.op != "AveragePool") return absl::OkStatus();
  if (!node.HasInput(0) || (weighted && !node.HasInput(1))) return InvalidArgument("{}: no input", node.Label());
  const int rank = graph.Type(node.inputs[0]).Rank();
  if (rank < 3 || (weighted && graph.Type(node.inputs[1]).Rank() != rank)) {
    return InvalidArgument("{}: its input of {} dimensions does not fit its weights", node.Label(), rank);
  }
  const auto axes = static_cast<size_t>(rank) - 2;
  for (const auto& [name, size] : std::map<std::string, size_t>{{"kernel_shape", axes},
                                                                {"strides", axes},
                                                                {"dilations", axes},
                                                                {"output_padding", axes},
                                                                {"pads", 2 * axes}}) {
    const std::vector<int64_t> numbers = node.Ints(name, std::vector<int64_t>(size, 1));
    const bool small = std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n >= 0 && n <= (1 << 20); });
    const bool positive =
        name == "pads" || name == "output_padding" || std::find(numbers.begin(), numbers.end(), 0) == numbers.end();
    if (numbers.size() != size || !small || !positive) return InvalidArgument("{}: attribute {}", node.Label(), name);
  }
  return absl::OkStatus();
}

absl::Status AddAttribute(const onnx::AttributeProto& attribute, Node& node) {
  Attribute& value = node.attributes[attribute.name()];
  switch (attribute.type()) {
    case onnx::AttributeProto::INT:
      value = static_cast<int64_t>(attribute.i());
      return absl::OkStatus();
    case onnx::AttributeProto::FLOAT:
      value = attribute.f();
      return absl::OkStatus();
    case onnx::AttributeProto::STRING:
      value = attribute.s();
      return absl::OkStatus();
    case onnx::AttributeProto::INTS:
      value = std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end());
      return absl::OkStatus();
    case onnx::AttributeProto::FLOATS:
      value = std::vector<float>(attribute.floats().begin(), attribute.floats().end());
      return absl::OkStatus();
    case onnx::AttributeProto::TENSOR: {
      auto constant = ToConstant(attribute.t());
      if (!constant.ok()) return In(node.Label(), constant.status());
      value = *std::move(constant);
      return absl::OkStatus();
    }
    default:
      return Unimplemented("{}: attribute \"{}\" of an unusual type", node.Label(), attribute.name());
  }
}

}  // namespace

absl::StatusOr<Node> ToNode(const onnx::NodeProto& proto, const absl::flat_hash_map<std::string, int>& values) {
  Node node{
      proto.op_type(), proto.name().empty() && proto.output_size() > 0 ? proto.output(0) : proto.name(), {}, {}, {}};
  for (const std::string& input : proto.input()) {
    const auto found = values.find(input);
    if (!input.empty() && found == values.end()) {
      return InvalidArgument("{} reads \"{}\", which has not been made", node.Label(), input);
    }
    node.inputs.push_back(input.empty() ? kAbsent : found->second);
  }
  for (const onnx::AttributeProto& attribute : proto.attribute()) {
    WHARF_RETURN_IF_ERROR(AddAttribute(attribute, node));
  }
  return node;
}

absl::StatusOr<std::vector<TensorType>> OutputTypes(const Graph& graph, const Node& node, const onnx::NodeProto& proto,
                                                    int operator_set, Schema held_to) {
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(SchemaName(proto), operator_set, "");
  if (schema == nullptr) return InvalidArgument("{}: not in operator set {}", node.Label(), operator_set);
  WHARF_RETURN_IF_ERROR(CheckRanks(graph, node));
  NodeInference inference(graph, node, proto);
  WHARF_RETURN_IF_ERROR(Caught(node.Label(), [&] {
    schema->Verify(proto);
    schema->GetTypeAndShapeInferenceFunction()(inference);
    if (held_to == Schema::kFull) schema->CheckInputOutputType(inference);
  }));
  std::vector<TensorType> types(proto.output_size());
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    auto type = inference.Output(i);
    if (!type.ok()) return In(node.Label(), type.status());
    types[i] = *std::move(type);
  }
  return types;
}

absl::Status CheckForm(const Graph& graph, const Node& node) {
  if (node.Int("training_mode", 0) != 0) return Unimplemented("{}: training mode", node.Label());
  if (node.op != "Dropout" || !node.HasInput(2)) return absl::OkStatus();
  const Constant* training = graph.ConstantInput(node, 2);
  const bool off = training != nullptr && Numbers(*training) == std::vector<double>{0};
  return off ? absl::OkStatus() : Unimplemented("{}: training mode", node.Label());
}

}  // namespace wharf::graph
