// Descriptors of dropout. Nothing is dropped at inference, which is all there is: the states of random numbers are kept
// in mind and never written.
#include "wharf/cudashim/cudnn/dnn.h"

namespace wharf::cudashim {
namespace {

// Room for states as the vendor's library has them on a GPU of some size.
constexpr size_t kStatesBytes = size_t{1} << 20;

DnnStatus SetDropout(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float dropout, void* states,
                     size_t bytes, unsigned long long seed) {  // NOLINT: the vendor's type
  WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
  if (descriptor == nullptr) return NullPointer("the descriptor");
  if (!(dropout >= 0 && dropout <= 1)) return BadParameter("a share of dropped elements");
  if (states != nullptr && bytes < kStatesBytes) {
    return {CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT, "less room for states than cudnnDropoutGetStatesSize says"};
  }
  *descriptor = {dropout, states, seed};
  return {};
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* descriptor) {
  return WHARF_DNN_LOCAL(cudnnCreateDropoutDescriptor, [&] { return CreateNew(descriptor); });
}

cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t descriptor) {
  return WHARF_DNN_LOCAL(cudnnDestroyDropoutDescriptor, [&] { return Destroy(descriptor); });
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* bytes) {
  return WHARF_DNN_LOCAL(cudnnDropoutGetStatesSize, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    return StoreTo(bytes, kStatesBytes);
  });
}

cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float dropout,
                                        void* states, size_t bytes, unsigned long long seed) {
  return WHARF_DNN_LOCAL(cudnnSetDropoutDescriptor,
                         [&] { return SetDropout(descriptor, handle, dropout, states, bytes, seed); });
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float dropout,
                                            void* states, size_t bytes, unsigned long long seed) {
  return WHARF_DNN_LOCAL(cudnnRestoreDropoutDescriptor,
                         [&] { return SetDropout(descriptor, handle, dropout, states, bytes, seed); });
}

cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float* dropout,
                                        void** states, unsigned long long* seed) {
  return WHARF_DNN_LOCAL(cudnnGetDropoutDescriptor, [&] {
    WHARF_DNN_RETURN_IF_ERROR(CheckHandle(handle));
    if (descriptor == nullptr) return NullPointer("the descriptor");
    StoreIfWanted(dropout, descriptor->dropout);
    StoreIfWanted(states, descriptor->states);
    StoreIfWanted(seed, descriptor->seed);
    return DnnStatus{};
  });
}

}  // extern "C"
