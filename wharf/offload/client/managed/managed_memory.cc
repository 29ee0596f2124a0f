#include "wharf/offload/client/managed/managed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace wharf::offload {
namespace {

constexpr off_t kFileBytes = off_t{1} << 47;  // as large as addresses get; what is not touched takes no memory

uint64_t PageUp(uint64_t value) {
  const uint64_t page = ManagedMemory::Page();
  return (value + page - 1) / page * page;
}
uint64_t PageDown(uint64_t value) { return value / ManagedMemory::Page() * ManagedMemory::Page(); }

// Large allocations have so large blocks that the system can tell them apart.
uint64_t BlockFor(uint64_t bytes) {
  const uint64_t block = PageUp((bytes + ManagedMemory::kMostBlocks - 1) / ManagedMemory::kMostBlocks);
  return std::max(block, ManagedMemory::kLeastBlock);
}

constexpr int kReservation = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Where exactly there is nothing yet; false if there is, or the kernel does not want to.
bool MapAt(uint64_t address, uint64_t bytes, int protection, int flags, int file, off_t offset) {
  void* const wanted = reinterpret_cast<void*>(address);
  void* const pages = mmap(wanted, bytes, protection, flags | MAP_FIXED_NOREPLACE, file, offset);
  if (pages == wanted) return true;
  if (pages == MAP_FAILED) return false;
  munmap(pages, bytes);  // kernels before 4.17 take the address as a wish
  errno = EEXIST;
  return false;
}

}  // namespace

using device::CudaError;

uint64_t ManagedMemory::Page() {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return page;
}

ManagedMemory::ManagedMemory(Mover mover) : mover_(std::move(mover)) {}

ManagedMemory::~ManagedMemory() {
  Clear();
  absl::MutexLock lock(&mutex_);
  if (file_ >= 0) close(file_);
}

void ManagedMemory::Reserve(uint64_t address, uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return;
  absl::MutexLock lock(&mutex_);
  if (!MapAt(address, bytes, PROT_NONE, kReservation, -1, 0)) return;
  reserved_ = address;
  reserved_bytes_ = bytes;
}

bool ManagedMemory::IsReserved(uint64_t address, uint64_t bytes) const {
  return bytes <= reserved_bytes_ && address - reserved_ <= reserved_bytes_ - bytes;
}

absl::Status ManagedMemory::Add(const Allocation& allocation, bool there) {
  const uint64_t end = PageUp(allocation.address + allocation.size);
  absl::MutexLock lock(&mutex_);
  for (uint64_t at = PageDown(allocation.address); at < end;) {
    Range* range = RangeOf(at);
    if (range == nullptr) {
      const auto next = ranges_.lower_bound(at);
      const uint64_t gap_end = next == ranges_.end() ? end : std::min(end, next->first);
      WHARF_RETURN_IF_ERROR(MakePages(at, gap_end - at, there));
      range = &ranges_.at(at);
    } else if (!there || GiveBlocks(*range, 0, range->states.size(), State::kThere) != CudaError::kSuccess) {
      return ResourceExhausted("no managed memory at {:#x}: it is in use", at);
    }
    range->allocations.push_back(allocation);
    at = range->address + range->bytes;
  }
  return absl::OkStatus();
}

absl::Status ManagedMemory::OpenFile() {
  if (file_ >= 0) return absl::OkStatus();
  file_ = memfd_create("wharf-managed", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, kFileBytes) != 0) return ErrnoStatus(errno, "managed memory");
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> ManagedMemory::MakeAlias(uint64_t device, uint64_t bytes) {
  void* const alias =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, static_cast<off_t>(device));
  if (alias == MAP_FAILED) return ErrnoStatus(errno, "managed memory");
  return static_cast<std::byte*>(alias);
}

ManagedMemory::Range& ManagedMemory::Keep(Range range, State state) {
  range.block = BlockFor(range.bytes);
  range.states.assign((range.bytes + range.block - 1) / range.block, state);
  range.accessible = state == State::kThere ? 0 : range.states.size();
  if (range.accessible != 0) accessible_.insert(range.address);
  used_.store(true, std::memory_order_release);
  const uint64_t address = range.address;
  return ranges_.emplace(address, std::move(range)).first->second;
}

