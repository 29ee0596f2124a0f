#include "wharf/device/soft/codegen/module.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/MDBuilder.h>

#include "wharf/device/soft/codegen/function.h"

namespace wharf::device::soft {
namespace {

constexpr uint32_t kMaxInlinedInstructions = 4000;

// Loads from the context may then be moved anywhere, out of conditions and loops.
void MarkContext(llvm::Function* function, unsigned argument) {
  function->addParamAttr(argument, llvm::Attribute::get(function->getContext(), kBlockAttribute));
  function->addDereferenceableParamAttr(argument, sizeof(BlockContext));
  function->addParamAttr(argument, llvm::Attribute::getWithAlignment(function->getContext(), llvm::Align(8)));
}

void MarkThread(llvm::Function* function, unsigned argument) {
  function->addParamAttr(argument, llvm::Attribute::get(function->getContext(), kThreadAttribute));
}

// LLVM's vectoriser knows nothing of threads: it would run them in parallel on one copy of their own memory. Widen
// (jit_widen.h) does what can be done.
void ForbidVectorization(llvm::Instruction* backward_branch) {
  llvm::LLVMContext& context = backward_branch->getContext();
  llvm::Metadata* vectorize[] = {llvm::MDString::get(context, "llvm.loop.vectorize.enable"),
                                 llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context))};
  auto* loop = llvm::MDNode::getDistinct(context, {nullptr, llvm::MDNode::get(context, vectorize)});
  loop->replaceOperandWith(0, loop);
  backward_branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

}  // namespace

ModuleCodegen::ModuleCodegen(const Program& program, CodeForm form, llvm::Module* module)
    : program_(program), form_(form), module_(*module) {}

std::optional<uint32_t> ModuleCodegen::BlockExtent(size_t dimension) const {
  if (form_ != CodeForm::kBlock) return std::nullopt;
  const Dim3& block = program_.block;
  return dimension == 0 ? block.x : dimension == 1 ? block.y : block.z;
}

absl::Status ModuleCodegen::Build() {
  Declare();
  for (size_t i = 0; i < functions_.size(); ++i) {
    WHARF_RETURN_IF_ERROR(FunctionCodegen(*this, program_.functions[i], functions_[i]).Build());
  }
  if (suspendable()) {
    BuildThreadEntry();
  } else {
    BuildLoopEntry();
  }
  return absl::OkStatus();
}

llvm::FunctionType* ModuleCodegen::FunctionTypeFor(size_t returns, size_t parameters) const {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context());
  llvm::Type* i32 = llvm::Type::getInt32Ty(context());
  std::vector<llvm::Type*> arguments = {pointer, i32, i32, i32, pointer};
  arguments.resize(kFixedArguments + returns + parameters, pointer);
  return llvm::FunctionType::get(llvm::Type::getInt1Ty(context()), arguments, false);
}

void ModuleCodegen::Declare() {
  for (const ReachedFunction& reached : program_.functions) {
    const ptx::Function& f = *reached.function;
    // The kernel's own parameters live in the parameter buffer.
    auto* type = FunctionTypeFor(f.is_entry ? 0 : f.returns.size(), f.is_entry ? 0 : f.parameters.size());
    const std::string name = &reached == &program_.Kernel() ? kThreadSymbol : "f." + f.name;
    // Not internal, or LLVM would take away parameters that Confine (jit/confine.h) may need.
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::LinkOnceODRLinkage, name, module_);
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    function->setDSOLocal(true);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    MarkContext(function, kBlockArgument);
    if (suspendable()) MarkThread(function, kThreadArgument);
    const bool block = form_ == CodeForm::kBlock;
    if (block) function->addFnAttr(llvm::Attribute::Convergent);
    if (block || (&reached == &program_.Kernel() && program_.instructions <= kMaxInlinedInstructions)) {
      function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
    functions_.push_back(function);
  }
}

llvm::Function* ModuleCodegen::FindFunction(std::string_view name) const {
  auto found = program_.index.find(ResolveAlias(*program_.module, name));
  return found == program_.index.end() ? nullptr : functions_[found->second];
}

llvm::FunctionCallee ModuleCodegen::External(std::string_view name, llvm::Type* result,
                                             llvm::ArrayRef<llvm::Type*> arguments) {
  auto callee = module_.getOrInsertFunction(llvm::StringRef(name.data(), name.size()),
                                            llvm::FunctionType::get(result, arguments, false));
  llvm::cast<llvm::Function>(callee.getCallee())->addFnAttr(llvm::Attribute::NoUnwind);
  return callee;
}

llvm::FunctionCallee ModuleCodegen::ExternalOfThreads(std::string_view name, llvm::Type* result,
                                                      llvm::ArrayRef<llvm::Type*> arguments) {
  auto callee = External(name, result, arguments);
  llvm::cast<llvm::Function>(callee.getCallee())->addFnAttr(llvm::Attribute::Convergent);
  return callee;
}

