// Tensor-core instructions, where all lanes are here. The lanes' registers are vectors of 32 lanes; products are the
// runtime's, everything else is moving lanes.
#include <llvm/Analysis/VectorUtils.h>
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
    case TensorFunction::kRows:  // these are moved at once: kRowsLoad, kRowsStore
      return false;
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

// --- memory ---

Value* Widener::OfFirstLane(Value* value) {
  return shapes_.Of(value).Uniform() ? Scalar(value) : b_.CreateExtractElement(Vector(value), uint64_t{0});
}

Value* Widener::Pick(Value* from, unsigned count, const std::function<unsigned(unsigned)>& index) {
  std::vector<int> mask;
  for (unsigned i = 0; i < count; ++i) mask.push_back(static_cast<int>(index(i)));
  return b_.CreateShuffleVector(from, mask);
}

Value* Widener::Join(llvm::ArrayRef<Value*> vectors) {
  return vectors.size() == 1 ? vectors[0] : llvm::concatenateVectors(b_, vectors);
}

// Matrices of 8 rows of 16 bytes, whose addresses are those of 8 lanes.
bool Widener::EmitRows(llvm::CallInst& call, bool load) {
  if (lanes_ != kWarpSize) return false;
  const auto number = [&](unsigned argument) {
    return static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(argument))->getZExtValue());
  };
  Value* addresses = Vector(call.getArgOperand(1));
  const bool transposed = number(3) != 0;
  llvm::Type* row = llvm::FixedVectorType::get(b_.getInt32Ty(), 4);
  llvm::Type* halves = llvm::FixedVectorType::get(b_.getInt16Ty(), 64);
  // Elements by rows and columns from those of lanes, or the reverse: element j of lane 4 g + t is that of row 2 t + j,
  // column g, of the transposed matrix.
  const auto by_rows = [](unsigned i) { return (i % 8 * 4 + i / 16) * 2 + i / 8 % 2; };
  const auto by_lanes = [](unsigned i) { return (i / 2 % 4 * 2 + i % 2) * 8 + i / 8; };
  for (uint32_t matrix = 0; matrix < number(2); ++matrix) {
    const auto address = [&](unsigned i) { return b_.CreateExtractElement(addresses, uint64_t{8} * matrix + i); };
    if (load) {
      std::vector<Value*> rows;
      for (unsigned i = 0; i < 8; ++i) rows.push_back(b_.CreateAlignedLoad(row, address(i), llvm::Align(1)));
      Value* all = Join(rows);
      if (transposed) {
        all = b_.CreateBitCast(Pick(b_.CreateBitCast(all, halves), 64, by_lanes), WideType(b_.getInt32Ty()));
      }
      b_.CreateStore(all, TensorRegister(matrix));
      continue;
    }
    Value* all = Load(TensorRegister(matrix));
    if (transposed) {
      all = b_.CreateBitCast(Pick(b_.CreateBitCast(all, halves), 64, by_rows), WideType(b_.getInt32Ty()));
    }
    for (unsigned i = 0; i < 8; ++i) {
      b_.CreateAlignedStore(Pick(all, 4, [&](unsigned word) { return 4 * i + word; }), address(i), llvm::Align(1));
    }
  }
  return true;
}

// A tile of 8 lines of `columns` elements, whose first is at `first`. Either those of a line follow each other, and
// lines are `stride` bytes apart, or the other way round. Lane 4 g + t has the t-th quarter of line g.
bool Widener::EmitTile(llvm::CallInst& call, bool load) {
  if (lanes_ != kWarpSize) return false;
  const auto number = [&](unsigned argument) {
    return static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(argument))->getZExtValue());
  };
  Value *first = OfFirstLane(call.getArgOperand(1)), *stride = OfFirstLane(call.getArgOperand(2));
  const bool contiguous = number(5) != 0;
  // Of what is contiguous only words count.
  const unsigned bits = contiguous ? 32 : number(3), columns = number(4) * number(3) / bits;
  const unsigned runs = contiguous ? 8 : columns, length = contiguous ? columns : 8;
  const unsigned words = columns * bits / 128;
  llvm::Type* element = b_.getIntNTy(bits);
  llvm::Type* run = llvm::FixedVectorType::get(element, length);
  llvm::Type *elements = llvm::FixedVectorType::get(element, 8 * columns),
             *all_words = llvm::FixedVectorType::get(b_.getInt32Ty(), kWarpSize * words);
  const auto address = [&](unsigned i) {
    return b_.CreateGEP(b_.getInt8Ty(), first, b_.CreateMul(stride, b_.getInt64(i)));
  };
  // Of element `i` of all lanes, one behind the other: where it is in the runs.
  const auto in_runs = [&](unsigned i) {
    const unsigned line = i / columns, at = i % columns;
    return contiguous ? line * columns + at : at * 8 + line;
  };
  if (load) {
    std::vector<Value*> loaded;
    for (unsigned i = 0; i < runs; ++i) loaded.push_back(b_.CreateAlignedLoad(run, address(i), llvm::Align(1)));
    Value* all = b_.CreateBitCast(Pick(Join(loaded), 8 * columns, in_runs), all_words);
    for (unsigned word = 0; word < words; ++word) {
      b_.CreateStore(Pick(all, kWarpSize, [&](unsigned lane) { return lane * words + word; }), TensorRegister(word));
    }
    return true;
  }
  std::vector<Value*> registers;
  for (unsigned word = 0; word < words; ++word) registers.push_back(Load(TensorRegister(word)));
  Value* all = Pick(Join(registers), kWarpSize * words, [&](unsigned i) { return i % words * kWarpSize + i / words; });
  all = b_.CreateBitCast(all, elements);
  for (unsigned i = 0; i < runs; ++i) {
    Value* part = Pick(all, length, [&](unsigned j) { return contiguous ? i * columns + j : j * columns + i; });
    b_.CreateAlignedStore(part, address(i), llvm::Align(1));
  }
  return true;
}

}  // namespace wharf::device::soft