absl::Status ManagedMemory::MakePages(uint64_t address, uint64_t bytes, bool there) {
  WHARF_RETURN_IF_ERROR(OpenFile());
  WHARF_ASSIGN_OR_RETURN(std::byte* const alias, MakeAlias(address, bytes));
  const int protection = there ? PROT_NONE : PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_SHARED | MAP_NORESERVE;
  const auto offset = static_cast<off_t>(address);
  const bool mapped = IsReserved(address, bytes) ? mmap(reinterpret_cast<void*>(address), bytes, protection,
                                                        kFlags | MAP_FIXED, file_, offset) != MAP_FAILED
                                                 : MapAt(address, bytes, protection, kFlags, file_, offset);
  if (!mapped) {
    const int why = errno;
    munmap(alias, bytes);
    return ResourceExhausted("no managed memory at {:#x}: {}", address, Message(ErrnoStatus(why, "mmap")));
  }
  Keep({.address = address, .bytes = bytes, .device = address, .alias = alias}, there ? State::kThere : State::kHere);
  return absl::OkStatus();
}

absl::Status ManagedMemory::Adopt(const Allocation& allocation, uint64_t device) {
  const uint64_t bytes = PageUp(allocation.size);
  absl::MutexLock lock(&mutex_);
  WHARF_RETURN_IF_ERROR(OpenFile());
  WHARF_ASSIGN_OR_RETURN(std::byte* const alias, MakeAlias(device, bytes));
  void* const pages = reinterpret_cast<void*>(allocation.address);
  std::memcpy(alias, pages, bytes);
  if (mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file_,
           static_cast<off_t>(device)) == MAP_FAILED) {
    const int why = errno;
    munmap(alias, bytes);
    return ErrnoStatus(why, "managed memory");
  }
  Keep({.address = allocation.address, .bytes = bytes, .device = device, .alias = alias}, State::kHere)
      .allocations.push_back(allocation);
  adopted_[device] = allocation.address;
  translates_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

void ManagedMemory::DropAlias(const Range& range) {
  munmap(range.alias, range.bytes);
  (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(range.device),
                  static_cast<off_t>(range.bytes));
}

void ManagedMemory::Unmap(const Range& range) {
  void* const pages = reinterpret_cast<void*>(range.address);
  // In one step: nothing else comes to lie there.
  if (!IsReserved(range.address, range.bytes) ||
      mmap(pages, range.bytes, PROT_NONE, kReservation | MAP_FIXED, -1, 0) == MAP_FAILED) {
    munmap(pages, range.bytes);
  }
  DropAlias(range);
}

ManagedMemory::Ranges::iterator ManagedMemory::RangeAt(uint64_t address, Kind kind) {
  const auto found = ranges_.find(address);
  return found != ranges_.end() && found->second.allocations.front().kind == kind ? found : ranges_.end();
}

uint64_t ManagedMemory::Forget(Ranges::iterator range) {
  const uint64_t device = range->second.device;
  accessible_.erase(range->first);
  adopted_.erase(device);
  ranges_.erase(range);
  used_.store(!ranges_.empty(), std::memory_order_release);
  return device;
}

std::optional<uint64_t> ManagedMemory::Remove(uint64_t address, Kind kind) {
  absl::MutexLock lock(&mutex_);
  const auto found = RangeAt(address, kind);
  if (found == ranges_.end()) return std::nullopt;
  Unmap(found->second);
  return Forget(found);
}

void ManagedMemory::RemoveVariable(uint64_t address) {
  absl::MutexLock lock(&mutex_);
  for (auto at = ranges_.begin(); at != ranges_.end();) {
    const auto range = at++;
    const size_t gone = std::erase_if(range->second.allocations, [address](const Allocation& allocation) {
      return allocation.kind == Kind::kVariable && allocation.address == address;
    });
    if (gone == 0 || !range->second.allocations.empty()) continue;
    Unmap(range->second);
    Forget(range);
  }
}

