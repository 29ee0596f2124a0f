// CudaDevice: the device interface on a real GPU. Streams are the driver's, so order, concurrency and the legacy
// default stream's barriers are CUDA's own; what this adds are the client's names and addresses, copies that never make
// the caller wait, completion callbacks and the latched fault.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "wharf/device/cuda/blas.h"
#include "wharf/device/cuda/busy_meter.h"
#include "wharf/device/cuda/captured_graph.h"
#include "wharf/device/cuda/completion.h"
#include "wharf/device/cuda/dnn/dnn.h"
#include "wharf/device/cuda/fft/fft.h"
#include "wharf/device/cuda/memory_map.h"
#include "wharf/device/cuda/output_capture.h"
#include "wharf/device/cuda/pinned_pool.h"
#include "wharf/device/cuda/solver/solver.h"
#include "wharf/device/cuda/texture/driver_arrays.h"
#include "wharf/device/ptx/ast.h"
#include "wharf/device/ptx/guard.h"

namespace wharf::device::cuda {

class CudaDevice final : public Device {
 public:
  // `library`: the driver, libcuda.so.1 but in tests.
  static absl::StatusOr<std::unique_ptr<Device>> Create(const DeviceOptions& options, const std::string& library);
  ~CudaDevice() override;

  const DeviceProperties& Properties() const override { return properties_; }
  const device::Arena& Arena() const override { return memory_->Arena(); }

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
  absl::Status DestroyTexture(TextureHandle handle) override;
  absl::Status DestroySurface(TextureHandle handle) override;
  absl::StatusOr<TensorMap> EncodeTensorMap(const TensorMapDescription& description) override;

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
  absl::Status LaunchGuarded(StreamId stream, FunctionId function, const LaunchConfig& config,
                             std::vector<std::byte> parameters, const Guard& guard) override;
  absl::Status RunGemm(StreamId stream, const Gemm& gemm) override;
  absl::Status RunPrimitive(StreamId stream, const Primitive& primitive) override;
  std::unique_ptr<WorkList> PrepareWork(std::vector<Work> work) override;
  absl::Status Notify(StreamId stream, Done done) override;
  absl::Status NotifyAll(Done done) override;
  absl::Status NotifyEvent(EventId event, Done done) override;
  absl::Status HostCall(StreamId stream, std::function<void()> call) override;

  absl::Status Fault() const override { return gpu_->Fault(); }
  void SetOutput(std::function<void(std::string)> output) override;
  Nanoseconds BusyTime() const override { return busy_->Total(); }

 private:
  struct Stream {
    StreamHandle handle = nullptr;
    StreamSerial serial = 0;
    uint64_t fences_seen = 0;          // of the fences behind freshly mapped memory
    StreamHandle capturing = nullptr;  // for graphs of libraries' work on this one, once there are any
  };
  struct Event {
    EventHandle handle = nullptr;
    bool recorded = false, timing = true;
  };
  // A kernel's guarded version, loaded.
  struct Guarded {
    ptx::GuardedKernel kernel;
    ModuleHandle module = nullptr;
    FunctionHandle handle = nullptr;
    uint32_t max_dynamic_shared = 48 << 10;
  };
  struct Module {
    ModuleHandle handle = nullptr;
    std::vector<std::byte> image;            // until its PTX is asked for
    std::shared_ptr<const ptx::Module> ptx;  // null until then, and if it has none that can be relied on
    absl::Status no_ptx;                     // then why
    std::map<std::string, absl::StatusOr<Guarded>> guarded;  // by kernel, those that were asked for
    std::map<DeviceAddress, uint64_t> symbols;               // those that were looked up: copies may touch them
  };
  struct Function {
    ModuleId module = 0;
    FunctionHandle handle = nullptr;
    uint32_t static_shared = 0, max_dynamic_shared = 0;
    int32_t max_threads = 0;
    size_t parameter_bytes = 0;
    std::string name;
    std::optional<Footprint> footprint;  // found when asked for
  };

  // A library of the vendor's.
  template <typename Library>
  struct Vendors {
    std::unique_ptr<Library> library;
    absl::Status missing;  // why there is none, once tried
  };

  class PreparedWork;  // cuda_device_prepared.cc

