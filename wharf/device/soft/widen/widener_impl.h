// The class behind widener.h; internal to the room.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/widen/flow.h"
#include "wharf/device/soft/widen/thread_calls.h"
#include "wharf/device/soft/widen/widener.h"

namespace wharf::device::soft {

// Of instructions that leave nothing behind.
bool IsIgnored(const llvm::Instruction& instruction);
// Has to be done for one lane after the other.
bool IsForEachLane(const llvm::Instruction& instruction);
// Gives two results at once, which are extracted from it: a compare-and-swap, or a function of the runtime. Those are
// done for each lane.
bool IsPair(const llvm::Value* value);

class Widener {
 public:
  Widener(llvm::Function& thread, llvm::Function& wide, const WideForm& form, llvm::LoopInfo& loops,
          const ShapeAnalysis& shapes, const Flow& flow)
      : thread_(thread),
        wide_(wide),
        form_(form),
        lanes_(form.lanes),
        loops_(loops),
        shapes_(shapes),
        flow_(flow),
        b_(thread.getContext()),
        slots_(thread.getContext()) {}

  // False if what is made cannot be used.
  bool Run();

 private:
  using Value = llvm::Value;
  using Block = llvm::BasicBlock;

  // --- values (widener.cc) ---
  // A value of the thread function in the wide function. `scalar` is the value, of a uniform one, or that of the first
  // lane, of a strided one; `exact` says, of a strided one, that no lane has wrapped: then the lanes follow from the
  // first. `vector` is there for all but uniform values.
  struct Wide {
    Value* scalar = nullptr;
    Value* exact = nullptr;
    Value* vector = nullptr;
  };
  struct Slots {
    llvm::AllocaInst *scalar = nullptr, *exact = nullptr, *vector = nullptr;
  };
  llvm::AllocaInst* Slot(llvm::Type* type);
  llvm::Type* WideType(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }
  Block* NewBlock(const char* name) { return Block::Create(b_.getContext(), name, &wide_); }
  Value* Splat(Value* scalar) { return b_.CreateVectorSplat(lanes_, scalar); }
  Value* LaneNumbers(llvm::Type* type);  // 0, 1, 2, … of this integer type
  Value* ThreadsThatExist();
  Value* NoLanes() const { return llvm::Constant::getNullValue(mask_type_); }
  Value* Bits(Value* mask) { return b_.CreateBitCast(mask, b_.getIntNTy(lanes_)); }
  Value* Any(Value* mask) { return b_.CreateICmpNE(Bits(mask), llvm::ConstantInt::get(b_.getIntNTy(lanes_), 0)); }
  void MakeArguments();
  Slots& SlotsOf(const llvm::Instruction* instruction);
  Value* Load(llvm::AllocaInst* slot) {
    return slot == nullptr ? nullptr : b_.CreateLoad(slot->getAllocatedType(), slot);
  }
  Wide Get(Value* value);
  Value* Scalar(Value* value) { return Get(value).scalar; }
  Value* Exact(Value* value);
  Value* Vector(Value* value);
  void Define(const llvm::Instruction* instruction, Wide wide);

  // --- control flow (widener.cc) ---
  void ClearMasks(const llvm::Loop* loop);
  void EmitRegion(llvm::Loop* region);
  void EmitLoop(llvm::Loop* loop);
  void EmitBlock(Block* block);
  // What is stored at the end of a block, after all that it needs has been read.
  struct Assignment {
    llvm::AllocaInst* to;
    Value* value;
  };
  // `condition`: null, or an i1 or a vector of them: of this way out of the block being emitted.
  void EmitEdge(Block* from, Block* to, Value* condition, std::vector<Assignment>* assignments);
  void EmitEdges(Block* block);
  void MergePhis(Block* from, Block* to, Value* condition, Value* mask, std::vector<Assignment>* assignments);
  bool LeavesAtOnce(const Block* from, const Block* to, const Value* condition) const;

