// Generates the LLVM function of one PTX function. Registers are stack slots, which the optimiser promotes; labels are
// basic blocks; a guard is a branch around the instruction. The generators of the instruction families are in
// integer.cc, bits.cc, float.cc and so on.
//
// A generator that meets something it cannot do records an error with Unsupported() or Malformed() and goes on with
// any value; Build() stops at the first error.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wharf/device/soft/codegen/math_rounding.h"
#include "wharf/device/soft/codegen/modifiers.h"
#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/codegen/types.h"
#include "wharf/device/soft/runtime/tensor.h"

namespace wharf::device::soft {

class FunctionCodegen {
 public:
  FunctionCodegen(ModuleCodegen& module, const ReachedFunction& reached, llvm::Function* function);
  absl::Status Build();

 private:
  using Value = llvm::Value;
  using Type = ptx::Type;
  using Handler = void (FunctionCodegen::*)();
  static const std::map<std::string_view, Handler>& Handlers();
  static void AddIntegerHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddVideoHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddBitHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddFloatHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddConvertHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddCompareHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddMemoryHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddAtomicHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddControlHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddSyncHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddTextureHandlers(std::map<std::string_view, Handler>* handlers);
  static void AddTensorHandlers(std::map<std::string_view, Handler>* handlers);

  // --- frame (codegen_function.cc) ---
  void DeclareRegisters();
  void DeclareVariables();
  void SaveStack();
  void LoadParametersInRegisters();
  void BuildBody();
  void BuildInstruction(uint32_t at);
  llvm::BasicBlock* NewBlock(const char* name);
  // Ends the function; `exited`: the thread too.
  void Leave(bool exited);
  // Where the context keeps the address of the thread's local memory (kernel_abi.h).
  Value* LocalStack(llvm::IRBuilder<>& b);
  // After a terminator: code that follows cannot be reached unless a label does.
  void StartUnreachable();
  Value* Field(size_t offset, llvm::Type* type);  // of the BlockContext; loaded once, in the entry block
  Value* ThreadField(size_t offset, llvm::Type* type);

  // --- errors ---
  void Unsupported(std::string_view why);
  void Malformed(std::string_view why);
  bool failed() const { return !status_.ok(); }

  // --- operands (codegen_operand.cc) ---
  size_t Count() const { return instruction_->operands.size(); }
  const ptx::Operand& Op(size_t index);
  // Malformed unless the instruction has between `least` and `most` operands.
  bool Expect(size_t least, size_t most = 0);
  Value* Source(size_t index, Type type) { return Read(Op(index), type); }
  Value* Read(const ptx::Operand& operand, Type type);
  void Write(const ptx::Operand& operand, Type type, Value* value);
  void Result(Type type, Value* value) { Write(Op(0), type, value); }
  Value* ReadImmediateFloat(const ptx::FloatOperand& immediate, Type type);
  Value* ReadSymbol(const ptx::SymbolOperand& symbol, Type type);
  bool IsKernel(std::string_view name) const;
  Value* ReadSpecial(std::string_view name);
  Value* SpecialOfThread(std::string_view name);
  Value* SpecialOfGrid(std::string_view name);
  Value* LaneMask(std::string_view which);
  Value* ThreadIndex(size_t dimension);  // %tid
  Value* BlockExtent(size_t dimension);  // %ntid
  Value* Linear();                       // the thread's number in its block
  // Predicate operand, negation applied.
  Value* ReadPredicate(const ptx::Operand& operand);
  // Changes a value's representation to `to`: bit casts, truncates, or extends with or without sign.
  Value* Coerce(Value* value, llvm::Type* to, bool sign);
  Value* ToBits(Value* value);
  llvm::Type* Llvm(Type type) { return LlvmType(context_, type); }
  Type TypeOrFail();

