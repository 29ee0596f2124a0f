// Modules, launches, faults and printing, on every driver. The kernels are testing/conformance_kernels.cu.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "wharf/device/device_conformance.h"
#include "wharf/device/testing/generated/conformance_kernels_ptx.h"

namespace wharf::device {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ModuleId kModule = 1;

// A parameter buffer laid out as CUDA lays out a kernel's arguments.
class Parameters {
 public:
  template <typename T>
  Parameters& Add(const T& value) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  operator std::vector<std::byte>() const { return bytes_; }  // NOLINT: reads as an argument list

 private:
  std::vector<std::byte> bytes_;
};

class KernelConformance : public DeviceConformance {
 protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    if (device_ == nullptr) return;
    ASSERT_EQ(device_->LoadModule(kModule, BytesOf(kConformanceKernels)), absl::OkStatus());
  }
  FunctionId Define(const std::string& name) {
    EXPECT_EQ(device_->DefineFunction(++last_function_, kModule, name), absl::OkStatus());
    return last_function_;
  }
  absl::Status Launch(const std::string& name, const LaunchConfig& config, std::vector<std::byte> parameters,
                      StreamId stream = kDefaultStream) {
    return device_->Launch(stream, Define(name), config, std::move(parameters));
  }
  // Launches a kernel that faults; the error that callbacks get afterwards.
  CudaError FaultOf(const std::string& name, std::vector<std::byte> parameters) {
    EXPECT_EQ(Launch(name, {{1}, {32}}, std::move(parameters)), absl::OkStatus());
    const CudaError error = CudaErrorOf(Wait());
    EXPECT_EQ(CudaErrorOf(device_->Fault()), error);
    return error;
  }

  FunctionId last_function_ = 100;
};

TEST_P(KernelConformance, FunctionsAreFoundByName) {
  EXPECT_EQ(CudaErrorOf(device_->DefineFunction(1, kModule, "nothing")), CudaError::kNotFound);
  EXPECT_EQ(CudaErrorOf(device_->DefineFunction(1, 99, "saxpy")), CudaError::kInvalidHandle);
  const FunctionAttributes saxpy = *device_->Attributes(Define("saxpy"));
  EXPECT_THAT(saxpy.parameters, ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 8}, ParameterLayout{16, 4},
                                            ParameterLayout{20, 4}));
  EXPECT_EQ(saxpy.static_shared_bytes, 0u);
  EXPECT_GE(saxpy.max_threads_per_block, 32u);
  EXPECT_EQ(device_->Attributes(Define("sum_blocks"))->static_shared_bytes, 128u);
  const FunctionAttributes unpack = *device_->Attributes(Define("unpack"));
  EXPECT_THAT(unpack.parameters, ElementsAre(ParameterLayout{0, 1}, ParameterLayout{8, 32}, ParameterLayout{40, 2},
                                             ParameterLayout{48, 8}));
}

TEST_P(KernelConformance, FootprintsNameWhatIsTouched) {
  const Footprint saxpy = *device_->FootprintOf(Define("saxpy"));
  EXPECT_TRUE(saxpy.oblivious) << saxpy.reason;
  EXPECT_THAT(saxpy.written_parameters, ElementsAre(0));
  EXPECT_THAT(saxpy.read_parameters, ElementsAre(0, 8));
  const Footprint sum_blocks = *device_->FootprintOf(Define("sum_blocks"));
  EXPECT_TRUE(sum_blocks.oblivious) << sum_blocks.reason;
  EXPECT_THAT(sum_blocks.written_parameters, ElementsAre(0));
  EXPECT_THAT(sum_blocks.read_parameters, ElementsAre(8));

  const Footprint count = *device_->FootprintOf(Define("count"));
  EXPECT_TRUE(count.oblivious) << count.reason;
  EXPECT_THAT(count.written_parameters, ElementsAre(0));
  ASSERT_EQ(count.written_variables.size(), 1u);
  EXPECT_EQ(count.written_variables[0].address, device_->FindSymbol(kModule, "counter")->address);
  EXPECT_EQ(count.written_variables[0].size, 4u);
  EXPECT_EQ(count.read_variables.size(), 2u);

  for (const auto& [name, why] : {std::pair("histogram", "its address depends"), std::pair("chain", "whether it runs"),
                                  std::pair("say", "calls what is not"), std::pair("check", "calls what is not")}) {
    const Footprint footprint = *device_->FootprintOf(Define(name));
    EXPECT_FALSE(footprint.oblivious) << name;
    EXPECT_THAT(footprint.reason, HasSubstr(why));
  }
  EXPECT_EQ(CudaErrorOf(device_->FootprintOf(999).status()), CudaError::kInvalidHandle);
}