  CudaDevice(const DeviceOptions& options, std::unique_ptr<Gpu> gpu);
  absl::Status Start();
  // The stream, its context current, after the fence of freshly mapped memory; the latched fault if there is one.
  absl::StatusOr<Stream*> Use(StreamId id);
  absl::StatusOr<Event*> FindEvent(EventId id);
  absl::StatusOr<Function*> FindFunction(FunctionId id);
  // That the bytes are memory this session may name: mapped, or a symbol of a module that it has looked up.
  bool Owns(DeviceAddress address, uint64_t bytes) const;
  // That the box lies in memory this session may name.
  absl::Status CheckBox(const Region& region, const Extent& extent) const;
  // Around a copy or fill: the driver's arrays over what it reads and over what it writes. REQUIRES: CheckBox accepts.
  absl::Status BeforeUse(const Region& region, const Extent& extent, StreamHandle stream) const;
  absl::Status AfterWrite(const Region& region, const Extent& extent, StreamHandle stream) const;
  bool IsArray(const Region& region, const Extent& extent) const;
  const ptx::Module* PtxOf(Module& module) const;
  absl::StatusOr<Guarded> LoadGuarded(Module& module, const std::string& kernel);
  // Found at the first call, good or bad, and kept; ready for `config`.
  absl::StatusOr<const Guarded*> FindGuarded(const Function& function, const LaunchConfig& config);
  // The module itself and the guarded kernels made from it.
  static std::vector<ModuleHandle> HandlesOf(const Module& module);
  absl::Status LaunchHandle(const Stream& stream, FunctionHandle handle, const LaunchConfig& config,
                            std::vector<std::byte> parameters);
  void Destroy(const Stream& stream);
  // Opened at the first call, once, however that goes.
  template <typename Library, typename Make>
  absl::StatusOr<Library*> Find(Vendors<Library>& vendors, const char* name, Make make);
  absl::StatusOr<Blas*> FindBlas();
  absl::StatusOr<Dnn*> FindDnn();
  // What a library does for the work, for launches on `stream`. REQUIRES: its operands were checked.
  absl::StatusOr<CapturedGraph> Capture(const Work& work, Stream& stream);
  absl::Status CheckOperands(const Gemm& gemm) const;
  absl::Status CheckOperands(const Primitive& primitive) const;
  absl::Status Transform(const Fourier& fourier, StreamHandle stream);
  absl::Status Solve(const Lapack& lapack, StreamHandle stream);
  absl::Status CheckLaunch(const Function& function, const LaunchConfig& config, size_t parameter_bytes) const;
  std::vector<ParameterLayout> ParametersOf(FunctionHandle function) const;
  // Queues what comes before all work to come, on every stream, and after all that was queued if `after_all_work`.
  absl::Status QueueAhead(bool after_all_work, const std::function<absl::Status(StreamHandle)>& queue);
  // The array for textures or surfaces over the image, which holds what our memory holds.
  absl::StatusOr<DriverArrays::ArrayPointer> TakeArray(const ImageDescription& image, uint32_t levels,
                                                       bool for_surface);
  void GiveBackArray(const DriverArrays::ArrayPointer& array, bool of_surface);
  // Puts `then` behind everything queued on every stream, also those destroyed since.
  absl::Status AfterAll(Done then);
  // A stream of the device's own that nothing is queued on.
  absl::StatusOr<Stream> BorrowStream();
  void DeliverOutput();

  const DeviceOptions options_;
  std::unique_ptr<Gpu> gpu_;
  DeviceProperties properties_;
  std::unique_ptr<EventPool> markers_;
  std::unique_ptr<BusyMeter> busy_;
  std::unique_ptr<PinnedPool> pinned_;
  std::unique_ptr<MemoryMap> memory_;
  Vendors<Blas> blas_;
  Vendors<Dnn> dnn_;
  Vendors<Fft> fft_;
  std::unique_ptr<Workspaces> solver_workspaces_;
  Vendors<Solver> solver_;

  std::unordered_map<StreamId, Stream> streams_;
  std::unordered_map<EventId, Event> events_;
  std::unordered_map<ModuleId, Module> modules_;
  std::unordered_map<FunctionId, Function> functions_;
  std::map<TextureHandle, DriverArrays::ArrayPointer> textures_, surfaces_;  // null: over our memory
  std::unique_ptr<DriverArrays> arrays_;
  // Grow when a name, or memory, that was there may be gone or mean something else.
  uint64_t names_version_ = 1, memory_version_ = 1;
  StreamSerial last_serial_ = 0;
  Stream fill_stream_;           // for what QueueAhead queues
  EventHandle fence_ = nullptr;  // behind the last of that
  uint64_t fences_ = 0;

  absl::Mutex shared_mutex_;                                              // for what the completion thread touches too
  std::map<StreamSerial, Stream> ending_ ABSL_GUARDED_BY(shared_mutex_);  // destroyed, work still queued
  std::vector<Stream> borrowed_idle_ ABSL_GUARDED_BY(shared_mutex_);      // made by BorrowStream, idle again
  std::function<void(std::string)> output_ ABSL_GUARDED_BY(shared_mutex_);
  std::unique_ptr<OutputCapture> capture_ ABSL_GUARDED_BY(shared_mutex_);

  std::unique_ptr<CompletionThread> completion_;  // last: its callbacks use the rest
};

}  // namespace wharf::device::cuda
