#include "wharf/device/soft/jit/confine.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <vector>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/jit/address.h"
#include "wharf/device/soft/jit/local_frame.h"
#include "wharf/device/soft/jit/walls.h"

namespace wharf::device::soft {
namespace {

using llvm::Value;

// An access at a confined address reaches no further; the rest of kAddressSlack is for offsets.
constexpr int64_t kMaxAccess = int64_t{1} << 20;
constexpr int64_t kMaxOffset = static_cast<int64_t>(kAddressSlack) - kMaxAccess;

// What is in a register that nothing was put in is nobody's business.
void ReplaceUndefined(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    // Lanes that are put in or picked later; none of the others is used.
    if (llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst>(instruction)) continue;
    for (llvm::Use& use : instruction.operands()) {
      auto* constant = llvm::dyn_cast<llvm::Constant>(use.get());
      if (constant == nullptr || constant->getType()->isMetadataTy()) continue;
      if (llvm::isa<llvm::UndefValue>(constant)) {
        use.set(llvm::Constant::getNullValue(constant->getType()));
      } else if (constant->getType()->isVectorTy() && constant->containsUndefOrPoisonElement()) {
        auto* zero = llvm::Constant::getNullValue(llvm::cast<llvm::VectorType>(constant->getType())->getElementType());
        use.set(llvm::Constant::replaceUndefsWith(constant, zero));
      }
    }
  }
}

// What LLVM has found out about a function's accesses, which is no longer so.
void ForgetMemoryEffects(llvm::Function& function) {
  function.removeFnAttr(llvm::Attribute::Memory);
  for (llvm::Argument& argument : function.args()) {
    for (const auto attribute : {llvm::Attribute::ReadNone, llvm::Attribute::ReadOnly, llvm::Attribute::WriteOnly}) {
      argument.removeAttr(attribute);
    }
  }
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call)) call->removeFnAttr(llvm::Attribute::Memory);
  }
}

class Confiner {
 public:
  explicit Confiner(Walls& walls)
      : walls_(walls), layout_(walls.function()->getParent()->getDataLayout()), b_(walls.function()->getContext()) {}

