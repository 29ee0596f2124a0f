#include "wharf/offload/write_set.h"

#include <cstring>

#include "wharf/offload/copy_extent.h"

namespace wharf::offload {
namespace {

using Ranges = std::optional<std::vector<MemoryRange>>;

// A 64-bit parameter may be a number that only takes part in an address.
constexpr uint64_t kSmallestPointer = uint64_t{1} << 32;

// The allocation that holds `address`.
std::optional<MemoryRange> AllocationOf(device::DeviceAddress address, const Mappings& mappings) {
  const auto after = mappings.upper_bound(address);
  if (after == mappings.begin()) return std::nullopt;
  const auto& [start, size] = *std::prev(after);
  if (address - start >= size) return std::nullopt;
  return MemoryRange{start, size};
}

// From the first to behind the last byte of a box, if that lies in one allocation.
Ranges BoxRange(const device::Region& to, const device::Extent& extent, const Mappings& mappings) {
  if (!ExtentBytes(extent).ok() || extent.height == 0 || extent.depth == 0) return std::nullopt;
  const auto allocation = AllocationOf(to.address, mappings);
  if (!allocation) return std::nullopt;
  uint64_t rows = 0, slices = 0, span = 0;
  if (__builtin_mul_overflow(extent.height - 1, to.row_pitch, &rows) ||
      __builtin_mul_overflow(extent.depth - 1, to.slice_pitch, &slices) ||
      __builtin_add_overflow(rows, slices, &span) || __builtin_add_overflow(span, extent.width, &span)) {
    return std::nullopt;
  }
  if (span > allocation->size - (to.address - allocation->address)) return std::nullopt;
  return std::vector<MemoryRange>{{to.address, span}};
}

Ranges LaunchRanges(const Launch& op, device::Device& device, const Mappings& mappings) {
  const absl::StatusOr<device::Footprint> footprint = device.FootprintOf(op.function);
  if (!footprint.ok() || !footprint->oblivious) return std::nullopt;
  std::vector<MemoryRange> ranges;
  for (const uint32_t offset : footprint->written_parameters) {
    uint64_t value = 0;
    if (op.parameters.size() < sizeof(value) || offset > op.parameters.size() - sizeof(value)) return std::nullopt;
    std::memcpy(&value, op.parameters.data() + offset, sizeof(value));
    if (const auto allocation = AllocationOf(value, mappings)) {
      ranges.push_back(*allocation);
    } else if (value >= kSmallestPointer) {
      return std::nullopt;  // perhaps a module's variable, whose extent nobody told us
    }
  }
  for (const device::Symbol& variable : footprint->written_variables) {
    ranges.push_back({variable.address, variable.size});
  }
  return ranges;
}

Ranges GemmRanges(const device::Gemm& gemm, const Mappings& mappings) {
  if (gemm.pointer_arrays) return std::nullopt;
  const auto result = AllocationOf(gemm.d != 0 ? gemm.d : gemm.c, mappings);
  if (!result) return std::nullopt;
  return std::vector<MemoryRange>{*result};
}

struct Writes {
  device::Device& device;
  const Mappings& mappings;

  Ranges operator()(const CopyToDevice& op) const { return BoxRange(op.to, op.extent, mappings); }
  Ranges operator()(const CopyOnDevice& op) const { return BoxRange(op.to, op.extent, mappings); }
  Ranges operator()(const Fill& op) const { return BoxRange(op.to, op.extent, mappings); }
  Ranges operator()(const Launch& op) const { return LaunchRanges(op, device, mappings); }
  Ranges operator()(const RunGemm& op) const { return GemmRanges(op.gemm, mappings); }
  Ranges operator()(const CopyToHost&) const { return std::vector<MemoryRange>(); }
  Ranges operator()(const SynchronizeStream&) const { return std::vector<MemoryRange>(); }
  Ranges operator()(const SynchronizeDevice&) const { return std::vector<MemoryRange>(); }
  Ranges operator()(const SynchronizeEvent&) const { return std::vector<MemoryRange>(); }
  // What is not memory (events, streams, allocations), or needs data or an answer of the moment.
  template <typename Op>
  Ranges operator()(const Op&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<std::vector<MemoryRange>> WritesOf(const StepOp& op, device::Device& device, const Mappings& mappings) {
  return std::visit(Writes{device, mappings}, op);
}

}  // namespace wharf::offload
