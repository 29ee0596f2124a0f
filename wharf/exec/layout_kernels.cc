// Operators that move elements and compute nothing.
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "wharf/exec/kernels.h"
#include "wharf/graph/node_facts.h"

namespace wharf::exec {
namespace {

using Result = absl::StatusOr<Outputs>;

// Beside `x`.
at::Tensor Indices(const std::vector<int64_t>& indices, const at::Tensor& x) {
  return at::tensor(indices, x.options().dtype(at::kLong));
}

// A row of the input may become several; of the first and the last, some may not be wanted.
Result Reshape(const Call& call) {
  std::vector<int64_t> shape = call.OutShape();
  const at::Tensor& x = call.in[0];
  if (call.out_axis == graph::kNoRows || x.numel() == 0) return Outputs{at::reshape(x, shape)};
  const int64_t wanted = shape[call.out_axis];
  shape[call.out_axis] = -1;
  const at::Tensor made = at::reshape(x, shape);
  const int64_t rows = made.size(call.out_axis);
  if (rows == wanted) return Outputs{made};
  const int64_t first = call.in_rows[0].lo * (rows / call.in_rows[0].Size());
  return Outputs{made.narrow(call.out_axis, call.out_rows.lo - first, wanted)};
}

Result Expand(const Call& call) { return Outputs{call.in[0].expand(call.OutShape())}; }

Result Transpose(const Call& call) {
  std::vector<int64_t> order(call.in[0].dim());
  std::iota(order.rbegin(), order.rend(), 0);
  return Outputs{call.in[0].permute(call.node.Ints("perm", order))};
}

Result Concat(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, graph::Axis(call.node.Int("axis", 0), call.in[0].dim()));
  if (axis != call.out_axis) return Outputs{at::cat(call.in, axis)};
  std::vector<at::Tensor> pieces;  // of each input, what it has of the rows to be made
  int first = 0;
  for (size_t i = 0; i < call.in.size(); ++i) {
    const int rows = static_cast<int>(call.graph.Type(call.node.inputs[i]).shape[axis]);
    const graph::RowRange piece = Intersection(call.out_rows, {first, first + rows});
    const int begin = call.in[i].size(axis) == rows ? 0 : call.in_rows[i].lo;  // of what is here
    if (!piece.Empty()) pieces.push_back(call.in[i].narrow(axis, piece.lo - first - begin, piece.Size()));
    first += rows;
  }
  return Outputs{pieces.size() == 1 ? pieces[0] : at::cat(pieces, axis)};
}

Result Slice(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const graph::SliceRange range, graph::SliceOf(call.graph, call.node));
  at::Tensor result = call.in[0];
  const graph::Shape& full = call.graph.Type(call.node.inputs[0]).shape;
  for (int axis = 0; axis < static_cast<int>(full.size()); ++axis) {
    int64_t start = range.starts[axis], count = range.counts[axis];
    const int64_t step = range.steps[axis];
    if (axis == call.out_axis) {  // perhaps not all rows are here, or to be made
      start += call.out_rows.lo * step - call.in_rows[0].lo;
      count = call.out_rows.Size();
    }
    if (count == result.size(axis) && step == 1) continue;
    if (step > 0) {
      result = at::slice(result, axis, start, std::min(full[axis], start + count * step), step);
    } else {
      std::vector<int64_t> indices(count);
      for (int64_t i = 0; i < count; ++i) indices[i] = start + i * step;
      result = at::index_select(result, axis, Indices(indices, result));
    }
  }
  return Outputs{result};
}

Result Split(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, graph::Axis(call.node.Int("axis", 0), call.in[0].dim()));
  std::vector<int64_t> sizes;
  const int64_t parts = static_cast<int64_t>(call.node.outputs.size());
  WHARF_ASSIGN_OR_RETURN(sizes, graph::ConstantIntegers(call.graph, call.node, 1));
  if (sizes.empty()) sizes.assign(parts, call.in[0].size(axis) / parts);
  return Outputs(at::split_with_sizes(call.in[0], sizes, axis));
}

// Where the elements of an axis of `size` come from that is padded: the nearest element (edge), the one mirrored at the
// border (reflect), or the one that comes if the axis is a ring (wrap).
std::vector<int64_t> PaddedIndices(int64_t size, int64_t begin, int64_t end, std::string_view mode) {
  std::vector<int64_t> indices;
  for (int64_t i = -begin; i < size + end; ++i) {
    const int64_t period = std::max<int64_t>(1, 2 * (size - 1));
    const int64_t turn = ((i % period) + period) % period;
    const int64_t around = ((i % size) + size) % size;
    indices.push_back(mode == "reflect" ? std::min(turn, period - turn)
                      : mode == "wrap"  ? around
                                        : std::clamp<int64_t>(i, 0, size - 1));
  }
  return indices;
}

