// Streams and events of the driver API.
#include "wharf/cudashim/client/stream.h"

#include "wharf/cudashim/cuda/driver.h"

namespace wharf::cudashim {
namespace {

CudaError MakeStream(CUstream* stream, unsigned flags, int priority) {
  client::StreamHandle handle = 0;
  if (stream == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::CreateStream(flags, priority, &handle);
  if (error == CudaError::kSuccess) *stream = reinterpret_cast<CUstream>(handle);
  return error;
}

template <typename T, typename Read>
CudaError Describe(CUstream stream, T* value, Read&& read) {
  client::StreamInfo info;
  const CudaError error = client::DescribeStream(Stream(stream), &info);
  return error == CudaError::kSuccess ? Store(value, read(info)) : error;
}

CudaError CheckStream(CUstream stream) {
  client::StreamInfo info;
  return client::DescribeStream(Stream(stream), &info);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return Driver(Call::k_cuStreamCreate, [&] { return MakeStream(stream, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return Driver(Call::k_cuStreamCreateWithPriority, [&] { return MakeStream(stream, flags, priority); });
}

CUresult cuStreamDestroy(CUstream stream) {
  return Driver(Call::k_cuStreamDestroy_v2, [&] { return client::DestroyStream(Stream(stream)); });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return Driver(Call::k_cuStreamWaitEvent, [&] {
    if (flags > CU_EVENT_WAIT_EXTERNAL) return CudaError::kInvalidValue;
    return client::WaitEvent(Stream(stream), Event(event), flags == CU_EVENT_WAIT_EXTERNAL);
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return Driver(Call::k_cuStreamSynchronize, [&] { return client::SynchronizeStream(Stream(stream)); });
}

CUresult cuStreamQuery(CUstream stream) {
  return Driver(Call::k_cuStreamQuery, [&] { return client::QueryStream(Stream(stream)); });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return Driver(Call::k_cuStreamGetFlags,
                [&] { return Describe(stream, flags, [](const auto& info) { return info.flags; }); });
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return Driver(Call::k_cuStreamGetPriority,
                [&] { return Describe(stream, priority, [](const auto& info) { return info.priority; }); });
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return Driver(Call::k_cuStreamGetId, [&] { return Describe(stream, id, [](const auto& info) { return info.id; }); });
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return Driver(Call::k_cuStreamGetCtx, [&] {
    CUcontext primary = nullptr;
    cuDevicePrimaryCtxRetain(&primary, 0);
    return Describe(stream, context, [&](const auto&) { return primary; });
  });
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return Driver(Call::k_cuStreamGetDevice, [&] { return Describe(stream, device, [](const auto&) { return 0; }); });
}

CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return Driver(Call::k_cuStreamGetAttribute, [&] {
    if (value == nullptr) return CudaError::kInvalidValue;
    *value = {};
    if (attribute != CU_LAUNCH_ATTRIBUTE_PRIORITY) return CheckStream(stream);
    return Describe(stream, &value->priority, [](const auto& info) { return info.priority; });
  });
}

// Attributes are hints to the hardware: accepted, without effect.
CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID, const CUstreamAttrValue* value) {
  return Driver(Call::k_cuStreamSetAttribute,
                [&] { return value == nullptr ? CudaError::kInvalidValue : CheckStream(stream); });
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from) {
  return Driver(Call::k_cuStreamCopyAttributes, [&] {
    const CudaError error = CheckStream(to);
    return error != CudaError::kSuccess ? error : CheckStream(from);
  });
}

// Managed memory may be used by any stream and the program, attached or not.
CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr pointer, size_t size, unsigned) {
  return Driver(Call::k_cuStreamAttachMemAsync, [&] { return client::CheckManaged(pointer, size); });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return Driver(Call::k_cuEventCreate, [&] {
    client::EventHandle handle = 0;
    if (event == nullptr) return CudaError::kInvalidValue;
    const CudaError error = client::CreateEvent(flags, &handle);
    if (error == CudaError::kSuccess) *event = reinterpret_cast<CUevent>(handle);
    return error;
  });
}

CUresult cuEventDestroy(CUevent event) {
  return Driver(Call::k_cuEventDestroy_v2, [&] { return client::DestroyEvent(Event(event)); });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return Driver(Call::k_cuEventRecord, [&] { return client::RecordEvent(Event(event), Stream(stream), false); });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return Driver(Call::k_cuEventRecordWithFlags, [&] {
    if (flags > CU_EVENT_RECORD_EXTERNAL) return CudaError::kInvalidValue;
    return client::RecordEvent(Event(event), Stream(stream), flags == CU_EVENT_RECORD_EXTERNAL);
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return Driver(Call::k_cuEventSynchronize, [&] { return client::SynchronizeEvent(Event(event)); });
}

CUresult cuEventQuery(CUevent event) {
  return Driver(Call::k_cuEventQuery, [&] { return client::QueryEvent(Event(event)); });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return Driver(Call::k_cuEventElapsedTime_v2, [&] {
    if (milliseconds == nullptr) return CudaError::kInvalidValue;
    return client::ElapsedTime(milliseconds, Event(start), Event(end));
  });
}

}  // extern "C"