TEST_P(KernelConformance, UnreadableImagesAreRefused) {
  EXPECT_FALSE(device_->LoadModule(2, {}).ok());
  EXPECT_FALSE(device_->LoadModule(2, BytesOf("no module at all")).ok());
  EXPECT_FALSE(
      device_->LoadModule(2, BytesOf(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry f(")).ok());
  EXPECT_EQ(CudaErrorOf(device_->LoadModule(kModule, BytesOf(kConformanceKernels))), CudaError::kInvalidValue);
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

TEST_P(KernelConformance, LaunchConfigurationsAreChecked) {
  const FunctionId saxpy = Define("saxpy");
  const std::vector<std::byte> parameters(24);
  const auto error = [&](const LaunchConfig& config) {
    return CudaErrorOf(device_->Launch(0, saxpy, config, parameters));
  };
  EXPECT_EQ(error({{1}, {0}}), CudaError::kInvalidConfiguration);
  EXPECT_EQ(error({{0}, {1}}), CudaError::kInvalidConfiguration);
  EXPECT_EQ(error({{1}, {1025}}), CudaError::kInvalidConfiguration);
  EXPECT_EQ(error({{1}, {1, 1, 65}}), CudaError::kInvalidConfiguration);
  EXPECT_EQ(error({{1, 65536}, {1}}), CudaError::kInvalidConfiguration);
  EXPECT_EQ(error({{1}, {1}, 1 << 20}), CudaError::kInvalidValue);
  EXPECT_EQ(error({{1 << 20}, {1024}, 0, true}), CudaError::kCooperativeLaunchTooLarge);
  EXPECT_EQ(CudaErrorOf(device_->Launch(0, 12345, {{1}, {1}}, parameters)), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->Launch(77, saxpy, {{1}, {1}}, parameters)), CudaError::kInvalidHandle);
  EXPECT_EQ(error({{1}, {1}}), CudaError::kSuccess);  // n is 0
  EXPECT_EQ(Wait(), absl::OkStatus());
}

TEST_P(KernelConformance, Saxpy) {
  const DeviceAddress x = MapSlot(0), y = MapSlot(1);
  std::vector<float> vx(1000), vy(1000), expected(1000);
  for (size_t i = 0; i < 1000; ++i) {
    vx[i] = static_cast<float>(i);
    vy[i] = static_cast<float>(i % 7);
    expected[i] = i < 990 ? vy[i] + 2 * vx[i] : vy[i];
  }
  ASSERT_EQ(Write(x, vx), absl::OkStatus());
  ASSERT_EQ(Write(y, vy), absl::OkStatus());
  ASSERT_EQ(Launch("saxpy", {{10}, {100}}, Parameters().Add(y).Add(x).Add(2.0F).Add(990u)), absl::OkStatus());
  EXPECT_EQ(Read<float>(y, 1000), expected);
}

TEST_P(KernelConformance, EveryThreadKnowsItsPlace) {
  const DeviceAddress out = MapSlot(0);
  const Dim3 grid{3, 2, 2}, block{5, 2, 2};
  ASSERT_EQ(Launch("coordinates", {grid, block}, Parameters().Add(out)), absl::OkStatus());
  const auto seen = Read<std::array<uint32_t, 4>>(out, grid.Count() * block.Count());
  const auto pack = [](uint32_t x, uint32_t y, uint32_t z) { return x | y << 8 | z << 16; };
  for (uint32_t b = 0; b < grid.Count(); ++b) {
    for (uint32_t t = 0; t < block.Count(); ++t) {
      const std::array<uint32_t, 4> expected{pack(b % 3, b / 3 % 2, b / 6), pack(t % 5, t / 5 % 2, t / 10),
                                             pack(3, 2, 2), pack(5, 2, 2)};
      ASSERT_EQ(seen[b * block.Count() + t], expected);
    }
  }
}

TEST_P(KernelConformance, BlockReduction) {
  const DeviceAddress in = MapSlot(0), out = MapSlot(1);
  ASSERT_EQ(Write(in, Iota<uint32_t>(900)), absl::OkStatus());
  ASSERT_EQ(Launch("sum_blocks", {{4}, {256}}, Parameters().Add(out).Add(in).Add(900u)), absl::OkStatus());
  EXPECT_THAT(Read<uint32_t>(out, 4), ElementsAre(32640, 98176, 163712, 110022));
}

TEST_P(KernelConformance, DynamicSharedMemory) {
  const DeviceAddress at = MapSlot(0);
  ASSERT_EQ(Write(at, Iota<int32_t>(1000)), absl::OkStatus());
  ASSERT_EQ(Launch("reverse", {{1}, {1000}, 4000}, Parameters().Add(at)), absl::OkStatus());
  auto expected = Iota<int32_t>(1000);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(Read<int32_t>(at, 1000), expected);
}

TEST_P(KernelConformance, MoreDynamicSharedMemoryByOptIn) {
  const FunctionId reverse = Define("reverse");
  const uint32_t limit = device_->Properties().shared_per_block_optin;
  const DeviceAddress at = MapSlot(0);
  const std::vector<std::byte> parameters = Parameters().Add(at);
  EXPECT_EQ(CudaErrorOf(device_->Launch(0, reverse, {{1}, {32}, limit}, parameters)), CudaError::kInvalidValue);
  EXPECT_EQ(CudaErrorOf(device_->SetMaxDynamicShared(reverse, limit + 1)), CudaError::kInvalidValue);
  ASSERT_EQ(device_->SetMaxDynamicShared(reverse, limit), absl::OkStatus());
  EXPECT_EQ(device_->Launch(0, reverse, {{1}, {32}, limit}, parameters), absl::OkStatus());
  EXPECT_EQ(Wait(), absl::OkStatus());
}

TEST_P(KernelConformance, Atomics) {
  const DeviceAddress bins = MapSlot(0), data = MapSlot(1);
  std::vector<uint8_t> values(4000);
  std::vector<uint32_t> expected(256);
  for (size_t i = 0; i < values.size(); ++i) ++expected[values[i] = static_cast<uint8_t>(i * i)];
  ASSERT_EQ(Write(data, values), absl::OkStatus());
  ASSERT_EQ(Launch("histogram", {{7}, {96}}, Parameters().Add(bins).Add(data).Add(4000u)), absl::OkStatus());
  EXPECT_EQ(Read<uint32_t>(bins, 256), expected);
}

TEST_P(KernelConformance, ModuleVariables) {
  const Symbol counter = *device_->FindSymbol(kModule, "counter"), weights = *device_->FindSymbol(kModule, "weights");
  EXPECT_EQ(counter.size, 4u);
  EXPECT_EQ(weights.size, 16u);
  EXPECT_EQ(CudaErrorOf(device_->FindSymbol(kModule, "nothing").status()), CudaError::kNotFound);
  EXPECT_EQ(Read<int32_t>(counter.address, 1)[0], 3);
  EXPECT_THAT(Read<float>(weights.address, 4), ElementsAre(1, 2, 4, 8));
  const DeviceAddress out = MapSlot(0);
  ASSERT_EQ(Launch("count", {{1}, {64}}, Parameters().Add(out)), absl::OkStatus());
  EXPECT_EQ(Read<int32_t>(counter.address, 1)[0], 67);
  EXPECT_THAT(Read<float>(out, 4), ElementsAre(1, 2, 4, 8));
  ASSERT_EQ(Write(weights.address + 4, std::vector<float>{-1}), absl::OkStatus());
  ASSERT_EQ(Launch("count", {{1}, {4}}, Parameters().Add(out)), absl::OkStatus());
  EXPECT_THAT(Read<float>(out, 4), ElementsAre(1, -1, 4, 8));
}

TEST_P(KernelConformance, WarpOperationsInDivergentCode) {
  const DeviceAddress out = MapSlot(0);
  ASSERT_EQ(Launch("ballots", {{1}, {64}}, Parameters().Add(out)), absl::OkStatus());
  const auto seen = Read<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t lane = i % 32;
    EXPECT_EQ(seen[i], (lane % 2 == 0 ? 0x11111111u : 0xaaaa0000u) + (lane >= 30 ? 2 : 5)) << i;
  }
}

TEST_P(KernelConformance, BlocksMayWaitForEarlierBlocks) {
  const DeviceAddress flag = MapSlot(0), out = MapSlot(1);
  ASSERT_EQ(Launch("chain", {{20}, {64}}, Parameters().Add(flag).Add(out)), absl::OkStatus());
  uint32_t expected = 1;
  for (const uint32_t value : Read<uint32_t>(out, 20)) {
    EXPECT_EQ(value, expected);
    expected *= 3;
  }
}

TEST_P(KernelConformance, ParametersOfEverySize) {
  struct Large {
    double d;
    char c[13];
    int i;
  };
  Large large{-7, {}, 123456};
  large.c[12] = 'z';
  const DeviceAddress out = MapSlot(0);
  ASSERT_EQ(
      Launch("unpack", {{1}, {1}}, Parameters().Add(static_cast<signed char>(-3)).Add(large).Add(short{-300}).Add(out)),
      absl::OkStatus());
  EXPECT_THAT(Read<int64_t>(out, 5), ElementsAre(-3, -7, 'z', 123456, -300));
  EXPECT_EQ(CudaErrorOf(Launch("unpack", {{1}, {1}}, std::vector<std::byte>(55))), CudaError::kInvalidValue);
}

TEST_P(KernelConformance, PrintedTextArrivesWithTheNextSynchronisation) {
  std::string output;
  device_->SetOutput([&](std::string text) { output += text; });
  ASSERT_EQ(Launch("say", {{1}, {2}}, Parameters().Add(10)), absl::OkStatus());
  ASSERT_EQ(Launch("say", {{1}, {1}}, Parameters().Add(20)), absl::OkStatus());
  ASSERT_EQ(Wait(), absl::OkStatus());
  EXPECT_EQ(output, "thread 0 of many: 10 1.25\nthread 1 of many: 10 1.25\nthread 0 of many: 20 2.50\n");
}

TEST_P(KernelConformance, UnloadedModulesAreGone) {
  const FunctionId saxpy = Define("saxpy");
  const std::vector<std::byte> parameters(24);
  ASSERT_EQ(device_->Launch(0, saxpy, {{1}, {1}}, parameters), absl::OkStatus());
  ASSERT_EQ(device_->UnloadModule(kModule), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->Launch(0, saxpy, {{1}, {1}}, parameters)), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(device_->FindSymbol(kModule, "counter").status()), CudaError::kInvalidHandle);
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_EQ(device_->LoadModule(kModule, BytesOf(kConformanceKernels)), absl::OkStatus());
}

TEST_P(KernelConformance, EventsMeasureKernels) {
  const DeviceAddress flag = MapSlot(0), out = MapSlot(1);
  ASSERT_EQ(device_->CreateEvent(1, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateEvent(2, 0), absl::OkStatus());
  ASSERT_EQ(device_->RecordEvent(1, 0), absl::OkStatus());
  ASSERT_EQ(Launch("chain", {{20}, {64}}, Parameters().Add(flag).Add(out)), absl::OkStatus());
  ASSERT_EQ(device_->RecordEvent(2, 0), absl::OkStatus());
  ASSERT_EQ(WaitEvent(2), absl::OkStatus());
  EXPECT_GT(*device_->ElapsedMs(1, 2), 0.0F);
  EXPECT_GT(device_->BusyTime().count(), 0);
}

// --- guarded launches ---

class GuardConformance : public KernelConformance {
 protected:
  static constexpr uint32_t kCount = 200, kUntouched = 0x07070707;
  static inline const LaunchConfig kShape{{4}, {64}};

  void SetUp() override {
    KernelConformance::SetUp();
    if (device_ == nullptr) return;
    out_ = MapSlot(0), in_ = MapSlot(1), index_ = MapSlot(2);
    guard_ = {.violation = MapSlot(3), .fuel = 10 * kCount};
    Clear();
  }
  void Clear() { ASSERT_EQ(device_->Fill(0, {out_}, {Granularity()}, kUntouched, 4), absl::OkStatus()); }
  Parameters Pointers() const { return Parameters().Add(out_).Add(in_).Add(index_); }
  // The kernel may touch `bytes` bytes of `out_`, and all of the memory behind its other pointers.
  absl::Status LaunchGuarded(const std::string& name, std::vector<std::byte> parameters, uint64_t bytes) {
    guard_.ranges = {{0, out_, bytes}, {8, in_, Granularity()}, {16, index_, Granularity()}};
    return device_->LaunchGuarded(0, Define(name), kShape, std::move(parameters), guard_);
  }
  std::vector<uint32_t> Out() { return Read<uint32_t>(out_, Granularity() / 4); }
  bool Violated() { return Read<uint32_t>(guard_.violation, 1)[0] != 0; }

  void ExpectNoDifference(const std::string& name, const std::vector<std::byte>& parameters) {
    EXPECT_TRUE(device_->FootprintOf(Define(name))->guardable) << name;
    ASSERT_EQ(Launch(name, kShape, parameters), absl::OkStatus());
    const std::vector<uint32_t> plain = Out();
    EXPECT_NE(plain, std::vector<uint32_t>(plain.size(), kUntouched)) << name;
    Clear();
    ASSERT_EQ(LaunchGuarded(name, parameters, Granularity()), absl::OkStatus());
    EXPECT_EQ(Out(), plain) << name;
    EXPECT_FALSE(Violated()) << name;
    Clear();
  }

  DeviceAddress out_ = 0, in_ = 0, index_ = 0;
  Guard guard_;
};

TEST_P(GuardConformance, WhatStaysInsideDoesWhatItDoes) {
  std::vector<int32_t> to = Iota<int32_t>(kCount);
  std::reverse(to.begin(), to.end());
  std::vector<float> values = Iota<float>(4 * kCount, 0.5F);
  ASSERT_EQ(Write(in_, values), absl::OkStatus());
  ASSERT_EQ(Write(index_, to), absl::OkStatus());
  ExpectNoDifference("scatter", Pointers().Add(kCount));
  ExpectNoDifference("gather", Pointers().Add(kCount));

  std::vector<uint8_t> bytes(kCount);
  for (uint32_t i = 0; i < kCount; ++i) bytes[i] = static_cast<uint8_t>(i * i % 64);
  ASSERT_EQ(Write(in_, bytes), absl::OkStatus());
  ExpectNoDifference("histogram", Parameters().Add(out_).Add(in_).Add(kCount));
  ExpectNoDifference("shared_histogram", Parameters().Add(out_).Add(in_).Add(kCount));

  std::vector<int32_t> next = Iota<int32_t>(kCount, -1);
  ASSERT_EQ(Write(in_, next), absl::OkStatus());
  ExpectNoDifference("follow", Parameters().Add(out_).Add(in_));
}

TEST_P(GuardConformance, StoresOutsideAreLeftOut) {
  ASSERT_EQ(Write(in_, Iota<uint32_t>(kCount)), absl::OkStatus());
  std::vector<int32_t> to = Iota<int32_t>(kCount);
  to[3] = -1, to[4] = 1 << 30, to[5] = -(1 << 30), to[6] = kCount, to[7] = kCount + 1;
  ASSERT_EQ(Write(index_, to), absl::OkStatus());
  // All but the last byte of the last word.
  ASSERT_EQ(LaunchGuarded("scatter", Pointers().Add(kCount), 4 * kCount - 1), absl::OkStatus());
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_TRUE(Violated());
  std::vector<uint32_t> expected(Granularity() / 4, kUntouched);
  for (uint32_t i = 0; i + 1 < kCount; ++i) {
    if (i < 3 || i > 7) expected[i] = i;
  }
  EXPECT_EQ(Out(), expected);
}

TEST_P(GuardConformance, LoadsOutsideGiveZero) {
  ASSERT_EQ(Write(in_, Iota<uint32_t>(4 * kCount, 1)), absl::OkStatus());
  std::vector<int32_t> from(kCount, 1);
  from[2] = -1, from[3] = 1 << 30;
  ASSERT_EQ(Write(index_, from), absl::OkStatus());
  ASSERT_EQ(LaunchGuarded("gather", Pointers().Add(kCount), Granularity()), absl::OkStatus());
  EXPECT_TRUE(Violated());
  EXPECT_THAT(Read<uint32_t>(out_ + 16, 12), ElementsAre(5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_P(GuardConformance, AtomicsOutsideAreLeftOutInSharedMemoryToo) {
  std::vector<uint8_t> bytes(kCount, 5);
  bytes[0] = 64, bytes[1] = 255;
  ASSERT_EQ(Write(in_, bytes), absl::OkStatus());
  for (const char* name : {"histogram", "shared_histogram"}) {
    Clear();
    ASSERT_EQ(device_->Fill(0, {out_}, {64 * 4}, 0, 4), absl::OkStatus());
    ASSERT_EQ(device_->Fill(0, {guard_.violation}, {4}, 0, 4), absl::OkStatus());
    ASSERT_EQ(LaunchGuarded(name, Parameters().Add(out_).Add(in_).Add(kCount), 64 * 4), absl::OkStatus());
    EXPECT_TRUE(Violated()) << name;
    std::vector<uint32_t> expected(Granularity() / 4, kUntouched);
    std::fill_n(expected.begin(), 64, 0);
    expected[5] = kCount - 2;
    EXPECT_EQ(Out(), expected) << name;
  }
}

TEST_P(GuardConformance, MisalignedAccessesAreLeftOut) {
  const std::vector<uint32_t> before = Out();
  ASSERT_EQ(LaunchGuarded("scatter", Parameters().Add(out_ + 2).Add(in_).Add(index_).Add(kCount), Granularity()),
            absl::OkStatus());
  EXPECT_TRUE(Violated());
  EXPECT_EQ(Out(), before);
}

TEST_P(GuardConformance, EndlessLoopsEnd) {
  std::vector<int32_t> next = Iota<int32_t>(256, -1);
  next[0] = 63;  // a ring
  ASSERT_EQ(Write(in_, next), absl::OkStatus());
  ASSERT_EQ(LaunchGuarded("follow", Parameters().Add(out_).Add(in_), Granularity()), absl::OkStatus());
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_TRUE(Violated());
  EXPECT_EQ(Out(), std::vector<uint32_t>(Granularity() / 4, kUntouched));  // no thread came out of it
}

TEST_P(GuardConformance, WhatCannotBeGuardedIsSaid) {
  for (const char* name : {"chain", "count", "say", "stop"}) {
    const FunctionId function = Define(name);
    EXPECT_FALSE(device_->FootprintOf(function)->guardable) << name;
    const absl::Status status = device_->LaunchGuarded(0, function, kShape, std::vector<std::byte>(64), guard_);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << name << ": " << status;
  }
  EXPECT_EQ(CudaErrorOf(device_->LaunchGuarded(0, 999, kShape, {}, guard_)), CudaError::kInvalidHandle);
  EXPECT_EQ(CudaErrorOf(LaunchGuarded("scatter", {}, 0)), CudaError::kInvalidValue);
  guard_.ranges = {{0, out_, 1}, {0, out_, 2}};
  EXPECT_EQ(CudaErrorOf(device_->LaunchGuarded(0, Define("scatter"), kShape, std::vector<std::byte>(28), guard_)),
            CudaError::kInvalidValue);
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_FALSE(Violated());
}

INSTANTIATE_TEST_SUITE_P(Drivers, GuardConformance, ::testing::ValuesIn(AllDrivers()), DriverName);

// --- faults ---

TEST_P(KernelConformance, IllegalAddress) {
  const DeviceAddress at = MapSlot(0);
  EXPECT_EQ(FaultOf("poke", Parameters().Add(Slot(1000)).Add(1)), CudaError::kIllegalAddress);
  // Later work is not done, its callbacks carry the fault.
  (void)device_->Fill(0, {at}, {4}, 1, 4);
  EXPECT_EQ(CudaErrorOf(Wait()), CudaError::kIllegalAddress);
}

TEST_P(KernelConformance, NullPointer) {
  EXPECT_EQ(FaultOf("poke", Parameters().Add(uint64_t{0}).Add(1)), CudaError::kIllegalAddress);
}

TEST_P(KernelConformance, Trap) { EXPECT_EQ(FaultOf("stop", {}), CudaError::kLaunchFailure); }

TEST_P(KernelConformance, Assert) {
  std::string output;
  device_->SetOutput([&](std::string text) { output += text; });
  ASSERT_EQ(Launch("check", {{1}, {32}}, Parameters().Add(1)), absl::OkStatus());
  ASSERT_EQ(Wait(), absl::OkStatus());
  EXPECT_EQ(FaultOf("check", Parameters().Add(2)), CudaError::kAssert);
  if (GetParam().name == std::string_view("soft")) {  // a GPU's driver prints it on the process's standard error
    EXPECT_THAT(output, HasSubstr("conformance_kernels.cu:"));
    EXPECT_THAT(output, HasSubstr("void check(int): block: [0,0,0], thread: [0,0,0] Assertion `value == 1` failed.\n"));
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, KernelConformance, ::testing::ValuesIn(AllDrivers()), DriverName);

}  // namespace
}  // namespace wharf::device
