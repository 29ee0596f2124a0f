// What is particular to the software device. Kernels are C++ functions, looked up by the name of the PTX kernel that
// stands for them, so that these tests need no compiler.
#include "wharf/device/soft/driver/soft_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>

namespace wharf::device::soft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kPtx = R"(
.version 7.5
.target sm_75
.address_size 64
.global .align 4 .u32 counter = 5;
.global .align 8 .u64 where[2] = {counter, 7};
.const .align 16 .b8 table[20] = {1, 2, 3};
.visible .entry fill(.param .u64 to, .param .u32 value) { ret; }
.visible .entry wild() { ret; }
.visible .entry spin() { ret; }
.visible .entry say() { ret; }
.visible .entry sized() .reqntid 64, 1, 1 { ret; }
.visible .entry wrong() { ret; }
)";

void FillKernel(BlockContext* block) {
  uint64_t to;
  uint32_t value;
  std::memcpy(&to, block->parameters, 8);
  std::memcpy(&value, block->parameters + 8, 4);
  for (uint32_t i = 0; i < block->block[0]; ++i) {
    reinterpret_cast<uint32_t*>(to)[block->cta[0] * block->block[0] + i] = value;
  }
}
void WildKernel(BlockContext* block) {
  reinterpret_cast<uint32_t*>(block->global_begin + (uint64_t{1} << 30))[block->cta[0]] = 1;
}
void SpinKernel(ThreadContext* thread) {
  for (;;) wharf_yield(thread);
}
DeviceAddress g_text = 0;
void SayKernel(ThreadContext* thread) {
  std::memcpy(reinterpret_cast<void*>(g_text), "hello %d\n", 10);
  std::memcpy(reinterpret_cast<void*>(g_text + 16), &thread->linear, 4);
  wharf_vprintf(thread->block, g_text, g_text + 16);
}

class NativeCompiler final : public Compiler {
 public:
  explicit NativeCompiler(int* compilations) : compilations_(*compilations) {}
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const ptx::Module&, std::string_view name,
                                                                const SymbolResolver&, const Dim3&) override {
    ++compilations_;
    return Make(name);
  }
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Describe(const ptx::Module&,
                                                                 std::string_view name) const override {
    if (name == "wrong") return std::make_shared<CompiledKernel>();
    return Make(name);
  }

 private:
  static absl::StatusOr<std::shared_ptr<const CompiledKernel>> Make(std::string_view name) {
    auto kernel = std::make_shared<CompiledKernel>();
    if (name == "wrong") return CudaStatus(CudaError::kUnsupportedPtx, "kernel wrong: not supported");
    if (name == "fill") {
      kernel->loop_entry = &FillKernel;
      kernel->parameter_bytes = 12;
      kernel->parameters = {{0, 8}, {8, 4}};
    } else if (name == "wild") {
      kernel->loop_entry = &WildKernel;
    } else if (name == "sized") {
      kernel->loop_entry = [](BlockContext*) {};
      kernel->required_block[0] = 64;
      kernel->required_block[1] = kernel->required_block[2] = 1;
      kernel->static_shared_bytes = 1024;
    } else {
      kernel->mode = ExecutionMode::kSuspendable;
      kernel->thread_entry = name == "spin" ? &SpinKernel : &SayKernel;
    }
    return kernel;
  }

  int& compilations_;
};

enum Functions : FunctionId { kFill = 1, kWild, kSpin, kSay, kSized, kWrong };

// Counts; the device's calls must come in an order that makes sense.
class CountingShare final : public Share {
 public:
  void Begin() override {
    ++begun;
    taking_part = true;
  }
  void End(Nanoseconds used) override {
    ++ended;
    total += used;
  }
  void Idle() override { taking_part = false; }

  int begun = 0, ended = 0;
  Nanoseconds total{0};
  bool taking_part = false;
};

