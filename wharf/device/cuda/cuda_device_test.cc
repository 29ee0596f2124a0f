// The CUDA device on the fake driver (testing/fake_driver.cc), and on a real one where there is a GPU.
#include "wharf/device/cuda/cuda_device.h"
#include "wharf/device/cuda/busy_meter.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <numeric>

#include "absl/synchronization/notification.h"

namespace wharf::device::cuda {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;
constexpr FunctionId kAddOne = 1, kFault = 2;

// Real kernels for a real driver; the fake one goes by their names.
constexpr char kPtx[] = R"(.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 answer[64] = {7, 0, 0, 0};
.visible .entry add_one(.param .u64 data, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %i, %n, %v;
  .reg .b64 %a, %o;
  ld.param.u64 %a, [data];
  ld.param.u32 %n, [n];
  cvta.to.global.u64 %a, %a;
  mov.u32 %i, 0;
loop:
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mul.wide.u32 %o, %i, 4;
  add.u64 %o, %a, %o;
  ld.global.u32 %v, [%o];
  add.u32 %v, %v, 1;
  st.global.u32 [%o], %v;
  add.u32 %i, %i, 1;
  bra loop;
done:
  ret;
}
.visible .entry fault()
{
  .reg .b64 %a;
  mov.u64 %a, 64;
  st.global.u32 [%a], 1;
  ret;
}
)";

std::vector<std::byte> Bytes(const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  return {bytes, bytes + size};
}
std::vector<std::byte> Bytes(const std::vector<uint32_t>& words) { return Bytes(words.data(), words.size() * 4); }
std::vector<uint32_t> Words(const std::vector<std::byte>& bytes) {
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

class CudaDeviceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto device = CudaDevice::Create({.memory_quota = 64 * kMiB}, GetParam());
    if (GetParam() != WHARF_FAKE_DRIVER && absl::IsUnavailable(device.status())) {
      GTEST_SKIP() << "no GPU here: " << device.status();
    }
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    base_ = device_->Arena().base;
  }

  void LoadKernels() {
    ASSERT_EQ(device_->LoadModule(1, Bytes(kPtx, sizeof(kPtx) - 1)), absl::OkStatus());
    ASSERT_EQ(device_->DefineFunction(kAddOne, 1, "add_one"), absl::OkStatus());
    ASSERT_EQ(device_->DefineFunction(kFault, 1, "fault"), absl::OkStatus());
  }
  absl::Status AddOne(StreamId stream, DeviceAddress data, uint32_t n) {
    std::vector<std::byte> parameters(12);
    std::memcpy(parameters.data(), &data, 8);
    std::memcpy(parameters.data() + 8, &n, 4);
    return device_->Launch(stream, kAddOne, {}, parameters);
  }
  // Reads `count` words back, in order with `stream`.
  absl::StatusOr<std::vector<uint32_t>> Read(DeviceAddress address, size_t count, StreamId stream = kDefaultStream) {
    std::promise<absl::StatusOr<std::vector<uint32_t>>> promise;
    const absl::Status queued =
        device_->CopyToHost(stream, {address}, {count * 4}, [&](absl::Status status, std::vector<std::byte> data) {
          if (status.ok()) {
            promise.set_value(Words(data));
          } else {
            promise.set_value(status);
          }
        });
    if (!queued.ok()) return queued;
    return promise.get_future().get();
  }
  absl::Status Write(DeviceAddress address, const std::vector<uint32_t>& words, StreamId stream = kDefaultStream) {
    return device_->CopyToDevice(stream, {address}, {words.size() * 4}, Bytes(words));
  }
  absl::Status Await(const std::function<absl::Status(Done)>& ask) {
    std::promise<absl::Status> promise;
    const absl::Status asked = ask([&](absl::Status status) { promise.set_value(std::move(status)); });
    return asked.ok() ? promise.get_future().get() : asked;
  }
  absl::Status Synchronize(StreamId stream = kDefaultStream) {
    return Await([&](Done done) { return device_->Notify(stream, std::move(done)); });
  }
  static CudaError ErrorOf(const absl::Status& status) { return CudaErrorOf(status); }

  std::unique_ptr<Device> device_;
  DeviceAddress base_ = 0;
};

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

// --- prepared work ---

struct Graphs {
  int instantiated = 0, launched = 0;
  friend bool operator==(const Graphs&, const Graphs&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Graphs& g) {
    return out << g.instantiated << " instantiated, " << g.launched << " launched";
  }
};

