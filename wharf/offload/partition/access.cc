#include "wharf/offload/partition/access.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "wharf/device/element_type.h"
#include "wharf/offload/copy_extent.h"
#include "wharf/offload/wire_codec.h"

namespace wharf::offload {
namespace {

// A 64-bit parameter may be a number that only takes part in an address.
constexpr uint64_t kSmallestPointer = uint64_t{1} << 32;
constexpr uint64_t kLargestScalar = 16;  // a complex double
constexpr uint64_t kMaxElements = uint64_t{1} << 48;
constexpr size_t kMaxCovered = size_t{1} << 16;

// From the first to behind the last byte of a box; false if that overflows.
bool SpanOf(const device::Region& box, const device::Extent& extent, uint64_t* span) {
  uint64_t rows = 0, slices = 0;
  return !__builtin_mul_overflow(extent.height - 1, box.row_pitch, &rows) &&
         !__builtin_mul_overflow(extent.depth - 1, box.slice_pitch, &slices) &&
         !__builtin_add_overflow(rows, slices, span) && !__builtin_add_overflow(*span, extent.width, span);
}

}  // namespace

// --- objects ---

void AccessFinder::AddAllocation(device::DeviceAddress address, uint64_t size, bool on_both) {
  allocations_[address] = {size, on_both};
}

bool AccessFinder::Overlaps(const MemoryRange& range) const {
  const auto next = allocations_.lower_bound(range.address);
  if (next != allocations_.end() && next->first - range.address < range.size) return true;
  return Holding(range.address) != allocations_.end();
}

MemoryRange AccessFinder::RemoveAllocation(device::DeviceAddress address) {
  const auto found = allocations_.find(address);
  if (found == allocations_.end()) return {};
  const MemoryRange range{address, found->second.size};
  allocations_.erase(found);
  return range;
}

bool AccessFinder::OnBoth(device::DeviceAddress address) const {
  const auto found = Holding(address);
  return found != allocations_.end() && found->second.on_both;
}

MemoryRange AccessFinder::AllocationOf(uint64_t size) const {
  const auto found = std::find_if(allocations_.begin(), allocations_.end(),
                                  [size](const auto& entry) { return entry.second.size >= size; });
  return found == allocations_.end() ? MemoryRange{} : MemoryRange{found->first, found->second.size};
}

void AccessFinder::AddFunction(device::FunctionId function, device::ModuleId module, device::Footprint footprint) {
  functions_[function] = {module, std::move(footprint)};
}

void AccessFinder::RemoveModule(device::ModuleId module) {
  std::erase_if(functions_, [module](const auto& entry) { return entry.second.module == module; });
  changed_modules_.erase(module);
}

AccessFinder::Allocations::const_iterator AccessFinder::Holding(device::DeviceAddress address) const {
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return allocations_.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.size ? found : allocations_.end();
}

// --- operations ---

void AccessFinder::AddWhole(device::DeviceAddress address, bool written, Access& access) const {
  const auto found = Holding(address);
  if (found == allocations_.end()) {
    access.only_remote = true;
    return;
  }
  const auto touches_next = [&](Allocations::const_iterator it) {
    const auto next = std::next(it);
    return next != allocations_.end() && it->first + it->second.size == next->first;
  };
  auto part = found;
  while (part != allocations_.begin() && touches_next(std::prev(part))) --part;
  for (bool more = true; more; ++part) {
    more = touches_next(part);
    access.only_remote |= !part->second.on_both;
    const MemoryRange range{part->first, part->second.size};
    access.named.push_back(range);
    access.needs.push_back(range);
    if (written) access.writes.push_back(range);
  }
}

void AccessFinder::AddBox(const device::Region& box, const device::Extent& extent, bool written, Access& access) const {
  const absl::StatusOr<uint64_t> bytes = ExtentBytes(extent);
  uint64_t span = 0;
  const auto found = Holding(box.address);
  if (!bytes.ok() || *bytes == 0 || found == allocations_.end() || !SpanOf(box, extent, &span) ||
      span > found->second.size - (box.address - found->first)) {
    access.only_remote = true;
    // Allocations may lie side by side.
    if (found != allocations_.end()) access.anything = true;
    return;
  }
  access.only_remote |= !found->second.on_both;
  const MemoryRange range{box.address, span};
  access.named.push_back(range);
  if (written) access.writes.push_back(range);
  if (!written || span != *bytes) access.needs.push_back(range);
}

Access AccessFinder::Find(const CopyToDevice& op) const {
  Access access;
  AddBox(op.to, op.extent, true, access);
  return access;
}

Access AccessFinder::Find(const CopyToHost& op) const {
  Access access;
  AddBox(op.from, op.extent, false, access);
  return access;
}

Access AccessFinder::Find(const CopyOnDevice& op) const {
  Access access;
  AddBox(op.from, op.extent, false, access);
  AddBox(op.to, op.extent, true, access);
  return access;
}

Access AccessFinder::Find(const Fill& op) const {
  Access access;
  AddBox(op.to, op.extent, true, access);
  return access;
}

// False if a parameter may point to what is no allocation.
bool AccessFinder::AddParameters(const Launch& op, const std::vector<uint32_t>& offsets, bool written,
                                 Access& access) const {
  for (const uint32_t offset : offsets) {
    uint64_t value = 0;
    if (op.parameters.size() < sizeof(value) || offset > op.parameters.size() - sizeof(value)) return false;
    std::memcpy(&value, op.parameters.data() + offset, sizeof(value));
    if (Holding(value) != allocations_.end()) {
      AddWhole(value, written, access);
    } else if (value >= kSmallestPointer) {
      return false;
    }
  }
  return true;
}

bool AccessFinder::ReadsChangedVariables(const Function& function) const {
  if (function.footprint.read_variables.empty()) return false;
  if (changed_modules_.contains(function.module)) return true;
  return std::any_of(function.footprint.read_variables.begin(), function.footprint.read_variables.end(),
                     [this](const device::Symbol& variable) { return changed_variables_.contains(variable.address); });
}

Access AccessFinder::Find(const Launch& op) const {
  Access access;
  const auto function = functions_.find(op.function);
  const bool analysed = function != functions_.end() && function->second.Analysed();
  if (!analysed || !AddParameters(op, function->second.footprint.read_parameters, false, access) ||
      !AddParameters(op, function->second.footprint.written_parameters, true, access)) {
    access.only_remote = access.anything = true;
    return access;
  }
  access.only_remote |= op.config.cooperative || !function->second.footprint.written_variables.empty() ||
                        ReadsChangedVariables(function->second);
  if (const std::vector<MemoryRange>* const written = Covered(op)) {
    // What is not written keeps its contents on either side.
    Access read;
    AddParameters(op, function->second.footprint.read_parameters, false, read);
    access.needs = std::move(read.needs);
    access.writes = *written;
  }
  return access;
}

namespace {

std::string CoverageKey(const Launch& op) {
  Launch anywhere = op;
  anywhere.stream = 0;
  const std::vector<std::byte> bytes = Encode(anywhere);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

const std::vector<MemoryRange>* AccessFinder::Covered(const Launch& op) const {
  if (covered_.empty()) return nullptr;
  const auto found = covered_.find(CoverageKey(op));
  return found == covered_.end() ? nullptr : &found->second;
}

std::vector<MemoryRange> AccessFinder::ToBeCovered(const Launch& op) const {
  const auto function = functions_.find(op.function);
  if (function == functions_.end() || covered_.size() >= kMaxCovered) return {};
  const device::Footprint& footprint = function->second.footprint;
  Access read, written;
  if (!footprint.oblivious || !footprint.written_variables.empty() || Covered(op) != nullptr ||
      !AddParameters(op, footprint.read_parameters, false, read) ||
      !AddParameters(op, footprint.written_parameters, true, written)) {
    return {};
  }
  for (const MemoryRange& range : written.writes) {
    const bool is_read = std::any_of(read.needs.begin(), read.needs.end(),
                                     [&](const MemoryRange& other) { return other.address == range.address; });
    if (is_read) return {};
  }
  return written.writes;
}

void AccessFinder::NoteCovered(const Launch& op, std::vector<MemoryRange> written) {
  covered_[CoverageKey(op)] = std::move(written);
}

void AccessFinder::NoteRun(const Launch& op) {
  const auto function = functions_.find(op.function);
  if (function == functions_.end()) return;
  if (!function->second.Analysed()) changed_modules_.insert(function->second.module);
  for (const device::Symbol& variable : function->second.footprint.written_variables) {
    changed_variables_.insert(variable.address);
  }
}

// A result without gaps is known to the byte, and C is not read if beta is zero.
void AccessFinder::AddGemmResult(const device::Gemm& gemm, Access& access) const {
  const device::DeviceAddress result = gemm.d != 0 ? gemm.d : gemm.c;
  const int64_t leading = gemm.d != 0 ? gemm.ldd : gemm.ldc, stride = gemm.d != 0 ? gemm.stride_d : gemm.stride_c;
  uint64_t elements = 0;
  const bool packed = gemm.m > 0 && gemm.n > 0 && gemm.batch > 0 && leading == gemm.m &&
                      (gemm.batch == 1 || stride == gemm.m * gemm.n) &&
                      !__builtin_mul_overflow(gemm.m, gemm.n, &elements) &&
                      !__builtin_mul_overflow(elements, gemm.batch, &elements);
  const bool reads_c = gemm.scalars_on_device || gemm.beta[0] != 0 || gemm.beta[1] != 0;
  if (reads_c || !packed) AddWhole(gemm.c, false, access);
  if (!packed || elements > kMaxElements) return AddWhole(result, true, access);
  const uint64_t bytes = elements * device::ElementBytes(gemm.type_c);
  AddBox({result, bytes, bytes}, {bytes, 1, 1}, true, access);
}

Access AccessFinder::Find(const RunGemm& op) const {
  Access access;
  const device::Gemm& gemm = op.gemm;
  if (gemm.pointer_arrays) {
    access.only_remote = access.anything = true;
    return access;
  }
  AddWhole(gemm.a, false, access);
  AddWhole(gemm.b, false, access);
  AddGemmResult(gemm, access);
  if (gemm.bias != 0) AddWhole(gemm.bias, false, access);
  if (gemm.scalars_on_device) {
    for (const device::DeviceAddress scalar : {gemm.alpha_address, gemm.beta_address}) {
      AddBox({scalar, 0, 0}, {kLargestScalar, 1, 1}, false, access);
    }
  }
  // What lies elsewhere may be a variable, and a result next to it cannot be told from it.
  access.anything |= access.only_remote;
  return access;
}

Access AccessFinder::FindPrimitive(const device::Primitive& primitive) const {
  Access access;
  const auto anywhere = [](device::DeviceAddress, uint64_t) { return true; };
  if (!device::CheckPrimitive(primitive, anywhere).ok()) {
    access.only_remote = access.anything = true;  // the server says what is wrong
    return access;
  }
  for (const device::PrimitiveOperand& operand : device::OperandsOf(primitive)) {
    const device::Region box{operand.address, operand.bytes, operand.bytes};
    if (operand.read) AddBox(box, {operand.bytes, 1, 1}, false, access);
    if (operand.written) AddBox(box, {operand.bytes, 1, 1}, true, access);
  }
  access.anything |= access.only_remote;
  access.only_remote |= std::holds_alternative<device::DnnGraph>(primitive);  // the vendor's library is there
  return access;
}

}  // namespace wharf::offload
