// Warp operations, where all lanes that take part are here: as many lanes of a vector.
#include <llvm/IR/IntrinsicsX86.h>

#include <array>

#include "wharf/device/soft/codegen/shuffle.h"
#include "wharf/device/soft/widen/widener_impl.h"

namespace wharf::device::soft {

using llvm::Value;

namespace {

uint64_t Number(const Value* constant) { return llvm::cast<llvm::ConstantInt>(constant)->getZExtValue(); }

}  // namespace

bool Widener::EmitWarpOperation(llvm::CallInst& call, ThreadCall kind) {
  Wide result;
  switch (kind) {
    case ThreadCall::kWarpSync:
      return true;
    case ThreadCall::kActiveMask:
      result.scalar = Bits(mask_);
      break;
    case ThreadCall::kShuffle:
      result.vector = EmitShuffle(call);
      break;
    case ThreadCall::kVote:
      (shapes_.Of(&call).Uniform() ? result.scalar : result.vector) = EmitVote(call);
      break;
    case ThreadCall::kMatchAny:
    case ThreadCall::kMatchAll:
      result.vector = EmitMatch(call, kind == ThreadCall::kMatchAny);
      break;
    case ThreadCall::kRedux:
      if (!shapes_.Of(&call).Uniform()) return false;
      result.scalar = EmitRedux(call);
      break;
    case ThreadCall::kTensorPut:
      b_.CreateStore(Vector(call.getArgOperand(2)), TensorRegister(Number(call.getArgOperand(1))));
      return true;
    case ThreadCall::kTensor:
      return EmitTensor(call);
    case ThreadCall::kRowsLoad:
    case ThreadCall::kRowsStore:
      return EmitRows(call, kind == ThreadCall::kRowsLoad);
    case ThreadCall::kTileLoad:
    case ThreadCall::kTileStore:
      return EmitTile(call, kind == ThreadCall::kTileLoad);
    case ThreadCall::kTensorGet:
      result.vector = Load(TensorRegister(Number(call.getArgOperand(1))));
      break;
    default:
      return false;
  }
  Define(&call, result);
  return true;
}

Value* Widener::Participants(Value* members) {
  Value* here = Bits(mask_);
  if (shapes_.Of(members).Uniform()) return b_.CreateAnd(here, Scalar(members));
  return b_.CreateAnd(Splat(here), Vector(members));
}

// With which lanes each exchanges: those in its mask. CUDA forbids lanes that are not in their own; to GPUs they and
// all others that are there take part, if all have the same mask.
Value* Widener::Exchanging(Value* members) {
  Value* here = Bits(mask_);
  if (shapes_.Of(members).Uniform()) return here;
  Value* own = b_.CreateAnd(b_.CreateLShr(Vector(members), LaneNumbers(b_.getInt32Ty())), Splat(b_.getInt32(1)));
  Value* named = b_.CreateICmpNE(own, Splat(b_.getInt32(0)));
  return b_.CreateAnd(Splat(here), b_.CreateSelect(named, Vector(members), Splat(b_.getInt32(~0U))));
}

// Lane i of the result is lane lanes[i] of `vector`, both of 32 elements of 32 bits.
Value* Widener::Permute(Value* vector, Value* lanes) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantDataVector>(lanes)) {
    std::vector<int> from;
    for (unsigned i = 0; i < lanes_; ++i) from.push_back(static_cast<int>(constant->getElementAsInteger(i)));
    return b_.CreateShuffleVector(vector, from);
  }
  const llvm::StringRef features = thread_.getFnAttribute("target-features").getValueAsString();
  if (!features.contains("+avx512f")) {
    Value* result = llvm::Constant::getNullValue(vector->getType());
    for (uint64_t i = 0; i < lanes_; ++i) {
      Value* from = b_.CreateAnd(b_.CreateExtractElement(lanes, i), b_.getInt32(lanes_ - 1));
      result = b_.CreateInsertElement(result, b_.CreateExtractElement(vector, from), i);
    }
    return result;
  }
  const auto half = [&](Value* whole, int first) {
    std::array<int, 16> elements;
    for (int i = 0; i < 16; ++i) elements[static_cast<size_t>(i)] = first + i;
    return b_.CreateShuffleVector(whole, elements);
  };
  Value *low = half(vector, 0), *high = half(vector, 16);
  const auto pick = [&](int first) {
    return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_d_512, {}, {low, half(lanes, first), high});
  };
  std::array<int, 32> both;
  for (int i = 0; i < 32; ++i) both[static_cast<size_t>(i)] = i;
  return b_.CreateShuffleVector(pick(0), pick(16), both);
}

