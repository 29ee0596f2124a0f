#include "wharf/graph/onnx_import.h"

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "wharf/graph/fold.h"
#include "wharf/graph/fuse.h"
#include "wharf/graph/operators.h"
#include "wharf/graph/simplify.h"
#include "wharf/graph/split_attention.h"
#include "wharf/graph/unread_rows.h"

namespace wharf::graph {
namespace {

constexpr size_t kMaxModelBytes = std::numeric_limits<int32_t>::max();  // protobuf's own limit
constexpr int64_t kMaxShapeConstant = 4096;   // elements of a constant shown to shape inference: sizes, not weights
constexpr int64_t kFoldingBudget = 64 << 20;  // bytes of all folded constants together

constexpr std::array<std::pair<ElementType, int>, 8> kElementTypes = {
    {{ElementType::kFloat, onnx::TensorProto::FLOAT},
     {ElementType::kDouble, onnx::TensorProto::DOUBLE},
     {ElementType::kInt8, onnx::TensorProto::INT8},
     {ElementType::kUint8, onnx::TensorProto::UINT8},
     {ElementType::kInt16, onnx::TensorProto::INT16},
     {ElementType::kInt32, onnx::TensorProto::INT32},
     {ElementType::kInt64, onnx::TensorProto::INT64},
     {ElementType::kBool, onnx::TensorProto::BOOL}}};

absl::StatusOr<ElementType> FromOnnx(int element) {
  for (const auto& [ours, theirs] : kElementTypes) {
    if (theirs == element) return ours;
  }
  const std::string name = onnx::TensorProto_DataType_IsValid(element)
                               ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(element))
                               : std::to_string(element);
  return Unimplemented("elements of type {}", name);
}

int ToOnnx(ElementType element) { return kElementTypes[static_cast<size_t>(element)].second; }

// The same failure, with where it happened in front.
absl::Status In(std::string_view where, const absl::Status& status) {
  return MakeStatus(status.code(), "{}: {}", where, Message(status));
}

// libonnx throws; its messages span lines.
template <typename Function>
absl::Status Caught(std::string_view where, Function&& function) {
  try {
    function();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return InvalidArgument("{}: {}", where, text);
  }
}

// --- tensors ---

template <typename To, typename Field>
std::vector<std::byte> Narrowed(const Field& field) {
  std::vector<std::byte> bytes(field.size() * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    const To value = static_cast<To>(field[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
}

std::vector<std::byte> TypedData(const onnx::TensorProto& tensor, ElementType element) {
  switch (element) {
    case ElementType::kFloat:
      return Narrowed<float>(tensor.float_data());
    case ElementType::kDouble:
      return Narrowed<double>(tensor.double_data());
    case ElementType::kInt64:
      return Narrowed<int64_t>(tensor.int64_data());
    case ElementType::kInt32:
      return Narrowed<int32_t>(tensor.int32_data());
    case ElementType::kInt16:
      return Narrowed<int16_t>(tensor.int32_data());
    case ElementType::kInt8:
      return Narrowed<int8_t>(tensor.int32_data());
    case ElementType::kUint8:
      return Narrowed<uint8_t>(tensor.int32_data());
    case ElementType::kBool:
      break;
  }
  return Narrowed<bool>(tensor.int32_data());
}

absl::StatusOr<Constant> ToConstant(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0) {
    return Unimplemented("its data lies in another file; export the model into one file");
  }
  TensorType type;
  WHARF_ASSIGN_OR_RETURN(type.element, FromOnnx(tensor.data_type()));
  type.shape.assign(tensor.dims().begin(), tensor.dims().end());
  WHARF_RETURN_IF_ERROR(Validate(type));
  std::vector<std::byte> bytes;
  if (tensor.has_raw_data()) {
    const auto raw = std::as_bytes(std::span(tensor.raw_data()));
    bytes.assign(raw.begin(), raw.end());
  } else {
    bytes = TypedData(tensor, type.element);
  }
  if (static_cast<int64_t>(bytes.size()) != type.Bytes()) {
    return InvalidArgument("{} bytes for {}", bytes.size(), type.Text());
  }
  if (type.element == ElementType::kBool) {
    for (std::byte& value : bytes) value = std::byte{value != std::byte{0}};
  }
  return Constant{type, std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

onnx::TensorProto FromConstant(const Constant& constant) {
  onnx::TensorProto tensor;
  tensor.set_data_type(ToOnnx(constant.type.element));
  for (const int64_t n : constant.type.shape) tensor.add_dims(n);
  tensor.set_raw_data(constant.bytes->data(), constant.bytes->size());
  return tensor;
}

onnx::TypeProto FromType(const TensorType& type) {
  onnx::TypeProto proto;
  proto.mutable_tensor_type()->set_elem_type(ToOnnx(type.element));
  onnx::TensorShapeProto* shape = proto.mutable_tensor_type()->mutable_shape();
  for (const int64_t n : type.shape) shape->add_dim()->set_dim_value(n);
  return proto;
}

// --- shape inference of one node ---

class NodeInference final : public onnx::InferenceContext {
 public:
  NodeInference(const Graph& graph, const Node& node, const onnx::NodeProto& proto) : proto_(proto) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      types_.push_back(node.HasInput(i) ? FromType(graph.Type(node.inputs[i])) : onnx::TypeProto());
      const Constant* constant = graph.ConstantInput(node, i);
      const bool shown = constant != nullptr && constant->type.Elements() <= kMaxShapeConstant;
      data_.push_back(shown ? FromConstant(*constant) : onnx::TensorProto());
      present_.push_back(node.HasInput(i));
      known_.push_back(shown);
    }
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
    return index < types_.size() && present_[index] ? &types_[index] : nullptr;
  }
  const onnx::TensorProto* getInputData(size_t index) const override {
    return index < data_.size() && known_[index] ? &data_[index] : nullptr;
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
  const onnx::NodeProto& proto_;
  std::vector<onnx::TypeProto> types_, outputs_;
  std::vector<onnx::TensorProto> data_;
  std::vector<bool> present_, known_;
};

// --- what can be refused at sight ---

int OperatorSet(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      return static_cast<int>(std::clamp<int64_t>(import.version(), 0, 1 << 20));
    }
  }
  return 0;
}

std::string Label(const onnx::NodeProto& node) { return fmt::format("{} node \"{}\"", node.op_type(), node.name()); }

absl::Status CheckOperators(const onnx::ModelProto& model, int operator_set) {
  for (const onnx::NodeProto& node : model.graph().node()) {
    const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    const OperatorFacts* facts = FindOperator(node.op_type());
    if (standard && facts != nullptr && facts->first > operator_set) {
      return Unimplemented("{}: supported from operator set {} on, not in {}", Label(node), facts->first, operator_set);
    }
    if (!standard || facts == nullptr) {
      const std::string domain = standard ? "" : fmt::format(" of domain {}", node.domain());
      return Unimplemented("{}: operator {}{} is not supported (wharf doctor --operators lists what is)", Label(node),
                           node.op_type(), domain);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAttributes(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!attribute.ref_attr_name().empty() || attribute.has_g() || attribute.graphs_size() > 0 ||
        attribute.has_sparse_tensor() || attribute.sparse_tensors_size() > 0) {
      return Unimplemented("{}: attribute \"{}\" is a graph, a sparse tensor or a reference", Label(node),
                           attribute.name());
    }
    if (attribute.has_t()) {
      if (const auto tensor = ToConstant(attribute.t()); !tensor.ok()) return In(Label(node), tensor.status());
    }
  }
  return absl::OkStatus();
}

// Everything that libonnx should not even see.
absl::Status CheckFeatures(const onnx::ModelProto& model) {
  if (!model.has_graph() || model.graph().node_size() == 0) return InvalidArgument("this is no ONNX model");
  const int set = OperatorSet(model);
  if (set < kFirstOperatorSet || set > kLastOperatorSet) {
    return Unimplemented("operator set {}: those from {} to {} are supported (opset_version of the exporter)", set,
                         kFirstOperatorSet, kLastOperatorSet);
  }
  if (model.functions_size() > 0) return Unimplemented("the model defines functions of its own");
  if (model.graph().sparse_initializer_size() > 0) return Unimplemented("the model has sparse weights");
  for (const onnx::NodeProto& node : model.graph().node()) WHARF_RETURN_IF_ERROR(CheckAttributes(node));
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0) {
      return Unimplemented("weights \"{}\" lie in another file; export the model into one file", tensor.name());
    }
  }
  return absl::OkStatus();
}

// Every name is made once, before it is read: the converter trusts that.
absl::Status CheckNames(const onnx::GraphProto& graph) {
  absl::flat_hash_set<std::string> made = {""};
  for (const onnx::TensorProto& tensor : graph.initializer()) made.insert(tensor.name());
  for (const onnx::ValueInfoProto& input : graph.input()) made.insert(input.name());
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) {
      if (!made.contains(input)) {
        return InvalidArgument("{} reads \"{}\", which has not been made", Label(node), input);
      }
    }
    if (node.output().empty()) return InvalidArgument("{} makes nothing", Label(node));
    for (const std::string& output : node.output()) {
      if (!made.insert(output).second && !output.empty()) {
        return InvalidArgument("{} makes \"{}\", which is there already", Label(node), output);
      }
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (output.name().empty() || !made.contains(output.name())) {
      return InvalidArgument("output \"{}\" is never made", output.name());
    }
  }
  return absl::OkStatus();
}

