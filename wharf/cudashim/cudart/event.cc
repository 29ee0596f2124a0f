// Events.
#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

CudaError MakeEvent(cudaEvent_t* event, unsigned flags) {
  client::EventHandle handle = 0;
  if (event == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::CreateEvent(flags, &handle);
  if (error == CudaError::kSuccess) *event = reinterpret_cast<cudaEvent_t>(handle);
  return error;
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return Runtime(Call::k_cudaEventCreate, [&] { return MakeEvent(event, 0); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return Runtime(Call::k_cudaEventCreateWithFlags, [&] { return MakeEvent(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Runtime(Call::k_cudaEventDestroy, [&] { return client::DestroyEvent(Event(event)); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Runtime(Call::k_cudaEventRecord, [&] { return client::RecordEvent(Event(event), Stream(stream), false); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return Runtime(Call::k_cudaEventRecordWithFlags, [&] {
    if (flags > cudaEventRecordExternal) return CudaError::kInvalidValue;
    return client::RecordEvent(Event(event), Stream(stream), flags == cudaEventRecordExternal);
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Runtime(Call::k_cudaEventSynchronize, [&] { return client::SynchronizeEvent(Event(event)); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return Runtime(Call::k_cudaEventQuery, [&] { return client::QueryEvent(Event(event)); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return Runtime(Call::k_cudaEventElapsedTime, [&] {
    if (milliseconds == nullptr) return CudaError::kInvalidValue;
    return client::ElapsedTime(milliseconds, Event(start), Event(end));
  });
}

}  // extern "C"
