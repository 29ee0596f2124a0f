// A cuDNN on host memory, for tests of dnn/dnn.cc with the fake driver: the functions that it calls, with the vendor's
// own declarations, on the software device's primitives. What is asked for is done before a call returns.
#include "wharf/device/cuda/testing/fake_cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "wharf/device/primitive.h"
#include "wharf/device/soft/primitives/primitives.h"

namespace device = wharf::device;

struct cudnnFilterStruct {
  cudnnTensorStruct tensor;
};
struct cudnnConvolutionStruct {
  std::vector<int> padding, stride, dilation;
  bool flipped = false;
  int groups = 1;
};
struct cudnnPoolingStruct {
  std::vector<int> window, padding, stride;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  bool propagates_nan = false;
};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  double coefficient = 0;
};
struct cudnnOpTensorStruct {
  cudnnOpTensorOp_t op = CUDNN_OP_TENSOR_ADD;
};
struct cudnnDropoutStruct {
  float dropout = 1;
};
struct cudnnRNNStruct {
  device::Recurrent network;
  // An LSTM's weights lie here as they do in a program of ours; those of all others have gaps in front.
  int64_t Gap() const { return network.cell == device::RecurrentCell::kLstm ? 0 : 8; }
};
struct cudnnRNNDataStruct {
  device::Recurrent sequences;
  int width = 0;
};

namespace {

constexpr size_t kWorkspace = 4096;

device::ElementType ElementTypeOf(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE     ? device::ElementType::kF64
         : type == CUDNN_DATA_HALF     ? device::ElementType::kF16
         : type == CUDNN_DATA_BFLOAT16 ? device::ElementType::kBF16
                                       : device::ElementType::kF32;
}
double Scalar(cudnnTensorDescriptor_t of, const void* scalar) {
  if (of->type == CUDNN_DATA_DOUBLE) return *static_cast<const double*>(scalar);
  return static_cast<double>(*static_cast<const float*>(scalar));
}

cudnnStatus_t RunOn(cudnnHandle_t handle, const device::Primitive& primitive) {
  if (!device::CheckPrimitive(primitive, [](uint64_t, uint64_t) { return true; }).ok()) return CUDNN_STATUS_BAD_PARAM;
  return QueueFakeDnn(handle, [primitive] { device::soft::RunPrimitive(primitive); });
}

template <typename T>
cudnnStatus_t Create(T** place) {
  *place = new T();
  return CUDNN_STATUS_SUCCESS;
}
template <typename T>
cudnnStatus_t Destroy(T* object) {
  delete object;
  return CUDNN_STATUS_SUCCESS;
}

device::Convolution ConvolutionOf(cudnnConvolutionDescriptor_t from) {
  device::Convolution c;
  c.padding = SpatialOf(from->padding, 0);
  c.stride = SpatialOf(from->stride, 1);
  c.dilation = SpatialOf(from->dilation, 1);
  c.flipped = from->flipped;
  c.groups = from->groups;
  return c;
}
template <typename Performance>
cudnnStatus_t OfferAlgorithm(int* count, Performance* results) {
  results[0] = {};
  results[0].status = CUDNN_STATUS_NOT_SUPPORTED;  // the best is not there
  results[1] = {};
  results[1].memory = kWorkspace;
  *count = 2;
  return CUDNN_STATUS_SUCCESS;
}
bool HasWorkspace(const void* workspace, size_t bytes) { return workspace != nullptr && bytes >= kWorkspace; }

}  // namespace

device::Tensor TensorOf(const cudnnTensorStruct& from, const void* data) {
  device::Tensor tensor;
  tensor.address = reinterpret_cast<uint64_t>(data);
  tensor.type = ElementTypeOf(from.type);
  const size_t rank = from.dims.size();
  for (size_t i = 0; i < rank; ++i) {
    const size_t at = i < 2 ? i : device::kTensorDims - rank + i;
    tensor.dims[at] = from.dims[i];
    tensor.strides[at] = from.strides[i];
  }
  return tensor;
}
device::Spatial SpatialOf(const std::vector<int>& from, int fill) {
  device::Spatial spatial{fill, fill, fill};
  std::copy(from.begin(), from.end(), spatial.end() - static_cast<std::ptrdiff_t>(from.size()));
  return spatial;
}

