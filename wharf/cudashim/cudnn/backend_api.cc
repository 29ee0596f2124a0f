// The functions of the graph API.
#include <algorithm>
#include <cstring>

#include "wharf/cudashim/client/device_info.h"
#include "wharf/cudashim/cudnn/backend.h"
#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

// What the program's pointer points to. Getters that hand out descriptors put another one into it.
struct BackendHandle {
  static constexpr uint64_t kMagic = 0x77687266626b6e64;
  uint64_t magic = kMagic;
  BackendDescriptor::Pointer descriptor;
};

BackendHandle* HandleOf(cudnnBackendDescriptor_t descriptor) {
  auto* const handle = static_cast<BackendHandle*>(descriptor);
  return handle == nullptr || handle->magic != BackendHandle::kMagic ? nullptr : handle;
}

DnnStatus NoDescriptor() { return {CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the descriptor is null, or none"}; }

DnnStatus CollectDescriptors(int64_t count, const void* elements, std::vector<BackendDescriptor::Pointer>* collected) {
  const auto* const given = static_cast<const cudnnBackendDescriptor_t*>(elements);
  for (int64_t i = 0; i < count; ++i) {
    const BackendHandle* const handle = HandleOf(given[i]);
    if (handle == nullptr) return NoDescriptor();
    collected->push_back(handle->descriptor);
  }
  return {};
}

// As many as there is room for.
DnnStatus HandOut(const BackendDescriptor::Value& value, int64_t wanted, int64_t* count, void* elements) {
  StoreIfWanted(count, value.count);
  if (elements == nullptr || wanted == 0) return {};
  const auto stored = static_cast<size_t>(std::min(wanted, value.count));
  if (value.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (stored > 0) std::memcpy(elements, value.bytes.data(), stored * BytesOf(value.type));
    return {};
  }
  const auto* const places = static_cast<const cudnnBackendDescriptor_t*>(elements);
  for (size_t i = 0; i < stored; ++i) {
    BackendHandle* const handle = HandleOf(places[i]);
    if (handle == nullptr) return NoDescriptor();
    if (handle->descriptor->type() != value.descriptors[i]->type()) {
      return {CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a descriptor of another type is to be filled"};
    }
    handle->descriptor = value.descriptors[i];
  }
  return {};
}

// Whether it can be computed at all, but for where its tensors are.
DnnStatus CheckPlan(const Plan& plan) {
  static const uint64_t some_value[2] = {};
  std::map<int64_t, const void*> somewhere;
  for (const auto& [number, role] : plan.tensors) somewhere[number] = reinterpret_cast<const void*>(uint64_t{1} << 20);
  for (const PassedTensor& tensor : plan.passed) somewhere[tensor.number] = some_value;
  device::Primitive primitive;
  WHARF_DNN_RETURN_IF_ERROR(Bind(plan, somewhere, &primitive));
  std::string why;
  const CudaError error = client::CheckPrimitive(primitive, &why);
  return ToDnnStatus(error, std::move(why));
}

DnnStatus PrimitiveOf(cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack, device::Primitive* primitive) {
  const BackendHandle *const plan_handle = HandleOf(plan), *const pack_handle = HandleOf(pack);
  if (plan_handle == nullptr || pack_handle == nullptr) return NoDescriptor();
  const BackendDescriptor &execution = *plan_handle->descriptor, &variant = *pack_handle->descriptor;
  if (execution.type() != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      variant.type() != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
    return {CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "an execution plan and a variant pack are needed"};
  }
  if (!execution.finalized() || !variant.finalized()) {
    return {CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "the plan or the variant pack is not finalized"};
  }
  const auto numbers = variant.All<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto data = variant.All<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<int64_t, const void*> pointers;
  for (size_t i = 0; i < numbers.size(); ++i) pointers[numbers[i]] = data[i];
  return Bind(*execution.plan(), pointers, primitive);
}

}  // namespace

bool ServerHasCudnn() { return client::Connect() == CudaError::kSuccess && client::Properties().driver == "cuda"; }

}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  return WHARF_DNN_LOCAL(cudnnBackendCreateDescriptor, [&] {
    if (descriptor == nullptr) return NullPointer("the place of the descriptor");
    if (!IsKnown(type)) {
      client::ReportUnsupported("cudnnBackendCreateDescriptor, of what is neither an operation nor an engine");
      return Refused("backend descriptors of type " + std::to_string(type));
    }
    auto* const handle = new BackendHandle();
    handle->descriptor = std::make_shared<BackendDescriptor>(type);
    *descriptor = handle;
    return DnnStatus{};
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return WHARF_DNN_LOCAL(cudnnBackendDestroyDescriptor, [&] {
    BackendHandle* const handle = HandleOf(descriptor);
    if (handle == nullptr) return NoDescriptor();
    handle->magic = 0;
    delete handle;
    return DnnStatus{};
  });
}

// A descriptor is as new when it is made.
cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor) {
  return WHARF_DNN_LOCAL(cudnnBackendInitialize,
                         [&] { return HandleOf(descriptor) == nullptr ? NoDescriptor() : DnnStatus{}; });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return WHARF_DNN_LOCAL(cudnnBackendFinalize, [&] {
    const BackendHandle* const handle = HandleOf(descriptor);
    if (handle == nullptr) return NoDescriptor();
    const DnnStatus status = handle->descriptor->Finalize(CheckPlan, ServerHasCudnn);
    if (status.code == CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN) {
      client::ReportUnsupported(
          "cudnnBackendFinalize, of graphs other than a convolution, additions and an activation");
    }
    return status;
  });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* elements) {
  return WHARF_DNN_LOCAL(cudnnBackendSetAttribute, [&] {
    const BackendHandle* const handle = HandleOf(descriptor);
    if (handle == nullptr) return NoDescriptor();
    if (count < 0) return BadParameter("a negative number of elements");
    if (elements == nullptr && count > 0) return NullPointer("the elements");
    std::vector<BackendDescriptor::Pointer> descriptors;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      WHARF_DNN_RETURN_IF_ERROR(CollectDescriptors(count, elements, &descriptors));
    }
    return handle->descriptor->Set(name, type, count, elements, std::move(descriptors));
  });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count,
                                       void* elements) {
  return WHARF_DNN_LOCAL(cudnnBackendGetAttribute, [&] {
    const BackendHandle* const handle = HandleOf(descriptor);
    if (handle == nullptr) return NoDescriptor();
    if (wanted < 0) return BadParameter("a negative number of elements");
    const BackendDescriptor::Value* value = nullptr;
    WHARF_DNN_RETURN_IF_ERROR(handle->descriptor->Get(name, type, &value));
    return HandOut(*value, wanted, count, elements);
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  return WHARF_DNN_COMPUTE(cudnnBackendExecute, handle,
                           [&](device::Primitive* primitive) { return PrimitiveOf(plan, pack, primitive); });
}

}  // extern "C"
