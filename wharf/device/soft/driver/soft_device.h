// The software GPU: Device on this CPU.
//
// Calls validate against the state as issued and queue closures; one thread executes them in issue order (work_queue.h)
// and runs kernels on all cores (runtime/executor.h). While that thread has nothing to do, the caller's runs small
// matrix products and callbacks itself. After a fault the remaining work is skipped, while callbacks
// still come, each exactly once; also when the device is destroyed, then with kCancelled.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "wharf/device/device.h"
#include "wharf/device/share.h"
#include "wharf/device/soft/driver/module.h"
#include "wharf/device/soft/driver/timeline.h"
#include "wharf/device/soft/driver/work_queue.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/runtime/executor.h"
#include "wharf/device/soft/runtime/kernel_services.h"
#include "wharf/device/soft/runtime/memory.h"

namespace wharf::device::soft {

class SoftDevice final : public Device {
 public:
  static absl::StatusOr<std::unique_ptr<SoftDevice>> Create(const DeviceOptions& options,
                                                            std::unique_ptr<Compiler> compiler,
                                                            std::shared_ptr<const pack::PackSet> packs = nullptr);
  // Where what is found in checked kernels goes (CompilerOptions::checks). Before anything is mapped.
  // kResourceExhausted.
  absl::Status SetFindings(std::shared_ptr<check::Findings> findings);
  // Ends a running kernel at its next suspension and waits for it; a running HostCall is waited for too.
  ~SoftDevice() override;

  const DeviceProperties& Properties() const override { return properties_; }
  const device::Arena& Arena() const override { return arena_; }
  absl::Status Map(DeviceAddress address, uint64_t size) override;
  absl::Status Unmap(DeviceAddress address) override;
  absl::Status LoadModule(ModuleId id, std::vector<std::byte> image) override;
  absl::Status UnloadModule(ModuleId id) override;
  absl::Status DefineFunction(FunctionId id, ModuleId module, const std::string& name) override;
  absl::StatusOr<FunctionAttributes> Attributes(FunctionId id) override;
  absl::Status SetMaxDynamicShared(FunctionId id, uint32_t bytes) override;
  absl::StatusOr<Footprint> FootprintOf(FunctionId id) override;
  absl::StatusOr<Symbol> FindSymbol(ModuleId module, const std::string& name) override;
  absl::StatusOr<TextureHandle> CreateTexture(const TextureDescription& texture) override;
  absl::StatusOr<TextureHandle> CreateSurface(const ImageDescription& image) override;
  absl::Status DestroyTexture(TextureHandle handle) override { return DestroyImage(handle, false); }
  absl::Status DestroySurface(TextureHandle handle) override { return DestroyImage(handle, true); }
  absl::Status CreateStream(StreamId id, uint32_t flags, int32_t priority) override;
  absl::Status DestroyStream(StreamId id) override;
  absl::Status CreateEvent(EventId id, uint32_t flags) override;
  absl::Status DestroyEvent(EventId id) override;
  absl::Status RecordEvent(EventId event, StreamId stream) override;
  absl::Status WaitEvent(StreamId stream, EventId event) override;
  absl::StatusOr<bool> EventDone(EventId event) override;
  absl::StatusOr<bool> StreamDone(StreamId stream) override;
  absl::StatusOr<float> ElapsedMs(EventId start, EventId end) override;
  absl::Status CopyToDevice(StreamId stream, Region to, Extent extent, std::vector<std::byte> packed) override;
  absl::Status CopyToHost(StreamId stream, Region from, Extent extent, DataDone done) override;
  absl::Status CopyOnDevice(StreamId stream, Region to, Region from, Extent extent) override;
  absl::Status Fill(StreamId stream, Region to, Extent extent, uint32_t value, uint32_t element_bytes) override;
  absl::Status Launch(StreamId stream, FunctionId function, const LaunchConfig& config,
                      std::vector<std::byte> parameters) override;
  bool PrepareGuarded(FunctionId function) override;
  absl::Status LaunchGuarded(StreamId stream, FunctionId function, const LaunchConfig& config,
                             std::vector<std::byte> parameters, const Guard& guard) override;
  absl::Status RunGemm(StreamId stream, const Gemm& gemm) override;
  absl::Status RunPrimitive(StreamId stream, const Primitive& primitive) override;
  std::unique_ptr<WorkList> PrepareWork(std::vector<Work> work) override;
  absl::Status Notify(StreamId stream, Done done) override;
  absl::Status NotifyAll(Done done) override;
  absl::Status NotifyEvent(EventId event, Done done) override;
  absl::Status HostCall(StreamId stream, std::function<void()> call) override;
  absl::Status Fault() const override;
  void SetOutput(std::function<void(std::string)> output) override;
  Nanoseconds BusyTime() const override { return Nanoseconds(busy_ns_.load()); }

 private:
  struct Event {
    Timeline records;
    bool timed = true;
    std::atomic<int64_t> at_ns{0};  // of the last completed record
  };
  struct Function {
    ModuleId module = 0;
    std::shared_ptr<const std::string> name;          // queued work may outlive the function
    absl::StatusOr<std::string> kernel;               // what its module knows it by, or why it cannot be launched
    std::shared_ptr<const CompiledKernel> described;  // null until first needed
    std::optional<Footprint> footprint;               // likewise
    uint32_t max_dynamic_shared = 0;                  // of a described one
    Dim3 last_block{};                                // of the launch before, and its code: what the next has, mostly
    std::shared_ptr<const CompiledKernel> last_code;  // null: there was none
  };
  class PreparedWork;  // soft_device_prepared.cc