Value* Widener::EmitShuffle(llvm::CallInst& call) {
  const auto mode = static_cast<ShuffleMode>(Number(call.getArgOperand(1)));
  Value* value = Vector(call.getArgOperand(2));
  Value* numbers = LaneNumbers(b_.getInt32Ty());
  const ShuffledFrom source =
      ShuffleSource(b_, mode, numbers, Vector(call.getArgOperand(3)), Vector(call.getArgOperand(4)));
  Value* from = b_.CreateAnd(b_.CreateSelect(source.in_range, source.lane, numbers), Splat(b_.getInt32(31)));
  Value* moved = Permute(value, from);
  // A lane that does not take part gives 0, as on GPUs.
  Value* taking = Exchanging(call.getArgOperand(5));
  if (auto* all = llvm::dyn_cast<llvm::ConstantInt>(taking); all != nullptr && all->isMinusOne()) return moved;
  if (!taking->getType()->isVectorTy()) taking = Splat(taking);
  Value* one = Splat(b_.getInt32(1));
  Value* takes_part = b_.CreateICmpNE(b_.CreateAnd(b_.CreateLShr(taking, from), one), Splat(b_.getInt32(0)));
  return b_.CreateSelect(takes_part, moved, llvm::Constant::getNullValue(moved->getType()));
}

Value* Widener::EmitVote(llvm::CallInst& call) {
  const auto mode = static_cast<VoteMode>(Number(call.getArgOperand(1)));
  Value* yes = Vector(call.getArgOperand(2));
  Value* ballot = Bits(b_.CreateICmpNE(yes, llvm::Constant::getNullValue(yes->getType())));
  Value* taking = Participants(call.getArgOperand(3));
  if (taking->getType()->isVectorTy()) ballot = Splat(ballot);
  ballot = b_.CreateAnd(ballot, taking);
  Value* none = llvm::Constant::getNullValue(taking->getType());
  Value* all = b_.CreateICmpEQ(ballot, taking);
  switch (mode) {
    case VoteMode::kBallot:
      return ballot;
    case VoteMode::kAny:
      return b_.CreateZExt(b_.CreateICmpNE(ballot, none), taking->getType());
    case VoteMode::kAll:
      return b_.CreateZExt(all, taking->getType());
    case VoteMode::kUni:
      break;
  }
  return b_.CreateZExt(b_.CreateOr(all, b_.CreateICmpEQ(ballot, none)), taking->getType());
}

// Which lanes have the same value as each; for `all`, only if every one that takes part has.
Value* Widener::EmitMatch(llvm::CallInst& call, bool any) {
  Value* value = Vector(call.getArgOperand(1));
  // The runtime takes 64 bits; where 32 were extended, half as many vectors do.
  auto* extended = llvm::dyn_cast<llvm::ZExtInst>(call.getArgOperand(1));
  if (extended != nullptr && extended->getSrcTy()->isIntegerTy(32)) {
    value = b_.CreateTrunc(value, WideType(b_.getInt32Ty()));
  }
  Value* taking = Participants(call.getArgOperand(2));
  if (!taking->getType()->isVectorTy()) taking = Splat(taking);
  Value* equal = llvm::Constant::getNullValue(taking->getType());
  for (uint64_t lane = 0; lane < lanes_; ++lane) {
    Value* same = b_.CreateICmpEQ(value, Splat(b_.CreateExtractElement(value, lane)));
    equal = b_.CreateOr(equal, b_.CreateSelect(same, Splat(b_.getInt32(1u << lane)), Splat(b_.getInt32(0))));
  }
  equal = b_.CreateAnd(equal, taking);
  if (any) return equal;
  return b_.CreateSelect(b_.CreateICmpEQ(equal, taking), taking, Splat(b_.getInt32(0)));
}

Value* Widener::EmitRedux(llvm::CallInst& call) {
  const auto op = static_cast<ReduceOp>(Number(call.getArgOperand(1)));
  const bool sign = Number(call.getArgOperand(2)) != 0;
  Value* value = Vector(call.getArgOperand(3));
  Value* taking = Participants(call.getArgOperand(4));
  const auto reduce = [&](uint32_t neutral, auto of) {
    Value* lanes = b_.CreateBitCast(taking, mask_type_);
    return of(b_.CreateSelect(lanes, value, Splat(b_.getInt32(neutral))));
  };
  switch (op) {
    case ReduceOp::kAdd:
      return reduce(0, [&](Value* v) { return b_.CreateAddReduce(v); });
    case ReduceOp::kOr:
      return reduce(0, [&](Value* v) { return b_.CreateOrReduce(v); });
    case ReduceOp::kXor:
      return reduce(0, [&](Value* v) { return b_.CreateXorReduce(v); });
    case ReduceOp::kAnd:
      return reduce(~0u, [&](Value* v) { return b_.CreateAndReduce(v); });
    case ReduceOp::kMin:
      return reduce(sign ? 0x7fffffffu : ~0u, [&](Value* v) { return b_.CreateIntMinReduce(v, sign); });
    case ReduceOp::kMax:
      return reduce(sign ? 0x80000000u : 0u, [&](Value* v) { return b_.CreateIntMaxReduce(v, sign); });
    case ReduceOp::kPopc:
      break;
  }
  failed_ = true;
  return b_.getInt32(0);
}

}  // namespace wharf::device::soft
