#include "wharf/device/cuda/dnn/dnn.h"

#include <algorithm>
#include <utility>

#include "wharf/device/cuda/library/library.h"
#include "wharf/device/primitive.h"

namespace wharf::device::cuda {
namespace {

constexpr size_t kLeastVersion = 90000;
constexpr uint64_t kMostWorkspace = uint64_t{512} << 20;
constexpr int kAlgorithms = 8;
// cudnnTensorFormat_t, cudnnNanPropagation_t and so on.
constexpr int kNchw = 0, kNhwc = 1, kPropagateNan = 1;
constexpr int kNotSupportedCategory = 3000, kCategory = 1000, kBadParameter = 2000;
constexpr int kDeviceMemory = 4004, kHostMemory = 4003;

// cudnnConvolutionFwdAlgoPerf_t and cudnnConvolutionBwdDataAlgoPerf_t.
struct AlgorithmResult {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
};

// A host scalar as cuDNN reads it: double for tensors of double, else float.
struct HostScalar {
  HostScalar(double value, ElementType type)
      : wide(value), narrow(static_cast<float>(value)), is_wide(type == ElementType::kF64) {}
  const void* get() const { return is_wide ? static_cast<const void*>(&wide) : &narrow; }
  double wide;
  float narrow;
  bool is_wide;
};

// Four dimensions, or five if anything has depth.
std::vector<int> Shape(const std::array<int32_t, kTensorDims>& values, bool volume) {
  std::vector<int> shape(values.begin(), values.end());
  if (!volume) shape.erase(shape.begin() + 2);
  return shape;
}
std::vector<int> Shape(const Spatial& values, bool volume) { return {values.begin() + (volume ? 0 : 1), values.end()}; }

void* Data(const Tensor& tensor) { return reinterpret_cast<void*>(tensor.address); }

bool IsPacked(const Tensor& tensor, std::initializer_list<int> innermost_first) {
  int64_t stride = 1;
  for (const int i : innermost_first) {
    if (tensor.dims[i] > 1 && tensor.strides[i] != stride) return false;
    stride *= tensor.dims[i];
  }
  return true;
}

// cudnnActivationMode_t; -1 where there is none.
int DnnActivation(Activation activation) {
  switch (activation) {
    case Activation::kSigmoid:
      return 0;
    case Activation::kRelu:
      return 1;
    case Activation::kTanh:
      return 2;
    case Activation::kClippedRelu:
      return 3;
    case Activation::kElu:
      return 4;
    case Activation::kSwish:
      return 6;
    default:
      return -1;
  }
}

// cudnnOpTensorOp_t; -1 where there is none.
int DnnOperation(PointwiseKind kind) {
  switch (kind) {
    case PointwiseKind::kAdd:
      return 0;
    case PointwiseKind::kMultiply:
      return 1;
    case PointwiseKind::kMin:
      return 2;
    case PointwiseKind::kMax:
      return 3;
    case PointwiseKind::kSqrt:
      return 4;
    default:
      return -1;
  }
}

}  // namespace

struct Dnn::Functions {
  size_t (*version)() = nullptr;
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, StreamHandle) = nullptr;
  int (*create_tensor)(void**) = nullptr;
  int (*destroy_tensor)(void*) = nullptr;
  int (*set_tensor)(void*, int, int, const int*, const int*) = nullptr;
  int (*create_filter)(void**) = nullptr;
  int (*destroy_filter)(void*) = nullptr;
  int (*set_filter)(void*, int, int, int, const int*) = nullptr;
  int (*create_convolution)(void**) = nullptr;
  int (*destroy_convolution)(void*) = nullptr;
  int (*set_convolution)(void*, int, const int*, const int*, const int*, int, int) = nullptr;
  int (*set_groups)(void*, int) = nullptr;
  int (*set_math)(void*, int) = nullptr;
  int (*create_pooling)(void**) = nullptr;
  int (*destroy_pooling)(void*) = nullptr;
  int (*set_pooling)(void*, int, int, int, const int*, const int*, const int*) = nullptr;
  int (*create_activation)(void**) = nullptr;
  int (*destroy_activation)(void*) = nullptr;
  int (*set_activation)(void*, int, int, double) = nullptr;
  int (*set_swish)(void*, double) = nullptr;
  int (*create_operation)(void**) = nullptr;
  int (*destroy_operation)(void*) = nullptr;
  int (*set_operation)(void*, int, int, int) = nullptr;
  int (*forward_algorithms)(void*, void*, void*, void*, void*, int, int*, AlgorithmResult*) = nullptr;
  int (*forward)(void*, const void*, void*, const void*, void*, const void*, void*, int, void*, size_t, const void*,
                 void*, void*) = nullptr;
  int (*backward_algorithms)(void*, void*, void*, void*, void*, int, int*, AlgorithmResult*) = nullptr;
  int (*backward)(void*, const void*, void*, const void*, void*, const void*, void*, int, void*, size_t, const void*,
                  void*, void*) = nullptr;
  int (*pool)(void*, void*, const void*, void*, const void*, const void*, void*, void*) = nullptr;
  int (*normalize)(void*, int, const void*, const void*, void*, const void*, void*, void*, void*, const void*,
                   const void*, const void*, const void*, double) = nullptr;
  int (*train_norm)(void*, int, const void*, const void*, void*, const void*, void*, void*, void*, const void*,
                    const void*, double, void*, void*, double, void*, void*) = nullptr;
  int (*norm_gradients)(void*, int, const void*, const void*, const void*, const void*, void*, const void*, void*,
                        const void*, void*, void*, void*, const void*, void*, void*, double, const void*,
                        const void*) = nullptr;
  int (*softmax)(void*, int, int, const void*, void*, const void*, const void*, void*, void*) = nullptr;
  int (*activate)(void*, void*, const void*, void*, const void*, const void*, void*, void*) = nullptr;
  int (*add)(void*, const void*, void*, const void*, const void*, void*, void*) = nullptr;
  int (*transform)(void*, const void*, void*, const void*, const void*, void*, void*) = nullptr;
  int (*fill)(void*, void*, void*, const void*) = nullptr;
  int (*combine)(void*, void*, const void*, void*, const void*, const void*, void*, const void*, const void*, void*,
                 void*) = nullptr;
};