// --- the walk ---

class Importer {
 public:
  // Without folding, only the types of old models are found out, as far as they follow from types and weights.
  enum class Folding { kYes, kNo };
  Importer(const onnx::ModelProto& model, const ImportOptions& options, Folding folding)
      : model_(model), options_(options), folding_(folding) {}

  absl::Status Run() {
    graph_.name = model_.graph().name();
    for (const onnx::TensorProto& tensor : model_.graph().initializer()) WHARF_RETURN_IF_ERROR(AddInitializer(tensor));
    for (const onnx::ValueInfoProto& input : model_.graph().input()) WHARF_RETURN_IF_ERROR(AddInput(input));
    for (const onnx::NodeProto& node : model_.graph().node()) WHARF_RETURN_IF_ERROR(AddNode(node));
    for (const onnx::ValueInfoProto& output : model_.graph().output()) {
      const auto value = values_.find(output.name());
      if (value == values_.end()) return InvalidArgument("output \"{}\" is never made", output.name());
      graph_.outputs.push_back(value->second);
    }
    return absl::OkStatus();
  }
  Graph& Result() { return graph_; }  // after an error, what there is

 private:
  absl::StatusOr<int> AddValue(const std::string& name, TensorType type, std::optional<Constant> constant) {
    const int value = static_cast<int>(graph_.values.size());
    if (!values_.emplace(name, value).second) return InvalidArgument("\"{}\" is made twice", name);
    graph_.values.push_back({name, std::move(type), std::move(constant)});
    return value;
  }