  // --- arithmetic helpers ---
  Value* Int(uint32_t bits, uint64_t value) { return llvm::ConstantInt::get(context_, llvm::APInt(bits, value)); }
  Value* Intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> arguments);  // overloaded on the first argument
  Rounding TakeRounding();
  // Applies `operation` to each half of packed operands, or to the operands themselves.
  Value* Lanewise(Type type, llvm::ArrayRef<Value*> operands,
                  const std::function<Value*(llvm::ArrayRef<Value*>)>& operation);
  // f16/bf16 bits <-> float.
  Value* Widen(Value* half, Type element);
  Value* Narrow(Value* single, Type element);
  Value* Flush(Value* value) { return FlushSubnormal(b_, value); }

  // --- integers ---
  void Add();
  void Sub();
  void CarryAdd(Value* a, Value* b, Type type, bool carry_in);
  void AddCarry();
  void SubBorrow();
  void Mul();
  void Mad();
  void MadCarry();
  Value* Product(Value* a, Value* b, Type type, std::string_view part);
  void Mul24();
  void Mad24();
  Value* Product24(Value* a, Value* b, Type type, bool high);
  void Sad();
  void DivideInteger(Type type, bool remainder);
  void Div();
  void Rem();
  void Abs();
  void Neg();
  void Min();
  void Max();
  void MinMax(bool max);
  void PackedMinMax(Type type, bool max);
  void DotProduct(uint32_t element_bits);
  void Dp4a() { DotProduct(8); }
  void Dp2a() { DotProduct(16); }

  // --- bits ---
  void And() { Logic(llvm::Instruction::And); }
  void Or() { Logic(llvm::Instruction::Or); }
  void Xor() { Logic(llvm::Instruction::Xor); }
  void Logic(llvm::Instruction::BinaryOps operation);
  void Not();
  void Cnot();
  void Shl();
  void Shr();
  void Shf();
  void Lop3();
  void Prmt();
  void Bfe();
  void Bfi();
  void Bfind();
  void Brev();
  void Popc();
  void Clz();
  void Fns();
  void Bmsk();
  void Szext();

  void Video();
  void ScalarVideo();
  Value* VideoLane(std::string_view operation, Value* a, Value* b);

  // --- floats ---
  void FloatArithmetic(Type type, int operation);
  Value* FloatElement(Type element, int operation, llvm::ArrayRef<Value*> operands, Rounding rounding, bool ftz);
  Value* SingleElement(int operation, llvm::ArrayRef<Value*> operands, Rounding rounding);
  Value* DoubleElement(int operation, llvm::ArrayRef<Value*> operands, Rounding rounding);
  Value* HalfElement(Type element, int operation, llvm::ArrayRef<Value*> operands, bool ftz);
  Value* RoundedDouble(DoubleOperation operation, llvm::ArrayRef<Value*> operands, Rounding rounding);
  Value* FlushHalf(Value* single, Type element, bool ftz);
  Value* PairOfSingles(llvm::ArrayRef<Value*> operands, const std::function<Value*(llvm::ArrayRef<Value*>)>& operation);
  Value* Relu(Value* value);
  void Fma();
  void FloatDiv(Type type);
  void FloatNegAbs(Type type, bool negate);
  void FloatMinMax(Type type, bool max);
  Value* FloatMinMaxElement(Type element, llvm::ArrayRef<Value*> operands, bool max, bool nan, bool xorsign, bool ftz);
  void Rcp();
  void Sqrt();
  void Rsqrt();
  void Sin();
  void Cos();
  void Lg2();
  void Ex2();
  void Tanh();
  void Approximation(const std::function<Value*(Value*)>& function);
  void Copysign();
  void Testp();

  // --- conversions ---
  void Cvt();
  void CvtPack();
  void CvtToInteger(Type to, Type from);
  void CvtFromInteger(Type to, Type from);
  void CvtFloat(Type to, Type from);
  void CvtInteger(Type to, Type from);
  Value* ClampInteger(Value* value, Type to, Type from);
  void CvtPackedHalf(Type to);
  void CvtToBytes(Type to);
  void CvtFromBytes(Type from, bool relu);
  void CvtTf32();
  Value* RoundToIntegral(Value* value, Rounding rounding);
  Value* SaturateUnit(Value* value);
  bool TakeIntegralRounding(Rounding* rounding);