absl::StatusOr<std::unique_ptr<Dnn>> Dnn::Create(Gpu* gpu, const std::string& library) {
  std::unique_ptr<Dnn> dnn(new Dnn(gpu));
  const absl::StatusOr<void*> opened = OpenLibrary(library);
  if (!opened.ok()) {
    return CudaStatus(CudaError::kNotSupported, "convolutions need cuDNN 9 on the server: {}",
                      Message(opened.status()));
  }
  dnn->library_ = *opened;
  WHARF_RETURN_IF_ERROR(dnn->Find(*opened));
  if (const size_t version = dnn->functions_->version(); version < kLeastVersion) {
    return CudaStatus(CudaError::kNotSupported, "convolutions need cuDNN 9 on the server, not {}", version);
  }
  WHARF_RETURN_IF_ERROR(CheckDnn(dnn->functions_->create(&dnn->handle_), "cudnnCreate"));
  WHARF_ASSIGN_OR_RETURN(dnn->graphs_, DnnGraphs::Create(*opened));
  dnn->convolutions_.emplace(dnn->graphs_.get());
  return dnn;
}

Dnn::Dnn(Gpu* gpu) : gpu_(gpu), workspaces_(gpu) {}

Dnn::~Dnn() {
  convolutions_.reset();  // plans are of the handle
  graphs_ = nullptr;
  if (handle_ != nullptr) functions_->destroy(handle_);
}

