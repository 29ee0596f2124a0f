// Convolutions forward and with respect to the data. There is one algorithm, without workspace: the library on the
// server chooses by itself, and takes what it needs there.
#include <algorithm>

#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

// A pointer to stand for data when a convolution is only looked at; aligned for every type.
const void* const kSomewhere = reinterpret_cast<const void*>(uint64_t{1} << 20);

struct ConvolutionCall {
  cudnnTensorDescriptor_t x_descriptor;
  const void* x;
  cudnnFilterDescriptor_t filter_descriptor;
  const void* filter;
  cudnnConvolutionDescriptor_t convolution;
  cudnnTensorDescriptor_t y_descriptor;
  const void* y;
};

DnnStatus Describe(const ConvolutionCall& call, bool transposed, device::Convolution* described) {
  described->transposed = transposed;
  WHARF_DNN_RETURN_IF_ERROR(DescribeConvolution(call.convolution, described));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("x", call.x_descriptor, call.x, &described->x));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("the filter", call.filter_descriptor, call.filter, &described->filter));
  WHARF_DNN_RETURN_IF_ERROR(OperandOf("y", call.y_descriptor, call.y, &described->y));
  const int rank = call.convolution->window.rank + 2;
  if (call.x_descriptor->shape.rank != rank || call.filter_descriptor->shape.rank != rank ||
      call.y_descriptor->shape.rank != rank) {
    return BadParameter("tensors, filter and convolution have different numbers of dimensions");
  }
  return {};
}

// Whether it could be run, were there data.
DnnStatus Inspect(ConvolutionCall call, bool transposed) {
  call.x = call.filter = call.y = kSomewhere;
  device::Convolution described;
  WHARF_DNN_RETURN_IF_ERROR(Describe(call, transposed, &described));
  std::string why;
  const CudaError error = client::CheckPrimitive(described, &why);
  return ToDnnStatus(error, std::move(why));
}

template <typename Performance, typename Algorithm>
DnnStatus OfferOne(const ConvolutionCall& call, bool transposed, Algorithm algorithm, int wanted, int* count,
                   Performance* results) {
  if (count == nullptr || results == nullptr) return NullPointer("where the answer belongs");
  if (wanted < 1) return BadParameter("no algorithm is asked for");
  WHARF_DNN_RETURN_IF_ERROR(Inspect(call, transposed));
  results[0] = {};
  results[0].algo = algorithm;
  results[0].status = CUDNN_STATUS_SUCCESS;
  results[0].time = -1;  // not measured
  results[0].memory = 0;
  results[0].determinism = CUDNN_DETERMINISTIC;
  results[0].mathType = call.convolution->math;
  *count = 1;
  return {};
}

constexpr auto kForward = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
constexpr auto kBackward = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;

// Which of them is the same: there is one.
template <typename Algorithm>
DnnStatus CheckAlgorithm(Algorithm algorithm, Algorithm end) {
  if (static_cast<int>(algorithm) >= 0 && algorithm < end) return {};
  return BadParameter("there is no such algorithm");
}

// What is blended with the result, if anything.
void SetBlend(const device::Tensor& result, double alpha, double beta, device::Convolution* described) {
  described->alpha = alpha;
  described->beta = beta;
  if (beta != 0) described->added = result;
}

DnnStatus OutputDims(cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t input,
                     cudnnFilterDescriptor_t filter, int rank, int dims[]) {
  if (convolution == nullptr || input == nullptr || filter == nullptr || dims == nullptr) {
    return NullPointer("a descriptor or the place of the answer");
  }
  const TensorShape &in = input->shape, &window = filter->shape;
  const WindowShape& shape = convolution->window;
  if (rank != in.rank || rank != window.rank || rank != shape.rank + 2) {
    return BadParameter("tensors, filter and convolution have different numbers of dimensions");
  }
  if (in.dims[1] != int64_t{window.dims[1]} * convolution->groups) {
    return BadParameter("the input has other channels than the filter and groups say");
  }
  dims[0] = in.dims[0];
  dims[1] = window.dims[0];
  for (int i = 0; i < shape.rank; ++i) {
    const int64_t size =
        OutputSize(in.dims[i + 2], window.dims[i + 2], shape.padding[i], shape.stride[i], shape.dilation[i]);
    if (size < 1) return BadParameter("the window is larger than the input");
    dims[i + 2] = static_cast<int>(size);
  }
  return {};
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                    const cudnnTensorDescriptor_t input,
                                                    const cudnnFilterDescriptor_t filter, int rank, int dims[]) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionNdForwardOutputDim,
                         [&] { return OutputDims(convolution, input, filter, rank, dims); });
}

cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                    const cudnnTensorDescriptor_t input,
                                                    const cudnnFilterDescriptor_t filter, int* n, int* c, int* h,
                                                    int* w) {
  return WHARF_DNN_LOCAL(cudnnGetConvolution2dForwardOutputDim, [&] {
    int dims[4] = {};
    WHARF_DNN_RETURN_IF_ERROR(OutputDims(convolution, input, filter, 4, dims));
    int* const places[] = {n, c, h, w};
    for (int i = 0; i < 4; ++i) StoreIfWanted(places[i], dims[i]);
    return DnnStatus{};
  });
}

// --- forward ---

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x_descriptor, const void* x,
                                      const cudnnFilterDescriptor_t filter_descriptor, const void* filter,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void*, size_t, const void* beta,
                                      const cudnnTensorDescriptor_t y_descriptor, void* y) {
  return WHARF_DNN_COMPUTE(cudnnConvolutionForward, handle, [&](device::Primitive* primitive) {
    if (alpha == nullptr || beta == nullptr) return NullPointer("alpha or beta");
    WHARF_DNN_RETURN_IF_ERROR(CheckAlgorithm(algorithm, CUDNN_CONVOLUTION_FWD_ALGO_COUNT));
    device::Convolution c;
    WHARF_DNN_RETURN_IF_ERROR(
        Describe({x_descriptor, x, filter_descriptor, filter, convolution, y_descriptor, y}, false, &c));
    const cudnnDataType_t type = y_descriptor->shape.type;
    SetBlend(c.y, ScalarOf(type, alpha), ScalarOf(type, beta), &c);
    *primitive = c;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, const cudnnTensorDescriptor_t x_descriptor, const void* x,
    const cudnnFilterDescriptor_t filter_descriptor, const void* filter, const cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algorithm, void*, size_t, const void* alpha2, const cudnnTensorDescriptor_t z_descriptor,
    const void* z, const cudnnTensorDescriptor_t bias_descriptor, const void* bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_descriptor, void* y) {
  return WHARF_DNN_COMPUTE(cudnnConvolutionBiasActivationForward, handle, [&](device::Primitive* primitive) {
    if (alpha1 == nullptr || alpha2 == nullptr) return NullPointer("a scale");
    WHARF_DNN_RETURN_IF_ERROR(CheckAlgorithm(algorithm, CUDNN_CONVOLUTION_FWD_ALGO_COUNT));
    device::Convolution c;
    WHARF_DNN_RETURN_IF_ERROR(
        Describe({x_descriptor, x, filter_descriptor, filter, convolution, y_descriptor, y}, false, &c));
    WHARF_DNN_RETURN_IF_ERROR(ActivationOf(activation, &c.activation));
    device::Tensor bias_tensor;
    WHARF_DNN_RETURN_IF_ERROR(OperandOf("the bias", bias_descriptor, bias, &bias_tensor));
    const std::array<int32_t, device::kTensorDims> one_a_channel{1, c.y.dims[1], 1, 1, 1};
    if (bias_tensor.dims != one_a_channel || (c.y.dims[1] > 1 && bias_tensor.strides[1] != 1)) {
      return BadParameter("the bias is not one number a channel, one after the other");
    }
    c.bias = bias_tensor.address;
    c.bias_type = bias_tensor.type;
    const cudnnDataType_t type = y_descriptor->shape.type;
    c.alpha = ScalarOf(type, alpha1);
    c.beta = ScalarOf(type, alpha2);
    if (c.beta != 0) WHARF_DNN_RETURN_IF_ERROR(OperandOf("z", z_descriptor, z, &c.added));
    *primitive = c;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionForwardAlgorithmMaxCount, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return StoreTo(count, 1);
  });
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                     const cudnnFilterDescriptor_t filter,
                                                     const cudnnConvolutionDescriptor_t convolution,
                                                     const cudnnTensorDescriptor_t y, const int wanted, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionForwardAlgorithm_v7, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return OfferOne({x, nullptr, filter, nullptr, convolution, y, nullptr}, false, kForward, wanted, count, results);
  });
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                   const cudnnFilterDescriptor_t filter,
                                                   const cudnnConvolutionDescriptor_t convolution,
                                                   const cudnnTensorDescriptor_t y, const int wanted, int* count,
                                                   cudnnConvolutionFwdAlgoPerf_t* results) {
  return WHARF_DNN_LOCAL(cudnnFindConvolutionForwardAlgorithm, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return OfferOne({x, nullptr, filter, nullptr, convolution, y, nullptr}, false, kForward, wanted, count, results);
  });
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void*,
                                                     const cudnnFilterDescriptor_t filter, const void*,
                                                     const cudnnConvolutionDescriptor_t convolution,
                                                     const cudnnTensorDescriptor_t y, void*, const int wanted,
                                                     int* count, cudnnConvolutionFwdAlgoPerf_t* results, void*,
                                                     size_t) {
  return WHARF_DNN_LOCAL(cudnnFindConvolutionForwardAlgorithmEx, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return OfferOne({x, nullptr, filter, nullptr, convolution, y, nullptr}, false, kForward, wanted, count, results);
  });
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                                      const cudnnFilterDescriptor_t filter,
                                                      const cudnnConvolutionDescriptor_t convolution,
                                                      const cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* size) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionForwardWorkspaceSize, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    WHARF_DNN_RETURN_IF_ERROR(CheckAlgorithm(algorithm, CUDNN_CONVOLUTION_FWD_ALGO_COUNT));
    WHARF_DNN_RETURN_IF_ERROR(Inspect({x, nullptr, filter, nullptr, convolution, y, nullptr}, false));
    return StoreTo(size, size_t{0});
  });
}