  // --- comparisons ---
  void Set();
  void Setp();
  void Selp();
  void Slct();
  // Takes the comparison (and, with it, any boolean operation's name into `combine`).
  Value* Compare(std::string_view operation, Type type, Value* a, Value* b, bool ftz);
  std::string_view TakeComparison();
  Value* Combine(std::string_view combine, Value* result, const ptx::Operand& predicate);

  // --- memory ---
  struct Address {
    Value* pointer = nullptr;
    bool invariant = false;  // a kernel's parameters
    bool checked = false;    // accesses are told to the checker
    // Of atomic accesses, as volatile ones are. The threads of a block take turns on one thread of the system, and no
    // other block reaches its shared memory.
    llvm::SyncScope::ID scope = llvm::SyncScope::System;
  };
  ptx::Space TakeSpace();
  void TakeCacheHints();
  Address AddressOf(const ptx::Operand& operand, ptx::Space space);
  // What the offset is added to, as the program has it, in 64 bits. A shared variable's is of kShared.
  // REQUIRES: it names no parameter or local variable.
  Value* AddressBase(const ptx::AddressOperand& address, ptx::Space* space);
  Address ParameterAddress(std::string_view name, int64_t offset);
  Value* LocalPointer(Value* address);
  Value* SharedPointer(Value* offset);
  Value* GlobalPointer(Value* address);
  void Mov();
  void MovPack(const ptx::VectorOperand& vector, Type type);
  Value* ReadBits(const ptx::Operand& operand, uint32_t bits);
  void MovUnpack(const ptx::VectorOperand& vector, Type type);
  void Ld();
  void St();
  uint32_t TakeVector();
  struct Ordering {
    llvm::AtomicOrdering order = llvm::AtomicOrdering::NotAtomic;
    bool fence_before = false, fence_after = false;
  };
  Ordering TakeOrdering(bool store);
  Value* LoadElement(const Address& address, uint64_t offset, llvm::Type* type, llvm::AtomicOrdering order);
  void StoreElement(const Address& address, uint64_t offset, Value* value, llvm::AtomicOrdering order);
  void LoadWhole(const Address& address, Type type, const ptx::VectorOperand& to);
  void StoreWhole(const Address& address, Type type, const ptx::VectorOperand& from);
  void Cvta();
  void Isspacep();
  void Prefetch();
  void CpAsync();
  void BulkCopy();
  void CopyLines(const Address& to, const Address& from, Value* bytes);
  void Mapa();
  void Getctarank();
  void Createpolicy();
  void CopyBytes(const Address& to, const Address& from, uint32_t bytes, Value* source_bytes);
  void NoOperation();
  void Alloca();
  void StackSave();
  void StackRestore();

  // --- atomics ---
  void Atom() { Atomic(true); }
  void Red() { Atomic(false); }
  void Atomic(bool result);
  Value* AtomicElement(std::string_view operation, Type type, Value* pointer, Value* value, llvm::AtomicOrdering order);
  Value* AtomicExchange(Type type, Value* pointer, Value* value, llvm::AtomicOrdering order);
  Value* AtomicLoop(Value* pointer, llvm::Type* bits, llvm::AtomicOrdering order,
                    const std::function<Value*(Value*)>& update);
  Value* AtomicFloat(std::string_view operation, Type type, Value* pointer, Value* value, llvm::AtomicOrdering order);
  Value* CompareAndSwap(Type type, Value* pointer, size_t operand, llvm::AtomicOrdering order);
  void AtomicVector(std::string_view operation, Type type, const Address& address, bool result,
                    llvm::AtomicOrdering order);
  void Fence();
  void Membar();
  void Mbarrier();
  void CopiesArriveAtMbarrier();
  // Its pointer, told to the checker.
  Value* MbarrierAt(size_t operand, ptx::Space space);
  void InitMbarrier(Value* pointer, Value* arrivals);
  // The state before. `bytes`: how many more are to come; negative: have come.
  Value* UpdateMbarrier(Value* pointer, Value* arrivals, Value* bytes, bool drop);
  void WaitForMbarrier(Value* pointer, bool parity);