absl::Status Dnn::Find(void* library) {
  functions_ = std::make_unique<Functions>();
  Functions& f = *functions_;
  FunctionFinder find(library);
  find(f.version, "cudnnGetVersion");
  find(f.create, "cudnnCreate");
  find(f.destroy, "cudnnDestroy");
  find(f.set_stream, "cudnnSetStream");
  find(f.create_tensor, "cudnnCreateTensorDescriptor");
  find(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
  find(f.set_tensor, "cudnnSetTensorNdDescriptor");
  find(f.create_filter, "cudnnCreateFilterDescriptor");
  find(f.destroy_filter, "cudnnDestroyFilterDescriptor");
  find(f.set_filter, "cudnnSetFilterNdDescriptor");
  find(f.create_convolution, "cudnnCreateConvolutionDescriptor");
  find(f.destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  find(f.set_convolution, "cudnnSetConvolutionNdDescriptor");
  find(f.set_groups, "cudnnSetConvolutionGroupCount");
  find(f.set_math, "cudnnSetConvolutionMathType");
  find(f.create_pooling, "cudnnCreatePoolingDescriptor");
  find(f.destroy_pooling, "cudnnDestroyPoolingDescriptor");
  find(f.set_pooling, "cudnnSetPoolingNdDescriptor");
  find(f.create_activation, "cudnnCreateActivationDescriptor");
  find(f.destroy_activation, "cudnnDestroyActivationDescriptor");
  find(f.set_activation, "cudnnSetActivationDescriptor");
  find(f.set_swish, "cudnnSetActivationDescriptorSwishBeta");
  find(f.create_operation, "cudnnCreateOpTensorDescriptor");
  find(f.destroy_operation, "cudnnDestroyOpTensorDescriptor");
  find(f.set_operation, "cudnnSetOpTensorDescriptor");
  find(f.forward_algorithms, "cudnnGetConvolutionForwardAlgorithm_v7");
  find(f.forward, "cudnnConvolutionForward");
  find(f.backward_algorithms, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  find(f.backward, "cudnnConvolutionBackwardData");
  find(f.pool, "cudnnPoolingForward");
  find(f.normalize, "cudnnBatchNormalizationForwardInference");
  find(f.train_norm, "cudnnBatchNormalizationForwardTraining");
  find(f.norm_gradients, "cudnnBatchNormalizationBackward");
  find(f.softmax, "cudnnSoftmaxForward");
  find(f.activate, "cudnnActivationForward");
  find(f.add, "cudnnAddTensor");
  find(f.transform, "cudnnTransformTensor");
  find(f.fill, "cudnnSetTensor");
  find(f.combine, "cudnnOpTensor");
  if (find.missing() != nullptr) {
    return CudaStatus(CudaError::kNotSupported, "this cuDNN has no {}", find.missing());
  }
  return absl::OkStatus();
}

absl::Status CheckDnn(int status, const char* what) {
  if (status == 0) return absl::OkStatus();
  if (status == kDeviceMemory || status == kHostMemory) {
    return CudaStatus(CudaError::kOutOfMemory, "{}: cuDNN is out of memory", what);
  }
  switch (status / kCategory * kCategory) {
    case kNotSupportedCategory:
      return CudaStatus(CudaError::kNotSupported, "{}: cuDNN does not have it (status {})", what, status);
    case kBadParameter:
      return CudaStatus(CudaError::kInvalidValue, "{}: cuDNN refuses an argument (status {})", what, status);
    default:
      return CudaStatus(CudaError::kLaunchFailure, "{}: cuDNN status {}", what, status);
  }
}

// --- descriptors ---

absl::StatusOr<DnnDescriptor> Dnn::TensorOf(const Tensor& tensor, bool volume) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_tensor(&made), "cudnnCreateTensorDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_tensor);
  const std::vector<int> dims = Shape(tensor.dims, volume);
  std::vector<int> strides = Shape(tensor.strides, volume);
  for (int& stride : strides) stride = std::max(stride, 1);  // of a single element it goes nowhere
  WHARF_RETURN_IF_ERROR(CheckDnn(
      functions_->set_tensor(made, DnnType(tensor.type), static_cast<int>(dims.size()), dims.data(), strides.data()),
      "cudnnSetTensorNdDescriptor"));
  return descriptor;
}

absl::StatusOr<DnnDescriptor> Dnn::FilterOf(const Tensor& filter, const Tensor& x, bool volume) const {
  // Of one channel, or a window of one element, it lies in both ways: cuDNN wants that of the tensors.
  const auto is_first = [](const Tensor& tensor) { return IsPacked(tensor, {4, 3, 2, 1, 0}); };
  const auto is_last = [](const Tensor& tensor) { return IsPacked(tensor, {1, 4, 3, 2, 0}); };
  const bool channels_last = is_last(filter) && (!is_first(filter) || (is_last(x) && !is_first(x)));
  if (!channels_last && !is_first(filter)) {
    return CudaStatus(CudaError::kNotSupported, "cuDNN has no filters that lie like this");
  }
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_filter(&made), "cudnnCreateFilterDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_filter);
  const std::vector<int> dims = Shape(filter.dims, volume);
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->set_filter(made, DnnType(filter.type), channels_last ? kNhwc : kNchw,
                                                        static_cast<int>(dims.size()), dims.data()),
                                 "cudnnSetFilterNdDescriptor"));
  return descriptor;
}

