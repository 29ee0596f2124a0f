#include "wharf/offload/replay/write_set.h"

#include <cstring>
#include <utility>

#include "wharf/offload/copy_extent.h"

namespace wharf::offload {
namespace {

using Result = std::optional<WriteSet>;

// A 64-bit parameter may be a number that only takes part in an address.
constexpr uint64_t kSmallestPointer = uint64_t{1} << 32;

// The allocation that holds `address`. Mappings that touch are parts of one: what a program put together itself, of
// which a kernel sees no seams.
std::optional<MemoryRange> AllocationOf(device::DeviceAddress address, const Mappings& mappings) {
  auto after = mappings.upper_bound(address);
  if (after == mappings.begin()) return std::nullopt;
  uint64_t start = std::prev(after)->first, size = std::prev(after)->second;
  if (address - start >= size) return std::nullopt;
  for (auto before = std::prev(after); before != mappings.begin();) {
    --before;
    if (before->first + before->second != start) break;
    start = before->first;
    size += before->second;
  }
  for (; after != mappings.end() && after->first == start + size; ++after) size += after->second;
  return MemoryRange{start, size};
}

// From the first to behind the last byte of a box, if that lies in one allocation.
Result BoxWrites(const device::Region& to, const device::Extent& extent, const Mappings& mappings) {
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
  return WriteSet{{{to.address, span}}, std::nullopt};
}

uint64_t WordAt(const std::vector<std::byte>& parameters, uint32_t offset) {
  uint64_t value = 0;
  if (parameters.size() >= sizeof(value) && offset <= parameters.size() - sizeof(value)) {
    std::memcpy(&value, parameters.data() + offset, sizeof(value));
  }
  return value;
}

// The allocations these parameters point into; nullopt if one may point elsewhere: to a module's variable, say, whose
// extent nobody told us.
std::optional<std::vector<std::pair<uint32_t, MemoryRange>>> Pointees(const std::vector<uint32_t>& offsets,
                                                                      const Launch& op, const Mappings& mappings) {
  std::vector<std::pair<uint32_t, MemoryRange>> pointees;
  for (const uint32_t offset : offsets) {
    const uint64_t value = WordAt(op.parameters, offset);
    if (const auto allocation = AllocationOf(value, mappings)) {
      pointees.emplace_back(offset, *allocation);
    } else if (value >= kSmallestPointer) {
      return std::nullopt;
    }
  }
  return pointees;
}

// A cooperative launch's blocks wait for each other: one that was predicted wrongly might not end.
Result LaunchWrites(const Launch& op, device::Device& device, const Mappings& mappings) {
  if (op.config.cooperative) return std::nullopt;
  const absl::StatusOr<device::Footprint> footprint = device.FootprintOf(op.function);
  if (!footprint.ok() || !(footprint->oblivious || footprint->guardable)) return std::nullopt;
  const auto written = Pointees(footprint->written_parameters, op, mappings);
  if (!written) return std::nullopt;
  WriteSet writes;
  for (const auto& [offset, allocation] : *written) writes.ranges.push_back(allocation);
  for (const device::Symbol& variable : footprint->written_variables) {
    writes.ranges.push_back({variable.address, variable.size});
  }
  if (footprint->oblivious) return writes;
  const auto read = Pointees(footprint->read_parameters, op, mappings);
  if (!read) return std::nullopt;
  std::map<uint32_t, MemoryRange> touched(written->begin(), written->end());
  touched.insert(read->begin(), read->end());
  device::Guard& guard = writes.guard.emplace();
  for (const auto& [offset, range] : touched) guard.ranges.push_back({offset, range.address, range.size});
  return writes;
}

Result GemmWrites(const device::Gemm& gemm, const Mappings& mappings) {
  if (gemm.pointer_arrays) return std::nullopt;
  const auto result = AllocationOf(gemm.d != 0 ? gemm.d : gemm.c, mappings);
  if (!result) return std::nullopt;
  return WriteSet{{*result}, std::nullopt};
}

// The result to the byte, if it lies in one allocation.
Result PrimitiveWrites(const device::Primitive& primitive, const Mappings& mappings) {
  const auto anywhere = [](device::DeviceAddress, uint64_t) { return true; };
  if (!device::CheckPrimitive(primitive, anywhere).ok()) return std::nullopt;
  WriteSet writes;
  for (const device::PrimitiveOperand& operand : device::OperandsOf(primitive)) {
    const auto allocation = AllocationOf(operand.address, mappings);
    if (!allocation || operand.bytes > allocation->size - (operand.address - allocation->address)) return std::nullopt;
    if (operand.written) writes.ranges.push_back({operand.address, operand.bytes});
  }
  return writes;
}

struct Writes {
  device::Device& device;
  const Mappings& mappings;

  Result operator()(const CopyToDevice& op) const { return BoxWrites(op.to, op.extent, mappings); }
  Result operator()(const CopyOnDevice& op) const { return BoxWrites(op.to, op.extent, mappings); }
  Result operator()(const Fill& op) const { return BoxWrites(op.to, op.extent, mappings); }
  Result operator()(const Launch& op) const { return LaunchWrites(op, device, mappings); }
  Result operator()(const RunGemm& op) const { return GemmWrites(op.gemm, mappings); }
  template <RunsPrimitive Op>
  Result operator()(const Op& op) const {
    return PrimitiveWrites(op.primitive, mappings);
  }
  Result operator()(const CopyToHost&) const { return WriteSet(); }
  Result operator()(const SynchronizeStream&) const { return WriteSet(); }
  Result operator()(const SynchronizeDevice&) const { return WriteSet(); }
  Result operator()(const SynchronizeEvent&) const { return WriteSet(); }
  // What is not memory (events, streams, allocations), or needs data or an answer of the moment.
  template <typename Op>
  Result operator()(const Op&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<WriteSet> WritesOf(const StepOp& op, device::Device& device, const Mappings& mappings) {
  return std::visit(Writes{device, mappings}, op);
}

}  // namespace wharf::offload
