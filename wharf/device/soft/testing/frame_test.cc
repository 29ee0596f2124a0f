// Frames of compiled functions, and the guard pages that they must not pass over.
#include "wharf/device/soft/jit/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

#include "wharf/device/soft/jit/confine.h"

namespace wharf::device::soft {
namespace {

// An entry whose frame holds `bytes`, all of which it may touch.
absl::Status CompileFrame(uint64_t bytes) {
  WHARF_ASSIGN_OR_RETURN(const std::unique_ptr<JitEngine> engine, JitEngine::Create());
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::string text = fmt::format(
      "define i8 @{}(i64 %at) {{\n"
      "  %frame = alloca [{} x i8]\n"
      "  %place = getelementptr [{} x i8], ptr %frame, i64 0, i64 %at\n"
      "  store volatile i8 7, ptr %place\n"
      "  %value = load volatile i8, ptr %frame\n"
      "  ret i8 %value\n}}\n",
      kEntrySymbol, bytes, bytes);
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  if (module == nullptr) return Internal("{}", problem.getMessage().str());
  engine->Prepare(module.get());
  return engine->Compile(module.get(), {.confine = false}).status();
}

TEST(JitEngineTest, AFrameThatCouldPassOverAGuardPageTouchesItOrIsRefused) {
  EXPECT_EQ(CompileFrame(kMostFrameBytes - 1024), absl::OkStatus());
#if defined(__x86_64__)
  EXPECT_EQ(CompileFrame(10 * kMostFrameBytes), absl::OkStatus());
#else
  EXPECT_EQ(CompileFrame(kMostFrameBytes + 1).code(), absl::StatusCode::kUnimplemented);
#endif
}

}  // namespace
}  // namespace wharf::device::soft
