// Batch normalization when a network trains, which only a server with cuDNN computes (device/dnn_norm.h). What is said
// here of memory is that none is needed: nothing is kept for the way back but the mean and the variance.
#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

DnnStatus CheckForm(cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, double epsilon) {
  if (mode < CUDNN_BATCHNORM_PER_ACTIVATION || mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT) {
    return BadParameter("a mode of normalization");
  }
  if (operations == CUDNN_BATCHNORM_OPS_BN_ACTIVATION || operations == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION) {
    return Refused("batch normalization with an activation (CUDNN_BATCHNORM_OPS_BN_ACTIVATION and _ADD_ACTIVATION)");
  }
  if (operations != CUDNN_BATCHNORM_OPS_BN) return BadParameter("what is done beside normalization");
  if (!(epsilon >= CUDNN_BN_MIN_EPSILON)) return BadParameter("epsilon is too small");
  return {};
}

DnnStatus NeedsNone(cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, size_t* bytes) {
  WHARF_DNN_RETURN_IF_ERROR(CheckForm(mode, operations, CUDNN_BN_MIN_EPSILON));
  return StoreTo<size_t>(bytes, 0);
}

DnnStatus SetPair(const char* names, const void* first, const void* second, uint64_t* to_first, uint64_t* to_second) {
  if ((first == nullptr) != (second == nullptr)) return NullPointer(names);
  *to_first = reinterpret_cast<uint64_t>(first);
  *to_second = reinterpret_cast<uint64_t>(second);
  return {};
}

DnnStatus SetScalars(cudnnTensorDescriptor_t of, const void* alpha, const void* beta, double* to_alpha,
                     double* to_beta) {
  if (alpha == nullptr || beta == nullptr) return NullPointer("alpha or beta");
  *to_alpha = ScalarOf(of->shape.type, alpha);
  *to_beta = ScalarOf(of->shape.type, beta);
  return {};
}

DnnStatus ToPrimitive(const device::DnnNorm& norm, const char* function, device::Primitive* primitive) {
  if (!ServerHasCudnn()) {
    client::ReportUnsupported(function);
    return Refused("batch normalization in training, on a server without cuDNN");
  }
  *primitive = client::DescribeNorm(norm);
  return {};
}

struct ForwardCall {
  cudnnBatchNormMode_t mode;
  cudnnBatchNormOps_t operations;
  const void *alpha, *beta;
  cudnnTensorDescriptor_t x_descriptor;
  const void* x;
  cudnnTensorDescriptor_t y_descriptor;
  const void* y;
  cudnnTensorDescriptor_t parameters;
  const void *scale, *shift;
  double factor;
  const void *mean, *variance;
  double epsilon;
  const void *saved_mean, *saved_inverse;
};
DnnStatus Describe(const ForwardCall& call, device::DnnNorm* n) {
  WHARF_DNN_RETURN_IF_ERROR(CheckForm(call.mode, call.operations, call.epsilon));
  n->mode = call.mode;
  n->epsilon = call.epsilon;
  n->factor = call.factor;
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("x", call.x_descriptor, call.x, &n->x));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("y", call.y_descriptor, call.y, &n->y));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("the scale", call.parameters, call.scale, &n->scale));
  WHARF_DNN_RETURN_IF_ERROR(SetScalars(call.x_descriptor, call.alpha, call.beta, &n->alpha, &n->beta));
  if (call.shift == nullptr) return NullPointer("the shift");
  n->shift = reinterpret_cast<uint64_t>(call.shift);
  WHARF_DNN_RETURN_IF_ERROR(SetPair("the running mean or variance", call.mean, call.variance, &n->mean, &n->variance));
  return SetPair("the saved mean or variance", call.saved_mean, call.saved_inverse, &n->saved_mean, &n->saved_inverse);
}

struct BackwardCall {
  cudnnBatchNormMode_t mode;
  cudnnBatchNormOps_t operations;
  const void *alpha, *beta, *parameter_alpha, *parameter_beta;
  cudnnTensorDescriptor_t x_descriptor;
  const void* x;
  cudnnTensorDescriptor_t dy_descriptor;
  const void* dy;
  cudnnTensorDescriptor_t dx_descriptor;
  const void* dx;
  cudnnTensorDescriptor_t parameters;
  const void *scale, *dscale, *dshift;
  double epsilon;
  const void *saved_mean, *saved_inverse;
};
DnnStatus Describe(const BackwardCall& call, device::DnnNorm* n) {
  WHARF_DNN_RETURN_IF_ERROR(CheckForm(call.mode, call.operations, call.epsilon));
  n->backward = true;
  n->mode = call.mode;
  n->epsilon = call.epsilon;
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("x", call.x_descriptor, call.x, &n->x));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("dy", call.dy_descriptor, call.dy, &n->y));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("dx", call.dx_descriptor, call.dx, &n->dx));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("the scale", call.parameters, call.scale, &n->scale));
  WHARF_DNN_RETURN_IF_ERROR(SetScalars(call.x_descriptor, call.alpha, call.beta, &n->alpha, &n->beta));
  WHARF_DNN_RETURN_IF_ERROR(SetScalars(call.x_descriptor, call.parameter_alpha, call.parameter_beta,
                                       &n->parameter_alpha, &n->parameter_beta));
  if (call.dscale == nullptr || call.dshift == nullptr) return NullPointer("a gradient's place");
  n->dscale = reinterpret_cast<uint64_t>(call.dscale);
  n->dshift = reinterpret_cast<uint64_t>(call.dshift);
  return SetPair("the saved mean or variance", call.saved_mean, call.saved_inverse, &n->saved_mean, &n->saved_inverse);
}

