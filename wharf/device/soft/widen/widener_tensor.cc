// Tensor-core instructions, where all lanes are here. The lanes' registers are vectors of 32 lanes; products are the
// runtime's, everything else is moving lanes.
#include <llvm/Support/ModRef.h>

#include <algorithm>
#include <bit>

#include "wharf/device/soft/runtime/tensor.h"
#include "wharf/device/soft/widen/widener_impl.h"

namespace wharf::device::soft {

using llvm::Value;

llvm::AllocaInst* Widener::TensorRegister(uint64_t number) {
  llvm::AllocaInst*& slot = tensor_registers_[number];
  if (slot == nullptr) slot = Slot(WideType(b_.getInt32Ty()));
  return slot;
}

bool Widener::EmitTensor(llvm::CallInst& call) {
  const auto number = [&](unsigned argument) {
    return static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(argument))->getZExtValue());
  };
  if (lanes_ != kWarpSize) return false;
  switch (static_cast<TensorFunction>(number(1))) {
    case TensorFunction::kWait:
      break;
    case TensorFunction::kProduct:
      EmitProduct(number(2));
      break;
    case TensorFunction::kTranspose:
      EmitTranspose();
      break;
    case TensorFunction::kRows:
      EmitRows(number(2));
      break;
  }
  return true;
}

void Widener::EmitProduct(uint32_t operation) {
  const TensorOperands operands = OperandsOf(TensorFunction::kProduct, operation);
  const uint64_t count = std::max(operands.inputs, operands.results);
  llvm::AllocaInst*& slot = tensor_slots_[count];
  llvm::Type* vector = WideType(b_.getInt32Ty());
  auto* type = llvm::ArrayType::get(vector, count);
  if (slot == nullptr) {
    slot = slots_.CreateAlloca(type);
    slot->setAlignment(llvm::Align(64));
  }
  const auto at = [&](uint32_t i) { return b_.CreateConstInBoundsGEP2_32(type, slot, 0, i); };
  // Volatile, or LLVM would make a fill of several zeros, which is no plain use of a slot (jit/local_frame.h).
  for (uint32_t i = 0; i < operands.inputs; ++i) {
    b_.CreateAlignedStore(Load(TensorRegister(i)), at(i), llvm::Align(64), /*isVolatile=*/true);
  }
  llvm::Type* i32 = b_.getInt32Ty();
  auto callee = wide_.getParent()->getOrInsertFunction(
      "wharf_tensor_lanes", llvm::FunctionType::get(b_.getVoidTy(), {i32, i32, b_.getPtrTy()}, false));
  auto* product = b_.CreateCall(
      callee, {b_.getInt32(static_cast<uint32_t>(TensorFunction::kProduct)), b_.getInt32(operation), slot});
  // It touches no memory but the slot, so that other accesses may move across it.
  product->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
  product->addParamAttr(2, llvm::Attribute::NoCapture);
  product->setDoesNotThrow();
  for (uint32_t i = 0; i < operands.results; ++i) {
    b_.CreateStore(b_.CreateAlignedLoad(vector, at(i), llvm::Align(64)), TensorRegister(i));
  }
}

void Widener::EmitTranspose() {
  Value* from = Load(TensorRegister(0));
  const auto element = [&](uint32_t which) {
    std::vector<uint32_t> lanes, shifts;
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      lanes.push_back(LaneOfTransposed(which, lane));
      shifts.push_back(IsHighHalfOfTransposed(lane) ? 16 : 0);
    }
    Value* moved = Permute(from, llvm::ConstantDataVector::get(b_.getContext(), lanes));
    moved = b_.CreateLShr(moved, llvm::ConstantDataVector::get(b_.getContext(), shifts));
    return b_.CreateAnd(moved, Splat(b_.getInt32(0xffff)));
  };
  Value* high = b_.CreateShl(element(1), Splat(b_.getInt32(16)));
  b_.CreateStore(b_.CreateOr(element(0), high), TensorRegister(0));
}

void Widener::EmitRows(uint32_t operation) {
  const auto rows = std::bit_cast<MatrixRows>(operation);
  std::vector<Value*> from;
  for (uint32_t word = 0; word < rows.words; ++word) from.push_back(Load(TensorRegister(word)));
  uint64_t to = 0;
  for (uint32_t matrix = 0; matrix < rows.matrices; ++matrix) {
    for (uint32_t which = 0; which < RowsOfLane(rows); ++which) {
      std::vector<uint32_t> lanes;
      for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
        lanes.push_back(LaneOfRow(rows.transposed, matrix, which, lane));
      }
      for (Value* word : from) {
        b_.CreateStore(Permute(word, llvm::ConstantDataVector::get(b_.getContext(), lanes)), TensorRegister(to++));
      }
    }
  }
}

}  // namespace wharf::device::soft