  absl::Status Run() {
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(walls_.function())) instructions.push_back(&instruction);
    for (llvm::Instruction* instruction : instructions) WHARF_RETURN_IF_ERROR(Visit(*instruction));
    return absl::OkStatus();
  }

 private:
  absl::Status Visit(llvm::Instruction& i) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) return Access(i, 0, load->getType(), /*writes=*/false);
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
      return Access(i, 1, store->getValueOperand()->getType(), true);
    if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) return Access(i, 0, update->getType(), true);
    if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) {
      return Access(i, 0, swap->getCompareOperand()->getType(), true);
    }
    if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) return VisitIntrinsic(*intrinsic);
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&i)) return VisitCall(*call);
    if (llvm::isa<llvm::FenceInst, llvm::AllocaInst, llvm::BranchInst, llvm::SwitchInst, llvm::ReturnInst,
                  llvm::UnreachableInst>(i)) {
      return absl::OkStatus();
    }
    return i.isTerminator() || i.mayReadOrWriteMemory() ? CannotConfine(i) : absl::OkStatus();
  }

  absl::Status VisitIntrinsic(llvm::IntrinsicInst& i) {
    switch (i.getIntrinsicID()) {
      case llvm::Intrinsic::masked_load:
      case llvm::Intrinsic::masked_gather:
      case llvm::Intrinsic::masked_expandload:
        return Access(i, 0, i.getType(), false);
      case llvm::Intrinsic::masked_store:
      case llvm::Intrinsic::masked_scatter:
        return Access(i, 1, i.getArgOperand(0)->getType(), true);
      case llvm::Intrinsic::masked_compressstore:
        return Access(i, 1, i.getArgOperand(0)->getType(), true);
      case llvm::Intrinsic::prefetch:
        return Access(i, 0, b_.getInt8Ty(), false);
      case llvm::Intrinsic::memcpy:
      case llvm::Intrinsic::memmove:
        WHARF_RETURN_IF_ERROR(AccessRange(i, 1, false));
        return AccessRange(i, 0, true);
      case llvm::Intrinsic::memset:
        return AccessRange(i, 0, true);
      case llvm::Intrinsic::assume:
        i.eraseFromParent();
        return absl::OkStatus();
      default:
        break;
    }
    if (i.isLifetimeStartOrEnd()) return absl::OkStatus();
    const bool has_pointer =
        std::any_of(i.arg_begin(), i.arg_end(), [](const Value* v) { return v->getType()->isPtrOrPtrVectorTy(); });
    return has_pointer ? CannotConfine(i) : absl::OkStatus();
  }

  // Of a copy or fill of a fixed length.
  absl::Status AccessRange(llvm::IntrinsicInst& i, unsigned pointer, bool writes) {
    auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(i.getArgOperand(2));
    if (bytes == nullptr || bytes->getValue().ugt(kMaxAccess)) return CannotConfine(i);
    return Access(i, pointer, llvm::ArrayType::get(b_.getInt8Ty(), bytes->getZExtValue()), writes);
  }

  // Functions of the module take what pointers they are given as a kernel's; the runtime takes none of these.
  absl::Status VisitCall(llvm::CallInst& call) {
    llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr) return CannotConfine(call);
    const bool copies = callee->isDeclaration() && callee->getName() == "wharf_copy_and_zero";
    for (unsigned a = 0; a < call.arg_size(); ++a) {
      const Value* argument = call.getArgOperand(a);
      if (!argument->getType()->isPtrOrPtrVectorTy() || llvm::isa<llvm::ConstantPointerNull>(argument)) continue;
      if (copies && a < 2) {
        WHARF_RETURN_IF_ERROR(Access(call, a, llvm::ArrayType::get(b_.getInt8Ty(), 16), a == 0));
      } else if (!MayHandOver(*callee, a, argument)) {
        return CannotConfine(call);
      }
    }
    return absl::OkStatus();
  }

  bool MayHandOver(const llvm::Function& callee, unsigned at, const Value* argument) const {
    const Place place = walls_.PlaceOf(argument);
    if (!callee.isDeclaration()) {
      const llvm::AttributeSet attributes = callee.getAttributes().getParamAttrs(at);
      if (attributes.hasAttribute(kBlockAttribute)) return place == Place::kBlock;
      if (attributes.hasAttribute(kThreadAttribute)) return place == Place::kThread;
      return place != Place::kSlot;
    }
    return place == Place::kBlock || place == Place::kThread || place == Place::kSlot;
  }

  // Confines operand `pointer` of `i`, which reads or writes as much as `type` has.
  absl::Status Access(llvm::Instruction& i, unsigned pointer, llvm::Type* type, bool writes) {
    const uint64_t bytes = layout_.getTypeStoreSize(type).getFixedValue();
    Value* address = i.getOperand(pointer);
    if (address->getType()->isPointerTy()) {
      llvm::APInt offset(64, 0);
      const Value* base = address->stripAndAccumulateConstantOffsets(layout_, offset, /*AllowNonInbounds=*/true);
      const Place place = walls_.PlaceOf(base);
      if (place == Place::kBlock || place == Place::kThread || place == Place::kSlot) {
        return IsAllowed(base, place, offset.getSExtValue(), bytes, writes) ? absl::OkStatus() : CannotConfine(i);
      }
      if (!writes && IsInConstant(base, offset.getSExtValue(), bytes)) return absl::OkStatus();
    }
    if (bytes > kMaxAccess || walls_.block() == nullptr) return CannotConfine(i);
    WHARF_ASSIGN_OR_RETURN(Value * confined, Confined(address));
    i.setOperand(pointer, confined);
    return absl::OkStatus();
  }

  // What is the compiled code's own is read at constant offsets; of the contexts it writes one field.
  bool IsAllowed(const Value* base, Place place, int64_t offset, uint64_t bytes, bool writes) const {
    if (offset < 0) return false;
    const uint64_t at = static_cast<uint64_t>(offset);
    uint64_t size = place == Place::kBlock ? sizeof(BlockContext) : sizeof(ThreadContext);
    if (place == Place::kSlot) {
      size = llvm::cast<llvm::AllocaInst>(base)->getAllocationSize(layout_)->getFixedValue();
    } else if (writes) {
      const size_t stack =
          place == Place::kBlock ? offsetof(BlockContext, local_stack) : offsetof(ThreadContext, local_stack);
      return at == stack && bytes == sizeof(uintptr_t);
    }
    return at <= size && bytes <= size - at;
  }

  // In a table that LLVM made.
  bool IsInConstant(const Value* base, int64_t offset, uint64_t bytes) const {
    auto* table = llvm::dyn_cast<llvm::GlobalVariable>(base);
    if (table == nullptr || !table->isConstant() || !table->hasInitializer() || offset < 0) return false;
    const uint64_t size = layout_.getTypeAllocSize(table->getValueType()).getFixedValue();
    return static_cast<uint64_t>(offset) <= size && bytes <= size - static_cast<uint64_t>(offset);
  }

  absl::StatusOr<Value*> Confined(Value* address) {
    if (auto found = confined_.find(address); found != confined_.end()) return found->second;
    const AddressSum sum = TakeApart(address, layout_, kMaxOffset);
    Value* base = sum.base;
    const Place place = base == nullptr ? Place::kElsewhere : walls_.PlaceOf(base);
    if (place == Place::kBlock || place == Place::kThread || place == Place::kSlot) return CannotConfine(*address);
    if (place == Place::kConfined) return confined_[address] = address;
    if (base == nullptr) base = b_.getInt64(0);
    base = walls_.ConfineAtDefinition(base);
    b_.SetInsertPoint(AfterConfined(address, base));
    return confined_[address] = Sum(base, sum, address->getType());
  }

  // Where both are there; `base` is computed from something `address` is computed from, or from `address`.
  llvm::Instruction* AfterConfined(Value* address, Value* base) const {
    llvm::Instruction* after = walls_.After(address);
    auto* last = llvm::cast<llvm::Instruction>(base);
    return after->getParent() == last->getParent() && after->comesBefore(last) ? last->getNextNode()
           : after == last                                                     ? last->getNextNode()
                                                                               : after;
  }

  Value* Sum(Value* base, const AddressSum& sum, llvm::Type* type) {
    Value* address = base;
    std::vector<AddressSum::Summand> lanes;
    for (const AddressSum::Summand& summand : sum.summands) {
      if (summand.value->getType()->isVectorTy()) {
        lanes.push_back(summand);
      } else {
        address = AddScaled(address, summand.value, summand.scale);
      }
    }
    if (sum.constant != 0) address = AddScaled(address, b_.getInt64(static_cast<uint64_t>(sum.constant)), 1);
    if (lanes.size() == 1) {
      address = AddScaled(address, lanes[0].value, lanes[0].scale);
    } else if (!lanes.empty()) {
      Value* all = nullptr;
      for (const AddressSum::Summand& lane : lanes) {
        llvm::Type* wide = llvm::VectorType::get(b_.getInt64Ty(), llvm::cast<llvm::VectorType>(lane.value->getType()));
        Value* scaled = b_.CreateSExt(lane.value, wide);
        if (lane.scale != 1)
          scaled = b_.CreateMul(scaled, llvm::ConstantInt::get(wide, static_cast<uint64_t>(lane.scale), true));
        all = all == nullptr ? scaled : b_.CreateAdd(all, scaled);
      }
      address = b_.CreateGEP(b_.getInt8Ty(), address, all);
    }
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (vector != nullptr && !address->getType()->isVectorTy()) {
      return b_.CreateVectorSplat(vector->getNumElements(), address);
    }
    return address;
  }

  Value* AddScaled(Value* address, Value* value, int64_t scale) {
    if (scale == 1 || scale == 2 || scale == 4 || scale == 8) {
      return b_.CreateGEP(b_.getIntNTy(static_cast<unsigned>(scale) * 8), address, value);
    }
    llvm::Type* wide = b_.getInt64Ty();
    if (auto* vector = llvm::dyn_cast<llvm::VectorType>(value->getType())) wide = llvm::VectorType::get(wide, vector);
    value = b_.CreateMul(b_.CreateSExt(value, wide), llvm::ConstantInt::get(wide, static_cast<uint64_t>(scale), true));
    return b_.CreateGEP(b_.getInt8Ty(), address, value);
  }

  Walls& walls_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> b_;
  llvm::DenseMap<Value*, Value*> confined_;  // by what they replace
};