// The fake driver's work graphs since the last call; on a real one only results are looked at.
class PreparedWorkTest : public CudaDeviceTest {
 protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    if (device_ == nullptr) return;
    LoadKernels();
    a_ = device_->Arena().base;
    ASSERT_EQ(device_->Map(a_, 2 * kMiB), absl::OkStatus());
    Since();
  }
  Graphs Since() {
    if (GetParam() != WHARF_FAKE_DRIVER) return {};
    void* library = dlopen(WHARF_FAKE_DRIVER, RTLD_NOW | RTLD_NOLOAD);
    auto* count = reinterpret_cast<void (*)(int*, int*)>(dlsym(library, "FakeDriverGraphs"));
    Graphs now;
    count(&now.instantiated, &now.launched);
    const Graphs since{now.instantiated - last_.instantiated, now.launched - last_.launched};
    last_ = now;
    return since;
  }
  void Submit(WorkList& list, Graphs expected) {
    const Submission submission = list.Submit(0, list.size());
    EXPECT_EQ(submission.status, absl::OkStatus());
    EXPECT_EQ(submission.queued, list.size());
    EXPECT_EQ(Since(), GetParam() == WHARF_FAKE_DRIVER ? expected : Graphs{});
  }
  static Work AddOne(DeviceAddress data, uint32_t count) {
    std::vector<std::byte> parameters(12);
    std::memcpy(parameters.data(), &data, 8);
    std::memcpy(parameters.data() + 8, &count, 4);
    return {kDefaultStream, LaunchWork{kAddOne, {}, std::move(parameters)}};
  }
  static Work Fill(DeviceAddress to, uint32_t value, Extent extent = {4}, uint64_t pitch = 0) {
    return {kDefaultStream, FillWork{{to, pitch}, extent, value, 4}};
  }
  static Work Copy(DeviceAddress to, DeviceAddress from, Extent extent = {4}, uint64_t pitch = 0) {
    return {kDefaultStream, CopyWork{{to, pitch}, {from, pitch}, extent}};
  }

  DeviceAddress a_ = 0;
  Graphs last_;
};

TEST_P(PreparedWorkTest, ARunOfWorkIsOneGraph) {
  const auto list = device_->PrepareWork({Fill(a_, 5), AddOne(a_, 1), AddOne(a_, 2), Copy(a_ + 8, a_)});
  Submit(*list, {1, 1});
  EXPECT_THAT(*Read(a_, 3), ElementsAre(7, 1, 7));
  Submit(*list, {0, 1});
  EXPECT_THAT(*Read(a_, 3), ElementsAre(7, 2, 7));
}

TEST_P(PreparedWorkTest, NewArgumentsChangeTheGraphInPlace) {
  const auto list = device_->PrepareWork({Fill(a_, 5), AddOne(a_, 1), Copy(a_ + 8, a_)});
  Submit(*list, {1, 1});
  list->Update(0, Fill(a_ + 4, 9));
  list->Update(1, AddOne(a_, 2));
  list->Update(2, Copy(a_ + 12, a_ + 4, {4}));
  Submit(*list, {0, 1});
  EXPECT_THAT(*Read(a_, 4), ElementsAre(7, 10, 6, 10));
}

TEST_P(PreparedWorkTest, WhatCannotBeChangedInPlaceIsBuiltAnew) {
  const auto list = device_->PrepareWork({Fill(a_, 1), AddOne(a_, 1), Copy(a_ + 64, a_)});
  Submit(*list, {1, 1});
  list->Update(0, Fill(a_, 3, {8, 2}, 16));
  Submit(*list, {1, 1});
  list->Update(2, Copy(a_ + 64, a_, {8, 2}, 16));
  Submit(*list, {1, 1});
  EXPECT_THAT(*Read(a_ + 64, 6), ElementsAre(4, 3, 0, 0, 3, 3));
  list->Update(2, AddOne(a_, 2));  // another kind
  Submit(*list, {1, 1});
  Submit(*list, {0, 1});
  EXPECT_THAT(*Read(a_, 2), ElementsAre(5, 4));
}

