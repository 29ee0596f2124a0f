// The compiler against an independent evaluator: every instruction alone, then random programs with branches, loops and
// jump tables, each on a block of threads with random registers, compared bit for bit.
//
// WHARF_RANDOM_PROGRAMS=n runs n random programs instead of the default, WHARF_RANDOM_SEED=n starts at another seed,
// WHARF_RANDOM_SIZE=n makes programs of about n instructions.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "wharf/base/test_environment.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/testing/random_program_comparer.h"

namespace wharf::device::soft::random_program {
namespace {

constexpr int kSize = 24;
constexpr int kPrograms = 200;

// Compiles and runs programs; for one thread.
class Runner {
 public:
  absl::StatusOr<std::vector<uint64_t>> Execute(const std::string& text, std::vector<uint64_t> input) {
    WHARF_ASSIGN_OR_RETURN(const auto module, ptx::Parse(text));
    WHARF_ASSIGN_OR_RETURN(const auto kernel,
                           compiler().Compile(*module, "kernel", [](std::string_view) { return nullptr; }));
    if (kernel->mode != ExecutionMode::kLoop) return absl::InternalError("not compiled to a loop");
    std::vector<uint64_t> output(input.size());
    const void* parameters[] = {input.data(), output.data()};
    BlockContext context{};
    context.parameters = reinterpret_cast<const std::byte*>(parameters);
    context.memory_span = ~uint64_t{0};  // everything: input and output are not device memory
    std::vector<std::byte> local(kernel->local_stack_bytes + (64 << 10));
    context.local_limit = reinterpret_cast<uintptr_t>(local.data());
    context.local_stack = context.local_limit + local.size();
    context.grid[0] = context.grid[1] = context.grid[2] = 1;
    context.block[0] = kThreads;
    context.block[1] = context.block[2] = 1;
    context.workers = 1;
    kernel->loop_entry(&context);
    return output;
  }

 private:
  // A new compiler now and then: it keeps the code it made.
  Compiler& compiler() {
    constexpr int kKernelsPerCompiler = 500;
    if (compiler_ == nullptr || ++compiled_ % kKernelsPerCompiler == 0) {
      compiler_.reset();
      auto made = Compiler::Create("");
      if (!made.ok()) std::abort();
      compiler_ = *std::move(made);
    }
    return *compiler_;
  }

  std::unique_ptr<Compiler> compiler_;
  int compiled_ = 0;
};

Comparer ComparerOf(Runner& runner) {
  return Comparer([&runner](const std::string& text, std::vector<uint64_t> input) {
    return runner.Execute(text, std::move(input));
  });
}

TEST(RandomProgram, EveryInstructionAlone) {
  constexpr size_t kTogether = 8;
  Runner runner;
  Comparer comparer = ComparerOf(runner);
  MersenneRandom random(1);
  std::vector<const InstructionSpec*> together;
  uint64_t seed = 1;
  const auto flush = [&] {
    if (together.empty()) return;
    EXPECT_EQ(comparer.Difference(StraightLine(random, together), seed++), "");
    together.clear();
  };
  for (const Family& family : Families()) {
    for (const InstructionSpec& spec : family.specs) {
      together.push_back(&spec);
      if (together.size() == kTogether) flush();
    }
    flush();
  }
}

TEST(RandomProgram, ProgramsAgree) {
  const uint64_t first = FromEnvironment("WHARF_RANDOM_SEED", 1);
  const uint64_t count = FromEnvironment("WHARF_RANDOM_PROGRAMS", kPrograms);
  const int size = static_cast<int>(FromEnvironment("WHARF_RANDOM_SIZE", kSize));
  constexpr int kMaxFailures = 5;
  std::atomic<uint64_t> next{first};
  std::atomic<int> failures{0};
  const auto work = [&] {
    Runner runner;
    Comparer comparer = ComparerOf(runner);
    for (;;) {
      const uint64_t seed = next++;
      if (seed >= first + count || failures >= kMaxFailures) return;
      MersenneRandom random(seed);
      const std::string difference = comparer.Difference(Generate(random, size), seed);
      EXPECT_EQ(difference, "");
      if (!difference.empty()) ++failures;
    }
  };
  Families();  // made once, before the threads
  std::jthread other(work);
  work();
}

// What a division by zero gives is not defined, but it must not be a signal.
TEST(RandomProgram, DivisionByZeroDoesNotTrap) {
  Runner runner;
  for (const char* type : {"s16", "u16", "s32", "u32", "s64", "u64"}) {
    for (const char* opcode : {"div", "rem"}) {
      const std::string name = type[1] == '1' ? "%h" : type[1] == '3' ? "%r" : "%d";
      std::string text = PrintPtx({});
      const std::string line = fmt::format("\t{}.{} {}0, {}1, {}2;\n", opcode, type, name, name, name);
      text.insert(text.find("\tselp.u32 %w, 1, 0, %p0;"), line);
      const auto output = runner.Execute(text, std::vector<uint64_t>(kThreads * kStateWords, 0));
      EXPECT_TRUE(output.ok()) << output.status();
    }
  }
}

}  // namespace
}  // namespace wharf::device::soft::random_program