  absl::Status AddInitializer(const onnx::TensorProto& tensor) {
    auto constant = ToConstant(tensor);
    if (!constant.ok()) return In(fmt::format("weights \"{}\"", tensor.name()), constant.status());
    TensorType type = constant->type;
    return AddValue(tensor.name(), std::move(type), *std::move(constant)).status();
  }

  absl::Status AddInput(const onnx::ValueInfoProto& input) {
    if (values_.contains(input.name())) return absl::OkStatus();  // old models list their weights among the inputs
    if (const auto known = options_.known_inputs.find(input.name()); known != options_.known_inputs.end()) {
      return AddValue(input.name(), known->second.type, known->second).status();
    }
    auto type = InputType(input);
    if (!type.ok()) return In(fmt::format("input \"{}\"", input.name()), type.status());
    WHARF_ASSIGN_OR_RETURN(const int value, AddValue(input.name(), *std::move(type), std::nullopt));
    graph_.inputs.push_back(value);
    return absl::OkStatus();
  }

  absl::StatusOr<TensorType> InputType(const onnx::ValueInfoProto& input) const {
    if (!input.type().has_tensor_type()) return Unimplemented("it is no tensor");
    const auto& tensor = input.type().tensor_type();
    TensorType type;
    WHARF_ASSIGN_OR_RETURN(type.element, FromOnnx(tensor.elem_type()));
    if (!tensor.has_shape()) return Unimplemented("it has no shape");
    for (const auto& dimension : tensor.shape().dim()) {
      WHARF_ASSIGN_OR_RETURN(const int64_t size, DimensionSize(dimension, type.shape.empty()));
      type.shape.push_back(size);
    }
    WHARF_RETURN_IF_ERROR(Validate(type));
    return type;
  }

  absl::StatusOr<int64_t> DimensionSize(const onnx::TensorShapeProto::Dimension& dimension, bool first) const {
    if (dimension.has_dim_value()) return dimension.dim_value();
    const auto found = options_.dimensions.find(dimension.dim_param());
    if (found != options_.dimensions.end()) return found->second;
    if (first) return 1;
    return InvalidArgument("dimension \"{}\" is left open and no size is given for it", dimension.dim_param());
  }

  // libonnx infers no types of these two, which are those of their kin.
  static std::string SchemaName(const onnx::NodeProto& proto) {
    const std::string& name = proto.op_type();
    return name == "GreaterOrEqual" || name == "LessOrEqual" ? "Greater" : name;
  }

