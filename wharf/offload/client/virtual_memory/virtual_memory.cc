#include "wharf/offload/client/virtual_memory/virtual_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace wharf::offload {
namespace {

using device::CudaError;

// Whether [a, a + size) meets an entry of `places` (address -> handle), whose sizes `size_of` tells.
template <typename SizeOf>
std::map<uint64_t, uint64_t>::const_iterator FirstIn(const std::map<uint64_t, uint64_t>& places, uint64_t address,
                                                     uint64_t size, const SizeOf& size_of) {
  auto it = places.upper_bound(address);
  if (it != places.begin() && address - std::prev(it)->first < size_of(std::prev(it)->second)) return std::prev(it);
  return it != places.end() && it->first - address < size ? it : places.end();
}

}  // namespace

VirtualMemory::VirtualMemory(AddressAllocator* addresses, uint64_t granularity, Server server)
    : addresses_(*addresses), granularity_(granularity), server_(std::move(server)) {}

bool VirtualMemory::IsWhole(uint64_t address, uint64_t size) const {
  uint64_t end = 0;
  return size != 0 && address % granularity_ == 0 && size % granularity_ == 0 &&
         !__builtin_add_overflow(address, size, &end);
}

bool VirtualMemory::IsReserved(uint64_t address, uint64_t size) const {
  const auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  return address - start < bytes && size <= bytes - (address - start);
}

bool VirtualMemory::Overlaps(uint64_t address, uint64_t size) const {
  return FirstIn(mappings_, address, size, [&](uint64_t handle) { return allocations_.at(handle).size; }) !=
         mappings_.end();
}

CudaError VirtualMemory::Reserve(uint64_t size, uint64_t alignment, uint64_t wish, uint64_t* address) {
  const bool power = (alignment & (alignment - 1)) == 0;
  if (size == 0 || size % granularity_ != 0 || !power) return CudaError::kInvalidValue;
  const auto reserved = addresses_.Reserve(size, std::max(alignment, granularity_), wish);
  if (!reserved.ok()) return device::CudaErrorOf(reserved.status());
  reservations_.emplace(*reserved, size);
  *address = *reserved;
  return CudaError::kSuccess;
}

CudaError VirtualMemory::EndReservation(uint64_t address, uint64_t size) {
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second != size || Overlaps(address, size)) {
    return CudaError::kInvalidValue;
  }
  const CudaError error = Vacate(address, size);
  if (error != CudaError::kSuccess) return error;
  reservations_.erase(reservation);
  addresses_.EndReservation(address, size);
  return CudaError::kSuccess;
}

CudaError VirtualMemory::Create(uint64_t size, uint64_t* handle) {
  if (size == 0 || size % granularity_ != 0) return CudaError::kInvalidValue;
  if (const absl::Status charged = addresses_.Charge(size); !charged.ok()) return device::CudaErrorOf(charged);
  allocations_[next_handle_].size = size;
  *handle = next_handle_++;
  return CudaError::kSuccess;
}

bool VirtualMemory::Exists(uint64_t handle) const {
  const auto found = allocations_.find(handle);
  return found != allocations_.end() && found->second.references != 0;
}

CudaError VirtualMemory::Release(uint64_t handle) {
  const auto found = allocations_.find(handle);
  if (found == allocations_.end() || found->second.references == 0) return CudaError::kInvalidValue;
  --found->second.references;
  return FreeIfUnused(found);
}

CudaError VirtualMemory::FreeIfUnused(Allocations::iterator physical) {
  const auto [size, references, mapped_at, open, memory, hidden] = physical->second;
  if (references != 0 || mapped_at != 0) return CudaError::kSuccess;
  allocations_.erase(physical);
  addresses_.Refund(size);
  if (memory == 0) return CudaError::kSuccess;
  memories_.erase(memory);
  if (hidden) addresses_.EndReservation(memory, size);
  return server_.unmap({memory, size});
}

CudaError VirtualMemory::Retain(uint64_t address, uint64_t* handle) {
  const auto mapping = MappingAt(address);
  if (mapping == mappings_.end()) return CudaError::kInvalidValue;
  *handle = mapping->second;
  ++allocations_.at(*handle).references;
  return CudaError::kSuccess;
}

CudaError VirtualMemory::Map(uint64_t address, uint64_t size, uint64_t offset, uint64_t handle) {
  if (!Exists(handle)) return CudaError::kInvalidValue;
  Physical& physical = allocations_.at(handle);
  if (size % granularity_ == 0 && size > physical.size) return CudaError::kNotSupported;
  if (!IsWhole(address, size)) return CudaError::kInvalidValue;
  if (offset % granularity_ != 0) return CudaError::kInvalidValue;
  if (offset > physical.size || size > physical.size - offset) return CudaError::kNotSupported;
  if (!IsReserved(address, size) || Overlaps(address, size)) return CudaError::kInvalidValue;
  if (physical.mapped_at != 0 || size != physical.size) return CudaError::kNotSupported;
  CudaError error = CudaError::kSuccess;
  if (physical.memory != address) {
    error = Vacate(address, size);
    if (error == CudaError::kSuccess && physical.memory != 0) error = MoveTo(physical, address);
  }
  if (error != CudaError::kSuccess) return error;
  physical.mapped_at = address;
  physical.open = false;
  mappings_[address] = handle;
  return CudaError::kSuccess;
}

