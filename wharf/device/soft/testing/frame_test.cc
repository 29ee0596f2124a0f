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
#include "wharf/device/soft/testing/compiler_testing.h"

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

// A word that the runtime puts on the stack meets one from memory.
TEST(JitEngineTest, ResultOfAShuffleMeetsALoad) {
  const std::string text = testing::ElementKernel(R"(
  setp.ge.u32 %p1, %r1, 1;
  @%p1 bra OTHER;
  shfl.sync.up.b32 %r5|%p2, %r3, 4, 0, 0xffffffff;
  bra MEET;
OTHER:
  ld.global.u32 %r5, [%rd1];
  setp.ne.u32 %p2, %r5, 0;
MEET:
  selp.u32 %r6, 1, 2, %p2;
  st.global.u32 [%rd2], %r6;
)",
                                                  4, 4);
  testing::KernelRunner runner;
  std::vector<uint32_t> in(64);
  for (uint32_t i = 0; i < 64; ++i) in[i] = i % 3;
  const uint32_t* from = runner.Upload(in);
  auto* to = runner.Allocate<uint32_t>(64);
  ASSERT_EQ(runner.Run(text, "k", {2}, {32}, testing::Parameters().Add(from).Add(to)), absl::OkStatus());
  EXPECT_EQ(runner.kernel()->mode, ExecutionMode::kSuspendable);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(to[i], (i < 32 ? i >= 4 : i % 3 != 0) ? 1 : 2) << i;
}

}  // namespace
}  // namespace wharf::device::soft
