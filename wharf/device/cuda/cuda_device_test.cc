// The CUDA device on the fake driver (testing/fake_driver.cc), and on a real one where there is a GPU.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <numeric>

#include "absl/synchronization/notification.h"
#include "wharf/device/cuda/busy_meter.h"
#include "wharf/device/cuda/testing/cuda_device_fixture.h"

namespace wharf::device::cuda {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(CudaDeviceTest, Properties) {
  EXPECT_EQ(device_->Properties().driver, "cuda");
  EXPECT_FALSE(device_->Properties().name.empty());
  EXPECT_EQ(device_->Properties().total_memory, 64 * kMiB);
  EXPECT_EQ(device_->Arena().granularity % (2 * kMiB), 0u);
  EXPECT_GE(device_->Arena().size, 64 * kMiB);
  EXPECT_FALSE(device_->Arena().guarded);
}

TEST_P(CudaDeviceTest, MappedMemoryIsZeroAndKeepsWhatIsWritten) {
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  EXPECT_THAT(*Read(base_ + 100, 4), ElementsAre(0, 0, 0, 0));
  ASSERT_EQ(Write(base_ + 100, {1, 2, 3, 4}), absl::OkStatus());
  EXPECT_THAT(*Read(base_ + 100, 4), ElementsAre(1, 2, 3, 4));
}

TEST_P(CudaDeviceTest, MapRefuses) {
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->Map(base_, 2 * kMiB)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->Map(base_ + 4096, 2 * kMiB)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->Map(base_ + 2 * kMiB, 0)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->Map(base_ - 2 * kMiB, 2 * kMiB)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->Map(base_ + device_->Arena().size, 2 * kMiB)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->Map(base_ + 2 * kMiB, 64 * kMiB)), CudaError::kOutOfMemory);
  EXPECT_EQ(ErrorOf(device_->Unmap(base_ + 2 * kMiB)), CudaError::kInvalidValue);
}

TEST_P(CudaDeviceTest, QuotaComesBackWithUnmap) {
  ASSERT_EQ(device_->Map(base_, 64 * kMiB), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->Map(base_ + 64 * kMiB, 2 * kMiB)), CudaError::kOutOfMemory);
  ASSERT_EQ(device_->Unmap(base_), absl::OkStatus());
  EXPECT_EQ(device_->Map(base_ + 64 * kMiB, 64 * kMiB), absl::OkStatus());
}

TEST_P(CudaDeviceTest, RemappingAtOnceGivesZeroesAndLeavesEarlierWorkAlone) {
  ASSERT_EQ(device_->Map(base_, 4 * kMiB), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(7, 1, 0), absl::OkStatus());
  absl::Notification gate;
  ASSERT_EQ(device_->HostCall(7, [&] { gate.WaitForNotification(); }), absl::OkStatus());
  ASSERT_EQ(Write(base_, {1, 2, 3}, 7), absl::OkStatus());
  std::promise<absl::StatusOr<std::vector<uint32_t>>> earlier;
  ASSERT_EQ(device_->CopyToHost(7, {base_}, {12},
                                [&](absl::Status, std::vector<std::byte> data) { earlier.set_value(Words(data)); }),
            absl::OkStatus());
  // Neither waits, though stream 7 is still held up.
  ASSERT_EQ(device_->Unmap(base_), absl::OkStatus());
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  gate.Notify();
  EXPECT_THAT(*earlier.get_future().get(), ElementsAre(1, 2, 3));
  EXPECT_THAT(*Read(base_, 3), ElementsAre(0, 0, 0));
}

TEST_P(CudaDeviceTest, CopiesOfBoxes) {
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  std::vector<uint32_t> packed(4 * 3 * 2);
  std::iota(packed.begin(), packed.end(), 1);
  const Extent extent{16, 3, 2};
  const Region loose{base_, 64, 256}, odd{base_ + kMiB, 20, 70}, tight{base_ + kMiB / 2, 16, 48};
  for (const Region& region : {loose, odd, tight}) {
    ASSERT_EQ(device_->CopyToDevice(0, region, extent, Bytes(packed)), absl::OkStatus());
    std::promise<std::vector<uint32_t>> back;
    ASSERT_EQ(device_->CopyToHost(0, region, extent,
                                  [&](absl::Status, std::vector<std::byte> data) { back.set_value(Words(data)); }),
              absl::OkStatus());
    EXPECT_EQ(back.get_future().get(), packed);
  }
  EXPECT_THAT(*Read(base_ + 16, 12), Each(0));  // the gap behind a row
  const Region other{base_ + kMiB + kMiB / 2, 32, 128};
  ASSERT_EQ(device_->CopyOnDevice(0, other, loose, extent), absl::OkStatus());
  EXPECT_THAT(*Read(other.address + 128, 4), ElementsAre(13, 14, 15, 16));
}