template <typename What>
cudnnStatus_t Normalize(Call call, const char* function, cudnnHandle_t handle, const What& what) {
  return Compute(call, function, handle, [&](device::Primitive* primitive) {
    device::DnnNorm norm;
    WHARF_DNN_RETURN_IF_ERROR(Describe(what, &norm));
    return ToPrimitive(norm, function, primitive);
  });
}
#define WHARF_DNN_NORMALIZE(function, handle, ...) \
  wharf::cudashim::Normalize(wharf::client::Call::k_##function, #function, handle, __VA_ARGS__)

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  return WHARF_DNN_LOCAL(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize,
                         [&] { return NeedsNone(mode, operations, bytes); });
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t, size_t* bytes) {
  return WHARF_DNN_LOCAL(cudnnGetBatchNormalizationBackwardExWorkspaceSize,
                         [&] { return NeedsNone(mode, operations, bytes); });
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t, cudnnBatchNormMode_t mode,
                                                                   cudnnBatchNormOps_t operations,
                                                                   const cudnnActivationDescriptor_t,
                                                                   const cudnnTensorDescriptor_t, size_t* bytes) {
  return WHARF_DNN_LOCAL(cudnnGetBatchNormalizationTrainingExReserveSpaceSize,
                         [&] { return NeedsNone(mode, operations, bytes); });
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                                                     const void* beta, const cudnnTensorDescriptor_t x_descriptor,
                                                     const void* x, const cudnnTensorDescriptor_t y_descriptor, void* y,
                                                     const cudnnTensorDescriptor_t parameters, const void* scale,
                                                     const void* shift, double factor, void* mean, void* variance,
                                                     double epsilon, void* saved_mean, void* saved_inverse) {
  return WHARF_DNN_NORMALIZE(
      cudnnBatchNormalizationForwardTraining, handle,
      ForwardCall{mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, x_descriptor, x, y_descriptor, y, parameters, scale, shift,
                  factor, mean, variance, epsilon, saved_mean, saved_inverse});
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, const void* alpha,
    const void* beta, const cudnnTensorDescriptor_t x_descriptor, const void* x, const cudnnTensorDescriptor_t,
    const void*, const cudnnTensorDescriptor_t y_descriptor, void* y, const cudnnTensorDescriptor_t parameters,
    const void* scale, const void* shift, double factor, void* mean, void* variance, double epsilon, void* saved_mean,
    void* saved_inverse, cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  return WHARF_DNN_NORMALIZE(cudnnBatchNormalizationForwardTrainingEx, handle,
                             ForwardCall{mode, operations, alpha, beta, x_descriptor, x, y_descriptor, y, parameters,
                                         scale, shift, factor, mean, variance, epsilon, saved_mean, saved_inverse});
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                                              const void* beta, const void* parameter_alpha, const void* parameter_beta,
                                              const cudnnTensorDescriptor_t x_descriptor, const void* x,
                                              const cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                              const cudnnTensorDescriptor_t dx_descriptor, void* dx,
                                              const cudnnTensorDescriptor_t parameters, const void* scale, void* dscale,
                                              void* dshift, double epsilon, const void* saved_mean,
                                              const void* saved_inverse) {
  return WHARF_DNN_NORMALIZE(cudnnBatchNormalizationBackward, handle,
                             BackwardCall{mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, parameter_alpha, parameter_beta,
                                          x_descriptor, x, dy_descriptor, dy, dx_descriptor, dx, parameters, scale,
                                          dscale, dshift, epsilon, saved_mean, saved_inverse});
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations, const void* alpha,
    const void* beta, const void* parameter_alpha, const void* parameter_beta,
    const cudnnTensorDescriptor_t x_descriptor, const void* x, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t dy_descriptor, const void* dy, const cudnnTensorDescriptor_t, void*,
    const cudnnTensorDescriptor_t dx_descriptor, void* dx, const cudnnTensorDescriptor_t parameters, const void* scale,
    const void*, void* dscale, void* dshift, double epsilon, const void* saved_mean, const void* saved_inverse,
    cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  return WHARF_DNN_NORMALIZE(
      cudnnBatchNormalizationBackwardEx, handle,
      BackwardCall{mode, operations, alpha, beta, parameter_alpha, parameter_beta, x_descriptor, x, dy_descriptor, dy,
                   dx_descriptor, dx, parameters, scale, dscale, dshift, epsilon, saved_mean, saved_inverse});
}

}  // extern "C"
