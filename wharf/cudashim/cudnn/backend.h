// The graph ("backend") API's descriptors: what the program sets is kept as it is; when a descriptor is finalized it is
// checked, and from a graph of operations a plan is made: one primitive, and which of its tensors has which number.
// Pure: nothing here needs a session.
//
// A graph is one convolution, forward or with respect to the data, and what is done to its result element by element:
// a bias and another tensor added, then an activation; or one element-wise operation alone. Any other passes as it is
// to a server that has cuDNN itself (device/dnn_graph.h), and is refused if the server has not.
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

// Of a graph that passes: its number, and if it is given by value, of how many bytes.
struct PassedTensor {
  int64_t number = 0;
  size_t value_bytes = 0;
};

struct Plan {
  device::Primitive primitive;                    // without addresses
  std::vector<std::pair<int64_t, Role>> tensors;  // their numbers in variant packs; the result is one of them
  std::vector<PassedTensor> passed;               // instead, of a DnnGraph
};
// The primitive with its addresses, and with what is given by value now. kBadParameter: a tensor has none.
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
  // Also what was not set but is known of a final descriptor: engines, with TF32 for floats and without, and of a graph
  // that passes such as give the same result each time and such as may not; they have no knobs and need no workspace.
  DnnStatus Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value** value) const;
  // `check`, if there is one, has a say about a plan.
  using Check = std::function<DnnStatus(const Plan&)>;
  // Whether the server has cuDNN, which is asked of graphs that are no such plan.
  using Passes = std::function<bool()>;
  DnnStatus Finalize(const Check& check = {}, const Passes& passes = {});

  // --- what was set, for those who know that it is there ---
  const std::map<cudnnBackendAttributeName_t, Value>& values() const { return values_; }
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
  DnnStatus Adopt(const Check& check, const Passes& passes);  // what a final descriptor offers beside what was set
  DnnStatus AdoptGraph(const Check& check, const Passes& passes);
  void Offer(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::span<const int64_t> numbers);
  void OfferBytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                  std::span<const std::byte> bytes);
  void Offer(cudnnBackendAttributeName_t name, Pointer descriptor);  // one more
  void OfferNotes(bool tensor_cores, bool deterministic);
  DnnStatus OfferEngine(int64_t index);

  const cudnnBackendDescriptorType_t type_;
  bool finalized_ = false;
  std::map<cudnnBackendAttributeName_t, Value> values_;
  std::shared_ptr<const Plan> plan_;  // of a graph of operations, and of what is made from one
};

// Whether descriptors of this type are known here, or may be part of a graph that passes.
bool IsKnown(cudnnBackendDescriptorType_t type);
// Bytes of an attribute's element; 0 for types that are not known.
size_t BytesOf(cudnnBackendAttributeType_t type);

// --- backend_plan.cc ---
// Whether a tensor descriptor's sizes and strides are such at all.
DnnStatus CheckShape(const BackendDescriptor& descriptor);
// What a tensor descriptor says.
DnnStatus ToTensor(const BackendDescriptor& descriptor, device::Tensor* tensor);
DnnStatus MakePlan(std::span<const BackendDescriptor::Pointer> operations, Plan* plan);

// --- backend_graph.cc ---
// Of a graph as it is.
DnnStatus MakePassedPlan(const BackendDescriptor& graph, Plan* plan);
// REQUIRES: every tensor has a pointer.
void BindPassed(const Plan& plan, const std::map<int64_t, const void*>& pointers, device::DnnGraph* graph);

}  // namespace wharf::cudashim