TEST_P(CudaDeviceTest, CopiesRefuse) {
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  auto copy = [&](Region to, Extent extent, size_t bytes) {
    return ErrorOf(device_->CopyToDevice(0, to, extent, std::vector<std::byte>(bytes)));
  };
  EXPECT_EQ(copy({base_}, {8}, 4), CudaError::kInvalidValue);
  EXPECT_EQ(copy({0x1000}, {8}, 8), CudaError::kInvalidValue);
  EXPECT_EQ(copy({base_ + device_->Arena().size - 4}, {8}, 8), CudaError::kInvalidValue);
  EXPECT_EQ(copy({base_, 4, 0}, {8, 2}, 16), CudaError::kInvalidPitchValue);
  EXPECT_EQ(copy({base_, 8, 8}, {8, 2, 2}, 32), CudaError::kInvalidPitchValue);
  EXPECT_EQ(copy({base_, ~uint64_t{0}, 0}, {8, ~uint64_t{0}}, 8), CudaError::kInvalidValue);
  EXPECT_EQ(copy({base_}, {0}, 0), CudaError::kSuccess);
  EXPECT_EQ(ErrorOf(device_->CopyToDevice(99, {base_}, {0}, {})), CudaError::kInvalidHandle);
}

TEST_P(CudaDeviceTest, Fills) {
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  ASSERT_EQ(device_->Fill(0, {base_}, {16}, 0xab, 1), absl::OkStatus());
  EXPECT_THAT(*Read(base_, 5), ElementsAre(0xabababab, 0xabababab, 0xabababab, 0xabababab, 0));
  ASSERT_EQ(device_->Fill(0, {base_, 16, 64}, {4, 2, 2}, 0x1234, 2), absl::OkStatus());
  EXPECT_THAT(*Read(base_ + 64, 8), ElementsAre(0x12341234, 0, 0, 0, 0x12341234, 0, 0, 0));
  ASSERT_EQ(device_->Fill(0, {base_}, {8}, 77, 4), absl::OkStatus());
  EXPECT_THAT(*Read(base_, 2), ElementsAre(77, 77));
  EXPECT_EQ(ErrorOf(device_->Fill(0, {base_ + 1}, {8}, 0, 4)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->Fill(0, {base_}, {6}, 0, 4)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->Fill(0, {base_}, {8}, 0, 3)), CudaError::kInvalidValue);
}

TEST_P(CudaDeviceTest, KernelsRunInStreamOrder) {
  LoadKernels();
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(5, 0, 0), absl::OkStatus());
  ASSERT_EQ(Write(base_, {10, 20, 30}, 5), absl::OkStatus());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(AddOne(5, base_, 3), absl::OkStatus());
  EXPECT_THAT(*Read(base_, 3, 5), ElementsAre(110, 120, 130));
  EXPECT_GT(device_->BusyTime().count(), 0);
}

TEST_P(CudaDeviceTest, FunctionsAndModules) {
  LoadKernels();
  const auto attributes = device_->Attributes(kAddOne);
  ASSERT_TRUE(attributes.ok()) << attributes.status();
  EXPECT_THAT(attributes->parameters, ElementsAre(ParameterLayout{0, 8}, ParameterLayout{8, 4}));
  EXPECT_EQ(ErrorOf(device_->DefineFunction(9, 1, "no_such_kernel")), CudaError::kNotFound);
  EXPECT_EQ(ErrorOf(device_->DefineFunction(9, 44, "add_one")), CudaError::kInvalidHandle);
  EXPECT_EQ(ErrorOf(device_->Launch(0, 77, {}, {})), CudaError::kInvalidHandle);
  EXPECT_EQ(ErrorOf(device_->Launch(0, kAddOne, {.grid = {0, 1, 1}}, {})), CudaError::kInvalidConfiguration);
  EXPECT_EQ(ErrorOf(device_->Launch(0, kAddOne, {.block = {1, 1, 4096}}, {})), CudaError::kInvalidConfiguration);
  EXPECT_EQ(ErrorOf(device_->SetMaxDynamicShared(kAddOne, 1 << 30)), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->LoadModule(2, Bytes("not a module at all", 19))), CudaError::kInvalidImage);
  EXPECT_EQ(device_->UnloadModule(1), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->UnloadModule(1)), CudaError::kInvalidHandle);
  EXPECT_EQ(ErrorOf(device_->Launch(0, kAddOne, {}, {})), CudaError::kInvalidHandle);
}