class SoftDeviceTest : public ::testing::Test {
 protected:
  SoftDeviceTest() {
    device_ =
        *SoftDevice::Create({.memory_quota = 1 << 20, .threads = 2}, std::make_unique<NativeCompiler>(&compilations_));
    base_ = device_->Arena().base;
    EXPECT_EQ(device_->Map(base_, 65536), absl::OkStatus());
    EXPECT_EQ(device_->LoadModule(1, Bytes(kPtx)), absl::OkStatus());
    const char* names[] = {"fill", "wild", "spin", "say", "sized", "wrong"};
    for (FunctionId id = kFill; id <= kWrong; ++id) {
      EXPECT_EQ(device_->DefineFunction(id, 1, names[id - 1]), absl::OkStatus());
    }
  }
  static std::vector<std::byte> Bytes(std::string_view text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
  }
  std::vector<std::byte> FillParameters(DeviceAddress to, uint32_t value) {
    std::vector<std::byte> parameters(12);
    std::memcpy(parameters.data(), &to, 8);
    std::memcpy(parameters.data() + 8, &value, 4);
    return parameters;
  }
  absl::Status Wait() {
    std::promise<absl::Status> promise;
    EXPECT_EQ(device_->NotifyAll([&](absl::Status s) { promise.set_value(std::move(s)); }), absl::OkStatus());
    return promise.get_future().get();
  }
  template <typename T>
  T Get(DeviceAddress from) {
    std::promise<T> promise;
    EXPECT_EQ(device_->CopyToHost(0, {from}, {sizeof(T)},
                                  [&](absl::Status, const std::vector<std::byte>& data) {
                                    T value{};
                                    if (!data.empty()) std::memcpy(&value, data.data(), sizeof value);
                                    promise.set_value(value);
                                  }),
              absl::OkStatus());
    return promise.get_future().get();
  }
  CudaError LaunchError(FunctionId id, LaunchConfig config, size_t parameter_bytes = 0) {
    return CudaErrorOf(device_->Launch(0, id, config, std::vector<std::byte>(parameter_bytes)));
  }

  int compilations_ = 0;
  std::unique_ptr<SoftDevice> device_;
  DeviceAddress base_ = 0;
};

TEST_F(SoftDeviceTest, LaunchesInOrderAndCompilesOnce) {
  EXPECT_EQ(compilations_, 0);
  ASSERT_EQ(device_->Launch(0, kFill, {{64}, {64}}, FillParameters(base_, 1)), absl::OkStatus());
  ASSERT_EQ(device_->Launch(0, kFill, {{1}, {1}}, FillParameters(base_ + 4, 2)), absl::OkStatus());
  EXPECT_EQ(Get<uint32_t>(base_), 1u);
  EXPECT_EQ(Get<uint32_t>(base_ + 4), 2u);
  EXPECT_EQ(Get<uint32_t>(base_ + 16380), 1u);
  EXPECT_EQ(compilations_, 1);
  EXPECT_GT(device_->BusyTime().count(), 0);
}

TEST_F(SoftDeviceTest, ModuleVariablesAreInitialised) {
  const Symbol counter = *device_->FindSymbol(1, "counter"), where = *device_->FindSymbol(1, "where");
  EXPECT_EQ(counter.size, 4u);
  EXPECT_EQ(Get<uint32_t>(counter.address), 5u);
  EXPECT_EQ(where.size, 16u);
  EXPECT_EQ(Get<uint64_t>(where.address), counter.address);
  EXPECT_EQ(Get<uint64_t>(where.address + 8), 7u);
  const Symbol table = *device_->FindSymbol(1, "table");
  EXPECT_EQ(table.size, 20u);
  EXPECT_EQ(Get<uint32_t>(table.address), 0x00030201u);
  EXPECT_EQ(CudaErrorOf(device_->FindSymbol(1, "fill").status()), CudaError::kNotFound);
  ASSERT_EQ(device_->UnloadModule(1), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(device_->CopyToHost(0, {counter.address}, {4}, [](absl::Status, std::vector<std::byte>) {})),
            CudaError::kInvalidValue);
  EXPECT_EQ(LaunchError(kFill, {}, 12), CudaError::kInvalidHandle);
  EXPECT_EQ(Wait(), absl::OkStatus());
}

TEST_F(SoftDeviceTest, ModulesThatCannotBeLoaded) {
  EXPECT_EQ(CudaErrorOf(device_->LoadModule(1, Bytes(kPtx))), CudaError::kInvalidValue);
  EXPECT_EQ(CudaErrorOf(device_->LoadModule(2, {})), CudaError::kInvalidImage);
  EXPECT_EQ(CudaErrorOf(device_->LoadModule(2, Bytes(".version 7.5\n.target sm_75\n.entry f( {"))),
            CudaError::kInvalidPtx);
  EXPECT_EQ(CudaErrorOf(device_->LoadModule(2, Bytes(".version 7.5\n.target sm_75\n.global .b8 big[99999999999];\n"))),
            CudaError::kOutOfMemory);
  EXPECT_EQ(CudaErrorOf(device_->DefineFunction(9, 1, "counter")), CudaError::kNotFound);
  EXPECT_EQ(CudaErrorOf(device_->DefineFunction(kFill, 1, "wild")), CudaError::kInvalidValue);
}

