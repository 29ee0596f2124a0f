// Convolution and pooling, of all rows or of some. Some rows are computed like all of another image: the rows that are
// there, padded as far as the windows of the wanted rows reach beyond the image (or over rows that no window reads).
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "wharf/exec/kernels.h"
#include "wharf/graph/node_facts.h"

namespace wharf::exec {
namespace {

using graph::Window;
using Result = absl::StatusOr<Outputs>;

bool IsWhole(const Call& call) {
  return call.OutShape() == call.OutType().shape &&
         call.in[0].sizes() == at::IntArrayRef(call.graph.Type(call.node.inputs[0]).shape);
}

// The node's windows, with the padding of the first spatial axis as the rows at hand need it.
absl::StatusOr<Window> WindowOfRows(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(Window window, graph::WindowOf(call.graph, call.node));
  if (IsWhole(call)) return window;
  const int64_t declared_begin = window.begin[0];
  const int64_t first = call.out_rows.lo * window.stride[0] - declared_begin;
  const int64_t reach = (window.kernel[0] - 1) * window.dilation[0] + 1;
  const int64_t last = (call.out_rows.hi - 1) * window.stride[0] - declared_begin + reach;
  const bool padding_only = call.in_rows[0].Empty();
  window.begin[0] = padding_only ? last - first : call.in_rows[0].lo - first;
  window.end[0] = padding_only ? 0 : last - call.in_rows[0].hi;
  return window;
}

// Whether padding both sides by `begin` makes the same windows: less at the end is no difference if none begins there.
bool IsEven(const Window& window, size_t axis) {
  const int64_t less = window.begin[axis] - window.end[axis];
  return less >= 0 && less < window.stride[axis];
}

// The same of all axes, of an image that has rows at all.
bool IsEven(const Call& call, const Window& window) {
  bool even = call.in[0].size(2) > 0;
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) even &= IsEven(window, axis);
  return even;
}

// Pads all that is to be padded; LibTorch has none left to do.
at::Tensor PadAll(const at::Tensor& x, double value, Window& window) {
  std::vector<int64_t> pads;  // from the last axis on
  for (size_t axis = window.kernel.size(); axis-- > 0;) {
    pads.push_back(window.begin[axis]);
    pads.push_back(std::max<int64_t>(window.end[axis], 0));
    window.begin[axis] = window.end[axis] = 0;
  }
  return at::constant_pad_nd(x, pads, value);
}

// Undefined if there is none.
at::Tensor Bias(const Call& call) { return call.Has(2) ? call.in[2] : at::Tensor(); }

Result Conv(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(Window window, WindowOfRows(call));
  at::Tensor x = call.in[0];
  if (!IsEven(call, window)) x = PadAll(x, 0, window);
  const std::vector<int64_t> no_output_padding(window.kernel.size(), 0);
  return Outputs{at::convolution(x, call.in[1], Bias(call), window.stride, window.begin, window.dilation, false,
                                 no_output_padding, call.node.Int("group", 1))};
}

// Copies `from` into `to`, its first place of each spatial axis to `at`; what lies outside is left out.
void Place(at::Tensor from, const std::vector<int64_t>& at, at::Tensor to) {
  for (size_t i = 0; i < at.size(); ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const int64_t begin = std::max<int64_t>(0, at[i]), end = std::min(to.size(axis), at[i] + from.size(axis));
    if (begin >= end) return;
    from = from.narrow(axis, begin - at[i], end - begin);
    to = to.narrow(axis, begin, end - begin);
  }
  to.copy_(from);
}

// Everything that the input rows add to, without padding, then cut or filled to the wanted rows and columns.
Result ConvTranspose(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const Window window, graph::WindowOf(call.graph, call.node));
  const size_t axes = window.kernel.size();
  if (IsWhole(call) && IsEven(call, window)) {
    std::vector<int64_t> more_at_end(axes);
    for (size_t axis = 0; axis < axes; ++axis) more_at_end[axis] = window.begin[axis] - window.end[axis];
    return Outputs{at::convolution(call.in[0], call.in[1], Bias(call), window.stride, window.begin, window.dilation,
                                   true, more_at_end, call.node.Int("group", 1))};
  }
  const std::vector<int64_t> shape = call.OutShape();
  const std::vector<int64_t> none(axes, 0);
  at::Tensor y = at::zeros(shape, call.in[0].options());
  if (call.in[0].numel() > 0) {
    const at::Tensor made = at::convolution(call.in[0], call.in[1], {}, window.stride, none, window.dilation, true,
                                            none, call.node.Int("group", 1));
    std::vector<int64_t> at(axes);
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t origin = (axis == 0 ? call.in_rows[0].lo : 0) * window.stride[axis] - window.begin[axis];
      at[axis] = origin - (axis == 0 ? call.out_rows.lo : 0);
    }
    Place(made, at, y);
  }
  if (!call.Has(2)) return Outputs{y};
  std::vector<int64_t> channels(shape.size(), 1);
  channels[1] = shape[1];
  return Outputs{at::add(y, call.in[2].reshape(channels))};
}

// One spatial axis becomes two, the first of length 1: LibTorch's pools of one axis can do less.
void AddAxis(at::Tensor& x, Window& window) {
  x = x.unsqueeze(2);
  for (auto* numbers : {&window.kernel, &window.stride, &window.dilation}) numbers->insert(numbers->begin(), 1);
  for (auto* numbers : {&window.begin, &window.end}) numbers->insert(numbers->begin(), 0);
}