absl::StatusOr<DnnDescriptor> Dnn::ConvolutionOf(const Convolution& c, bool volume) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_convolution(&made), "cudnnCreateConvolutionDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_convolution);
  const std::vector<int> padding = Shape(c.padding, volume), stride = Shape(c.stride, volume);
  const std::vector<int> dilation = Shape(c.dilation, volume);
  const int compute = DnnType(c.x.type == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32);
  WHARF_RETURN_IF_ERROR(
      CheckDnn(functions_->set_convolution(made, static_cast<int>(padding.size()), padding.data(), stride.data(),
                                           dilation.data(), c.flipped ? 0 : 1, compute),
               "cudnnSetConvolutionNdDescriptor"));
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->set_groups(made, c.groups), "cudnnSetConvolutionGroupCount"));
  const bool half = c.x.type == ElementType::kF16 || c.x.type == ElementType::kBF16;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->set_math(made, half     ? kTensorOpMath
                                                            : c.tf32 ? kDefaultMath
                                                                     : kFmaMath),
                                 "cudnnSetConvolutionMathType"));
  return descriptor;
}

absl::StatusOr<DnnDescriptor> Dnn::PoolingOf(const Pooling& p, bool volume) const {
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_pooling(&made), "cudnnCreatePoolingDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_pooling);
  const std::vector<int> window = Shape(p.window, volume), padding = Shape(p.padding, volume);
  const std::vector<int> stride = Shape(p.stride, volume);
  WHARF_RETURN_IF_ERROR(
      CheckDnn(functions_->set_pooling(made, static_cast<int>(p.kind), p.propagates_nan ? kPropagateNan : 0,
                                       static_cast<int>(window.size()), window.data(), padding.data(), stride.data()),
               "cudnnSetPoolingNdDescriptor"));
  return descriptor;
}

absl::StatusOr<DnnDescriptor> Dnn::ActivationOf(const ActivationForm& activation) const {
  const int mode = DnnActivation(activation.kind);
  if (mode < 0) return CudaStatus(CudaError::kNotSupported, "cuDNN has no such activation");
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_activation(&made), "cudnnCreateActivationDescriptor"));
  DnnDescriptor descriptor(made, functions_->destroy_activation);
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->set_activation(made, mode, kPropagateNan, activation.coefficient),
                                 "cudnnSetActivationDescriptor"));
  if (activation.kind == Activation::kSwish) {
    WHARF_RETURN_IF_ERROR(
        CheckDnn(functions_->set_swish(made, activation.coefficient), "cudnnSetActivationDescriptorSwishBeta"));
  }
  return descriptor;
}

// --- primitives ---

absl::Status Dnn::Run(const Primitive& primitive, StreamHandle stream) {
  stream_ = stream;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->set_stream(handle_, stream), "cudnnSetStream"));
  return std::visit([this](const auto& what) { return Run(what); }, primitive);
}

absl::Status Dnn::Run(const Lapack&) { return CudaStatus(CudaError::kNotSupported, "cuDNN has no solvers"); }

absl::Status Dnn::Run(const DnnGraph& graph) {
  WHARF_ASSIGN_OR_RETURN(const std::optional<DnnNorm> norm, NormOf(graph));
  if (norm) return Run(*norm);
  return graphs_->Run(graph, handle_, [this](uint64_t bytes) { return WorkspaceOf(bytes); });
}

absl::Status Dnn::Run(const Fourier&) {
  return CudaStatus(CudaError::kNotSupported, "cuDNN has no Fourier transforms");
}