  absl::Status AddNode(const onnx::NodeProto& proto) {
    WHARF_ASSIGN_OR_RETURN(Node node, ToNode(proto));
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(SchemaName(proto), OperatorSet(model_), "");
    if (schema == nullptr) {
      return InvalidArgument("{}: not in operator set {}", node.Label(), OperatorSet(model_));
    }
    WHARF_RETURN_IF_ERROR(CheckRanks(node));
    NodeInference inference(graph_, node, proto);
    WHARF_RETURN_IF_ERROR(Caught(node.Label(), [&] {
      schema->Verify(proto);
      schema->GetTypeAndShapeInferenceFunction()(inference);
      if (folding_ == Folding::kYes) schema->CheckInputOutputType(inference);  // old sets allow fewer than are in use
    }));
    for (int i = 0; i < proto.output_size(); ++i) {
      if (proto.output(i).empty()) {
        node.outputs.push_back(kAbsent);
        continue;
      }
      auto type = inference.Output(i);
      if (!type.ok()) return In(node.Label(), type.status());
      WHARF_ASSIGN_OR_RETURN(const int value, AddValue(proto.output(i), *std::move(type), std::nullopt));
      node.outputs.push_back(value);
    }
    return FoldOrKeep(std::move(node));
  }

  // What the table of operators says is not supported, of a node whose inputs are known.
  absl::Status CheckForm(const Node& node) const {
    if (node.Int("training_mode", 0) != 0) return Unimplemented("{}: training mode", node.Label());
    if (node.op != "Dropout" || !node.HasInput(2)) return absl::OkStatus();
    const Constant* training = graph_.ConstantInput(node, 2);
    const bool off = training != nullptr && Numbers(*training) == std::vector<double>{0};
    return off ? absl::OkStatus() : Unimplemented("{}: training mode", node.Label());
  }

  // What libonnx's inference of windows reads without looking.
  absl::Status CheckRanks(const Node& node) const {
    const bool weighted = node.op == "Conv" || node.op == "ConvTranspose";
    if (!weighted && node.op != "MaxPool" && node.op != "AveragePool") return absl::OkStatus();
    if (!node.HasInput(0) || (weighted && !node.HasInput(1))) return InvalidArgument("{}: no input", node.Label());
    const int rank = graph_.Type(node.inputs[0]).Rank();
    if (rank < 3 || (weighted && graph_.Type(node.inputs[1]).Rank() != rank)) {
      return InvalidArgument("{}: its input of {} dimensions does not fit its weights", node.Label(), rank);
    }
    const auto axes = static_cast<size_t>(rank) - 2;
    for (const auto& [name, size] : std::map<std::string, size_t>{{"kernel_shape", axes},
                                                                  {"strides", axes},
                                                                  {"dilations", axes},
                                                                  {"output_padding", axes},
                                                                  {"pads", 2 * axes}}) {
      const std::vector<int64_t> numbers = node.Ints(name, std::vector<int64_t>(size, 1));
      const bool small =
          std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n >= 0 && n <= (1 << 20); });
      const bool positive =
          name == "pads" || name == "output_padding" || std::find(numbers.begin(), numbers.end(), 0) == numbers.end();
      if (numbers.size() != size || !small || !positive) return InvalidArgument("{}: attribute {}", node.Label(), name);
    }
    return absl::OkStatus();
  }

  absl::Status FoldOrKeep(Node node) {
    if (folding_ == Folding::kNo && node.op != "Constant") return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(CheckForm(node));
    WHARF_ASSIGN_OR_RETURN(std::optional<Constant> folded, Fold(graph_, node));
    if (!folded) {
      if (FindOperator(node.op)->kind == OperatorKind::kConstant) {
        return Unimplemented("{}: its inputs must be known at import", node.Label());
      }
      graph_.nodes.push_back(std::move(node));
      return absl::OkStatus();
    }
    if (node.op != "Constant") folded_bytes_ += folded->type.Bytes();
    if (folded_bytes_ > kFoldingBudget) {
      return ResourceExhausted("{}: constants of more than {} MiB come of folding", node.Label(), kFoldingBudget >> 20);
    }
    graph_.values[node.outputs[0]].constant = *std::move(folded);
    return absl::OkStatus();
  }

  absl::StatusOr<Node> ToNode(const onnx::NodeProto& proto) const {
    Node node{
        proto.op_type(), proto.name().empty() && proto.output_size() > 0 ? proto.output(0) : proto.name(), {}, {}, {}};
    for (const std::string& input : proto.input()) {
      const auto found = values_.find(input);
      if (!input.empty() && found == values_.end()) {
        return InvalidArgument("{} reads \"{}\", which has not been made", node.Label(), input);
      }
      node.inputs.push_back(input.empty() ? kAbsent : found->second);
    }
    for (const onnx::AttributeProto& attribute : proto.attribute()) {
      WHARF_RETURN_IF_ERROR(AddAttribute(attribute, node));
    }
    return node;
  }

  static absl::Status AddAttribute(const onnx::AttributeProto& attribute, Node& node) {
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

  const onnx::ModelProto& model_;
  const ImportOptions& options_;
  const Folding folding_;
  Graph graph_;
  absl::flat_hash_map<std::string, int> values_;
  int64_t folded_bytes_ = 0;
};