std::optional<uint64_t> ManagedMemory::Return(uint64_t address, Kind kind) {
  absl::MutexLock lock(&mutex_);
  const auto found = RangeAt(address, kind);
  if (found == ranges_.end()) return std::nullopt;
  Range& range = found->second;
  (void)FetchBlocks(range, 0, range.states.size());
  void* const own = mmap(nullptr, range.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return std::nullopt;
  std::memcpy(own, range.alias, range.bytes);
  if (mremap(own, range.bytes, range.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) == MAP_FAILED) return std::nullopt;
  DropAlias(range);
  return Forget(found);
}

void ManagedMemory::Clear() {
  absl::MutexLock lock(&mutex_);
  for (const auto& [address, range] : ranges_) Unmap(range);
  ranges_.clear();
  accessible_.clear();
  adopted_.clear();
  if (reserved_bytes_ != 0) munmap(reinterpret_cast<void*>(reserved_), reserved_bytes_);
  reserved_bytes_ = 0;
  used_.store(false, std::memory_order_release);
}

uint64_t ManagedMemory::DeviceAddress(uint64_t address) const {
  if (!translates_.load(std::memory_order_acquire)) return address;
  absl::MutexLock lock(&mutex_);
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return address;
  const Range& range = std::prev(next)->second;
  return address - range.address < range.bytes ? range.device + (address - range.address) : address;
}

ManagedMemory::Range* ManagedMemory::RangeOf(uint64_t address) {
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return nullptr;
  Range& range = std::prev(next)->second;
  return address - range.address < range.bytes ? &range : nullptr;
}

std::optional<ManagedMemory::Allocation> ManagedMemory::Find(uint64_t address) const {
  if (!used_.load(std::memory_order_acquire)) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  const auto next = ranges_.upper_bound(address);
  if (next == ranges_.begin()) return std::nullopt;
  for (const Allocation& allocation : std::prev(next)->second.allocations) {
    if (address - allocation.address < allocation.size) return allocation;
  }
  return std::nullopt;
}

template <typename Body>
CudaError ManagedMemory::ForBlocks(uint64_t address, uint64_t size, Body&& body) {
  const uint64_t end = address + size;
  while (address < end) {
    Range* range = RangeOf(address);
    if (range == nullptr) {
      const auto next = ranges_.lower_bound(address);
      if (next == ranges_.end() || next->first >= end) break;
      range = &next->second;
      address = range->address;
    }
    const uint64_t stop = std::min(end, range->address + range->bytes);
    const CudaError error = body(*range, range->BlockOf(address), range->BlockOf(stop - 1) + 1);
    if (error != CudaError::kSuccess) return error;
    address = stop;
  }
  return CudaError::kSuccess;
}

template <typename Body>
CudaError ManagedMemory::ForRuns(const Range& range, uint64_t first, uint64_t end, Body&& body) {
  while (first < end) {
    uint64_t next = first + 1;
    while (next < end && range.states[next] == range.states[first]) ++next;
    const CudaError error = body(first, next);
    if (error != CudaError::kSuccess) return error;
    first = next;
  }
  return CudaError::kSuccess;
}

template <typename Body>
CudaError ManagedMemory::ForAllocations(const Range& range, uint64_t from, uint64_t to, Body&& body) {
  for (const Allocation& allocation : range.allocations) {
    const uint64_t begin = std::max(from, allocation.address);
    const uint64_t end = std::min(to, allocation.address + allocation.size);
    if (begin >= end) continue;
    const CudaError error = body(begin, end);
    if (error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

bool ManagedMemory::Enter(Range& range, uint64_t first, uint64_t end, State state) {
  const int access = state == State::kHere ? PROT_READ | PROT_WRITE : state == State::kBoth ? PROT_READ : PROT_NONE;
  const uint64_t start = range.StartOf(first);
  if (mprotect(reinterpret_cast<void*>(start), range.EndOf(end - 1) - start, access) != 0) return false;
  for (uint64_t i = first; i < end; ++i) {
    range.accessible +=
        static_cast<uint64_t>(state != State::kThere) - static_cast<uint64_t>(range.states[i] != State::kThere);
    range.states[i] = state;
  }
  if (range.accessible == 0) {
    accessible_.erase(range.address);
  } else {
    accessible_.insert(range.address);
  }
  return true;
}

// Pages that were never touched are holes of the file, and zero on both sides.
CudaError ManagedMemory::Upload(const Range& range, uint64_t from, uint64_t to) {
  const uint64_t shift = range.device - range.address;
  while (from < to) {
    const off_t data = lseek(file_, static_cast<off_t>(from + shift), SEEK_DATA);
    if (data < 0 || static_cast<uint64_t>(data) - shift >= to) return CudaError::kSuccess;
    const uint64_t start = static_cast<uint64_t>(data) - shift;
    const uint64_t end = std::min(to, static_cast<uint64_t>(lseek(file_, data, SEEK_HOLE)) - shift);
    const CudaError error = ForAllocations(range, start, end, [&](uint64_t begin, uint64_t stop) {
      return mover_.to_device(begin + shift, {range.alias + (begin - range.address), stop - begin});
    });
    if (error != CudaError::kSuccess) return error;
    from = end;
  }
  return CudaError::kSuccess;
}

// The program loses access first, so that nothing it writes meanwhile is lost.
CudaError ManagedMemory::GiveBlocks(Range& range, uint64_t first, uint64_t end, State then) {
  if (range.accessible == 0) return CudaError::kSuccess;
  return ForRuns(range, first, end, [&](uint64_t from, uint64_t to) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const State before = range.states[from];
    if (before >= then) return CudaError::kSuccess;
    if (!Enter(range, from, to, then)) return CudaError::kOutOfMemory;
    if (before != State::kHere) return CudaError::kSuccess;
    return Upload(range, range.StartOf(from), range.EndOf(to - 1));
  });
}

CudaError ManagedMemory::Give() {
  if (!used_.load(std::memory_order_acquire)) return CudaError::kSuccess;
  absl::MutexLock lock(&mutex_);
  while (!accessible_.empty()) {
    Range& range = ranges_.at(*accessible_.begin());
    const CudaError error = GiveBlocks(range, 0, range.states.size(), State::kThere);
    if (error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

CudaError ManagedMemory::Give(uint64_t address, uint64_t size, bool device_writes) {
  if (!used_.load(std::memory_order_acquire)) return CudaError::kSuccess;
  absl::MutexLock lock(&mutex_);
  if (const auto next = adopted_.upper_bound(address); next != adopted_.begin()) {
    const auto& [device, host] = *std::prev(next);
    if (address - device < ranges_.at(host).bytes) address = host + (address - device);
  }
  const State then = device_writes ? State::kThere : State::kBoth;
  return ForBlocks(address, size, [&](Range& range, uint64_t first, uint64_t end) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return GiveBlocks(range, first, end, then);
  });
}

// By the alias: the program sees pages only once they are whole.
CudaError ManagedMemory::FetchBlocks(Range& range, uint64_t first, uint64_t end) {
  return ForRuns(range, first, end, [&](uint64_t from, uint64_t to) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (range.states[from] != State::kThere) return CudaError::kSuccess;
    const CudaError error =
        ForAllocations(range, range.StartOf(from), range.EndOf(to - 1), [&](uint64_t begin, uint64_t stop) {
          return mover_.to_host(begin - range.address + range.device,
                                {range.alias + (begin - range.address), stop - begin});
        });
    if (error != CudaError::kSuccess) return error;
    return Enter(range, from, to, State::kBoth) ? CudaError::kSuccess : CudaError::kOutOfMemory;
  });
}

CudaError ManagedMemory::Fetch(uint64_t address, uint64_t size) {
  if (!used_.load(std::memory_order_acquire)) return CudaError::kSuccess;
  absl::MutexLock lock(&mutex_);
  return ForBlocks(address, size, [&](Range& range, uint64_t first, uint64_t end) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return FetchBlocks(range, first, end);
  });
}

bool ManagedMemory::OnAccess(uint64_t address, bool write, CudaError* why) {
  *why = CudaError::kSuccess;
  if (!used_.load(std::memory_order_acquire)) return false;
  absl::MutexLock lock(&mutex_);
  Range* const range = RangeOf(address);
  if (range == nullptr) return false;
  const uint64_t block = range->BlockOf(address);
  if (range->states[block] == State::kBoth) write = true;  // what else
  if (range->states[block] == State::kThere) {
    range->ahead =
        block == range->next ? std::min(2 * range->ahead, std::max<uint64_t>(1, kMostAhead / range->block)) : 1;
    const uint64_t end = std::min<uint64_t>(range->states.size(), block + range->ahead);
    range->next = end;
    *why = FetchBlocks(*range, block, end);
    if (*why != CudaError::kSuccess) return false;
  }
  if (!write || range->states[block] == State::kHere || Enter(*range, block, block + 1, State::kHere)) return true;
  *why = CudaError::kOutOfMemory;
  return false;
}

}  // namespace wharf::offload
