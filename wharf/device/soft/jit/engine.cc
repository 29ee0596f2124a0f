#include "wharf/device/soft/jit/engine.h"

#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>
#include <llvm/Transforms/Utils/UnifyFunctionExitNodes.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <new>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/jit/confine.h"
#include "wharf/device/soft/jit/helpers.h"
#include "wharf/device/soft/jit/prefetch.h"
#include "wharf/device/soft/processor/host_processor.h"
#include "wharf/device/soft/widen/regions.h"
#include "wharf/device/soft/widen/widen.h"

namespace wharf::device::soft {
namespace {

absl::Status FromLlvm(llvm::Error error, std::string_view what) {
  return Internal("{}: {}", what, llvm::toString(std::move(error)));
}

// One of LLVM's own, if this LLVM has it.
template <typename T>
void SetOption(llvm::StringRef name, T value) {
  auto& options = llvm::cl::getRegisteredOptions();
  if (auto found = options.find(name); found != options.end()) {
    static_cast<llvm::cl::opt<T>*>(found->second)->setValue(value);
  }
}

void InitializeLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Built without exceptions, it would end the process with a line of its own.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) {
      while (const std::new_handler handler = std::get_new_handler()) handler();
      std::abort();
    });
    // It makes jumps of selections where it takes memory to be slow: kernels have selections because threads differ, so
    // the processor guesses such jumps wrong.
    SetOption("x86-cmov-converter", false);
    // Time to compile: going over code once more after it was simplified finds next to nothing (LLVM 18 does not
    // either), and the scheduler compares every access to memory in a long block with every other one.
    SetOption("instcombine-max-iterations", 1U);
    SetOption("dag-maps-huge-region", 200U);
    // One pass looks long for values to keep in mask registers, and of a hundred kernels moves none; another one begins
    // anew after most of what it does, but for functions of more blocks than this.
    SetOption("disable-x86-domain-reassignment", true);
    SetOption("cgpp-huge-func", 0U);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

// As LLVM found it when it was first asked.
const HostProcessor& FoundProcessor() {
  static const HostProcessor once = [] {
    HostProcessor found{.cpu = llvm::sys::getHostCPUName().str(), .features = {}};
    llvm::StringMap<bool> features;
    llvm::sys::getHostCPUFeatures(features);
    for (const auto& feature : features) found.features[feature.first().str()] = feature.second;
    return found;
  }();
  return once;
}

llvm::orc::JITTargetMachineBuilder MachineOf(const llvm::Triple& triple, const HostProcessor& processor) {
  llvm::orc::JITTargetMachineBuilder builder(triple);
  builder.setCPU(processor.cpu);
  for (const auto& feature : processor.features) builder.getFeatures().AddFeature(feature.first, feature.second);
  builder.setRelocationModel(llvm::Reloc::PIC_);
  builder.setCodeModel(llvm::CodeModel::Small);
  builder.setCodeGenOptLevel(llvm::CodeGenOpt::Aggressive);
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  builder.getOptions().TrapUnreachable = true;  // or code that "cannot be reached" falls through to whatever follows
  return builder;
}

llvm::orc::shared::CWrapperFunctionResult DoNothing(const char* arguments, size_t bytes) {
  using Call = llvm::orc::shared::WrapperFunction<llvm::orc::shared::SPSError()>;
  return Call::handle(arguments, bytes, [] { return llvm::Error::success(); }).release();
}

// At its end LLVM 16 gives back the memory of those kernels only for which something else is to be done then: without
// this, a process that has made and ended many engines runs out of mappings.
class GivesCodeBack final : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  void modifyPassConfig(llvm::orc::MaterializationResponsibility&, llvm::jitlink::LinkGraph&,
                        llvm::jitlink::PassConfiguration& passes) override {
    passes.PostAllocationPasses.push_back([](llvm::jitlink::LinkGraph& graph) {
      graph.allocActions().push_back({{}, {llvm::orc::ExecutorAddr::fromPtr(&DoNothing), {}}});
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility&) override { return llvm::Error::success(); }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib&, llvm::orc::ResourceKey, llvm::orc::ResourceKey) override {}
};

llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> MakeLinkLayer(llvm::orc::ExecutionSession& session,
                                                                      const llvm::Triple&) {
  auto layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
  layer->addPlugin(std::make_unique<GivesCodeBack>());
  return std::unique_ptr<llvm::orc::ObjectLayer>(std::move(layer));
}

