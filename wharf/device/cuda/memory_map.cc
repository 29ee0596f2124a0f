#include "wharf/device/cuda/memory_map.h"

#include <algorithm>
#include <utility>

namespace wharf::device::cuda {
namespace {
// Addresses cost nothing: room for fragmentation of the client's own allocator, and for what programs reserve of them.
constexpr uint64_t kReservePerQuota = 16;
}  // namespace

absl::StatusOr<std::unique_ptr<MemoryMap>> MemoryMap::Create(Gpu* gpu, uint64_t quota, DeviceAddress arena_base) {
  std::unique_ptr<MemoryMap> map(new MemoryMap(gpu, quota));
  map->properties_.location.id = gpu->Ordinal();
  size_t granularity = 0;
  WHARF_RETURN_IF_ERROR(gpu->Check((*gpu)->MemGetAllocationGranularity(&granularity, &map->properties_, /*minimum*/ 0),
                                   "cuMemGetAllocationGranularity"));
  constexpr uint64_t kUnit = 2 << 20;  // fewer, larger pieces than a smaller granularity would give
  const uint64_t unit = (kUnit + granularity - 1) / granularity * granularity;
  const uint64_t units = (quota + unit - 1) / unit;
  if (units > (uint64_t{1} << 46) / unit / kReservePerQuota) {
    return InvalidArgument("a memory quota of {} bytes is more than any GPU has", quota);
  }
  const uint64_t size = std::max<uint64_t>(units, 1) * unit * kReservePerQuota;
  // A wish, which the driver grants if the range is free: clients tell device from host addresses by the arena, and
  // their heaps and stacks lie elsewhere.
  constexpr DevicePointer kPreferredAddress = uint64_t{0x2000} << 32;
  const DevicePointer wish = arena_base != 0 ? arena_base : kPreferredAddress;
  DevicePointer base = 0;
  WHARF_RETURN_IF_ERROR(gpu->Check((*gpu)->MemAddressReserve(&base, size, unit, wish, 0), "cuMemAddressReserve"));
  map->arena_ = {.base = base, .size = size, .granularity = unit, .guarded = false};
  return map;
}

MemoryMap::~MemoryMap() {
  absl::MutexLock lock(&mutex_);
  while (!granules_.empty()) Drop(granules_.begin()).IgnoreError();
  if (arena_.size > 0) (*gpu_)->MemAddressFree(arena_.base, arena_.size);
}

absl::Status MemoryMap::CheckRange(DeviceAddress address, uint64_t size) const {
  if (size == 0 || address % arena_.granularity != 0 || size % arena_.granularity != 0 || !InArena(address, size)) {
    return CudaStatus(CudaError::kInvalidValue, "{} bytes at {:#x} are not whole granules of the session's range", size,
                      address);
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryMap::Mapped> MemoryMap::Map(DeviceAddress address, uint64_t size) {
  WHARF_RETURN_IF_ERROR(CheckRange(address, size));
  absl::MutexLock lock(&mutex_);
  const auto next = ranges_.lower_bound(address);
  if ((next != ranges_.end() && next->first < address + size) ||
      (next != ranges_.begin() && std::prev(next)->first + std::prev(next)->second > address)) {
    return CudaStatus(CudaError::kInvalidValue, "{:#x} is mapped already", address);
  }
  if (size > quota_ || mapped_bytes_ > quota_ - size) {
    return CudaStatus(CudaError::kOutOfMemory, "{} bytes more are over the session's quota of {} bytes", size, quota_);
  }
  Mapped result;
  std::vector<DeviceAddress> fresh;
  std::vector<std::pair<Granule*, Ticket>> taken_over;
  absl::Status status;
  for (DeviceAddress a = address; a < address + size && status.ok(); a += arena_.granularity) {
    if (auto granule = granules_.find(a); granule != granules_.end()) {
      taken_over.emplace_back(&granule->second, std::exchange(granule->second.retired_by, 0));
      result.reused = true;
      continue;
    }
    status = Back(a);
    if (status.ok()) fresh.push_back(a);
  }
  if (status.ok() && !fresh.empty()) {
    AccessDescriptor access;
    access.location = properties_.location;
    status = gpu_->Check((*gpu_)->MemSetAccess(address, size, &access, 1), "cuMemSetAccess");
  }
  if (!status.ok()) {
    for (DeviceAddress a : fresh) Drop(granules_.find(a)).IgnoreError();
    for (const auto& [granule, ticket] : taken_over) granule->retired_by = ticket;
    return status;
  }
  ranges_[address] = size;
  mapped_bytes_ += size;
  return result;
}

bool MemoryMap::IsMapped(DeviceAddress address, uint64_t bytes) const {
  if (!InArena(address, bytes)) return false;
  absl::MutexLock lock(&mutex_);
  const DeviceAddress end = address + bytes;
  while (address < end) {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return false;
    --range;
    if (address >= range->first + range->second) return false;
    address = range->first + range->second;
  }
  return true;
}

absl::Status MemoryMap::Back(DeviceAddress address) {
  Granule granule;
  WHARF_RETURN_IF_ERROR(
      gpu_->Check((*gpu_)->MemCreate(&granule.handle, arena_.granularity, &properties_, 0), "cuMemCreate"));
  if (absl::Status mapped = gpu_->Check((*gpu_)->MemMap(address, arena_.granularity, 0, granule.handle, 0), "cuMemMap");
      !mapped.ok()) {
    (*gpu_)->MemRelease(granule.handle);
    return mapped;
  }
  granules_[address] = granule;
  return absl::OkStatus();
}

absl::Status MemoryMap::Drop(std::map<DeviceAddress, Granule>::iterator granule) {
  absl::Status unmapped = gpu_->Check((*gpu_)->MemUnmap(granule->first, arena_.granularity), "cuMemUnmap");
  absl::Status released = gpu_->Check((*gpu_)->MemRelease(granule->second.handle), "cuMemRelease");
  granules_.erase(granule);
  return unmapped.ok() ? released : unmapped;
}

absl::StatusOr<MemoryMap::Ticket> MemoryMap::Retire(DeviceAddress address) {
  absl::MutexLock lock(&mutex_);
  const auto range = ranges_.find(address);
  if (range == ranges_.end()) {
    return CudaStatus(CudaError::kInvalidValue, "nothing was mapped at {:#x}", address);
  }
  const Ticket ticket = ++last_ticket_;
  std::vector<DeviceAddress>& granules = retired_[ticket];
  for (DeviceAddress a = address; a < address + range->second; a += arena_.granularity) {
    granules_.at(a).retired_by = ticket;
    granules.push_back(a);
  }
  mapped_bytes_ -= range->second;
  ranges_.erase(range);
  return ticket;
}

absl::Status MemoryMap::Release(Ticket ticket) {
  absl::MutexLock lock(&mutex_);
  const auto retired = retired_.find(ticket);
  if (retired == retired_.end()) return absl::OkStatus();
  absl::Status status;
  for (DeviceAddress address : retired->second) {
    const auto granule = granules_.find(address);
    // In use again, or retired anew since.
    if (granule == granules_.end() || granule->second.retired_by != ticket) continue;
    if (absl::Status dropped = Drop(granule); status.ok()) status = dropped;
  }
  retired_.erase(retired);
  return status;
}

}  // namespace wharf::device::cuda