  // --- checks ---
  bool IsChecked(ptx::Space space) const;
  // Tells of an access before it is made; `flags` are check::Access's, without kKnownValue. `values`: what is written,
  // in equal parts; none: it is not known. Nothing if the kernel is not checked.
  void CheckAccess(const Address& address, uint64_t bytes, uint8_t flags, llvm::ArrayRef<Value*> values = {});

  // --- textures and surfaces ---
  struct ImageShape {
    ImageGeometry geometry = ImageGeometry::k1D;
    bool layered = false;
  };
  struct ImageAddress {
    Value* handle = nullptr;
    Value* layer = nullptr;
    Value* at[3] = {};  // 32 bits each, 0 of what the shape has not
  };
  bool TakeGeometry(ImageShape* shape);
  bool ReadImageAddress(const ptx::Operand& operand, const ImageShape& shape, Type coordinate, ImageAddress* address);
  bool ReadImageHandle(const ptx::Operand& operand, ImageAddress* address);
  Value* CallImage(std::string_view name, uint32_t what, const ImageAddress& address, Value* level = nullptr);
  Value* ReadLevel(const ptx::Operand& operand, Type coordinate);
  Value* LevelByGradients(size_t first, uint32_t fetch, const ImageShape& shape, const ImageAddress& address);
  Value* TexelElement(Value* halves, uint32_t index, uint32_t bits);
  void Tex();
  void Tld4();
  void Fetch(bool gather);
  void Txq();
  void Suq();
  void QueryImage(bool surface);
  bool TakeSurfaceAccess(SurfaceAccess* access, ImageShape* shape, Type* type, uint32_t* count);
  std::vector<const ptx::Operand*> Elements(const ptx::Operand& operand, uint32_t count);
  void Suld();
  void Sust();

  // --- control ---
  void Bra();
  void Brx();
  void Call();
  void Ret();
  void Exit();
  void Trap();
  void CallSystem(std::string_view name);
  void CallDirect(llvm::Function* callee, llvm::ArrayRef<Value*> pointers);
  void CallIndirect();
  void CallTrap(TrapKind kind);
  std::vector<Value*> CallPointers(const std::vector<ptx::Variable>& returns,
                                   const std::vector<ptx::Variable>& parameters);
  Value* ArgumentPointer(const ptx::Operand& operand, const ptx::Variable& declared, bool result);
  void FinishCall(const std::vector<ptx::Variable>& returns, llvm::ArrayRef<Value*> pointers);
  Value* SystemArgument(size_t index, Type type);
  Value* CallDeviceRuntime(std::string_view name);
  Value* PrepareChild(Value* block);
  Value* AllocateForKernel(Value* block);
  std::array<Value*, 3> ExtentArgument(size_t index);
  void Yield();
  llvm::BasicBlock* LabelBlock(const std::string& label);

  // --- barriers and warps ---
  Value* Thread();
  Value* CallRuntime(std::string_view name, llvm::Type* result, llvm::ArrayRef<Value*> arguments);
  // Where the runtime puts a word of its results.
  Value* ResultSlot();
  // Of such a place. Atomic: where branches meet that load a word each, LLVM would make one load at either's pointer,
  // and that is no plain use of a slot (jit/local_frame.h).
  Value* LoadResult(Value* slot);
  void Barrier();
  void ClusterBarrier();
  void BarrierReduce();
  void WarpSync();
  void Shfl();
  void Vote();
  void Match();
  void Redux();
  void ActiveMask();
  void Elect();
  void Nanosleep();

