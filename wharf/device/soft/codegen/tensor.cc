// Tensor-core instructions on registers: mma, wmma.mma, movmatrix. What they compute: runtime/tensor.h.
#include <algorithm>
#include <array>
#include <bit>

#include "wharf/device/soft/codegen/function.h"
#include "wharf/device/soft/runtime/tensor.h"

namespace wharf::device::soft {

void FunctionCodegen::AddTensorHandlers(std::map<std::string_view, Handler>* handlers) {
  handlers->insert({{"mma", &FunctionCodegen::Mma},
                    {"wmma", &FunctionCodegen::Wmma},
                    {"ldmatrix", &FunctionCodegen::Ldmatrix},
                    {"stmatrix", &FunctionCodegen::Stmatrix},
                    {"movmatrix", &FunctionCodegen::Movmatrix}});
}

// In code for whole blocks every register that goes in or comes out is a call, and what is done with them, too:
// widening replaces all of them (widen/thread_calls.h).
std::vector<llvm::Value*> FunctionCodegen::CallOfWarp(std::string_view name, llvm::ArrayRef<Value*> registers,
                                                      llvm::ArrayRef<Value*> arguments, uint32_t results) {
  for (uint32_t i = 0; i < registers.size(); ++i) {
    CallRuntime("wharf.tensor.put", b_.getVoidTy(), {b_.getInt32(i), registers[i]});
  }
  CallRuntime(name, b_.getVoidTy(), arguments);
  std::vector<Value*> all;
  for (uint32_t i = 0; i < results; ++i) {
    all.push_back(CallRuntime("wharf.tensor.get", b_.getInt32Ty(), {b_.getInt32(i)}));
  }
  return all;
}

// In the code of one suspendable thread the registers are in memory, a slot (jit/local_frame.h).
std::vector<llvm::Value*> FunctionCodegen::CallTensor(TensorFunction function, uint32_t operation,
                                                      llvm::ArrayRef<Value*> inputs) {
  llvm::Type* i32 = b_.getInt32Ty();
  const uint32_t count = OperandsOf(function, operation).results;
  std::vector<Value*> what = {b_.getInt32(static_cast<uint32_t>(function)), b_.getInt32(operation)}, results;
  if (!module_.suspendable()) {
    what.push_back(llvm::ConstantPointerNull::get(b_.getPtrTy()));
    return CallOfWarp("wharf_tensor", inputs, what, count);
  }
  auto* type = llvm::ArrayType::get(i32, kTensorRegisters);
  if (tensor_registers_ == nullptr) tensor_registers_ = entry_.CreateAlloca(type);
  const auto at = [&](uint32_t i) { return b_.CreateConstInBoundsGEP2_32(type, tensor_registers_, 0, i); };
  // Volatile, or LLVM would make a fill of several zeros, which is no plain use of a slot.
  for (uint32_t i = 0; i < inputs.size(); ++i) b_.CreateStore(inputs[i], at(i), /*isVolatile=*/true);
  what.push_back(tensor_registers_);
  CallRuntime("wharf_tensor", b_.getVoidTy(), what);
  for (uint32_t i = 0; i < count; ++i) results.push_back(LoadResult(at(i)));
  return results;
}

llvm::Value* FunctionCodegen::Lane() { return b_.CreateAnd(Linear(), b_.getInt32(kWarpSize - 1)); }

// --- what the modifiers say ---

bool FunctionCodegen::TakeMatrixShape(MatrixShape* shape) {
  static constexpr std::pair<std::string_view, MatrixShape> kShapes[] = {
      {"m8n8k4", {8, 8, 4}},       {"m8n8k16", {8, 8, 16}},     {"m8n8k32", {8, 8, 32}},     {"m8n8k128", {8, 8, 128}},
      {"m16n8k4", {16, 8, 4}},     {"m16n8k8", {16, 8, 8}},     {"m16n8k16", {16, 8, 16}},   {"m16n8k32", {16, 8, 32}},
      {"m16n8k64", {16, 8, 64}},   {"m16n8k128", {16, 8, 128}}, {"m16n8k256", {16, 8, 256}}, {"m16n16k8", {16, 16, 8}},
      {"m16n16k16", {16, 16, 16}}, {"m32n8k16", {32, 8, 16}},   {"m8n32k16", {8, 32, 16}}};
  for (const auto& [name, extents] : kShapes) {
    if (!modifiers_.Take(name)) continue;
    *shape = extents;
    return true;
  }
  Unsupported("a product of matrices of this shape");
  return false;
}

// The next modifier, if it is an element's type.
bool FunctionCodegen::TakeElement(TensorElement* element) {
  static constexpr std::pair<std::string_view, TensorElement> kElements[] = {
      {"f16", TensorElement::kF16},  {"bf16", TensorElement::kBF16}, {"tf32", TensorElement::kTF32},
      {"f32", TensorElement::kF32},  {"f64", TensorElement::kF64},   {"s4", TensorElement::kS4},
      {"u4", TensorElement::kU4},    {"s8", TensorElement::kS8},     {"u8", TensorElement::kU8},
      {"s32", TensorElement::kS32},  {"b1", TensorElement::kB1},     {"e4m3", TensorElement::kE4M3},
      {"e5m2", TensorElement::kE5M2}};
  const std::string_view next = modifiers_.TakeNext();
  for (const auto& [name, type] : kElements) {
    if (name != next) continue;
    *element = type;
    return true;
  }
  Unsupported(next.empty() ? "matrices without types" : fmt::format("matrices with .{}", next));
  return false;
}

// Which shapes there are of matrices a of these elements.
bool FunctionCodegen::HasProduct(bool wmma, const MatrixShape& shape, TensorElement a) {
  const auto is = [&](std::initializer_list<MatrixShape> shapes) {
    return std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
  };
  switch (a) {
    case TensorElement::kF16:
    case TensorElement::kBF16:
      if (wmma) return is({{16, 16, 16}, {32, 8, 16}, {8, 32, 16}});
      return is({{16, 8, 8}, {16, 8, 16}}) || (a == TensorElement::kF16 && is({{8, 8, 4}}));
    case TensorElement::kTF32:
      return wmma ? is({{16, 16, 8}}) : is({{16, 8, 4}, {16, 8, 8}});
    case TensorElement::kF64:
      return is({{8, 8, 4}}) || (!wmma && is({{16, 8, 4}, {16, 8, 8}, {16, 8, 16}}));
    case TensorElement::kS8:
    case TensorElement::kU8:
      return wmma ? is({{16, 16, 16}, {32, 8, 16}, {8, 32, 16}}) : is({{8, 8, 16}, {16, 8, 16}, {16, 8, 32}});
    case TensorElement::kS4:
    case TensorElement::kU4:
      return is({{8, 8, 32}}) || (!wmma && is({{16, 8, 32}, {16, 8, 64}}));
    case TensorElement::kB1:
      return is({{8, 8, 128}}) || (!wmma && is({{16, 8, 128}, {16, 8, 256}}));
    case TensorElement::kE4M3:
    case TensorElement::kE5M2:
      return !wmma && is({{16, 8, 16}, {16, 8, 32}});
    default:
      return false;
  }
}

bool FunctionCodegen::HasSparseProduct(const MatrixShape& shape, TensorElement a) {
  switch (a) {
    case TensorElement::kF32:
    case TensorElement::kF64:
    case TensorElement::kS32:
    case TensorElement::kB1:
      return false;
    default:
      break;
  }
  const uint32_t columns = TileColumns(a);
  const bool deep = shape.k == 4 * columns || (shape.k == 2 * columns && !IsByteFloat(a));
  return shape.m == 16 && shape.n == 8 && deep;
}

// .sp, .shape, the types, .satfinite, .xor.popc, .and.popc, .rn
bool FunctionCodegen::TakeProduct(bool wmma, TensorProduct* product) {
  MatrixShape shape;
  TensorElement types[4] = {};  // d, a, b, c
  const bool sparse = !wmma && (modifiers_.Take("sp") || modifiers_.Take("sp::ordered_metadata"));
  if (!TakeMatrixShape(&shape)) return false;
  const std::string_view a_layout = modifiers_.TakeFirstOf({"row", "col"});
  const std::string_view b_layout = modifiers_.TakeFirstOf({"row", "col"});
  const std::string_view counts = modifiers_.TakeOneOf({"and", "xor"});
  const bool popc = modifiers_.Take("popc"), saturates = modifiers_.Take("satfinite"), nearest = modifiers_.Take("rn");
  if (!TakeElement(&types[0]) || !TakeElement(&types[1])) return false;
  if (wmma && modifiers_.Left().empty()) {  // .dtype.ctype, of f16
    types[3] = types[1];
    types[1] = types[2] = TensorElement::kF16;
  } else if (!TakeElement(&types[2]) || !TakeElement(&types[3])) {
    return false;
  }
  const auto [d, a, b, c] = types;
  if (sparse ? !HasSparseProduct(shape, a) : !HasProduct(wmma, shape, a)) {
    Unsupported("a product of matrices of this shape and these types");
    return false;
  }
  const bool integers = !IsFloat(a), small = BitsOf(a) < 8;
  const bool same = integers ? !IsFloat(b) && BitsOf(a) == BitsOf(b) : IsByteFloat(a) ? IsByteFloat(b) : a == b;
  const auto accumulates = [a = a, integers, sparse](TensorElement sum) {
    if (integers) return sum == TensorElement::kS32;
    if (a == TensorElement::kF64) return sum == TensorElement::kF64;
    const bool halves = a == TensorElement::kF16 || (IsByteFloat(a) && !sparse);
    return sum == TensorElement::kF32 || (sum == TensorElement::kF16 && halves);
  };
  const bool by_row_and_column = a_layout == "row" && b_layout == "col";
  const bool quads = !wmma && shape.k < TileColumns(a);
  const bool fits = wmma || d == c || (quads && d == TensorElement::kF32);
  if (!same || !accumulates(c) || !accumulates(d) || !fits || a_layout.empty() || b_layout.empty() ||
      (((!wmma && !quads) || small) && !by_row_and_column) || (saturates && (!integers || a == TensorElement::kB1)) ||
      (nearest && a != TensorElement::kF64) || (a == TensorElement::kB1) != popc || popc == counts.empty()) {
    Malformed("no such product of matrices");
    return false;
  }
  product->m_tiles = shape.m / 8;
  product->n_tiles = shape.n / 8;
  product->k_tiles = shape.k / TileColumns(a);
  product->a = a, product->b = b, product->c = c, product->d = d;
  product->saturates = saturates ? 1 : 0;
  product->ands = counts == "and" ? 1 : 0;
  product->sparse = sparse ? 1 : 0;
  product->a_columns = quads && a_layout == "col" ? 1 : 0;
  product->b_rows = quads && b_layout == "row" ? 1 : 0;
  return true;
}

// --- registers ---

// How many an instruction lists for a fragment that takes so many. In a and b of wmma of f16 each element is there more
// than once: in whatever order the elements lie, the first registers have them all.
size_t FunctionCodegen::ListedRegisters(bool wmma, bool accumulates, TensorElement element, uint32_t registers) {
  if (wmma && !accumulates && element == TensorElement::kF16) return 8;
  return element == TensorElement::kF64 ? registers / 2 : registers;
}

bool FunctionCodegen::ReadRegisters(const ptx::Operand& operand, TensorElement element, uint32_t registers,
                                    size_t listed, std::vector<Value*>* to) {
  const std::vector<const ptx::Operand*> all = Elements(operand, static_cast<uint32_t>(listed));
  const bool wide = element == TensorElement::kF64;
  for (size_t i = 0; i < all.size() && i < (wide ? registers / 2 : registers); ++i) {
    Value* value = Read(*all[i], wide ? Type::kB64 : Type::kB32);
    to->push_back(b_.CreateTrunc(value, b_.getInt32Ty()));
    if (wide) to->push_back(b_.CreateTrunc(b_.CreateLShr(value, 32), b_.getInt32Ty()));
  }
  return !failed();
}

void FunctionCodegen::WriteRegisters(const ptx::Operand& operand, TensorElement element, size_t listed,
                                     llvm::ArrayRef<Value*> from) {
  const std::vector<const ptx::Operand*> all = Elements(operand, static_cast<uint32_t>(listed));
  for (size_t i = 0; i < all.size(); ++i) {
    if (element != TensorElement::kF64) {
      Write(*all[i], Type::kB32, from[i % from.size()]);
      continue;
    }
    Value* high = b_.CreateShl(b_.CreateZExt(from[2 * i + 1], b_.getInt64Ty()), 32);
    Write(*all[i], Type::kB64, b_.CreateOr(b_.CreateZExt(from[2 * i], b_.getInt64Ty()), high));
  }
}

// The number of the lanes, of each four, whose metadata count.
bool FunctionCodegen::ReadSelector(const ptx::Operand& operand, TensorProduct* product) {
  const auto* selector = std::get_if<ptx::IntegerOperand>(&operand.value);
  if (selector == nullptr || selector->value < 0 || selector->value >= 4 / LanesOfMetadata(*product)) {
    Malformed("no such sparsity selector");
    return false;
  }
  product->selector = static_cast<uint32_t>(selector->value) & 3;
  return true;
}

// --- instructions ---

// mma.sync.aligned.shape.row.col…, wmma.mma.sync.aligned.layout.layout.shape…: d, a, b, c; mma.sp: and metadata,
// selector
void FunctionCodegen::Product(bool wmma) {
  if (!modifiers_.Take("sync") || !modifiers_.Take("aligned")) return Malformed("only .sync.aligned exists");
  TensorProduct product;
  if (!TakeProduct(wmma, &product) || !Expect(product.sparse != 0 ? 6 : 4)) return;
  std::vector<Value*> inputs;
  const auto read = [&](size_t operand, TensorElement element, uint32_t registers) {
    const size_t listed = ListedRegisters(wmma, operand == 3, element, registers);
    return ReadRegisters(Op(operand), element, registers, listed, &inputs);
  };
  if (!read(1, product.a, RegistersOfA(product)) || !read(2, product.b, RegistersOfB(product)) ||
      !read(3, product.c, RegistersOfC(product))) {
    return;
  }
  if (product.sparse != 0) {
    if (!ReadSelector(Op(5), &product)) return;
    inputs.push_back(Source(4, Type::kB32));
  }
  const auto results = CallTensor(TensorFunction::kProduct, std::bit_cast<uint32_t>(product), inputs);
  WriteRegisters(Op(0), product.d, ListedRegisters(wmma, true, product.d, RegistersOfD(product)), results);
}

void FunctionCodegen::Wmma() {
  const std::string_view name = modifiers_.TakeOneOf({"mma", "load", "store"});
  if (name.empty()) return Unsupported("unknown instruction");
  if (name == "mma") return Product(/*wmma=*/true);
  MoveFragment(name == "load");
}

// movmatrix.sync.aligned.m8n8.trans.b16 d, a
void FunctionCodegen::Movmatrix() {
  for (const std::string_view name : {"sync", "aligned", "m8n8", "trans", "b16"}) {
    if (!modifiers_.Take(name)) return Malformed("no such instruction");
  }
  if (!Expect(2)) return;
  Result(Type::kB32, CallTensor(TensorFunction::kTranspose, 0, {Source(1, Type::kB32)}).front());
}

}  // namespace wharf::device::soft
