// Resize: along each axis, an output element is a weighted sum of input elements; the weights follow from the mode and
// from where the element's centre falls. Definition: ONNX, operator Resize, set 13.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "wharf/exec/kernels.h"
#include "wharf/graph/node_facts.h"

namespace wharf::exec {
namespace {

struct Along {
  int64_t in = 0, out = 0;
  double scale = 1;
  double start = 0, end = 1;  // of the region of tf_crop_and_resize
};

// Output i is the sum over taps of weights[i][tap] * input[indices[i][tap]], or where `outside` the extrapolated value.
struct Taps {
  size_t count = 0;
  std::vector<int64_t> indices;
  std::vector<double> weights;
  std::vector<bool> outside;
};

double Position(std::string_view mode, const Along& along, double i) {
  const double last_in = static_cast<double>(along.in - 1);
  if (mode == "asymmetric") return i / along.scale;
  if (mode == "align_corners") {
    const double length = along.scale * static_cast<double>(along.in);  // not rounded, as ONNX's reference has it
    return length == 1 ? 0 : i * last_in / (length - 1);
  }
  if (mode == "tf_half_pixel_for_nn") return (i + 0.5) / along.scale;
  if (mode == "tf_crop_and_resize") {
    if (along.out == 1) return 0.5 * (along.start + along.end) * last_in;
    return along.start * last_in + i * (along.end - along.start) * last_in / static_cast<double>(along.out - 1);
  }
  if (mode == "half_pixel_symmetric") {  // the same for the middle of the image, however the size was rounded
    const double rounded = static_cast<double>(along.out) / (along.scale * static_cast<double>(along.in));
    return static_cast<double>(along.in) / 2 * (1 - rounded) + (i + 0.5) / along.scale - 0.5;
  }
  if (mode == "pytorch_half_pixel" && along.out == 1) return 0;
  return (i + 0.5) / along.scale - 0.5;
}

// Positions that are whole but for rounding are whole: which elements are read must not depend on the last bit.
double Snapped(double position) {
  const double whole = std::round(position);
  return std::abs(position - whole) < 1e-6 ? whole : position;
}

double Nearest(std::string_view mode, double position) {
  if (mode == "floor") return std::floor(position);
  if (mode == "ceil") return std::ceil(position);
  if (mode == "round_prefer_ceil") return std::floor(position + 0.5);
  return std::ceil(position - 0.5);
}

// Keys' cubic convolution kernel.
double Cubic(double a, double distance) {
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// First index and weights for a position, before indices are clamped to the image.
std::pair<int64_t, std::vector<double>> Weights(const graph::Node& node, std::string_view mode, double position) {
  if (mode == "nearest") {
    return {static_cast<int64_t>(Nearest(node.String("nearest_mode", "round_prefer_floor"), position)), {1.0}};
  }
  const auto below = static_cast<int64_t>(std::floor(position));
  const double part = position - static_cast<double>(below);
  if (mode == "linear") return {below, {1 - part, part}};
  const double a = node.Float("cubic_coeff_a", -0.75F);
  return {below - 1, {Cubic(a, part + 1), Cubic(a, part), Cubic(a, 1 - part), Cubic(a, 2 - part)}};
}

void ExcludeOutside(int64_t first, int64_t size, std::vector<double>& weights) {
  double sum = 0;
  for (size_t tap = 0; tap < weights.size(); ++tap) {
    const int64_t index = first + static_cast<int64_t>(tap);
    if (index < 0 || index >= size) weights[tap] = 0;
    sum += weights[tap];
  }
  for (double& weight : weights) weight /= sum;
}

Taps TapsOf(const graph::Node& node, const Along& along, graph::RowRange wanted) {
  const std::string_view mode = node.String("mode", "nearest");
  const std::string_view where = node.String("coordinate_transformation_mode", "half_pixel");
  Taps taps;
  for (int i = wanted.lo; i < wanted.hi; ++i) {
    const double position = Snapped(Position(where, along, i));
    auto [first, weights] = Weights(node, mode, position);
    if (mode == "cubic" && node.Int("exclude_outside", 0) != 0) ExcludeOutside(first, along.in, weights);
    taps.count = weights.size();
    for (size_t tap = 0; tap < weights.size(); ++tap) {
      const int64_t index =
          weights[tap] == 0 ? first : first + static_cast<int64_t>(tap);  // reads no more than it needs
      taps.indices.push_back(std::clamp<int64_t>(index, 0, along.in - 1));
      taps.weights.push_back(weights[tap]);
    }
    taps.outside.push_back(where == "tf_crop_and_resize" &&
                           (position < 0 || position > static_cast<double>(along.in - 1)));
  }
  return taps;
}

at::Tensor Apply(const at::Tensor& x, int64_t axis, const Taps& taps, int64_t first_row, float extrapolated) {
  const auto count = static_cast<int64_t>(taps.outside.size());
  std::vector<int64_t> along(x.dim(), 1);
  along[axis] = count;
  at::Tensor result;
  for (size_t tap = 0; tap < taps.count; ++tap) {
    std::vector<int64_t> indices;
    std::vector<double> weights;
    for (size_t i = tap; i < taps.indices.size(); i += taps.count) {
      indices.push_back(taps.indices[i] - first_row);
      weights.push_back(taps.weights[i]);
    }
    at::Tensor part = at::index_select(x, axis, at::tensor(indices, x.options().dtype(at::kLong)));
    if (taps.count > 1)
      part = part * at::tensor(weights, x.options().dtype(at::kDouble)).to(x.scalar_type()).reshape(along);
    result = result.defined() ? result + part : part;
  }
  if (std::find(taps.outside.begin(), taps.outside.end(), true) == taps.outside.end()) return result;
  const at::Tensor outside =
      at::tensor(std::vector<uint8_t>(taps.outside.begin(), taps.outside.end()), x.options().dtype(at::kByte));
  return result.masked_fill(outside.to(at::kBool).reshape(along), extrapolated);
}

absl::StatusOr<std::vector<double>> ConstantNumbers(const Call& call, size_t index) {
  if (!call.node.HasInput(index)) return std::vector<double>();
  const graph::Constant* constant = call.graph.ConstantInput(call.node, index);
  if (constant == nullptr) return Unimplemented("{}: input {} must be known at import", call.node.Label(), index);
  return graph::Numbers(*constant);
}

absl::StatusOr<std::vector<Along>> Axes(const Call& call) {
  const graph::Shape& in = call.graph.Type(call.node.inputs[0]).shape;
  const graph::Shape& out = call.OutType().shape;
  WHARF_ASSIGN_OR_RETURN(const auto region, ConstantNumbers(call, 1));
  WHARF_ASSIGN_OR_RETURN(const auto scales, ConstantNumbers(call, 2));
  std::vector<Along> axes;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    Along along{in[axis], out[axis], static_cast<double>(out[axis]) / static_cast<double>(in[axis]), 0, 1};
    if (scales.size() == in.size()) along.scale = scales[axis];
    if (region.size() == 2 * in.size()) {
      along.start = region[axis];
      along.end = region[axis + in.size()];
    }
    axes.push_back(along);
  }
  return axes;
}

// By a small whole number: of others LibTorch's nearest element may be another by rounding.
bool ScalesWholly(const Along& along) {
  return along.scale * static_cast<double>(along.in) == static_cast<double>(along.out) && along.out % along.in == 0 &&
         along.scale <= 8;
}

// LibTorch's own function where it does exactly this; undefined otherwise.
at::Tensor ByLibTorch(const Call& call, const std::vector<Along>& axes) {
  const std::string_view mode = call.node.String("mode", "nearest");
  const std::string_view where = call.node.String("coordinate_transformation_mode", "half_pixel");
  const bool images = axes.size() == 4 && axes[0].in == axes[0].out && axes[1].in == axes[1].out;
  const bool whole = images && call.OutShape() == call.OutType().shape && call.in[0].size(2) == axes[2].in;
  if (!whole || call.in[0].scalar_type() != at::kFloat) return {};
  if (!ScalesWholly(axes[2]) || !ScalesWholly(axes[3])) return {};
  const std::array<int64_t, 2> size{axes[2].out, axes[3].out};
  const bool floor = call.node.String("nearest_mode", "round_prefer_floor") == "floor";
  if (mode == "nearest" && where == "asymmetric" && floor) {
    return at::upsample_nearest2d(call.in[0], size, axes[2].scale, axes[3].scale);
  }
  const bool half_pixel = where == "half_pixel" || (where == "pytorch_half_pixel" && size[0] > 1 && size[1] > 1);
  if (mode == "linear" && half_pixel) {
    return at::upsample_bilinear2d(call.in[0], size, false, axes[2].scale, axes[3].scale);
  }
  return {};
}

}  // namespace

absl::StatusOr<Outputs> Resize(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const std::vector<Along> axes, Axes(call));
  if (const at::Tensor done = ByLibTorch(call, axes); done.defined()) return Outputs{done};
  const float extrapolated = call.node.Float("extrapolation_value", 0);
  at::Tensor x = call.in[0];
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const Along& along = axes[axis];
    const bool rows = static_cast<int>(axis) == call.out_axis;
    if (along.in == along.out && along.scale == 1 && along.start == 0 && along.end == 1) continue;
    if (along.in == 0) return InvalidArgument("an axis of length 0");
    const graph::RowRange wanted = rows ? call.out_rows : graph::RowRange{0, static_cast<int>(along.out)};
    x = Apply(x, static_cast<int64_t>(axis), TapsOf(call.node, along, wanted), rows ? call.in_rows[0].lo : 0,
              extrapolated);
  }
  return Outputs{x};
}

}  // namespace wharf::exec
