// From a graph of operations to one primitive.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "wharf/cudashim/cudnn/backend.h"

namespace wharf::cudashim {
namespace {

using Operation = BackendDescriptor;

DnnStatus NoPattern(std::string why) { return {CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, std::move(why)}; }

// Of operations that only pass; null for what is none.
const char* NameOfOperation(cudnnBackendDescriptorType_t type) {
  switch (static_cast<int>(type)) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return "the gradient of a convolution's filter";
    case CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR:
      return "statistics";
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return "a matrix product";
    case CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR:
      return "batch normalization that trains";
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return "a reduction";
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
      return "resampling";
    case CUDNN_BACKEND_OPERATION_CONCAT_DESCRIPTOR:
      return "concatenation";
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      return "normalization";
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return "a reshape";
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR:
      return "random numbers";
    case 41:  // not in every header
    case 43:
      return "attention";
    case 35:
    case 36:
    case 37:
    case 39:
    case 40:
    case 42:
      return "an operation that is not covered";
    default:
      return type > 43 ? "an operation that is not known" : nullptr;
  }
}

int64_t NumberOf(const BackendDescriptor& tensor) { return tensor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0); }
bool IsVirtual(const BackendDescriptor& tensor) { return tensor.One<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false); }

// A linked tensor; null if it is something else.
const BackendDescriptor* TensorOf(const Operation& operation, cudnnBackendAttributeName_t name) {
  const BackendDescriptor* const linked = operation.Linked(name);
  return linked != nullptr && linked->type() == CUDNN_BACKEND_TENSOR_DESCRIPTOR ? linked : nullptr;
}

// The attributes of the two convolutions.
struct ConvolutionAttributes {
  bool transposed;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};
constexpr ConvolutionAttributes kForwardAttributes = {false,
                                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
                                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                                                      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
constexpr ConvolutionAttributes kBackwardDataAttributes = {true,
                                                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                                                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                                                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                                                           CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};

const ConvolutionAttributes* AttributesOf(const Operation& operation) {
  switch (operation.type()) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return &kForwardAttributes;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return &kBackwardDataAttributes;
    default:
      return nullptr;
  }
}

// Sizes as int; all of them are small, or the convolution is none.
DnnStatus ToInts(std::span<const int64_t> from, size_t count, int* to) {
  if (from.size() != count) return BadParameter("a convolution's attributes are for different numbers of dimensions");
  for (size_t i = 0; i < count; ++i) {
    if (from[i] < 0 || from[i] > std::numeric_limits<int>::max()) return BadParameter("a convolution's attribute");
    to[i] = static_cast<int>(from[i]);
  }
  return {};
}

DnnStatus SetWindowOf(const BackendDescriptor& descriptor, device::Convolution* c, size_t* rank) {
  if (descriptor.type() != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {
    return {CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a convolution's descriptor of another type"};
  }
  const auto padding = descriptor.All<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto behind = descriptor.All<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  *rank = padding.size();
  if (*rank == 0 || *rank > device::kSpatialDims) return Refused("windows of more than three dimensions");
  int before[device::kSpatialDims], stride[device::kSpatialDims], dilation[device::kSpatialDims];
  if (const DnnStatus status = ToInts(padding, *rank, before); !status.ok()) return status;
  for (const auto& [name, to] : {std::pair(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride),
                                 std::pair(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation)}) {
    if (const DnnStatus status = ToInts(descriptor.All<int64_t>(name), *rank, to); !status.ok()) return status;
  }
  if (!std::equal(padding.begin(), padding.end(), behind.begin(), behind.end())) {
    return Refused("a convolution with different paddings before and behind");
  }
  WindowShape shape;
  if (const DnnStatus status = SetWindow(static_cast<int>(*rank), before, stride, dilation, &shape); !status.ok()) {
    return status;
  }
  c->padding = ToSpatial(shape.padding, shape.rank, 0);
  c->stride = ToSpatial(shape.stride, shape.rank, 1);
  c->dilation = ToSpatial(shape.dilation, shape.rank, 1);
  c->flipped = descriptor.One<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION) ==
               CUDNN_CONVOLUTION;
  return {};
}

// The activation that a pointwise mode is; nullopt for others.
std::optional<device::ActivationForm> ActivationOfMode(const BackendDescriptor& pointwise) {
  using enum device::Activation;
  switch (pointwise.One<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD)) {
    case CUDNN_POINTWISE_RELU_FWD: {
      const double lower = pointwise.Number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0);
      const double slope = pointwise.Number(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
      const double upper = pointwise.Number(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, HUGE_VAL);
      if (lower != 0 || slope != 0) return std::nullopt;
      if (upper >= static_cast<double>(std::numeric_limits<float>::max())) return device::ActivationForm{kRelu, 0};
      return device::ActivationForm{kClippedRelu, upper};
    }
    case CUDNN_POINTWISE_TANH_FWD:
      return device::ActivationForm{kTanh, 0};
    case CUDNN_POINTWISE_SIGMOID_FWD:
      return device::ActivationForm{kSigmoid, 0};
    case CUDNN_POINTWISE_ELU_FWD:
      return device::ActivationForm{kElu, pointwise.Number(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1)};
    case CUDNN_POINTWISE_SWISH_FWD:
      return device::ActivationForm{kSwish, pointwise.Number(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1)};
    case CUDNN_POINTWISE_GELU_FWD:
      return device::ActivationForm{kGelu, 0};
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
      return device::ActivationForm{kGeluTanh, 0};
    case CUDNN_POINTWISE_IDENTITY:
      return device::ActivationForm{kNone, 0};
    default:
      return std::nullopt;
  }
}

