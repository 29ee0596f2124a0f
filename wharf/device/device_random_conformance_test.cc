// Random programs on every driver: what a real GPU computes is what the evaluator of random_program.h says, so what the
// software device computes is what a GPU does. Programs whose threads meet are run on both and compared.
//
// WHARF_RANDOM_PROGRAMS=n and WHARF_REGION_PROGRAMS=n run n programs instead of the default, WHARF_RANDOM_SEED=n and
// WHARF_REGION_SEED=n start at another seed.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "wharf/base/test_environment.h"
#include "wharf/device/device_conformance.h"
#include "wharf/device/soft/testing/random_program_comparer.h"
#include "wharf/device/soft/testing/region_program.h"

namespace wharf::device {
namespace {

using soft::random_program::Comparer;
using soft::testing::RegionProgram;

// Runs kernels `name(in, out)`, one after the other.
class Programs {
 public:
  explicit Programs(Device& device) : device_(device), in_(device.Arena().base), out_(in_ + kBytes) {
    const uint64_t granularity = device.Arena().granularity;
    EXPECT_EQ(device.Map(in_, (2 * kBytes + granularity - 1) / granularity * granularity), absl::OkStatus());
  }

  template <typename Word>
  absl::StatusOr<std::vector<Word>> Run(const std::string& text, const std::string& name, Dim3 grid, Dim3 block,
                                        const std::vector<Word>& input) {
    const uint64_t bytes = input.size() * sizeof(Word);
    if (bytes > kBytes) return absl::InternalError("too much input");
    ++last_;
    WHARF_RETURN_IF_ERROR(device_.LoadModule(last_, BytesOf(std::string_view(text))));
    WHARF_RETURN_IF_ERROR(device_.DefineFunction(last_, last_, name));
    WHARF_RETURN_IF_ERROR(device_.CopyToDevice(kDefaultStream, {in_}, {bytes}, BytesOf(input)));
    WHARF_RETURN_IF_ERROR(
        device_.Launch(kDefaultStream, last_, {grid, block}, BytesOf(std::vector<uint64_t>{in_, out_})));
    std::promise<absl::StatusOr<std::vector<Word>>> promise;
    WHARF_RETURN_IF_ERROR(device_.CopyToHost(
        kDefaultStream, {out_}, {bytes}, [&promise](absl::Status status, std::vector<std::byte> data) {
          std::vector<Word> words(data.size() / sizeof(Word));
          if (!data.empty()) std::memcpy(words.data(), data.data(), data.size());
          promise.set_value(status.ok() ? absl::StatusOr<std::vector<Word>>(std::move(words)) : status);
        }));
    auto result = promise.get_future().get();
    WHARF_RETURN_IF_ERROR(device_.UnloadModule(last_));
    return result;
  }

 private:
  static constexpr uint64_t kBytes = 64 << 10;

  Device& device_;
  const DeviceAddress in_, out_;
  uint32_t last_ = 0;
};

class RandomConformance : public DeviceConformance {
 protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    if (device_ != nullptr) programs_ = std::make_unique<Programs>(*device_);
  }
  Comparer MakeComparer() {
    return Comparer([this](const std::string& text, const std::vector<uint64_t>& input) {
      return programs_->Run(text, "kernel", {1, 1, 1}, {soft::random_program::kThreads, 1, 1}, input);
    });
  }

  std::unique_ptr<Programs> programs_;
};

TEST_P(RandomConformance, EveryInstruction) {
  if (std::string_view(GetParam().name) == "soft") GTEST_SKIP() << "what random_program_test does, without the device";
  constexpr size_t kTogether = 8;
  Comparer comparer = MakeComparer();
  MersenneRandom random(FromEnvironment("WHARF_RANDOM_SEED", 1));
  std::vector<const soft::random_program::InstructionSpec*> together;
  const auto flush = [&] {
    if (together.empty()) return;
    EXPECT_EQ(comparer.Difference(soft::random_program::StraightLine(random, together), random.Next()), "");
    together.clear();
  };
  for (const auto& family : soft::random_program::Families()) {
    for (const auto& spec : family.specs) {
      if (DiffersOnGpus(spec)) continue;
      together.push_back(&spec);
      if (together.size() == kTogether) flush();
    }
  }
  flush();
}

TEST_P(RandomConformance, ProgramsAgree) {
  constexpr int kSize = 24;
  Comparer comparer = MakeComparer();
  const uint64_t first = FromEnvironment("WHARF_RANDOM_SEED", 100000);
  const uint64_t count = FromEnvironment("WHARF_RANDOM_PROGRAMS", 20);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    MersenneRandom random(seed);
    EXPECT_EQ(comparer.Difference(soft::random_program::Generate(random, kSize, /*for_gpu=*/true), seed), "");
  }
}

TEST_P(RandomConformance, ProgramsWhoseThreadsMeetAgreeWithTheSoftwareDevice) {
  if (std::string_view(GetParam().name) == "soft")
    GTEST_SKIP() << "regions and suspendable threads: region_program_test";
  absl::StatusOr<std::unique_ptr<Device>> software = MakeSoftDevice({.memory_quota = kQuota});
  ASSERT_TRUE(software.ok()) << software.status();
  Programs expected(**software);
  const uint64_t first = FromEnvironment("WHARF_REGION_SEED", 1400);
  const uint64_t count = FromEnvironment("WHARF_REGION_PROGRAMS", 100);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const auto& [block, text, input] = soft::testing::MakeRegionProgram(seed);
    const Dim3 grid{RegionProgram::kBlocks, 1, 1};
    const auto want = expected.Run(text, "k", grid, block, input);
    const auto got = programs_->Run(text, "k", grid, block, input);
    ASSERT_TRUE(want.ok() && got.ok()) << "seed " << seed << ": " << want.status() << ", " << got.status() << "\n"
                                       << text;
    for (size_t i = 0; i < input.size(); ++i) {
      if ((*got)[i] == (*want)[i]) continue;
      ADD_FAILURE() << fmt::format(
          "seed {}, block ({},{},{}), thread {}: %r{} is {:#x}, the software device has {:#x}\n{}", seed, block.x,
          block.y, block.z, i / RegionProgram::kRegisters, i % RegionProgram::kRegisters, (*got)[i], (*want)[i], text);
      break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, RandomConformance, ::testing::ValuesIn(AllDrivers()), DriverName);

}  // namespace
}  // namespace wharf::device
