// Normalization for inference, pooling, softmax, activations and what is done element by element.
#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

DnnStatus PoolingDims(cudnnPoolingDescriptor_t pooling, cudnnTensorDescriptor_t input, int rank, int dims[]) {
  if (pooling == nullptr || input == nullptr || dims == nullptr) {
    return NullPointer("a descriptor or the place of the answer");
  }
  const WindowShape& shape = pooling->window;
  if (rank != input->shape.rank || rank != shape.rank + 2) {
    return BadParameter("tensor and pooling have different numbers of dimensions");
  }
  dims[0] = input->shape.dims[0];
  dims[1] = input->shape.dims[1];
  for (int i = 0; i < shape.rank; ++i) {
    const int64_t size = OutputSize(input->shape.dims[i + 2], shape.window[i], shape.padding[i], shape.stride[i], 1);
    if (size < 1) return BadParameter("the window is larger than the input");
    dims[i + 2] = static_cast<int>(size);
  }
  return {};
}

// y = alpha * f(x) + beta * y is what they have in common.
template <typename What>
DnnStatus SetCommon(const void* alpha, cudnnTensorDescriptor_t x_descriptor, const void* x, const void* beta,
                    cudnnTensorDescriptor_t y_descriptor, void* y, device::Tensor* x_tensor, What* what) {
  if (alpha == nullptr || beta == nullptr) return NullPointer("alpha or beta");
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("x", x_descriptor, x, x_tensor));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("y", y_descriptor, y, &what->y));
  const cudnnDataType_t type = y_descriptor->shape.type;
  what->alpha = ScalarOf(type, alpha);
  what->beta = ScalarOf(type, beta);
  return {};
}

std::optional<device::PointwiseKind> KindOf(cudnnOpTensorOp_t op) {
  switch (op) {
    case CUDNN_OP_TENSOR_ADD:
      return device::PointwiseKind::kAdd;
    case CUDNN_OP_TENSOR_MUL:
      return device::PointwiseKind::kMultiply;
    case CUDNN_OP_TENSOR_MIN:
      return device::PointwiseKind::kMin;
    case CUDNN_OP_TENSOR_MAX:
      return device::PointwiseKind::kMax;
    case CUDNN_OP_TENSOR_SQRT:
      return device::PointwiseKind::kSqrt;
    default:
      return std::nullopt;
  }
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                      const void* alpha, const void* beta,
                                                      const cudnnTensorDescriptor_t x_descriptor, const void* x,
                                                      const cudnnTensorDescriptor_t y_descriptor, void* y,
                                                      const cudnnTensorDescriptor_t parameters, const void* scale,
                                                      const void* shift, const void* mean, const void* variance,
                                                      double epsilon) {
  return WHARF_DNN_COMPUTE(cudnnBatchNormalizationForwardInference, handle, [&](device::Primitive* primitive) {
    if (mode < CUDNN_BATCHNORM_PER_ACTIVATION || mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT) {
      return BadParameter("a mode of normalization");
    }
    device::BatchNorm n;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha, x_descriptor, x, beta, y_descriptor, y, &n.x, &n));
    WHARF_DNN_RETURN_IF_ERROR(OperandOf("the scale", parameters, scale, &n.scale));
    if (shift == nullptr || mean == nullptr || variance == nullptr) return NullPointer("a parameter");
    if (!(epsilon >= CUDNN_BN_MIN_EPSILON)) return BadParameter("epsilon is too small");
    n.shift = reinterpret_cast<uint64_t>(shift);
    n.mean = reinterpret_cast<uint64_t>(mean);
    n.variance = reinterpret_cast<uint64_t>(variance);
    n.epsilon = epsilon;
    *primitive = n;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived, const cudnnTensorDescriptor_t x,
                                            cudnnBatchNormMode_t mode) {
  return WHARF_DNN_LOCAL(cudnnDeriveBNTensorDescriptor, [&] {
    if (derived == nullptr || x == nullptr) return NullPointer("a descriptor");
    if (x->shape.rank < 3) return BadParameter("a tensor without channels");
    TensorShape shape = x->shape;
    shape.dims[0] = 1;
    for (int i = 2; i < shape.rank && mode != CUDNN_BATCHNORM_PER_ACTIVATION; ++i) shape.dims[i] = 1;
    const cudnnDataType_t type = shape.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    return SetPackedShape(CUDNN_TENSOR_NCHW, type, shape.rank, shape.dims.data(), &derived->shape);
  });
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  const cudnnTensorDescriptor_t x_descriptor, const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t y_descriptor, void* y) {
  return WHARF_DNN_COMPUTE(cudnnPoolingForward, handle, [&](device::Primitive* primitive) {
    if (pooling == nullptr) return NullPointer("the pooling's descriptor");
    const WindowShape& shape = pooling->window;
    if (shape.rank == 0) return BadParameter("a pooling descriptor that was never set");
    if (shape.rank > device::kSpatialDims) return Refused("windows of more than three dimensions");
    device::Pooling p;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha, x_descriptor, x, beta, y_descriptor, y, &p.x, &p));
    if (x_descriptor->shape.rank != shape.rank + 2 || y_descriptor->shape.rank != shape.rank + 2) {
      return BadParameter("tensors and pooling have different numbers of dimensions");
    }
    p.kind = pooling->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? device::PoolingKind::kAverageWithPadding
             : pooling->mode == CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                 ? device::PoolingKind::kAverageWithoutPadding
                 : device::PoolingKind::kMax;
    p.propagates_nan = pooling->nan == CUDNN_PROPAGATE_NAN;
    p.window = ToSpatial(shape.window, shape.rank, 1);
    p.padding = ToSpatial(shape.padding, shape.rank, 0);
    p.stride = ToSpatial(shape.stride, shape.rank, 1);
    *primitive = p;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                                const cudnnTensorDescriptor_t input, int rank, int dims[]) {
  return WHARF_DNN_LOCAL(cudnnGetPoolingNdForwardOutputDim, [&] { return PoolingDims(pooling, input, rank, dims); });
}

cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t pooling,
                                                const cudnnTensorDescriptor_t input, int* n, int* c, int* h, int* w) {
  return WHARF_DNN_LOCAL(cudnnGetPooling2dForwardOutputDim, [&] {
    int dims[4] = {};
    WHARF_DNN_RETURN_IF_ERROR(PoolingDims(pooling, input, 4, dims));
    int* const places[] = {n, c, h, w};
    for (int i = 0; i < 4; ++i) StoreIfWanted(places[i], dims[i]);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                  const void* alpha, const cudnnTensorDescriptor_t x_descriptor, const void* x,
                                  const void* beta, const cudnnTensorDescriptor_t y_descriptor, void* y) {
  return WHARF_DNN_COMPUTE(cudnnSoftmaxForward, handle, [&](device::Primitive* primitive) {
    if (algorithm < CUDNN_SOFTMAX_FAST || algorithm > CUDNN_SOFTMAX_LOG ||
        (mode != CUDNN_SOFTMAX_MODE_INSTANCE && mode != CUDNN_SOFTMAX_MODE_CHANNEL)) {
      return BadParameter("an algorithm or mode of softmax");
    }
    device::Softmax s;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha, x_descriptor, x, beta, y_descriptor, y, &s.x, &s));
    s.log = algorithm == CUDNN_SOFTMAX_LOG;
    s.over_all = mode == CUDNN_SOFTMAX_MODE_INSTANCE;
    *primitive = s;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,
                                     const cudnnTensorDescriptor_t x_descriptor, const void* x, const void* beta,
                                     const cudnnTensorDescriptor_t y_descriptor, void* y) {
  return WHARF_DNN_COMPUTE(cudnnActivationForward, handle, [&](device::Primitive* primitive) {
    device::Pointwise p;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha, x_descriptor, x, beta, y_descriptor, y, &p.a, &p));
    WHARF_DNN_RETURN_IF_ERROR(ActivationOf(activation, &p.activation));
    if (p.a.dims != p.y.dims) return BadParameter("x and y are of different shapes");
    *primitive = p;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t a_descriptor,
                             const void* a, const void* beta, const cudnnTensorDescriptor_t c_descriptor, void* c) {
  return WHARF_DNN_COMPUTE(cudnnAddTensor, handle, [&](device::Primitive* primitive) {
    device::Pointwise p;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha, a_descriptor, a, beta, c_descriptor, c, &p.a, &p));
    *primitive = p;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_descriptor,
                                   const void* x, const void* beta, const cudnnTensorDescriptor_t y_descriptor,
                                   void* y) {
  return WHARF_DNN_COMPUTE(cudnnTransformTensor, handle, [&](device::Primitive* primitive) {
    device::Pointwise p;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha, x_descriptor, x, beta, y_descriptor, y, &p.a, &p));
    if (p.a.dims != p.y.dims) return BadParameter("x and y are of different shapes");
    *primitive = p;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_descriptor, void* y,
                               const void* alpha) {
  return WHARF_DNN_COMPUTE(cudnnScaleTensor, handle, [&](device::Primitive* primitive) {
    constexpr double kNothing = 0;  // read as float or as double
    device::Pointwise p;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha, y_descriptor, y, &kNothing, y_descriptor, y, &p.a, &p));
    *primitive = p;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_descriptor, void* y,
                             const void* value) {
  return WHARF_DNN_COMPUTE(cudnnSetTensor, handle, [&](device::Primitive* primitive) {
    if (value == nullptr) return NullPointer("the value");
    device::Pointwise p;
    p.kind = device::PointwiseKind::kConstant;
    WHARF_DNN_RETURN_IF_ERROR(OperandOf("y", y_descriptor, y, &p.y));
    // As scales are: a double for doubles, a float for all else.
    const bool is_double = y_descriptor->shape.type == CUDNN_DATA_DOUBLE;
    p.alpha_a = ElementAt(is_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, value);
    *primitive = p;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t operation, const void* alpha1,
                            const cudnnTensorDescriptor_t a_descriptor, const void* a, const void* alpha2,
                            const cudnnTensorDescriptor_t b_descriptor, const void* b, const void* beta,
                            const cudnnTensorDescriptor_t c_descriptor, void* c) {
  return WHARF_DNN_COMPUTE(cudnnOpTensor, handle, [&](device::Primitive* primitive) {
    if (operation == nullptr) return NullPointer("the operation's descriptor");
    const auto kind = KindOf(operation->op);
    if (!kind) return Refused("CUDNN_OP_TENSOR_NOT");
    device::Pointwise p;
    p.kind = *kind;
    WHARF_DNN_RETURN_IF_ERROR(SetCommon(alpha1, a_descriptor, a, beta, c_descriptor, c, &p.a, &p));
    p.alpha_a = std::exchange(p.alpha, 1);
    if (device::HasSecond(p.kind)) {
      if (alpha2 == nullptr) return NullPointer("the second scale");
      WHARF_DNN_RETURN_IF_ERROR(OperandOf("b", b_descriptor, b, &p.b));
      p.alpha_b = ScalarOf(c_descriptor->shape.type, alpha2);
    }
    *primitive = p;
    return DnnStatus{};
  });
}

}  // extern "C"
