#include "wharf/device/soft/widen/lock_step.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "wharf/device/soft/runtime/kernel_abi.h"

namespace wharf::device::soft {
namespace {

// Whether the thread function of this body does, in blocks of 256 threads. Its thread is %x, %y, %z, shared memory is
// at %s; %tid is %x in 64 bits, %own is the %x-th word of shared memory, %other the word at 4 * %n there; %g is a place
// in device memory. A line `B` is a barrier.
bool Counts(std::string body, const Dim3& block = {256, 1, 1}) {
  for (size_t at = body.find("\nB\n"); at != std::string::npos; at = body.find("\nB\n")) {
    body.replace(at, 3, "\n call void @wharf_barrier_sync(ptr %t, i32 0, i32 0)\n");
  }
  const std::string text = fmt::format(R"(
declare void @wharf_barrier_sync(ptr, i32, i32)
define i1 @thread(ptr %block, i32 %x, i32 %y, i32 %z, ptr %t, i64 %n, i64 %m, ptr %g, i1 %c) {{
 %field = getelementptr i8, ptr %block, i64 {}
 %s = load ptr, ptr %field, !invariant.load !0
 %tid = zext i32 %x to i64
 %own = getelementptr i32, ptr %s, i64 %tid
 %other = getelementptr i32, ptr %s, i64 %n
{}
 ret i1 false
}}
!0 = !{{}}
)",
                                       offsetof(BlockContext, shared), body);
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(text, problem, context);
  if (module == nullptr) throw std::runtime_error(problem.getMessage().str() + ": " + body);
  llvm::Function& thread = *module->getFunction("thread");
  llvm::DominatorTree tree(thread);
  const llvm::LoopInfo loops(tree);
  return CountsOnLockStep(thread, block, loops, tree);
}

TEST(LockStep, WhatOtherLanesStoredIsLoaded) {
  EXPECT_TRUE(Counts("store i32 1, ptr %own\n %v = load i32, ptr %other"));
  EXPECT_TRUE(Counts("%next = getelementptr i32, ptr %own, i64 1\n store i32 1, ptr %own\n %v = load i32, ptr %next"));
  // One for all, and all for one.
  EXPECT_TRUE(Counts("store i32 1, ptr %s\n %v = load i32, ptr %own"));
  EXPECT_TRUE(Counts("store i32 1, ptr %own\n %v = load i32, ptr %s"));
  // By numbers that each lane has loaded.
  const char* by_number =
      "%i = load i64, ptr %g\n %p = getelementptr i32, ptr %s, i64 %i\n store i32 1, ptr %p\n %v = load i32, ptr %p";
  EXPECT_TRUE(Counts(by_number));
  EXPECT_TRUE(Counts("%o = atomicrmw add ptr %other, i32 1 monotonic\n %v = load i32, ptr %own"));
}

TEST(LockStep, NothingIsLoadedOfOthers) {
  EXPECT_FALSE(Counts(""));
  EXPECT_FALSE(Counts("%v = load i32, ptr %other\n store i32 1, ptr %own"));
  EXPECT_FALSE(Counts("store i32 1, ptr %own\n %v = load i32, ptr %own"));
  EXPECT_FALSE(Counts("store i32 1, ptr %own\nB\n %v = load i32, ptr %other"));
  EXPECT_FALSE(Counts("store i32 1, ptr %g\n %v = load i32, ptr %own"));
  EXPECT_FALSE(Counts("%local = alloca i32\n store volatile i32 1, ptr %local\n %v = load volatile i32, ptr %local"));
  EXPECT_FALSE(Counts("%o = atomicrmw add ptr %other, i32 1 monotonic\n %p = atomicrmw add ptr %own, i32 1 monotonic"));
}

TEST(LockStep, OfDeviceMemoryWhatIsVolatile) {
  const std::string apart = "%q = getelementptr i32, ptr %g, i64 %tid\n store i32 1, ptr %q\n";
  EXPECT_FALSE(Counts(apart + "%v = load i32, ptr %g"));
  EXPECT_TRUE(Counts(apart + "%v = load volatile i32, ptr %g"));
  EXPECT_FALSE(Counts(apart + "%v = load volatile i32, ptr %q"));
  // It is also loaded before another lane stores.
  EXPECT_TRUE(Counts("%v = load volatile i32, ptr %other\n store volatile i32 1, ptr %own"));
}

TEST(LockStep, PlacesOfLanesAreApart) {
  const std::string pair = "%two = shl i64 %tid, 1\n %a = getelementptr i32, ptr %s, i64 %two\n store i32 1, ptr %a\n";
  const auto at = [](int word) {
    return fmt::format("%b = getelementptr i32, ptr %a, i64 {}\n %v = load i32, ptr %b", word);
  };
  EXPECT_FALSE(Counts(pair + at(1)));
  EXPECT_TRUE(Counts(pair + at(2)));
  EXPECT_TRUE(Counts(pair + at(-62)));
  EXPECT_FALSE(Counts(pair + at(-64)));  // of another warp
  // Nodes of a tree, as many as %n apart: n * (2x + 1) and n * (2x + 2).
  const std::string node =
      "%two = shl i64 %tid, 1\n %odd = add i64 %two, 1\n %i = mul i64 %n, %odd\n %even = add i64 %two, 2\n"
      " %j = mul i64 %n, %even\n %a = getelementptr i32, ptr %s, i64 %i\n %b = getelementptr i32, ptr %s, i64 %j\n"
      " store i32 1, ptr %a\n %v = load i32, ptr ";
  EXPECT_FALSE(Counts(node + "%b"));
  EXPECT_TRUE(Counts(node + "%other"));
}

TEST(LockStep, ArraysAreApart) {
  const auto array = [](int first) {
    return fmt::format("store i32 1, ptr %own\n %b = getelementptr i8, ptr %s, i64 {}\n %v = load i32, ptr %b", first);
  };
  EXPECT_FALSE(Counts(array(1024)));
  EXPECT_TRUE(Counts(array(1020)));
  EXPECT_TRUE(Counts(array(1024), {512, 1, 1}));
  EXPECT_TRUE(Counts(array(1024), {0, 0, 0}));
  EXPECT_FALSE(Counts(array(4096), {0, 0, 0}));
}

// A sum by halves: its last one has no barrier after it.
TEST(LockStep, OneThreadLoadsItsOwn) {
  const auto only = [](int thread) {
    return fmt::format(R"(store i32 1, ptr %own
 %is = icmp eq i32 %x, {}
 br i1 %is, label %then, label %end
then:
 %v = load i32, ptr %s
 br label %end
end:)",
                       thread);
  };
  EXPECT_FALSE(Counts(only(0)));
  EXPECT_TRUE(Counts(only(1)));
}

