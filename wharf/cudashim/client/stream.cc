#include "wharf/cudashim/client/stream.h"

#include <atomic>
#include <utility>

#include "wharf/cudashim/client/process.h"
#include "wharf/cudashim/client/stream_work.h"

namespace wharf::client {
namespace {

thread_local bool per_thread_default = false;

// This thread's own default stream, made at its first use in a session.
struct OwnStream {
  uint64_t generation = 0;
  StreamHandle stream = 0;
};
thread_local OwnStream own_stream;

constexpr uint32_t kNonBlocking = 1;

thread_local cudagraph::CaptureMode capture_mode = cudagraph::CaptureMode::kGlobal;

offload::ClientSession::RequestPtr Start(offload::ClientSession& session, const offload::QueryStream& op) {
  return session.Start(op);
}
offload::ClientSession::RequestPtr Start(offload::ClientSession& session, const offload::SynchronizeStream& op) {
  return session.StartSynchronize(op);
}

// Asks whether, or until, the stream is done; not if that is known, as it is when a copy to the host just brought data.
template <typename Op>
CudaError Settle(Connection& connection, device::StreamId stream, const Op& op) {
  offload::ClientSession& session = *connection.session;
  if (session.IsKnownDone(stream)) return CudaError::kSuccess;
  const offload::ClientSession::RequestPtr request = Start(session, op);
  const CudaError error = session.Wait({&request, 1});
  if (error == CudaError::kSuccess) session.NoteDone(*request, stream);
  return error;
}

CudaError MakeStream(Connection& connection, uint32_t flags, int32_t priority, StreamHandle* stream) {
  const uint64_t id = Process::Get().NewId();
  absl::MutexLock lock(&connection.mutex);
  CudaError error = connection.session->Post(offload::CreateStream{id, flags, priority});
  if (error == CudaError::kSuccess && connection.on_legacy != 0 && (flags & kNonBlocking) != 0) {
    error = connection.session->Post(offload::WaitEvent{id, connection.on_legacy});
  }
  if (error != CudaError::kSuccess) return error;
  connection.streams.emplace(id, StreamInfo{id, flags, priority});
  *stream = id;
  return CudaError::kSuccess;
}

}  // namespace

cudagraph::ThreadId ThisThread() {
  static std::atomic<cudagraph::ThreadId> next{1};
  thread_local const cudagraph::ThreadId own = next.fetch_add(1, std::memory_order_relaxed);
  return own;
}

bool IsUnmade(const Connection& connection, StreamHandle stream) {
  const bool own = stream == kPerThreadStream || (stream == 0 && per_thread_default);
  return own && own_stream.generation != connection.generation;
}

CudaError ForbidUnsafe(Connection& connection) { return connection.captures.ForbidUnsafe(capture_mode, ThisThread()); }

CudaError ExchangeCaptureMode(int* mode) {
  if (mode == nullptr || *mode < 0 || *mode > static_cast<int>(cudagraph::CaptureMode::kRelaxed)) {
    return CudaError::kInvalidValue;
  }
  const int before = static_cast<int>(capture_mode);
  capture_mode = static_cast<cudagraph::CaptureMode>(*mode);
  *mode = before;
  return CudaError::kSuccess;
}

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

CudaError Connection::OrderBehindLegacy() {
  constexpr uint32_t kDisableTiming = 2;
  absl::MutexLock lock(&mutex);
  CudaError error = CudaError::kSuccess;
  if (on_legacy == 0) {
    on_legacy = Process::Get().NewId();
    error = session->Post(offload::CreateEvent{on_legacy, kDisableTiming});
  }
  if (error == CudaError::kSuccess) error = session->Post(offload::RecordEvent{on_legacy, device::kDefaultStream});
  for (const auto& [handle, stream] : streams) {
    if (error != CudaError::kSuccess) break;
    if ((stream.flags & kNonBlocking) != 0) error = session->Post(offload::WaitEvent{stream.id, on_legacy});
  }
  return error;
}

bool Connection::IsBlocking(device::StreamId id) {
  absl::MutexLock lock(&mutex);
  const auto found = streams.find(id);
  return found == streams.end() || (found->second.flags & kNonBlocking) == 0;
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
    connection.captures.Drop(id);
    absl::MutexLock lock(&connection.mutex);
    connection.streams.erase(stream);
    return connection.session->Post(offload::DestroyStream{id});
  });
}

// Unsafe meanwhile is to wait for any stream, or to ask how far it is; for a captured one it is forbidden in every
// mode.
static CudaError ForbidWaiting(Connection& connection, device::StreamId stream) {
  const CudaError error = connection.captures.ForbidOn(stream);
  return error == CudaError::kSuccess ? ForbidUnsafe(connection) : error;
}

CudaError SynchronizeStream(StreamHandle stream) {
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    const CudaError error = ForbidWaiting(connection, id);
    return error != CudaError::kSuccess ? error : SynchronizeOn(connection, id);
  });
}

CudaError SynchronizeOn(Connection& connection, device::StreamId stream) {
  return Settle(connection, stream, offload::SynchronizeStream{stream});
}

CudaError QueryStream(StreamHandle stream) {
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    const CudaError error = ForbidWaiting(connection, id);
    if (error != CudaError::kSuccess) return error;
    return Settle(connection, id, offload::QueryStream{id});
  });
}

CudaError SynchronizeDevice() {
  CudaError error = CudaError::kSuccess;
  Connection* const connection = Process::Get().Connect(&error);
  if (connection == nullptr) return error;
  error = connection->captures.ForbidAll();
  return error != CudaError::kSuccess ? error : connection->session->Ask(offload::SynchronizeDevice{});
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

CudaError HostFunctionOn(Connection& connection, device::StreamId stream, const cudagraph::HostParams& call) {
  return connection.session->PostHostCall(stream, [call] {
    const HostFunctionScope scope;
    call.function(call.user);
  });
}

CudaError LaunchHostFunction(StreamHandle stream, HostFunction function, void* user) {
  if (function == nullptr) return CudaError::kInvalidValue;
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    const cudagraph::HostParams call{function, user};
    bool captured = false;
    const CudaError error = connection.captures.Enter(id, &captured);
    if (error != CudaError::kSuccess) return error;
    return captured ? connection.captures.Add(id, call) : HostFunctionOn(connection, id, call);
  });
}

CudaError AddStreamCallback(StreamHandle stream, StreamCallback callback) {
  return WithStream(stream, [&](Connection& connection, device::StreamId id) {
    // Callbacks are not for graphs.
    const CudaError error = connection.captures.ForbidOn(id);
    if (error != CudaError::kSuccess) return error;
    offload::ClientSession* const session = connection.session.get();
    return session->PostHostCall(id, [session, callback = std::move(callback)] {
      const HostFunctionScope scope;
      callback(session->StickyError());
    });
  });
}

}  // namespace wharf::client
