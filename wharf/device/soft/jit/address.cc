#include "wharf/device/soft/jit/address.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <bit>

namespace wharf::device::soft {
namespace {

using llvm::Value;

constexpr int kMaxDepth = 8;
constexpr __int128 kUseful = __int128{1} << 40;

std::optional<Bounds> Useful(Bounds bounds) {
  if (bounds.low < -kUseful || bounds.high > kUseful) return std::nullopt;
  return bounds;
}

unsigned BitsOf(const Value* value) { return value->getType()->getScalarSizeInBits(); }

Bounds OfSigned(unsigned bits) { return {-(__int128{1} << (bits - 1)), (__int128{1} << (bits - 1)) - 1}; }

const llvm::ConstantInt* ConstantOf(const Value* value) {
  if (auto* scalar = llvm::dyn_cast<llvm::ConstantInt>(value)) return scalar;
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant == nullptr || !value->getType()->isVectorTy()) return nullptr;
  return llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue());
}

Bounds Scaled(Bounds bounds, __int128 factor) {
  const __int128 a = bounds.low * factor, b = bounds.high * factor;
  return {std::min(a, b), std::max(a, b)};
}

std::optional<Bounds> OfLanes(const llvm::ConstantDataVector* vector) {
  if (!vector->getElementType()->isIntegerTy()) return std::nullopt;
  Bounds all{vector->getElementAsAPInt(0).getSExtValue(), vector->getElementAsAPInt(0).getSExtValue()};
  for (unsigned i = 1; i < vector->getNumElements(); ++i) {
    const __int128 lane = vector->getElementAsAPInt(i).getSExtValue();
    all = {std::min(all.low, lane), std::max(all.high, lane)};
  }
  return Useful(all);
}

std::optional<Bounds> Of(const Value* value, int depth);

// The counter of a loop that starts at one constant and grows by another.
struct Counter {
  const llvm::PHINode* value;
  const llvm::BinaryOperator* next;  // its value in the next round
  __int128 first, step;
};

// What is compared to a constant right before the loop begins again, which it does if the comparison is true.
struct Again {
  const llvm::Value* compared;
  llvm::ICmpInst::Predicate predicate;
  const llvm::ConstantInt* limit;
};

std::optional<Again> ConditionOf(const llvm::BasicBlock* last, const llvm::BasicBlock* loop) {
  auto* jump = llvm::dyn_cast<llvm::BranchInst>(last->getTerminator());
  if (jump == nullptr || !jump->isConditional() || jump->getSuccessor(0) == jump->getSuccessor(1)) return std::nullopt;
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(jump->getCondition());
  const llvm::ConstantInt* limit = compare == nullptr ? nullptr : ConstantOf(compare->getOperand(1));
  if (limit == nullptr) return std::nullopt;
  const bool if_true = jump->getSuccessor(0) == loop;
  return Again{compare->getOperand(0), if_true ? compare->getPredicate() : compare->getInversePredicate(), limit};
}

// It goes through these values and no others, whatever else the code does.
std::optional<Bounds> OfCounter(const Counter& counter, const Again& again) {
  const __int128 from = counter.first, by = counter.step, limit = again.limit->getSExtValue();
  if (again.predicate == llvm::ICmpInst::ICMP_NE && again.compared == counter.next) {
    if (by == 0 || (limit - from) % by != 0 || (limit - from) / by <= 0) return std::nullopt;
    return Useful({std::min(from, limit - by), std::max(from, limit - by)});
  }
  // Below a limit: all values from the second on, or those that they are made of.
  if (again.predicate != llvm::ICmpInst::ICMP_ULT || limit <= 0) return std::nullopt;
  Bounds later{0, limit - 1};
  if (again.compared == counter.value) {
    later = {later.low + by, later.high + by};
  } else if (again.compared != counter.next) {
    return std::nullopt;
  }
  return Useful({std::min(from, later.low), std::max(from, later.high)});
}

