// Instructions and accesses to memory, for a group of threads.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

#include "wharf/device/soft/widen/widener_impl.h"

namespace wharf::device::soft {

using llvm::Value;

void Widener::EmitInstruction(llvm::Instruction& instruction) {
  const ThreadCall call = ThreadCallOf(instruction);
  if (call == ThreadCall::kKeep) return EmitKeep(llvm::cast<llvm::CallInst>(instruction));
  if (call == ThreadCall::kReload) return EmitReload(llvm::cast<llvm::CallInst>(instruction));
  if (IsWarpOperation(call)) {
    failed_ |= !EmitWarpOperation(llvm::cast<llvm::CallInst>(instruction), call);
    return;
  }
  if (llvm::isa<llvm::FenceInst>(instruction)) {
    b_.Insert(instruction.clone());
    return;
  }
  if (IsForEachLane(instruction)) return EmitForEachLane(instruction);
  if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) return EmitExtract(*extract);
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return EmitStore(*store);
  const Shape shape = shapes_.Of(&instruction);
  if (shape.Uniform()) return Define(&instruction, {CloneScalar(instruction), b_.getTrue(), nullptr});
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return EmitLoad(*load);
  Wide wide;
  wide.vector = EmitVector(instruction);
  if (shape.Strided()) {
    wide.scalar = CloneScalar(instruction);
    wide.exact = EmitExact(instruction);
  }
  Define(&instruction, wide);
}

Value* Widener::CloneScalar(const llvm::Instruction& instruction) {
  // Of what is uniform because the lanes differ too little: the first lane's.
  llvm::Instruction* clone = instruction.clone();
  for (llvm::Use& use : clone->operands()) {
    if (llvm::isa<llvm::Function>(use.get())) continue;
    const Wide wide = Get(use.get());
    use.set(wide.scalar != nullptr ? wide.scalar : b_.CreateExtractElement(wide.vector, uint64_t{0}));
  }
  clone->dropPoisonGeneratingFlags();  // the first lane may be of a thread that is not here
  return b_.Insert(clone);
}

// No wrapping between the first and the last lane of what an extension widens.
Value* Widener::EmitExact(const llvm::Instruction& instruction) {
  Value* exact = b_.getTrue();
  for (Value* operand : instruction.operands()) {
    if (!llvm::isa<llvm::Function>(operand)) exact = b_.CreateAnd(exact, Exact(operand));
  }
  if (!llvm::isa<llvm::SExtInst, llvm::ZExtInst>(instruction)) return exact;
  const bool sign = llvm::isa<llvm::SExtInst>(instruction);
  const Interior* interior = form_.interior;
  if (interior != nullptr && interior->steady.contains({instruction.getOperand(0), sign})) return exact;
  const int64_t span = shapes_.Of(instruction.getOperand(0)).stride * static_cast<int64_t>(lanes_ - 1);
  return b_.CreateAnd(exact, StaysInType(b_, Scalar(instruction.getOperand(0)), span, sign));
}

Value* Widener::EmitVector(llvm::Instruction& i) {
  if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&i)) {
    Value* divisor = Vector(i.getOperand(1));
    // What a thread that is not here divides by may be zero.
    if (i.isIntDivRem()) divisor = b_.CreateSelect(mask_, divisor, llvm::ConstantInt::get(divisor->getType(), 1));
    return b_.CreateBinOp(operation->getOpcode(), Vector(i.getOperand(0)), divisor);
  }
  if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&i)) {
    return b_.CreateCast(cast->getOpcode(), Vector(i.getOperand(0)), WideType(i.getType()));
  }
  if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(&i)) {
    return b_.CreateCmp(compare->getPredicate(), Vector(i.getOperand(0)), Vector(i.getOperand(1)));
  }
  if (llvm::isa<llvm::SelectInst>(i)) {
    return b_.CreateSelect(Vector(i.getOperand(0)), Vector(i.getOperand(1)), Vector(i.getOperand(2)));
  }
  if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) {
    std::vector<Value*> indices;
    for (Value* index : address->indices()) {
      indices.push_back(llvm::isa<llvm::Constant>(index) ? index : Vector(index));
    }
    Value* base = address->getPointerOperand();
    base = shapes_.Of(base).Uniform() ? Scalar(base) : Vector(base);
    return b_.CreateGEP(address->getSourceElementType(), base, indices);
  }
  if (llvm::isa<llvm::FreezeInst>(i)) return b_.CreateFreeze(Vector(i.getOperand(0)));
  if (i.getOpcode() == llvm::Instruction::FNeg) return b_.CreateFNeg(Vector(i.getOperand(0)));
  return EmitIntrinsic(llvm::cast<llvm::IntrinsicInst>(i));
}