TEST_F(SoftDeviceTest, LaunchConfigurationsAreChecked) {
  using enum CudaError;
  EXPECT_EQ(LaunchError(kFill, {{1}, {0}}, 12), kInvalidConfiguration);
  EXPECT_EQ(LaunchError(kFill, {{0}, {1}}, 12), kInvalidConfiguration);
  EXPECT_EQ(LaunchError(kFill, {{1}, {1025}}, 12), kInvalidConfiguration);
  EXPECT_EQ(LaunchError(kFill, {{1}, {32, 33}}, 12), kInvalidConfiguration);
  EXPECT_EQ(LaunchError(kFill, {{1}, {1, 1, 65}}, 12), kInvalidConfiguration);
  EXPECT_EQ(LaunchError(kFill, {{1, 65536}, {1}}, 12), kInvalidConfiguration);
  EXPECT_EQ(LaunchError(kFill, {{1}, {1}, (48 << 10) + 1}, 12), kInvalidValue);
  EXPECT_EQ(LaunchError(kFill, {{1}, {1}}, 11), kInvalidValue);
  EXPECT_EQ(LaunchError(kSized, {{1}, {32}}), kInvalidValue);
  EXPECT_EQ(LaunchError(kSized, {{1}, {64}, 48 << 10}), kInvalidValue);  // with the static part it is too much
  EXPECT_EQ(CudaErrorOf(device_->SetMaxDynamicShared(kSized, 64 << 10)), kInvalidValue);
  ASSERT_EQ(device_->SetMaxDynamicShared(kSized, 63 << 10), absl::OkStatus());
  EXPECT_EQ(LaunchError(kSized, {{1}, {64}, 63 << 10}), kSuccess);
  EXPECT_EQ(Wait(), absl::OkStatus());
}

TEST_F(SoftDeviceTest, HasTheLimitsOfTheCapabilityThatItIsToSay) {
  EXPECT_EQ(device_->Properties().compute_major, 7);
  EXPECT_EQ(device_->Properties().shared_per_block_optin, 64u << 10);
  device_ = *SoftDevice::Create({.memory_quota = 1 << 20, .threads = 2, .compute_capability = 80},
                                std::make_unique<NativeCompiler>(&compilations_));
  EXPECT_EQ(device_->Properties().compute_major, 8);
  EXPECT_EQ(device_->Properties().compute_minor, 0);
  EXPECT_EQ(device_->Properties().max_threads_per_multiprocessor, 2048);
  ASSERT_EQ(device_->LoadModule(1, Bytes(kPtx)), absl::OkStatus());
  ASSERT_EQ(device_->DefineFunction(kSized, 1, "sized"), absl::OkStatus());  // 1 KiB of its own
  EXPECT_EQ(CudaErrorOf(device_->SetMaxDynamicShared(kSized, 163 << 10)), CudaError::kInvalidValue);
  ASSERT_EQ(device_->SetMaxDynamicShared(kSized, 162 << 10), absl::OkStatus());
  EXPECT_EQ(LaunchError(kSized, {{1}, {64}, 162 << 10}), CudaError::kSuccess);
  EXPECT_EQ(Wait(), absl::OkStatus());
  device_ = *SoftDevice::Create({.memory_quota = 1 << 20, .threads = 2, .compute_capability = 89},
                                std::make_unique<NativeCompiler>(&compilations_));
  EXPECT_EQ(device_->Properties().compute_minor, 9);
  EXPECT_EQ(device_->Properties().max_blocks_per_multiprocessor, 24);
  EXPECT_EQ(device_->Properties().shared_per_block_optin, 99u << 10);
}

TEST_F(SoftDeviceTest, Attributes) {
  const FunctionAttributes fill = *device_->Attributes(kFill);
  EXPECT_THAT(fill.parameters, ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 4}));
  EXPECT_EQ(fill.const_bytes, 20u);
  EXPECT_EQ(fill.ptx_version, 75);
  EXPECT_EQ(fill.max_dynamic_shared_bytes, 48u << 10);
  EXPECT_EQ(device_->Attributes(kSized)->max_dynamic_shared_bytes, 47u << 10);
}