absl::Status Define(llvm::orc::LLJIT& jit, llvm::orc::JITDylib& library, const std::vector<AbsoluteSymbol>& symbols) {
  llvm::orc::SymbolMap map;
  for (const AbsoluteSymbol& symbol : symbols) {
    map[jit.mangleAndIntern(symbol.name)] =
        llvm::JITEvaluatedSymbol(symbol.address, llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Absolute);
  }
  if (map.empty()) return absl::OkStatus();
  if (auto error = library.define(llvm::orc::absoluteSymbols(std::move(map)))) {
    return FromLlvm(std::move(error), "defining symbols");
  }
  return absl::OkStatus();
}

// The first of two stores to a variable, if every load comes after the other one.
void ForgetUnreadValues(llvm::Function* function) {
  const llvm::DominatorTree tree(*function);
  const llvm::BasicBlock* entry = &function->getEntryBlock();
  std::vector<llvm::AllocaInst*> variables;
  for (llvm::Instruction& instruction : function->getEntryBlock()) {
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
  }
  for (llvm::AllocaInst* variable : variables) {
    std::vector<llvm::StoreInst*> stores;
    std::vector<llvm::LoadInst*> loads;
    bool other_uses = false;
    for (llvm::User* user : variable->users()) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store != nullptr && store->getPointerOperand() == variable) {
        stores.push_back(store);
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
        loads.push_back(load);
      } else {
        other_uses = true;
      }
    }
    if (other_uses || stores.size() != 2) continue;
    const bool in_order = tree.dominates(stores[0], stores[1]);
    llvm::StoreInst *first = stores[in_order ? 0 : 1], *second = stores[in_order ? 1 : 0];
    const auto after = [&](const llvm::LoadInst* load) { return tree.dominates(second, load); };
    if (first->getParent() == entry && llvm::all_of(loads, after)) first->eraseFromParent();
  }
}

// LLVM's pass pipelines for one code generator.
class Optimizer {
 public:
  Optimizer(llvm::TargetMachine* machine, const JitEngine::CompileOptions& options)
      : large_(options.large), builder_(machine, Tuning(options)) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(graphs_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, graphs_, modules_);
  }

  void Optimize(llvm::Module* module) {
    // First of all, before functions are simplified apart from what they are called with.
    llvm::ModulePassManager inliner;
    inliner.addPass(llvm::AlwaysInlinerPass());
    inliner.run(*module, modules_);
    const auto level = large_ ? llvm::OptimizationLevel::O1 : llvm::OptimizationLevel::O3;
    builder_.buildPerModuleDefaultPipeline(level).run(*module, modules_);
  }

  // Takes what was put in variables, by code that was just made, out of them. The most of them have one value, besides
  // the one they begin with, which nobody reads: without that LLVM need not look for where values meet.
  void Promote(llvm::Module* module) {
    for (llvm::Function& function : *module) {
      if (function.isDeclaration()) continue;
      ForgetUnreadValues(&function);
      llvm::FunctionPassManager passes;
      passes.addPass(llvm::PromotePass());
      passes.run(function, functions_);
    }
    Forget();
  }

  // Simplifies, and brings `function` into the form Widen needs.
  void PrepareToWiden(llvm::Function* function) {
    builder_.buildModuleSimplificationPipeline(llvm::OptimizationLevel::O1, llvm::ThinOrFullLTOPhase::None)
        .run(*function->getParent(), modules_);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::LowerSwitchPass());
    passes.addPass(llvm::UnifyFunctionExitNodesPass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(llvm::LCSSAPass());
    passes.run(*function, functions_);
  }

  // The same for a function of its own, which is a part of one that was simplified.
  void Tidy(llvm::Function* function) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::LowerSwitchPass());
    passes.addPass(llvm::UnifyFunctionExitNodesPass());
    passes.addPass(llvm::LoopSimplifyPass());
    passes.addPass(llvm::LCSSAPass());
    passes.run(*function, functions_);
    functions_.clear(*function, function->getName());
  }

  // After the module was changed by hand.
  void Forget() {
    modules_.clear();
    graphs_.clear();
    functions_.clear();
    loops_.clear();
  }

 private:
  static llvm::PipelineTuningOptions Tuning(const JitEngine::CompileOptions& options) {
    llvm::PipelineTuningOptions tuning;
    tuning.LoopVectorization = true;
    // In widened code it only pairs the addresses of different accesses in vectors, to take them apart again.
    tuning.SLPVectorization = !options.large && options.form == CodeForm::kThread;
    tuning.LoopInterleaving = true;
    return tuning;
  }

  const bool large_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
};

