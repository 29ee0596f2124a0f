// Random CUDA programs observe the same in every mode: every result, every error and all device memory.
//
// WHARF_RANDOM_PROGRAMS=n runs n programs instead of the default, WHARF_RANDOM_SEED=n starts at another seed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "wharf/offload/random_cuda_interpreter.h"

namespace wharf::offload {
namespace {

constexpr uint64_t kPrograms = 1000;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
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
    {Mode::kPosted, "posted", true, 1},
};

// How `program` differs between per-call execution that waits after every operation, and this mode.
std::optional<std::string> DifferenceIn(const RandomCudaProgram& program, const NamedMode& mode, uint64_t disturbance) {
  const Trace reference = Execute(program, {.mode = Mode::kPerCall, .settle = true});
  return Difference(reference, Execute(program, {.mode = mode.mode, .disturbance = disturbance}), mode.deferred);
}

// Every other program runs undisturbed.
uint64_t DisturbanceOf(uint64_t seed) { return seed % 2 == 0 ? 0 : seed; }

// The smallest program found that differs, too.
RandomCudaProgram Shrink(RandomCudaProgram program, const NamedMode& mode, uint64_t disturbance) {
  while (true) {
    auto candidates = rc::shrink::removeChunks(program);
    bool found = false;
    while (!found) {
      const auto smaller = candidates.next();
      if (!smaller) return program;
      if (!DifferenceIn(*smaller, mode, disturbance)) continue;
      program = *smaller;
      found = true;
    }
  }
}

// Whether the seed's program observes the same in all its modes; reports the smallest one that does not.
bool ExpectSameInTheModes(uint64_t seed) {
  const RandomCudaProgram program = GenerateCudaProgram(seed);
  const uint64_t disturbance = DisturbanceOf(seed);
  const Trace reference = Execute(program, {.mode = Mode::kPerCall, .settle = true});
  for (const NamedMode& mode : kModes) {
    if (seed % mode.every != 0) continue;
    const Trace trace = Execute(program, {.mode = mode.mode, .disturbance = disturbance});
    const auto difference = Difference(reference, trace, mode.deferred);
    if (!difference) continue;
    const RandomCudaProgram small = Shrink(program, mode, disturbance);
    ADD_FAILURE() << fmt::format("seed {} in mode {}: {}\n{}\nshrunk: {}\n{}", seed, mode.name, *difference,
                                 Print(program), DifferenceIn(small, mode, disturbance).value_or("the same now"),
                                 Print(small));
    return false;
  }
  return true;
}

TEST(ReplayProperty, ProgramsObserveTheSameInEveryMode) {
  const uint64_t first = FromEnvironment("WHARF_RANDOM_SEED", 1);
  const uint64_t count = FromEnvironment("WHARF_RANDOM_PROGRAMS", kPrograms);
  constexpr int kMaxFailures = 3;
  std::atomic<uint64_t> next{first};
  std::atomic<int> failures{0};
  const auto work = [&] {
    for (uint64_t seed = next++; seed < first + count && failures < kMaxFailures; seed = next++) {
      if (!ExpectSameInTheModes(seed)) ++failures;
    }
  };
  std::jthread other(work);
  work();
}

}  // namespace
}  // namespace wharf::offload
