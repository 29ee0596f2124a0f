#include "wharf/graph/onnx/newer_sets.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "wharf/graph/node_facts.h"
#include "wharf/graph/onnx/older_nodes.h"

namespace wharf::graph {
namespace {

constexpr int64_t kMostNumbers = 1 << 24;  // of a constant that is made here

// Axes of `rank` dimensions counted from the front, each once.
absl::StatusOr<Integers64> FromTheFront(const OlderNodes& nodes, Integers64 axes, int64_t rank) {
  std::vector<bool> seen(rank, false);
  for (int64_t& axis : axes) {
    WHARF_ASSIGN_OR_RETURN(axis, Axis(axis, rank));
    if (seen[axis]) return nodes.Contradicts(fmt::format("axis {} twice", axis));
    seen[axis] = true;
  }
  return axes;
}

Integers64 AllAxes(int64_t rank) {
  Integers64 axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Axes are an input from set 18 on, and bools have a largest from set 20 on.
absl::Status Reduce(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  const Node& node = nodes.Of();
  WHARF_ASSIGN_OR_RETURN(const Integers64 axes, ConstantIntegers(nodes.In(), node, 1, node.Ints("axes", {})));
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) != 0) {
    const bool same =
        node.op == "ReduceMax" || node.op == "ReduceMin" || node.op == "ReduceMean" || node.op == "ReduceProd";
    if (!same) return nodes.Without("reducing no axes");
    nodes.Last("Identity", {nodes.Input(0)});
    return absl::OkStatus();
  }
  const bool logical = nodes.Type(0).element == ElementType::kBool;
  std::string from = nodes.Input(0);
  if (logical) {
    from = nodes.Add("Cast", {from});
    SetInt(nodes.Latest(), "to", onnx::TensorProto::UINT8);
  }
  const std::string reduced = nodes.Add(node.op, {from}, !logical);
  if (!axes.empty()) SetInts(nodes.Latest(), "axes", axes);
  SetInt(nodes.Latest(), "keepdims", node.Int("keepdims", 1));
  if (logical) {
    nodes.Last("Cast", {reduced});
    SetInt(nodes.Latest(), "to", onnx::TensorProto::BOOL);
  }
  return absl::OkStatus();
}

// num_outputs parts of equal size, the last of which may be smaller.
absl::Status Split(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  const Node& node = nodes.Of();
  const int64_t parts = node.Int("num_outputs", 0);
  if (node.HasInput(1) || parts == 0) {
    Drop(nodes.Same(), "num_outputs");
    return absl::OkStatus();
  }
  const Shape& shape = nodes.Type(0).shape;
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(node.Int("axis", 0), static_cast<int64_t>(shape.size())));
  const int64_t size = parts > 0 ? (shape[axis] + parts - 1) / parts : 0;
  if (parts < 1 || parts > std::max<int64_t>(shape[axis], 1) || size * (parts - 1) > shape[axis] ||
      parts != nodes.Outputs()) {
    return nodes.Contradicts(fmt::format("{} parts of {}", parts, shape[axis]));
  }
  Integers64 sizes(parts, size);
  sizes.back() = shape[axis] - size * (parts - 1);
  const std::string known = nodes.Known(sizes);
  onnx::NodeProto& same = nodes.Same();
  Drop(same, "num_outputs");
  same.mutable_input()->Clear();
  same.add_input(nodes.Input(0));
  same.add_input(known);
  return absl::OkStatus();
}

absl::Status Pad(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(2));
  const Node& node = nodes.Of();
  if (!node.HasInput(3)) {
    onnx::NodeProto& same = nodes.Same();
    while (same.input_size() > 3) same.mutable_input()->RemoveLast();
    return absl::OkStatus();
  }
  const int64_t rank = nodes.Type(0).Rank();
  WHARF_ASSIGN_OR_RETURN(const Integers64 given, ConstantIntegers(nodes.In(), node, 3));
  WHARF_ASSIGN_OR_RETURN(const Integers64 axes, FromTheFront(nodes, given, rank));
  WHARF_ASSIGN_OR_RETURN(const Integers64 some, ConstantIntegers(nodes.In(), node, 1));
  if (some.size() != 2 * axes.size()) return nodes.Contradicts("two pads an axis are wanted");
  Integers64 pads(2 * rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    pads[axes[i]] = some[i];
    pads[axes[i] + rank] = some[i + axes.size()];
  }
  const std::string known = nodes.Known(pads);
  onnx::NodeProto& same = nodes.Same();
  same.set_input(1, known);
  same.mutable_input()->RemoveLast();
  return absl::OkStatus();
}