  SoftDevice(const DeviceOptions& options, std::unique_ptr<Memory> memory, std::unique_ptr<Compiler> compiler,
             std::shared_ptr<const pack::PackSet> packs);
  void FillProperties(const DeviceOptions& options);

  absl::StatusOr<std::shared_ptr<Timeline>> FindStream(StreamId id) const;
  absl::StatusOr<std::shared_ptr<Event>> FindEvent(EventId id) const;
  absl::StatusOr<std::shared_ptr<LoadedModule>> FindModule(ModuleId id) const;
  // The function, described.
  absl::StatusOr<Function*> FindFunction(FunctionId id);
  uint32_t DefaultDynamicShared(const CompiledKernel& described) const;
  // Its code for such a launch.
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> CodeFor(Function& function, const LaunchConfig& config);
  absl::Status CheckLaunch(const Function& function, const LaunchConfig& config, size_t parameter_bytes) const;
  absl::Status CheckCooperative(const Function& function, const LaunchConfig& config) const;
  absl::Status CheckFill(const FillWork& fill) const;
  // How many texels of a line of them are mapped, from the first on; 1 at least.
  uint32_t MappedTexels(const ImageDescription& line) const;
  absl::StatusOr<TextureHandle> AddImage(const ImageDescription& described, uint32_t levels, const Image& image);
  absl::Status DestroyImage(TextureHandle handle, bool is_surface);
  // Launches `kernel`, which is `function` or its guarded version.
  void EnqueueLaunch(std::shared_ptr<Timeline> stream, const Function& function,
                     std::shared_ptr<const CompiledKernel> kernel, const LaunchConfig& config,
                     std::vector<std::byte> parameters);

  // On the queue's thread: runs it, and what it launches if it is of a kernel that launches others, whose module is
  // `module`; else that is null.
  absl::Status RunLaunch(const KernelLaunch& launch, LoadedModule* module);
  absl::Status RunChild(const ChildLaunch& child, ChildLaunches& children, LoadedModule& module);
  // A copy or a fill that a grid of this kernel, or what that launched, has asked for.
  absl::Status RunForKernel(const ChildWork& work, std::string_view kernel);
  // The module of a kernel that launches others; else null.
  absl::StatusOr<std::shared_ptr<LoadedModule>> ParentModule(const Function& function) const;

  // Queues `task`, a void(), which runs whatever has failed before it.
  template <typename Task>
  void Enqueue(std::shared_ptr<Timeline> stream, Task task);
  // Runs `work`, an absl::Status(): counted as busy time, skipped after a fault, its failure latched.
  template <typename Work>
  void DoWork(const Work& work);
  // The same, queued, at its turn.
  template <typename Work>
  void EnqueueWork(std::shared_ptr<Timeline> stream, Work work);
  // On the queue's thread, before DoWork.
  void AwaitTurn() {
    if (share_ != nullptr && !failed_.load(std::memory_order_acquire)) share_->Begin();
  }
  // `took`: of the thread that ran the work. While it runs nothing else does.
  void Pay(Nanoseconds took);
  absl::Status RunGemmOnAllCores(const Gemm& gemm);
  absl::Status CheckOperands(const Primitive& primitive) const;
  absl::Status RunOnAllCores(const Primitive& primitive);
  void NotifyWhenDone(Timeline& timeline, Done done);
  static void RunDue(const std::vector<Timeline::Callback>& due);
  void Latch(const absl::Status& status);
  absl::Status State() const;

  DeviceProperties properties_;
  device::Arena arena_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Compiler> compiler_;
  const std::shared_ptr<const pack::PackSet> packs_;  // null: none
  IdleWorker background_;                             // of the modules; uses the compiler
  KernelServices services_;
  std::unique_ptr<Executor> executor_;
  Share* const share_;                // null if the device is not shared
  Nanoseconds gemm_helpers_time_{0};  // what other threads than the one that ran them gave to matrix products, not paid

  // The caller's names.
  std::map<StreamId, std::shared_ptr<Timeline>> streams_;
  std::map<EventId, std::shared_ptr<Event>> events_;
  std::map<ModuleId, std::shared_ptr<LoadedModule>> modules_;  // queued work may outlive them
  std::map<FunctionId, Function> functions_;
  // Grow when a name, or memory, that was there may be gone or mean something else.
  uint64_t names_version_ = 1, memory_version_ = 1;

  Timeline all_;
  std::atomic<int64_t> busy_ns_{0};
  std::atomic<bool> failed_{false};  // state_ is not OK
  mutable absl::Mutex state_mutex_;
  absl::Status state_ ABSL_GUARDED_BY(state_mutex_);  // the latched fault, or that the device is going away
  std::unique_ptr<WorkQueue> queue_;                  // last: its thread uses the rest
};

// --- on the way of every call that queues something ---

template <typename Task>
void SoftDevice::Enqueue(std::shared_ptr<Timeline> stream, Task task) {
  stream->Issue();
  all_.Issue();
  queue_->Push([this, stream = std::move(stream), task = std::move(task)]() mutable {
    task();
    RunDue(stream->Complete());
    RunDue(all_.Complete());
  });
}

template <typename Work>
void SoftDevice::DoWork(const Work& work) {
  if (failed_.load(std::memory_order_acquire)) return;
  const TimePoint start = Clock::Real().Now();
  absl::Status status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = CudaStatus(CudaError::kOutOfMemory, "the host is out of memory");
  }
  Pay(Clock::Real().Now() - start);
  if (!status.ok()) Latch(status);
}

template <typename Work>
void SoftDevice::EnqueueWork(std::shared_ptr<Timeline> stream, Work work) {
  Enqueue(std::move(stream), [this, work = std::move(work)] {
    AwaitTurn();
    DoWork(work);
  });
}

}  // namespace wharf::device::soft
