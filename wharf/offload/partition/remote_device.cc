#include "wharf/offload/partition/remote_device.h"

#include <algorithm>
#include <utility>

#include "wharf/link/threads.h"
#include "wharf/offload/copy_extent.h"

namespace wharf::offload {

using device::CudaError;
using device::CudaStatus;

absl::StatusOr<std::unique_ptr<RemoteDevice>> RemoteDevice::Open(const OpenSession& open) {
  auto output = std::make_shared<Output>();
  WHARF_ASSIGN_OR_RETURN(auto session, open([output](std::string_view text) {
                           absl::MutexLock lock(&output->mutex);
                           if (output->write) output->write(std::string(text));
                         }));
  return std::unique_ptr<RemoteDevice>(new RemoteDevice(std::move(session), std::move(output)));
}

RemoteDevice::RemoteDevice(std::unique_ptr<ClientSession> session, std::shared_ptr<Output> output)
    : output_(std::move(output)),
      session_(std::move(session)),
      callbacks_(link::StartThread("wharf-remote", [this] { RunCallbacks(); })) {}

RemoteDevice::~RemoteDevice() {
  SetOutput(nullptr);
  session_->Close(std::chrono::milliseconds(500));
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  callbacks_.join();
}

// --- requests ---

template <typename Op>
absl::Status RemoteDevice::Post(const Op& op, std::span<const std::byte> bulk) {
  return StatusOf(session_->Post(op, bulk), "");
}

absl::Status RemoteDevice::StatusOf(CudaError error, const std::string& message) const {
  if (error == CudaError::kSuccess) return absl::OkStatus();
  const std::string& reason = message.empty() && device::IsSticky(error) ? session_->StickyMessage() : message;
  return CudaStatus(error, reason.empty() ? "the server's device reports an error" : reason);
}

void RemoteDevice::Add(Pending pending) {
  {
    absl::MutexLock lock(&mutex_);
    pending_.push_back(std::move(pending));
  }
  session_->Wake();  // it may be done already
}

void RemoteDevice::RunCallbacks() {
  while (true) {
    std::vector<Pending> ready;
    {
      const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !pending_.empty(); };
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&wanted));
      if (pending_.empty()) return;
    }
    session_->WaitUntil([&] {
      absl::MutexLock lock(&mutex_);
      const auto done = std::stable_partition(pending_.begin(), pending_.end(),
                                              [](const Pending& each) { return !each.request->done; });
      std::move(done, pending_.end(), std::back_inserter(ready));
      pending_.erase(done, pending_.end());
      completing_ = !ready.empty();
      return !ready.empty();
    });
    if (ready.empty()) {  // the session is lost: nothing will be answered
      absl::MutexLock lock(&mutex_);
      ready.swap(pending_);
    }
    for (Pending& each : ready) Complete(std::move(each));
    {
      absl::MutexLock lock(&mutex_);
      completing_ = false;
    }
    session_->Wake();
  }
}

void RemoteDevice::WaitForCallbacks() {
  session_->WaitUntil([&] {
    absl::MutexLock lock(&mutex_);
    return !completing_ &&
           std::none_of(pending_.begin(), pending_.end(), [](const Pending& each) { return each.request->done; });
  });
}

void RemoteDevice::Complete(Pending pending) {
  const CudaError error = session_->Collect(pending.request);
  const absl::Status status = StatusOf(error, pending.request->header.message);
  std::vector<std::byte> data;
  if (status.ok() && pending.data != nullptr) data = std::move(*pending.data);
  pending.done(status, *pending.request, std::move(data));
}

template <typename Op>
absl::Status RemoteDevice::AskForDone(const Op& op, device::Done done) {
  Add({session_->Start(op), nullptr,
       [done = std::move(done)](const absl::Status& status, const ClientSession::Request&, std::vector<std::byte>) {
         done(status);
       }});
  return absl::OkStatus();
}

template <typename Op>
absl::StatusOr<typename Op::Reply> RemoteDevice::Ask(const Op& op) {
  const ClientSession::RequestPtr request = session_->Start(op);
  session_->WaitUntil([&] { return request->done; });
  WHARF_RETURN_IF_ERROR(StatusOf(session_->Collect(request), request->header.message));
  typename Op::Reply reply;
  WHARF_RETURN_IF_ERROR(StatusOf(session_->DecodeReply(*request, reply), ""));
  return reply;
}

namespace {

// The answer to "is it done?".
absl::StatusOr<bool> IsDone(const absl::Status& status) {
  if (status.ok()) return true;
  if (device::CudaErrorOf(status) == CudaError::kNotReady) return false;
  return status;
}

}  // namespace

// --- memory and code ---

