#include "wharf/graph/onnx/validation.h"

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "wharf/graph/onnx/tensors.h"
#include "wharf/graph/operators.h"

namespace wharf::graph {
namespace {

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

}  // namespace

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
    const OperatorFacts* facts = FindInFiles(node.op_type());
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

absl::Status CheckFeatures(const onnx::ModelProto& model) {
  if (!model.has_graph() || model.graph().node_size() == 0) return InvalidArgument("this is no ONNX model");
  const int set = OperatorSet(model);
  if (set < kFirstOperatorSet || set > kLastOperatorSet) {
    return Unimplemented("operator set {}: those from {} to {} are supported; export again with opset_version={}", set,
                         kFirstOperatorSet, kLastOperatorSet, kSchemaOperatorSet);
  }
  if (model.functions_size() > 0)
    return Unimplemented("the model defines functions of its own; inline them (onnx.inliner.inline_local_functions)");
  if (model.graph().sparse_initializer_size() > 0) return Unimplemented("the model has sparse weights");
  for (const onnx::NodeProto& node : model.graph().node()) WHARF_RETURN_IF_ERROR(CheckAttributes(node));
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0) {
      return Unimplemented(
          "weights \"{}\" lie in another file; export the model into one file (torch.onnx.export: external_data=False)",
          tensor.name());
    }
  }
  return absl::OkStatus();
}

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

}  // namespace wharf::graph
