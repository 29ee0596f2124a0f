// What came with compute capability 9.0: copies that nobody waits for but an mbarrier or a group (cp.async.bulk), and
// clusters, of which a launch here has one for each block.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

// cp.async.bulk.to.from.completion [to], [from], bytes{, [mbarrier]}{, mask}{, policy}. Done at once, by the thread
// that starts it. Nothing is left to wait for, but an mbarrier counts the bytes.
void FunctionCodegen::BulkCopy() {
  if (modifiers_.Take("commit_group")) return;
  if (modifiers_.Take("wait_group")) {
    modifiers_.Take("read");
    return;
  }
  if (modifiers_.Take("prefetch")) {
    TakeCacheHints();
    modifiers_.Take("global");
    return;
  }
  if (modifiers_.Take("tensor")) return Unsupported("copies of tensors");
  const std::string_view to = modifiers_.TakeNext(), from = modifiers_.TakeNext();
  const bool to_shared = to == "shared::cluster" || to == "shared::cta";
  const bool from_shared = from == "shared::cta";
  const bool counted = modifiers_.Take("mbarrier::complete_tx::bytes");
  if (!to_shared && to != "global") return Unsupported("a copy to there");
  if (!from_shared && from != "global") return Unsupported("a copy from there");
  if (counted != to_shared || (!counted && !modifiers_.Take("bulk_group")))
    return Malformed("nothing tells of its end");
  modifiers_.Take("multicast::cluster");
  modifiers_.TakePrefix("L2::");
  if (!Expect(counted ? 4 : 3, counted ? 6 : 4)) return;
  const Address target = AddressOf(Op(0), to_shared ? ptx::Space::kShared : ptx::Space::kGlobal);
  const Address source = AddressOf(Op(1), from_shared ? ptx::Space::kShared : ptx::Space::kGlobal);
  Value* bytes = Source(2, Type::kB32);
  if (failed()) return;
  CopyLines(target, source, bytes);
  if (!counted) return;
  Value* barrier = MbarrierAt(3, ptx::Space::kShared);
  if (!failed()) UpdateMbarrier(barrier, b_.getInt32(0), b_.CreateNeg(bytes), false);
}

// `bytes` is a multiple of 16.
void FunctionCodegen::CopyLines(const Address& to, const Address& from, Value* bytes) {
  constexpr uint32_t kLine = 16;
  Value* lines = b_.CreateLShr(bytes, 4);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock *loop = NewBlock("copy"), *done = NewBlock("copied");
  b_.CreateCondBr(b_.CreateICmpEQ(lines, b_.getInt32(0)), done, loop);
  b_.SetInsertPoint(loop);
  auto* line = b_.CreatePHI(b_.getInt32Ty(), 2);
  line->addIncoming(b_.getInt32(0), before);
  const auto at = [&](const Address& base) {
    Address address = base;
    Value* offset = b_.CreateMul(b_.CreateZExt(line, b_.getInt64Ty()), b_.getInt64(kLine));
    address.pointer = b_.CreateGEP(b_.getInt8Ty(), base.pointer, offset);
    return address;
  };
  CopyBytes(at(to), at(from), kLine, nullptr);
  Value* next = b_.CreateAdd(line, b_.getInt32(1));
  line->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpULT(next, lines), loop, done);
  b_.SetInsertPoint(done);
}

// The threads of a cluster are those of a block: to wait for the others is to wait at the block's barrier, to arrive
// there first is nothing.
void FunctionCodegen::ClusterBarrier() {
  modifiers_.Take("aligned");
  modifiers_.TakeOneOf({"release", "acquire", "relaxed"});
  if (modifiers_.Take("arrive")) return;
  if (!modifiers_.Take("wait")) return Unsupported("this barrier of a cluster");
  CallRuntime("wharf_barrier_sync", b_.getVoidTy(), {b_.getInt32(0), b_.getInt32(0)});
}

// mapa d, address, block: what a variable of this block is in another one of the cluster.
void FunctionCodegen::Mapa() {
  TakeSpace();
  Type type = TypeOrFail();
  if (Expect(3)) Result(type, Source(1, type));
}

void FunctionCodegen::Getctarank() {
  TakeSpace();
  TypeOrFail();
  if (Expect(2)) Result(Type::kU32, b_.getInt32(0));
}

// Says how caches are to treat what it is given to. Caches are none of ours.
void FunctionCodegen::Createpolicy() {
  modifiers_.TakeOneOf({"fractional", "range", "cvt"});
  modifiers_.Take("global");
  modifiers_.TakePrefix("L2");
  Type type = TypeOrFail();
  if (Expect(2, 4)) Result(type, Int(BitsOf(type), 0));
}

}  // namespace wharf::device::soft