// Numbers that are given for some axes as numbers for all; `otherwise`: of those that are not named.
template <typename Number>
std::vector<Number> OfAllAxes(const Integers64& axes, const std::vector<Number>& some, std::vector<Number> otherwise) {
  for (size_t i = 0; i < axes.size(); ++i) otherwise[axes[i]] = some[i];
  return otherwise;
}

absl::StatusOr<std::vector<float>> KnownFloats(const OlderNodes& nodes, size_t index) {
  if (!nodes.Of().HasInput(index)) return std::vector<float>();
  const Constant* constant = nodes.In().ConstantInput(nodes.Of(), index);
  if (constant == nullptr) return Unimplemented("{}: input {} must be known at import", nodes.Of().Label(), index);
  const std::vector<double> numbers = Numbers(*constant);
  return std::vector<float>(numbers.begin(), numbers.end());
}

// Sizes, scales and the region may be those of some axes only.
absl::Status Resize(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  const Node& node = nodes.Of();
  if (node.Int("antialias", 0) != 0) return nodes.Without("antialias");
  if (node.String("keep_aspect_ratio_policy", "stretch") != "stretch") return nodes.Without("keep_aspect_ratio_policy");
  const Integers64 given = node.Ints("axes", {});
  std::string region = nodes.Input(1), scales = nodes.Input(2), sizes = nodes.Input(3);
  if (!given.empty()) {
    const Shape& shape = nodes.Type(0).shape;
    const size_t rank = shape.size();
    WHARF_ASSIGN_OR_RETURN(const Integers64 axes, FromTheFront(nodes, given, static_cast<int64_t>(rank)));
    WHARF_ASSIGN_OR_RETURN(const std::vector<float> some_scales, KnownFloats(nodes, 2));
    WHARF_ASSIGN_OR_RETURN(const Integers64 some_sizes, ConstantIntegers(nodes.In(), node, 3));
    WHARF_ASSIGN_OR_RETURN(const std::vector<float> some_region, KnownFloats(nodes, 1));
    const auto fits = [&](size_t count, size_t an_axis) { return count == 0 || count == an_axis * axes.size(); };
    if (!fits(some_scales.size(), 1) || !fits(some_sizes.size(), 1) || !fits(some_region.size(), 2)) {
      return nodes.Contradicts("not as many numbers as axes");
    }
    if (!some_scales.empty()) scales = nodes.Known(OfAllAxes(axes, some_scales, std::vector<float>(rank, 1)));
    if (!some_sizes.empty()) sizes = nodes.Known(OfAllAxes(axes, some_sizes, Integers64(shape)));
    if (!some_region.empty()) {
      std::vector<float> all(2 * rank, 0);
      std::fill(all.begin() + static_cast<std::ptrdiff_t>(rank), all.end(), 1.0F);
      for (size_t i = 0; i < axes.size(); ++i) {
        all[axes[i]] = some_region[i];
        all[axes[i] + rank] = some_region[i + axes.size()];
      }
      region = nodes.Known(all);
    }
  }
  onnx::NodeProto& same = nodes.Same();
  for (const char* attribute : {"antialias", "axes", "keep_aspect_ratio_policy"}) Drop(same, attribute);
  same.mutable_input()->Clear();
  for (const std::string& input : {nodes.Input(0), region, scales, sizes}) same.add_input(input);
  while (same.input(same.input_size() - 1).empty()) same.mutable_input()->RemoveLast();
  return absl::OkStatus();
}

