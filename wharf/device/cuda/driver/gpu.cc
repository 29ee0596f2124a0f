#include "wharf/device/cuda/driver/gpu.h"

#include <algorithm>
#include <array>

namespace wharf::device::cuda {

absl::StatusOr<std::unique_ptr<Gpu>> Gpu::Create(const Driver* driver) {
  auto unavailable = [&](Result result, const char* what) {
    return Unavailable("no usable GPU: {}", Message(driver->ToStatus(result, what)));
  };
  if (Result r = driver->Init(0); r != kResultSuccess) return unavailable(r, "cuInit");
  int count = 0, device = 0;
  if (Result r = driver->DeviceGetCount(&count); r != kResultSuccess) return unavailable(r, "cuDeviceGetCount");
  if (count == 0) return Unavailable("no usable GPU: the driver finds none");
  if (Result r = driver->DeviceGet(&device, 0); r != kResultSuccess) return unavailable(r, "cuDeviceGet");
  int virtual_memory = 0;
  driver->DeviceGetAttribute(&virtual_memory, DeviceAttribute::kVirtualMemory, device);
  if (virtual_memory == 0) return Unavailable("no usable GPU: it cannot map memory at chosen addresses");
  ContextHandle context = nullptr;
  if (Result r = driver->CtxCreate(&context, kContextBlockingSync, device); r != kResultSuccess) {
    return unavailable(r, "cuCtxCreate");
  }
  std::unique_ptr<Gpu> gpu(new Gpu(driver, device, context));
  WHARF_RETURN_IF_ERROR(gpu->ReadProperties());
  return gpu;
}

Gpu::~Gpu() { driver_->CtxDestroy(context_); }

absl::Status Gpu::ReadProperties() {
  DeviceProperties& p = properties_;
  std::array<char, 256> name{};
  WHARF_RETURN_IF_ERROR(Check(driver_->DeviceGetName(name.data(), int{name.size() - 1}, device_), "cuDeviceGetName"));
  p.name = name.data();
  p.driver = "cuda";
  size_t total = 0;
  WHARF_RETURN_IF_ERROR(Check(driver_->DeviceTotalMem(&total, device_), "cuDeviceTotalMem"));
  p.total_memory = total;
  Uuid uuid;
  if (driver_->DeviceGetUuid(&uuid, device_) == kResultSuccess) {
    std::copy(std::begin(uuid.bytes), std::end(uuid.bytes), p.uuid.begin());
  }
  // An attribute this driver does not know keeps the interface's default.
  auto read = [&](auto& into, DeviceAttribute attribute) {
    int value = 0;
    if (driver_->DeviceGetAttribute(&value, attribute, device_) == kResultSuccess) {
      into = static_cast<std::remove_reference_t<decltype(into)>>(value);
    }
  };
  read(p.compute_major, DeviceAttribute::kComputeMajor);
  read(p.compute_minor, DeviceAttribute::kComputeMinor);
  read(p.multiprocessors, DeviceAttribute::kMultiprocessors);
  read(p.clock_khz, DeviceAttribute::kClockKhz);
  read(p.memory_clock_khz, DeviceAttribute::kMemoryClockKhz);
  read(p.memory_bus_bits, DeviceAttribute::kMemoryBusBits);
  read(p.warp_size, DeviceAttribute::kWarpSize);
  read(p.max_threads_per_block, DeviceAttribute::kMaxThreadsPerBlock);
  read(p.max_threads_per_multiprocessor, DeviceAttribute::kMaxThreadsPerMultiprocessor);
  read(p.max_blocks_per_multiprocessor, DeviceAttribute::kMaxBlocksPerMultiprocessor);
  read(p.registers_per_block, DeviceAttribute::kRegistersPerBlock);
  read(p.registers_per_multiprocessor, DeviceAttribute::kRegistersPerMultiprocessor);
  read(p.shared_per_block, DeviceAttribute::kSharedPerBlock);
  read(p.shared_per_block_optin, DeviceAttribute::kSharedPerBlockOptin);
  read(p.shared_per_multiprocessor, DeviceAttribute::kSharedPerMultiprocessor);
  read(p.constant_memory, DeviceAttribute::kConstantMemory);
  read(p.l2_bytes, DeviceAttribute::kL2Bytes);
  constexpr std::array kBlock = {DeviceAttribute::kMaxBlockX, DeviceAttribute::kMaxBlockY, DeviceAttribute::kMaxBlockZ};
  constexpr std::array kGrid = {DeviceAttribute::kMaxGridX, DeviceAttribute::kMaxGridY, DeviceAttribute::kMaxGridZ};
  for (size_t i = 0; i < 3; ++i) {
    read(p.max_block[i], kBlock[i]);
    read(p.max_grid[i], kGrid[i]);
  }
  return absl::OkStatus();
}

absl::Status Gpu::Enter() const { return driver_->ToStatus(driver_->CtxSetCurrent(context_), "cuCtxSetCurrent"); }

absl::Status Gpu::Check(Result result, const char* what) {
  absl::Status status = driver_->ToStatus(result, what);
  if (!status.ok() && IsSticky(static_cast<CudaError>(result))) {
    absl::MutexLock lock(&mutex_);
    if (fault_.ok()) fault_ = status;
    faulted_.store(true, std::memory_order_release);
  }
  return status;
}

absl::Status Gpu::Fault() const {
  if (!faulted_.load(std::memory_order_acquire)) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  return fault_;
}

EventPool::~EventPool() {
  absl::MutexLock lock(&mutex_);
  for (EventHandle event : idle_) (*gpu_)->EventDestroy(event);
}

absl::StatusOr<EventHandle> EventPool::Get() {
  {
    absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      EventHandle event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  EventHandle event = nullptr;
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->EventCreate(&event, flags_), "cuEventCreate"));
  return event;
}

