// Kernels whose threads meet, as regions (jit/regions.h) against suspendable threads: random programs, compared bit for
// bit.
//
// WHARF_REGION_PROGRAMS=n runs n programs instead of the default, WHARF_REGION_SEED=n starts at another seed. Most are
// small, since what they take is the time to compile them.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wharf/base/test_environment.h"
#include "wharf/device/soft/testing/compiler_testing.h"
#include "wharf/device/soft/testing/region_program.h"

namespace wharf::device::soft::testing {
namespace {

constexpr uint64_t kPrograms = 400, kOneLargeIn = 32;

struct Mismatch {
  uint64_t thread = 0, word = 0;
  uint32_t expected = 0, actual = 0;
};

// Runs programs both ways.
class Comparer {
 public:
  // Where they differ, if they do.
  absl::StatusOr<std::optional<Mismatch>> Compare(const std::string& text, const Dim3& block,
                                                  const std::vector<uint32_t>& input) {
    if (runs_++ % kRunsPerCompiler == 0) runner_ = std::make_unique<KernelRunner>();
    const uint32_t* in = runner_->Upload(input);
    auto* expected = runner_->Upload(std::vector<uint32_t>(input.size(), 0));
    auto* actual = runner_->Upload(std::vector<uint32_t>(input.size(), 0));
    const Dim3 grid{RegionProgram::kBlocks, 1, 1};
    const size_t registers = input.size() / (RegionProgram::kBlocks * block.Count());
    WHARF_RETURN_IF_ERROR(runner_->Run(text, "k", grid, block, Parameters().Add(in).Add(expected)));
    // Suspendable threads do not go in lockstep.
    WHARF_ASSIGN_OR_RETURN(const auto kernel, runner_->Compile(InStep(text), "k", block));
    const std::string as_fast = kernel->mode == ExecutionMode::kLoop ? InStep(text) : text;
    WHARF_RETURN_IF_ERROR(runner_->RunByShape(as_fast, "k", grid, block, Parameters().Add(in).Add(actual)));
    in_regions_ += runner_->kernel()->mode == ExecutionMode::kLoop ? 1 : 0;
    for (size_t i = 0; i < input.size(); ++i) {
      if (actual[i] != expected[i]) return Mismatch{i / registers, i % registers, expected[i], actual[i]};
    }
    return std::nullopt;
  }

  // Without lines that do not matter. What ends loops, and what orders accesses, stays.
  std::string Shrink(std::string text, const Dim3& block, const std::vector<uint32_t>& input) {
    for (size_t end = text.rfind("  ret;"); end != std::string::npos && end > text.find('{');) {
      const size_t begin = text.rfind('\n', end - 2) + 1;
      const std::string line = text.substr(begin, end - begin);
      std::string shorter = text;
      shorter.erase(begin, end - begin);
      const bool may = line.find("%i") == std::string::npos && line.find("bra") == std::string::npos &&
                       line.find("bar.sync") == std::string::npos && line.find("// in step") == std::string::npos &&
                       line.find("%c") == std::string::npos && line.find("tile") == std::string::npos &&
                       line.find("[own+") == std::string::npos && line.find("setp") == std::string::npos &&
                       line.find(':') == std::string::npos && line.find('.') != std::string::npos;
      if (const auto result = may ? Compare(shorter, block, input) : std::optional<Mismatch>();
          result.ok() && result->has_value()) {
        text = shorter;
      }
      end = begin;
    }
    return text;
  }

  uint64_t in_regions() const { return in_regions_; }

 private:
  static constexpr uint64_t kRunsPerCompiler = 200;  // it keeps the code it made
  std::unique_ptr<KernelRunner> runner_;
  uint64_t runs_ = 0, in_regions_ = 0;
};

// Where the program of this seed differs, with the program; "" if nowhere.
std::string DifferenceOf(uint64_t seed, RegionProgramSize size, Comparer& comparer) {
  const auto& [block, text, input] = MakeRegionProgram(seed, size);
  const auto result = comparer.Compare(text, block, input);
  if (!result.ok()) return fmt::format("seed {}: {}\n{}", seed, ToString(result.status()), text);
  const auto& mismatch = *result;
  if (!mismatch) return "";
  return fmt::format("seed {}, block ({},{},{}), thread {}: %r{} is {:#x}, expected {:#x}\n{}", seed, block.x, block.y,
                     block.z, mismatch->thread, mismatch->word, mismatch->actual, mismatch->expected,
                     comparer.Shrink(text, block, input));
}

// What is read from a local array at the same place by all threads is not the same in all.
TEST(RegionProgram, ThreadsHaveLocalArraysOfTheirOwn) {
  Comparer comparer;
  EXPECT_EQ(DifferenceOf(900851, RegionProgramSize::kLarge, comparer), "");
}

// LLVM made one load of the second results of two shuffles, at a pointer to either, and such code was refused.
TEST(RegionProgram, ResultsOfWarpOperationsInBranchesMeet) {
  Comparer comparer;
  EXPECT_EQ(DifferenceOf(2006580, RegionProgramSize::kSmall, comparer), "");
}

TEST(RegionProgram, RegionsAndSuspendableThreadsAgree) {
  const uint64_t first = FromEnvironment("WHARF_REGION_SEED", 1400);
  const uint64_t count = FromEnvironment("WHARF_REGION_PROGRAMS", kPrograms);
  Comparer comparer;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const auto size = seed % kOneLargeIn == 0 ? RegionProgramSize::kLarge : RegionProgramSize::kSmall;
    ASSERT_EQ(DifferenceOf(seed, size, comparer), "");
  }
  RecordProperty("in_regions", std::to_string(comparer.in_regions()));
  EXPECT_GT(comparer.in_regions(), count / 2);
}

}  // namespace
}  // namespace wharf::device::soft::testing