TEST_P(CudaDeviceTest, FootprintsComeFromThePtx) {
  LoadKernels();
  const auto add_one = device_->FootprintOf(kAddOne);
  ASSERT_TRUE(add_one.ok()) << add_one.status();
  EXPECT_TRUE(add_one->oblivious) << add_one->reason;
  EXPECT_THAT(add_one->written_parameters, ElementsAre(0));
  EXPECT_THAT(add_one->read_parameters, ElementsAre(0));
  const auto fault = device_->FootprintOf(kFault);
  ASSERT_TRUE(fault.ok()) << fault.status();
  EXPECT_FALSE(fault->oblivious);
  EXPECT_THAT(fault->reason, HasSubstr("comes from no parameter"));
  EXPECT_EQ(ErrorOf(device_->FootprintOf(77).status()), CudaError::kInvalidHandle);
}

TEST_P(CudaDeviceTest, GuardedKernelsAreModulesOfTheirOwn) {
  LoadKernels();
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  ASSERT_EQ(Write(base_, {1, 2, 3, 4}), absl::OkStatus());
  std::vector<std::byte> parameters(12);
  const uint32_t n = 3;
  std::memcpy(parameters.data(), &base_, 8);
  std::memcpy(parameters.data() + 8, &n, 4);
  Guard guard{.ranges = {{0, base_, 12}}, .violation = base_ + 64, .fuel = 100};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(device_->LaunchGuarded(0, kAddOne, {}, parameters, guard), absl::OkStatus());
  }
  EXPECT_THAT(*Read(base_, 4), ElementsAre(3, 4, 5, 4));
  EXPECT_EQ(Read(base_ + 64, 1)->at(0), 0u);
  guard.ranges[0].size = 8;
  ASSERT_EQ(device_->LaunchGuarded(0, kAddOne, {}, parameters, guard), absl::OkStatus());
  EXPECT_THAT(*Read(base_, 4), ElementsAre(4, 5, 5, 4));
  EXPECT_EQ(Read(base_ + 64, 1)->at(0), 1u);

  const absl::Status refused = device_->LaunchGuarded(0, kFault, {}, {}, guard);
  EXPECT_EQ(ErrorOf(refused), CudaError::kNotSupported);
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("comes from no parameter"));
  EXPECT_EQ(device_->UnloadModule(1), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->LaunchGuarded(0, kAddOne, {}, parameters, guard)), CudaError::kInvalidHandle);
}

TEST_P(CudaDeviceTest, SymbolsAreMemoryToo) {
  LoadKernels();
  const auto symbol = device_->FindSymbol(1, "answer");
  ASSERT_TRUE(symbol.ok()) << symbol.status();
  EXPECT_EQ(symbol->size, 64u);
  EXPECT_EQ(Read(symbol->address, 1)->at(0), 7u);
  ASSERT_EQ(Write(symbol->address + 60, {5}), absl::OkStatus());
  EXPECT_EQ(ErrorOf(Write(symbol->address + 60, {5, 6})), CudaError::kInvalidValue);
  EXPECT_EQ(ErrorOf(device_->FindSymbol(1, "question").status()), CudaError::kNotFound);
}

TEST_P(CudaDeviceTest, EventsOrderStreams) {
  LoadKernels();
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(5, 1, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(6, 1, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateEvent(1, 0), absl::OkStatus());
  EXPECT_TRUE(*device_->EventDone(1));
  absl::Notification gate;
  ASSERT_EQ(device_->HostCall(5, [&] { gate.WaitForNotification(); }), absl::OkStatus());
  ASSERT_EQ(Write(base_, {41}, 5), absl::OkStatus());
  ASSERT_EQ(device_->RecordEvent(1, 5), absl::OkStatus());
  ASSERT_EQ(device_->WaitEvent(6, 1), absl::OkStatus());
  ASSERT_EQ(AddOne(6, base_, 1), absl::OkStatus());
  EXPECT_FALSE(*device_->EventDone(1));
  EXPECT_FALSE(*device_->StreamDone(6));
  gate.Notify();
  EXPECT_EQ(Read(base_, 1, 6)->at(0), 42u);
  EXPECT_TRUE(*device_->EventDone(1));
  EXPECT_EQ(Synchronize(6), absl::OkStatus());
  EXPECT_TRUE(*device_->StreamDone(6));
  EXPECT_EQ(device_->DestroyEvent(1), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->DestroyEvent(1)), CudaError::kInvalidHandle);
}