// Newer sets leave out a last window that would begin in the padding, which older ones count (ceil_mode).
absl::Status CheckLastWindow(const OlderNodes& nodes) {
  const Node& node = nodes.Of();
  if (node.Int("ceil_mode", 0) == 0) return absl::OkStatus();
  const Shape& shape = nodes.Type(0).shape;
  const Integers64 kernel = node.Ints("kernel_shape", {});
  const size_t axes = kernel.size();
  const Integers64 strides = node.Ints("strides", Integers64(axes, 1));
  const Integers64 dilations = node.Ints("dilations", Integers64(axes, 1));
  const Integers64 pads = node.Ints("pads", Integers64(2 * axes, 0));
  const auto sane = [](const Integers64& numbers, int64_t least) {
    return std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n >= least && n <= (1 << 20); });
  };
  if (shape.size() != axes + 2 || strides.size() != axes || dilations.size() != axes || pads.size() != 2 * axes ||
      !sane(kernel, 1) || !sane(strides, 1) || !sane(dilations, 1) || !sane(pads, 0)) {
    return nodes.Contradicts("windows that do not fit the image");
  }
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t reach = (kernel[axis] - 1) * dilations[axis] + 1;
    const int64_t slack = shape[axis + 2] + pads[axis] + pads[axis + axes] - reach;
    const int64_t last = (slack + strides[axis] - 1) / strides[axis] * strides[axis];
    if (last >= shape[axis + 2] + pads[axis]) return nodes.Without("a last window that begins in the padding");
  }
  return absl::OkStatus();
}

absl::Status MaxPool(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  WHARF_RETURN_IF_ERROR(CheckLastWindow(nodes));
  nodes.Same();
  return absl::OkStatus();
}

// Where windows are dilated: a convolution with ones, divided by how many places of the image each window has.
absl::Status AveragePool(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  const Node& node = nodes.Of();
  const Integers64 dilations = node.Ints("dilations", {});
  if (std::all_of(dilations.begin(), dilations.end(), [](int64_t n) { return n == 1; })) {
    WHARF_RETURN_IF_ERROR(CheckLastWindow(nodes));
    Drop(nodes.Same(), "dilations");
    return absl::OkStatus();
  }
  const Shape& shape = nodes.Type(0).shape;
  const Integers64 kernel = node.Ints("kernel_shape", {});
  const size_t axes = kernel.size();
  const Integers64 strides = node.Ints("strides", Integers64(axes, 1));
  const Integers64 pads = node.Ints("pads", Integers64(2 * axes, 0));
  const std::string_view automatic = node.String("auto_pad", "NOTSET");
  if (node.Int("ceil_mode", 0) != 0 || (automatic != "NOTSET" && automatic != "VALID")) {
    return nodes.Without("a dilated average over windows that are padded by themselves");
  }
  const auto few = [](int64_t n) { return n >= 0 && n <= 4096; };
  const auto some = [&](int64_t n) { return n > 0 && few(n); };
  if (shape.size() != axes + 2 || axes == 0 || axes > 3 || dilations.size() != axes || strides.size() != axes ||
      pads.size() != 2 * axes || !std::all_of(kernel.begin(), kernel.end(), some) ||
      !std::all_of(dilations.begin(), dilations.end(), some) || !std::all_of(strides.begin(), strides.end(), some) ||
      !std::all_of(pads.begin(), pads.end(), few)) {
    return nodes.Contradicts("windows that do not fit the image");
  }
  const bool padded = node.Int("count_include_pad", 0) != 0;
  std::vector<float> counts = {1};
  Shape counts_shape = {1, 1}, weights_shape = {shape[1], 1};
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t size = shape[axis + 2], all = size + pads[axis] + pads[axis + axes];
    const int64_t reach = (kernel[axis] - 1) * dilations[axis] + 1, length = (all - reach) / strides[axis] + 1;
    if (all < reach || length * static_cast<int64_t>(counts.size()) > kMostNumbers) {
      return nodes.Contradicts("windows that do not fit the image");
    }
    std::vector<float> next;
    for (const float before : counts) {
      for (int64_t i = 0; i < length; ++i) {
        int64_t inside = 0;
        for (int64_t tap = 0; tap < kernel[axis]; ++tap) {
          const int64_t at = i * strides[axis] - pads[axis] + tap * dilations[axis];
          inside += padded || (at >= 0 && at < size);
        }
        next.push_back(before * static_cast<float>(std::max<int64_t>(inside, 1)));
      }
    }
    counts = std::move(next);
    counts_shape.push_back(length);
    weights_shape.push_back(kernel[axis]);
  }
  const TensorType weights{ElementType::kFloat, weights_shape};
  if (nodes.Type(0).element != ElementType::kFloat) return nodes.Without("a dilated average of other than float32");
  if (Validate(weights).ok() && weights.Elements() <= kMostNumbers) {
    const std::string ones = nodes.Filled(1, weights.Elements());
    const std::string kernels = nodes.Add("Reshape", {ones, nodes.Known(weights_shape)});
    const std::string sum = nodes.Add("Conv", {nodes.Input(0), kernels});
    SetInt(nodes.Latest(), "group", shape[1]);
    for (const auto& [name, numbers] : {std::pair<std::string, Integers64>{"dilations", dilations},
                                        {"kernel_shape", kernel},
                                        {"pads", pads},
                                        {"strides", strides}}) {
      SetInts(nodes.Latest(), name, numbers);
    }
    const std::string divisors = nodes.Add("Reshape", {nodes.Known(counts), nodes.Known(counts_shape)});
    nodes.Last("Div", {sum, divisors});
    return absl::OkStatus();
  }
  return nodes.Contradicts("windows that do not fit the image");
}