// LibTorch counts the places of maxima within a channel, ONNX within the whole tensor, maybe column by column.
at::Tensor PlacesInTensor(const Call& call, const at::Tensor& places) {
  const graph::Shape& in = call.graph.Type(call.node.inputs[0]).shape;
  int64_t channel = 1;
  for (size_t axis = 2; axis < in.size(); ++axis) channel *= in[axis];
  at::Tensor result = places;
  if (call.node.Int("storage_order", 0) != 0 && in.size() == 4) {
    result = places.remainder(in[3]) * in[2] + at::div(places, in[3], "floor");
  }
  std::vector<int64_t> planes(places.dim(), 1);
  planes[0] = places.size(0);
  planes[1] = places.size(1);
  return result + at::arange(planes[0] * planes[1], places.options()).reshape(planes) * channel;
}

// Which LibTorch's pools refuse.
bool PadsMoreThanHalf(const Window& window) {
  bool more = false;
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) more |= window.begin[axis] > window.kernel[axis] / 2;
  return more;
}

Result MaxPool(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(Window window, WindowOfRows(call));
  const bool real = call.in[0].is_floating_point(), places_wanted = call.node.HasOutput(1);
  at::Tensor x = real ? call.in[0] : call.in[0].to(at::kFloat);
  const bool one_axis = window.kernel.size() == 1;
  if (one_axis) AddAxis(x, window);
  if (places_wanted && (!IsEven(call, window) || PadsMoreThanHalf(window))) {
    return Unimplemented("{}: places of maxima under uneven padding", call.node.Label());
  }
  if (!IsEven(call, window) || PadsMoreThanHalf(window))
    x = PadAll(x, -std::numeric_limits<double>::infinity(), window);
  at::Tensor y, places;
  if (window.kernel.size() == 2) {
    if (places_wanted) {
      std::tie(y, places) = at::max_pool2d_with_indices(x, window.kernel, window.stride, window.begin, window.dilation);
    } else {
      y = at::max_pool2d(x, window.kernel, window.stride, window.begin, window.dilation);
    }
  } else {
    std::tie(y, places) = at::max_pool3d_with_indices(x, window.kernel, window.stride, window.begin, window.dilation);
  }
  if (one_axis) y = y.squeeze(2);
  if (!real) y = y.to(call.in[0].scalar_type());
  if (!places_wanted) return Outputs{y};
  return Outputs{y, PlacesInTensor(call, one_axis ? places.squeeze(2) : places)};
}

// By how much each sum along one axis is to be divided: the window's places within the image, or with count_include_pad
// within the image and its declared padding.
std::vector<double> Counts(const Window& window, size_t axis, int64_t first, int64_t count, int64_t size, bool padded) {
  std::vector<double> counts;
  for (int64_t i = first; i < first + count; ++i) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
      const int64_t at = i * window.stride[axis] - window.begin[axis] + tap;
      inside += padded ? at < size + window.end[axis] : at >= 0 && at < size;
    }
    counts.push_back(static_cast<double>(std::max<int64_t>(inside, 1)));
  }
  return counts;
}

at::Tensor PoolSum(const at::Tensor& x, const Window& window) {
  if (window.kernel.size() == 3) return at::avg_pool3d(x, window.kernel, window.stride, 0, false, true, 1);
  return at::avg_pool2d(x, window.kernel, window.stride, 0, false, true, 1);
}

Result AveragePool(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const Window declared, graph::WindowOf(call.graph, call.node));
  WHARF_ASSIGN_OR_RETURN(Window window, WindowOfRows(call));
  const bool padded = call.node.Int("count_include_pad", 0) != 0;
  at::Tensor x = call.in[0];
  if (window.kernel.size() == 2 && IsEven(call, window) && !PadsMoreThanHalf(window) &&
      window.begin == declared.begin) {
    return Outputs{at::avg_pool2d(x, window.kernel, window.stride, window.begin, false, padded)};
  }
  const bool one_axis = window.kernel.size() == 1;
  if (one_axis) AddAxis(x, window);
  x = PadAll(x, 0, window);
  at::Tensor y = PoolSum(x, window);
  if (one_axis) y = y.squeeze(2);
  const graph::Shape& in = call.graph.Type(call.node.inputs[0]).shape;
  for (size_t axis = 0; axis < declared.kernel.size(); ++axis) {
    const int64_t first = axis == 0 ? call.out_rows.lo : 0, length = y.size(static_cast<int64_t>(axis) + 2);
    std::vector<int64_t> along(y.dim(), 1);
    along[axis + 2] = length;
    const auto counts = Counts(declared, axis, first, length, in[axis + 2], padded);
    y = y / at::tensor(counts, y.options().dtype(at::kDouble)).to(y.scalar_type()).reshape(along);
  }
  return Outputs{y};
}

constexpr NamedKernel kWindowKernels[] = {{"AveragePool", AveragePool},
                                          {"Conv", Conv},
                                          {"ConvTranspose", ConvTranspose},
                                          {"MaxPool", MaxPool},
                                          {"Resize", Resize}};

}  // namespace

std::span<const NamedKernel> WindowKernels() { return kWindowKernels; }

}  // namespace wharf::exec
