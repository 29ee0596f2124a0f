#include "wharf/device/soft/runtime/memory.h"

#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "wharf/device/soft/runtime/fiber.h"

namespace wharf::device::soft {
namespace {

// Reservations begin between these two, where no client has memory of its own: clients tell device addresses from
// theirs by the arena's bounds.
#ifdef WHARF_TSAN
constexpr uint64_t kLeastAddress = uint64_t{64} << 30;  // TSan keeps most of the address space to itself,
constexpr uint64_t kMostAddress = kLeastAddress;
constexpr uint64_t kPreferredArena = uint64_t{32} << 30;  // and shadow memory for the whole reservation
#else
constexpr uint64_t kLeastAddress = uint64_t{0x1000} << 32;
constexpr uint64_t kMostAddress = uint64_t{0x4800} << 32;
constexpr uint64_t kPreferredArena = uint64_t{1} << 40;
#endif
constexpr uint64_t kAddressUnit = uint64_t{2} << 20;  // a huge page's; leaves 2^24 places
constexpr int kPlaces = 8;                            // of those, tried for a whole reservation

constexpr uint64_t kHugePages = uint64_t{4} << 20;  // mappings from this size on

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

bool Overlaps(const std::map<DeviceAddress, uint64_t>& ranges, DeviceAddress address, uint64_t size) {
  auto next = ranges.lower_bound(address);
  if (next != ranges.end() && next->first < address + size) return true;
  return next != ranges.begin() && std::prev(next)->first + std::prev(next)->second > address;
}

// Bytes from `address` on that are covered without a gap, counting no further than `wanted`.
uint64_t Covered(const std::map<DeviceAddress, uint64_t>& ranges, DeviceAddress address, uint64_t wanted) {
  auto range = ranges.upper_bound(address);
  if (range == ranges.begin()) return 0;
  --range;
  DeviceAddress at = address;
  while (range != ranges.end() && range->first <= at && at - range->first < range->second) {
    at = range->first + range->second;
    if (at - address >= wanted) break;
    ++range;
  }
  return at - address;
}

// Where the next reservation is to begin: nobody can know it who is not told.
absl::StatusOr<uint64_t> RandomAddress() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) return ErrnoStatus(errno, "getrandom");
  return kLeastAddress + random % ((kMostAddress - kLeastAddress) / kAddressUnit + 1) * kAddressUnit;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Memory>> Memory::Create(uint64_t quota, uint32_t windows, DeviceAddress arena_base) {
  if (quota == 0 || quota > uint64_t{1} << 44) return InvalidArgument("memory quota {} is out of range", quota);
  quota = RoundUp(quota, kGranularity);
  int error = 0;
  const auto reserve = [&](uint64_t at, uint64_t arena, int place) -> std::unique_ptr<Memory> {
    const uint64_t internal = RoundUp(arena / 2, kGranularity) - kGranularity;
    const uint64_t size = 4 * kAddressSlack + arena + internal + 2 * kGapBytes + windows * kWindowBytes;
    void* const wanted = reinterpret_cast<void*>(at);
    void* start = mmap(wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | place, -1, 0);
    if (start == MAP_FAILED) return error = errno, nullptr;
    if (place != 0 && start != wanted) {  // kernels before 4.17 take it as a wish
      munmap(start, size);
      return error = EEXIST, nullptr;
    }
    return std::unique_ptr<Memory>(
        new Memory(reinterpret_cast<uintptr_t>(start) + 2 * kAddressSlack, arena, internal, quota, windows));
  };
  // Where it is wanted, or at one of the places that nobody can know; then smaller; then where the kernel likes: there
  // the client's own memory may have the same addresses.
  const bool wanted = arena_base > 2 * kAddressSlack;
  const uint64_t largest = RoundUp(std::max(kPreferredArena, 16 * quota), kGranularity);
  uint64_t at = arena_base - 2 * kAddressSlack;
  for (int tries = wanted ? 1 : kPlaces; tries > 0; --tries) {
    if (!wanted) {
      WHARF_ASSIGN_OR_RETURN(at, RandomAddress());
    }
    if (auto memory = reserve(at, largest, MAP_FIXED_NOREPLACE)) return memory;
  }
  for (const int place : {MAP_FIXED_NOREPLACE, 0}) {
    for (uint64_t arena = largest; arena >= quota; arena /= 2) {
      if (auto memory = reserve(at, RoundUp(arena, kGranularity), place)) return memory;
    }
  }
  return ResourceExhausted("no address space for {} bytes of device memory ({}): raise the limit on virtual memory",
                           quota, Message(ErrnoStatus(error, "mmap")));
}

Memory::~Memory() { munmap(confined_begin() - kAddressSlack, confined_bytes() + 2 * kAddressSlack); }

std::byte* Memory::Window(uint32_t index) const {
  return reinterpret_cast<std::byte*>(end() + kGapBytes + index * kWindowBytes);
}

device::Arena Memory::Arena() const {
  return {.base = base_, .size = arena_bytes_, .granularity = kGranularity, .guarded = true};
}

absl::StatusOr<bool> Memory::Map(DeviceAddress address, uint64_t size) {
  if (size == 0 || address % kGranularity != 0 || size % kGranularity != 0 || address < base_ ||
      address - base_ > arena_bytes_ || size > arena_bytes_ - (address - base_)) {
    return CudaStatus(CudaError::kInvalidValue, "map of {} bytes at {:#x}: not whole pages inside the arena", size,
                      address);
  }
  absl::MutexLock lock(&mutex_);
  if (Overlaps(issued_, address, size)) {
    return CudaStatus(CudaError::kInvalidValue, "map of {} bytes at {:#x}: overlaps another mapping", size, address);
  }
  return MapLocked(address, size);
}

absl::Status Memory::Back(DeviceAddress address, uint64_t size) const {
  void* start = reinterpret_cast<void*>(address);
  if (mprotect(start, size, PROT_READ | PROT_WRITE) != 0) {
    return CudaStatus(CudaError::kOutOfMemory, "{}",
                      Message(ErrnoStatus(errno, fmt::format("mapping {} bytes", size))));
  }
  if (size >= kHugePages) madvise(start, size, MADV_HUGEPAGE);  // fewer faults and TLB misses; only a hint
  if (written_ == nullptr || written_->Map(address, size).ok()) return absl::OkStatus();
  return CudaStatus(CudaError::kOutOfMemory, "there is no memory to note what is written");
}

absl::StatusOr<bool> Memory::MapLocked(DeviceAddress address, uint64_t size) {
  if (size > quota_ - used_) {
    return CudaStatus(CudaError::kOutOfMemory, "{} bytes asked, {} of {} in use", size, used_, quota_);
  }
  const bool at_once = !Overlaps(live_, address, size);
  if (at_once) {
    WHARF_RETURN_IF_ERROR(Back(address, size));
    live_[address] = size;
  }
  issued_[address] = size;
  extents_.erase(address);  // of a mapping that was there before
  used_ += size;
  return at_once;
}

absl::Status Memory::Commit(DeviceAddress address, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  WHARF_RETURN_IF_ERROR(Back(address, size));
  live_[address] = size;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Memory::Unmap(DeviceAddress address) {
  absl::MutexLock lock(&mutex_);
  const auto range = issued_.find(address);
  if (range == issued_.end()) {
    return CudaStatus(CudaError::kInvalidValue, "unmap of {:#x}: no mapping starts there", address);
  }
  const uint64_t size = range->second;
  issued_.erase(range);
  used_ -= size;
  return size;
}

void Memory::Decommit(DeviceAddress address, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  live_.erase(address);
  // A fresh mapping gives the pages back and takes access away in one step.
  void* fresh = mmap(reinterpret_cast<void*>(address), size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (fresh == MAP_FAILED) madvise(reinterpret_cast<void*>(address), size, MADV_DONTNEED);
}

absl::StatusOr<DeviceAddress> Memory::Allocate(uint64_t size) {
  if (size > quota_) return CudaStatus(CudaError::kOutOfMemory, "{} bytes asked, quota is {}", size, quota_);
  size = std::max(RoundUp(size, kGranularity), kGranularity);
  absl::MutexLock lock(&mutex_);
  // First gap that leaves a page on each side, free in both views.
  const DeviceAddress first = base_ + arena_bytes_ + kGapBytes;
  DeviceAddress at = first + kGranularity;
  const auto skip = [&](const Ranges& ranges) {
    bool moved = false;
    for (auto r = ranges.upper_bound(at);;) {
      if (r != ranges.begin() && std::prev(r)->first + std::prev(r)->second + kGranularity > at) {
        at = std::prev(r)->first + std::prev(r)->second + kGranularity;
        moved = true;
      }
      if (r == ranges.end() || r->first >= at + size + kGranularity) return moved;
      ++r;
    }
  };
  while (skip(issued_) | skip(live_)) {
  }
  if (at + size + kGranularity > end()) return CudaStatus(CudaError::kOutOfMemory, "no room for {} bytes", size);
  WHARF_RETURN_IF_ERROR(MapLocked(at, size).status());
  return at;
}

bool Memory::IsMapped(DeviceAddress address, uint64_t size) const {
  absl::MutexLock lock(&mutex_);
  return size == 0 || Covered(issued_, address, size) >= size;
}

bool Memory::IsLive(DeviceAddress address, uint64_t size) const {
  absl::MutexLock lock(&mutex_);
  return size == 0 || Covered(live_, address, size) >= size;
}

absl::Status Memory::NoteWrites() {
  WHARF_ASSIGN_OR_RETURN(written_, check::WrittenMemory::Create(base_, arena_bytes_));
  return absl::OkStatus();
}

absl::Status Memory::SetExtent(const MemoryRange& extent) {
  absl::MutexLock lock(&mutex_);
  const auto behind = issued_.upper_bound(extent.begin);
  if (behind == issued_.begin()) return CudaStatus(CudaError::kInvalidValue, "nothing is mapped there");
  const auto& [start, size] = *std::prev(behind);
  if (!MemoryRange{start, size}.Holds(extent.begin, extent.size)) {
    return CudaStatus(CudaError::kInvalidValue, "{} bytes at {:#x} are in no mapping", extent.size, extent.begin);
  }
  extents_[start] = extent;
  return absl::OkStatus();
}

MemoryRange Memory::ExtentOf(const Ranges::value_type& mapping) const {
  const auto extent = extents_.find(mapping.first);
  return extent == extents_.end() ? MemoryRange{mapping.first, mapping.second} : extent->second;
}

MemoryRange Memory::NearestTo(DeviceAddress address) const {
  absl::MutexLock lock(&mutex_);
  if (live_.empty()) return {};
  const auto behind = live_.upper_bound(address);
  return ExtentOf(behind == live_.begin() ? *behind : *std::prev(behind));
}

std::vector<MemoryRange> Memory::Mapped() const {
  absl::MutexLock lock(&mutex_);
  std::vector<MemoryRange> mapped;
  for (const auto& mapping : issued_) {
    if (mapping.first < base_ + arena_bytes_) mapped.push_back(ExtentOf(mapping));
  }
  return mapped;
}

uint64_t Memory::LiveBytesAt(DeviceAddress address) const {
  absl::MutexLock lock(&mutex_);
  return Covered(live_, address, ~uint64_t{0});
}

}  // namespace wharf::device::soft
