#include "wharf/device/dnn_norm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "wharf/device/cuda_error.h"

namespace wharf::device {
namespace {

constexpr int32_t kDnnOperations = 801;                                  // CUDNN_ATTR_OPERATIONGRAPH_OPS
constexpr int32_t kDataTypeType = 1, kIntegerType = 3, kDoubleType = 5;  // cudnnBackendAttributeType_t
// cudnnBatchNormMode_t
constexpr int64_t kPerActivation = 0, kLastMode = 2;
// The operation's attributes beside its tensors.
enum NormSetting : int32_t { kMode = 101, kEpsilon, kFactor, kAlpha, kBeta, kParameterAlpha, kParameterBeta };

constexpr struct {
  ElementType type;
  int64_t number;  // cudnnDataType_t
} kNormTypes[] = {{ElementType::kF32, 0}, {ElementType::kF64, 1}, {ElementType::kF16, 2}, {ElementType::kBF16, 9}};

absl::Status WrongNorm(const char* why) { return CudaStatus(CudaError::kInvalidValue, "batch normalization: {}", why); }

// visit(part, tensor) of those that have sizes of their own, visit(part, address) of those that lie like the scale.
template <typename Norm, typename Visit>
void ForEachPart(Norm& n, Visit&& visit) {
  visit(kNormX, n.x);
  visit(kNormY, n.y);
  visit(kNormDx, n.dx);
  visit(kNormScale, n.scale);
  visit(kNormShift, n.shift);
  visit(kNormMean, n.mean);
  visit(kNormVariance, n.variance);
  visit(kNormSavedMean, n.saved_mean);
  visit(kNormSavedInverse, n.saved_inverse);
  visit(kNormDscale, n.dscale);
  visit(kNormDshift, n.dshift);
}
template <typename Norm, typename Visit>
void ForEachNormSetting(Norm& n, Visit&& visit) {
  visit(kEpsilon, n.epsilon);
  visit(kFactor, n.factor);
  visit(kAlpha, n.alpha);
  visit(kBeta, n.beta);
  visit(kParameterAlpha, n.parameter_alpha);
  visit(kParameterBeta, n.parameter_beta);
}

DeviceAddress AddressOf(const Tensor& tensor) { return tensor.address; }
DeviceAddress AddressOf(DeviceAddress address) { return address; }
const Tensor& LayoutOf(const Tensor& tensor, const DnnNorm&) { return tensor; }
const Tensor& LayoutOf(DeviceAddress, const DnnNorm& norm) { return norm.scale; }

class NormWriter {
 public:
  void Add(DnnNormPart part, const Tensor& tensor) {
    const auto* const type = std::find_if(std::begin(kNormTypes), std::end(kNormTypes),
                                          [&](const auto& t) { return t.type == tensor.type; });
    writer_.Descriptor(kDnnTensor, 4);
    Attribute(kDnnDataType, kDataTypeType, type == std::end(kNormTypes) ? -1 : type->number);
    writer_.Attribute(kDnnDims, kIntegerType, std::vector<int64_t>(tensor.dims.begin(), tensor.dims.end()));
    writer_.Attribute(kDnnStrides, kIntegerType, std::vector<int64_t>(tensor.strides.begin(), tensor.strides.end()));
    Attribute(kDnnNumber, kIntegerType, part);
    parts_.push_back(part);
  }
  std::vector<std::byte> Take(const DnnNorm& norm) {
    const auto count = static_cast<int64_t>(parts_.size());
    constexpr int64_t kSettings = 7;
    writer_.Descriptor(norm.backward ? kDnnNormBackward : kDnnNormForward, count + kSettings);
    for (int64_t i = 0; i < count; ++i) Attribute(parts_[static_cast<size_t>(i)], kDnnReference, i);
    Attribute(kMode, kIntegerType, norm.mode);
    ForEachNormSetting(
        norm, [&](NormSetting name, double value) { Attribute(name, kDoubleType, std::bit_cast<int64_t>(value)); });
    writer_.Descriptor(kDnnOperationGraph, 1);
    Attribute(kDnnOperations, kDnnReference, count);
    return writer_.Take();
  }

