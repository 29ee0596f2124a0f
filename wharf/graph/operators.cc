#include "wharf/graph/operators.h"

#include <algorithm>

namespace wharf::graph {
namespace {

constexpr OperatorFacts kOperators[] = {
    {"Abs", OperatorKind::kElementWise, 1, ""},
    {"Acos", OperatorKind::kElementWise, 7, ""},
    {"Acosh", OperatorKind::kElementWise, 9, ""},
    {"Add", OperatorKind::kElementWise, 1, ""},
    {"And", OperatorKind::kElementWise, 1, ""},
    {"ArgMax", OperatorKind::kGlobal, 1, ""},
    {"ArgMin", OperatorKind::kGlobal, 1, ""},
    {"Asin", OperatorKind::kElementWise, 7, ""},
    {"Asinh", OperatorKind::kElementWise, 9, ""},
    {"Atan", OperatorKind::kElementWise, 7, ""},
    {"Atanh", OperatorKind::kElementWise, 9, ""},
    {"AveragePool", OperatorKind::kBlockWise, 1, ""},
    {"BatchNormalization", OperatorKind::kRowWise, 1, "not in training mode"},
    {"Cast", OperatorKind::kElementWise, 1, ""},
    {"Ceil", OperatorKind::kElementWise, 1, ""},
    {"Celu", OperatorKind::kElementWise, 12, ""},
    {"Clip", OperatorKind::kElementWise, 1, ""},
    {"Concat", OperatorKind::kRowWise, 1, ""},
    {"Constant", OperatorKind::kConstant, 1, ""},
    {"ConstantOfShape", OperatorKind::kConstant, 9, "shape must be known at import"},
    {"Conv", OperatorKind::kBlockWise, 1, ""},
    {"ConvTranspose", OperatorKind::kBlockWise, 1, ""},
    {"Cos", OperatorKind::kElementWise, 7, ""},
    {"Cosh", OperatorKind::kElementWise, 9, ""},
    {"DepthToSpace", OperatorKind::kBlockWise, 1, ""},
    {"Div", OperatorKind::kElementWise, 1, ""},
    {"Dropout", OperatorKind::kElementWise, 1, "not in training mode"},
    {"Elu", OperatorKind::kElementWise, 1, ""},
    {"Equal", OperatorKind::kElementWise, 1, ""},
    {"Erf", OperatorKind::kElementWise, 9, ""},
    {"Exp", OperatorKind::kElementWise, 1, ""},
    {"Expand", OperatorKind::kRowWise, 8, "shape must be known at import"},
    {"Flatten", OperatorKind::kRowWise, 1, ""},
    {"Floor", OperatorKind::kElementWise, 1, ""},
    {"Gather", OperatorKind::kRowWise, 1, ""},
    {"GatherElements", OperatorKind::kRowWise, 11, ""},
    {"Gemm", OperatorKind::kRowWise, 1, ""},
    {"GlobalAveragePool", OperatorKind::kGlobal, 1, ""},
    {"GlobalMaxPool", OperatorKind::kGlobal, 1, ""},
    {"Greater", OperatorKind::kElementWise, 1, ""},
    {"GreaterOrEqual", OperatorKind::kElementWise, 12, ""},
    {"HardSigmoid", OperatorKind::kElementWise, 1, ""},
    {"HardSwish", OperatorKind::kElementWise, 14, ""},
    {"Identity", OperatorKind::kElementWise, 1, ""},
    {"InstanceNormalization", OperatorKind::kGlobal, 1, ""},
    {"IsInf", OperatorKind::kElementWise, 10, ""},
    {"IsNaN", OperatorKind::kElementWise, 9, ""},
    {"LRN", OperatorKind::kRowWise, 1, ""},
    {"LayerNormalization", OperatorKind::kRowWise, 17, ""},
    {"LeakyRelu", OperatorKind::kElementWise, 1, ""},
    {"Less", OperatorKind::kElementWise, 1, ""},
    {"LessOrEqual", OperatorKind::kElementWise, 12, ""},
    {"Log", OperatorKind::kElementWise, 1, ""},
    {"LogSoftmax", OperatorKind::kGlobal, 1, ""},
    {"MatMul", OperatorKind::kRowWise, 1, ""},
    {"Max", OperatorKind::kElementWise, 1, ""},
    {"MaxPool", OperatorKind::kBlockWise, 1, ""},
    {"Mean", OperatorKind::kElementWise, 1, ""},
    {"Min", OperatorKind::kElementWise, 1, ""},
    {"Mod", OperatorKind::kElementWise, 10, ""},
    {"Mul", OperatorKind::kElementWise, 1, ""},
    {"Neg", OperatorKind::kElementWise, 1, ""},
    {"Not", OperatorKind::kElementWise, 1, ""},
    {"Or", OperatorKind::kElementWise, 1, ""},
    {"PRelu", OperatorKind::kElementWise, 7, "sets before 7 lay slopes out differently"},
    {"Pad", OperatorKind::kRowWise, 1, "sizes and value must be known at import"},
    {"Pow", OperatorKind::kElementWise, 1, ""},
    {"Range", OperatorKind::kConstant, 11, "limits must be known at import"},
    {"Reciprocal", OperatorKind::kElementWise, 1, ""},
    {"ReduceL1", OperatorKind::kGlobal, 1, ""},
    {"ReduceL2", OperatorKind::kGlobal, 1, ""},
    {"ReduceLogSum", OperatorKind::kGlobal, 1, ""},
    {"ReduceLogSumExp", OperatorKind::kGlobal, 1, ""},
    {"ReduceMax", OperatorKind::kGlobal, 1, ""},
    {"ReduceMean", OperatorKind::kGlobal, 1, ""},
    {"ReduceMin", OperatorKind::kGlobal, 1, ""},
    {"ReduceProd", OperatorKind::kGlobal, 1, ""},
    {"ReduceSum", OperatorKind::kGlobal, 1, "axes must be known at import"},
    {"ReduceSumSquare", OperatorKind::kGlobal, 1, ""},
    {"Relu", OperatorKind::kElementWise, 1, ""},
    {"Reshape", OperatorKind::kRowWise, 1, "shape must be known at import"},
    {"Resize", OperatorKind::kBlockWise, 10, "sizes, scales and region must be known at import"},
    {"Round", OperatorKind::kElementWise, 11, ""},
    {"Selu", OperatorKind::kElementWise, 1, ""},
    {"Shape", OperatorKind::kConstant, 1, ""},
    {"Shrink", OperatorKind::kElementWise, 9, ""},
    {"Sigmoid", OperatorKind::kElementWise, 1, ""},
    {"Sign", OperatorKind::kElementWise, 9, ""},
    {"Sin", OperatorKind::kElementWise, 7, ""},
    {"Sinh", OperatorKind::kElementWise, 9, ""},
    {"Size", OperatorKind::kConstant, 1, ""},
    {"Slice", OperatorKind::kRowWise, 1, "starts, ends, axes and steps must be known at import"},
    {"Softmax", OperatorKind::kGlobal, 1, ""},
    {"Softplus", OperatorKind::kElementWise, 1, ""},
    {"Softsign", OperatorKind::kElementWise, 1, ""},
    {"SpaceToDepth", OperatorKind::kBlockWise, 1, ""},
    {"Split", OperatorKind::kRowWise, 1, "sizes must be known at import"},
    {"Sqrt", OperatorKind::kElementWise, 1, ""},
    {"Squeeze", OperatorKind::kRowWise, 1, "axes must be known at import"},
    {"Sub", OperatorKind::kElementWise, 1, ""},
    {"Sum", OperatorKind::kElementWise, 1, ""},
    {"Tan", OperatorKind::kElementWise, 7, ""},
    {"Tanh", OperatorKind::kElementWise, 1, ""},
    {"ThresholdedRelu", OperatorKind::kElementWise, 10, ""},
    {"Tile", OperatorKind::kRowWise, 1, "repeats must be known at import"},
    {"Transpose", OperatorKind::kRowWise, 1, ""},
    {"Unsqueeze", OperatorKind::kRowWise, 1, "axes must be known at import"},
    {"Where", OperatorKind::kElementWise, 9, ""},
    {"Xor", OperatorKind::kElementWise, 1, ""},
};

constexpr OperatorFacts kNewer[] = {
    {"Attention", OperatorKind::kGlobal, 23, "no cache, cap or window; as many heads of keys as of queries"},
    {"Gelu", OperatorKind::kElementWise, 20, ""},
    {"GroupNormalization", OperatorKind::kGlobal, 18, ""},
    {"Mish", OperatorKind::kElementWise, 18, ""},
    {"RMSNormalization", OperatorKind::kRowWise, 23, ""},
    {"Swish", OperatorKind::kElementWise, 24, ""},
};

constexpr OperatorFacts kFused[] = {
    {"Attention", OperatorKind::kGlobal, kSchemaOperatorSet, ""},
    {"Gelu", OperatorKind::kElementWise, kSchemaOperatorSet, ""},
    {"Linear", OperatorKind::kRowWise, kSchemaOperatorSet, ""},
    {"MergeAttention", OperatorKind::kRowWise, kSchemaOperatorSet, ""},
    {"PartialAttention", OperatorKind::kRowWise, kSchemaOperatorSet, ""},
};

const OperatorFacts* Find(std::span<const OperatorFacts> operators, std::string_view name) {
  const auto found =
      std::lower_bound(operators.begin(), operators.end(), name,
                       [](const OperatorFacts& facts, std::string_view key) { return facts.name < key; });
  return found != operators.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

std::span<const OperatorFacts> Operators() { return kOperators; }

std::span<const OperatorFacts> NewerOperators() { return kNewer; }

const OperatorFacts* FindInFiles(std::string_view name) {
  const OperatorFacts* facts = FindOperator(name);
  return facts != nullptr ? facts : Find(kNewer, name);
}

std::span<const OperatorFacts> FusedOperators() { return kFused; }

const OperatorFacts* FindOperator(std::string_view name) { return Find(kOperators, name); }

const OperatorFacts* FactsOf(std::string_view name) {
  const OperatorFacts* facts = FindOperator(name);
  return facts != nullptr ? facts : Find(kFused, name);
}

std::string_view Name(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kElementWise:
      return "element-wise";
    case OperatorKind::kBlockWise:
      return "block-wise";
    case OperatorKind::kRowWise:
      return "row-wise";
    case OperatorKind::kGlobal:
      return "global";
    case OperatorKind::kConstant:
      break;
  }
  return "constant";
}

}  // namespace wharf::graph