llvm::Constant* ModuleCodegen::VariableAddress(std::string_view name) {
  const std::string symbol = kVariablePrefix + std::string(name);
  auto* variable = module_.getOrInsertGlobal(symbol, llvm::Type::getInt8Ty(context()));
  return llvm::ConstantExpr::getPtrToInt(variable, llvm::Type::getInt64Ty(context()));
}

void ModuleCodegen::MarkInvariant(llvm::Instruction* load) const {
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context(), {}));
}

void ModuleCodegen::MarkDereferenceable(llvm::Instruction* load, uint64_t bytes) const {
  if (bytes == 0) return;
  auto* size = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context()), bytes);
  load->setMetadata(llvm::LLVMContext::MD_dereferenceable,
                    llvm::MDNode::get(context(), llvm::ConstantAsMetadata::get(size)));
}

void ModuleCodegen::MarkRange(llvm::Instruction* load, uint32_t low, uint32_t high) const {
  load->setMetadata(llvm::LLVMContext::MD_range,
                    llvm::MDBuilder(context()).createRange(llvm::APInt(32, low), llvm::APInt(32, high)));
}

llvm::Value* ModuleCodegen::LoadField(llvm::IRBuilder<>& builder, llvm::Value* context, size_t offset, uint32_t low,
                                      uint32_t high) {
  auto* load =
      builder.CreateLoad(builder.getInt32Ty(), builder.CreateConstGEP1_64(builder.getInt8Ty(), context, offset));
  MarkInvariant(load);
  if (high != 0) MarkRange(load, low, high);
  return load;
}

// for z, y, x: thread(block, x, y, z, null). Dimensions are at least one.
void ModuleCodegen::BuildLoopEntry() {
  llvm::LLVMContext& c = context();
  llvm::IRBuilder<> b(c);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kEntrySymbol, module_);
  entry->addFnAttr(llvm::Attribute::NoUnwind);
  MarkContext(entry, 0);
  auto* start = llvm::BasicBlock::Create(c, "entry", entry);
  b.SetInsertPoint(start);
  llvm::Value* block = entry->getArg(0);
  llvm::Value* extent[3];
  for (size_t d = 0; d < 3; ++d) {
    extent[d] = LoadField(b, block, offsetof(BlockContext, block) + 4 * d, 1, (d == 2 ? kMaxBlockZ : kMaxBlockX) + 1);
  }
  llvm::BasicBlock* headers[3];
  llvm::PHINode* index[3];
  for (int d = 2; d >= 0; --d) {
    headers[d] = llvm::BasicBlock::Create(c, "loop", entry);
    llvm::BasicBlock* from = b.GetInsertBlock();
    b.CreateBr(headers[d]);
    b.SetInsertPoint(headers[d]);
    index[d] = b.CreatePHI(b.getInt32Ty(), 2);
    index[d]->addIncoming(b.getInt32(0), from);
  }
  b.CreateCall(functions_[0], {block, index[0], index[1], index[2], llvm::ConstantPointerNull::get(b.getPtrTy())});
  for (int d = 0; d < 3; ++d) {
    auto* next = b.CreateAdd(index[d], b.getInt32(1), "next", true, true);
    index[d]->addIncoming(next, b.GetInsertBlock());
    auto* done = llvm::BasicBlock::Create(c, "done", entry);
    auto* branch = b.CreateCondBr(b.CreateICmpEQ(next, extent[d]), done, headers[d]);
    if (d == 0) ForbidVectorization(branch);
    b.SetInsertPoint(done);
  }
  b.CreateRetVoid();
}

void ModuleCodegen::BuildThreadEntry() {
  llvm::LLVMContext& c = context();
  llvm::IRBuilder<> b(c);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kEntrySymbol, module_);
  entry->addFnAttr(llvm::Attribute::NoUnwind);
  MarkThread(entry, 0);
  b.SetInsertPoint(llvm::BasicBlock::Create(c, "entry", entry));
  llvm::Value* thread = entry->getArg(0);
  auto* block = b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getInt8Ty(), thread, offsetof(ThreadContext, block)));
  MarkInvariant(block);
  std::vector<llvm::Value*> arguments = {block};
  for (size_t d = 0; d < 3; ++d) {
    arguments.push_back(
        LoadField(b, thread, offsetof(ThreadContext, tid) + 4 * d, 0, d == 2 ? kMaxBlockZ : kMaxBlockX));
  }
  arguments.push_back(thread);
  b.CreateCall(functions_[0], arguments);
  b.CreateRetVoid();
}

}  // namespace wharf::device::soft
