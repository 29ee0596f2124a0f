#include "wharf/graph/simplify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wharf::graph {
namespace {

// The importer takes no Dropout in training mode.
bool IsCopy(const Node& node) {
  const bool mask = node.outputs.size() > 1 && node.outputs[1] != kAbsent;
  return node.op == "Identity" || (node.op == "Dropout" && !mask);
}

std::vector<int> CountReaders(const Graph& graph) {
  std::vector<int> readers(graph.values.size());
  for (const int value : graph.outputs) ++readers[value];
  for (const Node& node : graph.nodes) {
    for (const int value : node.inputs) {
      if (value != kAbsent) ++readers[value];
    }
  }
  return readers;
}

bool IsFloatConstant(const Graph& graph, const Node& node, size_t index) {
  const Constant* constant = graph.ConstantInput(node, index);
  return constant != nullptr && constant->type.element == ElementType::kFloat;
}

// The axis of the weights that counts output channels: 0, of a transposed convolution 1; -1 if `conv` cannot take a
// batch norm.
int ChannelAxis(const Graph& graph, const Node& conv) {
  if (conv.op != "Conv" && conv.op != "ConvTranspose") return -1;
  if (!IsFloatConstant(graph, conv, 1) || (conv.HasInput(2) && !IsFloatConstant(graph, conv, 2))) return -1;
  if (conv.op == "Conv") return 0;
  return conv.Int("group", 1) == 1 ? 1 : -1;
}

// y = scale * x + shift, by channel.
struct Affine {
  std::vector<double> scale, shift;
};

Affine AffineOf(const Graph& graph, const Node& norm) {
  const auto input = [&](size_t index) { return Numbers(*graph.ConstantInput(norm, index)); };
  Affine affine{input(1), input(2)};
  const std::vector<double> mean = input(3), variance = input(4);
  const double epsilon = norm.Float("epsilon", 1e-5F);
  for (size_t c = 0; c < mean.size(); ++c) {
    affine.scale[c] /= std::sqrt(variance[c] + epsilon);
    affine.shift[c] -= affine.scale[c] * mean[c];
  }
  return affine;
}

int AddConstant(Graph& graph, std::string name, Shape shape, const std::vector<float>& numbers) {
  Constant constant = Constant::Of<float>(ElementType::kFloat, std::move(shape), numbers);
  TensorType type = constant.type;
  graph.values.push_back({std::move(name), std::move(type), std::move(constant)});
  return static_cast<int>(graph.values.size()) - 1;
}

void Absorb(Graph& graph, Node& conv, const Node& norm, int channel_axis) {
  const Affine affine = AffineOf(graph, norm);
  const auto channels = static_cast<int64_t>(affine.scale.size());
  const Constant weights = *graph.ConstantInput(conv, 1);
  const Shape& shape = weights.type.shape;
  const int64_t inner = std::accumulate(shape.begin() + channel_axis + 1, shape.end(), int64_t{1}, std::multiplies<>());
  const auto old = weights.As<float>();
  std::vector<float> scaled(old.size());
  for (size_t i = 0; i < old.size(); ++i) {
    scaled[i] = static_cast<float>(old[i] * affine.scale[static_cast<int64_t>(i) / inner % channels]);
  }
  std::vector<float> bias(affine.shift.begin(), affine.shift.end());
  if (conv.HasInput(2)) {
    const auto before = graph.ConstantInput(conv, 2)->As<float>();
    for (size_t c = 0; c < bias.size(); ++c) {
      bias[c] = static_cast<float>(before[c] * affine.scale[c] + affine.shift[c]);
    }
  }
  conv.inputs.resize(3, kAbsent);
  conv.inputs[1] = AddConstant(graph, graph.values[conv.inputs[1]].name + " with batch norm", shape, scaled);
  conv.inputs[2] = AddConstant(graph, graph.values[conv.inputs[1]].name + " bias", {channels}, bias);
  conv.outputs = norm.outputs;
}

bool IsFoldable(const Graph& graph, const Node& norm) {
  if (norm.op != "BatchNormalization" || norm.Int("training_mode", 0) != 0) return false;
  const int64_t channels = graph.Type(norm.inputs[0]).Rank() < 2 ? 0 : graph.Type(norm.inputs[0]).shape[1];
  for (const size_t index : {1, 2, 3, 4}) {
    if (!IsFloatConstant(graph, norm, index)) return false;
    if (graph.Type(norm.inputs[index]).shape != Shape{channels}) return false;
  }
  return std::all_of(norm.outputs.begin() + 1, norm.outputs.end(), [](int value) { return value == kAbsent; });
}

}  // namespace

void RemoveCopies(Graph& graph) {
  std::vector<int> original(graph.values.size());
  std::iota(original.begin(), original.end(), 0);
  for (Node& node : graph.nodes) {
    for (int& value : node.inputs) value = value == kAbsent ? kAbsent : original[value];
    if (IsCopy(node)) original[node.outputs[0]] = node.inputs[0];
  }
}

void FoldBatchNorms(Graph& graph) {
  const std::vector<int> makers = graph.Makers();
  const std::vector<int> readers = CountReaders(graph);
  std::vector<bool> absorbed(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node norm = graph.nodes[n];
    if (!IsFoldable(graph, norm) || readers[norm.inputs[0]] != 1 || makers[norm.inputs[0]] < 0) continue;
    Node& conv = graph.nodes[makers[norm.inputs[0]]];
    const int axis = ChannelAxis(graph, conv);
    if (axis < 0 || conv.outputs != std::vector<int>{norm.inputs[0]}) continue;
    Absorb(graph, conv, norm, axis);
    absorbed[n] = true;
  }
  size_t n = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return absorbed[n++]; });
}

}  // namespace wharf::graph