std::optional<device::PointwiseKind> KindOfMode(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return device::PointwiseKind::kAdd;
    case CUDNN_POINTWISE_MUL:
      return device::PointwiseKind::kMultiply;
    case CUDNN_POINTWISE_MIN:
      return device::PointwiseKind::kMin;
    case CUDNN_POINTWISE_MAX:
      return device::PointwiseKind::kMax;
    case CUDNN_POINTWISE_SUB:
      return device::PointwiseKind::kSubtract;
    case CUDNN_POINTWISE_DIV:
      return device::PointwiseKind::kDivide;
    case CUDNN_POINTWISE_SQRT:
      return device::PointwiseKind::kSqrt;
    default:
      return std::nullopt;
  }
}

// An element-wise operation with its parts looked up.
struct Step {
  const BackendDescriptor *pointwise = nullptr, *x = nullptr, *b = nullptr, *y = nullptr;
  double alpha_x = 1, alpha_b = 1;
  bool taken = false;

  cudnnPointwiseMode_t mode() const {
    return pointwise->One<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_IDENTITY);
  }
};

DnnStatus ToStep(const Operation& operation, Step* step) {
  step->pointwise = operation.Linked(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  step->x = TensorOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  step->y = TensorOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  step->b = TensorOf(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  step->alpha_x = operation.Number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
  step->alpha_b = operation.Number(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
  if (step->pointwise->type() != CUDNN_BACKEND_POINTWISE_DESCRIPTOR || step->x == nullptr || step->y == nullptr) {
    return {CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "an element-wise operation's descriptors"};
  }
  return {};
}

// One convolution with what is done to its result.
class Fused {
 public:
  explicit Fused(Plan* plan) : plan_(*plan) {}

  DnnStatus Begin(const Operation& operation, const ConvolutionAttributes& names) {
    const BackendDescriptor *const x = TensorOf(operation, names.x), *const w = TensorOf(operation, names.w),
                                   *const y = TensorOf(operation, names.y);
    if (x == nullptr || w == nullptr || y == nullptr) {
      return {CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a convolution's tensors"};
    }
    size_t rank = 0;
    if (const DnnStatus s = SetWindowOf(*operation.Linked(names.convolution), &c_, &rank); !s.ok()) return s;
    for (const auto& [from, to] : {std::pair(x, &c_.x), std::pair(w, &c_.filter), std::pair(y, &c_.y)}) {
      if (const DnnStatus s = ToTensor(*from, to); !s.ok()) return s;
      if (from->All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS).size() != rank + 2) {
        return BadParameter("tensors and convolution have different numbers of dimensions");
      }
    }
    if (c_.x.dims[1] % c_.filter.dims[1] != 0) return BadParameter("the input's channels are not whole groups");
    c_.transposed = names.transposed;
    c_.groups = c_.x.dims[1] / c_.filter.dims[1];
    c_.alpha = operation.Number(names.alpha, 1);
    const double beta = operation.Number(names.beta, 0);
    plan_.tensors = {{NumberOf(names.transposed ? *y : *x), Role::kInput}, {NumberOf(*w), Role::kFilter}};
    result_ = names.transposed ? x : y;
    if (beta == 0) return {};
    if (IsVirtual(*result_)) return NoPattern("a convolution that is blended with a virtual tensor");
    return Add(*result_, beta);
  }

  // What reads the result so far is folded in.
  DnnStatus Fold(Step& step) {
    step.taken = true;
    if (!IsVirtual(*result_)) return NoPattern("a result that is used again is not virtual");
    const bool is_x = NumberOf(*step.x) == NumberOf(*result_);
    const BackendDescriptor* const other = is_x ? step.b : step.x;
    result_ = step.y;
    if (const auto activation = ActivationOfMode(*step.pointwise)) {
      if (!is_x) return NoPattern("an activation of another tensor");
      if (activation->kind == device::Activation::kNone) return {};
      if (c_.activation.kind != device::Activation::kNone) return NoPattern("two activations");
      c_.activation = *activation;
      return {};
    }
    if (step.mode() != CUDNN_POINTWISE_ADD || other == nullptr || IsVirtual(*other)) {
      return NoPattern("what follows a convolution is neither an addition nor an activation");
    }
    if (c_.activation.kind != device::Activation::kNone) return NoPattern("an addition behind an activation");
    const double alpha = is_x ? step.alpha_x : step.alpha_b, alpha_other = is_x ? step.alpha_b : step.alpha_x;
    if (alpha != 1 && (has_bias_ || has_added_)) return NoPattern("a sum that is scaled");
    c_.alpha *= alpha;
    device::Tensor tensor;
    if (const DnnStatus s = ToTensor(*other, &tensor); !s.ok()) return s;
    const device::Tensor& shape = c_.transposed ? c_.x : c_.y;
    std::array<int32_t, device::kTensorDims> one_a_channel{1, shape.dims[1], 1, 1, 1};
    if (tensor.dims == shape.dims && !has_added_ && !(tensor.dims == one_a_channel && !has_bias_)) {
      return Add(*other, alpha_other);
    }
    if (tensor.dims != one_a_channel || has_bias_ || alpha_other != 1 ||
        (shape.dims[1] > 1 && tensor.strides[1] != 1)) {
      return NoPattern("an addition that is no bias, of another shape, or the third");
    }
    has_bias_ = true;
    c_.bias_type = tensor.type;
    plan_.tensors.emplace_back(NumberOf(*other), Role::kBias);
    return {};
  }

  DnnStatus End() {
    if (IsVirtual(*result_)) return NoPattern("the last result is virtual");
    device::Tensor result;
    if (const DnnStatus s = ToTensor(*result_, &result); !s.ok()) return s;
    device::Tensor& kept = c_.transposed ? c_.x : c_.y;
    if (result.dims != kept.dims) return NoPattern("the last result is of another shape");
    kept = result;
    plan_.tensors.emplace_back(NumberOf(*result_), Role::kResult);
    plan_.primitive = c_;
    return {};
  }

  int64_t result() const { return NumberOf(*result_); }

 private:
  DnnStatus Add(const BackendDescriptor& other, double scale) {
    has_added_ = true;
    c_.beta = scale;
    plan_.tensors.emplace_back(NumberOf(other), Role::kAdded);
    return ToTensor(other, &c_.added);
  }

  Plan& plan_;
  device::Convolution c_;
  const BackendDescriptor* result_ = nullptr;
  bool has_bias_ = false, has_added_ = false;
};

DnnStatus PlanPointwise(const Step& step, Plan* plan) {
  device::Pointwise p;
  if (const auto activation = ActivationOfMode(*step.pointwise)) {
    p.activation = *activation;
  } else if (const auto kind = KindOfMode(step.mode())) {
    p.kind = *kind;
  } else {
    return NoPattern("an element-wise operation of mode " + std::to_string(step.mode()));
  }
  for (const auto& [from, to, role] : {std::tuple(step.x, &p.a, Role::kInput), std::tuple(step.b, &p.b, Role::kSecond),
                                       std::tuple(step.y, &p.y, Role::kResult)}) {
    if (role == Role::kSecond && !device::HasSecond(p.kind)) continue;
    if (from == nullptr) return BadParameter("an element-wise operation lacks a tensor");
    if (IsVirtual(*from)) return NoPattern("a lone operation on a virtual tensor");
    if (const DnnStatus s = ToTensor(*from, to); !s.ok()) return s;
    plan->tensors.emplace_back(NumberOf(*from), role);
  }
  p.alpha_a = step.alpha_x;
  p.alpha_b = step.alpha_b;
  plan->primitive = p;
  return {};
}

// Where the addresses are.
struct Place {
  const std::map<int64_t, const void*>& pointers;
  const Plan& plan;

  uint64_t Of(Role role) const {
    for (const auto& [number, its] : plan.tensors) {
      if (its == role) return reinterpret_cast<uint64_t>(pointers.at(number));
    }
    return 0;
  }
  void operator()(device::Convolution& c) const {
    (c.transposed ? c.y : c.x).address = Of(Role::kInput);
    (c.transposed ? c.x : c.y).address = Of(Role::kResult);
    c.filter.address = Of(Role::kFilter);
    c.added.address = c.beta == 0 ? 0 : Of(Role::kAdded);
    c.bias = Of(Role::kBias);
  }
  void operator()(device::DnnGraph& graph) const { BindPassed(plan, pointers, &graph); }
  void operator()(device::Pointwise& p) const {
    p.a.address = Of(Role::kInput);
    p.b.address = Of(Role::kSecond);
    p.y.address = Of(Role::kResult);
  }
  template <typename Other>
  void operator()(Other&) const {}  // no plan has another
};

}  // namespace

DnnStatus CheckShape(const BackendDescriptor& descriptor) {
  const auto dims = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (dims.size() != strides.size()) return BadParameter("dimensions and strides are not as many");
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 1 || strides[i] < 0) return BadParameter("a dimension below 1 or a negative stride");
  }
  return {};
}