// The thread function stays a function of its own while it is simplified.
bool TryWiden(llvm::Module* module, Optimizer* optimizer, unsigned lanes, PhaseClock* clock) {
  llvm::Function* thread = module->getFunction(kThreadSymbol);
  llvm::Function* entry = module->getFunction(kEntrySymbol);
  if (thread == nullptr || entry == nullptr) return false;
  const bool inlined = thread->hasFnAttribute(llvm::Attribute::AlwaysInline);
  thread->removeFnAttr(llvm::Attribute::AlwaysInline);
  thread->addFnAttr(llvm::Attribute::NoInline);
  thread->setLinkage(llvm::GlobalValue::ExternalLinkage);
  optimizer->PrepareToWiden(thread);
  clock->End(&CompileTimes::simplify);
  const bool wide = Widen(thread, entry, lanes);
  optimizer->Forget();
  clock->End(&CompileTimes::widen);
  thread->setLinkage(llvm::GlobalValue::LinkOnceODRLinkage);
  thread->removeFnAttr(llvm::Attribute::NoInline);
  if (inlined) thread->addFnAttr(llvm::Attribute::AlwaysInline);
  return wide;
}

absl::Status TryRegions(llvm::Module* module, Optimizer* optimizer, const Dim3& block, unsigned lanes,
                        PhaseClock* clock) {
  llvm::Function* thread = module->getFunction(kThreadSymbol);
  llvm::Function* entry = module->getFunction(kEntrySymbol);
  if (thread == nullptr || entry == nullptr) return Unimplemented("it has no code of one thread");
  thread->removeFnAttr(llvm::Attribute::AlwaysInline);
  thread->addFnAttr(llvm::Attribute::NoInline);
  thread->setLinkage(llvm::GlobalValue::ExternalLinkage);
  optimizer->PrepareToWiden(thread);
  thread->removeFnAttr(llvm::Attribute::NoInline);
  optimizer->Forget();
  clock->End(&CompileTimes::simplify);
  RegionOptions options{.block = block, .lanes = lanes, .tidy = {}};
  options.tidy = [optimizer](llvm::Function* function) { optimizer->Tidy(function); };
  absl::Status done = SplitIntoRegions(thread, entry, options);
  optimizer->Forget();
  clock->End(&CompileTimes::widen);
  return done;
}

// Those that no other thread of the system could disturb.
void LowerOwnAtomics(llvm::Module* module) {
  for (llvm::Function& function : *module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
      if (update != nullptr && update->getSyncScopeID() == llvm::SyncScope::SingleThread) {
        llvm::lowerAtomicRMWInst(update);
      } else if (swap != nullptr && swap->getSyncScopeID() == llvm::SyncScope::SingleThread) {
        llvm::lowerAtomicCmpXchgInst(swap);
      }
    }
  }
}

// A scatter of one lane, such as the first thread's of a warp, is a store: processors take a scatter apart lane by
// lane.
void StoreSingleLanes(llvm::Module* module) {
  for (llvm::Function& function : *module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* scatter = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (scatter == nullptr || scatter->getIntrinsicID() != llvm::Intrinsic::masked_scatter) continue;
      auto* mask = llvm::dyn_cast<llvm::Constant>(scatter->getArgOperand(3));
      const unsigned lanes = llvm::cast<llvm::FixedVectorType>(scatter->getArgOperand(0)->getType())->getNumElements();
      std::vector<unsigned> stored;
      for (unsigned lane = 0; mask != nullptr && lane < lanes; ++lane) {
        const llvm::Constant* bit = mask->getAggregateElement(lane);
        if (bit == nullptr || !bit->isNullValue()) stored.push_back(lane);
      }
      auto* only = stored.size() == 1 ? mask->getAggregateElement(stored[0]) : nullptr;
      if (only == nullptr || !only->isOneValue()) continue;
      llvm::IRBuilder<> b(scatter);
      auto* alignment = llvm::cast<llvm::ConstantInt>(scatter->getArgOperand(2));
      b.CreateAlignedStore(b.CreateExtractElement(scatter->getArgOperand(0), stored[0]),
                           b.CreateExtractElement(scatter->getArgOperand(1), stored[0]),
                           alignment->getMaybeAlignValue());
      scatter->eraseFromParent();
    }
  }
}

