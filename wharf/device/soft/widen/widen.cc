#include "wharf/device/soft/widen/widen.h"

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/widen/interior.h"
#include "wharf/device/soft/widen/lock_step.h"
#include "wharf/device/soft/widen/widener.h"

namespace wharf::device::soft {
namespace {

using llvm::Value;

// What the entry calls for `lanes` threads; `inside` and `passes` (see Interior) may be null.
struct WideCode {
  llvm::Function *any = nullptr, *inside = nullptr, *passes = nullptr;
  unsigned lanes = 0;
};

// for index = 0; index < extent; index += step: body(index). REQUIRES: extent is not 0.
template <typename Body>
void EmitLoop(llvm::IRBuilder<>& b, Value* extent, unsigned step, const Body& body) {
  llvm::BasicBlock* from = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", from->getParent());
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(b.getInt32Ty(), 2);
  index->addIncoming(b.getInt32(0), from);
  body(index);
  Value* next = b.CreateAdd(index, b.getInt32(step), "next", true, true);
  index->addIncoming(next, b.GetInsertBlock());
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", from->getParent());
  b.CreateCondBr(b.CreateICmpUGE(next, extent), done, loop);
  b.SetInsertPoint(done);
}

// The threads that differ from `arguments` in their tid.x.
void EmitRow(llvm::IRBuilder<>& b, const WideCode& code, const std::vector<Value*>& arguments) {
  Value* extent = arguments.back();
  auto emit_loop = [&](llvm::Function* wide) {
    EmitLoop(b, extent, code.lanes, [&](Value* x) {
      std::vector<Value*> group = arguments;
      group[kTidX] = x;
      b.CreateCall(wide, group);
    });
  };
  if (code.inside == nullptr) return emit_loop(code.any);
  llvm::Function* entry = b.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, entry); };
  auto *inside = block("inside"), *edge = block("edge"), *done = block("done");
  std::vector<Value*> first(arguments.begin(), arguments.end() - 1), last = first;
  first[kTidX] = b.getInt32(0);
  last[kTidX] = b.CreateSub(extent, b.getInt32(1));
  Value* pass = b.CreateAnd(b.CreateCall(code.passes, first), b.CreateCall(code.passes, last));
  Value* whole = b.CreateICmpEQ(b.CreateURem(extent, b.getInt32(code.lanes)), b.getInt32(0));
  b.CreateCondBr(b.CreateAnd(whole, pass), inside, edge);
  b.SetInsertPoint(inside);
  emit_loop(code.inside);
  b.CreateBr(done);
  b.SetInsertPoint(edge);
  emit_loop(code.any);
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

// entry(block): the wide code for all its rows.
void BuildWideEntry(llvm::Function* entry, const WideCode& code) {
  entry->deleteBody();
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(entry->getContext(), "entry", entry));
  Value* extent[3];
  for (size_t d = 0; d < 3; ++d) {
    Value* address = b.CreateConstGEP1_64(b.getInt8Ty(), entry->getArg(0), offsetof(BlockContext, block) + 4 * d);
    extent[d] = b.CreateLoad(b.getInt32Ty(), address);
  }
  Value* none = llvm::ConstantPointerNull::get(b.getPtrTy());
  EmitLoop(b, extent[2], 1, [&](Value* z) {
    EmitLoop(b, extent[1], 1, [&](Value* y) { EmitRow(b, code, {entry->getArg(0), nullptr, y, z, none, extent[0]}); });
  });
  b.CreateRetVoid();
}

llvm::Function* MakeWideInside(const Interior& interior, unsigned lanes) {
  llvm::DominatorTree tree(*interior.thread);
  llvm::LoopInfo loops(tree);
  const WideForm form{.lanes = lanes, .interior = &interior};
  const ShapeAnalysis shapes(*interior.thread, GroupOf(form), loops, tree);
  return MakeWide(*interior.thread, form, loops, tree, shapes);
}

}  // namespace

bool Widen(llvm::Function* thread, llvm::Function* entry, unsigned lanes) {
  llvm::DominatorTree tree(*thread);
  llvm::LoopInfo loops(tree);
  if (lanes < kWarpSize && CountsOnLockStep(*thread, {0, 0, 0}, loops, tree)) lanes = kWarpSize;
  const WideForm form{.lanes = lanes};
  const ShapeAnalysis shapes(*thread, GroupOf(form), loops, tree);
  WideCode code;
  code.lanes = lanes;
  code.any = MakeWide(*thread, form, loops, tree, shapes);
  if (code.any == nullptr) return false;
  if (const std::optional<Interior> interior = FindInterior(*thread, shapes, loops, tree)) {
    code.passes = interior->passes;
    code.inside = MakeWideInside(*interior, lanes);
    interior->thread->eraseFromParent();
  }
  BuildWideEntry(entry, code);
  return true;
}

}  // namespace wharf::device::soft