absl::Status Dnn::Run(const Convolution& c) {
  const Tensor& result = c.transposed ? c.x : c.y;
  if (c.bias != 0 && c.bias_type != c.x.type) {
    return CudaStatus(CudaError::kNotSupported, "cuDNN adds no bias of another type");
  }
  const bool blends = c.added.address != 0 && c.beta != 0;
  const bool in_place = c.added.address == result.address && c.added.strides == result.strides;
  if (blends && !in_place) WHARF_RETURN_IF_ERROR(Transform(1, c.added, 0, result));
  Convolution product = c;
  product.beta = blends ? c.beta : 0;
  WHARF_RETURN_IF_ERROR(Multiply(product));
  if (c.bias != 0) {
    Tensor bias;
    bias.address = c.bias;
    bias.type = c.bias_type;
    bias.dims[1] = result.dims[1];
    bias.strides[0] = result.dims[1];
    WHARF_RETURN_IF_ERROR(Add(1, bias, 1, result));
  }
  if (c.activation.kind == Activation::kNone) return absl::OkStatus();
  return Activate(c.activation, 1, result, 0, result);
}

absl::StatusOr<Dnn::Algorithm> Dnn::ChooseAlgorithm(const Convolution& c, const ConvolutionDescriptors& d) {
  AlgorithmResult results[kAlgorithms] = {};
  int count = 0;
  const int status =
      c.transposed
          ? functions_->backward_algorithms(handle_, d.filter, d.y, d.convolution, d.x, kAlgorithms, &count, results)
          : functions_->forward_algorithms(handle_, d.x, d.filter, d.convolution, d.y, kAlgorithms, &count, results);
  WHARF_RETURN_IF_ERROR(CheckDnn(status, "cuDNN's choice of an algorithm"));
  const auto* const best = std::find_if(results, results + count, [](const AlgorithmResult& result) {
    return result.status == 0 && result.memory <= kMostWorkspace;
  });
  if (best == results + count) return CudaStatus(CudaError::kNotSupported, "cuDNN has no algorithm for a convolution");
  return Algorithm{best->algorithm, best->math, best->memory};
}

absl::StatusOr<Dnn::Algorithm> Dnn::AlgorithmFor(const Convolution& c, const ConvolutionDescriptors& descriptors) {
  std::vector<int32_t> form{c.transposed, c.flipped, c.tf32, c.groups};
  for (const Tensor* tensor : {&c.x, &c.filter, &c.y}) {
    form.push_back(static_cast<int32_t>(tensor->type));
    form.insert(form.end(), tensor->dims.begin(), tensor->dims.end());
    form.insert(form.end(), tensor->strides.begin(), tensor->strides.end());
  }
  for (const Spatial* one : {&c.padding, &c.stride, &c.dilation}) form.insert(form.end(), one->begin(), one->end());
  if (const auto known = algorithms_.find(form); known != algorithms_.end()) return known->second;
  WHARF_ASSIGN_OR_RETURN(const Algorithm chosen, ChooseAlgorithm(c, descriptors));
  constexpr size_t kMostForms = 4096;
  if (algorithms_.size() >= kMostForms) algorithms_.clear();
  algorithms_[std::move(form)] = chosen;
  return chosen;
}

absl::Status Dnn::Multiply(const Convolution& c) {
  WHARF_ASSIGN_OR_RETURN(const bool done,
                         convolutions_->Run(c, handle_, [this](uint64_t bytes) { return WorkspaceOf(bytes); }));
  if (done) return absl::OkStatus();
  const bool volume = IsVolume(c);
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor x, TensorOf(c.x, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor y, TensorOf(c.y, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor filter, FilterOf(c.filter, c.x, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor convolution, ConvolutionOf(c, volume));
  WHARF_ASSIGN_OR_RETURN(const Algorithm best, AlgorithmFor(c, {x.get(), filter.get(), convolution.get(), y.get()}));
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->set_math(convolution.get(), best.math), "cudnnSetConvolutionMathType"));
  WHARF_ASSIGN_OR_RETURN(const DevicePointer workspace, WorkspaceOf(best.memory));
  auto* const scratch = reinterpret_cast<void*>(workspace);
  const HostScalar alpha(c.alpha, c.x.type), beta(c.beta, c.x.type);
  if (c.transposed) {
    return CheckDnn(
        functions_->backward(handle_, alpha.get(), filter.get(), Data(c.filter), y.get(), Data(c.y), convolution.get(),
                             best.number, scratch, best.memory, beta.get(), x.get(), Data(c.x)),
        "cudnnConvolutionBackwardData");
  }
  return CheckDnn(
      functions_->forward(handle_, alpha.get(), x.get(), Data(c.x), filter.get(), Data(c.filter), convolution.get(),
                          best.number, scratch, best.memory, beta.get(), y.get(), Data(c.y)),
      "cudnnConvolutionForward");
}