// AArch64 has no instruction for increments and decrements that wrap, and LLVM 16 makes none of others where there are
// some for atomics.
void ExpandWrappingAtomics(llvm::Module* module) {
  std::vector<llvm::AtomicRMWInst*> wrapping;
  for (llvm::Function& function : *module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (update == nullptr) continue;
      const auto operation = update->getOperation();
      if (operation != llvm::AtomicRMWInst::UIncWrap && operation != llvm::AtomicRMWInst::UDecWrap) continue;
      wrapping.push_back(update);
    }
  }
  for (llvm::AtomicRMWInst* update : wrapping) {
    llvm::expandAtomicRMWToCmpXchg(update, [](llvm::IRBuilderBase& b, llvm::Value* at, llvm::Value* loaded,
                                              llvm::Value* next, llvm::Align alignment, llvm::AtomicOrdering order,
                                              llvm::SyncScope::ID scope, llvm::Value*& done, llvm::Value*& now) {
      llvm::Value* pair = b.CreateAtomicCmpXchg(at, loaded, next, alignment, order,
                                                llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
      done = b.CreateExtractValue(pair, 1);
      now = b.CreateExtractValue(pair, 0);
    });
  }
}

// Whether any lane of a mask is set is asked by comparing the mask, as an integer, with 0. For AArch64 LLVM 16 makes of
// this the greatest of the lanes with whatever is in the other bits of each, which is wrong: the lanes are spread out
// here.
void SpreadTestedMasks(llvm::Module* module) {
  for (llvm::Function& function : *module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
      if (compare == nullptr || !compare->isEquality()) continue;
      auto* zero = llvm::dyn_cast<llvm::Constant>(compare->getOperand(1));
      auto* whole = llvm::dyn_cast<llvm::BitCastInst>(compare->getOperand(0));
      if (whole == nullptr || zero == nullptr || !zero->isNullValue()) continue;
      auto* mask = llvm::dyn_cast<llvm::FixedVectorType>(whole->getSrcTy());
      if (mask == nullptr || !mask->getElementType()->isIntegerTy(1)) continue;
      llvm::IRBuilder<> b(compare);
      auto* lane = b.getIntNTy(std::max(8U, 128 / mask->getNumElements()));
      llvm::Value* most = b.CreateIntMaxReduce(b.CreateSExt(whole->getOperand(0), llvm::VectorType::get(lane, mask)));
      compare->replaceAllUsesWith(b.CreateICmp(compare->getPredicate(), most, llvm::ConstantInt::get(lane, 0)));
      compare->eraseFromParent();
    }
  }
}

