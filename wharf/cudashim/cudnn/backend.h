// The graph ("backend") API's descriptors: what the program sets is kept as it is; when a descriptor is finalized it is
// checked, and from a graph of operations a plan is made: one primitive, and which of its tensors has which number.
// Pure: nothing here needs a session.
//
// A graph is one convolution, forward or with respect to the data, and what is done to its result element by element:
// a bias and another tensor added, then an activation; or one element-wise operation alone.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wharf/cudashim/cudnn/shape.h"

namespace wharf::cudashim {

// Which address of a primitive.
enum class Role : uint8_t { kInput, kFilter, kAdded, kBias, kSecond, kResult };

struct Plan {
  device::Primitive primitive;                    // without addresses
  std::vector<std::pair<int64_t, Role>> tensors;  // their numbers in variant packs; the result is one of them
};
// The primitive with its addresses. kBadParameter: a tensor has none.
DnnStatus Bind(const Plan& plan, const std::map<int64_t, const void*>& pointers, device::Primitive* primitive);

class BackendDescriptor {
 public:
  using Pointer = std::shared_ptr<BackendDescriptor>;
  // What an attribute was set to. Descriptors are kept alive, and are final.
  struct Value {
    cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
    int64_t count = 0;
    std::vector<std::byte> bytes;
    std::vector<Pointer> descriptors;
  };

  explicit BackendDescriptor(cudnnBackendDescriptorType_t type) : type_(type) {}

  cudnnBackendDescriptorType_t type() const { return type_; }
  bool finalized() const { return finalized_; }
  const Plan* plan() const { return plan_.get(); }

  // `descriptors` if the attribute's type is that, else `elements`.
  DnnStatus Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* elements,
                std::vector<Pointer> descriptors);
  // Also what was not set but is known of a final descriptor: two engines, with TF32 for floats and without, which have
  // no knobs and need no workspace.
  DnnStatus Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value** value) const;
  // `check`, if there is one, has a say about a plan.
  using Check = std::function<DnnStatus(const Plan&)>;
  DnnStatus Finalize(const Check& check = {});

  // --- what was set, for those who know that it is there ---
  bool Has(cudnnBackendAttributeName_t name) const { return values_.contains(name); }
  template <typename T>
  std::span<const T> All(cudnnBackendAttributeName_t name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return {};
    return {reinterpret_cast<const T*>(found->second.bytes.data()), found->second.bytes.size() / sizeof(T)};
  }
  template <typename T>
  T One(cudnnBackendAttributeName_t name, T otherwise) const {
    const std::span<const T> all = All<T>(name);
    return all.empty() ? otherwise : all[0];
  }
  // A number that may be float or double.
  double Number(cudnnBackendAttributeName_t name, double otherwise) const;
  const BackendDescriptor* Linked(cudnnBackendAttributeName_t name) const;
  std::span<const Pointer> AllLinked(cudnnBackendAttributeName_t name) const;

 private:
  DnnStatus Adopt();  // what a final descriptor offers beside what was set
  void Offer(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::span<const int64_t> numbers);
  void Offer(cudnnBackendAttributeName_t name, Pointer descriptor);  // one more
  void OfferNotes(int64_t engine);
  DnnStatus OfferEngine(int64_t index);

  const cudnnBackendDescriptorType_t type_;
  bool finalized_ = false;
  std::map<cudnnBackendAttributeName_t, Value> values_;
  std::shared_ptr<const Plan> plan_;  // of a graph of operations, and of what is made from one
};

// Whether descriptors of this type are known here.
bool IsKnown(cudnnBackendDescriptorType_t type);
// Bytes of an attribute's element; 0 for types that are not known.
size_t BytesOf(cudnnBackendAttributeType_t type);

// --- backend_plan.cc ---
// What a tensor descriptor says.
DnnStatus ToTensor(const BackendDescriptor& descriptor, device::Tensor* tensor);
DnnStatus MakePlan(std::span<const BackendDescriptor::Pointer> operations, Plan* plan);

}  // namespace wharf::cudashim