Value* Widener::EmitIntrinsic(llvm::IntrinsicInst& call) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  std::vector<llvm::Type*> types = {WideType(call.getType())};
  std::vector<Value*> arguments;
  for (unsigned a = 0; a < call.arg_size(); ++a) {
    Value* argument = call.getArgOperand(a);
    arguments.push_back(llvm::isVectorIntrinsicWithScalarOpAtArg(id, a) ? Scalar(argument) : Vector(argument));
    if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(a))) {
      types.push_back(arguments.back()->getType());
    }
  }
  return b_.CreateCall(llvm::Intrinsic::getDeclaration(wide_.getParent(), id, types), arguments);
}

// An address computed in the same block, of a base that all lanes have and an index that is each one's; else null.
llvm::GetElementPtrInst* Widener::OneBase(Value* operand, const llvm::Instruction& user) const {
  auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(operand);
  const bool fits = address != nullptr && address->getParent() == user.getParent() && address->getNumIndices() == 1 &&
                    shapes_.Of(address->getPointerOperand()).Uniform() && !shapes_.Of(*address->idx_begin()).Uniform();
  return fits ? address : nullptr;
}

// for each lane of the mask, lowest first: the instruction, on that lane's operands.
void Widener::EmitForEachLane(llvm::Instruction& instruction) {
  std::vector<Wide> operands, offsets(instruction.getNumOperands());
  for (Value* operand : instruction.operands()) {
    if (auto* address = OneBase(operand, instruction)) {
      // Each lane's from the base they have in common, which needs to be confined only once (jit/confine.h).
      offsets[operands.size()] = Get(*address->idx_begin());
      operands.push_back(Get(address->getPointerOperand()));
      continue;
    }
    const bool fixed = llvm::isa<llvm::Function>(operand) || llvm::isa<llvm::Constant>(operand);
    operands.push_back(fixed ? Wide{operand, nullptr, nullptr} : Get(operand));
  }
  llvm::Type* type = instruction.getType();
  auto* pair = IsPair(&instruction) ? llvm::cast<llvm::StructType>(type) : nullptr;
  llvm::AllocaInst* results = type->isVoidTy()  ? nullptr
                              : pair != nullptr ? Slot(WideType(pair->getElementType(0)))
                                                : SlotsOf(&instruction).vector;
  if (pair != nullptr) seconds_[&instruction] = Slot(WideType(pair->getElementType(1)));
  Value* all = Bits(mask_);
  Block* before = b_.GetInsertBlock();
  auto *loop = NewBlock("lane"), *done = NewBlock("lanes");
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* left = b_.CreatePHI(all->getType(), 2);
  left->addIncoming(all, before);
  Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getFalse());
  lane = b_.CreateAnd(b_.CreateZExtOrTrunc(lane, b_.getInt32Ty()), b_.getInt32(lanes_ - 1));
  llvm::Instruction* clone = instruction.clone();
  for (unsigned i = 0; i < operands.size(); ++i) {
    const Wide& wide = operands[i];
    if (offsets[i].vector != nullptr) {
      auto* address = llvm::cast<llvm::GetElementPtrInst>(instruction.getOperand(i));
      clone->setOperand(i, b_.CreateGEP(address->getSourceElementType(), wide.scalar,
                                        b_.CreateExtractElement(offsets[i].vector, lane)));
      continue;
    }
    clone->setOperand(i, wide.vector != nullptr ? b_.CreateExtractElement(wide.vector, lane) : wide.scalar);
  }
  b_.Insert(clone);
  const auto put = [&](llvm::AllocaInst* slot, Value* value) {
    b_.CreateStore(b_.CreateInsertElement(Load(slot), value, lane), slot);
  };
  if (pair != nullptr) {
    put(results, b_.CreateExtractValue(clone, 0));
    put(seconds_[&instruction], b_.CreateExtractValue(clone, 1));
  } else if (results != nullptr) {
    put(results, clone);
  }
  Value* rest = b_.CreateAnd(left, b_.CreateSub(left, llvm::ConstantInt::get(left->getType(), 1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, llvm::ConstantInt::get(left->getType(), 0)), loop, done);
  b_.SetInsertPoint(done);
  if (pair != nullptr) slot_map_[&instruction].vector = results;
}

// Of a compare-and-swap: the old value, or whether it did.
void Widener::EmitExtract(llvm::ExtractValueInst& extract) {
  auto* pair = llvm::cast<llvm::Instruction>(extract.getAggregateOperand());
  Value* vector = Load(extract.getIndices()[0] == 0 ? slot_map_.at(pair).vector : seconds_.at(pair));
  Define(&extract, {nullptr, nullptr, vector});
}

