#include "wharf/graph/graph.h"

namespace wharf::graph {
namespace {

template <typename T>
const T* Find(const Node& node, std::string_view attribute) {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

bool IsValue(const Graph& graph, int value) { return value >= 0 && value < static_cast<int>(graph.values.size()); }

absl::Status ValidateValues(const Graph& graph) {
  for (const Value& value : graph.values) {
    if (const absl::Status status = Validate(value.type); !status.ok()) {
      return InvalidArgument("value \"{}\": {}", value.name, Message(status));
    }
    if (!value.constant) continue;
    if (value.constant->type != value.type || !value.constant->bytes ||
        static_cast<int64_t>(value.constant->bytes->size()) != value.type.Bytes()) {
      return InvalidArgument("constant \"{}\" does not have the bytes of {}", value.name, value.type.Text());
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t Node::Int(std::string_view attribute, int64_t otherwise) const {
  const auto* found = Find<int64_t>(*this, attribute);
  return found ? *found : otherwise;
}
float Node::Float(std::string_view attribute, float otherwise) const {
  const auto* found = Find<float>(*this, attribute);
  return found ? *found : otherwise;
}
std::string_view Node::String(std::string_view attribute, std::string_view otherwise) const {
  const auto* found = Find<std::string>(*this, attribute);
  return found ? *found : otherwise;
}
std::vector<int64_t> Node::Ints(std::string_view attribute, std::vector<int64_t> otherwise) const {
  const auto* found = Find<std::vector<int64_t>>(*this, attribute);
  return found ? *found : otherwise;
}

std::vector<float> Node::Floats(std::string_view attribute, std::vector<float> otherwise) const {
  const auto* found = Find<std::vector<float>>(*this, attribute);
  return found ? *found : otherwise;
}
std::optional<Constant> Node::Tensor(std::string_view attribute) const {
  const auto* found = Find<Constant>(*this, attribute);
  return found ? std::optional(*found) : std::nullopt;
}

std::string Node::Label() const { return fmt::format("{} node \"{}\"", op, name); }

const Constant* Graph::ConstantInput(const Node& node, size_t index) const {
  if (!node.HasInput(index)) return nullptr;
  const auto& constant = values[node.inputs[index]].constant;
  return constant ? &*constant : nullptr;
}

std::vector<int> Graph::Makers() const {
  std::vector<int> makers(values.size(), -1);
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const int value : nodes[n].outputs) {
      if (value != kAbsent) makers[value] = static_cast<int>(n);
    }
  }
  return makers;
}

absl::Status Validate(const Graph& graph) {
  WHARF_RETURN_IF_ERROR(ValidateValues(graph));
  std::vector<bool> made(graph.values.size());
  for (size_t value = 0; value < made.size(); ++value) made[value] = graph.values[value].constant.has_value();
  for (const int input : graph.inputs) {
    if (!IsValue(graph, input) || made[input]) return InvalidArgument("input {} is no value, or twice one", input);
    made[input] = true;
  }
  for (const Node& node : graph.nodes) {
    for (const int input : node.inputs) {
      if (input == kAbsent) continue;
      if (!IsValue(graph, input) || !made[input]) {
        return InvalidArgument("{} reads value {}, which has not been made", node.Label(), input);
      }
    }
    for (const int output : node.outputs) {
      if (output == kAbsent) continue;
      if (!IsValue(graph, output) || made[output]) {
        return InvalidArgument("{} makes value {}, which is there already", node.Label(), output);
      }
      made[output] = true;
    }
  }
  for (const int output : graph.outputs) {
    if (!IsValue(graph, output) || !made[output]) return InvalidArgument("output {} is never made", output);
  }
  return absl::OkStatus();
}

Graph WithoutUnused(const Graph& graph) {
  std::vector<bool> used(graph.values.size());
  for (const int value : graph.outputs) used[value] = true;
  for (const int value : graph.inputs) used[value] = true;
  std::vector<bool> kept(graph.nodes.size());
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    for (const int value : graph.nodes[n].outputs) kept[n] = kept[n] || (value != kAbsent && used[value]);
    if (!kept[n]) continue;
    for (const int value : graph.nodes[n].inputs) {
      if (value != kAbsent) used[value] = true;
    }
  }
  Graph result{graph.name, {}, {}, {}, {}};
  std::vector<int> renumbered(graph.values.size(), kAbsent);
  for (size_t value = 0; value < used.size(); ++value) {
    if (!used[value]) continue;
    renumbered[value] = static_cast<int>(result.values.size());
    result.values.push_back(graph.values[value]);
  }
  const auto renumber = [&](std::vector<int>& values) {
    for (int& value : values) value = value == kAbsent ? kAbsent : renumbered[value];
  };
  for (size_t n = 0; n < kept.size(); ++n) {
    if (!kept[n]) continue;
    result.nodes.push_back(graph.nodes[n]);
    renumber(result.nodes.back().inputs);
    renumber(result.nodes.back().outputs);
  }
  result.inputs = graph.inputs;
  result.outputs = graph.outputs;
  renumber(result.inputs);
  renumber(result.outputs);
  return result;
}

}  // namespace wharf::graph
