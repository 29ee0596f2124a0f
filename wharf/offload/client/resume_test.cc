// A session over connections that break all the time does what it does over one that holds: every operation once, in
// order, every answer to its question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "wharf/device/fake_device.h"
#include "wharf/link/resume/resume_testing.h"
#include "wharf/link/testing.h"
#include "wharf/offload/client/client_session.h"
#include "wharf/offload/testing/loopback_server.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::FakeDevice;

constexpr CudaError kOk = CudaError::kSuccess;
constexpr uint64_t kBase = FakeDevice::kBase;
constexpr uint64_t kFunction = 7;

// What the kernel does to its cell: the result tells how often and in which order it ran.
uint64_t Step(uint64_t value, uint64_t number) { return value * 6364136223846793005u + number; }

std::map<std::string, FakeDevice::Kernel> Kernels() {
  return {{"step", [](FakeDevice& device, const device::LaunchConfig&, const std::vector<std::byte>& parameters) {
             uint64_t arguments[2], value = 0;  // the cell's address, a number
             std::memcpy(arguments, parameters.data(), sizeof(arguments));
             std::memcpy(&value, device.At(arguments[0]), sizeof(value));
             value = Step(value, arguments[1]);
             std::memcpy(device.At(arguments[0]), &value, sizeof(value));
             return absl::OkStatus();
           }}};
}

struct Breaks {
  uint32_t seed = 1;
  uint64_t mean_life = 4000;  // bytes of one direction
};

class ResumeTest : public testing::TestWithParam<std::pair<Mode, Compression>> {
 protected:
  void Open(const Breaks& breaks) {
    std::uniform_int_distribution<uint64_t> life(0, 2 * breaks.mean_life);
    link::ResumeOptions options;
    options.limit = std::chrono::hours(1);
    listener_ =
        std::make_unique<link::ResumableListener>(options, [life, random = std::mt19937(breaks.seed)](int) mutable {
          return std::pair(link::Faults{life(random)}, link::Faults{life(random)});
        });
    auto stream = link::OpenResumable(listener_->Dialer(), options);
    ASSERT_TRUE(stream.ok()) << stream.status();
    server_ = std::make_unique<LoopbackServer>(std::make_unique<link::SharedStream>(listener_->Accept()),
                                               std::make_unique<FakeDevice>(Kernels()));
    ClientSessionOptions session;
    session.mode = GetParam().first;
    session.compression = GetParam().second;
    session.timeout = std::chrono::minutes(2);
    session.on_lost = [](std::string_view why) { ADD_FAILURE() << "lost: " << why; };
    auto opened = ClientSession::Open(*std::move(stream), session);
    ASSERT_TRUE(opened.ok()) << opened.status();
    session_ = *std::move(opened);
    ASSERT_EQ(session_->Post(MapMemory{kBase, 1 << 19}), kOk);
    ASSERT_EQ(session_->Post(LoadModule{1, true}, link::AsBytes("image")), kOk);
    ASSERT_EQ(session_->Post(DefineFunction{kFunction, 1, "step"}), kOk);
  }
  void TearDown() override {
    if (session_ != nullptr) session_->Close(std::chrono::seconds(10));
    session_.reset();
    server_.reset();
    listener_.reset();
  }
  void Launch(uint64_t address, uint64_t number) {
    offload::Launch launch;
    launch.function = kFunction;
    launch.parameters.resize(16);
    std::memcpy(launch.parameters.data(), &address, 8);
    std::memcpy(launch.parameters.data() + 8, &number, 8);
    ASSERT_EQ(session_->Post(launch), kOk);
  }
  void Upload(uint64_t address, std::span<const std::byte> bytes) {
    CopyToDevice copy;
    copy.to.address = address;
    copy.extent.width = bytes.size();
    ASSERT_EQ(session_->Post(copy, bytes), kOk);
  }
  void Download(uint64_t address, std::span<std::byte> into) {
    CopyToHost copy;
    copy.from.address = address;
    copy.extent.width = into.size();
    ASSERT_EQ(session_->Ask(copy, nullptr, into), kOk);
  }

  std::mt19937 random_;
  std::unique_ptr<link::ResumableListener> listener_;
  std::unique_ptr<LoopbackServer> server_;
  std::unique_ptr<ClientSession> session_;
};

TEST_P(ResumeTest, EveryLaunchHappensOnceAndInOrder) {
  Open({.seed = 5, .mean_life = 1500});
  uint64_t expected = 0, number = 0;
  while (listener_->connections() < 1000 && !HasFailure()) {
    const int launches = static_cast<int>(random_() % 20);
    for (int i = 0; i < launches; ++i) {
      Launch(kBase, ++number);
      expected = Step(expected, number);
    }
    uint64_t value = 0;
    Download(kBase, std::as_writable_bytes(std::span(&value, 1)));
    ASSERT_EQ(value, expected) << "after " << number << " launches and " << listener_->connections() << " connections";
  }
}

TEST_P(ResumeTest, UploadsAndDownloadsArriveWhole) {
  Open({.seed = 6, .mean_life = 60'000});
  std::vector<std::byte> back;
  for (uint32_t round = 0; listener_->connections() < 300 && !HasFailure(); ++round) {
    const auto data = link::Pattern(random_() % 200'000 + 1, round);
    Upload(kBase + 4096, data);
    Launch(kBase, round);
    back.assign(data.size(), std::byte{0});
    Download(kBase + 4096, back);
    ASSERT_EQ(back, data) << "round " << round;
  }
}

// What is coded must be the same at both ends, also when parts of it were sent twice.
class CompressedResumeTest : public ResumeTest {};

TEST_P(CompressedResumeTest, UploadsThatDifferLittleArriveWhole) {
  Open({.seed = 7, .mean_life = 20'000});
  std::vector<std::vector<std::byte>> data, back;
  for (uint32_t i = 0; i < 3; ++i) data.push_back(link::Pattern(5000 + 20'000 * i, i));
  for (uint32_t round = 0; listener_->connections() < 200 && !HasFailure(); ++round) {
    std::vector<std::byte>& one = data[random_() % data.size()];
    one[random_() % one.size()] ^= std::byte{0x20};
    const uint64_t address = kBase + 4096 + 100'000 * (random_() % 2);
    Upload(address, one);
    Launch(kBase, round);
    std::vector<std::byte> got(one.size());
    Download(address, got);
    ASSERT_EQ(got, one) << "round " << round;
  }
  EXPECT_GT(session_->Counters().bulk_up.differences, 10u);
}

std::string NameOfMode(const testing::TestParamInfo<std::pair<Mode, Compression>>& info) {
  const Mode mode = info.param.first;
  return mode == Mode::kPerCall ? "PerCall" : mode == Mode::kPosted ? "Posted" : "Replay";
}

INSTANTIATE_TEST_SUITE_P(Modes, ResumeTest,
                         testing::Values(std::pair(Mode::kPerCall, Compression::kOff),
                                         std::pair(Mode::kPosted, Compression::kOff),
                                         std::pair(Mode::kReplay, Compression::kOff)),
                         NameOfMode);
INSTANTIATE_TEST_SUITE_P(Modes, CompressedResumeTest,
                         testing::Values(std::pair(Mode::kPosted, Compression::kAlways),
                                         std::pair(Mode::kReplay, Compression::kAlways)),
                         NameOfMode);

}  // namespace
}  // namespace wharf::offload
