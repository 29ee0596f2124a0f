// Tensor-core instructions on memory: ldmatrix, stmatrix, wmma.load, wmma.store. Each lane accesses its own elements,
// so they are accesses like any.
#include <algorithm>
#include <bit>

#include "wharf/device/soft/codegen/function.h"
#include "wharf/device/soft/runtime/tensor.h"

namespace wharf::device::soft {

// The whole warp does such an instruction at once: what lanes do before it is done, nothing of what they do after it.
// In code for whole blocks that is so by itself.
void FunctionCodegen::WaitForWarp() { CallTensor(TensorFunction::kWait, 0, {}); }

// --- ldmatrix, stmatrix ---

// Of checked kernels: told by the lanes whose addresses count.
void FunctionCodegen::CheckRow(const Address& row, uint32_t matrices, bool load) {
  constexpr uint64_t kRowBytes = 16;
  if (!row.checked) return;
  auto *counts = NewBlock("row"), *next = NewBlock("next");
  b_.CreateCondBr(b_.CreateICmpULT(Lane(), b_.getInt32(8 * matrices)), counts, next);
  b_.SetInsertPoint(counts);
  CheckAccess(row, kRowBytes, load ? check::kReads : check::kWrites);
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

// ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16 r, [p]; stmatrix likewise [p], r
void FunctionCodegen::MoveMatrices(bool load) {
  if (!modifiers_.Take("sync") || !modifiers_.Take("aligned")) return Malformed("only .sync.aligned exists");
  if (!modifiers_.Take("m8n8")) return Unsupported("matrices of other than 8x8 elements of 16 bits");
  const std::string_view number = modifiers_.TakeOneOf({"x1", "x2", "x4"});
  const bool transposed = modifiers_.Take("trans");
  ptx::Space space = TakeSpace();
  if (number.empty() || !modifiers_.Take("b16") || (space != ptx::Space::kShared && space != ptx::Space::kGeneric)) {
    return Malformed("no such matrices");
  }
  if (!Expect(2)) return;
  const auto matrices = static_cast<uint32_t>(number[1] - '0');
  const std::vector<const ptx::Operand*> registers = Elements(Op(load ? 0 : 1), matrices);
  auto* address = std::get_if<ptx::AddressOperand>(&Op(load ? 1 : 0).value);
  if (address == nullptr) return Malformed("no address");
  Value* own = AddressBase(*address, &space);
  if (failed() || registers.empty()) return;
  own = b_.CreateAdd(own, b_.getInt64(static_cast<uint64_t>(address->offset)));
  const bool shared = space == ptx::Space::kShared;
  const auto pointer = [&](Value* number) { return shared ? SharedPointer(number) : LocalPointer(number); };
  if (!module_.suspendable()) {
    std::vector<Value*> values;
    for (uint32_t i = 0; i < matrices && !load; ++i) values.push_back(Read(*registers[i], Type::kB32));
    const auto results =
        CallOfWarp(load ? "wharf.rows.load" : "wharf.rows.store", values,
                   {pointer(own), b_.getInt32(matrices), b_.getInt32(transposed ? 1 : 0)}, load ? matrices : 0);
    for (uint32_t i = 0; i < results.size(); ++i) Write(*registers[i], Type::kB32, results[i]);
    return;
  }
  CheckRow({pointer(own), false, IsChecked(space)}, matrices, load);
  // Who has a part of which row: a shared address is 32 bits.
  const MatrixRows rows{.matrices = static_cast<uint8_t>(matrices),
                        .words = static_cast<uint8_t>(shared ? 1 : 2),
                        .transposed = transposed};
  std::vector<Value*> words = {b_.CreateTrunc(own, b_.getInt32Ty())};
  if (!shared) words.push_back(b_.CreateTrunc(b_.CreateLShr(own, 32), b_.getInt32Ty()));
  words = CallTensor(TensorFunction::kRows, std::bit_cast<uint32_t>(rows), words);
  const auto row = [&](uint32_t index) -> Value* {
    if (shared) return SharedPointer(words[index]);
    Value* high = b_.CreateShl(b_.CreateZExt(words[2 * index + 1], b_.getInt64Ty()), 32);
    return LocalPointer(b_.CreateOr(b_.CreateZExt(words[2 * index], b_.getInt64Ty()), high));
  };
  // Of each row a pair of elements or, transposed, of each of two rows one.
  const uint32_t parts = RowsOfLane(rows);
  llvm::Type* part = b_.getIntNTy(32 / parts);
  Value* within = transposed ? b_.CreateLShr(Lane(), 2) : b_.CreateAnd(Lane(), b_.getInt32(3));
  for (uint32_t matrix = 0; matrix < matrices && !failed(); ++matrix) {
    Value* all = load ? b_.getInt32(0) : b_.CreateTrunc(Read(*registers[matrix], Type::kB32), b_.getInt32Ty());
    for (uint32_t i = 0; i < parts; ++i) {
      Address at{b_.CreateGEP(part, row(parts * matrix + i), within)};
      const uint32_t shift = 16 * i;
      if (load) {
        Value* value = b_.CreateZExt(LoadElement(at, 0, part, llvm::AtomicOrdering::NotAtomic), b_.getInt32Ty());
        all = b_.CreateOr(all, b_.CreateShl(value, shift));
      } else {
        StoreElement(at, 0, b_.CreateTrunc(b_.CreateLShr(all, shift), part), llvm::AtomicOrdering::NotAtomic);
      }
    }
    if (load) Write(*registers[matrix], Type::kB32, all);
  }
  WaitForWarp();
}

// --- wmma.load, wmma.store ---

// wmma.load.{a,b,c}.sync.aligned.layout.shape{.ss}.type r, [p]{, stride}; wmma.store.d… [p], r{, stride}
bool FunctionCodegen::TakeFragment(bool load, Fragment* fragment) {
  const std::string_view name = load ? modifiers_.TakeOneOf({"a", "b", "c"}) : modifiers_.TakeOneOf({"d"});
  const bool aligned = modifiers_.Take("sync") && modifiers_.Take("aligned");
  const std::string_view layout = modifiers_.TakeOneOf({"row", "col"});
  ptx::Space space = TakeSpace();
  MatrixShape shape;
  if (!TakeMatrixShape(&shape) || !TakeElement(&fragment->element)) return false;
  const TensorElement element = fragment->element;
  fragment->accumulates = name == "c" || name == "d";
  const auto any = [&](std::initializer_list<TensorElement> types) {
    return std::any_of(types.begin(), types.end(), [&](TensorElement a) { return HasProduct(true, shape, a); });
  };
  using enum TensorElement;
  const bool exists = !fragment->accumulates ? HasProduct(true, shape, element)
                      : element == kF16      ? any({kF16})
                      : element == kF32      ? any({kF16, kBF16, kTF32})
                      : element == kF64      ? any({kF64})
                      : element == kS32      ? any({kS8, kS4, kB1})
                                             : false;
  // Neighbours in a line are those of a row of a and c, of a column of b.
  fragment->contiguous = layout == (name == "b" ? "col" : "row");
  const bool small = BitsOf(element) < 8;
  if (name.empty() || layout.empty() || !aligned || (small && !fragment->contiguous)) {
    Malformed("no such matrix");
    return false;
  }
  if (!exists) {
    Unsupported("a matrix of this shape and type");
    return false;
  }
  if (!Expect(2, 3)) return false;
  const uint32_t lines = name == "b" ? shape.n : shape.m, columns = fragment->accumulates ? shape.n : shape.k;
  fragment->line_tiles = lines / 8;
  fragment->tiles = fragment->line_tiles * (columns / fragment->Columns());
  fragment->lines_first = name == "b";
  fragment->base = AddressOf(Op(load ? 1 : 0), space);
  if (failed()) return false;
  fragment->stride = Count() == 3 ? b_.CreateSExt(Source(2, Type::kB32), b_.getInt64Ty())
                                  : b_.getInt64(fragment->contiguous ? columns : lines);
  return !failed();
}

llvm::Value* FunctionCodegen::StrideBytes(const Fragment& fragment) {
  const uint32_t bits = BitsOf(fragment.element);
  return b_.CreateLShr(b_.CreateMul(fragment.stride, b_.getInt64(bits)), 3);
}

FunctionCodegen::Address FunctionCodegen::FragmentElement(const Fragment& fragment, uint32_t tile, Value* line,
                                                          Value* at) {
  const uint32_t across = fragment.tiles / fragment.line_tiles, bits = BitsOf(fragment.element);
  const uint32_t line_tile = fragment.lines_first ? tile / across : tile % fragment.line_tiles;
  const uint32_t at_tile = fragment.lines_first ? tile % across : tile / fragment.line_tiles;
  line = b_.CreateAdd(line, b_.getInt64(8 * line_tile));
  at = b_.CreateAdd(at, b_.getInt64(fragment.Columns() * at_tile));
  if (!fragment.contiguous) std::swap(line, at);
  Value* within = b_.CreateLShr(b_.CreateMul(at, b_.getInt64(bits)), 3);  // of less than a byte: in whole bytes
  Value* offset = b_.CreateAdd(b_.CreateMul(line, StrideBytes(fragment)), within);
  return {b_.CreateGEP(b_.getInt8Ty(), fragment.base.pointer, offset), false, fragment.base.checked};
}

// `count` elements in the lowest bits of 32 or 64.
llvm::Value* FunctionCodegen::LoadPart(const Fragment& fragment, uint32_t tile, uint32_t first, uint32_t count) {
  const uint32_t bits = BitsOf(fragment.element), step = fragment.contiguous ? count : 1;
  llvm::Type *whole = b_.getIntNTy(bits * count), *i64 = b_.getInt64Ty();
  Value* all = llvm::ConstantInt::get(whole, 0);
  Value* line = b_.CreateZExt(b_.CreateLShr(Lane(), 2), i64);
  Value* at =
      b_.CreateMul(b_.CreateZExt(b_.CreateAnd(Lane(), b_.getInt32(3)), i64), b_.getInt64(fragment.Columns() / 4));
  for (uint32_t i = 0; i < count; i += step) {
    const Address from = FragmentElement(fragment, tile, line, b_.CreateAdd(at, b_.getInt64(first + i)));
    CheckAccess(from, bits * step / 8, check::kReads);
    Value* part = LoadElement(from, 0, b_.getIntNTy(bits * step), llvm::AtomicOrdering::NotAtomic);
    all = b_.CreateOr(all, b_.CreateShl(b_.CreateZExt(part, whole), bits * i));
  }
  return all;
}

void FunctionCodegen::StorePart(const Fragment& fragment, uint32_t tile, uint32_t first, uint32_t count, Value* all) {
  const uint32_t bits = BitsOf(fragment.element), step = fragment.contiguous ? count : 1;
  llvm::Type* i64 = b_.getInt64Ty();
  Value* line = b_.CreateZExt(b_.CreateLShr(Lane(), 2), i64);
  Value* at =
      b_.CreateMul(b_.CreateZExt(b_.CreateAnd(Lane(), b_.getInt32(3)), i64), b_.getInt64(fragment.Columns() / 4));
  for (uint32_t i = 0; i < count; i += step) {
    const Address to = FragmentElement(fragment, tile, line, b_.CreateAdd(at, b_.getInt64(first + i)));
    Value* part = b_.CreateTrunc(b_.CreateLShr(all, bits * i), b_.getIntNTy(bits * step));
    CheckAccess(to, bits * step / 8, check::kWrites, {part});
    StoreElement(to, 0, part, llvm::AtomicOrdering::NotAtomic);
  }
}

// The lane's registers of a tile, those of 64 bits as one.
std::vector<llvm::Value*> FunctionCodegen::LoadTile(const Fragment& fragment, uint32_t tile) {
  const uint32_t bits = BitsOf(fragment.element), in_lane = fragment.Columns() / 4;
  const uint32_t per_register = std::max(1U, 32 / bits);
  std::vector<Value*> values;
  if (module_.suspendable()) {
    for (uint32_t i = 0; i < in_lane; i += per_register) values.push_back(LoadPart(fragment, tile, i, per_register));
    return values;
  }
  Value* first = FragmentElement(fragment, tile, b_.getInt64(0), b_.getInt64(0)).pointer;
  values = CallOfWarp("wharf.tile.load", {},
                      {first, StrideBytes(fragment), b_.getInt32(bits), b_.getInt32(fragment.Columns()),
                       b_.getInt32(fragment.contiguous ? 1 : 0)},
                      in_lane * bits / 32);
  if (bits != 64) return values;
  std::vector<Value*> wide;
  for (uint32_t i = 0; i < in_lane; ++i) {
    Value* high = b_.CreateShl(b_.CreateZExt(values[2 * i + 1], b_.getInt64Ty()), 32);
    wide.push_back(b_.CreateOr(b_.CreateZExt(values[2 * i], b_.getInt64Ty()), high));
  }
  return wide;
}

void FunctionCodegen::StoreTile(const Fragment& fragment, uint32_t tile, llvm::ArrayRef<Value*> values) {
  const uint32_t bits = BitsOf(fragment.element), per_register = std::max(1U, 32 / bits);
  if (module_.suspendable()) {
    for (uint32_t i = 0; i < values.size(); ++i) StorePart(fragment, tile, i * per_register, per_register, values[i]);
    return;
  }
  std::vector<Value*> words;
  for (Value* value : values) {
    words.push_back(b_.CreateTrunc(value, b_.getInt32Ty()));
    if (bits == 64) words.push_back(b_.CreateTrunc(b_.CreateLShr(value, 32), b_.getInt32Ty()));
  }
  Value* first = FragmentElement(fragment, tile, b_.getInt64(0), b_.getInt64(0)).pointer;
  CallOfWarp("wharf.tile.store", words,
             {first, StrideBytes(fragment), b_.getInt32(bits), b_.getInt32(fragment.Columns()),
              b_.getInt32(fragment.contiguous ? 1 : 0)},
             0);
}

void FunctionCodegen::MoveFragment(bool load) {
  Fragment fragment;
  if (!TakeFragment(load, &fragment)) return;
  const TensorElement element = fragment.element;
  const bool wide = element == TensorElement::kF64;
  const uint32_t in_tile = std::max(1U, fragment.Columns() / 4 * BitsOf(element) / (wide ? 64 : 32));
  const uint32_t registers = fragment.tiles * in_tile;
  const size_t listed = ListedRegisters(/*wmma=*/true, fragment.accumulates, element, wide ? 2 * registers : registers);
  const std::vector<const ptx::Operand*> all = Elements(Op(load ? 0 : 1), static_cast<uint32_t>(listed));
  if (all.empty()) return;
  const Type type = wide ? Type::kB64 : Type::kB32;
  std::vector<Value*> values;
  for (uint32_t i = 0; i < registers && !load; ++i) values.push_back(Read(*all[i], type));
  if (failed()) return;
  WaitForWarp();
  for (uint32_t tile = 0; tile < fragment.tiles; ++tile) {
    if (load) {
      const std::vector<Value*> loaded = LoadTile(fragment, tile);
      values.insert(values.end(), loaded.begin(), loaded.end());
    } else {
      StoreTile(fragment, tile, llvm::ArrayRef(values).slice(size_t{tile} * in_tile, in_tile));
    }
  }
  WaitForWarp();
  if (!load) return;
  for (size_t i = 0; i < all.size(); ++i) Write(*all[i], type, values[i % values.size()]);
}

}  // namespace wharf::device::soft
