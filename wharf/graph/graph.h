// Graph: a model as a list of operators on tensors whose types are all known. What ONNX means by an operator's name,
// inputs and attributes holds here too (operator set 17); operators.h lists those there are.
//
//   WHARF_ASSIGN_OR_RETURN(const Graph graph, ImportOnnx(bytes, {}));
//   for (const Node& node : graph.nodes) …
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wharf/base/status.h"
#include "wharf/graph/tensor.h"

namespace wharf::graph {

using Attribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, Constant>;

inline constexpr int kAbsent = -1;  // an optional input or output that a node does not have

struct Node {
  std::string op;                    // ONNX's name: "Conv"
  std::string name;                  // for people; need not be unique
  std::vector<int> inputs, outputs;  // values, or kAbsent
  std::map<std::string, Attribute, std::less<>> attributes;

  bool HasInput(size_t index) const { return index < inputs.size() && inputs[index] != kAbsent; }
  bool HasOutput(size_t index) const { return index < outputs.size() && outputs[index] != kAbsent; }
  int64_t Int(std::string_view attribute, int64_t otherwise) const;
  float Float(std::string_view attribute, float otherwise) const;
  std::string_view String(std::string_view attribute, std::string_view otherwise) const;
  std::vector<int64_t> Ints(std::string_view attribute, std::vector<int64_t> otherwise) const;
  std::vector<float> Floats(std::string_view attribute, std::vector<float> otherwise) const;
  std::optional<Constant> Tensor(std::string_view attribute) const;
  std::string Label() const;  // "Conv node \"/layer1/conv\""
};

struct Value {
  std::string name;
  TensorType type;
  std::optional<Constant> constant;  // of its type
};

// A value comes from an input, is a constant, or is made by exactly one node; nodes stand in an order in which what
// they read has been made. Cheap to copy: constants are shared.
struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<int> inputs, outputs;  // values

  const TensorType& Type(int value) const { return values[value].type; }
  // The constant that a node's input is; null if it is absent or computed.
  const Constant* ConstantInput(const Node& node, size_t index) const;
  // The node that makes each value, or -1.
  std::vector<int> Makers() const;
};

// kInvalidArgument unless all of the above holds, and every type is valid. O(values + nodes).
absl::Status Validate(const Graph& graph);

// Leaves out nodes whose outputs nobody needs and values nobody names, renumbering the rest.
Graph WithoutUnused(const Graph& graph);

}  // namespace wharf::graph
