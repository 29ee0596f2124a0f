#include "wharf/device/soft/jit/object_maker.h"

#include <fmt/format.h>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/codegen/program.h"
#include "wharf/device/soft/jit/cache.h"

namespace wharf::device::soft {
namespace {

// Changes whenever generated code does.
constexpr std::string_view kCompilerVersion = "32";
// Longer kernels are optimised less.
constexpr uint32_t kLargeKernel = 6000;

// kUnimplemented: the program cannot have this form.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeAs(CodeForm form, const Program& program,
                                                           const JitEngine& engine, const CompilerOptions& options,
                                                           MakeReport* report) {
  PhaseClock clock(&report->times);
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  engine.Prepare(&module);
  WHARF_RETURN_IF_ERROR(ModuleCodegen(program, form, &module).Build());
  clock.End(&CompileTimes::generate);
  return engine.Compile(&module, {.form = form,
                                  .block = program.block,
                                  .large = program.instructions > kLargeKernel,
                                  .narrow = IsNarrow(program.block),
                                  .confine = options.confine,
                                  .wide = &report->wide,
                                  .times = &report->times});
}

}  // namespace

std::string ObjectName(const Program& program, const JitEngine& engine, const CompilerOptions& options) {
  const Dim3& block = program.block;
  return HashText(fmt::format("{}\n{}\n{}\n{} {} {}\n{}", kCompilerVersion, options.confine, engine.target(), block.x,
                              block.y, block.z, program.key));
}

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeObject(const Program& program, const JitEngine& engine,
                                                               const CompilerOptions& options, MakeReport* report) {
  MakeReport unused;
  if (report == nullptr) report = &unused;
  if (program.block.x != 0 && GainsByShape(program)) {
    auto object = MakeAs(CodeForm::kBlock, program, engine, options, report);
    if (object.ok() || absl::IsInvalidArgument(object.status())) return object;
    report->no_regions = object.status();
  }
  const bool loop = program.mode == ExecutionMode::kLoop;
  return MakeAs(loop ? CodeForm::kLoop : CodeForm::kThread, program, engine, options, report);
}

namespace {

// Why not in a faster way, of a kernel that is not in lanes.
std::string ReasonFor(const Program& program, const MakeReport& report) {
  if (program.mode == ExecutionMode::kLoop) {
    if (IsNarrow(program.block)) return fmt::format("its blocks are less than {} threads wide", kLeastWideExtent);
    return program.instructions > kLargeKernel ? fmt::format("it has more than {} instructions", kLargeKernel)
                                               : "it calls functions, or has code that lanes cannot share";
  }
  if (program.spins) return "threads may wait for each other in a loop";
  if (program.has_indirect_call) return "it calls functions by pointers";
  if (program.has_alloca) return "it has a local array of no fixed size";
  if (!GainsByShape(program)) return "it is too long";
  return std::string(report.no_regions.message());
}

}  // namespace

absl::StatusOr<KernelForm> Explain(const ptx::Module& module, std::string_view kernel, const Dim3& block) {
  WHARF_ASSIGN_OR_RETURN(Program program, Analyze(module, kernel));
  WHARF_ASSIGN_OR_RETURN(const std::unique_ptr<JitEngine> engine, JitEngine::Create());
  program.block = block;
  MakeReport report;
  WHARF_RETURN_IF_ERROR(MakeObject(program, *engine, {}, &report).status());
  const bool loop = program.mode == ExecutionMode::kLoop;
  KernelForm form;
  form.times = report.times;
  if (loop && report.wide) {
    form.way = KernelForm::kLanes;
  } else if (GainsByShape(program) && report.no_regions.ok()) {
    form.way = KernelForm::kRegions;
  } else {
    form.way = loop ? KernelForm::kOneByOne : KernelForm::kSuspendable;
    form.reason = ReasonFor(program, report);
  }
  return form;
}

}  // namespace wharf::device::soft