DnnStatus ToTensor(const BackendDescriptor& descriptor, device::Tensor* tensor) {
  const auto dims = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = descriptor.All<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (descriptor.One<int64_t>(CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1) != 1) return Refused("tensors of vectors");
  if (descriptor.One<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false)) return Refused("tensors that are given by value");
  if (descriptor.One<int>(CUDNN_ATTR_TENSOR_REORDERING_MODE, 0) != 0) return Refused("reordered tensors");
  if (descriptor.Has(CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC)) return Refused("ragged tensors");
  int small_dims[CUDNN_DIM_MAX], small_strides[CUDNN_DIM_MAX];
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  for (size_t i = 0; i < dims.size(); ++i) {
    // The stride of a single element goes nowhere.
    const int64_t stride = dims[i] == 1 ? 1 : strides[i];
    if (dims[i] > kMost || stride > kMost) return Refused("dimensions and strides of more than 2^31 - 1");
    small_dims[i] = static_cast<int>(dims[i]);
    small_strides[i] = static_cast<int>(stride);
  }
  TensorShape shape;
  DnnStatus status = SetShape(descriptor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT),
                              static_cast<int>(dims.size()), small_dims, small_strides, &shape);
  if (status.ok()) status = ToTensor(shape, nullptr, tensor);
  return status;
}

