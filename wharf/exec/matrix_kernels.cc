// Products, norms, softmax and reductions.
#include <ATen/ATen.h>

#include "wharf/exec/kernels.h"
#include "wharf/graph/node_facts.h"

namespace wharf::exec {
namespace {

using Result = absl::StatusOr<Outputs>;

Result MatMul(const Call& call) { return Outputs{at::matmul(call.in[0], call.in[1])}; }

Result Gemm(const Call& call) {
  const at::Tensor a = call.node.Int("transA", 0) != 0 ? call.in[0].t() : call.in[0];
  const at::Tensor b = call.node.Int("transB", 0) != 0 ? call.in[1].t() : call.in[1];
  const double alpha = call.node.Float("alpha", 1), beta = call.node.Float("beta", 1);
  if (call.Has(2)) return Outputs{at::addmm(call.in[2], a, b, beta, alpha)};
  const at::Tensor product = at::mm(a, b);
  return Outputs{alpha == 1 ? product : product * alpha};
}

Result Linear(const Call& call) {
  const at::Tensor rows = call.in[0].reshape({-1, call.in[0].size(-1)});
  return Outputs{at::addmm(call.in[2], rows, call.in[1]).reshape(call.OutShape())};
}

absl::StatusOr<int64_t> AxisOf(const Call& call, int64_t otherwise) {
  return graph::Axis(call.node.Int("axis", otherwise), call.in[0].dim());
}

Result Softmax(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(call, -1));
  return Outputs{call.node.op == "Softmax" ? at::softmax(call.in[0], axis) : at::log_softmax(call.in[0], axis)};
}

Result BatchNorm(const Call& call) {
  return Outputs{at::batch_norm(call.in[0], call.in[1], call.in[2], call.in[3], call.in[4], false, 0,
                                call.node.Float("epsilon", 1e-5F), false)};
}

Result InstanceNorm(const Call& call) {
  return Outputs{
      at::instance_norm(call.in[0], call.in[1], call.in[2], {}, {}, true, 0, call.node.Float("epsilon", 1e-5F), false)};
}

Result LayerNorm(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(call, -1));
  const at::IntArrayRef normalised = call.in[0].sizes().slice(axis);
  const auto weights = [&](size_t index) {
    return call.Has(index) ? call.in[index].expand(normalised).contiguous() : at::Tensor();
  };
  const auto [out, mean, deviation] =
      at::native_layer_norm(call.in[0], normalised, weights(1), weights(2), call.node.Float("epsilon", 1e-5F));
  Outputs outputs{out};
  if (call.node.HasOutput(1)) outputs.push_back(mean.reshape(call.OutShape(1)));
  if (call.node.HasOutput(2)) outputs.push_back(deviation.reshape(call.OutShape(2)));
  return outputs;
}

// Squares are summed over a window of channels.
Result Lrn(const Call& call) {
  const at::Tensor& x = call.in[0];
  const int64_t size = call.node.Int("size", 1), before = (size - 1) / 2, channels = x.size(1);
  std::vector<int64_t> pads(2 * (x.dim() - 1), 0);
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = size - 1 - before;
  const at::Tensor squares = at::constant_pad_nd(x * x, pads);
  at::Tensor sum = squares.narrow(1, 0, channels).clone();
  for (int64_t i = 1; i < size; ++i) sum += squares.narrow(1, i, channels);
  const double alpha = call.node.Float("alpha", 1e-4F), beta = call.node.Float("beta", 0.75F);
  return Outputs{x / at::pow(sum * (alpha / static_cast<double>(size)) + call.node.Float("bias", 1), beta)};
}

at::Tensor Product(const at::Tensor& x, const std::vector<int64_t>& axes, bool keep) {
  at::Tensor result = x;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) result = at::prod(result, *axis, keep);
  return result;
}

at::Tensor Reduced(std::string_view op, const at::Tensor& x, const std::vector<int64_t>& axes, bool keep) {
  if (op == "ReduceSum") return at::sum(x, axes, keep);
  if (op == "ReduceMean") return at::mean(x, axes, keep);
  if (op == "ReduceMax") return at::amax(x, axes, keep);
  if (op == "ReduceMin") return at::amin(x, axes, keep);
  if (op == "ReduceProd") return Product(x, axes, keep);
  if (op == "ReduceL1") return at::sum(at::abs(x), axes, keep);
  if (op == "ReduceL2") return at::sqrt(at::sum(x * x, axes, keep));
  if (op == "ReduceLogSum") return at::log(at::sum(x, axes, keep));
  if (op == "ReduceLogSumExp") return at::logsumexp(x, axes, keep);
  return at::sum(x * x, axes, keep);  // ReduceSumSquare
}

Result Reduce(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const auto axes, graph::ReducedAxes(call.graph, call.node));
  const bool keep = call.node.Int("keepdims", 1) != 0;
  if (axes.empty()) return Outputs{call.in[0]};  // of a scalar, or noop_with_empty_axes
  return Outputs{Reduced(call.node.op, call.in[0], axes, keep).to(ToTorch(call.OutType().element))};
}

Result ArgReduce(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(call, 0));
  const bool keep = call.node.Int("keepdims", 1) != 0, last = call.node.Int("select_last_index", 0) != 0;
  const at::Tensor x = last ? at::flip(call.in[0], axis) : call.in[0];
  const at::Tensor found = call.node.op == "ArgMax" ? at::argmax(x, axis, keep) : at::argmin(x, axis, keep);
  return Outputs{last ? x.size(axis) - 1 - found : found};
}

std::vector<int64_t> SpatialAxes(const at::Tensor& x) {
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < x.dim(); ++axis) axes.push_back(axis);
  return axes;
}

Result GlobalAveragePool(const Call& call) { return Outputs{at::mean(call.in[0], SpatialAxes(call.in[0]), true)}; }
Result GlobalMaxPool(const Call& call) { return Outputs{at::amax(call.in[0], SpatialAxes(call.in[0]), true)}; }

constexpr NamedKernel kMatrixKernels[] = {
    {"ArgMax", ArgReduce},
    {"ArgMin", ArgReduce},
    {"BatchNormalization", BatchNorm},
    {"Gemm", Gemm},
    {"GlobalAveragePool", GlobalAveragePool},
    {"GlobalMaxPool", GlobalMaxPool},
    {"InstanceNormalization", InstanceNorm},
    {"LRN", Lrn},
    {"LayerNormalization", LayerNorm},
    {"Linear", Linear},
    {"LogSoftmax", Softmax},
    {"MatMul", MatMul},
    {"ReduceL1", Reduce},
    {"ReduceL2", Reduce},
    {"ReduceLogSum", Reduce},
    {"ReduceLogSumExp", Reduce},
    {"ReduceMax", Reduce},
    {"ReduceMean", Reduce},
    {"ReduceMin", Reduce},
    {"ReduceProd", Reduce},
    {"ReduceSum", Reduce},
    {"ReduceSumSquare", Reduce},
    {"Softmax", Softmax},
};

}  // namespace

std::span<const NamedKernel> MatrixKernels() { return kMatrixKernels; }

}  // namespace wharf::exec
