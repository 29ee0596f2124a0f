// Random CUDA programs observe the same in every mode: every result, every error and all device memory.
//
// Every run takes other programs and says which. WHARF_RANDOM_SEED=n begins with the n-th, WHARF_RANDOM_PROGRAMS=n runs
// n of them instead of the default.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "wharf/base/test_environment.h"
#include "wharf/offload/testing/random_cuda_interpreter.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kPrograms = 400;

// The same for all tests of a run; the time, unless somebody wants programs to come again.
uint64_t FirstSeed() {
  static const uint64_t seed = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    const uint64_t first = FromEnvironment("WHARF_RANDOM_SEED", seconds * kPrograms);
    fmt::print("WHARF_RANDOM_SEED={}\n", first);
    return first;
  }();
  return seed;
}

struct NamedMode {
  Mode mode;
  const char* name;
  bool deferred;   // errors of posted calls come later
  uint64_t every;  // how many programs there are for one that runs in this mode
};
constexpr NamedMode kModes[] = {
    {Mode::kPerCall, "percall", false, 5},
    {Mode::kCached, "cached", false, 5},
    {Mode::kPosted, "posted", true, 2},
    {Mode::kReplay, "replay", true, 1},
};

// How a seed's program is executed: every other one undisturbed; some with little memory, with just not enough to save
// what may have to be undone, with buffers where that would be saved, or with buffers that are large for it.
ExecutionOptions OptionsOf(uint64_t seed) {
  constexpr uint64_t kGranule = 4096, kUndo = 64 << 20;
  ExecutionOptions options;
  options.disturbance = seed % 2 == 0 ? 0 : seed;
  if (seed % 16 == 0) options.quota = (2 + seed / 16 % 8) * kGranule;
  if (seed % 16 == 1) options.quota = (2 + seed / 16 % 8) * kGranule + kUndo;
  options.high = seed % 16 == 2;
  if (seed % 16 == 4) options.scale = 256;
  return options;
}
Trace Reference(const RandomCudaProgram& program, ExecutionOptions options) {
  options.mode = Mode::kPerCall;
  options.settle = true;
  options.disturbance = 0;
  return Execute(program, options);
}
Trace ExecuteIn(Mode mode, const RandomCudaProgram& program, ExecutionOptions options) {
  options.mode = mode;
  return Execute(program, options);
}

// How `program` differs between per-call execution that waits after every kernel, and this mode, in some attempt.
std::optional<std::string> DifferenceIn(const NamedMode& mode, const RandomCudaProgram& program,
                                        const ExecutionOptions& options) {
  constexpr int kAttempts = 4;
  const Trace reference = Reference(program, options);
  for (int i = 0; i < kAttempts; ++i) {
    auto difference = Difference(reference, ExecuteIn(mode.mode, program, options), mode.deferred);
    if (difference) return difference;
  }
  return std::nullopt;
}

// The smallest program found that differs, too. What depends on timing may take several attempts.
RandomCudaProgram Shrink(const NamedMode& mode, RandomCudaProgram program, const ExecutionOptions& options) {
  while (true) {
    auto candidates = rc::shrink::removeChunks(program);
    bool found = false;
    while (!found) {
      const auto smaller = candidates.next();
      if (!smaller) return program;
      if (!DifferenceIn(mode, *smaller, options)) continue;
      program = *smaller;
      found = true;
    }
  }
}

// How much of replay was there, over all programs.
struct Totals {
  std::atomic<uint64_t> operations{0}, predicted{0}, run_ahead{0}, undone{0}, guarded{0}, violations{0}, forgotten{0};
  void Add(const Trace& trace) {
    operations += trace.operations;
    predicted += trace.predicted;
    run_ahead += trace.run_ahead;
    undone += trace.undone;
    guarded += trace.guarded;
    violations += trace.violations;
    forgotten += trace.forgotten;
  }
};

// Whether the seed's program observes the same in all its modes; reports the smallest one that does not.
bool ExpectSameInTheModes(uint64_t seed, Totals& totals) {
  const RandomCudaProgram program = GenerateCudaProgram(seed);
  const ExecutionOptions options = OptionsOf(seed);
  const Trace reference = Reference(program, options);
  EXPECT_EQ(reference.calls.front().error, device::CudaError::kSuccess) << "the module was not loaded";
  for (const NamedMode& mode : kModes) {
    if (seed % mode.every != 0) continue;
    const Trace trace = ExecuteIn(mode.mode, program, options);
    totals.Add(trace);
    const auto difference = Difference(reference, trace, mode.deferred);
    if (!difference) continue;
    // Shrinking takes its time.
    fmt::print("seed {} in mode {}: {}\n", seed, mode.name, *difference);
    const RandomCudaProgram small = Shrink(mode, program, options);
    ADD_FAILURE() << fmt::format("seed {} in mode {}: {}\n{}\nshrunk: {}\n{}", seed, mode.name, *difference,
                                 Print(program), DifferenceIn(mode, small, options).value_or("the same now"),
                                 Print(small));
    return false;
  }
  return true;
}