// Its own memory may be among what is in the way: then it moves twice, which is rare and right.
CudaError VirtualMemory::Vacate(uint64_t address, uint64_t size) {
  const auto size_of = [&](uint64_t handle) { return allocations_.at(handle).size; };
  for (;;) {
    const auto found = FirstIn(memories_, address, size, size_of);
    if (found == memories_.end()) return CudaError::kSuccess;
    Physical& physical = allocations_.at(found->second);
    const auto hidden = addresses_.Reserve(physical.size, granularity_, 0);
    if (!hidden.ok()) return device::CudaErrorOf(hidden.status());
    const CudaError error = MoveTo(physical, *hidden);
    if (error != CudaError::kSuccess) {
      addresses_.EndReservation(*hidden, physical.size);
      return error;
    }
    physical.hidden = true;
  }
}

// While it is copied it is there twice.
CudaError VirtualMemory::MoveTo(Physical& physical, uint64_t address) {
  if (const absl::Status charged = addresses_.Charge(physical.size); !charged.ok()) {
    return device::CudaErrorOf(charged);
  }
  const Range old{physical.memory, physical.size};
  CudaError error = server_.map({address, physical.size});
  if (error == CudaError::kSuccess) error = server_.move(address, old);
  if (error == CudaError::kSuccess) error = server_.unmap(old);
  addresses_.Refund(physical.size);
  if (error != CudaError::kSuccess) return error;
  memories_[address] = memories_.at(old.address);
  memories_.erase(old.address);
  if (std::exchange(physical.hidden, false)) addresses_.EndReservation(old.address, old.size);
  physical.memory = address;
  return CudaError::kSuccess;
}

template <typename Body>
CudaError VirtualMemory::ForMappings(uint64_t address, uint64_t size, Body&& body) {
  if (!IsWhole(address, size)) return CudaError::kInvalidValue;
  const uint64_t end = address + size;
  uint64_t at = address;
  for (auto it = mappings_.find(address); at < end; ++it) {
    if (it == mappings_.end() || it->first != at) return CudaError::kInvalidValue;
    at += allocations_.at(it->second).size;
  }
  if (at != end) return CudaError::kInvalidValue;
  while (address < end) {
    const auto physical = allocations_.find(mappings_.at(address));
    address += physical->second.size;
    const CudaError error = body(physical);
    if (error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

CudaError VirtualMemory::Unmap(uint64_t address, uint64_t size) {
  if (!IsWhole(address, size) || !IsReserved(address, size)) return CudaError::kInvalidValue;
  const uint64_t end = address + size;
  const auto first = MappingAt(address), last = MappingAt(end - 1);
  const bool cut = (first != mappings_.end() && first->first != address) ||
                   (last != mappings_.end() && last->first + allocations_.at(last->second).size != end);
  if (cut) return CudaError::kInvalidValue;
  for (auto it = mappings_.lower_bound(address); it != mappings_.end() && it->first < end;) {
    const auto physical = allocations_.find(it->second);
    it = mappings_.erase(it);
    physical->second.mapped_at = 0;
    physical->second.open = false;
    if (const CudaError error = FreeIfUnused(physical); error != CudaError::kSuccess) return error;
  }
  return CudaError::kSuccess;
}

CudaError VirtualMemory::Open(uint64_t address, uint64_t size) {
  return ForMappings(address, size, [&](Allocations::iterator entry) {
    auto& [handle, physical] = *entry;
    if (physical.memory == 0) {
      const CudaError error = server_.map({physical.mapped_at, physical.size});
      if (error != CudaError::kSuccess) return error;
      physical.memory = physical.mapped_at;
      memories_[physical.memory] = handle;
    }
    physical.open = true;
    return CudaError::kSuccess;
  });
}

VirtualMemory::Places::const_iterator VirtualMemory::MappingAt(uint64_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  const auto found = std::prev(after);
  return address - found->first < allocations_.at(found->second).size ? found : mappings_.end();
}

std::optional<VirtualMemory::Range> VirtualMemory::Find(uint64_t address) const {
  auto first = MappingAt(address);
  if (first == mappings_.end()) return std::nullopt;
  const auto end_of = [&](Places::const_iterator it) { return it->first + allocations_.at(it->second).size; };
  const auto goes_on = [&](Places::const_iterator it, Places::const_iterator next) {
    return end_of(it) == next->first && allocations_.at(it->second).open == allocations_.at(next->second).open;
  };
  auto last = first;
  while (first != mappings_.begin() && goes_on(std::prev(first), first)) --first;
  while (std::next(last) != mappings_.end() && goes_on(last, std::next(last))) ++last;
  return Range{first->first, end_of(last) - first->first};
}

std::optional<bool> VirtualMemory::IsOpen(uint64_t address) const {
  const auto mapping = MappingAt(address);
  if (mapping == mappings_.end()) return std::nullopt;
  return allocations_.at(mapping->second).open;
}

}  // namespace wharf::offload
