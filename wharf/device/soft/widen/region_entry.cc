#include "wharf/device/soft/widen/region_entry.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <utility>

#include "wharf/device/soft/codegen/module.h"

namespace wharf::device::soft {
namespace {

using Block = llvm::BasicBlock;
using llvm::Value;

// `next`, when the kernel ends.
constexpr uint32_t kEnd = ~0u;
// In `votes`, of a thread that takes no part in a reduction.
constexpr uint8_t kNoVote = 2;

// Makes the kernel's entry: the regions one after the other, each for all threads of the block.
class EntryMaker {
 public:
  EntryMaker(llvm::Function* entry, const RegionPlan& plan, const Dim3& block, std::vector<RegionCode> regions,
             unsigned lanes)
      : entry_(entry),
        plan_(plan),
        block_(block),
        regions_(std::move(regions)),
        lanes_(lanes),
        b_(entry->getContext()),
        slots_(entry->getContext()) {}

  void Make() {
    entry_->deleteBody();
    entry_->setLinkage(llvm::GlobalValue::ExternalLinkage);
    auto* start = NewBlock("entry");
    slots_.SetInsertPoint(start);
    for (size_t i = 0; i < regions_.size(); ++i) starts_.push_back(NewBlock("region"));
    slots_.SetInsertPoint(slots_.CreateBr(starts_[0]));
    end_ = NewBlock("end");
    MakeSlots();
    for (size_t i = 0; i < regions_.size(); ++i) EmitRegion(i);
    b_.SetInsertPoint(end_);
    b_.CreateRetVoid();
  }

 private:
  Block* NewBlock(const char* name) { return Block::Create(entry_->getContext(), name, entry_); }
  uint64_t Threads() const { return block_.Count(); }
  uint64_t GroupsInRow() const { return (block_.x + lanes_ - 1) / lanes_; }
  uint64_t Rows() const { return uint64_t{block_.y} * block_.z; }

  llvm::AllocaInst* Array(llvm::Type* type, uint64_t count) {
    auto* array = slots_.CreateAlloca(llvm::ArrayType::get(type, count));
    array->setAlignment(llvm::Align(64));
    return array;
  }
  // Fills `count` elements of a byte.
  void Fill(llvm::IRBuilder<>& b, Value* bytes, uint8_t with) {
    b.CreateMemSet(bytes, b.getInt8(with), Threads(), llvm::Align(64));
  }

  struct KeptSlots {
    Value *values = nullptr, *firsts = nullptr, *exacts = nullptr;
  };

  void MakeSlots() {
    next_ = slots_.CreateAlloca(b_.getInt32Ty());
    reduced_ = slots_.CreateAlloca(b_.getInt32Ty());
    slots_.CreateStore(b_.getInt32(0), reduced_);
    votes_ = Array(b_.getInt8Ty(), Threads());
    alive_ = Array(b_.getInt8Ty(), Threads());
    if (plan_.ends_apart) Fill(slots_, alive_, 1);
    for (const llvm::AllocaInst* variable : plan_.variables) {
      variables_.push_back(Array(VariableType(*variable), Threads()));
    }
    for (const Kept& kept : plan_.kept) {
      llvm::Type* type = kept.keeping == Keeping::kUniform ? kept.value->getType() : StoredType(kept);
      KeptSlots slots;
      if (kept.keeping == Keeping::kUniform) {
        slots.values = slots_.CreateAlloca(type);
        slots_.CreateStore(llvm::Constant::getNullValue(type), slots.values);
      } else {
        slots.values = Array(type, Threads());
      }
      if (kept.keeping == Keeping::kRow) {
        slots.firsts = Array(type, GroupsInRow() * Rows());
        slots.exacts = Array(b_.getInt8Ty(), GroupsInRow() * Rows());
      }
      kept_.push_back(slots);
    }
  }

  void EmitRegion(size_t index) {
    b_.SetInsertPoint(starts_[index]);
    b_.CreateStore(b_.getInt32(kEnd), next_);
    const auto& barriers = plan_.regions[index].barriers;
    const bool votes = std::any_of(barriers.begin(), barriers.end(),
                                   [&](size_t barrier) { return plan_.barriers[barrier].reduction.has_value(); });
    if (votes) Fill(b_, votes_, kNoVote);
    std::vector<Value*> uniform;
    for (size_t i = 0; i < kept_.size(); ++i) {
      const bool one = plan_.kept[i].keeping == Keeping::kUniform;
      uniform.push_back(one ? b_.CreateLoad(plan_.kept[i].value->getType(), kept_[i].values) : nullptr);
    }
    Loop(block_.z, 1, [&](Value* z) { Loop(block_.y, 1, [&](Value* y) { EmitRow(regions_[index], uniform, y, z); }); });
    EmitNext(barriers);
  }

  // for index = 0; index < extent; index += step: body(index).
  template <typename Body>
  void Loop(uint32_t extent, unsigned step, const Body& body) {
    if (extent <= step) return body(b_.getInt32(0));
    Block* from = b_.GetInsertBlock();
    Block* loop = NewBlock("loop");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* index = b_.CreatePHI(b_.getInt32Ty(), 2);
    index->addIncoming(b_.getInt32(0), from);
    body(index);
    Value* next = b_.CreateAdd(index, b_.getInt32(step), "next", true, true);
    index->addIncoming(next, b_.GetInsertBlock());
    Block* done = NewBlock("done");
    b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(extent)), loop, done);
    b_.SetInsertPoint(done);
  }