// What the entry is, for who links the object: ExecutionMode, and whether it is CodeForm::kLoop with threads in lanes.
constexpr char kModeSymbol[] = "wharf_execution_mode";
void DefineMode(llvm::Module* module, ExecutionMode mode, bool wide) {
  const uint32_t words[] = {static_cast<uint32_t>(mode), wide ? 1U : 0U};
  auto* value = llvm::ConstantDataArray::get(module->getContext(), words);
  new llvm::GlobalVariable(*module, value->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, value,
                           kModeSymbol);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JitEngine>> JitEngine::Create() {
  InitializeLlvm();
  std::unique_ptr<JitEngine> engine(new JitEngine);
  const llvm::Triple triple(llvm::sys::getProcessTriple());
  WHARF_ASSIGN_OR_RETURN(const HostProcessor processor, UsedAs(triple.getArchName().str(), FoundProcessor()));
  engine->machine_ = std::make_unique<llvm::orc::JITTargetMachineBuilder>(MachineOf(triple, processor));
  engine->lanes_ = processor.lanes;
  engine->target_ = processor.cpu + " " + engine->machine_->getFeatures().getString();
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(*engine->machine_)
                 .setObjectLinkingLayerCreator(MakeLinkLayer)
                 .create();
  if (!jit) return FromLlvm(jit.takeError(), "starting the JIT compiler");
  engine->jit_ = std::move(*jit);
  engine->helpers_ = &engine->jit_->getExecutionSession().createBareJITDylib("helpers");
  std::vector<AbsoluteSymbol> symbols;
  for (const auto& list : {HelperSymbols(), RuntimeSymbols()}) {
    for (const HelperSymbol& s : list) symbols.push_back({std::string(s.name), reinterpret_cast<uint64_t>(s.address)});
  }
  WHARF_RETURN_IF_ERROR(Define(*engine->jit_, *engine->helpers_, symbols));
  return engine;
}

void JitEngine::Prepare(llvm::Module* module) const {
  module->setDataLayout(jit_->getDataLayout());
  module->setTargetTriple(jit_->getTargetTriple().str());
}

namespace {

// For people who work on the compiler: WHARF_DUMP_IR=DIR writes each kernel's code before and after optimisation there.
void Dump(const llvm::Module& module, const char* when) {
  const char* directory = std::getenv("WHARF_DUMP_IR");
  if (directory == nullptr) return;
  static std::atomic<uint64_t> counter{0};
  std::error_code error;
  llvm::raw_fd_ostream file(fmt::format("{}/{}.{}.ll", directory, counter.fetch_add(1), when), error);
  if (!error) module.print(file, nullptr);
}

// LLVM's remarks, such as that a loop could not be vectorised, are not for users. One counts: that a frame is larger
// than AddConfinedAttributes allows.
struct Listener final : llvm::DiagnosticHandler {
  explicit Listener(bool* large_frame) : large_frame(large_frame) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getKind() == llvm::DK_StackSize) *large_frame = true;
    return info.getSeverity() != llvm::DS_Error;
  }
  bool* const large_frame;
};

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> JitEngine::Compile(llvm::Module* module,
                                                                       const CompileOptions& options) const {
  PhaseClock clock(options.times);
  bool large_frame = false;
  module->getContext().setDiagnosticHandler(std::make_unique<Listener>(&large_frame));
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(*module, &problems)) return Internal("generated code is malformed: {}", problems.str());
  auto builder = *machine_;
  if (options.large) builder.setCodeGenOptLevel(llvm::CodeGenOpt::Default);
  auto machine = builder.createTargetMachine();
  if (!machine) return FromLlvm(machine.takeError(), "making a code generator");
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", (*machine)->getTargetCPU());
    function.addFnAttr("target-features", (*machine)->getTargetFeatureString());
    AddConfinedAttributes(&function);
  }
  Dump(*module, "before");
  Optimizer optimizer(machine->get(), options);
  optimizer.Promote(module);
  if (options.form == CodeForm::kBlock) {
    WHARF_RETURN_IF_ERROR(TryRegions(module, &optimizer, options.block, lanes_, &clock));
  }
  bool wide = false;
  if (options.form == CodeForm::kLoop && !options.large && !options.narrow) {
    wide = TryWiden(module, &optimizer, lanes_, &clock);
  }
  DefineMode(module, options.form == CodeForm::kThread ? ExecutionMode::kSuspendable : ExecutionMode::kLoop, wide);
  if (options.wide != nullptr) *options.wide = wide;
  if (wide || options.form == CodeForm::kBlock) optimizer.Promote(module);
  optimizer.Optimize(module);
  clock.End(&CompileTimes::optimize);
  LowerOwnAtomics(module);
  StoreSingleLanes(module);
  PrefetchMaskedLoads(module);
  if ((*machine)->getTargetTriple().isAArch64()) {
    ExpandWrappingAtomics(module);
    SpreadTestedMasks(module);
  }
  if (options.confine) {
    WHARF_RETURN_IF_ERROR(Confine(module));
  } else {
    DefineLocalStackBytes(module, 0);
  }
  Dump(*module, "after");
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  llvm::MCContext* context = nullptr;
  if ((*machine)->addPassesToEmitMC(passes, context, stream)) return Internal("this target makes no object code");
  passes.run(*module);
  clock.End(&CompileTimes::emit);
  if (large_frame) return Unimplemented("a function needs more than {} bytes of stack at once", kMostFrameBytes);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(bytes), "kernel", false);
}

absl::StatusOr<JitEngine::Code> JitEngine::Link(std::unique_ptr<llvm::MemoryBuffer> object,
                                                const std::vector<AbsoluteSymbol>& symbols) {
  auto& library = jit_->getExecutionSession().createBareJITDylib(fmt::format("kernel{}", next_.fetch_add(1)));
  library.addToLinkOrder(*helpers_);
  WHARF_RETURN_IF_ERROR(Define(*jit_, library, symbols));
  if (auto error = jit_->addObjectFile(library, std::move(object))) return FromLlvm(std::move(error), "adding code");
  auto entry = jit_->lookup(library, kEntrySymbol);
  if (!entry) return FromLlvm(entry.takeError(), "linking");
  auto local = jit_->lookup(library, kLocalStackSymbol);
  if (!local) return FromLlvm(local.takeError(), "linking");
  auto mode = jit_->lookup(library, kModeSymbol);
  if (!mode) return FromLlvm(mode.takeError(), "linking");
  const auto* words = mode->toPtr<const uint32_t*>();
  const bool loop = words[0] == static_cast<uint32_t>(ExecutionMode::kLoop);
  return Code{entry->toPtr<void*>(), loop ? ExecutionMode::kLoop : ExecutionMode::kSuspendable, words[1] != 0,
              *local->toPtr<const uint64_t*>()};
}

std::string LlvmVersion() { return LLVM_VERSION_STRING; }

void ReadProcessor() { FoundProcessor(); }

}  // namespace wharf::device::soft
