// From a graph of operations to its description, for a server that has cuDNN itself.
#include <algorithm>
#include <cstring>

#include "wharf/cudashim/cudnn/backend.h"

namespace wharf::cudashim {
namespace {

// Of one element; 0 for types that are not known.
size_t BytesOfData(int64_t type) {
  switch (type) {
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
      return 1;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 8;
    default:
      return 0;
  }
}

// An attribute's elements as numbers (device/dnn_graph.h).
std::vector<int64_t> NumbersOf(const BackendDescriptor::Value& value) {
  const size_t size = value.type == CUDNN_TYPE_FRACTION ? sizeof(int64_t) : BytesOf(value.type);
  std::vector<int64_t> numbers;
  for (size_t at = 0; at + size <= value.bytes.size(); at += size) {
    int64_t number = 0;
    if (size == sizeof(int32_t)) {
      int32_t narrow = 0;
      std::memcpy(&narrow, &value.bytes[at], size);
      number = narrow;
    } else {
      std::memcpy(&number, &value.bytes[at], size);
    }
    numbers.push_back(number);
  }
  return numbers;
}

class Describer {
 public:
  explicit Describer(std::vector<PassedTensor>* tensors) : tensors_(*tensors) {}

  // What it refers to comes first, each once.
  DnnStatus Add(const BackendDescriptor& descriptor) {
    if (indices_.contains(&descriptor)) return {};
    for (const auto& [name, value] : descriptor.values()) {
      for (const auto& other : value.descriptors) {
        if (const DnnStatus status = Add(*other); !status.ok()) return status;
      }
    }
    if (descriptor.type() == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
      if (const DnnStatus status = NoteTensor(descriptor); !status.ok()) return status;
    }
    std::vector<std::pair<int64_t, const BackendDescriptor::Value*>> attributes;
    for (const auto& [name, value] : descriptor.values()) {
      if (value.type == CUDNN_TYPE_HANDLE) continue;  // the server has its own
      if (value.type == CUDNN_TYPE_VOID_PTR) return Refused("a graph with a pointer among its attributes");
      attributes.emplace_back(name, &value);
    }
    writer_.Descriptor(descriptor.type(), static_cast<int64_t>(attributes.size()));
    for (const auto& [name, value] : attributes) {
      std::vector<int64_t> numbers = NumbersOf(*value);
      for (const auto& other : value->descriptors) numbers.push_back(indices_.at(other.get()));
      writer_.Attribute(name, value->type, numbers);
    }
    indices_.emplace(&descriptor, static_cast<int64_t>(indices_.size()));
    return {};
  }
  std::vector<std::byte> Take() { return writer_.Take(); }

 private:
  DnnStatus NoteTensor(const BackendDescriptor& tensor) {
    if (tensor.One<bool>(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false)) return {};
    PassedTensor passed{tensor.One<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0), 0};
    if (tensor.One<bool>(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false)) {
      passed.value_bytes = BytesOfData(tensor.One<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
      for (const int64_t dim : tensor.All<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)) {
        if (dim != 1) return Refused("a tensor of several elements that is given by value");
      }
      if (passed.value_bytes == 0) return Refused("a tensor that is given by value, of a type that is not known");
    }
    const bool known = std::any_of(tensors_.begin(), tensors_.end(),
                                   [&](const PassedTensor& other) { return other.number == passed.number; });
    if (!known) tensors_.push_back(passed);
    return {};
  }

  std::vector<PassedTensor>& tensors_;
  std::map<const BackendDescriptor*, int64_t> indices_;
  device::DnnDescriptionWriter writer_;
};

}  // namespace

DnnStatus MakePassedPlan(const BackendDescriptor& graph, Plan* plan) {
  plan->tensors.clear();
  Describer describer(&plan->passed);
  if (const DnnStatus status = describer.Add(graph); !status.ok()) return status;
  device::DnnGraph passed;
  passed.description = describer.Take();
  plan->primitive = std::move(passed);
  return {};
}

void BindPassed(const Plan& plan, const std::map<int64_t, const void*>& pointers, device::DnnGraph* graph) {
  for (const PassedTensor& tensor : plan.passed) {
    const void* const pointer = pointers.at(tensor.number);
    device::DnnBinding binding{tensor.number, reinterpret_cast<uint64_t>(pointer)};
    if (tensor.value_bytes == 0) {
      graph->tensors.push_back(binding);
      continue;
    }
    binding.value = 0;
    std::memcpy(&binding.value, pointer, tensor.value_bytes);
    graph->scalars.push_back(binding);
  }
}

}  // namespace wharf::cudashim
