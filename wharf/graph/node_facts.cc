#include "wharf/graph/node_facts.h"

#include <algorithm>
#include <numeric>

namespace wharf::graph {
namespace {

// A start or end of a slice, as ONNX clamps it: ends may lie one before the first element when stepping backwards.
int64_t ClampBound(int64_t bound, int64_t size, bool backwards, bool is_end) {
  if (bound < 0) bound = bound < -size ? -1 : bound + size;
  const int64_t lowest = backwards && is_end ? -1 : 0;
  const int64_t highest = backwards && !is_end ? size - 1 : size;
  return std::clamp(bound, lowest, std::max(lowest, highest));
}

bool IsTransposed(const Node& node) { return node.op == "ConvTranspose"; }

// Padding of one axis that makes the output as long as its type says.
void ResolvePadding(const Node& node, int64_t input, int64_t output, size_t axis, Window& window) {
  const std::string_view automatic = node.String("auto_pad", "NOTSET");
  const int64_t reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1;
  const int64_t total = IsTransposed(node) ? (input - 1) * window.stride[axis] + reach - output
                                           : (output - 1) * window.stride[axis] + reach - input;
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    const int64_t both = std::max<int64_t>(total, 0);
    window.begin[axis] = automatic == "SAME_LOWER" ? both - both / 2 : both / 2;
  }
  window.end[axis] = total - window.begin[axis];
}

absl::Status CheckWindow(const Node& node, const Window& window, size_t axes) {
  const auto positive = [](int64_t n) { return n >= 1 && n <= (1 << 20); };
  for (const auto* numbers : {&window.kernel, &window.stride, &window.dilation}) {
    if (numbers->size() != axes || !std::all_of(numbers->begin(), numbers->end(), positive)) {
      return InvalidArgument("{}: kernel, strides and dilations must be {} positive numbers", node.Label(), axes);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> Axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return InvalidArgument("axis {} of {} dimensions", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<std::vector<int64_t>> ConstantIntegers(const Graph& graph, const Node& node, size_t index,
                                                      std::vector<int64_t> otherwise) {
  if (!node.HasInput(index)) return otherwise;
  const Constant* constant = graph.ConstantInput(node, index);
  if (constant == nullptr) return Unimplemented("{}: input {} must be known at import", node.Label(), index);
  return Integers(*constant);
}

absl::StatusOr<SliceRange> SliceOf(const Graph& graph, const Node& node) {
  const Shape& data = graph.Type(node.inputs[0]).shape;
  const int64_t rank = static_cast<int64_t>(data.size());
  WHARF_ASSIGN_OR_RETURN(const auto starts, ConstantIntegers(graph, node, 1));
  WHARF_ASSIGN_OR_RETURN(const auto ends, ConstantIntegers(graph, node, 2));
  std::vector<int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  WHARF_ASSIGN_OR_RETURN(const auto axes, ConstantIntegers(graph, node, 3, all));
  WHARF_ASSIGN_OR_RETURN(const auto steps, ConstantIntegers(graph, node, 4, std::vector<int64_t>(starts.size(), 1)));
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return InvalidArgument("{}: starts, ends, axes and steps must be equally many", node.Label());
  }
  SliceRange range{Shape(rank, 0), Shape(rank, 1), data};
  for (size_t i = 0; i < starts.size(); ++i) {
    WHARF_ASSIGN_OR_RETURN(const int64_t axis, Axis(axes[i], rank));
    if (steps[i] == 0) return InvalidArgument("{}: a step of 0", node.Label());
    const bool backwards = steps[i] < 0;
    const int64_t begin = ClampBound(starts[i], data[axis], backwards, false);
    const int64_t end = ClampBound(ends[i], data[axis], backwards, true);
    const int64_t step = std::clamp<int64_t>(steps[i], -kMaxTensorBytes, kMaxTensorBytes);
    const int64_t distance = backwards ? begin - end : end - begin;
    range.starts[axis] = begin;
    range.steps[axis] = step;
    range.counts[axis] = data[axis] == 0 ? 0 : std::max<int64_t>(0, (distance + std::abs(step) - 1) / std::abs(step));
  }
  return range;
}

absl::StatusOr<Window> WindowOf(const Graph& graph, const Node& node) {
  const Shape& input = graph.Type(node.inputs[0]).shape;
  if (input.size() < 3) return InvalidArgument("{}: an input of {} dimensions", node.Label(), input.size());
  const size_t axes = input.size() - 2;
  Window window;
  if (node.op == "Conv" || IsTransposed(node)) {
    const Shape& weights = graph.Type(node.inputs[1]).shape;
    if (weights.size() != input.size()) return InvalidArgument("{}: weights of another rank", node.Label());
    window.kernel.assign(weights.begin() + 2, weights.end());
  } else {
    window.kernel = node.Ints("kernel_shape", {});
  }
  window.stride = node.Ints("strides", std::vector<int64_t>(axes, 1));
  window.dilation = node.Ints("dilations", std::vector<int64_t>(axes, 1));
  WHARF_RETURN_IF_ERROR(CheckWindow(node, window, axes));
  const std::vector<int64_t> pads = node.Ints("pads", std::vector<int64_t>(2 * axes, 0));
  if (pads.size() != 2 * axes) return InvalidArgument("{}: {} pads", node.Label(), pads.size());
  window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  window.end.resize(axes);
  const Shape& output = graph.Type(node.outputs[0]).shape;
  for (size_t axis = 0; axis < axes; ++axis) ResolvePadding(node, input[axis + 2], output[axis + 2], axis, window);
  return window;
}

absl::StatusOr<std::vector<int64_t>> ReducedAxes(const Graph& graph, const Node& node) {
  const int64_t rank = graph.Type(node.inputs[0]).Rank();
  WHARF_ASSIGN_OR_RETURN(std::vector<int64_t> axes, ConstantIntegers(graph, node, 1, node.Ints("axes", {})));
  for (int64_t& axis : axes) {
    WHARF_ASSIGN_OR_RETURN(axis, Axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty() && node.Int("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

}  // namespace wharf::graph
