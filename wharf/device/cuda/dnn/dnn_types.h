// What the parts of Dnn share: cuDNN's numbers, and its objects.
#pragma once

#include <utility>

#include "wharf/base/status.h"
#include "wharf/device/element_type.h"

namespace wharf::device::cuda {

// cudnnMathType_t
inline constexpr int kDefaultMath = 0, kTensorOpMath = 1, kFmaMath = 3;

// cudnnDataType_t
constexpr int DnnType(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return 1;
    case ElementType::kF16:
      return 2;
    case ElementType::kBF16:
      return 9;
    default:
      return 0;
  }
}

// A cudnnStatus_t; `what` names the call.
absl::Status CheckDnn(int status, const char* what);

// One of cuDNN's, ended with its own function.
class DnnDescriptor {
 public:
  DnnDescriptor() = default;
  DnnDescriptor(void* descriptor, int (*destroy)(void*)) : descriptor_(descriptor), destroy_(destroy) {}
  DnnDescriptor(DnnDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, nullptr)), destroy_(other.destroy_) {}
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~DnnDescriptor() {
    if (descriptor_ != nullptr) destroy_(descriptor_);
  }
  void* get() const { return descriptor_; }

 private:
  void* descriptor_ = nullptr;
  int (*destroy_)(void*) = nullptr;
};

}  // namespace wharf::device::cuda
