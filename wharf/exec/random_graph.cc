#include "wharf/exec/random_graph.h"

#include <algorithm>
#include <utility>

namespace wharf::exec::testing {

using graph::ElementType;
using Attributes = std::map<std::string, graph::Attribute, std::less<>>;

graph::Graph RandomGraph::Make(uint32_t seed, int operators) {
  using Step = bool (RandomGraph::*)();
  static constexpr Step kSteps[] = {
      &RandomGraph::Conv,    &RandomGraph::Conv,       &RandomGraph::ConvTranspose, &RandomGraph::Pool,
      &RandomGraph::Pool,    &RandomGraph::Activation, &RandomGraph::AddConstant,   &RandomGraph::Norm,
      &RandomGraph::Concat,  &RandomGraph::Resize,     &RandomGraph::Softmax,       &RandomGraph::Blocks,
      &RandomGraph::MatMul,  &RandomGraph::Transpose,  &RandomGraph::Pad,           &RandomGraph::Branch,
      &RandomGraph::Reshape, &RandomGraph::Squeeze,    &RandomGraph::Slice,         &RandomGraph::ReduceChannels};
  RandomGraph made(seed);
  made.last_ = made.Value({made.Pick(1, 2), made.Pick(1, 4), made.Pick(2, 16), made.Pick(2, 8)});
  made.graph_.inputs = {made.last_};
  for (int done = 0; done < operators;) {
    done += (made.*kSteps[made.Pick(0, static_cast<int>(std::size(kSteps)) - 1)])() ? 1 : 0;
  }
  made.graph_.outputs = {made.last_};
  return made.graph_;
}

int RandomGraph::Value(graph::Shape shape) {
  graph_.values.push_back({fmt::format("v{}", graph_.values.size()), {ElementType::kFloat, std::move(shape)}, {}});
  return static_cast<int>(graph_.values.size()) - 1;
}

int RandomGraph::Floats(graph::Shape shape, float low, float high) {
  const int value = Value(std::move(shape));
  graph::Value& made = graph_.values[value];
  std::vector<float> numbers(made.type.Elements());
  for (float& number : numbers) number = std::uniform_real_distribution<float>(low, high)(random_);
  made.constant = graph::Constant::Of<float>(ElementType::kFloat, made.type.shape, numbers);
  return value;
}

int RandomGraph::Integers(const std::vector<int64_t>& values) {
  const int value = Value({static_cast<int64_t>(values.size())});
  graph::Value& made = graph_.values[value];
  made.type.element = ElementType::kInt64;
  made.constant = graph::Constant::Of<int64_t>(ElementType::kInt64, made.type.shape, values);
  return value;
}

bool RandomGraph::Apply(std::string op, std::vector<int> more_inputs, graph::Shape out, Attributes attributes) {
  const bool fits = std::all_of(out.begin(), out.end(), [](int64_t n) { return n > 0; }) &&
                    graph::TensorType{ElementType::kFloat, out}.Elements() <= 6000;
  if (!fits) return false;
  more_inputs.insert(more_inputs.begin(), last_);
  last_ = Value(std::move(out));
  graph_.nodes.push_back(
      {std::move(op), fmt::format("n{}", last_), std::move(more_inputs), {last_}, std::move(attributes)});
  return true;
}

RandomGraph::Windows RandomGraph::RandomWindows(bool dilated, bool padding_within_kernel) {
  Windows windows;
  for (int axis = 0; axis < 2; ++axis) {
    windows.kernel.push_back(Pick(1, 5));
    windows.stride.push_back(Pick(1, 3));
    windows.dilation.push_back(dilated ? Pick(1, 2) : 1);
  }
  for (int side = 0; side < 4; ++side) {
    windows.pads.push_back(Pick(0, padding_within_kernel ? static_cast<int>(windows.kernel[side % 2]) - 1 : 3));
  }
  return windows;
}

graph::Shape RandomGraph::Windowed(const Windows& windows, int64_t channels) {
  graph::Shape out = {Shape()[0], channels};
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t reach = (windows.kernel[axis] - 1) * windows.dilation[axis] + 1;
    const int64_t room = Shape()[axis + 2] + windows.pads[axis] + windows.pads[axis + 2] - reach;
    out.push_back(room < 0 ? 0 : room / windows.stride[axis] + 1);
  }
  return out;
}