absl::Status Dnn::Run(const Recurrent& r) {
  if (recurrent_ == nullptr) {
    WHARF_ASSIGN_OR_RETURN(recurrent_, DnnRecurrent::Create(gpu_, library_));
  }
  return recurrent_->Run(r, handle_, stream_, [this](uint64_t bytes) { return WorkspaceOf(bytes); });
}

absl::Status Dnn::Run(const Pooling& p) {
  const bool volume = p.x.dims[2] > 1 || p.window[0] > 1 || p.padding[0] > 0;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor x, TensorOf(p.x, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor y, TensorOf(p.y, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor pooling, PoolingOf(p, volume));
  const HostScalar alpha(p.alpha, p.y.type), beta(p.beta, p.y.type);
  return CheckDnn(
      functions_->pool(handle_, pooling.get(), alpha.get(), x.get(), Data(p.x), beta.get(), y.get(), Data(p.y)),
      "cudnnPoolingForward");
}

absl::Status Dnn::Run(const BatchNorm& n) {
  constexpr int kPerActivation = 0, kSpatialMode = 1;
  const bool volume = n.x.dims[2] > 1;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor x, TensorOf(n.x, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor y, TensorOf(n.y, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor parameters, TensorOf(n.scale, volume));
  const bool by_channel = n.scale.dims[2] == 1 && n.scale.dims[3] == 1 && n.scale.dims[4] == 1;
  const HostScalar alpha(n.alpha, n.y.type), beta(n.beta, n.y.type);
  const auto data = [](DeviceAddress address) { return reinterpret_cast<const void*>(address); };
  return CheckDnn(functions_->normalize(handle_, by_channel ? kSpatialMode : kPerActivation, alpha.get(), beta.get(),
                                        x.get(), Data(n.x), y.get(), Data(n.y), parameters.get(), Data(n.scale),
                                        data(n.shift), data(n.mean), data(n.variance), n.epsilon),
                  "cudnnBatchNormalizationForwardInference");
}

absl::Status Dnn::Run(const DnnNorm& n) {
  const bool volume = n.x.dims[2] > 1;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor x, TensorOf(n.x, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor y, TensorOf(n.y, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor parameters, TensorOf(n.scale, volume));
  const HostScalar alpha(n.alpha, n.x.type), beta(n.beta, n.x.type);
  const auto data = [](DeviceAddress address) { return reinterpret_cast<void*>(address); };
  if (!n.backward) {
    return CheckDnn(
        functions_->train_norm(handle_, n.mode, alpha.get(), beta.get(), x.get(), Data(n.x), y.get(), Data(n.y),
                               parameters.get(), Data(n.scale), data(n.shift), n.factor, data(n.mean), data(n.variance),
                               n.epsilon, data(n.saved_mean), data(n.saved_inverse)),
        "cudnnBatchNormalizationForwardTraining");
  }
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor dx, TensorOf(n.dx, volume));
  const HostScalar parameter_alpha(n.parameter_alpha, n.x.type), parameter_beta(n.parameter_beta, n.x.type);
  return CheckDnn(functions_->norm_gradients(handle_, n.mode, alpha.get(), beta.get(), parameter_alpha.get(),
                                             parameter_beta.get(), x.get(), Data(n.x), y.get(), Data(n.y), dx.get(),
                                             Data(n.dx), parameters.get(), Data(n.scale), data(n.dscale),
                                             data(n.dshift), n.epsilon, data(n.saved_mean), data(n.saved_inverse)),
                  "cudnnBatchNormalizationBackward");
}

absl::Status Dnn::Run(const Softmax& s) {
  constexpr int kAccurate = 1, kLog = 2;
  const bool volume = s.x.dims[2] > 1;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor x, TensorOf(s.x, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor y, TensorOf(s.y, volume));
  const HostScalar alpha(s.alpha, s.y.type), beta(s.beta, s.y.type);
  return CheckDnn(functions_->softmax(handle_, s.log ? kLog : kAccurate, s.over_all ? 0 : 1, alpha.get(), x.get(),
                                      Data(s.x), beta.get(), y.get(), Data(s.y)),
                  "cudnnSoftmaxForward");
}

absl::Status Dnn::Run(const Pointwise& p) {
  const bool activates = p.activation.kind != Activation::kNone;
  if (p.kind == PointwiseKind::kConstant) {
    if (activates || p.beta != 0) return CudaStatus(CudaError::kNotSupported, "cuDNN fills tensors with a value only");
    return Fill(p.alpha * p.alpha_a, p.y);
  }
  if (p.kind == PointwiseKind::kFirst) {
    if (activates && p.alpha_a != 1) return CudaStatus(CudaError::kNotSupported, "cuDNN scales no activation's input");
    if (activates) return Activate(p.activation, p.alpha, p.a, p.beta, p.y);
    const double alpha = p.alpha * p.alpha_a;
    return p.a.dims == p.y.dims ? Transform(alpha, p.a, p.beta, p.y) : Add(alpha, p.a, p.beta, p.y);
  }
  const int operation = DnnOperation(p.kind);
  if (operation < 0 || activates || p.alpha != 1) {
    return CudaStatus(CudaError::kNotSupported, "cuDNN has no such element-wise operation");
  }
  const bool volume = p.y.dims[2] > 1;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor a, TensorOf(p.a, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor b, TensorOf(HasSecond(p.kind) ? p.b : p.a, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor y, TensorOf(p.y, volume));
  void* made = nullptr;
  WHARF_RETURN_IF_ERROR(CheckDnn(functions_->create_operation(&made), "cudnnCreateOpTensorDescriptor"));
  const DnnDescriptor descriptor(made, functions_->destroy_operation);
  const int compute = DnnType(p.y.type == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32);
  WHARF_RETURN_IF_ERROR(
      CheckDnn(functions_->set_operation(made, operation, compute, kPropagateNan), "cudnnSetOpTensorDescriptor"));
  const HostScalar alpha_a(p.alpha_a, p.y.type), alpha_b(p.alpha_b, p.y.type), beta(p.beta, p.y.type);
  return CheckDnn(functions_->combine(handle_, made, alpha_a.get(), a.get(), Data(p.a), alpha_b.get(), b.get(),
                                      Data(HasSecond(p.kind) ? p.b : p.a), beta.get(), y.get(), Data(p.y)),
                  "cudnnOpTensor");
}

// The value is of the tensor's own type, unlike all other scalars.
absl::Status Dnn::Fill(double value, const Tensor& to) {
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor target, TensorOf(to, to.dims[2] > 1));
  const HostScalar scalar(value, to.type);  // a float for halves, too
  return CheckDnn(functions_->fill(handle_, target.get(), Data(to), scalar.get()), "cudnnSetTensor");
}

absl::Status Dnn::Transform(double alpha, const Tensor& from, double beta, const Tensor& to) {
  const bool volume = to.dims[2] > 1;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor source, TensorOf(from, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor target, TensorOf(to, volume));
  const HostScalar scale(alpha, to.type), keep(beta, to.type);
  return CheckDnn(
      functions_->transform(handle_, scale.get(), source.get(), Data(from), keep.get(), target.get(), Data(to)),
      "cudnnTransformTensor");
}

absl::Status Dnn::Add(double alpha, const Tensor& from, double beta, const Tensor& to) {
  const bool volume = to.dims[2] > 1;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor source, TensorOf(from, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor target, TensorOf(to, volume));
  const HostScalar scale(alpha, to.type), keep(beta, to.type);
  return CheckDnn(functions_->add(handle_, scale.get(), source.get(), Data(from), keep.get(), target.get(), Data(to)),
                  "cudnnAddTensor");
}

absl::Status Dnn::Activate(const ActivationForm& activation, double alpha, const Tensor& from, double beta,
                           const Tensor& to) {
  const bool volume = to.dims[2] > 1;
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor descriptor, ActivationOf(activation));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor source, TensorOf(from, volume));
  WHARF_ASSIGN_OR_RETURN(const DnnDescriptor target, TensorOf(to, volume));
  const HostScalar scale(alpha, to.type), keep(beta, to.type);
  return CheckDnn(functions_->activate(handle_, descriptor.get(), scale.get(), source.get(), Data(from), keep.get(),
                                       target.get(), Data(to)),
                  "cudnnActivationForward");
}

}  // namespace wharf::device::cuda
