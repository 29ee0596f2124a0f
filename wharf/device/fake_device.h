// A Device for tests of what drives devices: memory is a vector, work runs in order on one thread, kernels are C++
// functions the test gives by name, and the test can hold the work back.
#pragma once

#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "wharf/device/device.h"
#include "wharf/device/texture.h"

namespace wharf::device {

class FakeDevice final : public Device {
 public:
  // Returns a fault or OK; may change memory through At.
  using Kernel = std::function<absl::Status(FakeDevice&, const LaunchConfig&, const std::vector<std::byte>&)>;

  explicit FakeDevice(std::map<std::string, Kernel> kernels = {}, uint64_t quota = 1 << 20)
      : kernels_(std::move(kernels)), memory_(kArenaBytes), worker_([this] { Run(); }) {
    properties_.name = "fake";
    properties_.driver = "fake";
    properties_.total_memory = quota;
    properties_.multiprocessors = 1;
    arena_ = {kBase, kArenaBytes, 4096, true};
  }
  ~FakeDevice() override {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
      held_ = false;
    }
    worker_.join();
  }

  static constexpr DeviceAddress kBase = 0x10000000;
  static constexpr uint64_t kArenaBytes = 4 << 20;

  // --- for tests ---
  // Queued work waits until Resume.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    held_ = true;
  }
  void Resume() {
    absl::MutexLock lock(&mutex_);
    held_ = false;
  }
  // Modules are loaded when what is queued is done, as by CUDA's driver.
  void LoadBehindWork() { loads_behind_work_ = true; }
  // Launches are refused while this holds.
  void RefuseLaunches(bool refuse) { refuses_ = refuse; }
  size_t Queued() const {
    absl::MutexLock lock(&mutex_);
    return queue_.size();
  }
  // What FootprintOf says of a kernel from now on; not oblivious otherwise.
  void SetFootprint(const std::string& kernel, Footprint footprint) { footprints_[kernel] = std::move(footprint); }
  std::byte* At(DeviceAddress address) { return memory_.data() + (address - kBase); }
  void Print(std::string text) {
    std::function<void(std::string)> output;
    {
      absl::MutexLock lock(&mutex_);
      output = output_;
    }
    if (output) output(std::move(text));
  }

  // --- Device ---
  const DeviceProperties& Properties() const override { return properties_; }
  const device::Arena& Arena() const override { return arena_; }

  absl::Status Map(DeviceAddress address, uint64_t size) override {
    if (address % arena_.granularity != 0 || size % arena_.granularity != 0 || size == 0 || !Inside(address, size)) {
      return CudaStatus(CudaError::kInvalidValue, "bad range");
    }
    if (mapped_ + size > properties_.total_memory) return CudaStatus(CudaError::kOutOfMemory, "beyond the quota");
    if (!mappings_.emplace(address, size).second) return CudaStatus(CudaError::kInvalidValue, "mapped already");
    mapped_ += size;
    return absl::OkStatus();
  }
  absl::Status Unmap(DeviceAddress address) override {
    const auto mapping = mappings_.find(address);
    if (mapping == mappings_.end()) return CudaStatus(CudaError::kInvalidValue, "not mapped");
    mapped_ -= mapping->second;
    mappings_.erase(mapping);
    return absl::OkStatus();
  }

  absl::Status LoadModule(ModuleId id, std::vector<std::byte> image) override {
    if (image.empty()) return CudaStatus(CudaError::kInvalidImage, "an empty image");
    if (loads_behind_work_) {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &FakeDevice::HasDoneAll));
    }
    if (!modules_.emplace(id, std::move(image)).second) return CudaStatus(CudaError::kInvalidHandle, "module exists");
    return absl::OkStatus();
  }
  absl::Status UnloadModule(ModuleId id) override {
    return modules_.erase(id) == 1 ? absl::OkStatus() : CudaStatus(CudaError::kInvalidHandle, "no such module");
  }
  const std::vector<std::byte>* Image(ModuleId id) const {
    const auto module = modules_.find(id);
    return module == modules_.end() ? nullptr : &module->second;
  }
  absl::Status DefineFunction(FunctionId id, ModuleId module, const std::string& name) override {
    if (!modules_.contains(module)) return CudaStatus(CudaError::kInvalidHandle, "no such module");
    if (!kernels_.contains(name)) return CudaStatus(CudaError::kNotFound, fmt::format("no kernel {}", name));
    functions_[id] = name;
    return absl::OkStatus();
  }
  absl::StatusOr<FunctionAttributes> Attributes(FunctionId id) override {
    if (!functions_.contains(id)) return CudaStatus(CudaError::kInvalidDeviceFunction, "no such function");
    FunctionAttributes attributes;
    attributes.parameters = {{0, 8}, {8, 4}};
    return attributes;
  }
  absl::Status SetMaxDynamicShared(FunctionId id, uint32_t) override { return Attributes(id).status(); }
  absl::StatusOr<Footprint> FootprintOf(FunctionId id) override {
    const auto name = functions_.find(id);
    if (name == functions_.end()) return CudaStatus(CudaError::kInvalidHandle, "no such function");
    const auto footprint = footprints_.find(name->second);
    return footprint == footprints_.end() ? Footprint{.reason = "a C++ function"} : footprint->second;
  }
  absl::StatusOr<Symbol> FindSymbol(ModuleId module, const std::string& name) override {
    if (!modules_.contains(module) || name != "symbol") return CudaStatus(CudaError::kInvalidSymbol, "no such symbol");
    return Symbol{kBase, 16};
  }

  absl::StatusOr<TextureHandle> CreateTexture(const TextureDescription& texture) override {
    WHARF_RETURN_IF_ERROR(CheckTexture(texture));
    textures_[++last_handle_] = texture;
    return last_handle_;
  }
  absl::StatusOr<TextureHandle> CreateSurface(const ImageDescription& image) override {
    WHARF_RETURN_IF_ERROR(CheckSurface(image));
    surfaces_[++last_handle_] = image;
    return last_handle_;
  }
  absl::Status DestroyTexture(TextureHandle handle) override {
    return textures_.erase(handle) == 1 ? absl::OkStatus() : CudaStatus(CudaError::kInvalidHandle, "no such texture");
  }
  absl::Status DestroySurface(TextureHandle handle) override {
    return surfaces_.erase(handle) == 1 ? absl::OkStatus() : CudaStatus(CudaError::kInvalidHandle, "no such surface");
  }
  // By handle; what was created and not destroyed.
  const std::map<TextureHandle, TextureDescription>& Textures() const { return textures_; }
  const std::map<TextureHandle, ImageDescription>& Surfaces() const { return surfaces_; }

  absl::Status CreateStream(StreamId id, uint32_t, int32_t) override {
    return streams_.insert(id).second ? absl::OkStatus() : CudaStatus(CudaError::kInvalidHandle, "stream exists");
  }
  absl::Status DestroyStream(StreamId id) override {
    return id != kDefaultStream && streams_.erase(id) == 1 ? absl::OkStatus()
                                                           : CudaStatus(CudaError::kInvalidHandle, "no such stream");
  }
  absl::Status CreateEvent(EventId id, uint32_t) override {
    events_.insert(id);
    return absl::OkStatus();
  }
  absl::Status DestroyEvent(EventId id) override {
    return events_.erase(id) == 1 ? absl::OkStatus() : CudaStatus(CudaError::kInvalidHandle, "no such event");
  }
  absl::Status RecordEvent(EventId event, StreamId stream) override { return CheckBoth(event, stream); }
  absl::Status WaitEvent(StreamId stream, EventId event) override { return CheckBoth(event, stream); }
  absl::StatusOr<bool> EventDone(EventId event) override {
    if (!events_.contains(event)) return CudaStatus(CudaError::kInvalidHandle, "no such event");
    return Queued() == 0;
  }
  absl::StatusOr<bool> StreamDone(StreamId stream) override {
    WHARF_RETURN_IF_ERROR(CheckStream(stream));
    return Queued() == 0;
  }
  absl::StatusOr<float> ElapsedMs(EventId start, EventId end) override {
    if (!events_.contains(start) || !events_.contains(end)) return CudaStatus(CudaError::kInvalidHandle, "no event");
    return 1.5F;
  }

  absl::Status CopyToDevice(StreamId stream, Region to, Extent extent, std::vector<std::byte> packed) override {
    return Enqueue(stream, [this, to, extent, packed = std::move(packed)] {
      return EachRow(to, extent, [&](std::byte* row, uint64_t index) {
        std::memcpy(row, packed.data() + index * extent.width, extent.width);
      });
    });
  }
  absl::Status CopyToHost(StreamId stream, Region from, Extent extent, DataDone done) override {
    return Enqueue(
        stream,
        [this, from, extent, done = std::move(done)] {
          if (absl::Status fault = Fault(); !fault.ok()) {
            done(fault, {});
            return fault;
          }
          std::vector<std::byte> packed(extent.width * extent.height * extent.depth);
          const absl::Status status = EachRow(from, extent, [&](const std::byte* row, uint64_t index) {
            std::memcpy(packed.data() + index * extent.width, row, extent.width);
          });
          if (!status.ok()) packed.clear();
          done(status, std::move(packed));
          return status;
        },
        true);
  }
  absl::Status CopyOnDevice(StreamId stream, Region to, Region from, Extent extent) override {
    return Enqueue(stream, [this, to, from, extent] {
      return EachRow(to, extent, [&](std::byte* row, uint64_t index) {
        std::memmove(row, At(from.address) + index * from.row_pitch, extent.width);
      });
    });
  }
  absl::Status Fill(StreamId stream, Region to, Extent extent, uint32_t value, uint32_t element_bytes) override {
    return Enqueue(stream, [=, this] {
      return EachRow(to, extent, [&](std::byte* row, uint64_t) {
        for (uint64_t i = 0; i < extent.width; i += element_bytes) std::memcpy(row + i, &value, element_bytes);
      });
    });
  }
  absl::Status Launch(StreamId stream, FunctionId function, const LaunchConfig& config,
                      std::vector<std::byte> parameters) override {
    if (config.block.Count() == 0 || config.block.Count() > 1024) {
      return CudaStatus(CudaError::kInvalidConfiguration, "bad block");
    }
    if (refuses_) return CudaStatus(CudaError::kOutOfMemory, "no launches now");
    const auto name = functions_.find(function);
    if (name == functions_.end()) return CudaStatus(CudaError::kInvalidDeviceFunction, "no such function");
    return Enqueue(stream, [this, kernel = kernels_[name->second], config, parameters = std::move(parameters)] {
      return kernel(*this, config, parameters);
    });
  }
  // Of kernels whose footprint says that they are guardable; one that returns a fault violates its guard.
  absl::Status LaunchGuarded(StreamId stream, FunctionId function, const LaunchConfig& config,
                             std::vector<std::byte> parameters, const Guard& guard) override {
    WHARF_ASSIGN_OR_RETURN(const Footprint footprint, FootprintOf(function));
    if (!footprint.guardable) return CudaStatus(CudaError::kNotSupported, "not guardable");
    return Enqueue(stream,
                   [this, kernel = kernels_[functions_[function]], config, guard, parameters = std::move(parameters)] {
                     constexpr uint32_t kViolated = 1;
                     if (!kernel(*this, config, parameters).ok())
                       std::memcpy(At(guard.violation), &kViolated, sizeof kViolated);
                     return absl::OkStatus();
                   });
  }
  absl::Status RunGemm(StreamId stream, const Gemm&) override {
    return Enqueue(stream, [] { return absl::OkStatus(); });
  }
  absl::Status RunPrimitive(StreamId stream, const Primitive&) override {
    return Enqueue(stream, [] { return absl::OkStatus(); });
  }
  absl::Status Notify(StreamId stream, Done done) override {
    return Enqueue(
        stream,
        [this, done = std::move(done)] {
          done(Fault());
          return absl::OkStatus();
        },
        true);
  }
  absl::Status NotifyAll(Done done) override { return Notify(kDefaultStream, std::move(done)); }
  absl::Status NotifyEvent(EventId event, Done done) override {
    if (!events_.contains(event)) return CudaStatus(CudaError::kInvalidHandle, "no such event");
    return Notify(kDefaultStream, std::move(done));
  }
  absl::Status HostCall(StreamId stream, std::function<void()> call) override {
    return Enqueue(stream, [call = std::move(call)] {
      call();
      return absl::OkStatus();
    });
  }

  absl::Status Fault() const override {
    absl::MutexLock lock(&mutex_);
    return fault_;
  }
  void SetOutput(std::function<void(std::string)> output) override {
    absl::MutexLock lock(&mutex_);
    output_ = std::move(output);
  }
  Nanoseconds BusyTime() const override { return std::chrono::milliseconds(7); }

 private:
  struct Work {
    std::function<absl::Status()> run;
    bool always;  // tells somebody: runs after a fault too
  };

  bool Inside(DeviceAddress address, uint64_t size) const {
    return address >= kBase && size <= kArenaBytes && address - kBase <= kArenaBytes - size;
  }
  absl::Status CheckStream(StreamId stream) const {
    return stream == kDefaultStream || streams_.contains(stream)
               ? absl::OkStatus()
               : CudaStatus(CudaError::kInvalidHandle, "no such stream");
  }
  absl::Status CheckBoth(EventId event, StreamId stream) const {
    if (!events_.contains(event)) return CudaStatus(CudaError::kInvalidHandle, "no such event");
    return CheckStream(stream);
  }
  template <typename F>
  absl::Status EachRow(const Region& box, const Extent& extent, F each) {
    for (uint64_t row = 0; row < extent.height * extent.depth; ++row) {
      const DeviceAddress address =
          box.address + (row / extent.height) * box.slice_pitch + (row % extent.height) * box.row_pitch;
      if (!Inside(address, extent.width)) return CudaStatus(CudaError::kIllegalAddress, "outside");
      each(At(address), row);
    }
    return absl::OkStatus();
  }
  absl::Status Enqueue(StreamId stream, std::function<absl::Status()> run, bool always = false) {
    WHARF_RETURN_IF_ERROR(CheckStream(stream));
    absl::MutexLock lock(&mutex_);
    queue_.push_back({std::move(run), always});
    return absl::OkStatus();
  }
  bool HasDoneAll() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return queue_.empty(); }
  bool CanRun() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || (!held_ && !queue_.empty()); }
  void Run() {
    while (true) {
      Work work;
      bool faulted = false;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &FakeDevice::CanRun));
        if (queue_.empty()) return;
        work = queue_.front();
        faulted = !fault_.ok() || stop_;
        // Whoever is told that the work is done finds it done.
        if (work.always) queue_.pop_front();
      }
      const absl::Status status = faulted && !work.always ? absl::OkStatus() : work.run();
      absl::MutexLock lock(&mutex_);
      if (!work.always) queue_.pop_front();
      if (!status.ok() && fault_.ok()) fault_ = status;
    }
  }

  std::map<std::string, Kernel> kernels_;
  DeviceProperties properties_;
  device::Arena arena_;
  std::vector<std::byte> memory_;
  std::map<DeviceAddress, uint64_t> mappings_;
  uint64_t mapped_ = 0;
  std::map<ModuleId, std::vector<std::byte>> modules_;
  std::map<FunctionId, std::string> functions_;
  std::map<std::string, Footprint> footprints_;
  TextureHandle last_handle_ = 0x7000;
  std::map<TextureHandle, TextureDescription> textures_;
  std::map<TextureHandle, ImageDescription> surfaces_;
  std::set<StreamId> streams_;
  std::set<EventId> events_;

  std::atomic<bool> refuses_{false}, loads_behind_work_{false};
  mutable absl::Mutex mutex_;
  std::deque<Work> queue_ ABSL_GUARDED_BY(mutex_);
  absl::Status fault_ ABSL_GUARDED_BY(mutex_);
  std::function<void(std::string)> output_ ABSL_GUARDED_BY(mutex_);
  bool held_ = false, stop_ = false;
  std::thread worker_;
};

}  // namespace wharf::device
