// The compiler against an independent evaluator: every instruction alone, then random programs with branches, loops and
// jump tables, each on a block of threads with random registers, compared bit for bit.
//
// WHARF_RANDOM_PROGRAMS=n runs n random programs instead of the default, WHARF_RANDOM_SEED=n starts at another seed,
// WHARF_RANDOM_SIZE=n makes programs of about n instructions.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <thread>

#include "wharf/base/test_environment.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/jit/compiler.h"
#include "wharf/device/soft/testing/random_program.h"

namespace wharf::device::soft::random_program {
namespace {

constexpr int kSize = 24;
constexpr int kPrograms = 200;

struct Mismatch {
  int thread = 0;
  int word = 0;
  uint64_t expected = 0, actual = 0;
};

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

  // Where the compiled program differs from the evaluator, if it does.
  absl::StatusOr<std::optional<Mismatch>> Compare(const Program& program, uint64_t seed) {
    MersenneRandom random(seed);
    std::vector<uint64_t> input(kThreads * kStateWords);
    std::vector<uint64_t> expected(input.size());
    for (int thread = 0; thread < kThreads; ++thread) {
      const State state = RandomState(random);
      StoreState(state, thread, input.data());
      StoreState(Evaluate(program, state), thread, expected.data());
    }
    WHARF_ASSIGN_OR_RETURN(const std::vector<uint64_t> actual, Execute(PrintPtx(program), std::move(input)));
    for (size_t i = 0; i < actual.size(); ++i) {
      if (actual[i] == expected[i]) continue;
      return Mismatch{static_cast<int>(i % kThreads), static_cast<int>(i / kThreads), expected[i], actual[i]};
    }
    return std::nullopt;
  }

  bool Fails(const Program& program, uint64_t seed) {
    const auto result = Compare(program, seed);
    return !result.ok() || result->has_value();
  }

  // The smallest program found that still fails.
  Program Shrink(Program program, uint64_t seed) {
    constexpr int kMaxRounds = 200;
    for (int round = 0; round < kMaxRounds; ++round) {
      bool found = false;
      for (Program& smaller : Smaller(program)) {
        if (!Fails(smaller, seed)) continue;
        program = std::move(smaller);
        found = true;
        break;
      }
      if (!found) break;
    }
    return program;
  }

  // Without the loads and stores around it.
  static std::string Core(const std::string& text) {
    const size_t begin = text.rfind("ld.global");
    const size_t end = text.find("\tselp.u32 %w, 1, 0, %p0;");
    return text.substr(text.find('\n', begin) + 1, end - text.find('\n', begin) - 1);
  }

  // Reports the smallest failing program.
  bool ExpectSame(const Program& program, uint64_t seed) {
    if (!Fails(program, seed)) return true;
    const Program small = Shrink(program, seed);
    const auto result = Compare(small, seed);
    const std::string text = Core(PrintPtx(small));
    if (!result.ok()) {
      ADD_FAILURE() << "seed " << seed << ": " << result.status() << "\n" << text;
    } else if (const auto& mismatch = *result) {
      MersenneRandom random(seed);
      State state = RandomState(random);
      for (int thread = 0; thread < mismatch->thread; ++thread) state = RandomState(random);
      std::vector<uint64_t> words(kThreads * kStateWords);
      StoreState(state, 0, words.data());
      std::string registers;
      for (int i = 0; i < kStateWords; ++i) {
        const std::string name = RegisterName(i);
        if (text.find(name) != std::string::npos) registers += fmt::format(" {}={:#x}", name, words[i * kThreads]);
      }
      ADD_FAILURE() << fmt::format("seed {} thread {}: {} is {:#x}, expected {:#x}; started with{}\n{}", seed,
                                   mismatch->thread, RegisterName(mismatch->word), mismatch->actual, mismatch->expected,
                                   registers, text);
    }
    return false;
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

TEST(RandomProgram, EveryInstructionAlone) {
  constexpr size_t kTogether = 8;
  Runner runner;
  MersenneRandom random(1);
  std::vector<const InstructionSpec*> together;
  uint64_t seed = 1;
  const auto flush = [&] {
    if (!together.empty()) runner.ExpectSame(StraightLine(random, together), seed++);
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
    for (;;) {
      const uint64_t seed = next++;
      if (seed >= first + count || failures >= kMaxFailures) return;
      MersenneRandom random(seed);
      if (!runner.ExpectSame(Generate(random, size), seed)) ++failures;
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