// Float8's saturation and float8's rounding: neither is there.
absl::Status Cast(OlderNodes& nodes, int /*operator_set*/) {
  onnx::NodeProto& same = nodes.Same();
  Drop(same, "saturate");
  Drop(same, "round_mode");
  return absl::OkStatus();
}

// Of the type that half numbers would be added up in.
absl::Status Range(OlderNodes& nodes, int /*operator_set*/) {
  Drop(nodes.Same(), "stash_type");
  return absl::OkStatus();
}

absl::Status SpaceToDepth(OlderNodes& nodes, int /*operator_set*/) {
  if (nodes.Of().String("mode", "DCR") != "DCR") return nodes.Without("a mode other than DCR");
  Drop(nodes.Same(), "mode");
  return absl::OkStatus();
}

absl::Status Gelu(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  const std::string x = nodes.Input(0);
  const ElementType element = nodes.Type(0).element;
  const auto scaled = [&](const std::string& value, double by) {
    return nodes.Add("Mul", {value, nodes.Scalar(by, element)});
  };
  std::string bent;
  if (nodes.Of().String("approximate", "none") == "tanh") {
    const std::string cube = nodes.Add("Mul", {nodes.Add("Mul", {x, x}), x});
    const std::string inside = nodes.Add("Add", {x, scaled(cube, 0.044715)});
    bent = nodes.Add("Tanh", {scaled(inside, std::numbers::sqrt2 * std::numbers::inv_sqrtpi)});
  } else {
    bent = nodes.Add("Erf", {scaled(x, 1 / std::numbers::sqrt2)});
  }
  const std::string sum = nodes.Add("Add", {bent, nodes.Scalar(1, element)});
  nodes.Last("Mul", {scaled(x, 0.5), sum});
  return absl::OkStatus();
}

absl::Status Mish(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  const std::string x = nodes.Input(0);
  nodes.Last("Mul", {x, nodes.Add("Tanh", {nodes.Add("Softplus", {x})})});
  return absl::OkStatus();
}

absl::Status Swish(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(1));
  const std::string x = nodes.Input(0);
  const float alpha = nodes.Of().Float("alpha", 1);
  const std::string scaled = alpha == 1 ? x : nodes.Add("Mul", {x, nodes.Scalar(alpha, nodes.Type(0).element)});
  nodes.Last("Mul", {x, nodes.Add("Sigmoid", {scaled})});
  return absl::OkStatus();
}

// Instances are the channels of a group one behind the other: rows stay rows. Scale and shift are a group's in set 18,
// a channel's from set 21 on.
absl::Status GroupNormalization(OlderNodes& nodes, int operator_set) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(3));
  const Shape& shape = nodes.Type(0).shape;
  const int64_t groups = nodes.Of().Int("num_groups", 0);
  if (shape.size() < 2 || groups < 1 || groups > std::min(shape[1], kMostNumbers) || shape[1] % groups != 0) {
    return nodes.Contradicts(fmt::format("{} groups of {}", groups, nodes.Type(0).Text()));
  }
  if (nodes.Type(0).element != ElementType::kFloat) return nodes.Without("a norm of other than float32");
  const bool by_channel = operator_set >= 21;
  const int64_t factors = by_channel ? shape[1] : groups;
  for (const size_t index : {1, 2}) {
    if (nodes.Type(index).shape != Shape{factors}) {
      return nodes.Contradicts(fmt::format("{} is no {} numbers", nodes.Type(index).Text(), factors));
    }
  }
  Integers64 grouped = {shape[0], groups, shape[1] / groups};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  const std::string split = nodes.Add("Reshape", {nodes.Input(0), nodes.Known(grouped)});
  const std::string scale = by_channel ? nodes.Filled(1, groups) : nodes.Input(1);
  const std::string shift = by_channel ? nodes.Filled(0, groups) : nodes.Input(2);
  const std::string normal = nodes.Add("InstanceNormalization", {split, scale, shift});
  SetFloat(nodes.Latest(), "epsilon", nodes.Of().Float("epsilon", 1e-5F));
  const std::string whole_shape = nodes.Known(Integers64(shape));
  if (!by_channel) {
    nodes.Last("Reshape", {normal, whole_shape});
    return absl::OkStatus();
  }
  const std::string whole = nodes.Add("Reshape", {normal, whole_shape});
  Integers64 along(shape.size() - 1, 1);
  along[0] = shape[1];
  const std::string along_channels = nodes.Known(along);
  const std::string scaled = nodes.Add("Mul", {whole, nodes.Add("Reshape", {nodes.Input(1), along_channels})});
  nodes.Last("Add", {scaled, nodes.Add("Reshape", {nodes.Input(2), along_channels})});
  return absl::OkStatus();
}