  // --- instructions (widener_instructions.cc) ---
  void EmitInstruction(llvm::Instruction& instruction);
  Value* CloneScalar(const llvm::Instruction& instruction);
  Value* EmitExact(const llvm::Instruction& instruction);
  Value* EmitVector(llvm::Instruction& instruction);
  Value* EmitIntrinsic(llvm::IntrinsicInst& call);
  llvm::GetElementPtrInst* OneBase(Value* operand, const llvm::Instruction& user) const;
  void EmitForEachLane(llvm::Instruction& instruction);
  void EmitExtract(llvm::ExtractValueInst& extract);
  void EmitAccess(Value* address, llvm::Type* type, const std::function<void(bool consecutive)>& access);
  void EmitLoad(llvm::LoadInst& load);
  std::vector<llvm::LoadInst*> LoadsBetween(llvm::LoadInst& load) const;
  void EmitLoadsBetween(llvm::LoadInst& load, const std::vector<llvm::LoadInst*>& all);
  void EmitStore(llvm::StoreInst& store);
  void EmitKeep(llvm::CallInst& call);
  void EmitReload(llvm::CallInst& call);

  // --- warp operations (widener_warp.cc) ---
  bool EmitWarpOperation(llvm::CallInst& call, ThreadCall kind);
  // The lanes that take part, as bits: a scalar if it is the same in all lanes, else a vector.
  Value* Participants(Value* members);
  Value* Exchanging(Value* members);
  Value* EmitShuffle(llvm::CallInst& call);
  Value* Permute(Value* vector, Value* lanes);
  Value* EmitVote(llvm::CallInst& call);
  Value* EmitMatch(llvm::CallInst& call, bool any);
  Value* EmitRedux(llvm::CallInst& call);
  // The lanes' register of this number, which tensor functions take and give.
  llvm::AllocaInst* TensorRegister(uint64_t number);
  bool EmitTensor(llvm::CallInst& call);
  void EmitProduct(uint32_t operation);
  void EmitTranspose();
  bool EmitRows(llvm::CallInst& call, bool load);
  bool EmitTile(llvm::CallInst& call, bool load);
  // What all lanes have, or the first of them.
  Value* OfFirstLane(Value* value);
  // Elements of `from`, or of these one behind the other.
  Value* Pick(Value* from, unsigned count, const std::function<unsigned(unsigned)>& index);
  Value* Join(llvm::ArrayRef<Value*> vectors);

  llvm::Function& thread_;
  llvm::Function& wide_;
  const WideForm form_;
  const unsigned lanes_;
  llvm::LoopInfo& loops_;
  const ShapeAnalysis& shapes_;
  const Flow& flow_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> slots_;
  llvm::Type* mask_type_ = nullptr;
  bool failed_ = false;

  // Of the block being emitted: its threads, and whether there are any.
  Value *mask_ = nullptr, *here_ = nullptr;
  std::vector<Block*> order_;
  std::map<const Block*, Value*> mask_of_, here_of_;
  std::map<const Block*, llvm::AllocaInst*> masks_;      // of those with a mask of their own
  std::map<const Block*, llvm::AllocaInst*> flags_;      // of those that come kOnly, and headers of steady loops
  std::map<const llvm::Loop*, llvm::AllocaInst*> next_;  // threads that go another round, or whether they do
  std::set<const Block*> met_;                           // blocks to which an edge has been emitted
  std::set<const llvm::LoadInst*> met_loads_;            // emitted with others (EmitLoadsBetween)
  std::map<const llvm::Argument*, Wide> arguments_;
  std::map<const llvm::Instruction*, Slots> slot_map_;
  std::map<const llvm::Instruction*, Wide> local_;  // what is at hand in the block being emitted
  std::map<uint64_t, llvm::AllocaInst*> tensor_registers_;
  std::map<uint64_t, llvm::AllocaInst*> tensor_slots_;  // handed to the runtime; by how many registers they have
  std::map<const llvm::Instruction*, llvm::AllocaInst*> seconds_;  // of what IsPair says: the second results
};

}  // namespace wharf::device::soft