TEST_P(PreparedWorkTest, PartsAndSingleElementsArePlainCalls) {
  const auto list = device_->PrepareWork({AddOne(a_, 1), AddOne(a_, 1), AddOne(a_, 1)});
  Submit(*list, {1, 1});
  EXPECT_EQ(list->Submit(0, 2).status, absl::OkStatus());
  EXPECT_EQ(list->Submit(1, 2).status, absl::OkStatus());
  EXPECT_EQ(Since(), Graphs{});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(7));
  const auto single = device_->PrepareWork({AddOne(a_, 1)});
  Submit(*single, {0, 0});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(8));
}

TEST_P(PreparedWorkTest, StreamsAndOddBoxesStandBetweenGraphs) {
  ASSERT_EQ(device_->CreateStream(5, 0, 0), absl::OkStatus());
  Work elsewhere = AddOne(a_, 1);
  elsewhere.stream = 5;
  // Slices that are no multiple of a row apart take a call each.
  const Work odd{kDefaultStream, CopyWork{{a_ + 256, 8, 20}, {a_, 8, 20}, {4, 2, 2}}};
  const auto list = device_->PrepareWork({AddOne(a_, 1), AddOne(a_, 1), odd, AddOne(a_, 1), AddOne(a_, 1), elsewhere,
                                          AddOne(a_, 1), Fill(a_ + 4, 0, {0}), AddOne(a_, 1), AddOne(a_, 1)});
  Submit(*list, {3, 3});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(8));
  EXPECT_THAT(*Read(a_ + 256, 1), ElementsAre(2));
  Submit(*list, {0, 3});
}

TEST_P(PreparedWorkTest, MemoryThatWasMappedAnewIsLookedUpAnew) {
  const DeviceAddress b = a_ + 2 * kMiB;
  ASSERT_EQ(device_->Map(b, 2 * kMiB), absl::OkStatus());
  const auto copies = device_->PrepareWork({Fill(a_, 3), Copy(b, a_)});
  const auto kernels = device_->PrepareWork({AddOne(b, 1), AddOne(b, 1)});
  Submit(*copies, {1, 1});
  Submit(*kernels, {1, 1});
  EXPECT_THAT(*Read(b, 1), ElementsAre(5));
  ASSERT_EQ(device_->Unmap(b), absl::OkStatus());
  EXPECT_EQ(ErrorOf(copies->Submit(0, 2).status), CudaError::kInvalidValue);
  ASSERT_EQ(device_->Map(b, 2 * kMiB), absl::OkStatus());
  Submit(*copies, {1, 1});
  Submit(*kernels, {0, 1});
  EXPECT_THAT(*Read(b, 1), ElementsAre(5));
}

TEST_P(PreparedWorkTest, AFaultInAGraphIsLatched) {
  if (GetParam() != WHARF_FAKE_DRIVER) GTEST_SKIP() << "a real fault ends the process's use of CUDA";
  const auto list = device_->PrepareWork({AddOne(a_, 1), {kDefaultStream, LaunchWork{kFault, {}, {}}}, AddOne(a_, 1)});
  Submit(*list, {1, 1});
  EXPECT_EQ(ErrorOf(Synchronize()), CudaError::kIllegalAddress);
  const Submission after = list->Submit(0, 3);
  EXPECT_EQ(after.queued, 0u);
  EXPECT_EQ(ErrorOf(after.status), CudaError::kIllegalAddress);
}

TEST_P(PreparedWorkTest, CooperativeLaunchesStandBetweenGraphs) {
  Work together = AddOne(a_, 1);
  std::get<LaunchWork>(together.what).config.cooperative = true;
  const auto list = device_->PrepareWork({AddOne(a_, 1), AddOne(a_, 1), together, AddOne(a_, 1), AddOne(a_, 1)});
  Submit(*list, {2, 2});
  EXPECT_THAT(*Read(a_, 1), ElementsAre(5));
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

std::string DriverName(const ::testing::TestParamInfo<std::string>& info) {
  return info.param == WHARF_FAKE_DRIVER ? "Fake" : "Real";
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

INSTANTIATE_TEST_SUITE_P(Drivers, PreparedWorkTest, ::testing::Values(WHARF_FAKE_DRIVER, "libcuda.so.1"), DriverName);

TEST(MakeCudaDevice, SaysWhyThereIsNone) {
  const auto device = MakeCudaDevice({});
  if (device.ok()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(device.status())), HasSubstr("libcuda.so.1"));
}

}  // namespace
}  // namespace wharf::device::cuda