std::optional<Bounds> OfCounter(const llvm::PHINode* value) {
  if (value->getNumIncomingValues() != 2 || !value->getType()->isIntegerTy()) return std::nullopt;
  for (const unsigned back : {0U, 1U}) {
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(value->getIncomingValue(back));
    const llvm::ConstantInt* first = ConstantOf(value->getIncomingValue(1 - back));
    if (next == nullptr || next->getOpcode() != llvm::Instruction::Add || next->getOperand(0) != value) continue;
    const llvm::ConstantInt* step = ConstantOf(next->getOperand(1));
    const std::optional<Again> again = ConditionOf(value->getIncomingBlock(back), value->getParent());
    if (first == nullptr || step == nullptr || !again) continue;
    return OfCounter(Counter{value, next, first->getSExtValue(), step->getSExtValue()}, *again);
  }
  return std::nullopt;
}

std::optional<Bounds> OfOperation(const llvm::BinaryOperator* operation, int depth) {
  const Value* left = operation->getOperand(0);
  const llvm::ConstantInt* constant = ConstantOf(operation->getOperand(1));
  switch (operation->getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub: {
      const auto a = Of(left, depth + 1), b = Of(operation->getOperand(1), depth + 1);
      if (!a || !b) return std::nullopt;
      if (operation->getOpcode() == llvm::Instruction::Add) return Useful({a->low + b->low, a->high + b->high});
      return Useful({a->low - b->high, a->high - b->low});
    }
    case llvm::Instruction::Or: {
      const auto a = Of(left, depth + 1), b = Of(operation->getOperand(1), depth + 1);
      if (!a || !b || a->low < 0 || b->low < 0) return std::nullopt;
      const auto high = static_cast<uint64_t>(std::max(a->high, b->high));
      return Useful({std::max(a->low, b->low), __int128{std::bit_ceil(high + 1)} - 1});
    }
    case llvm::Instruction::Shl: {
      const auto a = Of(left, depth + 1);
      if (!a || constant == nullptr || constant->getValue().uge(16)) return std::nullopt;
      return Useful(Scaled(*a, __int128{1} << constant->getZExtValue()));
    }
    case llvm::Instruction::Mul: {
      const auto a = Of(left, depth + 1);
      if (!a || constant == nullptr || constant->getValue().getMinSignedBits() > 40) return std::nullopt;
      return Useful(Scaled(*a, constant->getSExtValue()));
    }
    case llvm::Instruction::And:
      if (constant == nullptr || constant->isNegative()) return std::nullopt;
      return Useful({0, constant->getSExtValue()});
    case llvm::Instruction::LShr:
      if (constant == nullptr || constant->isZero() || constant->getValue().uge(BitsOf(operation))) {
        return std::nullopt;
      }
      return Useful({0, (__int128{1} << (BitsOf(operation) - constant->getZExtValue())) - 1});
    default:
      return std::nullopt;
  }
}

std::optional<Bounds> Of(const Value* value, int depth) {
  if (!value->getType()->isIntOrIntVectorTy() || BitsOf(value) > 64 || depth > kMaxDepth) return std::nullopt;
  if (const llvm::ConstantInt* constant = ConstantOf(value)) {
    return Useful({constant->getSExtValue(), constant->getSExtValue()});
  }
  if (auto* lanes = llvm::dyn_cast<llvm::ConstantDataVector>(value)) return OfLanes(lanes);
  if (auto* extension = llvm::dyn_cast<llvm::CastInst>(value)) {
    const unsigned bits = BitsOf(extension->getOperand(0));
    if (llvm::isa<llvm::SExtInst>(extension) && bits <= 32) return OfSigned(bits);
    if (llvm::isa<llvm::ZExtInst>(extension) && bits <= 32) return Bounds{0, (__int128{1} << bits) - 1};
  }
  if (BitsOf(value) <= 32) return OfSigned(BitsOf(value));
  // Only of 64 bits from here on: what is narrower may wrap on the way.
  if (BitsOf(value) != 64) return std::nullopt;
  if (auto* counter = llvm::dyn_cast<llvm::PHINode>(value)) return OfCounter(counter);
  if (auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value)) return OfOperation(operation, depth);
  return std::nullopt;
}

class Splitter {
 public:
  Splitter(const llvm::DataLayout& layout, int64_t limit) : layout_(layout), limit_(limit) {}

  // Adds `value` to the sum; false, and an unchanged sum, if it would have two bases or leave the bounds.
  bool Add(Value* value, AddressSum* sum, int depth = 0) {
    const AddressSum before = *sum;
    if (AddParts(value, sum, depth) || (*sum = before, AddWhole(value, sum))) return true;
    *sum = before;
    return false;
  }