  // --- tensor cores ---
  struct MatrixShape {
    uint32_t m = 0, n = 0, k = 0;
    bool operator==(const MatrixShape&) const = default;
  };
  // Where the elements of wmma's fragments lie in memory.
  struct Fragment {
    TensorElement element = TensorElement::kF16;
    uint32_t tiles = 0, line_tiles = 0;  // a tile's lines are rows of a and c, columns of b
    bool lines_first = false;            // tiles: those side by side, then those of the next lines; else the reverse
    bool accumulates = false;
    bool contiguous = false;  // the elements of a line follow each other
    Address base;
    Value* stride = nullptr;  // in elements
    uint32_t Columns() const { return accumulates ? 8 : TileColumns(element); }
  };
  bool TakeMatrixShape(MatrixShape* shape);
  bool TakeElement(TensorElement* element);
  static bool HasProduct(bool wmma, const MatrixShape& shape, TensorElement a);
  static bool HasSparseProduct(const MatrixShape& shape, TensorElement a);
  bool TakeProduct(bool wmma, TensorProduct* product);
  bool ReadSelector(const ptx::Operand& operand, TensorProduct* product);
  void Product(bool wmma);
  bool ReadRegisters(const ptx::Operand& operand, TensorElement element, uint32_t registers, size_t listed,
                     std::vector<Value*>* to);
  void WriteRegisters(const ptx::Operand& operand, TensorElement element, size_t listed, llvm::ArrayRef<Value*> from);
  static size_t ListedRegisters(bool wmma, bool accumulates, TensorElement element, uint32_t registers);
  // Calls the runtime's function of the whole warp.
  std::vector<Value*> CallTensor(TensorFunction function, uint32_t operation, llvm::ArrayRef<Value*> inputs);
  // In code for whole blocks: `registers` go in, the first `results` come out.
  std::vector<Value*> CallOfWarp(std::string_view name, llvm::ArrayRef<Value*> registers,
                                 llvm::ArrayRef<Value*> arguments, uint32_t results);
  void WaitForWarp();
  Value* Lane();
  void Mma() { Product(/*wmma=*/false); }
  void Wmma();
  void Movmatrix();
  void Ldmatrix() { MoveMatrices(/*load=*/true); }
  void Stmatrix() { MoveMatrices(/*load=*/false); }
  void MoveMatrices(bool load);
  void CheckRow(const Address& row, uint32_t matrices, bool load);
  void MoveFragment(bool load);
  bool TakeFragment(bool load, Fragment* fragment);
  // The address of an element of a tile; in bytes, how far lines are apart, or elements of a line that do not follow
  // each other.
  Address FragmentElement(const Fragment& fragment, uint32_t tile, Value* line, Value* at);
  Value* StrideBytes(const Fragment& fragment);
  std::vector<Value*> LoadTile(const Fragment& fragment, uint32_t tile);
  void StoreTile(const Fragment& fragment, uint32_t tile, llvm::ArrayRef<Value*> words);
  // Of one suspendable thread: `count` elements from its `first` one of the tile on.
  Value* LoadPart(const Fragment& fragment, uint32_t tile, uint32_t first, uint32_t count);
  void StorePart(const Fragment& fragment, uint32_t tile, uint32_t first, uint32_t count, Value* all);

  ModuleCodegen& module_;
  const ReachedFunction& reached_;
  const ptx::Function& ptx_;
  llvm::Function* function_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::IRBuilder<> entry_;  // where slots and context fields are made: the entry block, before its branch

  std::vector<llvm::AllocaInst*> registers_;
  std::map<std::string, llvm::AllocaInst*, std::less<>> locals_;    // .local and .param variables of the body
  std::map<std::string, Value*, std::less<>> parameters_;           // of a .func: pointers; of a kernel: see below
  std::map<std::string, uint32_t, std::less<>> kernel_parameters_;  // name -> offset in the parameter buffer
  uint64_t parameter_bytes_ = 0;
  std::map<uint32_t, llvm::BasicBlock*> blocks_;  // instruction index -> block
  std::map<size_t, Value*> fields_, thread_fields_;
  llvm::SyncScope::ID atomic_scope_ = llvm::SyncScope::System;  // of the instruction being made
  llvm::AllocaInst* carry_ = nullptr;
  llvm::AllocaInst* spins_ = nullptr;
  llvm::AllocaInst* result_slot_ = nullptr;
  llvm::AllocaInst* tensor_registers_ = nullptr;  // what the runtime's functions of whole warps take and give
  llvm::AllocaInst* saved_stack_ = nullptr;       // LocalStack at the start, of a function that changes it
  const ptx::Instruction* instruction_ = nullptr;
  uint32_t at_ = 0;
  Modifiers modifiers_;
  absl::Status status_;
};

}  // namespace wharf::device::soft