TEST_P(CudaDeviceTest, DefaultStreamIsABarrier) {
  LoadKernels();
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(5, 0, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(6, 0, 0), absl::OkStatus());
  absl::Notification gate;
  ASSERT_EQ(device_->HostCall(5, [&] { gate.WaitForNotification(); }), absl::OkStatus());
  ASSERT_EQ(Write(base_, {1}, 5), absl::OkStatus());
  ASSERT_EQ(AddOne(kDefaultStream, base_, 1), absl::OkStatus());
  ASSERT_EQ(AddOne(6, base_, 1), absl::OkStatus());
  gate.Notify();
  EXPECT_EQ(Read(base_, 1, 6)->at(0), 3u);
}

TEST_P(CudaDeviceTest, ElapsedTime) {
  ASSERT_EQ(device_->CreateEvent(1, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateEvent(2, 0), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->ElapsedMs(1, 2).status()), CudaError::kInvalidHandle);
  ASSERT_EQ(device_->RecordEvent(1, 0), absl::OkStatus());
  absl::Notification gate;
  ASSERT_EQ(device_->HostCall(0, [&] { gate.WaitForNotification(); }), absl::OkStatus());
  ASSERT_EQ(device_->RecordEvent(2, 0), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->ElapsedMs(1, 2).status()), CudaError::kNotReady);
  gate.Notify();
  ASSERT_EQ(Await([&](Done done) { return device_->NotifyEvent(2, std::move(done)); }), absl::OkStatus());
  const auto elapsed = device_->ElapsedMs(1, 2);
  ASSERT_TRUE(elapsed.ok()) << elapsed.status();
  EXPECT_GE(*elapsed, 0.0f);
}

TEST_P(CudaDeviceTest, NotifyEventMeansTheRecordOfItsTime) {
  ASSERT_EQ(device_->CreateStream(5, 1, 0), absl::OkStatus());
  ASSERT_EQ(device_->CreateEvent(1, 2), absl::OkStatus());
  EXPECT_EQ(Await([&](Done done) { return device_->NotifyEvent(1, std::move(done)); }), absl::OkStatus());
  ASSERT_EQ(device_->RecordEvent(1, 5), absl::OkStatus());
  std::promise<absl::Status> first;
  ASSERT_EQ(device_->NotifyEvent(1, [&](absl::Status status) { first.set_value(status); }), absl::OkStatus());
  absl::Notification gate;
  ASSERT_EQ(device_->HostCall(5, [&] { gate.WaitForNotification(); }), absl::OkStatus());
  ASSERT_EQ(device_->RecordEvent(1, 5), absl::OkStatus());
  EXPECT_EQ(first.get_future().get(), absl::OkStatus());  // before the second record is reached
  EXPECT_FALSE(*device_->EventDone(1));
  gate.Notify();
  EXPECT_EQ(Synchronize(5), absl::OkStatus());
}

TEST_P(CudaDeviceTest, NotifyAllCoversStreamsThatWereDestroyed) {
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(5, 1, 0), absl::OkStatus());
  absl::Notification gate;
  std::atomic<bool> ran = false;
  ASSERT_EQ(device_->HostCall(5,
                              [&] {
                                gate.WaitForNotification();
                                ran = true;
                              }),
            absl::OkStatus());
  ASSERT_EQ(device_->DestroyStream(5), absl::OkStatus());
  EXPECT_EQ(ErrorOf(device_->Notify(5, [](absl::Status) {})), CudaError::kInvalidHandle);
  std::promise<absl::Status> all;
  ASSERT_EQ(device_->NotifyAll([&](absl::Status status) { all.set_value(status); }), absl::OkStatus());
  gate.Notify();
  EXPECT_EQ(all.get_future().get(), absl::OkStatus());
  EXPECT_TRUE(ran);
}

TEST_P(CudaDeviceTest, LargeCopiesBeyondThePinnedPool) {
  ASSERT_EQ(device_->Map(base_, 64 * kMiB), absl::OkStatus());
  std::vector<uint32_t> words(16 * kMiB);
  std::iota(words.begin(), words.end(), 5);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(Write(base_, words), absl::OkStatus());
  EXPECT_EQ(*Read(base_, words.size()), words);
}

