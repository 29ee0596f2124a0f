// PartitionedDevice: one device for the program, two underneath: the client's own ("here") and the server's ("there").
// Both have the same allocations at the same addresses, the same modules, streams and events under the same names. Each
// operation on memory runs on one of them, wherever Placement says; before it runs, what it needs is made valid there
// (validity.h). docs/partition.md says why the program cannot tell.
//
// A call that needs memory of the other side waits for it, unlike other devices' calls.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "wharf/device/device.h"
#include "wharf/offload/partition/access.h"
#include "wharf/offload/partition/deliveries.h"
#include "wharf/offload/partition/operation_timer.h"
#include "wharf/offload/partition/placement.h"
#include "wharf/offload/partition/remote_device.h"
#include "wharf/offload/partition/unfinished.h"
#include "wharf/offload/partition/validity.h"

namespace wharf::offload {

// What was done where. Thread-safe.
struct PartitionCounters {
  std::atomic<uint64_t> operations_local{0}, operations_remote{0};  // on memory
  std::atomic<uint64_t> covered{0};                                 // launches whose output became known to the byte
  std::atomic<uint64_t> transfers{0};                // times that an operation had to wait for memory of the other side
  std::atomic<uint64_t> bytes_up{0}, bytes_down{0};  // of these: to the server, from it
};

class PartitionedDevice final : public device::Device {
 public:
  // kUnavailable if the two have no range of addresses in common.
  static absl::StatusOr<std::unique_ptr<PartitionedDevice>> Create(std::unique_ptr<device::Device> local,
                                                                   std::unique_ptr<RemoteDevice> remote,
                                                                   std::unique_ptr<Placement> placement);

  // They outlive the device.
  std::shared_ptr<const PartitionCounters> Counters() const { return counters_; }

  // The server's, but for the driver's name: "partition".
  const device::DeviceProperties& Properties() const override { return properties_; }
  const device::Arena& Arena() const override { return arena_; }
  absl::Status Map(device::DeviceAddress address, uint64_t size) override;
  absl::Status Unmap(device::DeviceAddress address) override;
  absl::Status LoadModule(device::ModuleId id, std::vector<std::byte> image) override;
  absl::Status UnloadModule(device::ModuleId id) override;
  absl::Status DefineFunction(device::FunctionId id, device::ModuleId module, const std::string& name) override;
  absl::StatusOr<device::FunctionAttributes> Attributes(device::FunctionId id) override;
  absl::Status SetMaxDynamicShared(device::FunctionId id, uint32_t bytes) override;
  absl::StatusOr<device::Footprint> FootprintOf(device::FunctionId id) override { return local_->FootprintOf(id); }
  absl::StatusOr<device::Symbol> FindSymbol(device::ModuleId module, const std::string& name) override;
  // The server's. From the first one on everything runs there: what kernels read and write through them is not known
  // here.
  absl::StatusOr<device::TextureHandle> CreateTexture(const device::TextureDescription& texture) override;
  absl::StatusOr<device::TextureHandle> CreateSurface(const device::ImageDescription& image) override;
  absl::Status DestroyTexture(device::TextureHandle handle) override;
  absl::Status DestroySurface(device::TextureHandle handle) override;
  absl::Status CreateStream(device::StreamId id, uint32_t flags, int32_t priority) override;
  absl::Status DestroyStream(device::StreamId id) override;
  absl::Status CreateEvent(device::EventId id, uint32_t flags) override;
  absl::Status DestroyEvent(device::EventId id) override;
  absl::Status RecordEvent(device::EventId event, device::StreamId stream) override;
  absl::Status WaitEvent(device::StreamId stream, device::EventId event) override;
  absl::StatusOr<bool> EventDone(device::EventId event) override;
  absl::StatusOr<bool> StreamDone(device::StreamId stream) override;
  // Of the side where it was longer.
  absl::StatusOr<float> ElapsedMs(device::EventId start, device::EventId end) override;
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
  // From the first one on everything runs on the server.
  absl::Status HostCall(device::StreamId stream, std::function<void()> call) override;
  absl::Status Fault() const override;
  absl::Status TakeDeferredError() override { return remote_->TakeDeferredError(); }
  void SetOutput(std::function<void(std::string)> output) override;
  // Of the client's device.
  Nanoseconds BusyTime() const override { return local_->BusyTime(); }
  uint64_t KernelsCompiled() const override { return local_->KernelsCompiled(); }
  std::string Report() override;

 private:
  PartitionedDevice(std::unique_ptr<device::Device> local, std::unique_ptr<RemoteDevice> remote,
                    std::unique_ptr<Placement> placement, const device::Arena& arena);

  device::Device& On(Side side) { return side == Side::kLocal ? *local_ : *remote_; }
  UnfinishedWork& Unfinished(Side side) { return *unfinished_[static_cast<size_t>(side)]; }

  // --- work ---
  template <typename Op, typename Issue>
  absl::Status Work(const Op& op, const Issue& issue);
  template <typename Op, typename Issue>
  absl::Status RunOn(Side side, const Op& op, const Access& access, const Issue& issue);
  Side Choose(const StepOp& op, const Access& access);
  // Runs the launch here in a way that tells what it writes, if that is worth it; false if it is not.
  bool RanForCoverage(const offload::Launch& op);
  absl::Status MakeValid(Side side, device::StreamId stream, const std::vector<MemoryRange>& ranges);
  absl::Status Transfer(Side to, device::StreamId stream, const std::vector<MemoryRange>& ranges);
  absl::Status Settle(Side side);
  absl::Status LeaveLocal(device::StreamId stream, const char* what_for);
  absl::Status LeaveLocalForTextures();

  // --- waiting ---
  // `ask(device, done)` asks a side for completion; asked are those that have work, and the client's anyway.
  template <typename Ask, typename NoteDone>
  absl::Status OnBoth(const Ask& ask, const NoteDone& note_done, device::Done done);
  template <typename Ask>
  absl::StatusOr<bool> DoneOnBoth(const Ask& ask);
  void NoteQueuedIfBusy(device::StreamId stream);

  const std::unique_ptr<device::Device> local_;
  const std::unique_ptr<RemoteDevice> remote_;
  const std::unique_ptr<Placement> placement_;
  const device::Arena arena_;
  device::DeviceProperties properties_;
  const std::array<std::shared_ptr<UnfinishedWork>, 2> unfinished_;                // by side; callbacks share them
  const std::shared_ptr<Deliveries> deliveries_ = std::make_shared<Deliveries>();  // callbacks share them
  OperationTimer timer_;
  AccessFinder access_;
  ValidityMap validity_;
  bool several_streams_ = false;  // the program has made one
  bool left_here_ = false;        // nothing runs here any more
  const std::shared_ptr<PartitionCounters> counters_ = std::make_shared<PartitionCounters>();
};

}  // namespace wharf::offload
