#include "wharf/device/soft/jit/object_maker.h"

#include <fmt/format.h>

#include "wharf/device/soft/codegen/module.h"
#include "wharf/device/soft/codegen/program.h"
#include "wharf/device/soft/jit/cache.h"

namespace wharf::device::soft {
namespace {

// Changes whenever generated code does.
constexpr std::string_view kCompilerVersion = "9";
// Longer kernels are optimised less.
constexpr uint32_t kLargeKernel = 6000;

}  // namespace

std::string ObjectName(const Program& program, const JitEngine& engine, const CompilerOptions& options) {
  return HashText(fmt::format("{}\n{}\n{}\n{}", kCompilerVersion, options.confine, engine.target(), program.key));
}

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> MakeObject(const Program& program, const JitEngine& engine,
                                                               const CompilerOptions& options) {
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  engine.Prepare(&module);
  WHARF_RETURN_IF_ERROR(ModuleCodegen(program, &module).Build());
  return engine.Compile(&module, {.large = program.instructions > kLargeKernel,
                                  .widen = program.mode == ExecutionMode::kLoop,
                                  .confine = options.confine});
}

}  // namespace wharf::device::soft
