// The SIMD video instructions (vabsdiff4 and so on) on all lanes, which the toolkit's SIMD intrinsics use.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

void FunctionCodegen::AddVideoHandlers(std::map<std::string_view, Handler>* handlers) {
  for (std::string_view name : {"vadd2", "vadd4", "vsub2", "vsub4", "vavrg2", "vavrg4", "vabsdiff2", "vabsdiff4",
                                "vmin2", "vmin4", "vmax2", "vmax4"}) {
    (*handlers)[name] = &FunctionCodegen::Video;
  }
}

// Operands are lanes extended to 32 bits, which no result of 16-bit lanes overflows.
llvm::Value* FunctionCodegen::VideoLane(std::string_view operation, Value* a, Value* b) {
  if (operation == "vadd") return b_.CreateAdd(a, b);
  if (operation == "vsub") return b_.CreateSub(a, b);
  if (operation == "vmin") return Intrinsic(llvm::Intrinsic::smin, {a, b});
  if (operation == "vmax") return Intrinsic(llvm::Intrinsic::smax, {a, b});
  if (operation == "vabsdiff") {
    return b_.CreateSub(Intrinsic(llvm::Intrinsic::smax, {a, b}), Intrinsic(llvm::Intrinsic::smin, {a, b}));
  }
  Value* sum = b_.CreateAdd(a, b);  // vavrg: halves are rounded away from zero
  Value* round = b_.CreateZExt(b_.CreateICmpSGE(sum, b_.getInt32(0)), b_.getInt32Ty());
  return b_.CreateAShr(b_.CreateAdd(sum, round), 1);
}

// vop4.dtype.atype.btype{.sat}{.add} d, a, b, c: `.add` sums the lanes' results and c.
void FunctionCodegen::Video() {
  std::string_view operation = instruction_->opcode;
  const uint32_t lanes = operation.back() == '2' ? 2 : 4, bits = 32 / lanes;
  operation.remove_suffix(1);
  const bool saturate = modifiers_.Take("sat"), add = modifiers_.Take("add");
  Type to = TypeOrFail(), a_type = TypeOrFail(), b_type = TypeOrFail();
  for (Type type : {to, a_type, b_type}) {
    if (type != Type::kU32 && type != Type::kS32) return Malformed("bad type");
  }
  if (!Expect(4)) return;
  Value* a = Source(1, a_type);
  Value* b = Source(2, b_type);
  Value* result = add ? Source(3, Type::kB32) : b_.getInt32(0);
  auto* narrow = b_.getIntNTy(bits);
  auto extend = [&](Value* lane, Type type) {
    return IsSigned(type) ? b_.CreateSExt(lane, b_.getInt32Ty()) : b_.CreateZExt(lane, b_.getInt32Ty());
  };
  for (uint32_t i = 0; i < lanes; ++i) {
    auto lane = [&](Value* word, Type type) {
      return extend(b_.CreateTrunc(b_.CreateLShr(word, i * bits), narrow), type);
    };
    Value* value = VideoLane(operation, lane(a, a_type), lane(b, b_type));
    if (saturate) {
      const int32_t high = IsSigned(to) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
      const int32_t low = IsSigned(to) ? -(1 << (bits - 1)) : 0;
      value = Intrinsic(llvm::Intrinsic::smin, {value, b_.getInt32(static_cast<uint32_t>(high))});
      value = Intrinsic(llvm::Intrinsic::smax, {value, b_.getInt32(static_cast<uint32_t>(low))});
    }
    Value* cut = b_.CreateTrunc(value, narrow);
    result = add ? b_.CreateAdd(result, extend(cut, to))
                 : b_.CreateOr(result, b_.CreateShl(b_.CreateZExt(cut, b_.getInt32Ty()), i * bits));
  }
  Result(to, result);
}

}  // namespace wharf::device::soft