// Calls `access(true)` where the lanes' addresses follow each other and `access(false)` where they need not.
void Widener::EmitAccess(Value* address, llvm::Type* type, const std::function<void(bool)>& access) {
  const Shape shape = shapes_.Of(address);
  const auto size = static_cast<int64_t>(wide_.getParent()->getDataLayout().getTypeStoreSize(type).getFixedValue());
  if (!shape.Strided() || shape.stride != size) return access(false);
  Value* exact = Exact(address);
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(exact); constant != nullptr && constant->isOne()) {
    return access(true);
  }
  // Fetched here, so that both branches may use them.
  Get(address);
  auto* consecutive = NewBlock("consecutive");
  auto* scattered = NewBlock("scattered");
  auto* done = NewBlock("accessed");
  b_.CreateCondBr(exact, consecutive, scattered);
  b_.SetInsertPoint(consecutive);
  access(true);
  b_.CreateBr(done);
  b_.SetInsertPoint(scattered);
  access(false);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

// The loads that read, with `load`, all bytes from the first lane's to the last lane's: as many as the stride has
// elements, in the order of their addresses, with nothing between them that writes. Empty if there are none.
std::vector<llvm::LoadInst*> Widener::LoadsBetween(llvm::LoadInst& load) const {
  const llvm::DataLayout& layout = wide_.getParent()->getDataLayout();
  const auto size = static_cast<int64_t>(layout.getTypeStoreSize(load.getType()).getFixedValue());
  const Shape shape = shapes_.Of(load.getPointerOperand());
  const int64_t count = shape.Strided() && shape.stride % size == 0 ? shape.stride / size : 0;
  if (!load.isSimple() || (count != 2 && count != 4)) return {};
  const auto take_apart = [&layout](llvm::LoadInst& of) {
    llvm::APInt offset(64, 0);
    const Value* base = of.getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    return std::pair(base, offset.getSExtValue());
  };
  const auto [base, offset] = take_apart(load);
  std::map<int64_t, llvm::LoadInst*> loads;
  for (llvm::Instruction* i = &load; i != nullptr && !i->mayWriteToMemory(); i = i->getNextNode()) {
    auto* other = llvm::dyn_cast<llvm::LoadInst>(i);
    if (other == nullptr || other->getType() != load.getType() || !other->isSimple() || met_loads_.contains(other))
      continue;
    const auto [its_base, its_offset] = take_apart(*other);
    if (its_base == base) loads.emplace(its_offset, other);
  }
  for (int64_t before = 0; before < count; ++before) {
    std::vector<llvm::LoadInst*> all;
    for (int64_t i = 0; i < count; ++i) {
      const auto found = loads.find(offset + (i - before) * size);
      if (found != loads.end()) all.push_back(found->second);
    }
    if (static_cast<int64_t>(all.size()) == count) return all;
  }
  return {};
}

