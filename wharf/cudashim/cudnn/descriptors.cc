// Descriptors of convolutions, pooling, activations and element-wise operations.
#include <algorithm>

#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

constexpr int kMostGroups = 1 << 24;

bool IsActivation(cudnnActivationMode_t mode) {
  return mode >= CUDNN_ACTIVATION_SIGMOID && mode <= CUDNN_ACTIVATION_SWISH;
}

DnnStatus SetConvolution(cudnnConvolutionDescriptor_t convolution, int rank, const int padding[], const int stride[],
                         const int dilation[], cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  if (convolution == nullptr) return NullPointer("the descriptor");
  if (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION) return BadParameter("a convolution mode");
  if (BytesOf(compute) == 0) return BadParameter("a compute type");
  WHARF_DNN_RETURN_IF_ERROR(SetWindow(rank, padding, stride, dilation, &convolution->window));
  convolution->mode = mode;
  convolution->compute = compute;
  return {};
}

DnnStatus SetPooling(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode, cudnnNanPropagation_t nan, int rank,
                     const int window[], const int padding[], const int stride[]) {
  if (pooling == nullptr) return NullPointer("the descriptor");
  if (window == nullptr) return NullPointer("the window");
  if (mode < CUDNN_POOLING_MAX || mode > CUDNN_POOLING_MAX_DETERMINISTIC) return BadParameter("a pooling mode");
  constexpr int kOnes[CUDNN_DIM_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
  WindowShape shape;
  WHARF_DNN_RETURN_IF_ERROR(SetWindow(rank, padding, stride, kOnes, &shape));
  for (int i = 0; i < rank; ++i) {
    if (window[i] < 1) return BadParameter("a window below 1");
    shape.window[i] = window[i];
  }
  pooling->window = shape;
  pooling->mode = mode;
  pooling->nan = nan;
  return {};
}

void StoreSome(const std::array<int, CUDNN_DIM_MAX>& values, int count, int to[]) {
  if (to != nullptr) std::copy_n(values.begin(), count, to);
}

}  // namespace

DnnStatus ActivationOf(cudnnActivationDescriptor_t descriptor, device::ActivationForm* form) {
  if (descriptor == nullptr) return NullPointer("the activation's descriptor");
  using enum device::Activation;
  switch (descriptor->mode) {
    case CUDNN_ACTIVATION_SIGMOID:
      *form = {kSigmoid, 0};
      return {};
    case CUDNN_ACTIVATION_RELU:
      *form = {kRelu, 0};
      return {};
    case CUDNN_ACTIVATION_TANH:
      *form = {kTanh, 0};
      return {};
    case CUDNN_ACTIVATION_CLIPPED_RELU:
      *form = {kClippedRelu, descriptor->coefficient};
      return {};
    case CUDNN_ACTIVATION_ELU:
      *form = {kElu, descriptor->coefficient};
      return {};
    case CUDNN_ACTIVATION_IDENTITY:
      *form = {kNone, 0};
      return {};
    case CUDNN_ACTIVATION_SWISH:
      *form = {kSwish, descriptor->swish_beta};
      return {};
  }
  return BadParameter("an activation mode");
}

DnnStatus DescribeConvolution(cudnnConvolutionDescriptor_t convolution, device::Convolution* described) {
  if (convolution == nullptr) return NullPointer("the convolution's descriptor");
  const WindowShape& window = convolution->window;
  if (window.rank == 0) return BadParameter("a convolution's descriptor that was never set");
  if (window.rank > device::kSpatialDims) return Refused("windows of more than three dimensions");
  described->flipped = convolution->mode == CUDNN_CONVOLUTION;
  described->tf32 = convolution->math != CUDNN_FMA_MATH;
  described->padding = ToSpatial(window.padding, window.rank, 0);
  described->stride = ToSpatial(window.stride, window.rank, 1);
  described->dilation = ToSpatial(window.dilation, window.rank, 1);
  described->groups = convolution->groups;
  return {};
}

}  // namespace wharf::cudashim

using namespace wharf::cudashim;  // NOLINT

extern "C" {

// --- convolutions ---

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  return WHARF_DNN_LOCAL(cudnnCreateConvolutionDescriptor, [&] { return CreateNew(convolution); });
}

cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  return WHARF_DNN_LOCAL(cudnnDestroyConvolutionDescriptor, [&] { return Destroy(convolution); });
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convolution, int rank, const int padding[],
                                              const int stride[], const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  return WHARF_DNN_LOCAL(cudnnSetConvolutionNdDescriptor,
                         [&] { return SetConvolution(convolution, rank, padding, stride, dilation, mode, compute); });
}

cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  return WHARF_DNN_LOCAL(cudnnSetConvolution2dDescriptor, [&] {
    const int padding[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w}, dilation[] = {dilation_h, dilation_w};
    return SetConvolution(convolution, 2, padding, stride, dilation, mode, compute);
  });
}

cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t convolution, int wanted, int* rank,
                                              int padding[], int stride[], int dilation[], cudnnConvolutionMode_t* mode,
                                              cudnnDataType_t* compute) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionNdDescriptor, [&] {
    if (convolution == nullptr) return NullPointer("the descriptor");
    if (wanted < 0) return BadParameter("a negative number of dimensions is asked for");
    const WindowShape& window = convolution->window;
    const int count = std::min(wanted, window.rank);
    StoreIfWanted(rank, window.rank);
    StoreSome(window.padding, count, padding);
    StoreSome(window.stride, count, stride);
    StoreSome(window.dilation, count, dilation);
    StoreIfWanted(mode, convolution->mode);
    StoreIfWanted(compute, convolution->compute);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t convolution, int* pad_h, int* pad_w,
                                              int* stride_h, int* stride_w, int* dilation_h, int* dilation_w,
                                              cudnnConvolutionMode_t* mode, cudnnDataType_t* compute) {
  return WHARF_DNN_LOCAL(cudnnGetConvolution2dDescriptor, [&] {
    if (convolution == nullptr) return NullPointer("the descriptor");
    const WindowShape& window = convolution->window;
    if (window.rank != 2) return BadParameter("the convolution has other than two dimensions");
    StoreIfWanted(pad_h, window.padding[0]);
    StoreIfWanted(pad_w, window.padding[1]);
    StoreIfWanted(stride_h, window.stride[0]);
    StoreIfWanted(stride_w, window.stride[1]);
    StoreIfWanted(dilation_h, window.dilation[0]);
    StoreIfWanted(dilation_w, window.dilation[1]);
    StoreIfWanted(mode, convolution->mode);
    StoreIfWanted(compute, convolution->compute);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  return WHARF_DNN_LOCAL(cudnnSetConvolutionGroupCount, [&] {
    if (convolution == nullptr) return NullPointer("the descriptor");
    if (groups < 1 || groups > kMostGroups) return BadParameter("a number of groups");
    return StoreTo(&convolution->groups, groups);
  });
}

cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int* groups) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionGroupCount, [&] {
    return convolution == nullptr ? NullPointer("the descriptor") : StoreTo(groups, convolution->groups);
  });
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  return WHARF_DNN_LOCAL(cudnnSetConvolutionMathType, [&] {
    if (convolution == nullptr) return NullPointer("the descriptor");
    if (math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH) return BadParameter("a math type");
    return StoreTo(&convolution->math, math);
  });
}

cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t* math) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionMathType, [&] {
    return convolution == nullptr ? NullPointer("the descriptor") : StoreTo(math, convolution->math);
  });
}

cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t convolution, cudnnReorderType_t reorder) {
  return WHARF_DNN_LOCAL(cudnnSetConvolutionReorderType, [&] {
    return convolution == nullptr ? NullPointer("the descriptor") : StoreTo(&convolution->reorder, reorder);
  });
}

cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t convolution, cudnnReorderType_t* reorder) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionReorderType, [&] {
    return convolution == nullptr ? NullPointer("the descriptor") : StoreTo(reorder, convolution->reorder);
  });
}

// --- pooling ---

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* pooling) {
  return WHARF_DNN_LOCAL(cudnnCreatePoolingDescriptor, [&] { return CreateNew(pooling); });
}

cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t pooling) {
  return WHARF_DNN_LOCAL(cudnnDestroyPoolingDescriptor, [&] { return Destroy(pooling); });
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int window_h, int window_w, int pad_h, int pad_w,
                                          int stride_h, int stride_w) {
  return WHARF_DNN_LOCAL(cudnnSetPooling2dDescriptor, [&] {
    const int window[] = {window_h, window_w}, padding[] = {pad_h, pad_w}, stride[] = {stride_h, stride_w};
    return SetPooling(pooling, mode, nan, 2, window, padding, stride);
  });
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t nan, int rank, const int window[], const int padding[],
                                          const int stride[]) {
  return WHARF_DNN_LOCAL(cudnnSetPoolingNdDescriptor,
                         [&] { return SetPooling(pooling, mode, nan, rank, window, padding, stride); });
}