// Three programs at once in one session, none of which knows of the others.
bool ExpectSameTogether(uint64_t seed) {
  std::vector<RandomCudaProgram> programs;
  for (uint64_t i = 0; i < 3; ++i) programs.push_back(GenerateIndependentCudaProgram(3 * seed + i));
  ExecutionOptions options = OptionsOf(seed);
  options.quota = 256 << 20;
  options.mode = Mode::kReplay;
  const std::vector<Trace> traces = ExecuteTogether(programs, options);
  bool same = true;
  for (size_t i = 0; i < programs.size(); ++i) {
    const auto difference = Difference(Reference(programs[i], options), traces[i], /*deferred=*/true);
    if (!difference) continue;
    ADD_FAILURE() << fmt::format("seed {}, thread {}: {}\n{}", seed, i, *difference, Print(programs[i]));
    same = false;
  }
  return same;
}

// The published scheme executes the whole sequence as soon as it starts and has no way back.
TEST(ReplayProperty, OnlyUnsafeReplayCorruptsAProgramThatDeviatesAfterAnInPlaceUpdate) {
  const auto op = [](OpKind kind, uint8_t buffer) {
    Op made;
    made.kind = kind;
    made.buffers = {buffer, 1, 1};
    made.count = 16;
    return made;
  };
  RandomCudaProgram program = {op(OpKind::kAllocate, 0), op(OpKind::kAllocate, 1), op(OpKind::kAllocate, 2),
                               op(OpKind::kUpload, 1)};
  for (int inference = 0; inference < 5; ++inference) {
    program.push_back(op(OpKind::kUpload, 2));
    program.push_back(op(OpKind::kLaunch, 0));  // b0 += b1
    program.push_back(op(OpKind::kDownload, 0));
  }
  program.push_back(op(OpKind::kUpload, 2));
  program.push_back(op(OpKind::kDownload, 0));  // and no update
  const Trace reference = Reference(program, {});
  EXPECT_EQ(Difference(reference, ExecuteIn(Mode::kReplay, program, {}), /*deferred=*/true), std::nullopt);
  const auto corrupted =
      Difference(reference, ExecuteIn(Mode::kReplay, program, {.unsafe_replay = true}), /*deferred=*/true);
  ASSERT_TRUE(corrupted.has_value());
  EXPECT_THAT(*corrupted, ::testing::StartsWith(fmt::format("op {}: byte", program.size() - 1)));
}

TEST(ReplayProperty, ThreadsThatRunAtOnceDoNotDisturbEachOther) {
  const uint64_t first = FirstSeed();
  const uint64_t count = FromEnvironment("WHARF_RANDOM_PROGRAMS", kPrograms) / 10;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    if (!ExpectSameTogether(seed)) break;
  }
}

TEST(ReplayProperty, ProgramsObserveTheSameInEveryMode) {
  const uint64_t first = FirstSeed();
  const uint64_t count = FromEnvironment("WHARF_RANDOM_PROGRAMS", kPrograms);
  constexpr int kMaxFailures = 3;
  std::atomic<uint64_t> next{first};
  std::atomic<int> failures{0};
  Totals totals;
  const auto work = [&] {
    for (uint64_t seed = next++; seed < first + count && failures < kMaxFailures; seed = next++) {
      if (!ExpectSameInTheModes(seed, totals)) ++failures;
    }
  };
  {
    std::jthread other(work);
    work();
  }
  fmt::print(
      "{} operations, {} predicted, {} run ahead, {} of these undone; {} under a guard, {} violated; forgotten {} "
      "times\n",
      totals.operations.load(), totals.predicted.load(), totals.run_ahead.load(), totals.undone.load(),
      totals.guarded.load(), totals.violations.load(), totals.forgotten.load());
  if (count < kPrograms) return;
  // Otherwise this tests nothing.
  EXPECT_GT(totals.predicted, totals.operations / 2);
  EXPECT_GT(totals.run_ahead, totals.operations / 50);
  EXPECT_GT(totals.undone, totals.run_ahead / 50);
  EXPECT_GT(totals.guarded, totals.run_ahead / 50);
}

}  // namespace
}  // namespace wharf::offload
