// Element-wise operators. Where LibTorch has the function under ONNX's definition it is called; the rest is spelled
// out.
#include <ATen/ATen.h>

#include <cmath>

#include "wharf/exec/kernels.h"

namespace wharf::exec {
namespace {

using Result = absl::StatusOr<Outputs>;

template <at::Tensor (*Function)(const at::Tensor&)>
Result Unary(const Call& call) {
  return Outputs{Function(call.in[0])};
}

template <at::Tensor (*Function)(const at::Tensor&, const at::Tensor&)>
Result Binary(const Call& call) {
  return Outputs{Function(call.in[0], call.in[1])};
}

template <at::Tensor (*Function)(const at::Tensor&, const at::Tensor&)>
Result Variadic(const Call& call) {
  at::Tensor result = call.in[0];
  for (size_t i = 1; i < call.in.size(); ++i) result = Function(result, call.in[i]);
  return Outputs{result};
}

at::Tensor Plus(const at::Tensor& a, const at::Tensor& b) { return at::add(a, b); }
at::Tensor Minus(const at::Tensor& a, const at::Tensor& b) { return at::sub(a, b); }

bool IsReal(const at::Tensor& tensor) { return tensor.is_floating_point(); }

at::Tensor Quotient(const at::Tensor& a, const at::Tensor& b) {
  return IsReal(a) ? at::div(a, b) : at::div(a, b, "trunc");
}

Result Mean(const Call& call) {
  WHARF_ASSIGN_OR_RETURN(const Outputs sum, Variadic<Plus>(call));
  return Outputs{at::div(sum[0], static_cast<double>(call.in.size()))};
}

Result Mod(const Call& call) {
  return Outputs{call.node.Int("fmod", 0) != 0 ? at::fmod(call.in[0], call.in[1])
                                               : at::remainder(call.in[0], call.in[1])};
}

// Of the base's type, whatever the exponent's.
Result Pow(const Call& call) {
  const at::Tensor &base = call.in[0], &exponent = call.in[1];
  if (base.scalar_type() == exponent.scalar_type() && IsReal(base)) {
    return Outputs{exponent.numel() == 1 && exponent.dim() <= base.dim() ? at::pow(base, call.ScalarInput(1))
                                                                         : at::pow(base, exponent)};
  }
  return Outputs{at::pow(base.to(at::kDouble), exponent.to(at::kDouble)).to(base.scalar_type())};
}

Result Clip(const Call& call) {
  const bool low = call.Has(1), high = call.Has(2);
  if (!low && !high) return Outputs{call.in[0]};
  const bool scalars =
      call.graph.ConstantInput(call.node, 1) != nullptr && call.graph.ConstantInput(call.node, 2) != nullptr;
  if (scalars) return Outputs{at::clamp(call.in[0], call.ScalarInput(1), call.ScalarInput(2))};
  at::Tensor result = call.in[0];
  if (low) result = at::maximum(result, call.in[1]);
  if (high) result = at::minimum(result, call.in[2]);
  return Outputs{result};
}

Result Cast(const Call& call) { return Outputs{call.in[0].to(ToTorch(call.OutType().element))}; }
Result Copy(const Call& call) { return Outputs{call.in[0]}; }

Result Dropout(const Call& call) {
  Outputs outputs{call.in[0]};
  if (call.node.HasOutput(1)) outputs.push_back(at::ones_like(call.in[0], at::kBool));
  return outputs;
}

Result Elu(const Call& call) { return Outputs{at::elu(call.in[0], call.node.Float("alpha", 1))}; }
Result Celu(const Call& call) { return Outputs{at::celu(call.in[0], call.node.Float("alpha", 1))}; }
Result LeakyRelu(const Call& call) { return Outputs{at::leaky_relu(call.in[0], call.node.Float("alpha", 0.01F))}; }

Result Selu(const Call& call) {
  const double alpha = call.node.Float("alpha", 1.67326319217681884765625F);
  const double gamma = call.node.Float("gamma", 1.05070102214813232421875F);
  return Outputs{at::elu(call.in[0], alpha, gamma)};
}

Result Gelu(const Call& call) { return Outputs{at::gelu(call.in[0])}; }

Result HardSigmoid(const Call& call) {
  const double alpha = call.node.Float("alpha", 0.2F), beta = call.node.Float("beta", 0.5F);
  if (std::abs(alpha - 1.0 / 6) < 1e-6 && beta == 0.5) return Outputs{at::hardsigmoid(call.in[0])};
  return Outputs{at::clamp(call.in[0] * alpha + beta, 0, 1)};
}

Result ThresholdedRelu(const Call& call) { return Outputs{at::threshold(call.in[0], call.node.Float("alpha", 1), 0)}; }

Result PRelu(const Call& call) {
  return Outputs{at::where(call.in[0] < 0, at::mul(call.in[0], call.in[1]), call.in[0])};
}

Result Shrink(const Call& call) {
  const at::Tensor& x = call.in[0];
  const double bias = call.node.Float("bias", 0), lambda = call.node.Float("lambd", 0.5F);
  const at::Tensor shrunk =
      at::where(x < -lambda, x + bias, at::where(x > lambda, x - bias, at::zeros({}, x.options())));
  return Outputs{shrunk.to(x.scalar_type())};
}

Result Softplus(const Call& call) { return Outputs{at::softplus(call.in[0])}; }
Result Softsign(const Call& call) { return Outputs{at::div(call.in[0], at::abs(call.in[0]) + 1)}; }

Result IsInf(const Call& call) {
  const at::Tensor& x = call.in[0];
  const at::Tensor positive = call.node.Int("detect_positive", 1) != 0 ? at::isposinf(x) : at::zeros_like(x, at::kBool);
  const at::Tensor negative = call.node.Int("detect_negative", 1) != 0 ? at::isneginf(x) : at::zeros_like(x, at::kBool);
  return Outputs{at::logical_or(positive, negative)};
}

Result Where(const Call& call) { return Outputs{at::where(call.in[0], call.in[1], call.in[2])}; }

constexpr NamedKernel kElementKernels[] = {
    {"Abs", Unary<at::abs>},
    {"Acos", Unary<at::acos>},
    {"Acosh", Unary<at::acosh>},
    {"Add", Variadic<Plus>},
    {"And", Binary<at::logical_and>},
    {"Asin", Unary<at::asin>},
    {"Asinh", Unary<at::asinh>},
    {"Atan", Unary<at::atan>},
    {"Atanh", Unary<at::atanh>},
    {"Cast", Cast},
    {"Ceil", Unary<at::ceil>},
    {"Celu", Celu},
    {"Clip", Clip},
    {"Cos", Unary<at::cos>},
    {"Cosh", Unary<at::cosh>},
    {"Div", Binary<Quotient>},
    {"Dropout", Dropout},
    {"Elu", Elu},
    {"Equal", Binary<at::eq>},
    {"Erf", Unary<at::erf>},
    {"Exp", Unary<at::exp>},
    {"Floor", Unary<at::floor>},
    {"Gelu", Gelu},
    {"Greater", Binary<at::gt>},
    {"GreaterOrEqual", Binary<at::ge>},
    {"HardSigmoid", HardSigmoid},
    {"HardSwish", Unary<at::hardswish>},
    {"Identity", Copy},
    {"IsInf", IsInf},
    {"IsNaN", Unary<at::isnan>},
    {"LeakyRelu", LeakyRelu},
    {"Less", Binary<at::lt>},
    {"LessOrEqual", Binary<at::le>},
    {"Log", Unary<at::log>},
    {"Max", Variadic<at::maximum>},
    {"Mean", Mean},
    {"Min", Variadic<at::minimum>},
    {"Mod", Mod},
    {"Mul", Binary<at::mul>},
    {"Neg", Unary<at::neg>},
    {"Not", Unary<at::logical_not>},
    {"Or", Binary<at::logical_or>},
    {"PRelu", PRelu},
    {"Pow", Pow},
    {"Reciprocal", Unary<at::reciprocal>},
    {"Relu", Unary<at::relu>},
    {"Round", Unary<at::round>},
    {"Selu", Selu},
    {"Shrink", Shrink},
    {"Sigmoid", Unary<at::sigmoid>},
    {"Sign", Unary<at::sign>},
    {"Sin", Unary<at::sin>},
    {"Sinh", Unary<at::sinh>},
    {"Softplus", Softplus},
    {"Softsign", Softsign},
    {"Sqrt", Unary<at::sqrt>},
    {"Sub", Binary<Minus>},
    {"Sum", Variadic<Plus>},
    {"Tan", Unary<at::tan>},
    {"Tanh", Unary<at::tanh>},
    {"ThresholdedRelu", ThresholdedRelu},
    {"Where", Where},
    {"Xor", Binary<at::logical_xor>},
};

}  // namespace

std::span<const NamedKernel> ElementKernels() { return kElementKernels; }

}  // namespace wharf::exec
