// Streams.
#include "wharf/cudashim/client/stream.h"

#include "wharf/cudashim/cudart/runtime.h"

namespace wharf::cudashim {
namespace {

CudaError MakeStream(cudaStream_t* stream, unsigned flags, int priority) {
  client::StreamHandle handle = 0;
  if (stream == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::CreateStream(flags, priority, &handle);
  if (error == CudaError::kSuccess) *stream = reinterpret_cast<cudaStream_t>(handle);
  return error;
}

// Fills one fact about a stream.
template <typename T, typename Read>
CudaError Describe(cudaStream_t stream, T* value, Read&& read) {
  client::StreamInfo info;
  if (value == nullptr) return CudaError::kInvalidValue;
  const CudaError error = client::DescribeStream(Stream(stream), &info);
  if (error == CudaError::kSuccess) *value = read(info);
  return error;
}

CudaError CheckStream(cudaStream_t stream) {
  client::StreamInfo info;
  return client::DescribeStream(Stream(stream), &info);
}

}  // namespace
}  // namespace wharf::cudashim

using namespace wharf;            // NOLINT
using namespace wharf::cudashim;  // NOLINT

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return Runtime(Call::k_cudaStreamCreate, [&] { return MakeStream(stream, 0, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return Runtime(Call::k_cudaStreamCreateWithFlags, [&] { return MakeStream(stream, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return Runtime(Call::k_cudaStreamCreateWithPriority, [&] { return MakeStream(stream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Runtime(Call::k_cudaStreamDestroy, [&] { return client::DestroyStream(Stream(stream)); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Runtime(Call::k_cudaStreamSynchronize, [&] { return client::SynchronizeStream(Stream(stream)); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Runtime(Call::k_cudaStreamQuery, [&] { return client::QueryStream(Stream(stream)); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return Runtime(Call::k_cudaStreamWaitEvent, [&] {
    if (flags > cudaEventWaitExternal) return CudaError::kInvalidValue;
    return client::WaitEvent(Stream(stream), Event(event), flags == cudaEventWaitExternal);
  });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* user, unsigned flags) {
  return Runtime(Call::k_cudaStreamAddCallback, [&] {
    if (flags != 0 || callback == nullptr) return CudaError::kInvalidValue;
    return client::AddStreamCallback(
        Stream(stream), [=](CudaError status) { callback(stream, static_cast<cudaError_t>(status), user); });
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return Runtime(Call::k_cudaStreamGetFlags,
                 [&] { return Describe(stream, flags, [](const auto& info) { return info.flags; }); });
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return Runtime(Call::k_cudaStreamGetPriority,
                 [&] { return Describe(stream, priority, [](const auto& info) { return info.priority; }); });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return Runtime(Call::k_cudaStreamGetId,
                 [&] { return Describe(stream, id, [](const auto& info) { return info.id; }); });
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return Runtime(Call::k_cudaStreamGetDevice, [&] { return Describe(stream, device, [](const auto&) { return 0; }); });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue* value) {
  return Runtime(Call::k_cudaStreamGetAttribute, [&] {
    if (value == nullptr) return CudaError::kInvalidValue;
    *value = {};
    if (attribute != cudaStreamAttributePriority) return CheckStream(stream);
    return Describe(stream, &value->priority, [](const auto& info) { return info.priority; });
  });
}

// Attributes are hints to the hardware: accepted, without effect.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  return Runtime(Call::k_cudaStreamSetAttribute,
                 [&] { return value == nullptr ? CudaError::kInvalidValue : CheckStream(stream); });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return Runtime(Call::k_cudaStreamCopyAttributes, [&] {
    const CudaError error = CheckStream(to);
    return error != CudaError::kSuccess ? error : CheckStream(from);
  });
}

// Managed memory may be used by any stream and the program, attached or not.
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void* pointer, size_t size, unsigned) {
  return Runtime(Call::k_cudaStreamAttachMemAsync, [&] { return client::CheckManaged(Address(pointer), size); });
}

cudaError_t cudaCtxResetPersistingL2Cache(void) {
  return Runtime(Call::k_cudaCtxResetPersistingL2Cache, [] { return CudaError::kSuccess; });
}

}  // extern "C"
