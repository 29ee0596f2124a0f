#include "wharf/cudashim/client/stream.h"

#include <utility>

#include "wharf/cudashim/client/process.h"

namespace wharf::client {
namespace {

thread_local bool per_thread_default = false;

// This thread's own default stream, made at its first use in a session.
struct OwnStream {
  uint64_t generation = 0;
  StreamHandle stream = 0;
};
thread_local OwnStream own_stream;

// Runs `body(connection, stream id)` with a valid stream.
template <typename Body>
CudaError WithStream(StreamHandle stream, Body&& body) {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  device::StreamId id = 0;
  error = connection->Resolve(stream, &id);
  return error == CudaError::kSuccess ? body(*connection, id) : error;
}

// Asks whether, or until, the stream is done; not if that is known, as it is when a copy to the host just brought data.
template <typename Op>
CudaError Settle(Connection& connection, device::StreamId stream, const Op& op) {
  offload::ClientSession& session = *connection.session;
  if (session.IsKnownDone(stream)) return CudaError::kSuccess;
  const offload::ClientSession::RequestPtr request = session.Start(op);
  const CudaError error = session.Wait({&request, 1});
  if (error == CudaError::kSuccess) session.NoteDone(*request, stream);
  return error;
}

CudaError MakeStream(Connection& connection, uint32_t flags, int32_t priority, StreamHandle* stream) {
  const uint64_t id = Process::Get().NewId();
  absl::MutexLock lock(&connection.mutex);
  const CudaError error = connection.session->Post(offload::CreateStream{id, flags, priority});
  if (error != CudaError::kSuccess) return error;
  connection.streams.emplace(id, StreamInfo{id, flags, priority});
  *stream = id;
  return CudaError::kSuccess;
}

}  // namespace

PerThreadDefaultStream::PerThreadDefaultStream() : before_(per_thread_default) { per_thread_default = true; }
PerThreadDefaultStream::~PerThreadDefaultStream() { per_thread_default = before_; }

CudaError Connection::Resolve(StreamHandle stream, device::StreamId* id) {
  if (stream == kLegacyStream || (stream == 0 && !per_thread_default)) {
    *id = device::kDefaultStream;
    return CudaError::kSuccess;
  }
  if (stream == 0 || stream == kPerThreadStream) {
    if (own_stream.generation != generation) {
      const CudaError error = MakeStream(*this, 0, 0, &own_stream.stream);
      if (error != CudaError::kSuccess) return error;
      own_stream.generation = generation;
    }
    *id = own_stream.stream;
    return CudaError::kSuccess;
  }
  absl::MutexLock lock(&mutex);
  if (!streams.contains(stream)) return CudaError::kInvalidHandle;
  *id = stream;
  return CudaError::kSuccess;
}

CudaError CreateStream(uint32_t flags, int32_t priority, StreamHandle* stream) {
  if (flags > 1) return CudaError::kInvalidValue;
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  return connection == nullptr ? error : MakeStream(*connection, flags, priority, stream);
}

CudaError DestroyStream(StreamHandle stream) {
  if (stream <= kPerThreadStream) return CudaError::kInvalidHandle;
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    absl::MutexLock lock(&connection.mutex);
    connection.streams.erase(stream);
    return connection.session->Post(offload::DestroyStream{id});
  });
}

CudaError SynchronizeStream(StreamHandle stream) {
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    return Settle(connection, id, offload::SynchronizeStream{id});
  });
}

CudaError QueryStream(StreamHandle stream) {
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    return Settle(connection, id, offload::QueryStream{id});
  });
}

CudaError SynchronizeDevice() {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  return connection == nullptr ? error : connection->session->Ask(offload::SynchronizeDevice{});
}

CudaError DescribeStream(StreamHandle stream, StreamInfo* info) {
  if (stream <= kPerThreadStream) {
    *info = {stream == 0 && per_thread_default ? kPerThreadStream : (stream == 0 ? kLegacyStream : stream), 0, 0};
    return CudaError::kSuccess;
  }
  return WithStream(stream, [&](Connection& connection, device::StreamId) {
    absl::MutexLock lock(&connection.mutex);
    *info = connection.streams.at(stream);
    return CudaError::kSuccess;
  });
}

CudaError LaunchHostFunction(StreamHandle stream, HostFunction function, void* user) {
  if (function == nullptr) return CudaError::kInvalidValue;
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    return connection.session->PostHostCall(id, [function, user] {
      const HostFunctionScope scope;
      function(user);
    });
  });
}

CudaError AddStreamCallback(StreamHandle stream, StreamCallback callback) {
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    offload::ClientSession* const session = connection.session.get();
    return session->PostHostCall(id, [session, callback = std::move(callback)] {
      const HostFunctionScope scope;
      callback(session->StickyError());
    });
  });
}

}  // namespace wharf::client