bool RandomGraph::Conv() {
  const Windows windows = RandomWindows(true, false);
  const int64_t groups = Pick(0, 1) == 0 ? 1 : Shape()[1], channels = groups * Pick(1, 3);
  const int weights = Floats({channels, Shape()[1] / groups, windows.kernel[0], windows.kernel[1]});
  return Apply(
      "Conv", {weights, Floats({channels})}, Windowed(windows, channels),
      {{"strides", windows.stride}, {"dilations", windows.dilation}, {"pads", windows.pads}, {"group", groups}});
}

bool RandomGraph::ConvTranspose() {
  const Windows windows = RandomWindows(true, false);
  const int64_t channels = Pick(1, 4);
  graph::Shape out = {Shape()[0], channels};
  std::vector<int64_t> more;
  for (int axis = 0; axis < 2; ++axis) {
    more.push_back(Pick(0, static_cast<int>(windows.stride[axis]) - 1));
    out.push_back((Shape()[axis + 2] - 1) * windows.stride[axis] + (windows.kernel[axis] - 1) * windows.dilation[axis] +
                  1 - windows.pads[axis] - windows.pads[axis + 2] + more[axis]);
  }
  const int weights = Floats({Shape()[1], channels, windows.kernel[0], windows.kernel[1]});
  return Apply(
      "ConvTranspose", {weights, Floats({channels})}, out,
      {{"strides", windows.stride}, {"dilations", windows.dilation}, {"pads", windows.pads}, {"output_padding", more}});
}

bool RandomGraph::Pool() {
  const bool max = Pick(0, 1) == 0;
  const Windows windows = RandomWindows(max, true);
  Attributes attributes = {{"kernel_shape", windows.kernel}, {"strides", windows.stride}, {"pads", windows.pads}};
  if (max) {
    attributes["dilations"] = windows.dilation;
  } else {
    attributes["count_include_pad"] = int64_t{Pick(0, 1)};
  }
  return Apply(max ? "MaxPool" : "AveragePool", {}, Windowed(windows, Shape()[1]), attributes);
}

bool RandomGraph::Activation() {
  static constexpr const char* kNames[] = {"Relu", "HardSwish", "Sigmoid", "Tanh", "Abs", "Softplus"};
  return Apply(kNames[Pick(0, 5)], {}, Shape());
}

bool RandomGraph::AddConstant() {
  const graph::Shape shape = Shape();
  switch (Pick(0, 2)) {
    case 0:
      return Apply("Add", {Floats(shape)}, shape);
    case 1:
      return Apply("Mul", {Floats({shape[1], 1, 1})}, shape);
    default:
      return Apply("Sub", {Floats({shape[2], 1})}, shape);
  }
}

bool RandomGraph::Norm() {
  const graph::Shape shape = Shape();
  const graph::Shape channels = {shape[1]};
  switch (Pick(0, 3)) {
    case 0:
      return Apply("BatchNormalization",
                   {Floats(channels), Floats(channels), Floats(channels), Floats(channels, 0.5F, 2)}, shape);
    case 1:
      return Apply("InstanceNormalization", {Floats(channels), Floats(channels)}, shape);
    case 2:
      return Apply("LRN", {}, shape, {{"size", int64_t{3}}});
    default:
      return Apply("LayerNormalization", {Floats({shape[3]}), Floats({shape[3]})}, shape, {{"axis", int64_t{-1}}});
  }
}

bool RandomGraph::Concat() {
  const graph::Shape shape = Shape();
  graph::Shape out = shape, other = shape;
  const int64_t axis = Pick(1, 3);
  other[axis] = Pick(1, 3);
  out[axis] += other[axis] + shape[axis];
  if (!Apply("Concat", {Floats(other), last_}, out, {{"axis", axis}})) return false;
  if (Pick(0, 1) == 0) std::swap(graph_.nodes.back().inputs[0], graph_.nodes.back().inputs[1]);
  return true;
}

