// mbarrier: barriers in shared memory, at which a thread arrives and for which it waits by two instructions.
//
// What is in the 64 bits is each implementation's own. Here, from the lowest bit: 20 bits of arrivals that the phase
// still waits for, 20 of arrivals that a phase has, 21 of bytes that are to come, with a sign, for they may come before
// they are expected, 3 that number the phase. A state is such a word of before an arrival; it may be asked about in the
// next phase and no later.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {
namespace {

constexpr uint64_t kCountBits = 20, kMostArrivals = (uint64_t{1} << kCountBits) - 1;
constexpr uint64_t kBytesShift = 2 * kCountBits, kBytesMask = (uint64_t{1} << (kCountBits + 1)) - 1;
constexpr uint64_t kPhaseShift = kBytesShift + kCountBits + 1;

}  // namespace

void FunctionCodegen::Mbarrier() {
  const std::string_view operation = modifiers_.TakeOneOf(
      {"init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait", "pending_count", "expect_tx", "complete_tx"});
  if (operation.empty()) return Unsupported("this operation on an mbarrier");
  const bool expects = modifiers_.Take("expect_tx");
  modifiers_.Take("noComplete");  // promises what need not be known
  const bool parity = modifiers_.Take("parity");
  modifiers_.TakeOneOf({"release", "acquire", "relaxed"});
  modifiers_.TakeOneOf({"cta", "cluster"});
  const ptx::Space space = TakeSpace();
  if (space != ptx::Space::kShared && space != ptx::Space::kGeneric) return Unsupported("an mbarrier elsewhere");
  if (TypeOrFail() != Type::kB64) return Malformed("an mbarrier has 64 bits");
  if (operation == "pending_count") {
    if (!Expect(2)) return;
    Value* left = b_.CreateAnd(Source(1, Type::kB64), kMostArrivals);
    Result(Type::kB32, b_.CreateTrunc(left, b_.getInt32Ty()));
  } else if (operation == "init") {
    if (Expect(2)) InitMbarrier(MbarrierAt(0, space), Source(1, Type::kB32));
  } else if (operation == "inval") {
    if (Expect(1)) MbarrierAt(0, space);  // nothing is kept of it elsewhere
  } else if (operation == "arrive" || operation == "arrive_drop") {
    if (!Expect(2, 3)) return;
    Value* number = Count() == 3 ? Source(2, Type::kB32) : b_.getInt32(1);
    Value *arrivals = expects ? b_.getInt32(1) : number, *bytes = expects ? number : b_.getInt32(0);
    Result(Type::kB64, UpdateMbarrier(MbarrierAt(1, space), arrivals, bytes, operation == "arrive_drop"));
  } else if (operation == "expect_tx" || operation == "complete_tx") {
    if (!Expect(2)) return;
    Value* bytes = Source(1, Type::kB32);
    if (operation == "complete_tx") bytes = b_.CreateNeg(bytes);
    UpdateMbarrier(MbarrierAt(0, space), b_.getInt32(0), bytes, false);
  } else {
    if (!Expect(3, operation == "try_wait" ? 4 : 3)) return;  // the fourth: for how long to wait at most
    WaitForMbarrier(MbarrierAt(1, space), parity);
  }
}

// cp.async.mbarrier.arrive{.noinc}: an arrival when the thread's copies are done, which they are where they are
// started. But for .noinc the barrier waits for one more, so that nothing is left to do.
void FunctionCodegen::CopiesArriveAtMbarrier() {
  if (!modifiers_.Take("arrive")) return Malformed("only arrivals exist");
  const bool counted_before = modifiers_.Take("noinc");
  const ptx::Space space = TakeSpace();
  if (TypeOrFail() != Type::kB64) return Malformed("an mbarrier has 64 bits");
  if (!Expect(1)) return;
  Value* pointer = MbarrierAt(0, space);
  if (counted_before) UpdateMbarrier(pointer, b_.getInt32(1), b_.getInt32(0), false);
}

llvm::Value* FunctionCodegen::MbarrierAt(size_t operand, ptx::Space space) {
  const Address address = AddressOf(Op(operand), space);
  if (failed()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
  CheckAccess(address, sizeof(uint64_t), check::kReads | check::kWrites | check::kStrong);
  // The threads of a block take turns on one thread of the system, and no other block reaches its shared memory.
  atomic_scope_ = llvm::SyncScope::SingleThread;
  return address.pointer;
}

void FunctionCodegen::InitMbarrier(Value* pointer, Value* arrivals) {
  Value* count = b_.CreateAnd(b_.CreateZExt(arrivals, b_.getInt64Ty()), kMostArrivals);
  auto* store = b_.CreateAlignedStore(b_.CreateOr(count, b_.CreateShl(count, kCountBits)), pointer, llvm::Align(8));
  store->setAtomic(llvm::AtomicOrdering::Monotonic, atomic_scope_);
}

// The last arrival of a phase begins the next one, once the bytes have come. `drop`: later phases wait for so many
// less.
llvm::Value* FunctionCodegen::UpdateMbarrier(Value* pointer, Value* arrivals, Value* bytes, bool drop) {
  llvm::Type* i64 = b_.getInt64Ty();
  arrivals = b_.CreateZExt(arrivals, i64);
  bytes = b_.CreateSExt(bytes, i64);
  return AtomicLoop(pointer, i64, llvm::AtomicOrdering::AcquireRelease, [&](Value* state) {
    Value* left = b_.CreateAnd(b_.CreateSub(state, arrivals), kMostArrivals);
    Value* expected = b_.CreateLShr(state, kCountBits);
    if (drop) expected = b_.CreateSub(expected, arrivals);
    expected = b_.CreateAnd(expected, kMostArrivals);
    Value* coming = b_.CreateAnd(b_.CreateAdd(b_.CreateLShr(state, kBytesShift), bytes), kBytesMask);
    Value* phase = b_.CreateLShr(state, kPhaseShift);
    Value* done = b_.CreateICmpEQ(b_.CreateOr(left, coming), b_.getInt64(0));
    phase = b_.CreateAdd(phase, b_.CreateZExt(done, i64));
    left = b_.CreateSelect(done, expected, left);
    const auto at = [&](Value* field, uint64_t shift) { return b_.CreateShl(field, shift); };
    return b_.CreateOr(b_.CreateOr(left, at(expected, kCountBits)),
                       b_.CreateOr(at(coming, kBytesShift), at(phase, kPhaseShift)));
  });
}

// Whether the phase is over that the state is of, or that has this parity. Loops around it let other threads run
// (spin.h).
void FunctionCodegen::WaitForMbarrier(Value* pointer, bool parity) {
  auto* now = b_.CreateAlignedLoad(b_.getInt64Ty(), pointer, llvm::Align(8));
  now->setAtomic(llvm::AtomicOrdering::Acquire, atomic_scope_);
  Value* phase = b_.CreateLShr(now, kPhaseShift);
  if (parity) {
    Value* asked = b_.CreateZExt(Source(2, Type::kB32), b_.getInt64Ty());
    Value* differs = b_.CreateAnd(b_.CreateXor(phase, asked), 1);
    return Result(Type::kPred, b_.CreateICmpNE(differs, b_.getInt64(0)));
  }
  Result(Type::kPred, b_.CreateICmpNE(phase, b_.CreateLShr(Source(2, Type::kB64), kPhaseShift)));
}

}  // namespace wharf::device::soft