cudnnStatus_t QueueFakeDnn(cudnnHandle_t handle, const std::function<void()>& work) {
  static void* const driver = dlopen(WHARF_FAKE_DRIVER, RTLD_NOW);
  static const auto synchronize = reinterpret_cast<int (*)()>(dlsym(driver, "cuCtxSynchronize"));
  static const auto record =
      reinterpret_cast<bool (*)(cudaStream_t, const std::function<void()>&)>(dlsym(driver, "FakeDriverRecord"));
  if (record(handle->stream, work)) return CUDNN_STATUS_SUCCESS;
  if (synchronize() != 0) return CUDNN_STATUS_EXECUTION_FAILED;
  work();
  return CUDNN_STATUS_SUCCESS;
}

extern "C" {

size_t cudnnGetVersion(void) { return CUDNN_VERSION; }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return Create(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return Destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return Create(tensor); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return Destroy(tensor); }
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int rank,
                                         const int dims[], const int strides[]) {
  *tensor = {type, {dims, dims + rank}, {strides, strides + rank}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return Create(filter); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return Destroy(filter); }
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int dims[]) {
  std::vector<int> strides(static_cast<size_t>(rank)), order;
  for (int i = rank - 1; i >= 0; --i) {
    if (format == CUDNN_TENSOR_NCHW || i != 1) order.push_back(i);
  }
  if (format == CUDNN_TENSOR_NHWC) order.insert(order.begin(), 1);
  int stride = 1;
  for (const int i : order) {
    strides[static_cast<size_t>(i)] = stride;
    stride *= dims[i];
  }
  filter->tensor = {type, {dims, dims + rank}, strides};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* c) { return Create(c); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t c) { return Destroy(c); }
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t c, int rank, const int padding[],
                                              const int stride[], const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t) {
  *c = {{padding, padding + rank}, {stride, stride + rank}, {dilation, dilation + rank}, mode == CUDNN_CONVOLUTION, 1};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c, int groups) {
  c->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* p) { return Create(p); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t p) { return Destroy(p); }
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t p, const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t nan, int rank, const int window[],
                                          const int padding[], const int stride[]) {
  *p = {{window, window + rank}, {padding, padding + rank}, {stride, stride + rank}, mode, nan == CUDNN_PROPAGATE_NAN};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* a) { return Create(a); }
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t a) { return Destroy(a); }
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t a, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t, double coefficient) {
  *a = {mode, coefficient};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t a, double beta) {
  a->coefficient = beta;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* o) { return Create(o); }
cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t o) { return Destroy(o); }
cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t o, cudnnOpTensorOp_t op, cudnnDataType_t,
                                         cudnnNanPropagation_t) {
  o->op = op;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, const cudnnTensorDescriptor_t,
                                                     const cudnnFilterDescriptor_t, const cudnnConvolutionDescriptor_t,
                                                     const cudnnTensorDescriptor_t, const int, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* results) {
  return OfferAlgorithm(count, results);
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_of,
                                      const void* x, const cudnnFilterDescriptor_t filter_of, const void* filter,
                                      const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t,
                                      void* workspace, size_t bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y_of, void* y) {
  if (!HasWorkspace(workspace, bytes)) return CUDNN_STATUS_BAD_PARAM;
  device::Convolution c = ConvolutionOf(convolution);
  c.x = TensorOf(*x_of, x);
  c.filter = TensorOf(filter_of->tensor, filter);
  c.y = c.added = TensorOf(*y_of, y);
  c.alpha = Scalar(y_of, alpha);
  c.beta = Scalar(y_of, beta);
  return RunOn(handle, c);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t, const cudnnFilterDescriptor_t,
                                                          const cudnnTensorDescriptor_t,
                                                          const cudnnConvolutionDescriptor_t,
                                                          const cudnnTensorDescriptor_t, const int, int* count,
                                                          cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return OfferAlgorithm(count, results);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t filter_of, const void* filter,
                                           const cudnnTensorDescriptor_t dy_of, const void* dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t, void* workspace, size_t bytes,
                                           const void* beta, const cudnnTensorDescriptor_t dx_of, void* dx) {
  if (!HasWorkspace(workspace, bytes)) return CUDNN_STATUS_BAD_PARAM;
  device::Convolution c = ConvolutionOf(convolution);
  c.transposed = true;
  c.x = c.added = TensorOf(*dx_of, dx);
  c.filter = TensorOf(filter_of->tensor, filter);
  c.y = TensorOf(*dy_of, dy);
  c.alpha = Scalar(dx_of, alpha);
  c.beta = Scalar(dx_of, beta);
  return RunOn(handle, c);
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  const cudnnTensorDescriptor_t x_of, const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t y_of, void* y) {
  device::Pooling p;
  p.kind = static_cast<device::PoolingKind>(pooling->mode);
  p.propagates_nan = pooling->propagates_nan;
  p.x = TensorOf(*x_of, x);
  p.y = TensorOf(*y_of, y);
  p.window = SpatialOf(pooling->window, 1);
  p.padding = SpatialOf(pooling->padding, 0);
  p.stride = SpatialOf(pooling->stride, 1);
  p.alpha = Scalar(y_of, alpha);
  p.beta = Scalar(y_of, beta);
  return RunOn(handle, p);
}
cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t, const void* alpha,
                                                      const void* beta, const cudnnTensorDescriptor_t x_of,
                                                      const void* x, const cudnnTensorDescriptor_t y_of, void* y,
                                                      const cudnnTensorDescriptor_t of_parameters, const void* scale,
                                                      const void* shift, const void* mean, const void* variance,
                                                      double epsilon) {
  device::BatchNorm n;
  n.x = TensorOf(*x_of, x);
  n.y = TensorOf(*y_of, y);
  n.scale = TensorOf(*of_parameters, scale);
  n.shift = reinterpret_cast<uint64_t>(shift);
  n.mean = reinterpret_cast<uint64_t>(mean);
  n.variance = reinterpret_cast<uint64_t>(variance);
  n.epsilon = epsilon;
  n.alpha = Scalar(y_of, alpha);
  n.beta = Scalar(y_of, beta);
  return RunOn(handle, n);
}
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                                  const void* alpha, const cudnnTensorDescriptor_t x_of, const void* x,
                                  const void* beta, const cudnnTensorDescriptor_t y_of, void* y) {
  device::Softmax s;
  s.log = algorithm == CUDNN_SOFTMAX_LOG;
  s.over_all = mode == CUDNN_SOFTMAX_MODE_INSTANCE;
  s.x = TensorOf(*x_of, x);
  s.y = TensorOf(*y_of, y);
  s.alpha = Scalar(y_of, alpha);
  s.beta = Scalar(y_of, beta);
  return RunOn(handle, s);
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,
                                     const cudnnTensorDescriptor_t x_of, const void* x, const void* beta,
                                     const cudnnTensorDescriptor_t y_of, void* y) {
  using enum device::Activation;
  constexpr device::Activation kKinds[] = {kSigmoid, kRelu, kTanh, kClippedRelu, kElu, kNone, kSwish};
  device::Pointwise p;
  p.a = TensorOf(*x_of, x);
  p.y = TensorOf(*y_of, y);
  p.activation = {kKinds[activation->mode], activation->coefficient};
  p.alpha = Scalar(y_of, alpha);
  p.beta = Scalar(y_of, beta);
  return RunOn(handle, p);
}
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t a_of, const void* a,
                             const void* beta, const cudnnTensorDescriptor_t c_of, void* c) {
  device::Pointwise p;
  p.a = TensorOf(*a_of, a);
  p.y = TensorOf(*c_of, c);
  p.alpha = Scalar(c_of, alpha);
  p.beta = Scalar(c_of, beta);
  return RunOn(handle, p);
}
cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_of,
                                   const void* x, const void* beta, const cudnnTensorDescriptor_t y_of, void* y) {
  return cudnnAddTensor(handle, alpha, x_of, x, beta, y_of, y);
}
cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t y_of, void* y, const void* value) {
  device::Pointwise p;
  p.kind = device::PointwiseKind::kConstant;
  p.y = TensorOf(*y_of, y);
  p.alpha_a = Scalar(y_of, value);  // tests fill float only
  return RunOn(handle, p);
}
cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t op, const void* alpha1,
                            const cudnnTensorDescriptor_t a_of, const void* a, const void* alpha2,
                            const cudnnTensorDescriptor_t b_of, const void* b, const void* beta,
                            const cudnnTensorDescriptor_t c_of, void* c) {
  using enum device::PointwiseKind;
  constexpr device::PointwiseKind kKinds[] = {kAdd, kMultiply, kMin, kMax, kSqrt};
  device::Pointwise p;
  p.kind = kKinds[op->op];
  p.a = TensorOf(*a_of, a);
  p.b = TensorOf(*b_of, b);
  p.y = TensorOf(*c_of, c);
  p.alpha_a = Scalar(c_of, alpha1);
  p.alpha_b = Scalar(c_of, alpha2);
  p.beta = Scalar(c_of, beta);
  return RunOn(handle, p);
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensor, int wanted, cudnnDataType_t* type,
                                         int* rank, int dims[], int strides[]) {
  *type = tensor->type;
  *rank = static_cast<int>(tensor->dims.size());
  std::copy_n(tensor->dims.begin(), std::min(wanted, *rank), dims);
  std::copy_n(tensor->strides.begin(), std::min(wanted, *rank), strides);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* d) { return Create(d); }
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d) { return Destroy(d); }
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t, float dropout, void*, size_t,
                                        unsigned long long) {
  d->dropout = dropout;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* network) { return Create(network); }
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t network) { return Destroy(network); }
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t network, cudnnRNNAlgo_t, cudnnRNNMode_t cell,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnDataType_t,
                                       cudnnMathType_t, int32_t inputs, int32_t hidden, int32_t outputs, int32_t layers,
                                       cudnnDropoutDescriptor_t dropout, uint32_t) {
  if (dropout == nullptr || dropout->dropout != 0) return CUDNN_STATUS_BAD_PARAM;
  device::Recurrent& r = network->network;
  r.cell = static_cast<device::RecurrentCell>(cell);
  r.bias = static_cast<device::RecurrentBias>(bias);
  r.both_directions = direction == CUDNN_BIDIRECTIONAL;
  r.skips_input = input == CUDNN_SKIP_INPUT;
  r.type = ElementTypeOf(type);
  r.inputs = inputs, r.hidden = hidden, r.outputs = outputs, r.layers = layers;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* sequences) { return Create(sequences); }
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t sequences) { return Destroy(sequences); }
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t sequences, cudnnDataType_t type,
                                        cudnnRNNDataLayout_t layout, int steps, int batch, int width,
                                        const int lengths[], void* filling) {
  device::Recurrent& r = sequences->sequences;
  r.layout = static_cast<device::SequenceLayout>(layout);
  r.steps = steps, r.batch = batch;
  r.lengths.assign(lengths, lengths + batch);
  r.fills = filling != nullptr;
  if (r.fills) r.filling = type == CUDNN_DATA_FLOAT ? static_cast<double>(*static_cast<float*>(filling)) : 0;
  sequences->width = width;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t network, size_t* bytes) {
  const int64_t elements = device::RecurrentWeights(network->network).Elements() + network->Gap();
  *bytes = static_cast<size_t>(elements) * device::ElementBytes(network->network.type);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t network, int32_t layer, size_t,
                                      const void* weights, int32_t id, cudnnTensorDescriptor_t matrix_of, void** matrix,
                                      cudnnTensorDescriptor_t bias_of, void** bias) {
  const device::RecurrentWeights all(network->network);
  const auto store = [&](const device::RecurrentWeights::Part& part, cudnnTensorDescriptor_t of, void** place) {
    const int64_t at = (part.offset + network->Gap()) * static_cast<int64_t>(ElementBytes(network->network.type));
    *place = part.rows == 0 ? nullptr : static_cast<std::byte*>(const_cast<void*>(weights)) + at;
    *of = {CUDNN_DATA_FLOAT, {1, part.rows, part.columns}, {part.rows * part.columns, part.columns, 1}};
  };
  store(all.Matrix(layer, id), matrix_of, matrix);
  store(all.Bias(layer, id), bias_of, bias);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t mode,
                                        cudnnRNNDataDescriptor_t, size_t* work, size_t* reserve) {
  *work = kWorkspace;
  *reserve = 0;
  return mode == CUDNN_FWD_MODE_INFERENCE ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t network, cudnnForwardMode_t mode,
                              const int32_t lengths[], cudnnRNNDataDescriptor_t x_of, const void* x,
                              cudnnRNNDataDescriptor_t y_of, void* y, cudnnTensorDescriptor_t h_of, const void* hx,
                              void* hy, cudnnTensorDescriptor_t, const void* cx, void* cy, size_t weight_bytes,
                              const void* weights, size_t work_bytes, void* work, size_t, void*) {
  size_t needed = 0;
  cudnnGetRNNWeightSpaceSize(handle, network, &needed);
  device::Recurrent r = network->network;
  const std::vector<int> states{r.layers * r.Directions(), y_of->sequences.batch, r.outputs};
  if (mode != CUDNN_FWD_MODE_INFERENCE || lengths != nullptr || weight_bytes < needed || h_of->dims != states ||
      !HasWorkspace(work, work_bytes) || x_of->width != r.inputs || y_of->width != r.Directions() * r.outputs) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  r.layout = y_of->sequences.layout;
  r.steps = y_of->sequences.steps, r.batch = y_of->sequences.batch;
  r.lengths = y_of->sequences.lengths;
  r.fills = y_of->sequences.fills, r.filling = y_of->sequences.filling;
  const auto address = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  r.x = address(x), r.y = address(y), r.hx = address(hx), r.hy = address(hy), r.cx = address(cx), r.cy = address(cy);
  r.weights = address(weights) + static_cast<uint64_t>(network->Gap()) * ElementBytes(r.type);
  return RunOn(handle, r);
}

}  // extern "C"