void EventPool::Put(EventHandle event) {
  absl::MutexLock lock(&mutex_);
  idle_.push_back(event);
}

Workspaces::~Workspaces() {
  for (const auto& [stream, workspace] : workspaces_) Free(workspace);
  for (const Workspace& workspace : outgrown_) Free(workspace);
}

absl::StatusOr<DevicePointer> Workspaces::Of(StreamHandle stream, uint64_t bytes) {
  if (bytes == 0) return DevicePointer{0};
  Workspace& workspace = workspaces_[stream];
  if (workspace.bytes >= bytes) return workspace.address;
  AllocationProperties properties;
  properties.location.id = gpu_->Ordinal();
  size_t granularity = 0;
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->MemGetAllocationGranularity(&granularity, &properties, /*minimum*/ 0),
                                    "cuMemGetAllocationGranularity"));
  Workspace grown;
  grown.bytes = (std::max(bytes, 2 * workspace.bytes) + granularity - 1) / granularity * granularity;
  WHARF_RETURN_IF_ERROR(gpu_->Check((*gpu_)->MemCreate(&grown.handle, grown.bytes, &properties, 0), "cuMemCreate"));
  absl::Status status =
      gpu_->Check((*gpu_)->MemAddressReserve(&grown.address, grown.bytes, granularity, 0, 0), "cuMemAddressReserve");
  if (status.ok()) status = gpu_->Check((*gpu_)->MemMap(grown.address, grown.bytes, 0, grown.handle, 0), "cuMemMap");
  if (status.ok()) {
    AccessDescriptor access;
    access.location = properties.location;
    status = gpu_->Check((*gpu_)->MemSetAccess(grown.address, grown.bytes, &access, 1), "cuMemSetAccess");
  }
  if (!status.ok()) {
    Free(grown);
    return status;
  }
  if (workspace.bytes > 0) outgrown_.push_back(workspace);
  workspace = grown;
  return workspace.address;
}

void Workspaces::Free(const Workspace& workspace) {
  if (workspace.address != 0) {
    (*gpu_)->MemUnmap(workspace.address, workspace.bytes);
    (*gpu_)->MemAddressFree(workspace.address, workspace.bytes);
  }
  if (workspace.handle != 0) (*gpu_)->MemRelease(workspace.handle);
}

}  // namespace wharf::device::cuda