// Vectors that each thread loads, such as of 16 bytes: what all lanes load is one piece, to be sorted by shuffles.
void Widener::EmitLoadsBetween(llvm::LoadInst& load, const std::vector<llvm::LoadInst*>& all) {
  llvm::Type* type = load.getType();
  const auto count = static_cast<unsigned>(all.size());
  const auto size = static_cast<int64_t>(wide_.getParent()->getDataLayout().getTypeStoreSize(type).getFixedValue());
  const auto place = std::find(all.begin(), all.end(), &load) - all.begin();
  met_loads_.insert(all.begin(), all.end());
  Value* exact = Exact(load.getPointerOperand());
  const Wide address = Get(load.getPointerOperand());
  Value* whole = b_.CreateICmpEQ(Bits(mask_), llvm::Constant::getAllOnesValue(b_.getIntNTy(lanes_)));
  auto *at_once = NewBlock("at_once"), *apart = NewBlock("apart"), *done = NewBlock("loaded");
  b_.CreateCondBr(b_.CreateAnd(exact, whole), at_once, apart);
  const auto at = [&](Value* from, int64_t index) {
    return b_.CreateGEP(b_.getInt8Ty(), from, b_.getInt64(static_cast<uint64_t>((index - place) * size)));
  };
  b_.SetInsertPoint(at_once);
  auto* piece_type = llvm::FixedVectorType::get(type, lanes_ * count);
  Value* piece = b_.CreateAlignedLoad(piece_type, at(address.scalar, 0), all[0]->getAlign());
  for (unsigned i = 0; i < count; ++i) {
    b_.CreateStore(b_.CreateShuffleVector(piece, llvm::createStrideMask(i, count, lanes_)), SlotsOf(all[i]).vector);
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(apart);
  for (unsigned i = 0; i < count; ++i) {
    Value* none = llvm::Constant::getNullValue(WideType(type));
    b_.CreateStore(b_.CreateMaskedGather(WideType(type), at(address.vector, i), all[i]->getAlign(), mask_, none),
                   SlotsOf(all[i]).vector);
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

void Widener::EmitLoad(llvm::LoadInst& load) {
  if (met_loads_.contains(&load)) return;
  if (const std::vector<llvm::LoadInst*> all = LoadsBetween(load); !all.empty()) return EmitLoadsBetween(load, all);
  llvm::Type* type = WideType(load.getType());
  Value* address = load.getPointerOperand();
  llvm::AllocaInst* slot = SlotsOf(&load).vector;
  EmitAccess(address, load.getType(), [&](bool consecutive) {
    Value* zero = llvm::Constant::getNullValue(type);
    Value* value = consecutive ? b_.CreateMaskedLoad(type, Scalar(address), load.getAlign(), mask_, zero)
                               : b_.CreateMaskedGather(type, Vector(address), load.getAlign(), mask_, zero);
    b_.CreateStore(value, slot);
  });
}

void Widener::EmitStore(llvm::StoreInst& store) {
  Value* address = store.getPointerOperand();
  Value* value = store.getValueOperand();
  if (shapes_.Of(address).Uniform() && shapes_.Of(value).Uniform()) {
    b_.CreateAlignedStore(Scalar(value), Scalar(address), store.getAlign());
    return;
  }
  Value* vector = Vector(value);
  EmitAccess(address, value->getType(), [&](bool consecutive) {
    if (consecutive) {
      b_.CreateMaskedStore(vector, Scalar(address), store.getAlign(), mask_);
    } else {
      b_.CreateMaskedScatter(vector, Vector(address), store.getAlign(), mask_);
    }
  });
}

// What other code for the same threads, which knows the value to be strided or uniform, reloads: the lanes, the first
// lane's value and whether the others follow from it.
void Widener::EmitKeep(llvm::CallInst& call) {
  Value* value = call.getArgOperand(0);
  llvm::Type* type = value->getType();
  const Shape shape = shapes_.Of(value);
  const int64_t stride = llvm::cast<llvm::ConstantInt>(call.getArgOperand(5))->getSExtValue();
  const bool as_known = shape.kind == Shape::kAffine && shape.stride == stride;
  failed_ |= stride == 0 && !as_known;
  Value* x = Scalar(call.getArgOperand(4));
  Value* group = b_.CreateLShr(x, llvm::Log2_32(lanes_));
  const auto element = [&](unsigned array, llvm::Type* of, Value* index) {
    return b_.CreateGEP(of, Scalar(call.getArgOperand(array)), index);
  };
  const llvm::Align align = wide_.getParent()->getDataLayout().getABITypeAlign(type);
  b_.CreateMaskedStore(Vector(value), element(1, type, x), align, mask_);
  if (as_known) b_.CreateStore(Scalar(value), element(2, type, group));
  Value* exact = !as_known ? b_.getFalse() : stride == 0 ? b_.getTrue() : Exact(value);
  b_.CreateStore(b_.CreateZExt(exact, b_.getInt8Ty()), element(3, b_.getInt8Ty(), group));
}

void Widener::EmitReload(llvm::CallInst& call) {
  llvm::Type* type = call.getType();
  Value* x = Scalar(call.getArgOperand(3));
  Value* group = b_.CreateLShr(x, llvm::Log2_32(lanes_));
  const auto element = [&](unsigned array, llvm::Type* of, Value* index) {
    return b_.CreateGEP(of, Scalar(call.getArgOperand(array)), index);
  };
  const llvm::Align align = wide_.getParent()->getDataLayout().getABITypeAlign(type);
  Wide wide;
  wide.scalar = b_.CreateLoad(type, element(1, type, group));
  if (shapes_.Of(&call).Uniform()) return Define(&call, wide);
  wide.vector = b_.CreateMaskedLoad(WideType(type), element(0, type, x), align, mask_,
                                    llvm::Constant::getNullValue(WideType(type)));
  wide.exact = b_.CreateTrunc(b_.CreateLoad(b_.getInt8Ty(), element(2, b_.getInt8Ty(), group)), b_.getInt1Ty());
  Define(&call, wide);
}

}  // namespace wharf::device::soft