// BlockContext::global is null, which only the vectoriser must not know.
void ReplaceGlobalBase(Walls& walls) {
  if (walls.block() == nullptr) return;
  const llvm::DataLayout& layout = walls.function()->getParent()->getDataLayout();
  std::vector<llvm::LoadInst*> loads;
  for (llvm::Instruction& instruction : llvm::instructions(walls.function())) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr || !load->getType()->isPointerTy()) continue;
    llvm::APInt offset(64, 0);
    const Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
    if (walls.PlaceOf(base) == Place::kBlock && offset == offsetof(BlockContext, global)) loads.push_back(load);
  }
  for (llvm::LoadInst* load : loads) load->replaceAllUsesWith(llvm::Constant::getNullValue(load->getType()));
}

}  // namespace

void AddConfinedAttributes(llvm::Function* function) {
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function->addFnAttr("no-jump-tables", "true");
  function->addFnAttr("no-builtins");
  function->addFnAttr("probe-stack", "inline-asm");
  // LLVM 16 probes on x86-64 only.
  if (llvm::Triple(function->getParent()->getTargetTriple()).isAArch64()) {
    function->addFnAttr("warn-stack-size", std::to_string(kMostFrameBytes));
  }
}

void DefineLocalStackBytes(llvm::Module* module, uint64_t bytes) {
  auto* type = llvm::Type::getInt64Ty(module->getContext());
  new llvm::GlobalVariable(*module, type, /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                           llvm::ConstantInt::get(type, bytes), kLocalStackSymbol);
}

absl::Status Confine(llvm::Module* module) {
  uint64_t local_bytes = 0;
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    llvm::removeUnreachableBlocks(function);
    ForgetMemoryEffects(function);
    ReplaceUndefined(function);
    Walls walls(&function);
    ReplaceGlobalBase(walls);
    WHARF_ASSIGN_OR_RETURN(const uint64_t bytes, MoveVariables(walls));
    local_bytes += bytes;
    WHARF_RETURN_IF_ERROR(Confiner(walls).Run());
  }
  DefineLocalStackBytes(module, local_bytes);
  return llvm::verifyModule(*module) ? Internal("confined code is malformed") : absl::OkStatus();
}

}  // namespace wharf::device::soft
