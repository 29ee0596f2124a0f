#include "wharf/device/soft/jit/address.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "wharf/base/random.h"

namespace wharf::device::soft {
namespace {

// The bounds of %value in a function of the arguments i64 %a and i32 %n.
class BoundsTest : public ::testing::Test {
 protected:
  std::optional<Bounds> In(const std::string& body) {
    llvm::SMDiagnostic problem;
    module_ =
        llvm::parseAssemblyString("define void @f(i64 %a, i32 %n, i1 %c) {\n" + body + "\n}\n", problem, context_);
    if (module_ == nullptr) throw std::runtime_error(problem.getMessage().str() + ": " + body);
    for (llvm::Instruction& instruction : module_->getFunction("f")->front()) {
      if (instruction.getName() == "value") return BoundsOf(&instruction);
    }
    for (llvm::BasicBlock& block : *module_->getFunction("f")) {
      for (llvm::Instruction& instruction : block) {
        if (instruction.getName() == "value") return BoundsOf(&instruction);
      }
    }
    throw std::runtime_error("no %value");
  }

  std::optional<Bounds> OfLoop(const std::string& first, const std::string& next, const std::string& end) {
    return In(
        fmt::format("entry:\n br label %loop\nloop:\n %value = phi i64 [ {}, %entry ], [ %next, %loop ]\n"
                    " %next = {}\n {}\nexit:\n ret void",
                    first, next, end));
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

void ExpectBounds(const std::optional<Bounds>& bounds, int64_t low, int64_t high) {
  ASSERT_TRUE(bounds.has_value());
  EXPECT_EQ(static_cast<int64_t>(bounds->low), low);
  EXPECT_EQ(static_cast<int64_t>(bounds->high), high);
}

TEST_F(BoundsTest, OperationsOfWhatIsBounded) {
  ExpectBounds(In("%w = zext i32 %n to i64\n %value = shl i64 %w, 3\n ret void"), 0, int64_t{0xffffffff} * 8);
  ExpectBounds(In("%w = and i64 %a, 240\n %value = or i64 %w, 12\n ret void"), 12, 255);
  ExpectBounds(In("%w = and i64 %a, 240\n %value = sub i64 %w, 16\n ret void"), -16, 224);
}

TEST_F(BoundsTest, FlagsAreNotBelieved) {
  EXPECT_FALSE(In("%value = shl nuw nsw i64 %a, 3\n ret void").has_value());
  EXPECT_FALSE(In("%w = and i64 %a, 15\n %v = sub i64 %w, 16\n %value = or i64 %v, 1\n ret void").has_value());
}

constexpr const char* kUntil16 = "%done = icmp eq i64 %next, 16\n br i1 %done, label %exit, label %loop";

TEST_F(BoundsTest, CountersOfLoopsThatRunAConstantNumberOfTimes) {
  ExpectBounds(OfLoop("0", "add i64 %value, 1", kUntil16), 0, 15);
  ExpectBounds(OfLoop("-8", "add i64 %value, 8", kUntil16), -8, 8);
  ExpectBounds(OfLoop("64", "add i64 %value, -16", kUntil16), 32, 64);
  ExpectBounds(
      OfLoop("0", "add i64 %value, 4", "%again = icmp ne i64 %next, 16\n br i1 %again, label %loop, label %exit"), 0,
      12);
}

TEST_F(BoundsTest, CountersOfLoopsThatGoOnBelowALimit) {
  const auto below = [](const std::string& compare, bool jumps_out = false) {
    return fmt::format("%x = icmp {}\n br i1 %x, label %{}, label %{}", compare, jumps_out ? "exit" : "loop",
                       jumps_out ? "loop" : "exit");
  };
  ExpectBounds(OfLoop("0", "add i64 %value, 32", below("ult i64 %value, 224")), 0, 255);
  ExpectBounds(OfLoop("0", "add i64 %value, 32", below("ult i64 %next, 224")), 0, 223);
  ExpectBounds(OfLoop("300", "add i64 %value, -1", below("ult i64 %value, 8")), -1, 300);
  ExpectBounds(OfLoop("0", "add i64 %value, 1", below("uge i64 %value, 8", true)), 0, 8);
  // The other way round; signed; of something else; of a limit that is none.
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", below("ult i64 %value, 8", true)).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", below("slt i64 %value, 8")).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", below("ult i64 %a, 8")).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", below("ult i64 %value, -8")).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", below("ult i64 %value, %a")).has_value());
}

TEST_F(BoundsTest, OtherCountersMayBeAnything) {
  // It misses its end; it is behind it; it runs the other way.
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 3", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("17", "add i64 %value, 1", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("16", "add i64 %value, 1", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, -1", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 0", kUntil16).has_value());
  // What it starts at, grows by or ends at is not known.
  EXPECT_FALSE(OfLoop("%a", "add i64 %value, 1", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, %a", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %a, 1", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("0", "mul i64 %value, 2", kUntil16).has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", "%done = icmp eq i64 %next, %a\n br i1 %done, label %exit, label %loop")
                   .has_value());
  // It goes on exactly when it should end, or never looks, or at something else.
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", "%done = icmp eq i64 %next, 16\n br i1 %done, label %loop, label %exit")
                   .has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", "br i1 %c, label %exit, label %loop").has_value());
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1", "%done = icmp eq i64 %a, 16\n br i1 %done, label %exit, label %loop")
                   .has_value());
  // Nothing of use.
  EXPECT_FALSE(OfLoop("0", "add i64 %value, 1152921504606846976",
                      "%done = icmp eq i64 %next, 2305843009213693952\n br i1 %done, label %exit, label %loop")
                   .has_value());
}

TEST_F(BoundsTest, CountersStayWithinTheirBounds) {
  Random random(1);
  int bounded = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto number = [&] { return static_cast<int64_t>(random.Next() % 41) - 20; };
    const int64_t first = number(), step = number() / 4, end = number();
    static constexpr std::array kPredicates = {"eq", "ne", "ult", "uge", "slt", "sge"};
    const size_t predicate = random.Next() % kPredicates.size();
    const bool of_next = random.Next() % 4 != 0, out_if_true = random.Next() % 2 == 0;
    const auto bounds = OfLoop(
        fmt::format("{}", first), fmt::format("add i64 %value, {}", step),
        fmt::format("%x = icmp {} i64 %{}, {}\n br i1 %x, label %{}, label %{}", kPredicates[predicate],
                    of_next ? "next" : "value", end, out_if_true ? "exit" : "loop", out_if_true ? "loop" : "exit"));
    if (!bounds) continue;
    ++bounded;
    int64_t value = first;
    for (int round = 0; round < 100; ++round) {  // it need not end
      ASSERT_GE(value, static_cast<int64_t>(bounds->low)) << first << " " << step << " " << end;
      ASSERT_LE(value, static_cast<int64_t>(bounds->high)) << first << " " << step << " " << end;
      const int64_t next = value + step, compared = of_next ? next : value;
      const bool is[] = {compared == end,
                         compared != end,
                         static_cast<uint64_t>(compared) < static_cast<uint64_t>(end),
                         static_cast<uint64_t>(compared) >= static_cast<uint64_t>(end),
                         compared < end,
                         compared >= end};
      if (is[predicate] == out_if_true) break;
      value = next;
    }
  }
  EXPECT_GT(bounded, 100);
}

}  // namespace
}  // namespace wharf::device::soft