  void EmitRow(const RegionCode& code, const std::vector<Value*>& uniform, Value* y, Value* z) {
    Value* row = b_.CreateAdd(y, b_.CreateMul(z, b_.getInt32(block_.y)), "row", true, true);
    const auto of_row = [&](Value* array, llvm::Type* type, uint64_t in_row) {
      return b_.CreateGEP(type, array, b_.CreateMul(row, b_.getInt32(static_cast<uint32_t>(in_row)), "", true, true));
    };
    llvm::Type* byte = b_.getInt8Ty();
    Value* none = llvm::ConstantPointerNull::get(b_.getPtrTy());
    std::vector<Value*> arguments = {entry_->getArg(0),
                                     nullptr,
                                     y,
                                     z,
                                     none,
                                     next_,
                                     reduced_,
                                     of_row(votes_, byte, block_.x),
                                     of_row(alive_, byte, block_.x)};
    for (size_t i = 0; i < variables_.size(); ++i) {
      arguments.push_back(of_row(variables_[i], VariableType(*plan_.variables[i]), block_.x));
    }
    for (size_t i = 0; i < kept_.size(); ++i) {
      const KeptSlots& slots = kept_[i];
      llvm::Type* type = plan_.kept[i].value->getType();
      if (plan_.kept[i].keeping == Keeping::kUniform) {
        arguments.insert(arguments.end(), {uniform[i], slots.values});
        continue;
      }
      arguments.push_back(of_row(slots.values, StoredType(plan_.kept[i]), block_.x));
      if (plan_.kept[i].keeping == Keeping::kRow) {
        arguments.push_back(of_row(slots.firsts, type, GroupsInRow()));
        arguments.push_back(of_row(slots.exacts, byte, GroupsInRow()));
      }
    }
    if (code.lanes > 1) arguments.push_back(b_.getInt32(block_.x));
    Loop(block_.x, code.lanes, [&](Value* x) {
      arguments[kTidX] = x;
      b_.CreateCall(code.function, arguments);
    });
  }

  void EmitNext(const std::set<size_t>& barriers) {
    if (barriers.empty()) {
      b_.CreateBr(end_);
      return;
    }
    auto* choose = b_.CreateSwitch(b_.CreateLoad(b_.getInt32Ty(), next_), end_);
    for (const size_t barrier : barriers) {
      Block* start = starts_[barrier + 1];
      if (plan_.barriers[barrier].reduction) {
        Block* reduce = NewBlock("reduce");
        b_.SetInsertPoint(reduce);
        Reduce(static_cast<ReduceOp>(*plan_.barriers[barrier].reduction));
        b_.CreateBr(start);
        start = reduce;
      }
      choose->addCase(b_.getInt32(static_cast<uint32_t>(barrier)), start);
    }
  }

  // The votes of all threads into `reduced_`.
  void Reduce(ReduceOp op) {
    llvm::Type* byte = b_.getInt8Ty();
    auto* yes = slots_.CreateAlloca(b_.getInt32Ty());
    auto* no = slots_.CreateAlloca(b_.getInt32Ty());
    for (auto* count : {yes, no}) b_.CreateStore(b_.getInt32(0), count);
    Loop(static_cast<uint32_t>(Threads()), 1, [&](Value* thread) {
      Value* vote = b_.CreateLoad(byte, b_.CreateGEP(byte, votes_, thread));
      const auto count = [&](llvm::AllocaInst* to, uint8_t value) {
        Value* one = b_.CreateZExt(b_.CreateICmpEQ(vote, b_.getInt8(value)), b_.getInt32Ty());
        b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), to), one), to);
      };
      count(yes, 1);
      count(no, 0);
    });
    Value* all = b_.CreateICmpEQ(b_.CreateLoad(b_.getInt32Ty(), no), b_.getInt32(0));
    Value* sum = b_.CreateLoad(b_.getInt32Ty(), yes);
    Value* any = b_.CreateICmpNE(sum, b_.getInt32(0));
    if (op != ReduceOp::kPopc) sum = b_.CreateZExt(op == ReduceOp::kAnd ? all : any, b_.getInt32Ty());
    b_.CreateStore(sum, reduced_);
  }

  llvm::Function* const entry_;
  const RegionPlan& plan_;
  const Dim3 block_;
  const std::vector<RegionCode> regions_;
  const unsigned lanes_;
  llvm::IRBuilder<> b_, slots_;
  std::vector<Block*> starts_;
  Block* end_ = nullptr;
  llvm::AllocaInst *next_ = nullptr, *reduced_ = nullptr, *votes_ = nullptr, *alive_ = nullptr;
  std::vector<llvm::AllocaInst*> variables_;
  std::vector<KeptSlots> kept_;
};

}  // namespace

llvm::Type* StoredType(const Kept& kept) {
  llvm::Type* type = kept.value->getType();
  return type->isIntegerTy(1) ? llvm::Type::getInt8Ty(type->getContext()) : type;
}

llvm::Type* VariableType(const llvm::AllocaInst& variable) {
  const llvm::DataLayout& layout = variable.getModule()->getDataLayout();
  const uint64_t bytes = variable.getAllocationSize(layout)->getFixedValue();
  return llvm::ArrayType::get(llvm::Type::getInt8Ty(variable.getContext()),
                              llvm::alignTo(std::max<uint64_t>(bytes, 1), variable.getAlign()));
}

void MakeRegionEntry(llvm::Function* entry, const RegionPlan& plan, const Dim3& block, std::vector<RegionCode> regions,
                     unsigned lanes) {
  EntryMaker(entry, plan, block, std::move(regions), lanes).Make();
}

}  // namespace wharf::device::soft