absl::Status RmsNormalization(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(2));
  const int64_t rank = nodes.Type(0).Rank();
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(nodes.Of().Int("axis", -1), rank));
  const std::string x = nodes.Input(0);
  const ElementType element = nodes.Type(0).element;
  const std::string mean = nodes.Add("ReduceMean", {nodes.Add("Mul", {x, x})});
  const Integers64 all = AllAxes(rank);
  SetInts(nodes.Latest(), "axes", Integers64(all.begin() + axis, all.end()));
  const std::string least = nodes.Scalar(nodes.Of().Float("epsilon", 1e-5F), element);
  const std::string root = nodes.Add("Sqrt", {nodes.Add("Add", {mean, least})});
  nodes.Last("Mul", {nodes.Add("Div", {x, root}), nodes.Input(1)});
  return absl::OkStatus();
}

// [batch, tokens, heads * columns] as [batch, heads, tokens, columns].
absl::StatusOr<std::string> InHeads(OlderNodes& nodes, int index, int64_t heads) {
  const Shape& shape = nodes.Type(index).shape;
  if (heads < 1 || heads > shape[2] || shape[2] % heads != 0) {
    return nodes.Contradicts(fmt::format("{} heads of {}", heads, nodes.Type(index).Text()));
  }
  const Integers64 parts = {shape[0], shape[1], heads, shape[2] / heads};
  const std::string split = nodes.Add("Reshape", {nodes.Input(index), nodes.Known(parts)});
  const std::string turned = nodes.Add("Transpose", {split});
  SetInts(nodes.Latest(), "perm", {0, 2, 1, 3});
  return turned;
}

// 0 where a query may attend to a key, one that does not come after it; minus infinity elsewhere.
absl::StatusOr<std::string> CausalMask(OlderNodes& nodes, int64_t queries, int64_t keys, ElementType element) {
  if (element != ElementType::kFloat) return nodes.Without("a causal mask of other than float32");
  if (queries < 1 || keys < 1 || queries > kMostNumbers / keys) return nodes.Contradicts("too many queries and keys");
  std::vector<float> mask(queries * keys, 0);
  for (int64_t query = 0; query < queries; ++query) {
    for (int64_t key = query + 1; key < keys; ++key) {
      mask[query * keys + key] = -std::numeric_limits<float>::infinity();
    }
  }
  return nodes.Add("Reshape", {nodes.Known(mask), nodes.Known(Integers64{queries, keys})});
}