TEST_P(CudaDeviceTest, DestructionWithWorkUnderWay) {
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  ASSERT_EQ(device_->CreateStream(5, 0, 0), absl::OkStatus());
  std::atomic<int> answered = 0;
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(Write(base_, std::vector<uint32_t>(1000, 1), 5), absl::OkStatus());
    ASSERT_EQ(device_->Notify(5, [&](absl::Status) { ++answered; }), absl::OkStatus());
  }
  device_.reset();
  EXPECT_EQ(answered, 50);
}

TEST_P(CudaDeviceTest, AFaultIsLatched) {
  if (GetParam() != WHARF_FAKE_DRIVER) GTEST_SKIP() << "a real fault ends the process's use of CUDA";
  LoadKernels();
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
  ASSERT_EQ(device_->Launch(0, kFault, {}, {}), absl::OkStatus());
  EXPECT_EQ(ErrorOf(Synchronize()), CudaError::kIllegalAddress);
  EXPECT_EQ(ErrorOf(device_->Fault()), CudaError::kIllegalAddress);
  EXPECT_EQ(ErrorOf(AddOne(0, base_, 1)), CudaError::kIllegalAddress);
  EXPECT_EQ(ErrorOf(Read(base_, 1).status()), CudaError::kIllegalAddress);
  EXPECT_EQ(ErrorOf(Await([&](Done done) { return device_->NotifyAll(std::move(done)); })), CudaError::kIllegalAddress);
}

TEST_P(CudaDeviceTest, KernelsPrint) {
  if (GetParam() != WHARF_FAKE_DRIVER) GTEST_SKIP() << "only the fake driver knows this kernel";
  LoadKernels();
  ASSERT_EQ(device_->DefineFunction(3, 1, "say"), absl::OkStatus());
  std::string text;
  device_->SetOutput([&](std::string more) { text += more; });
  ASSERT_EQ(device_->Launch(0, 3, {}, {}), absl::OkStatus());
  const absl::Status done = Synchronize();
  device_->SetOutput(nullptr);
  EXPECT_EQ(done, absl::OkStatus());
  EXPECT_EQ(text, "kernel speaking\n");
}

TEST_P(CudaDeviceTest, CooperativeLaunches) {
  LoadKernels();
  ASSERT_EQ(device_->Map(base_, 2 * kMiB), absl::OkStatus());
  std::vector<std::byte> parameters(12);
  const uint32_t n = 2;
  std::memcpy(parameters.data(), &base_, 8);
  std::memcpy(parameters.data() + 8, &n, 4);
  ASSERT_EQ(device_->Launch(0, kAddOne, {.cooperative = true}, parameters), absl::OkStatus());
  EXPECT_THAT(*Read(base_, 3), ElementsAre(1, 1, 0));
  EXPECT_EQ(ErrorOf(device_->Launch(0, kAddOne, {.grid = {1 << 30}, .cooperative = true}, parameters)),
            CudaError::kCooperativeLaunchTooLarge);
  EXPECT_EQ(ErrorOf(device_->LaunchGuarded(0, kAddOne, {.cooperative = true}, parameters, {})),
            CudaError::kNotSupported);
  EXPECT_EQ(device_->Fault(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Drivers, CudaDeviceTest, ::testing::Values(WHARF_FAKE_DRIVER, "libcuda.so.1"), DriverName);
TEST(OperationSample, StandsForAll) {
  OperationSample sample;
  for (uint64_t i = 0; i < OperationSample::kAll; ++i) ASSERT_EQ(sample.WeightOfNext(), 1U);
  constexpr uint64_t kMore = 1 << 20, kRhythm = 8;
  uint64_t of_all = 0, of_some = 0;
  for (uint64_t i = 0; i < kMore; ++i) {
    const uint32_t weight = sample.WeightOfNext();
    of_all += weight;
    if (i % kRhythm == 0) of_some += weight;
  }
  EXPECT_NEAR(static_cast<double>(of_all), kMore, 0.01 * kMore);
  EXPECT_NEAR(static_cast<double>(of_some), kMore / kRhythm, 0.03 * kMore / kRhythm);
}

TEST(MakeCudaDevice, SaysWhyThereIsNone) {
  const auto device = MakeCudaDevice({});
  if (device.ok()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(device.status())), HasSubstr("libcuda.so.1"));
}

}  // namespace
}  // namespace wharf::device::cuda
