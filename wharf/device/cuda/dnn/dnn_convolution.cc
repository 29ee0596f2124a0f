#include "wharf/device/cuda/dnn/dnn_convolution.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace wharf::device::cuda {
namespace {

// CUDNN_ATTR_TENSOR_UNIQUE_ID
constexpr int64_t kNumberOfX = 1, kNumberOfFilter = 2, kNumberOfY = 3;

// What all three tensors' addresses are multiples of; cuDNN makes nothing of more than 16.
int64_t AlignmentOf(const Convolution& c) {
  constexpr uint64_t kMost = 16;
  return int64_t{1} << std::countr_zero(c.x.address | c.filter.address | c.y.address | kMost);
}

// False also if it lies both ways.
bool IsChannelsLast(const Tensor& tensor) {
  if (tensor.dims[1] == 1) return false;
  for (int i = 2; i < kTensorDims; ++i) {
    if (tensor.dims[i] > 1 && tensor.strides[i] > tensor.strides[1]) return true;
  }
  return false;
}

// cuDNN tells how tensors lie by all strides. Those along a single element, which lead nowhere and are anything, become
// such as they would be without gaps.
std::array<int64_t, kTensorDims> StridesOf(const Tensor& tensor, bool channels_last) {
  constexpr std::array<size_t, kTensorDims> kFirst = {4, 3, 2, 1, 0}, kLast = {1, 4, 3, 2, 0};  // innermost first
  std::array<int64_t, kTensorDims> strides{};
  int64_t behind = 1;
  for (const size_t i : channels_last ? kLast : kFirst) {
    strides[i] = tensor.dims[i] > 1 ? tensor.strides[i] : behind;
    behind = strides[i] * tensor.dims[i];
  }
  return strides;
}

// The description of a graph that is one convolution. Groups follow from the tensors' channels.
class ConvolutionWriter {
 public:
  static std::vector<std::byte> Describe(const Convolution& c) {
    ConvolutionWriter writer(c);
    writer.AddTensor(kNumberOfX, c.x);
    writer.AddTensor(kNumberOfFilter, c.filter);
    writer.AddTensor(kNumberOfY, c.y);
    writer.AddWindow();
    writer.AddOperation();
    writer.writer_.Descriptor(kDnnOperationGraph, 1);
    writer.Attribute(kOperations, kDnnReference, kOperationsPlace);
    return writer.writer_.Take();
  }

 private:
  // Of the descriptors.
  static constexpr int64_t kXPlace = 0, kFilterPlace = 1, kYPlace = 2, kWindowPlace = 3, kOperationsPlace = 4;
  // cudnnBackendDescriptorType_t
  static constexpr int64_t kWindow = 1, kForward = 10, kBackwardData = 12;
  // cudnnBackendAttributeType_t
  static constexpr int32_t kDataType = 1, kInteger = 3, kFloat = 4, kDouble = 5, kMode = 7;
  // cudnnBackendAttributeName_t
  static constexpr int32_t kCompute = 100, kIsCorrelation = 101, kDilation = 102, kStride = 103, kPaddingBehind = 104;
  static constexpr int32_t kPaddingBefore = 105, kDimensions = 106, kOperations = 801, kAlignment = 900;
  // Those of an operation, in order.
  static constexpr int32_t kForwardAlpha = 700, kBackwardAlpha = 706;

  explicit ConvolutionWriter(const Convolution& c)
      : c_(c),
        is_volume_(IsVolume(c)),
        is_wide_(c.x.type == ElementType::kF64),
        channels_last_(IsChannelsLast(c.x) || IsChannelsLast(c.filter) || IsChannelsLast(c.y)) {}

