#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream.h"

namespace wharf::client {
namespace {

// The session's connection if `event` is one of its events.
Connection* ConnectionOf(EventHandle event, CudaError* error) {
  Connection* const connection = Process::Get().Connect(error);
  if (connection == nullptr) return nullptr;
  absl::MutexLock lock(&connection->mutex);
  if (connection->events.contains(event)) return connection;
  *error = CudaError::kInvalidHandle;
  return nullptr;
}

// Posts what `make` makes of the number of `stream`.
template <typename Make>
CudaError PostOnStream(EventHandle event, StreamHandle stream, Make make) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  if (error != CudaError::kSuccess) return error;
  return connection->session->Post(make(id));
}

}  // namespace

CudaError CreateEvent(uint32_t flags, EventHandle* event) {
  constexpr uint32_t kBlockingSync = 1, kDisableTiming = 2;
  if ((flags & ~(kBlockingSync | kDisableTiming)) != 0) return CudaError::kInvalidValue;  // interprocess: not offered
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const uint64_t id = Process::Get().NewId();
  absl::MutexLock lock(&connection->mutex);
  error = connection->session->Post(offload::CreateEvent{id, flags});
  if (error != CudaError::kSuccess) return error;
  connection->events.insert(id);
  *event = id;
  return CudaError::kSuccess;
}

CudaError DestroyEvent(EventHandle event) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  if (connection == nullptr) return error;
  absl::MutexLock lock(&connection->mutex);
  connection->events.erase(event);
  return connection->session->Post(offload::DestroyEvent{event});
}

CudaError RecordEvent(EventHandle event, StreamHandle stream) {
  return PostOnStream(event, stream, [&](device::StreamId id) { return offload::RecordEvent{event, id}; });
}

CudaError WaitEvent(StreamHandle stream, EventHandle event) {
  return PostOnStream(event, stream, [&](device::StreamId id) { return offload::WaitEvent{id, event}; });
}

CudaError SynchronizeEvent(EventHandle event) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  return connection == nullptr ? error : connection->session->Ask(offload::SynchronizeEvent{event});
}

CudaError QueryEvent(EventHandle event) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  return connection == nullptr ? error : connection->session->Ask(offload::QueryEvent{event});
}

CudaError ElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(start, &error);
  if (connection == nullptr || ConnectionOf(end, &error) == nullptr) return error;
  offload::ElapsedTime::Reply reply;
  error = connection->session->Ask(offload::ElapsedTime{start, end}, &reply);
  if (error == CudaError::kSuccess) *milliseconds = reply.milliseconds;
  return error;
}

}  // namespace wharf::client
