#include "wharf/device/soft/testing/random_program_comparer.h"

#include <fmt/format.h>

namespace wharf::device::soft::random_program {
namespace {

// Without the loads and stores around it.
std::string Core(const std::string& text) {
  const size_t begin = text.rfind("ld.global");
  const size_t end = text.find("\tselp.u32 %w, 1, 0, %p0;");
  return text.substr(text.find('\n', begin) + 1, end - text.find('\n', begin) - 1);
}

}  // namespace

absl::StatusOr<std::optional<Mismatch>> Comparer::Compare(const Program& program, uint64_t seed) {
  MersenneRandom random(seed);
  std::vector<uint64_t> input(kThreads * kStateWords);
  std::vector<uint64_t> expected(input.size());
  for (int thread = 0; thread < kThreads; ++thread) {
    const State state = RandomState(random);
    StoreState(state, thread, input.data());
    StoreState(Evaluate(program, state), thread, expected.data());
  }
  WHARF_ASSIGN_OR_RETURN(const std::vector<uint64_t> actual, execute_(PrintPtx(program), std::move(input)));
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    return Mismatch{static_cast<int>(i % kThreads), static_cast<int>(i / kThreads), expected[i], actual[i]};
  }
  return std::nullopt;
}

bool Comparer::Fails(const Program& program, uint64_t seed) {
  const auto result = Compare(program, seed);
  return !result.ok() || result->has_value();
}

Program Comparer::Shrink(Program program, uint64_t seed) {
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

std::string Comparer::Difference(const Program& program, uint64_t seed) {
  if (!Fails(program, seed)) return "";
  const Program small = Shrink(program, seed);
  const auto result = Compare(small, seed);
  const std::string text = Core(PrintPtx(small));
  if (!result.ok()) return fmt::format("seed {}: {}\n{}", seed, result.status().ToString(), text);
  const std::optional<Mismatch>& mismatch = *result;
  if (!mismatch) return fmt::format("seed {} differs, but not each time", seed);
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
  return fmt::format("seed {} thread {}: {} is {:#x}, expected {:#x}; started with{}\n{}", seed, mismatch->thread,
                     RegisterName(mismatch->word), mismatch->actual, mismatch->expected, registers, text);
}

}  // namespace wharf::device::soft::random_program