cudnnStatus_t cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t pooling, int wanted, cudnnPoolingMode_t* mode,
                                          cudnnNanPropagation_t* nan, int* rank, int window[], int padding[],
                                          int stride[]) {
  return WHARF_DNN_LOCAL(cudnnGetPoolingNdDescriptor, [&] {
    if (pooling == nullptr) return NullPointer("the descriptor");
    if (wanted < 0) return BadParameter("a negative number of dimensions is asked for");
    const int count = std::min(wanted, pooling->window.rank);
    StoreIfWanted(mode, pooling->mode);
    StoreIfWanted(nan, pooling->nan);
    StoreIfWanted(rank, pooling->window.rank);
    StoreSome(pooling->window.window, count, window);
    StoreSome(pooling->window.padding, count, padding);
    StoreSome(pooling->window.stride, count, stride);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t* mode,
                                          cudnnNanPropagation_t* nan, int* window_h, int* window_w, int* pad_h,
                                          int* pad_w, int* stride_h, int* stride_w) {
  return WHARF_DNN_LOCAL(cudnnGetPooling2dDescriptor, [&] {
    if (pooling == nullptr) return NullPointer("the descriptor");
    const WindowShape& shape = pooling->window;
    if (shape.rank != 2) return BadParameter("the pooling has other than two dimensions");
    StoreIfWanted(mode, pooling->mode);
    StoreIfWanted(nan, pooling->nan);
    StoreIfWanted(window_h, shape.window[0]);
    StoreIfWanted(window_w, shape.window[1]);
    StoreIfWanted(pad_h, shape.padding[0]);
    StoreIfWanted(pad_w, shape.padding[1]);
    StoreIfWanted(stride_h, shape.stride[0]);
    StoreIfWanted(stride_w, shape.stride[1]);
    return DnnStatus{};
  });
}

// --- activations ---

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activation) {
  return WHARF_DNN_LOCAL(cudnnCreateActivationDescriptor, [&] { return CreateNew(activation); });
}

cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activation) {
  return WHARF_DNN_LOCAL(cudnnDestroyActivationDescriptor, [&] { return Destroy(activation); });
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t nan, double coefficient) {
  return WHARF_DNN_LOCAL(cudnnSetActivationDescriptor, [&] {
    if (activation == nullptr) return NullPointer("the descriptor");
    if (!IsActivation(mode)) return BadParameter("an activation mode");
    activation->mode = mode;
    activation->nan = nan;
    activation->coefficient = coefficient;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t activation, cudnnActivationMode_t* mode,
                                           cudnnNanPropagation_t* nan, double* coefficient) {
  return WHARF_DNN_LOCAL(cudnnGetActivationDescriptor, [&] {
    if (activation == nullptr) return NullPointer("the descriptor");
    StoreIfWanted(mode, activation->mode);
    StoreIfWanted(nan, activation->nan);
    StoreIfWanted(coefficient, activation->coefficient);
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activation, double beta) {
  return WHARF_DNN_LOCAL(cudnnSetActivationDescriptorSwishBeta, [&] {
    return activation == nullptr ? NullPointer("the descriptor") : StoreTo(&activation->swish_beta, beta);
  });
}

cudnnStatus_t cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activation, double* beta) {
  return WHARF_DNN_LOCAL(cudnnGetActivationDescriptorSwishBeta, [&] {
    return activation == nullptr ? NullPointer("the descriptor") : StoreTo(beta, activation->swish_beta);
  });
}

// --- element-wise operations ---

cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* operation) {
  return WHARF_DNN_LOCAL(cudnnCreateOpTensorDescriptor, [&] { return CreateNew(operation); });
}

cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t operation) {
  return WHARF_DNN_LOCAL(cudnnDestroyOpTensorDescriptor, [&] { return Destroy(operation); });
}

cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t operation, cudnnOpTensorOp_t op,
                                         cudnnDataType_t compute, cudnnNanPropagation_t nan) {
  return WHARF_DNN_LOCAL(cudnnSetOpTensorDescriptor, [&] {
    if (operation == nullptr) return NullPointer("the descriptor");
    if (op < CUDNN_OP_TENSOR_ADD || op > CUDNN_OP_TENSOR_NOT) return BadParameter("an operation");
    operation->op = op;
    operation->compute = compute;
    operation->nan = nan;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t operation, cudnnOpTensorOp_t* op,
                                         cudnnDataType_t* compute, cudnnNanPropagation_t* nan) {
  return WHARF_DNN_LOCAL(cudnnGetOpTensorDescriptor, [&] {
    if (operation == nullptr) return NullPointer("the descriptor");
    StoreIfWanted(op, operation->op);
    StoreIfWanted(compute, operation->compute);
    StoreIfWanted(nan, operation->nan);
    return DnnStatus{};
  });
}

}  // extern "C"