TEST_F(SoftDeviceTest, CompileErrorsComeFromTheLaunchAndAreKept) {
  EXPECT_EQ(LaunchError(kWrong, {}), CudaError::kUnsupportedPtx);
  EXPECT_EQ(CudaErrorOf(device_->Attributes(kWrong).status()), CudaError::kUnsupportedPtx);
  EXPECT_EQ(compilations_, 1);
  EXPECT_EQ(Wait(), absl::OkStatus());
}

TEST_F(SoftDeviceTest, FaultsAreLatchedAndWorkAfterThemIsSkipped) {
  ASSERT_EQ(device_->Launch(0, kFill, {{1}, {1}}, FillParameters(base_, 1)), absl::OkStatus());
  ASSERT_EQ(device_->Launch(0, kWild, {{100}, {1}}, {}), absl::OkStatus());
  ASSERT_EQ(device_->Launch(0, kFill, {{1}, {1}}, FillParameters(base_, 2)), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(Wait()), CudaError::kIllegalAddress);
  EXPECT_EQ(CudaErrorOf(device_->Fault()), CudaError::kIllegalAddress);
  EXPECT_THAT(std::string(Message(device_->Fault())), HasSubstr("kernel wild"));
  EXPECT_EQ(*reinterpret_cast<const uint32_t*>(base_), 1u);
  bool empty = false;
  ASSERT_EQ(
      device_->CopyToHost(0, {base_}, {4}, [&](absl::Status, const std::vector<std::byte>& d) { empty = d.empty(); }),
      absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(Wait()), CudaError::kIllegalAddress);
  EXPECT_TRUE(empty);
}

TEST_F(SoftDeviceTest, OneDevicesFaultLeavesAnotherAlone) {
  int compilations = 0;
  const auto other = *SoftDevice::Create({.memory_quota = 1 << 20}, std::make_unique<NativeCompiler>(&compilations));
  ASSERT_EQ(device_->Launch(0, kWild, {}, {}), absl::OkStatus());
  EXPECT_EQ(CudaErrorOf(Wait()), CudaError::kIllegalAddress);
  EXPECT_EQ(other->Fault(), absl::OkStatus());
  EXPECT_EQ(other->Map(other->Arena().base, 4096), absl::OkStatus());
}

TEST_F(SoftDeviceTest, AsksForItsTurnBeforeWorkPaysForItAndSaysWhenItIsIdle) {
  CountingShare share;
  int compilations = 0;
  auto shared = *SoftDevice::Create({.memory_quota = 1 << 20, .threads = 2, .share = &share},
                                    std::make_unique<NativeCompiler>(&compilations));
  device_.swap(shared);
  ASSERT_EQ(device_->Map(device_->Arena().base, 65536), absl::OkStatus());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(device_->Fill(0, {device_->Arena().base}, {65536}, 1, 1), absl::OkStatus());
  }
  EXPECT_EQ(Wait(), absl::OkStatus());
  const Nanoseconds busy = device_->BusyTime();
  device_.reset();
  EXPECT_EQ(share.begun, 3);
  EXPECT_EQ(share.ended, 3);
  EXPECT_FALSE(share.taking_part);
  // One of two threads: half of the device. Each payment is rounded down.
  EXPECT_LE(share.total, busy / 2);
  EXPECT_GE(share.total, busy / 2 - Nanoseconds(3));
}

TEST_F(SoftDeviceTest, OutputComesBeforeLaterCallbacks) {
  std::string output, seen;
  device_->SetOutput([&](std::string text) { output += text; });
  g_text = base_;
  ASSERT_EQ(device_->Launch(0, kSay, {{1}, {3}}, {}), absl::OkStatus());
  ASSERT_EQ(device_->HostCall(0, [&] { seen = output; }), absl::OkStatus());
  EXPECT_EQ(Wait(), absl::OkStatus());
  EXPECT_EQ(seen, "hello 0\nhello 1\nhello 2\n");
}

TEST_F(SoftDeviceTest, DestructionEndsASpinningKernelAndTellsEveryCallback) {
  ASSERT_EQ(device_->Launch(0, kSpin, {{4}, {32}}, {}), absl::OkStatus());
  absl::Status status;
  ASSERT_EQ(device_->Notify(0, [&](absl::Status s) { status = std::move(s); }), absl::OkStatus());
  device_.reset();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace wharf::device::soft
