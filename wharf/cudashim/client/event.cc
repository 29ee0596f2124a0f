#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream.h"
#include "wharf/cudashim/client/stream_work.h"

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

// Makes a node of the graph that the stream is captured into.
CudaError AddExternal(Connection& connection, device::StreamId stream, cudagraph::Params params) {
  bool captured = false;
  const CudaError error = connection.captures.Enter(stream, &captured);
  if (error != CudaError::kSuccess) return error;
  return captured ? connection.captures.Add(stream, std::move(params)) : CudaError::kInvalidValue;
}

// Forbidden are calls about an event that was recorded in a captured stream, and `unsafe` ones.
CudaError CheckCapture(Connection& connection, EventHandle event, bool unsafe) {
  const CudaError error = connection.captures.ForbidEvent(event);
  return error != CudaError::kSuccess || !unsafe ? error : ForbidUnsafe(connection);
}

}  // namespace

CudaError CreateEvent(uint32_t flags, EventHandle* event) {
  constexpr uint32_t kBlockingSync = 1, kDisableTiming = 2, kInterprocess = 4;
  if ((flags & ~(kBlockingSync | kDisableTiming | kInterprocess)) != 0) return CudaError::kInvalidValue;
  if ((flags & kInterprocess) != 0) {
    if ((flags & kDisableTiming) == 0) return CudaError::kInvalidValue;
    ReportUnsupported("cudaEventCreateWithFlags (cudaEventInterprocess)");
    return CudaError::kNotSupported;
  }
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  const uint64_t id = Process::Get().NewId();
  absl::MutexLock lock(&connection->mutex);
  error = connection->session->Post(offload::CreateEvent{id, flags});
  if (error != CudaError::kSuccess) return error;
  connection->events.emplace(id, false);
  *event = id;
  return CudaError::kSuccess;
}

CudaError DestroyEvent(EventHandle event) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  if (connection == nullptr) return error;
  connection->captures.Forget(event);
  absl::MutexLock lock(&connection->mutex);
  connection->events.erase(event);
  return connection->session->Post(offload::DestroyEvent{event});
}

CudaError RecordOn(Connection& connection, device::StreamId stream, EventHandle event) {
  {
    absl::MutexLock lock(&connection.mutex);
    const auto found = connection.events.find(event);
    if (found == connection.events.end()) return CudaError::kInvalidHandle;
    found->second = true;
  }
  return connection.session->Post(offload::RecordEvent{event, stream});
}

CudaError RecordEvent(EventHandle event, StreamHandle stream, bool external) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  if (error != CudaError::kSuccess) return error;
  if (external) return AddExternal(*connection, id, cudagraph::RecordParams{event});
  bool captured = false;
  error = connection->captures.Record(id, event, &captured);
  return captured || error != CudaError::kSuccess ? error : RecordOn(*connection, id, event);
}

CudaError WaitEvent(StreamHandle stream, EventHandle event, bool external) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  if (error != CudaError::kSuccess) return error;
  if (external) return AddExternal(*connection, id, cudagraph::WaitParams{event});
  bool recorded = false;
  {
    absl::MutexLock lock(&connection->mutex);
    const auto found = connection->events.find(event);
    recorded = found != connection->events.end() && found->second;
  }
  bool captured = false;
  error = connection->captures.Wait(id, connection->IsBlocking(id), event, recorded, &captured);
  if (captured || error != CudaError::kSuccess) return error;
  return connection->session->Post(offload::WaitEvent{id, event});
}

CudaError SynchronizeEvent(EventHandle event) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  if (connection == nullptr) return error;
  error = CheckCapture(*connection, event, /*unsafe=*/true);
  return error != CudaError::kSuccess ? error : connection->session->Ask(offload::SynchronizeEvent{event});
}

CudaError QueryEvent(EventHandle event) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(event, &error);
  if (connection == nullptr) return error;
  error = CheckCapture(*connection, event, /*unsafe=*/true);
  return error != CudaError::kSuccess ? error : connection->session->Ask(offload::QueryEvent{event});
}

CudaError ElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = ConnectionOf(start, &error);
  if (connection == nullptr || ConnectionOf(end, &error) == nullptr) return error;
  for (const EventHandle event : {start, end}) {
    error = CheckCapture(*connection, event, /*unsafe=*/false);
    if (error != CudaError::kSuccess) return error;
  }
  offload::ElapsedTime::Reply reply;
  error = connection->session->Ask(offload::ElapsedTime{start, end}, &reply);
  if (error == CudaError::kSuccess) *milliseconds = reply.milliseconds;
  return error;
}

}  // namespace wharf::client
