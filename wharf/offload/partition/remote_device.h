// RemoteDevice: the server's device, through a session, as a Device. What the session posts is posted here too: errors
// of calls that need no answer are known only later (Device::TakeDeferredError), and come at once only if the server is
// lost or its device has faulted.
//
// FindSymbol, Attributes, EventDone, StreamDone and ElapsedMs wait for an answer. Callbacks run on a thread of the
// device.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/device/device.h"
#include "wharf/offload/client/client_session.h"
#include "wharf/offload/replay/undo_log.h"

namespace wharf::offload {

class RemoteDevice final : public device::Device {
 public:
  using OpenSession =
      std::function<absl::StatusOr<std::unique_ptr<ClientSession>>(std::function<void(std::string_view)>)>;
  // `open` is called at once, with where text that kernels print has to go.
  static absl::StatusOr<std::unique_ptr<RemoteDevice>> Open(const OpenSession& open);
  // Callbacks that are still due come, with kRemoteLost, before this returns.
  ~RemoteDevice() override;

  ClientSession& session() { return *session_; }
  // The two events' distance, like ElapsedMs, through a callback: so that many can be asked for in one round trip.
  void ElapsedMs(device::EventId start, device::EventId end, std::function<void(absl::StatusOr<float>)> done);

  // Fetches some bytes, at most kProbeBytes of `range`, for nothing but the estimate of the link's rate. Waits for
  // nothing.
  void ProbeLink(const MemoryRange& range);
  static constexpr uint64_t kProbeBytes = 64 << 10;

  const device::DeviceProperties& Properties() const override { return session_->welcome().properties; }
  const device::Arena& Arena() const override { return session_->welcome().arena; }
  absl::Status Map(device::DeviceAddress address, uint64_t size) override;
  absl::Status Unmap(device::DeviceAddress address) override;
  absl::Status LoadModule(device::ModuleId id, std::vector<std::byte> image) override;
  absl::Status UnloadModule(device::ModuleId id) override;
  absl::Status DefineFunction(device::FunctionId id, device::ModuleId module, const std::string& name) override;
  absl::StatusOr<device::FunctionAttributes> Attributes(device::FunctionId id) override;
  absl::Status SetMaxDynamicShared(device::FunctionId id, uint32_t bytes) override;
  // Nothing is known here: kUnimplemented.
  absl::StatusOr<device::Footprint> FootprintOf(device::FunctionId id) override;
  absl::StatusOr<device::Symbol> FindSymbol(device::ModuleId module, const std::string& name) override;
  // These wait for an answer. kNotSupported too if the server is older than textures.
  absl::StatusOr<device::TextureHandle> CreateTexture(const device::TextureDescription& texture) override;
  absl::StatusOr<device::TextureHandle> CreateSurface(const device::ImageDescription& image) override;
  absl::Status DestroyTexture(device::TextureHandle handle) override;
  absl::Status DestroySurface(device::TextureHandle handle) override;
  absl::StatusOr<device::TensorMap> EncodeTensorMap(const device::TensorMapDescription& description) override;
  absl::Status CreateStream(device::StreamId id, uint32_t flags, int32_t priority) override;
  absl::Status DestroyStream(device::StreamId id) override;
  absl::Status CreateEvent(device::EventId id, uint32_t flags) override;
  absl::Status DestroyEvent(device::EventId id) override;
  absl::Status RecordEvent(device::EventId event, device::StreamId stream) override;
  absl::Status WaitEvent(device::StreamId stream, device::EventId event) override;
  absl::StatusOr<bool> EventDone(device::EventId event) override;
  absl::StatusOr<bool> StreamDone(device::StreamId stream) override;
  absl::StatusOr<float> ElapsedMs(device::EventId start, device::EventId end) override;
  // At most kMaxBulkBytes a copy between host and device.
  absl::Status CopyToDevice(device::StreamId stream, device::Region to, device::Extent extent,
                            std::vector<std::byte> packed) override;
  absl::Status CopyToHost(device::StreamId stream, device::Region from, device::Extent extent,
                          device::DataDone done) override;
  absl::Status CopyOnDevice(device::StreamId stream, device::Region to, device::Region from,
                            device::Extent extent) override;
  absl::Status Fill(device::StreamId stream, device::Region to, device::Extent extent, uint32_t value,
                    uint32_t element_bytes) override;
  absl::Status Launch(device::StreamId stream, device::FunctionId function, const device::LaunchConfig& config,
                      std::vector<std::byte> parameters) override;
  absl::Status RunGemm(device::StreamId stream, const device::Gemm& gemm) override;
  absl::Status RunPrimitive(device::StreamId stream, const device::Primitive& primitive) override;
  absl::Status Notify(device::StreamId stream, device::Done done) override;
  absl::Status NotifyAll(device::Done done) override;
  absl::Status NotifyEvent(device::EventId event, device::Done done) override;
  absl::Status HostCall(device::StreamId stream, std::function<void()> call) override;
  absl::Status Fault() const override;
  absl::Status TakeDeferredError() override;
  void SetOutput(std::function<void(std::string)> output) override;
  // Not known without asking: zero. The server's own counters have it.
  Nanoseconds BusyTime() const override { return Nanoseconds(0); }
  // What the session did and what the server's device has spent.
  std::string Report() override;

 private:
  // Where the session's text goes; outlives both.
  struct Output {
    absl::Mutex mutex;
    std::function<void(std::string)> write ABSL_GUARDED_BY(mutex);
  };
  // A request under way.
  struct Pending {
    ClientSession::RequestPtr request;
    std::shared_ptr<std::vector<std::byte>> data;  // where its reply's bulk part goes
    std::function<void(const absl::Status&, const ClientSession::Request&, std::vector<std::byte>)> done;
  };

  RemoteDevice(std::unique_ptr<ClientSession> session, std::shared_ptr<Output> output);
  template <typename Op>
  absl::Status Post(const Op& op, std::span<const std::byte> bulk = {});
  template <typename Op>
  absl::Status AskForDone(const Op& op, device::Done done);
  template <typename Op>
  absl::StatusOr<typename Op::Reply> Ask(const Op& op);
  void Add(Pending pending);
  absl::Status StatusOf(device::CudaError error, const std::string& message) const;
  void RunCallbacks();
  void Complete(Pending pending);
  // Waits until the callbacks of all requests that are answered have returned, or the session is lost.
  void WaitForCallbacks();

  const std::shared_ptr<Output> output_;
  const std::unique_ptr<ClientSession> session_;
  absl::Mutex mutex_;  // after the session's
  std::vector<Pending> pending_ ABSL_GUARDED_BY(mutex_);
  bool completing_ ABSL_GUARDED_BY(mutex_) = false;  // callbacks of requests no longer pending are running
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread callbacks_;
};

}  // namespace wharf::offload