DnnStatus MakePlan(std::span<const BackendDescriptor::Pointer> operations, Plan* plan) {
  const Operation* convolution = nullptr;
  std::vector<Step> steps;
  for (const auto& operation : operations) {
    if (AttributesOf(*operation) != nullptr) {
      if (convolution != nullptr) return NoPattern("two convolutions");
      convolution = operation.get();
    } else if (operation->type() == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      if (const DnnStatus s = ToStep(*operation, &steps.emplace_back()); !s.ok()) return s;
    } else if (const char* const name = NameOfOperation(operation->type()); name != nullptr) {
      return NoPattern(name);
    } else {
      return {CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "what is no operation in a graph of operations"};
    }
  }
  if (convolution == nullptr) {
    if (steps.size() == 1) return PlanPointwise(steps[0], plan);
    return NoPattern("element-wise operations without a convolution");
  }
  Fused fused(plan);
  if (const DnnStatus s = fused.Begin(*convolution, *AttributesOf(*convolution)); !s.ok()) return s;
  for (size_t folded = 0; folded < steps.size(); ++folded) {
    const auto next = std::find_if(steps.begin(), steps.end(), [&](const Step& step) {
      return !step.taken &&
             (NumberOf(*step.x) == fused.result() || (step.b != nullptr && NumberOf(*step.b) == fused.result()));
    });
    if (next == steps.end()) return NoPattern("an operation that does not follow the others");
    if (const DnnStatus s = fused.Fold(*next); !s.ok()) return s;
  }
  return fused.End();
}

DnnStatus Bind(const Plan& plan, const std::map<int64_t, const void*>& pointers, device::Primitive* primitive) {
  const auto check = [&](int64_t number) {
    const auto found = pointers.find(number);
    if (found != pointers.end() && found->second != nullptr) return DnnStatus{};
    return BadParameter("the variant pack has no pointer for tensor " + std::to_string(number));
  };
  for (const auto& [number, role] : plan.tensors) {
    if (const DnnStatus status = check(number); !status.ok()) return status;
  }
  for (const PassedTensor& tensor : plan.passed) {
    if (const DnnStatus status = check(tensor.number); !status.ok()) return status;
  }
  *primitive = plan.primitive;
  std::visit(Place{pointers, plan}, *primitive);
  return {};
}

}  // namespace wharf::cudashim