Result Pad(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const auto pads, graph::ConstantIntegers(call.graph, call.node, 1));
  const at::Tensor& x = call.in[0];
  const int64_t rank = x.dim();
  const std::string_view mode = call.node.String("mode", "constant");
  if (mode == "constant") {
    std::vector<int64_t> from_last;  // as LibTorch counts
    for (int64_t axis = rank; axis-- > 0;) {
      from_last.push_back(pads[axis]);
      from_last.push_back(pads[axis + rank]);
    }
    return Outputs{at::constant_pad_nd(x, from_last, call.Has(2) ? call.ScalarInput(2) : at::Scalar(0))};
  }
  at::Tensor result = x;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (pads[axis] == 0 && pads[axis + rank] == 0) continue;
    if (x.size(axis) == 0) return InvalidArgument("padding an axis of length 0 by its own elements");
    result =
        at::index_select(result, axis, Indices(PaddedIndices(x.size(axis), pads[axis], pads[axis + rank], mode), x));
  }
  return Outputs{result};
}

Result Tile(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const auto repeats, graph::ConstantIntegers(call.graph, call.node, 1));
  return Outputs{call.in[0].repeat(repeats)};
}

at::Tensor FromTheFront(const at::Tensor& indices, int64_t size) {
  const at::Tensor wide = indices.to(at::kLong);
  return at::where(wide < 0, wide + size, wide);
}

Result Gather(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, graph::Axis(call.node.Int("axis", 0), call.in[0].dim()));
  const int64_t size = call.graph.Type(call.node.inputs[0]).shape[axis];
  if (call.in[1].dim() == 0 && call.graph.ConstantInput(call.node, 1) != nullptr) {
    const int64_t index = call.ScalarInput(1).toLong();
    const bool one = call.in[0].size(axis) == 1;  // a row of those the input is cut into: no other is here
    return Outputs{call.in[0].select(axis, one ? 0 : index < 0 ? index + size : index)};
  }
  const at::Tensor indices = FromTheFront(call.in[1], size);
  return Outputs{at::reshape(at::index_select(call.in[0], axis, indices.flatten()), call.OutShape())};
}

Result GatherElements(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, graph::Axis(call.node.Int("axis", 0), call.in[0].dim()));
  return Outputs{at::gather(call.in[0], axis, FromTheFront(call.in[1], call.in[0].size(axis)))};
}

// Output row i lies in input row i / block; the first input row here may hold output rows that are not wanted.
Result DepthToSpace(const Call& call) {
  const at::Tensor& x = call.in[0];
  const int64_t block = call.node.Int("blocksize", 1), channels = x.size(1) / (block * block);
  const int64_t batch = x.size(0), rows = x.size(2), columns = x.size(3);
  const bool crd = call.node.String("mode", "DCR") == "CRD";
  const at::Tensor split = crd ? x.reshape({batch, channels, block, block, rows, columns}).permute({0, 1, 4, 2, 5, 3})
                               : x.reshape({batch, block, block, channels, rows, columns}).permute({0, 3, 4, 1, 5, 2});
  const at::Tensor all = split.reshape({batch, channels, rows * block, columns * block});
  return Outputs{all.narrow(2, call.out_rows.lo - call.in_rows[0].lo * block, call.OutShape()[2])};
}

Result SpaceToDepth(const Call& call) {
  const at::Tensor& x = call.in[0];
  const int64_t block = call.node.Int("blocksize", 1), rows = x.size(2) / block, columns = x.size(3) / block;
  return Outputs{x.reshape({x.size(0), x.size(1), rows, block, columns, block})
                     .permute({0, 3, 5, 1, 2, 4})
                     .reshape({x.size(0), x.size(1) * block * block, rows, columns})};
}

constexpr NamedKernel kLayoutKernels[] = {
    {"Concat", Concat}, {"DepthToSpace", DepthToSpace},     {"Expand", Expand},     {"Flatten", Reshape},
    {"Gather", Gather}, {"GatherElements", GatherElements}, {"Pad", Pad},           {"Reshape", Reshape},
    {"Slice", Slice},   {"SpaceToDepth", SpaceToDepth},     {"Split", Split},       {"Squeeze", Reshape},
    {"Tile", Tile},     {"Transpose", Transpose},           {"Unsqueeze", Reshape},
};

}  // namespace

std::span<const NamedKernel> LayoutKernels() { return kLayoutKernels; }

}  // namespace wharf::exec
