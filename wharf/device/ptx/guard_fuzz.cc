// PTX from a hostile peer: a kernel that is guarded is a kernel, with its own parameters where they were, and none of
// its accesses to global memory goes unchecked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "wharf/device/ptx/footprint_flow.h"
#include "wharf/device/ptx/guard.h"
#include "wharf/device/ptx/kernel_fuzz.h"
#include "wharf/device/ptx/parser.h"

namespace {

using namespace wharf::device::ptx;

bool IsAccess(const Instruction& instruction) {
  const Effect effect = EffectOf(instruction);
  const bool accesses = effect == Effect::kLoad || effect == Effect::kStore || effect == Effect::kAtomic ||
                        effect == Effect::kReduction || effect == Effect::kCopyToShared;
  const Space space = SpaceOf(instruction);
  return accesses && (space == Space::kGlobal || space == Space::kGeneric);
}

// A register that the guard has put there.
bool IsOfGuard(const Body& body, uint32_t reg) { return body.registers.at(reg).name.starts_with("%wharf_guard_"); }

void CheckAccess(const Body& body, const Instruction& instruction) {
  Check(instruction.has_guard && !instruction.guard_negated && IsOfGuard(body, instruction.guard));
  for (const Operand& operand : instruction.operands) {
    const auto* address = std::get_if<AddressOperand>(&operand.value);
    if (address == nullptr) continue;
    const auto* base = std::get_if<RegisterOperand>(&address->base);
    Check(base != nullptr && IsOfGuard(body, base->index) && address->offset == 0);
  }
}

void CheckParameters(const GuardedKernel& guarded) {
  Check(guarded.guard_offset >= guarded.own_bytes && guarded.guard_offset % 8 == 0);
  const size_t most = guarded.written_parameters.size() + guarded.read_parameters.size();
  wharf::device::Guard guard;
  for (const uint32_t parameter : guarded.written_parameters) guard.ranges.push_back({parameter, 4096, 64});
  const auto buffer = guarded.Parameters(std::vector<std::byte>(guarded.own_bytes), guard);
  Check(buffer.ok() && buffer->size() >= guarded.guard_offset + 2 * sizeof(uint64_t));
  Check(buffer->size() <= guarded.guard_offset + (2 * most + 2) * sizeof(uint64_t));
  if (guarded.own_bytes > 0) {
    Check(!guarded.Parameters(std::vector<std::byte>(guarded.own_bytes - 1), guard).ok());
  }
}

void CheckKernel(const Module& module, const Function& original) {
  const std::string& name = original.name;
  const auto guarded = GuardKernel(module, name);
  if (!guarded.ok()) return;
  CheckParameters(*guarded);
  const auto rewritten = Parse(guarded->ptx);
  Check(rewritten.ok());
  const Function* const kernel = (*rewritten)->FindFunction(name);
  Check(kernel != nullptr && kernel->is_entry);
  const auto body = ParseBody(**rewritten, *kernel);
  Check(body.ok());
  for (const Instruction& instruction : body->instructions) {
    if (IsAccess(instruction)) CheckAccess(*body, instruction);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ForEachKernel(data, size, CheckKernel);
  return 0;
}