// --- older operator sets ---

// Some conversions need shapes. libonnx's own inference over a whole graph crashes on hostile ones.
absl::Status AddTypes(const ImportOptions& options, onnx::ModelProto& model) {
  Importer importer(model, options, Importer::Folding::kNo);
  const absl::Status walked = importer.Run();
  if (!walked.ok() && !absl::IsUnimplemented(walked)) return walked;
  for (const Value& value : importer.Result().values) {
    onnx::ValueInfoProto* const info = model.mutable_graph()->add_value_info();
    info->set_name(value.name);
    *info->mutable_type() = FromType(value.type);
  }
  return absl::OkStatus();
}

absl::Status CheckAndConvert(const ImportOptions& options, onnx::ModelProto& model) {
  WHARF_RETURN_IF_ERROR(CheckFeatures(model));
  WHARF_RETURN_IF_ERROR(CheckNames(model.graph()));
  const int set = OperatorSet(model);
  if (set >= kNativeOperatorSet) WHARF_RETURN_IF_ERROR(CheckOperators(model, set));
  WHARF_RETURN_IF_ERROR(Caught("the model is not valid", [&] { onnx::checker::check_model(model); }));
  if (set >= kNativeOperatorSet) return absl::OkStatus();
  WHARF_RETURN_IF_ERROR(AddTypes(options, model));
  const absl::Status converted = Caught(fmt::format("converting operator set {} to {}", set, kNativeOperatorSet), [&] {
    model = onnx::version_conversion::ConvertVersion(model, kNativeOperatorSet);
  });
  WHARF_RETURN_IF_ERROR(CheckOperators(model, set));  // says more than the converter
  WHARF_RETURN_IF_ERROR(converted);
  WHARF_RETURN_IF_ERROR(CheckFeatures(model));
  return CheckNames(model.graph());
}

template <typename Message>
bool Parse(std::span<const std::byte> bytes, Message& message) {
  return bytes.size() <= kMaxModelBytes && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Where the model wants attention split; 0: nowhere.
absl::StatusOr<int> SplitRow(const onnx::ModelProto& model) {
  int row = 0;
  for (const auto& property : model.metadata_props()) {
    if (property.key() != kSplitAttentionProperty) continue;
    const std::string& text = property.value();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), row);
    if (error != std::errc() || end != text.data() + text.size() || row < 1) {
      return InvalidArgument("property {}: \"{}\" is no number of keys", kSplitAttentionProperty, text);
    }
  }
  return row;
}

}  // namespace

absl::StatusOr<Graph> ImportOnnx(std::span<const std::byte> bytes, const ImportOptions& options) {
  onnx::ModelProto model;
  if (!Parse(bytes, model)) return InvalidArgument("this is no ONNX model");
  WHARF_ASSIGN_OR_RETURN(const int key_row, SplitRow(model));
  WHARF_RETURN_IF_ERROR(CheckAndConvert(options, model));
  Importer importer(model, options, Importer::Folding::kYes);
  WHARF_RETURN_IF_ERROR(importer.Run());
  Graph graph = std::move(importer.Result());
  WHARF_RETURN_IF_ERROR(Validate(graph));
  if (options.simplify) {
    RemoveCopies(graph);
    FoldBatchNorms(graph);
    graph = DropUnreadRows(FuseOperators(std::move(graph)));
    if (key_row > 0) graph = SplitAttention(std::move(graph), key_row);
  }
  return WithoutUnused(graph);
}

absl::StatusOr<Graph> LoadOnnx(const std::string& path, const ImportOptions& options) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return ErrnoStatus(errno, fmt::format("opening {}", path));
  const std::streamoff size = file.tellg();
  if (size < 0 || static_cast<size_t>(size) > kMaxModelBytes) return InvalidArgument("{}: more than 2 GiB", path);
  std::vector<std::byte> bytes(size);
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) return DataLoss("{} cannot be read", path);
  auto graph = ImportOnnx(bytes, options);
  if (!graph.ok()) return In(path, graph.status());
  return graph;
}

absl::StatusOr<Constant> ParseTensor(std::span<const std::byte> bytes) {
  onnx::TensorProto tensor;
  if (!Parse(bytes, tensor)) return InvalidArgument("this is no ONNX tensor");
  return ToConstant(tensor);
}

}  // namespace wharf::graph
