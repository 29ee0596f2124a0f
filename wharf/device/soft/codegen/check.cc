// Of checked kernels: calls that tell of accesses to memory.
#include <bit>

#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

// A thread's own memory, parameters and constants are not looked at.
bool FunctionCodegen::IsChecked(ptx::Space space) const {
  const check::Checks checks = module_.program().checks;
  if (space == ptx::Space::kGlobal) return (checks & ~check::kRace) != 0;
  return checks != 0 && (space == ptx::Space::kShared || space == ptx::Space::kGeneric);
}

void FunctionCodegen::CheckAccess(const Address& address, uint64_t bytes, uint8_t flags,
                                  llvm::ArrayRef<Value*> values) {
  if (!address.checked || failed()) return;
  llvm::Type* i64 = b_.getInt64Ty();
  Value* at = b_.CreatePtrToInt(address.pointer, i64);
  const uint64_t part = values.empty() ? bytes : bytes / values.size();
  for (uint64_t done = 0; done < bytes; done += check::kMostAccess) {
    check::Access access{.bytes = static_cast<uint8_t>(std::min<uint64_t>(bytes - done, check::kMostAccess)),
                         .alignment = static_cast<uint8_t>(done == 0 ? bytes : 1),
                         .flags = flags};
    Value* halves[2] = {b_.getInt64(0), b_.getInt64(0)};
    if (!values.empty()) access.flags |= check::kKnownValue;
    for (uint64_t i = done; !values.empty() && i < done + access.bytes; i += part) {
      Value* bits = ToBits(values[i / part]);
      for (uint64_t k = 0; k < part; k += sizeof(uint64_t)) {  // a part may be 16 bytes
        const uint64_t within = i - done + k;
        Value* piece = b_.CreateZExtOrTrunc(k == 0 ? bits : b_.CreateLShr(bits, 8 * k), i64);
        Value*& half = halves[within / sizeof(uint64_t)];
        half = b_.CreateOr(half, b_.CreateShl(piece, 8 * (within % sizeof(uint64_t))));
      }
    }
    CallRuntime("wharf_check_access", b_.getVoidTy(),
                {done == 0 ? at : b_.CreateAdd(at, b_.getInt64(done)), b_.getInt32(std::bit_cast<uint32_t>(access)),
                 b_.getInt32(reached_.first_instruction + at_), halves[0], halves[1]});
  }
}

}  // namespace wharf::device::soft
