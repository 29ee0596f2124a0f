// OlderNodes: the nodes of an older operator set that one of a newer set is said by.
#pragma once

#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/graph.h"
#include "wharf/graph/onnx/tensors.h"

namespace wharf::graph {

using Integers64 = std::vector<int64_t>;

// What one node of a newer operator set becomes.
class OlderNodes {
 public:
  OlderNodes(const Graph& graph, const Node& node, const onnx::NodeProto& proto)
      : graph_(graph), node_(node), proto_(proto) {}

  const Node& Of() const { return node_; }
  const Graph& In() const { return graph_; }
  std::string Input(int index) const { return index < proto_.input_size() ? proto_.input(index) : ""; }
  const TensorType& Type(size_t index) const { return graph_.Type(node_.inputs[index]); }
  absl::Status Without(std::string_view what) const {
    return Unimplemented("{}: {} is not supported; export with an opset_version of 17 or without it", node_.Label(),
                         what);
  }
  absl::Status Contradicts(std::string_view what) const { return InvalidArgument("{}: {}", node_.Label(), what); }
  // kInvalidArgument unless there are so many inputs.
  absl::Status Needs(size_t inputs) const {
    for (size_t i = 0; i < inputs; ++i) {
      if (!node_.HasInput(i)) return Contradicts(fmt::format("input {} is missing", i));
    }
    return absl::OkStatus();
  }

  // The node as it is, to be changed; it makes the outputs.
  onnx::NodeProto& Same() {
    nodes_.push_back(proto_);
    return nodes_.back();
  }
  // A node of one output. `last`: the output of the node that all this stands for.
  std::string Add(const std::string& op, const std::vector<std::string>& inputs, bool last = false) {
    onnx::NodeProto& made = nodes_.emplace_back();
    made.set_op_type(op);
    made.set_name(proto_.name());
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(last ? proto_.output(0) : Fresh());
    return made.output(0);
  }
  std::string Last(const std::string& op, const std::vector<std::string>& inputs) { return Add(op, inputs, true); }
  onnx::NodeProto& Latest() { return nodes_.back(); }

  int Outputs() const { return proto_.output_size(); }
  std::string Known(const Constant& constant) {
    const std::string name = Add("Constant", {});
    onnx::AttributeProto& value = *Latest().add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    *value.mutable_t() = FromConstant(constant);
    return name;
  }
  std::string Known(const Integers64& numbers) { return KnownOf(ElementType::kInt64, numbers, Lengths(numbers)); }
  std::string Known(const std::vector<float>& numbers) {
    return KnownOf(ElementType::kFloat, numbers, Lengths(numbers));
  }
  // Of the element type of a real input.
  std::string Scalar(double number, ElementType element) {
    if (element == ElementType::kDouble) return KnownOf(element, std::vector<double>{number}, {});
    return KnownOf(ElementType::kFloat, std::vector<float>{static_cast<float>(number)}, {});
  }
  // As many times the same number, of that type.
  std::string Filled(float number, int64_t count) { return Known(std::vector<float>(count, number)); }

  std::vector<onnx::NodeProto> Take() { return std::move(nodes_); }

 private:
  template <typename Number>
  static Shape Lengths(const std::vector<Number>& numbers) {
    return {static_cast<int64_t>(numbers.size())};
  }
  template <typename Number>
  std::string KnownOf(ElementType element, const std::vector<Number>& numbers, const Shape& shape) {
    auto bytes = std::make_shared<std::vector<std::byte>>(numbers.size() * sizeof(Number));
    if (!numbers.empty()) std::memcpy(bytes->data(), numbers.data(), bytes->size());
    return Known(Constant{{element, shape}, std::move(bytes)});
  }
  std::string Fresh() { return fmt::format("{}/part {}", proto_.output(0), nodes_.size()); }

  const Graph& graph_;
  const Node& node_;
  const onnx::NodeProto& proto_;
  std::vector<onnx::NodeProto> nodes_;
};

inline void Drop(onnx::NodeProto& node, std::string_view attribute) {
  auto& all = *node.mutable_attribute();
  const auto gone = std::remove_if(all.begin(), all.end(), [&](const auto& one) { return one.name() == attribute; });
  all.erase(gone, all.end());
}

inline onnx::AttributeProto& Added(onnx::NodeProto& node, const std::string& name,
                                   onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

inline void SetInt(onnx::NodeProto& node, const std::string& name, int64_t number) {
  Added(node, name, onnx::AttributeProto::INT).set_i(number);
}
inline void SetFloat(onnx::NodeProto& node, const std::string& name, float number) {
  Added(node, name, onnx::AttributeProto::FLOAT).set_f(number);
}
inline void SetInts(onnx::NodeProto& node, const std::string& name, const Integers64& numbers) {
  onnx::AttributeProto& attribute = Added(node, name, onnx::AttributeProto::INTS);
  for (const int64_t number : numbers) attribute.add_ints(number);
}

}  // namespace wharf::graph