// Softmax(scale Q Kᵀ + mask) V, with as many heads of keys as of queries; no cache of keys, no cap.
absl::Status Attention(OlderNodes& nodes, int /*operator_set*/) {
  WHARF_RETURN_IF_ERROR(nodes.Needs(3));
  const Node& node = nodes.Of();
  const bool plain = node.Float("softcap", 0) == 0 && !node.HasInput(4) && !node.HasInput(5) && !node.HasInput(6) &&
                     node.outputs.empty() && node.Int("qk_matmul_output_mode", 0) == 0 &&
                     node.Int("left_window_size", -1) < 0 && node.Int("right_window_size", -1) < 0;
  if (!plain) return nodes.Without("attention with a cache, a cap or a window");
  const int rank = nodes.Type(0).Rank();
  for (const size_t index : {1, 2}) {
    if ((rank != 3 && rank != 4) || nodes.Type(index).Rank() != rank) return nodes.Contradicts("ranks that do not fit");
  }
  const ElementType element = nodes.Type(0).element;
  std::string queries = nodes.Input(0), keys = nodes.Input(1), values = nodes.Input(2);
  int64_t query_heads = nodes.Type(0).shape[1], heads = nodes.Type(1).shape[1], columns = nodes.Type(0).shape.back();
  if (rank == 3) {
    query_heads = node.Int("q_num_heads", 0);
    heads = node.Int("kv_num_heads", 0);
    WHARF_ASSIGN_OR_RETURN(queries, InHeads(nodes, 0, query_heads));
    WHARF_ASSIGN_OR_RETURN(keys, InHeads(nodes, 1, heads));
    WHARF_ASSIGN_OR_RETURN(values, InHeads(nodes, 2, heads));
    columns /= query_heads;
  }
  if (query_heads != heads) return nodes.Without("attention with fewer heads of keys than of queries");
  const double scale = node.Float("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(columns))));
  const std::string turned = nodes.Add("Transpose", {keys});
  SetInts(nodes.Latest(), "perm", {0, 1, 3, 2});
  std::string scores = nodes.Add("MatMul", {nodes.Add("Mul", {queries, nodes.Scalar(scale, element)}), turned});
  if (node.HasInput(3)) {
    std::string mask = nodes.Input(3);
    if (nodes.Type(3).element == ElementType::kBool) {
      mask = nodes.Add(
          "Where", {mask, nodes.Scalar(0, element), nodes.Scalar(-std::numeric_limits<double>::infinity(), element)});
    }
    scores = nodes.Add("Add", {scores, mask});
  }
  if (node.Int("is_causal", 0) != 0) {
    const auto tokens = [&](int index) { return nodes.Type(index).shape[rank - 2]; };
    WHARF_ASSIGN_OR_RETURN(const std::string mask, CausalMask(nodes, tokens(0), tokens(1), element));
    scores = nodes.Add("Add", {scores, mask});
  }
  const std::string weights = nodes.Add("Softmax", {scores});
  SetInt(nodes.Latest(), "axis", -1);
  const std::string attended = nodes.Add("MatMul", {weights, values}, rank == 4);
  if (rank == 4) return absl::OkStatus();
  const std::string tokens = nodes.Add("Transpose", {attended});
  SetInts(nodes.Latest(), "perm", {0, 2, 1, 3});
  const Shape& shape = nodes.Type(0).shape;
  nodes.Last("Reshape", {tokens, nodes.Known(Integers64{shape[0], shape[1], -1})});
  return absl::OkStatus();
}

using Rewriting = absl::Status (*)(OlderNodes&, int operator_set);

Rewriting RewritingOf(std::string_view op) {
  static const absl::flat_hash_map<std::string_view, Rewriting> kRewritings = {
      {"Attention", Attention},
      {"AveragePool", AveragePool},
      {"Cast", Cast},
      {"Gelu", Gelu},
      {"GroupNormalization", GroupNormalization},
      {"MaxPool", MaxPool},
      {"Mish", Mish},
      {"Pad", Pad},
      {"RMSNormalization", RmsNormalization},
      {"Range", Range},
      {"Resize", Resize},
      {"SpaceToDepth", SpaceToDepth},
      {"Split", Split},
      {"Swish", Swish},
  };
  if (op.starts_with("Reduce") && op != "ReduceSum") return Reduce;
  const auto found = kRewritings.find(op);
  return found == kRewritings.end() ? nullptr : found->second;
}

}  // namespace

absl::StatusOr<std::vector<onnx::NodeProto>> InOlderTerms(const Graph& graph, const Node& node,
                                                          const onnx::NodeProto& proto, int operator_set) {
  const Rewriting rewriting = RewritingOf(proto.op_type());
  OlderNodes nodes(graph, node, proto);
  if (rewriting == nullptr) {
    nodes.Same();
    return nodes.Take();
  }
  if (proto.output_size() < 1 || proto.output(0).empty()) return InvalidArgument("{}: it makes nothing", node.Label());
  if (proto.op_type() != "Split" && proto.op_type() != "MaxPool" && proto.output_size() > 1) {
    return Unimplemented("{}: a second output is not supported", node.Label());
  }
  WHARF_RETURN_IF_ERROR(rewriting(nodes, operator_set));
  return nodes.Take();
}

}  // namespace wharf::graph