// --- with respect to the data ---

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t filter_descriptor, const void* filter,
                                           const cudnnTensorDescriptor_t dy_descriptor, const void* dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void*, size_t, const void* beta,
                                           const cudnnTensorDescriptor_t dx_descriptor, void* dx) {
  return WHARF_DNN_COMPUTE(cudnnConvolutionBackwardData, handle, [&](device::Primitive* primitive) {
    if (alpha == nullptr || beta == nullptr) return NullPointer("alpha or beta");
    WHARF_DNN_RETURN_IF_ERROR(CheckAlgorithm(algorithm, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT));
    device::Convolution c;
    WHARF_DNN_RETURN_IF_ERROR(
        Describe({dx_descriptor, dx, filter_descriptor, filter, convolution, dy_descriptor, dy}, true, &c));
    const cudnnDataType_t type = dx_descriptor->shape.type;
    SetBlend(c.x, ScalarOf(type, alpha), ScalarOf(type, beta), &c);
    *primitive = c;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithmMaxCount(cudnnHandle_t handle, int* count) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionBackwardDataAlgorithmMaxCount, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return StoreTo(count, 1);
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle, const cudnnFilterDescriptor_t filter,
                                                          const cudnnTensorDescriptor_t dy,
                                                          const cudnnConvolutionDescriptor_t convolution,
                                                          const cudnnTensorDescriptor_t dx, const int wanted,
                                                          int* count, cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionBackwardDataAlgorithm_v7, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return OfferOne({dx, nullptr, filter, nullptr, convolution, dy, nullptr}, true, kBackward, wanted, count, results);
  });
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, const cudnnFilterDescriptor_t filter,
                                                        const cudnnTensorDescriptor_t dy,
                                                        const cudnnConvolutionDescriptor_t convolution,
                                                        const cudnnTensorDescriptor_t dx, const int wanted, int* count,
                                                        cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return WHARF_DNN_LOCAL(cudnnFindConvolutionBackwardDataAlgorithm, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return OfferOne({dx, nullptr, filter, nullptr, convolution, dy, nullptr}, true, kBackward, wanted, count, results);
  });
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle, const cudnnFilterDescriptor_t filter,
                                                          const void*, const cudnnTensorDescriptor_t dy, const void*,
                                                          const cudnnConvolutionDescriptor_t convolution,
                                                          const cudnnTensorDescriptor_t dx, void*, const int wanted,
                                                          int* count, cudnnConvolutionBwdDataAlgoPerf_t* results, void*,
                                                          size_t) {
  return WHARF_DNN_LOCAL(cudnnFindConvolutionBackwardDataAlgorithmEx, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return OfferOne({dx, nullptr, filter, nullptr, convolution, dy, nullptr}, true, kBackward, wanted, count, results);
  });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle, const cudnnFilterDescriptor_t filter,
                                                           const cudnnTensorDescriptor_t dy,
                                                           const cudnnConvolutionDescriptor_t convolution,
                                                           const cudnnTensorDescriptor_t dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm, size_t* size) {
  return WHARF_DNN_LOCAL(cudnnGetConvolutionBackwardDataWorkspaceSize, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    WHARF_DNN_RETURN_IF_ERROR(CheckAlgorithm(algorithm, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT));
    WHARF_DNN_RETURN_IF_ERROR(Inspect({dx, nullptr, filter, nullptr, convolution, dy, nullptr}, true));
    return StoreTo(size, size_t{0});
  });
}

}  // extern "C"