TEST(LockStep, WarpsOfSeveralRows) {
  const std::string tile =
      "%row = zext i32 %y to i64\n %r = mul i64 %row, 16\n %i = add i64 %r, %tid\n"
      " %p = getelementptr i32, ptr %s, i64 %i\n store i32 1, ptr %p\n %v = load i32, ptr %p";
  EXPECT_FALSE(Counts(tile, {32, 8, 1}));
  EXPECT_FALSE(Counts(tile, {16, 16, 1}));
  EXPECT_TRUE(Counts("store i32 1, ptr %own\n %v = load i32, ptr %own", {16, 16, 1}));
}

// What is stored in one round is loaded in the next one.
TEST(LockStep, Loops) {
  const auto loop = [](const std::string& index, const std::string& end) {
    return fmt::format(R"( br label %round
round:
 %i = phi i64 [ 0, %0 ], [ %next, %round ]
 %at = {}
 %p = getelementptr i32, ptr %own, i64 %at
 %v = load i32, ptr %p
 store i32 %v, ptr %p
 %next = add i64 %i, 1
{}
 br i1 %c, label %round, label %end
end:)",
                       index, end);
  };
  EXPECT_TRUE(Counts(loop("mul i64 %i, 1", "")));
  EXPECT_FALSE(Counts(loop("mul i64 %i, 1", "\nB\n")));
  EXPECT_FALSE(Counts(loop("mul i64 %i, 256", "")));
  EXPECT_FALSE(Counts(loop("mul i64 %n, 1", "")));
}

}  // namespace
}  // namespace wharf::device::soft
