#include "wharf/graph/onnx/importer.h"

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "wharf/graph/fold.h"
#include "wharf/graph/onnx/caught.h"
#include "wharf/graph/onnx/newer_sets.h"
#include "wharf/graph/onnx/nodes.h"
#include "wharf/graph/onnx/tensors.h"
#include "wharf/graph/onnx/validation.h"
#include "wharf/graph/operators.h"

namespace wharf::graph {
namespace {

constexpr int64_t kFoldingBudget = 64 << 20;  // bytes of all folded constants together

class Importer {
 public:
  Importer(const onnx::ModelProto& model, const ImportOptions& options, Folding folding)
      : model_(model), options_(options), folding_(folding), operator_set_(OperatorSet(model)) {}

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
    if (absl::IsInvalidArgument(type.status())) {
      return InvalidArgument("input \"{}\": {} (--shape {}={})", input.name(), Message(type.status()), input.name(),
                             WantedShape(input));
    }
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

  // "1,3,HEIGHT,640": what is open by its name.
  static std::string WantedShape(const onnx::ValueInfoProto& input) {
    std::string text;
    for (const auto& dimension : input.type().tensor_type().shape().dim()) {
      const std::string name = dimension.dim_param().empty() ? "N" : dimension.dim_param();
      text += text.empty() ? "" : ",";
      text += dimension.has_dim_value() ? fmt::format("{}", dimension.dim_value()) : name;
    }
    return text;
  }

  absl::StatusOr<int64_t> DimensionSize(const onnx::TensorShapeProto::Dimension& dimension, bool first) const {
    if (dimension.has_dim_value()) return dimension.dim_value();
    const auto found = options_.dimensions.find(dimension.dim_param());
    if (found != options_.dimensions.end()) return found->second;
    if (first) return 1;
    return InvalidArgument("dimension \"{}\" is left open and no size is given for it", dimension.dim_param());
  }

  absl::Status AddNode(const onnx::NodeProto& proto) {
    if (operator_set_ <= kSchemaOperatorSet) return AddOlderNode(proto);
    WHARF_ASSIGN_OR_RETURN(const Node node, ToNode(proto, values_));
    WHARF_ASSIGN_OR_RETURN(const auto nodes, InOlderTerms(graph_, node, proto, operator_set_));
    onnx::checker::CheckerContext context;  // the model as a whole could not be checked
    context.set_ir_version(onnx::IR_VERSION);
    context.set_opset_imports({{"", kSchemaOperatorSet}});
    for (const onnx::NodeProto& older : nodes) {
      WHARF_RETURN_IF_ERROR(Caught(Label(proto), [&] { onnx::checker::check_node(older, context, {}); }));
      WHARF_RETURN_IF_ERROR(AddOlderNode(older));
    }
    return absl::OkStatus();
  }

  absl::Status AddOlderNode(const onnx::NodeProto& proto) {
    WHARF_ASSIGN_OR_RETURN(Node node, ToNode(proto, values_));
    const Schema schema = folding_ == Folding::kYes ? Schema::kFull : Schema::kShape;
    WHARF_ASSIGN_OR_RETURN(std::vector<TensorType> types,
                           OutputTypes(graph_, node, proto, std::min(operator_set_, kSchemaOperatorSet), schema));
    for (int i = 0; i < proto.output_size(); ++i) {
      if (proto.output(i).empty()) {
        node.outputs.push_back(kAbsent);
        continue;
      }
      WHARF_ASSIGN_OR_RETURN(const int value, AddValue(proto.output(i), std::move(types[i]), std::nullopt));
      node.outputs.push_back(value);
    }
    return FoldOrKeep(std::move(node));
  }

  absl::Status FoldOrKeep(Node node) {
    if (folding_ == Folding::kNo && node.op != "Constant") return absl::OkStatus();
    WHARF_RETURN_IF_ERROR(CheckForm(graph_, node));
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

  const onnx::ModelProto& model_;
  const ImportOptions& options_;
  const Folding folding_;
  const int operator_set_;
  Graph graph_;
  absl::flat_hash_map<std::string, int> values_;
  int64_t folded_bytes_ = 0;
};

}  // namespace

Imported WalkNodes(const onnx::ModelProto& model, const ImportOptions& options, Folding folding) {
  Importer importer(model, options, folding);
  absl::Status walked = importer.Run();
  return {std::move(importer.Result()), std::move(walked)};
}

}  // namespace wharf::graph