 private:
  bool Grow(AddressSum* sum, Bounds by) const {
    sum->bounds = {sum->bounds.low + by.low, sum->bounds.high + by.high};
    return sum->bounds.low >= -limit_ && sum->bounds.high <= limit_;
  }

  bool AddConstant(__int128 constant, AddressSum* sum) const {
    if (!Grow(sum, {constant, constant})) return false;
    sum->constant += static_cast<int64_t>(constant);
    return true;
  }

  bool AddSummand(Value* value, int64_t scale, AddressSum* sum) const {
    const std::optional<Bounds> bounds = BoundsOf(value);
    if (!bounds || scale > (1 << 20) || scale < -(1 << 20)) return false;
    if (bounds->low == bounds->high && ConstantOf(value) != nullptr) return AddConstant(bounds->low * scale, sum);
    auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
    if (scale == 1 && operation != nullptr && operation->getOpcode() == llvm::Instruction::Shl && BitsOf(value) == 64) {
      const llvm::ConstantInt* by = ConstantOf(operation->getOperand(1));
      if (by != nullptr && by->getValue().ule(3) && BoundsOf(operation->getOperand(0))) {
        return AddSummand(operation->getOperand(0), int64_t{1} << by->getZExtValue(), sum);
      }
    }
    sum->summands.push_back({value, scale});
    return Grow(sum, Scaled(*bounds, scale));
  }

  static bool AddWhole(Value* value, AddressSum* sum) {
    if (sum->base != nullptr) return false;
    sum->base = value;
    return true;
  }

  bool AddParts(Value* value, AddressSum* sum, int depth) {
    if (depth > kMaxDepth) return false;
    if (llvm::isa<llvm::ConstantPointerNull>(value)) return true;
    if (value->getType()->isVectorTy() && !llvm::isa<llvm::Constant>(value)) {
      if (Value* splat = const_cast<Value*>(llvm::getSplatValue(value))) return Add(splat, sum, depth + 1);
    }
    if (value->getType()->isIntOrIntVectorTy() && AddBounded(value, sum)) return true;
    auto* operation = llvm::dyn_cast<llvm::Operator>(value);
    if (operation == nullptr) return false;
    switch (operation->getOpcode()) {
      case llvm::Instruction::Add:
        return Add(operation->getOperand(0), sum, depth + 1) && Add(operation->getOperand(1), sum, depth + 1);
      case llvm::Instruction::PtrToInt:
        return BitsOf(value) == 64 && Add(operation->getOperand(0), sum, depth + 1);
      case llvm::Instruction::IntToPtr:
        return BitsOf(operation->getOperand(0)) == 64 && Add(operation->getOperand(0), sum, depth + 1);
      case llvm::Instruction::GetElementPtr:
        return AddElement(llvm::cast<llvm::GEPOperator>(operation), sum, depth);
      default:
        return false;
    }
  }

  bool AddBounded(Value* value, AddressSum* sum) const {
    const AddressSum before = *sum;
    if (AddSummand(value, 1, sum)) return true;
    *sum = before;
    return false;
  }

  bool AddElement(llvm::GEPOperator* element, AddressSum* sum, int depth) {
    for (auto type = llvm::gep_type_begin(element), end = llvm::gep_type_end(element); type != end; ++type) {
      if (type.isStruct()) return false;
      const llvm::TypeSize size = layout_.getTypeAllocSize(type.getIndexedType());
      Value* index = type.getOperand();
      if (size.isScalable()) return false;
      const auto scale = static_cast<int64_t>(size.getFixedValue());
      const AddressSum before = *sum;
      if (AddSummand(index, scale, sum)) continue;
      *sum = before;
      if (scale != 1 || BitsOf(index) != 64 || !Add(index, sum, depth + 1)) return false;
    }
    return Add(element->getPointerOperand(), sum, depth + 1);
  }

  const llvm::DataLayout& layout_;
  const int64_t limit_;
};

}  // namespace

std::optional<Bounds> BoundsOf(const Value* value) { return Of(value, 0); }

AddressSum TakeApart(Value* address, const llvm::DataLayout& layout, int64_t limit) {
  AddressSum sum;
  Splitter(layout, limit).Add(address, &sum);
  return sum;
}

}  // namespace wharf::device::soft