  void Attribute(int32_t name, int32_t type, int64_t number) { writer_.Attribute(name, type, std::span(&number, 1)); }
  // Without depth if there is none.
  void Dims(int32_t name, const auto& values) {
    std::vector<int64_t> numbers(values.begin(), values.end());
    if (!is_volume_) numbers.erase(numbers.end() - kSpatialDims);
    writer_.Attribute(name, kInteger, numbers);
  }
  void Factor(int32_t name, double value) {
    if (is_wide_) return Attribute(name, kDouble, std::bit_cast<int64_t>(value));
    Attribute(name, kFloat, std::bit_cast<int32_t>(static_cast<float>(value)));
  }
  void AddTensor(int64_t number, const Tensor& tensor) {
    writer_.Descriptor(kDnnTensor, 5);
    Attribute(kDnnNumber, kInteger, number);
    Attribute(kDnnDataType, kDataType, DnnType(tensor.type));
    Attribute(kAlignment, kInteger, AlignmentOf(c_));
    Dims(kDnnDims, tensor.dims);
    Dims(kDnnStrides, StridesOf(tensor, channels_last_));
  }
  void AddWindow() {
    writer_.Descriptor(kWindow, 7);
    Attribute(kCompute, kDataType, DnnType(is_wide_ ? ElementType::kF64 : ElementType::kF32));
    Attribute(kIsCorrelation, kMode, c_.flipped ? 0 : 1);
    Attribute(kDimensions, kInteger, is_volume_ ? kSpatialDims : kSpatialDims - 1);
    Dims(kDilation, c_.dilation);
    Dims(kStride, c_.stride);
    Dims(kPaddingBefore, c_.padding);
    Dims(kPaddingBehind, c_.padding);
  }
  void AddOperation() {
    int32_t name = c_.transposed ? kBackwardAlpha : kForwardAlpha;
    writer_.Descriptor(c_.transposed ? kBackwardData : kForward, 6);
    Factor(name++, c_.alpha);
    Factor(name++, c_.beta);
    for (const int64_t place : {kWindowPlace, kFilterPlace, kXPlace, kYPlace}) {
      Attribute(name++, kDnnReference, place);
    }
  }

  const Convolution& c_;
  const bool is_volume_, is_wide_, channels_last_;
  DnnDescriptionWriter writer_;
};

// Programs are told that results are the same each time. Floats may be rounded for tensor cores, but not to halves.
std::vector<DnnNote> RefusedBy(const Convolution& c) {
  std::vector<DnnNote> refused{DnnNote::kNotDeterministic, DnnNote::kRoundsInputs};
  const bool half = c.x.type == ElementType::kF16 || c.x.type == ElementType::kBF16;
  if (!half && !c.tf32) refused.push_back(DnnNote::kTensorCores);
  return refused;
}

}  // namespace

size_t DnnConvolutions::Hash::operator()(const Form& form) const {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(form.data()), sizeof(form)});
}

DnnConvolutions::Form DnnConvolutions::FormOf(const Convolution& c) {
  Form form{};
  auto* to = form.data();
  *to++ = static_cast<int32_t>(AlignmentOf(c)) << 4 | (c.transposed ? 1 : 0) | (c.flipped ? 2 : 0) | (c.tf32 ? 4 : 0) |
          (c.beta != 0 ? 8 : 0);
  *to++ = static_cast<int32_t>(c.x.type);  // which is that of all
  for (const Tensor* tensor : {&c.x, &c.filter, &c.y}) {
    to = std::copy(tensor->dims.begin(), tensor->dims.end(), to);
    to = std::copy(tensor->strides.begin(), tensor->strides.end(), to);
  }
  for (const Spatial* one : {&c.padding, &c.stride, &c.dilation}) to = std::copy(one->begin(), one->end(), to);
  return form;
}

absl::StatusOr<bool> DnnConvolutions::Run(const Convolution& c, void* handle,
                                          const DnnGraphs::WorkspaceOf& workspace_of) {
  // Factors are a plan's own. These are what programs have; each other one would be another plan.
  if (c.alpha != 1 || (c.beta != 0 && c.beta != 1)) return false;
  const Form form = FormOf(c);
  if (const auto known = plans_.find(form); known != plans_.end()) {
    if (!known->second) return false;
    WHARF_RETURN_IF_ERROR(Execute(*known->second, c, handle, workspace_of));
    return true;
  }
  if (plans_.size() >= kMostPlans) return false;
  absl::StatusOr<Plan> made = graphs_->MakePlan(ConvolutionWriter::Describe(c), RefusedBy(c), handle);
  // A plan that can be made does not always run.
  const bool runs = made.ok() && Execute(*made, c, handle, workspace_of).ok();
  plans_[form] = runs ? std::optional(*std::move(made)) : std::nullopt;
  return runs;
}

absl::Status DnnConvolutions::Execute(const Plan& plan, const Convolution& c, void* handle,
                                      const DnnGraphs::WorkspaceOf& workspace_of) const {
  const int64_t numbers[] = {kNumberOfX, kNumberOfFilter, kNumberOfY};
  void* const pointers[] = {reinterpret_cast<void*>(c.x.address), reinterpret_cast<void*>(c.filter.address),
                            reinterpret_cast<void*>(c.y.address)};
  return graphs_->Execute(plan, numbers, pointers, handle, workspace_of);
}

}  // namespace wharf::device::cuda
