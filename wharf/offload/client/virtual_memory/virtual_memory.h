// VirtualMemory: CUDA's virtual memory management (cuMemAddressReserve, cuMemCreate, cuMemMap, …), as far as one device
// goes. Reservations and physical allocations are the client's alone; the server sees memory that is mapped at an
// address, as for any allocation, once the program has asked for access to it.
//
// A physical allocation is counted against the quota when it is made, and its content lasts as long as it does. When it
// is unmapped, its memory stays where it was until something else is to be mapped there: most programs release what
// they unmap, and then nothing has moved. Only if they map it elsewhere is it copied. So no memory is ever at two
// addresses, which is what replay's knowledge of who writes what rests on: a second mapping is not supported.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "wharf/base/status.h"
#include "wharf/device/cuda_error.h"
#include "wharf/offload/client/address_allocator.h"

namespace wharf::offload {

// Not thread-safe. Every number may come from a program that makes no sense: what cannot be is kInvalidValue.
class VirtualMemory {
 public:
  using CudaError = device::CudaError;
  using Range = AddressAllocator::Range;

  // What is asked of the server, in order.
  struct Server {
    std::function<CudaError(Range)> map;
    std::function<CudaError(Range)> unmap;
    // Copies a whole mapping to another of the same size, after all work so far and before all later work.
    std::function<CudaError(uint64_t to, Range from)> move;
  };

  // `granularity`: a multiple of the arena's, and a power of two. The allocator outlives this.
  VirtualMemory(AddressAllocator* addresses, uint64_t granularity, Server server);

  // What sizes and addresses are multiples of.
  uint64_t Granularity() const { return granularity_; }

  CudaError Reserve(uint64_t size, uint64_t alignment, uint64_t wish, uint64_t* address);
  // Of a whole reservation, in which nothing is mapped.
  CudaError EndReservation(uint64_t address, uint64_t size);

  CudaError Create(uint64_t size, uint64_t* handle);
  // Gives one reference back. The memory goes when it has none and is not mapped.
  CudaError Release(uint64_t handle);
  // Takes another reference to what is mapped at an address.
  CudaError Retain(uint64_t address, uint64_t* handle);
  bool Exists(uint64_t handle) const;

  // Maps all of it. kNotSupported if it is mapped already, for a part, or for more than there is.
  CudaError Map(uint64_t address, uint64_t size, uint64_t offset, uint64_t handle);
  // All of the range, which is of one reservation, that is mapped. kInvalidValue if a mapping goes on beyond it.
  CudaError Unmap(uint64_t address, uint64_t size);
  // Gives access to them.
  CudaError Open(uint64_t address, uint64_t size);
  // Whether the mapping that holds `address` may be accessed; none if there is no mapping.
  std::optional<bool> IsOpen(uint64_t address) const;
  // The mapping that holds `address`, with those that touch it and may be accessed, or not, like it: what programs and
  // kernels take for one allocation.
  std::optional<Range> Find(uint64_t address) const;

 private:
  struct Physical {
    uint64_t size = 0, references = 1;
    uint64_t mapped_at = 0;  // by the program; 0: not
    bool open = false;       // and may be accessed
    uint64_t memory = 0;     // where the server has it; 0: not yet
    bool hidden = false;     // in a reservation of our own
  };
  using Allocations = std::map<uint64_t, Physical>;

  using Places = std::map<uint64_t, uint64_t>;  // address -> handle
  Places::const_iterator MappingAt(uint64_t address) const;
  bool IsWhole(uint64_t address, uint64_t size) const;
  // Calls `body` for each mapping of a range that consists of whole ones; kInvalidValue if it does not.
  template <typename Body>
  CudaError ForMappings(uint64_t address, uint64_t size, Body&& body);
  // The reservation that holds all of the range.
  bool IsReserved(uint64_t address, uint64_t size) const;
  bool Overlaps(uint64_t address, uint64_t size) const;
  // Moves memory that only waits there to be used again.
  CudaError Vacate(uint64_t address, uint64_t size);
  CudaError MoveTo(Physical& physical, uint64_t address);
  CudaError FreeIfUnused(Allocations::iterator physical);

  AddressAllocator& addresses_;
  const uint64_t granularity_;
  const Server server_;
  uint64_t next_handle_ = 1;
  std::map<uint64_t, uint64_t> reservations_;  // address -> size
  Allocations allocations_;                    // by handle
  Places mappings_;
  Places memories_;  // where the server has memory
};

}  // namespace wharf::offload
