// The SIMD video instructions (vabsdiff4 and so on) on all lanes, which the toolkit's SIMD intrinsics use, and the
// scalar ones (vshr and so on) on whole words, which some programs have as assembly.
#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {

void FunctionCodegen::AddVideoHandlers(std::map<std::string_view, Handler>* handlers) {
  for (std::string_view name : {"vadd2", "vadd4", "vsub2", "vsub4", "vavrg2", "vavrg4", "vabsdiff2", "vabsdiff4",
                                "vmin2", "vmin4", "vmax2", "vmax4"}) {
    (*handlers)[name] = &FunctionCodegen::Video;
  }
  for (std::string_view name : {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr"}) {
    (*handlers)[name] = &FunctionCodegen::ScalarVideo;
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

// vop.dtype.atype.btype{.sat}{.mode}{.op2} d, a, b {, c}: a and b are exact until the result is cut, or saturated; then
// `.op2` joins it with c. Not here: parts of words (a.b0, a.h1), merging.
void FunctionCodegen::ScalarVideo() {
  const std::string_view operation = instruction_->opcode;
  const bool shifts = operation == "vshl" || operation == "vshr";
  const bool saturate = modifiers_.Take("sat");
  const std::string_view mode = modifiers_.TakeOneOf({"clamp", "wrap"});
  const std::string_view second = modifiers_.TakeOneOf({"add", "min", "max"});
  const Type to = TypeOrFail(), a_type = TypeOrFail(), b_type = TypeOrFail();
  for (Type type : {to, a_type, b_type}) {
    if (type != Type::kU32 && type != Type::kS32) return Malformed("bad type");
  }
  if (shifts == mode.empty() || (shifts && b_type != Type::kU32)) return Malformed("no such shift");
  if (saturate && operation == "vshl") return Unsupported("saturation of this shift");
  if (!second.empty() ? !Expect(4) : !Expect(3)) return;
  const auto extend = [&](size_t operand, Type type) {
    return IsSigned(type) ? b_.CreateSExt(Source(operand, type), b_.getInt64Ty())
                          : b_.CreateZExt(Source(operand, type), b_.getInt64Ty());
  };
  Value* a = extend(1, a_type);
  Value* b = extend(2, b_type);
  if (mode == "clamp") b = Intrinsic(llvm::Intrinsic::umin, {b, b_.getInt64(32)});
  if (mode == "wrap") b = b_.CreateAnd(b, b_.getInt64(31));
  Value* value = operation == "vshl"   ? b_.CreateShl(a, b)
                 : operation == "vshr" ? b_.CreateAShr(a, b)
                                       : VideoLane(operation, a, b);
  if (saturate) {
    const int64_t low = IsSigned(to) ? INT32_MIN : 0, high = IsSigned(to) ? INT32_MAX : int64_t{UINT32_MAX};
    value = Intrinsic(llvm::Intrinsic::smin, {value, b_.getInt64(static_cast<uint64_t>(high))});
    value = Intrinsic(llvm::Intrinsic::smax, {value, b_.getInt64(static_cast<uint64_t>(low))});
  }
  Value* result = b_.CreateTrunc(value, b_.getInt32Ty());
  if (!second.empty()) {
    Value* c = Source(3, to);
    result = second == "add" ? b_.CreateAdd(result, c)
                             : Intrinsic(second == "min" ? IsSigned(to) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin
                                         : IsSigned(to)  ? llvm::Intrinsic::smax
                                                         : llvm::Intrinsic::umax,
                                         {result, c});
  }
  Result(to, result);
}

}  // namespace wharf::device::soft