absl::Status RemoteDevice::Map(device::DeviceAddress address, uint64_t size) { return Post(MapMemory{address, size}); }
absl::Status RemoteDevice::Unmap(device::DeviceAddress address) { return Post(UnmapMemory{address}); }

absl::Status RemoteDevice::LoadModule(device::ModuleId id, std::vector<std::byte> image) {
  std::span<const std::byte> rest = image;
  do {
    const auto piece = rest.first(std::min<size_t>(rest.size(), kMaxBulkBytes));
    rest = rest.subspan(piece.size());
    WHARF_RETURN_IF_ERROR(Post(offload::LoadModule{id, rest.empty()}, piece));
  } while (!rest.empty());
  return absl::OkStatus();
}

absl::Status RemoteDevice::UnloadModule(device::ModuleId id) { return Post(offload::UnloadModule{id}); }

absl::Status RemoteDevice::DefineFunction(device::FunctionId id, device::ModuleId module, const std::string& name) {
  return Post(offload::DefineFunction{id, module, name});
}

absl::StatusOr<device::FunctionAttributes> RemoteDevice::Attributes(device::FunctionId id) {
  WHARF_ASSIGN_OR_RETURN(GetAttributes::Reply reply, Ask(GetAttributes{id}));
  return std::move(reply.attributes);
}

absl::Status RemoteDevice::SetMaxDynamicShared(device::FunctionId id, uint32_t bytes) {
  return Post(offload::SetMaxDynamicShared{id, bytes});
}

absl::StatusOr<device::Footprint> RemoteDevice::FootprintOf(device::FunctionId) {
  return Unimplemented("what a kernel on the server touches is not known here");
}

absl::StatusOr<device::Symbol> RemoteDevice::FindSymbol(device::ModuleId module, const std::string& name) {
  WHARF_ASSIGN_OR_RETURN(const offload::FindSymbol::Reply reply, Ask(offload::FindSymbol{module, name}));
  return reply.symbol;
}

// --- textures and surfaces ---

absl::StatusOr<device::TextureHandle> RemoteDevice::CreateTexture(const device::TextureDescription& texture) {
  WHARF_ASSIGN_OR_RETURN(const offload::CreateTexture::Reply reply, Ask(offload::CreateTexture{texture}));
  return reply.texture;
}

absl::StatusOr<device::TextureHandle> RemoteDevice::CreateSurface(const device::ImageDescription& image) {
  WHARF_ASSIGN_OR_RETURN(const offload::CreateSurface::Reply reply, Ask(offload::CreateSurface{image}));
  return reply.surface;
}

absl::StatusOr<device::TensorMap> RemoteDevice::EncodeTensorMap(const device::TensorMapDescription& description) {
  WHARF_ASSIGN_OR_RETURN(const offload::EncodeTensorMap::Reply reply, Ask(offload::EncodeTensorMap{description}));
  return reply.map;
}

absl::Status RemoteDevice::DestroyTexture(device::TextureHandle handle) {
  return Post(offload::DestroyTexture{handle});
}

absl::Status RemoteDevice::DestroySurface(device::TextureHandle handle) {
  return Post(offload::DestroySurface{handle});
}

// --- streams and events ---

absl::Status RemoteDevice::CreateStream(device::StreamId id, uint32_t flags, int32_t priority) {
  return Post(offload::CreateStream{id, flags, priority});
}
absl::Status RemoteDevice::DestroyStream(device::StreamId id) { return Post(offload::DestroyStream{id}); }
absl::Status RemoteDevice::CreateEvent(device::EventId id, uint32_t flags) {
  return Post(offload::CreateEvent{id, flags});
}
absl::Status RemoteDevice::DestroyEvent(device::EventId id) { return Post(offload::DestroyEvent{id}); }
absl::Status RemoteDevice::RecordEvent(device::EventId event, device::StreamId stream) {
  return Post(offload::RecordEvent{event, stream});
}
absl::Status RemoteDevice::WaitEvent(device::StreamId stream, device::EventId event) {
  return Post(offload::WaitEvent{stream, event});
}
absl::StatusOr<bool> RemoteDevice::EventDone(device::EventId event) { return IsDone(Ask(QueryEvent{event}).status()); }
absl::StatusOr<bool> RemoteDevice::StreamDone(device::StreamId stream) {
  return IsDone(Ask(QueryStream{stream}).status());
}

void RemoteDevice::ElapsedMs(device::EventId start, device::EventId end,
                             std::function<void(absl::StatusOr<float>)> done) {
  Add({session_->Start(ElapsedTime{start, end}), nullptr,
       [this, done = std::move(done)](const absl::Status& status, const ClientSession::Request& request,
                                      std::vector<std::byte>) {
         ElapsedTime::Reply reply;
         if (!status.ok()) return done(status);
         const CudaError error = session_->DecodeReply(request, reply);
         if (error != CudaError::kSuccess) return done(StatusOf(error, ""));
         done(reply.milliseconds);
       }});
}