 private:
  void Attribute(int32_t name, int32_t type, int64_t number) {
    writer_.Attribute(name, type, std::span<const int64_t>(&number, 1));
  }
  DnnDescriptionWriter writer_;
  std::vector<DnnNormPart> parts_;
};

bool ToInts(const DnnAttribute* from, std::array<int32_t, kTensorDims>* to, int64_t least) {
  if (from == nullptr || from->numbers.size() != to->size()) return false;
  for (size_t i = 0; i < to->size(); ++i) {
    if (from->numbers[i] < least || from->numbers[i] > std::numeric_limits<int32_t>::max()) return false;
    (*to)[i] = static_cast<int32_t>(from->numbers[i]);
  }
  return true;
}

class NormReader {
 public:
  NormReader(std::span<const DnnDescriptorForm> descriptors, const DnnGraph& graph)
      : descriptors_(descriptors), operation_(descriptors[descriptors.size() - 2]), graph_(graph) {}

  absl::StatusOr<DnnNorm> Read() const {
    DnnNorm norm;
    norm.backward = operation_.type == kDnnNormBackward;
    const int64_t mode = operation_.One(kMode, -1);
    if (mode < 0 || mode > kLastMode) return WrongNorm("there is no such mode");
    norm.mode = static_cast<int32_t>(mode);
    ForEachNormSetting(norm, [&](NormSetting name, double& to) {
      to = std::bit_cast<double>(operation_.One(name, std::bit_cast<int64_t>(to)));
    });
    if (!std::isfinite(norm.epsilon) || norm.epsilon < 0) return WrongNorm("epsilon is below 0, or no number");
    absl::Status status;
    ForEachPart(norm, [&](DnnNormPart part, auto& to) {
      if (status.ok()) status = ReadPart(part, norm, to);
    });
    WHARF_RETURN_IF_ERROR(status);
    return norm;
  }

 private:
  absl::Status ReadPart(DnnNormPart part, const DnnNorm&, Tensor& to) const {
    const DnnAttribute* const linked = operation_.Find(part);
    return linked == nullptr ? absl::OkStatus() : ReadTensor(*linked, &to);
  }
  // The scale was read before.
  absl::Status ReadPart(DnnNormPart part, const DnnNorm& norm, DeviceAddress& to) const {
    const DnnAttribute* const linked = operation_.Find(part);
    if (linked == nullptr) return absl::OkStatus();
    Tensor tensor;
    WHARF_RETURN_IF_ERROR(ReadTensor(*linked, &tensor));
    if (tensor.type != norm.scale.type || tensor.dims != norm.scale.dims || tensor.strides != norm.scale.strides) {
      return WrongNorm("a parameter is of another shape than the scale");
    }
    to = tensor.address;
    return absl::OkStatus();
  }
  absl::Status ReadTensor(const DnnAttribute& linked, Tensor* to) const {
    if (linked.type != kDnnReference || linked.numbers.size() != 1) return WrongNorm("an operand is no tensor");
    const DnnDescriptorForm& tensor = descriptors_[static_cast<size_t>(linked.numbers[0])];
    const int64_t number = tensor.One(kDnnNumber, -1), data = tensor.One(kDnnDataType, -1);
    const auto bound = std::find_if(graph_.tensors.begin(), graph_.tensors.end(),
                                    [&](const DnnBinding& b) { return b.tensor == number; });
    const auto* const type =
        std::find_if(std::begin(kNormTypes), std::end(kNormTypes), [&](const auto& t) { return t.number == data; });
    if (bound == graph_.tensors.end() || bound->value == 0) return WrongNorm("a tensor has no address");
    if (type == std::end(kNormTypes)) return WrongNorm("a tensor is of a type that none normalizes");
    if (!ToInts(tensor.Find(kDnnDims), &to->dims, 1) || !ToInts(tensor.Find(kDnnStrides), &to->strides, 0)) {
      return WrongNorm("a tensor has no sizes, or such as none has");
    }
    to->address = bound->value;
    to->type = type->type;
    return absl::OkStatus();
  }