// Several rows of one, or one of several.
bool RandomGraph::Reshape() {
  graph::Shape out = Shape();
  const int64_t factor = Pick(2, 3), from = Pick(2, 3), to = 5 - from;
  if (out[from] % factor != 0) return false;
  out[from] /= factor;
  out[to] *= factor;
  return Apply("Reshape", {Integers(out)}, out);
}

bool RandomGraph::Resize() {
  graph::Shape out = Shape();
  const int factor = Pick(1, 3);
  for (int axis = 2; axis < 4; ++axis) out[axis] = Pick(0, 1) == 0 ? Pick(1, 12) : out[axis] * factor;
  const bool nearest = Pick(0, 1) == 0;
  Attributes attributes = {{"mode", std::string(nearest ? "nearest" : "linear")}};
  attributes["coordinate_transformation_mode"] = std::string(nearest ? "asymmetric" : "half_pixel");
  if (nearest) attributes["nearest_mode"] = std::string("floor");
  return Apply("Resize", {graph::kAbsent, graph::kAbsent, Integers(out)}, out, attributes);
}

bool RandomGraph::Softmax() { return Apply("Softmax", {}, Shape(), {{"axis", int64_t{Pick(1, 3)}}}); }

bool RandomGraph::Blocks() {
  graph::Shape out = Shape();
  const Attributes block = {{"blocksize", int64_t{2}}};
  if (out[1] % 4 == 0) {
    out = {out[0], out[1] / 4, out[2] * 2, out[3] * 2};
    return Apply("DepthToSpace", {}, out, block);
  }
  if (out[2] % 2 != 0 || out[3] % 2 != 0) return false;
  out = {out[0], out[1] * 4, out[2] / 2, out[3] / 2};
  return Apply("SpaceToDepth", {}, out, block);
}

bool RandomGraph::MatMul() {
  graph::Shape out = Shape();
  const int64_t columns = Pick(1, 6);
  const int weights = Floats({out[3], columns});
  out[3] = columns;
  return Apply("MatMul", {weights}, out);
}

bool RandomGraph::Transpose() {
  if (Pick(0, 3) != 0) return false;  // what follows is often global then
  const graph::Shape shape = Shape();
  return Apply("Transpose", {}, {shape[0], shape[1], shape[3], shape[2]}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
}

bool RandomGraph::Pad() {
  const int64_t rows = Pick(0, 3) == 0 ? 1 : 0, left = Pick(0, 2), right = Pick(0, 2);
  graph::Shape out = Shape();
  out[2] += rows;
  out[3] += left + right;
  return Apply("Pad", {Integers({0, 0, rows, left, 0, 0, 0, right})}, out, {{"mode", std::string("edge")}});
}

bool RandomGraph::Branch() {
  std::vector<int> alike;
  for (int value = 0; value < last_; ++value) {
    const graph::Value& other = graph_.values[value];
    if (!other.constant && other.type.shape == Shape()) alike.push_back(value);
  }
  if (alike.empty()) return false;
  return Apply("Add", {alike[Pick(0, static_cast<int>(alike.size()) - 1)]}, Shape());
}

// Squeeze and excitation: every row times the means of all rows.
bool RandomGraph::Squeeze() {
  const int before = last_;
  const graph::Shape shape = Shape();
  return Apply("GlobalAveragePool", {}, {shape[0], shape[1], 1, 1}) && Apply("Mul", {before}, shape);
}

bool RandomGraph::Slice() {
  graph::Shape out = Shape();
  const int64_t axis = Pick(1, 3), step = Pick(1, 2);
  const int64_t start = Pick(0, static_cast<int>(out[axis]) - 1),
                end = Pick(static_cast<int>(start) + 1, static_cast<int>(out[axis]));
  out[axis] = (end - start + step - 1) / step;
  return Apply("Slice", {Integers({start}), Integers({end}), Integers({axis}), Integers({step})}, out);
}

bool RandomGraph::ReduceChannels() {
  graph::Shape out = Shape();
  out[1] = 1;
  return Apply("ReduceMean", {}, out, {{"axes", std::vector<int64_t>{1}}});
}

}  // namespace wharf::exec::testing