absl::StatusOr<float> RemoteDevice::ElapsedMs(device::EventId start, device::EventId end) {
  WHARF_ASSIGN_OR_RETURN(const ElapsedTime::Reply reply, Ask(ElapsedTime{start, end}));
  return reply.milliseconds;
}

// --- work ---

absl::Status RemoteDevice::CopyToDevice(device::StreamId stream, device::Region to, device::Extent extent,
                                        std::vector<std::byte> packed) {
  return Post(offload::CopyToDevice{stream, to, extent}, packed);
}

absl::Status RemoteDevice::CopyToHost(device::StreamId stream, device::Region from, device::Extent extent,
                                      device::DataDone done) {
  WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, CopyBytes(extent));
  auto data = std::make_shared<std::vector<std::byte>>(bytes);
  ClientSession::RequestPtr request = session_->Start(offload::CopyToHost{stream, from, extent}, *data);
  Add({std::move(request), std::move(data),
       [done = std::move(done)](const absl::Status& status, const ClientSession::Request&, std::vector<std::byte> got) {
         done(status, std::move(got));
       }});
  return absl::OkStatus();
}

absl::Status RemoteDevice::CopyOnDevice(device::StreamId stream, device::Region to, device::Region from,
                                        device::Extent extent) {
  return Post(offload::CopyOnDevice{stream, to, from, extent});
}

absl::Status RemoteDevice::Fill(device::StreamId stream, device::Region to, device::Extent extent, uint32_t value,
                                uint32_t element_bytes) {
  return Post(offload::Fill{stream, to, extent, value, element_bytes});
}

absl::Status RemoteDevice::Launch(device::StreamId stream, device::FunctionId function,
                                  const device::LaunchConfig& config, std::vector<std::byte> parameters) {
  return Post(offload::Launch{stream, function, config, std::move(parameters)});
}

absl::Status RemoteDevice::RunGemm(device::StreamId stream, const device::Gemm& gemm) {
  return Post(offload::RunGemm{stream, gemm});
}

absl::Status RemoteDevice::RunPrimitive(device::StreamId stream, const device::Primitive& primitive) {
  return std::visit([&](const auto& what) { return Post(RunOf(stream, what)); }, primitive);
}

void RemoteDevice::ProbeLink(const MemoryRange& range) {
  const uint64_t bytes = std::min(range.size, kProbeBytes);
  CopyToHost(device::kDefaultStream, {range.address, bytes, bytes}, {bytes, 1, 1},
             [](const absl::Status&, const std::vector<std::byte>&) {})
      .IgnoreError();
}

// --- completion ---

absl::Status RemoteDevice::Notify(device::StreamId stream, device::Done done) {
  return AskForDone(SynchronizeStream{stream}, std::move(done));
}
absl::Status RemoteDevice::NotifyAll(device::Done done) { return AskForDone(SynchronizeDevice{}, std::move(done)); }
absl::Status RemoteDevice::NotifyEvent(device::EventId event, device::Done done) {
  return AskForDone(SynchronizeEvent{event}, std::move(done));
}

// The server asks for the call behind its answers to what the call waits for. What those answers bring is delivered on
// another thread than the call is made on.
absl::Status RemoteDevice::HostCall(device::StreamId stream, std::function<void()> call) {
  return StatusOf(session_->PostHostCall(stream,
                                         [this, call = std::move(call)] {
                                           WaitForCallbacks();
                                           call();
                                         }),
                  "");
}

absl::Status RemoteDevice::Fault() const { return StatusOf(session_->StickyError(), ""); }

absl::Status RemoteDevice::TakeDeferredError() { return StatusOf(session_->TakePendingError(), ""); }

std::string RemoteDevice::Report() {
  const ClientSessionCounters counters = session_->Counters();
  const absl::StatusOr<SessionStats::Reply> server = Ask(SessionStats{});
  return fmt::format(
      "{{\"blocking_round_trips\": {}, \"bytes_up\": {}, \"bytes_down\": {}, \"device_busy_ns\": {}, \"elided\": {}, "
      "\"hits\": {}}}",
      counters.blocking_round_trips, counters.bytes_up, counters.bytes_down, server.ok() ? server->busy_nanoseconds : 0,
      counters.elided, counters.prediction.hits);
}

void RemoteDevice::SetOutput(std::function<void(std::string)> output) {
  absl::MutexLock lock(&output_->mutex);
  output_->write = std::move(output);
}

}  // namespace wharf::offload