  std::span<const DnnDescriptorForm> descriptors_;
  const DnnDescriptorForm& operation_;
  const DnnGraph& graph_;
};

// Nothing but tensors that are in memory, the operation, and the graph, which has it alone.
absl::Status CheckIsAlone(std::span<const DnnDescriptorForm> descriptors) {
  const size_t last = descriptors.size() - 2;
  for (size_t i = 0; i < last; ++i) {
    const DnnDescriptorForm& tensor = descriptors[i];
    if (tensor.type != kDnnTensor) return WrongNorm("there is another operation");
    if (tensor.One(kDnnIsVirtual, 0) != 0 || tensor.One(kDnnIsByValue, 0) != 0 || tensor.Find(kDnnRaggedOffset)) {
      return WrongNorm("a tensor is not whole in memory");
    }
  }
  const DnnAttribute* const operations = descriptors.back().Find(kDnnOperations);
  if (operations == nullptr || operations->type != kDnnReference || operations->numbers.size() != 1 ||
      operations->numbers[0] != static_cast<int64_t>(last)) {
    return WrongNorm("the graph has other operations");
  }
  return absl::OkStatus();
}

absl::Status CheckParts(const DnnNorm& n) {
  const bool has_all = n.x.address != 0 && n.y.address != 0 && n.scale.address != 0 &&
                       (n.backward ? n.dx.address != 0 && n.dscale != 0 && n.dshift != 0 : n.shift != 0);
  if (!has_all) return WrongNorm("an operand is missing");
  const bool has_others = n.backward ? (n.shift | n.mean | n.variance) != 0 : (n.dx.address | n.dscale | n.dshift) != 0;
  if (has_others) return WrongNorm("an operand is of the other direction");
  if ((n.mean == 0) != (n.variance == 0) || (n.saved_mean == 0) != (n.saved_inverse == 0)) {
    return WrongNorm("a mean without a variance, or the reverse");
  }
  return absl::OkStatus();
}

absl::Status CheckShapes(const DnnNorm& n) {
  const auto fits = [&](const Tensor& other) { return other.type == n.x.type && other.dims == n.x.dims; };
  if (!fits(n.y) || (n.backward && !fits(n.dx))) return WrongNorm("tensors are of other shapes or types than x");
  std::array<int32_t, kTensorDims> dims = n.x.dims;
  dims[0] = 1;
  if (n.mode != kPerActivation) std::fill(dims.begin() + 2, dims.end(), 1);
  if (n.scale.dims != dims) return WrongNorm("the scale is not of the shape that the mode asks for");
  if (n.scale.type != (n.x.type == ElementType::kF64 ? ElementType::kF64 : ElementType::kF32)) {
    return WrongNorm("the parameters are of a type that does not go with that of x");
  }
  // So that every parameter is within what its own tensor says of it, whichever order it is in.
  __int128 elements = 1, extent = 1;
  for (int i = 0; i < kTensorDims; ++i) {
    elements *= n.scale.dims[i];
    extent += static_cast<__int128>(n.scale.dims[i] - 1) * n.scale.strides[i];
  }
  return elements == extent ? absl::OkStatus() : WrongNorm("there are gaps between the parameters");
}

}  // namespace

bool IsWrittenByNorm(int32_t operation, int32_t part) {
  if (operation == kDnnNormBackward) return part == kNormDx || part == kNormDscale || part == kNormDshift;
  return part == kNormY || (part >= kNormMean && part <= kNormSavedInverse);
}

DnnGraph GraphOf(const DnnNorm& norm) {
  DnnGraph graph;
  NormWriter writer;
  ForEachPart(norm, [&](DnnNormPart part, const auto& of) {
    const DeviceAddress address = AddressOf(of);
    if (address == 0) return;
    writer.Add(part, LayoutOf(of, norm));
    graph.tensors.push_back({part, address});
  });
  graph.description = writer.Take(norm);
  return graph;
}

absl::StatusOr<std::optional<DnnNorm>> NormOf(const DnnDescription& description, const DnnGraph& graph) {
  const auto descriptors = description.descriptors();
  const auto is_norm = [](const DnnDescriptorForm& d) {
    return d.type == kDnnNormForward || d.type == kDnnNormBackward;
  };
  if (std::none_of(descriptors.begin(), descriptors.end(), is_norm)) return std::nullopt;
  if (!is_norm(descriptors[descriptors.size() - 2])) return WrongNorm("there is another operation");
  WHARF_RETURN_IF_ERROR(CheckIsAlone(descriptors));
  WHARF_ASSIGN_OR_RETURN(const DnnNorm norm, NormReader(descriptors, graph).Read());
  WHARF_RETURN_IF_ERROR(CheckParts(norm));
  WHARF_RETURN_IF_ERROR(CheckShapes(norm));
  return norm;
}

absl::StatusOr<std::optional<DnnNorm>> NormOf(const DnnGraph& graph) {
  WHARF_ASSIGN_OR_RETURN(const DnnDescription description, DnnDescription::Parse(graph.description));
  return NormOf(description, graph);
}

}  // namespace wharf::device
