// Replay of a small program, client and server together: what it costs, and that it takes back what did not happen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "absl/time/clock.h"
#include "wharf/device/fake_device.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/client/client_session.h"
#include "wharf/offload/testing/loopback_server.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::FakeDevice;

constexpr CudaError kOk = CudaError::kSuccess;
constexpr uint64_t kInput = FakeDevice::kBase, kSum = kInput + 65536, kResult = kSum + 65536;
constexpr uint64_t kAdd = 7, kWrite = 8, kScatter = 9;
constexpr size_t kBytes = 64;

uint64_t Argument(const std::vector<std::byte>& parameters, size_t index) {
  uint64_t value = 0;
  std::memcpy(&value, parameters.data() + 8 * index, sizeof(value));
  return value;
}

// add(to, from): *to += *from. write(to, value): *to = value. scatter(to, at): to[*at] = 1, a fault from 16 on.
std::map<std::string, FakeDevice::Kernel> Kernels() {
  return {{"add",
           [](FakeDevice& device, const device::LaunchConfig&, const std::vector<std::byte>& parameters) {
             std::byte& to = *device.At(Argument(parameters, 0));
             to = static_cast<std::byte>(static_cast<int>(to) + static_cast<int>(*device.At(Argument(parameters, 1))));
             return absl::OkStatus();
           }},
          {"scatter",
           [](FakeDevice& device, const device::LaunchConfig&, const std::vector<std::byte>& parameters) {
             const int at = static_cast<int>(*device.At(Argument(parameters, 1)));
             if (at >= 16) return device::CudaStatus(CudaError::kIllegalAddress, "beyond the end");
             device.At(Argument(parameters, 0))[at] = std::byte{1};
             return absl::OkStatus();
           }},
          {"write", [](FakeDevice& device, const device::LaunchConfig&, const std::vector<std::byte>& parameters) {
             *device.At(Argument(parameters, 0)) = static_cast<std::byte>(Argument(parameters, 1));
             return absl::OkStatus();
           }}};
}

device::Footprint WritesFirst() {
  device::Footprint footprint;
  footprint.oblivious = true;
  footprint.written_parameters = {0};
  return footprint;
}

device::Footprint WritesFirstIfGuarded() {
  device::Footprint footprint = WritesFirst();
  footprint.oblivious = false;
  footprint.guardable = true;
  footprint.read_parameters = {8};
  return footprint;
}

class ReplayTest : public testing::Test {
 protected:
  void Open(Mode mode = Mode::kReplay, bool oblivious = true, bool unsafe = false) {
    auto [ours, theirs] = link::MemoryPair();
    auto device = std::make_unique<FakeDevice>(Kernels());
    if (oblivious) {
      device->SetFootprint("add", WritesFirst());
      device->SetFootprint("write", WritesFirst());
      device->SetFootprint("scatter", WritesFirstIfGuarded());
    }
    device_ = device.get();
    server_ = std::make_unique<LoopbackServer>(std::move(theirs), std::move(device));
    ClientSessionOptions options;
    options.mode = mode;
    options.unsafe_replay = unsafe;
    options.timeout = std::chrono::minutes(2);
    auto session = ClientSession::Open(std::move(ours), options);
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
    for (const uint64_t address : {kInput, kSum, kResult}) ASSERT_EQ(session_->Post(MapMemory{address, 4096}), kOk);
    const std::vector<std::byte> image(16);
    ASSERT_EQ(session_->Post(LoadModule{1, true}, image), kOk);
    ASSERT_EQ(session_->Post(DefineFunction{kAdd, 1, "add"}), kOk);
    ASSERT_EQ(session_->Post(DefineFunction{kWrite, 1, "write"}), kOk);
    ASSERT_EQ(session_->Post(DefineFunction{kScatter, 1, "scatter"}), kOk);
  }

  void Run(uint64_t function, uint64_t first, uint64_t second) {
    Launch op;
    op.function = function;
    op.parameters.resize(16);
    std::memcpy(op.parameters.data(), &first, 8);
    std::memcpy(op.parameters.data() + 8, &second, 8);
    ASSERT_EQ(session_->Post(op), kOk);
  }
  void Upload(uint64_t to, uint8_t value) {
    const std::vector<std::byte> data(kBytes, static_cast<std::byte>(value));
    ASSERT_EQ(session_->Post(CopyToDevice{0, {to, kBytes, kBytes}, {kBytes, 1, 1}}, data), kOk);
  }
  int Download(uint64_t from) {
    std::byte value{};
    EXPECT_EQ(session_->Ask(CopyToHost{0, {from, 1, 1}, {1, 1, 1}}, nullptr, {&value, 1}), kOk);
    return static_cast<int>(value);
  }
  void Synchronize() { ASSERT_EQ(session_->Ask(SynchronizeStream{0}), kOk); }

  // input -> sum += input -> result = sum, with three looks at the results on the way.
  void Infer(uint8_t input) {
    Upload(kInput, input);
    Synchronize();
    Run(kAdd, kSum, kInput);
    sums_.push_back(Download(kSum));
    Run(kWrite, kResult, 0);
    Run(kAdd, kResult, kSum);
    sums_.push_back(Download(kResult));
    Run(kAdd, kResult, kInput);
    sums_.push_back(Download(kResult));
  }
  ReplayCounters Replayed() const { return server_->executor().Counters().replay; }

  ClientSessionCounters Since(const ClientSessionCounters& before) const {
    ClientSessionCounters now = session_->Counters();
    now.blocking_round_trips -= before.blocking_round_trips;
    now.bytes_up -= before.bytes_up;
    now.prediction.unknown -= before.prediction.unknown;
    now.prediction.hits -= before.prediction.hits;
    now.elided -= before.elided;
    return now;
  }

  FakeDevice* device_ = nullptr;
  std::unique_ptr<LoopbackServer> server_;
  std::unique_ptr<ClientSession> session_;
  std::vector<int> sums_;
};

TEST_F(ReplayTest, AnInferenceWithoutTrueDependencyCostsOneRoundTrip) {
  Open();
  for (uint8_t i = 1; i <= 3; ++i) Infer(i);
  const ClientSessionCounters before = session_->Counters();
  Infer(4);
  const ClientSessionCounters cost = Since(before);
  EXPECT_EQ(cost.blocking_round_trips, 1u);
  EXPECT_EQ(cost.elided, 1u);
  EXPECT_EQ(cost.prediction.unknown, 0u);
  EXPECT_THAT(sums_, testing::ElementsAre(1, 1, 2, 3, 3, 5, 6, 6, 9, 10, 10, 14));
}

TEST_F(ReplayTest, FewDataThatStayTheSameCostNoRoundTrip) {
  Open();
  const auto infer = [&](uint8_t input, uint8_t parameter) {
    Upload(kInput, input);
    Run(kAdd, kSum, kInput);
    sums_.push_back(Download(kSum));
    Upload(kResult, parameter);
    Run(kAdd, kResult, kSum);
    sums_.push_back(Download(kResult));
  };
  for (uint8_t i = 1; i <= 3; ++i) infer(i, 100);
  ClientSessionCounters before = session_->Counters();
  infer(4, 100);
  EXPECT_EQ(Since(before).blocking_round_trips, 1u);
  const uint64_t undone = server_->executor().Counters().replay.undone;
  before = session_->Counters();
  infer(5, 50);
  EXPECT_EQ(Since(before).blocking_round_trips, 2u);
  EXPECT_GT(server_->executor().Counters().replay.undone, undone);
  EXPECT_THAT(sums_, testing::ElementsAre(1, 101, 3, 103, 6, 106, 10, 110, 15, 65));
}

TEST_F(ReplayTest, EveryWaitIsARoundTripInPostedMode) {
  Open(Mode::kPosted);
  for (uint8_t i = 1; i <= 3; ++i) Infer(i);
  const ClientSessionCounters before = session_->Counters();
  Infer(4);
  EXPECT_EQ(Since(before).blocking_round_trips, 4u);
}

// There is no moment of switching: from the first inference to a deviating one none costs more round trips than in
// posted mode.
TEST_F(ReplayTest, NoInferenceCostsMoreThanInPostedMode) {
  const auto costs = [&](Mode mode) {
    Open(mode);
    std::vector<uint64_t> round_trips;
    for (uint8_t i = 1; i <= 8; ++i) {
      const ClientSessionCounters before = session_->Counters();
      Infer(i);
      if (i == 6) Run(kAdd, kSum, kInput);
      round_trips.push_back(Since(before).blocking_round_trips);
    }
    return round_trips;
  };
  const std::vector<uint64_t> posted = costs(Mode::kPosted), replay = costs(Mode::kReplay);
  for (size_t i = 0; i < posted.size(); ++i) EXPECT_LE(replay[i], posted[i]) << i;
}

TEST_F(ReplayTest, KernelsThatDependOnDataWaitForTheProgram) {
  Open(Mode::kReplay, /*oblivious=*/false);
  for (uint8_t i = 1; i <= 3; ++i) Infer(i);
  const ClientSessionCounters before = session_->Counters();
  Infer(4);
  const ClientSessionCounters cost = Since(before);
  EXPECT_EQ(cost.blocking_round_trips, 4u - cost.elided);
  EXPECT_EQ(cost.prediction.unknown, 0u);
  EXPECT_EQ(server_->executor().Counters().replay.undone, 0u);
  EXPECT_EQ(sums_.back(), 14);
}

TEST_F(ReplayTest, KernelsThatDependOnDataRunAheadUnderAGuard) {
  Open();
  const auto infer = [&](uint8_t input) {
    Upload(kInput, input);
    Run(kAdd, kSum, kInput);
    sums_.push_back(Download(kSum));
    Run(kScatter, kResult, kSum);
    sums_.push_back(Download(kResult + 6));
  };
  for (uint8_t i = 1; i <= 3; ++i) infer(i);
  const ClientSessionCounters before = session_->Counters();
  infer(0);
  EXPECT_EQ(Since(before).blocking_round_trips, 1u);
  EXPECT_GT(Replayed().guarded, 0u);
  EXPECT_EQ(Replayed().violations, 0u);
  EXPECT_THAT(sums_, testing::ElementsAre(1, 0, 3, 0, 6, 1, 6, 1));
}

TEST_F(ReplayTest, AViolatedGuardIsTakenBackAndTheProgramSeesItsOwnFault) {
  Open();
  for (int i = 0; i < 4; ++i) {
    Upload(kInput, 4);
    Run(kAdd, kSum, kInput);
    EXPECT_EQ(Download(kSum), 4 * i + 4);
    Run(kScatter, kResult, kSum);
    std::byte mark{};
    EXPECT_EQ(session_->Ask(CopyToHost{0, {kResult, 1, 1}, {1, 1, 1}}, nullptr, {&mark, 1}),
              i < 3 ? kOk : CudaError::kIllegalAddress);
  }
  // The answer may be here before the frame that brought it about is counted.
  for (int i = 0; i < 10000 && Replayed().violations == 0; ++i) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(Replayed().violations, 1u);
}

TEST_F(ReplayTest, AViolatedGuardThatTheProgramDoesNotReachIsNoFault) {
  Open();
  for (int i = 0; i < 3; ++i) {
    Upload(kInput, 4);
    Run(kAdd, kSum, kInput);
    EXPECT_EQ(Download(kSum), 4 * i + 4);
    Run(kScatter, kResult, kSum);
    EXPECT_EQ(Download(kResult), 0);
  }
  Upload(kInput, 4);
  Run(kAdd, kSum, kInput);
  EXPECT_EQ(Download(kSum), 16);  // and the server scatters to place 16
  Run(kWrite, kSum, 1);
  EXPECT_EQ(Download(kSum), 1);
  Run(kScatter, kResult, kSum);
  EXPECT_EQ(Download(kResult + 1), 1);
  EXPECT_GT(Replayed().undone, 0u);
  EXPECT_EQ(Replayed().violations, 0u);
}

TEST_F(ReplayTest, WhatDidNotHappenIsTakenBack) {
  Open();
  for (uint8_t i = 1; i <= 4; ++i) Infer(i);
  const uint64_t undone = server_->executor().Counters().replay.undone;
  Upload(kInput, 5);
  Synchronize();
  Run(kAdd, kSum, kInput);
  EXPECT_EQ(Download(kSum), 15);  // the server goes on and overwrites the result meanwhile
  EXPECT_EQ(Download(kResult), 14);
  EXPECT_EQ(Download(kSum), 15);
  EXPECT_GT(server_->executor().Counters().replay.undone, undone);
}

TEST_F(ReplayTest, ThePublishedSchemeCannotTakeBack) {
  Open(Mode::kReplay, /*oblivious=*/true, /*unsafe=*/true);
  for (uint8_t i = 1; i <= 4; ++i) Infer(i);
  Upload(kInput, 5);
  Synchronize();
  EXPECT_NE(Download(kSum), 10);  // the program has not added anything yet
}

// A wait is answered by the client only if nothing before it could have failed.
TEST_F(ReplayTest, AWaitReturnsTheErrorOfWhatCameBefore) {
  Open();
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(session_->Post(RecordEvent{99, 0}), kOk);  // no such event
    EXPECT_EQ(session_->Ask(SynchronizeStream{0}), CudaError::kInvalidHandle) << i;
    EXPECT_EQ(session_->Ask(SynchronizeStream{0}), kOk) << i;
  }
}

// The same wait, once the server was sure of it, behind something that fails.
TEST_F(ReplayTest, WhatWasSureOnOneWayIsNotOnAnother) {
  Open();
  for (int i = 0; i < 5; ++i) {
    Run(kAdd, kSum, kInput);
    Synchronize();
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(session_->Post(RecordEvent{99, 0}), kOk);  // no such event
    Run(kAdd, kSum, kInput);
    EXPECT_EQ(session_->Ask(SynchronizeStream{0}), CudaError::kInvalidHandle) << i;
  }
}

// What is refused every time is no better known for it: neither the copy, whose error the next call that waits returns,
TEST_F(ReplayTest, ARefusedCopyThatNobodyWaitsForIsToldEveryTime) {
  Open();
  const CopyToHost too_large{0, {kInput, 0, 0}, {uint64_t{1} << 40, 1, 1}};
  std::byte nothing{};
  for (int i = 0; i < 50; ++i) {
    session_->Start(too_large, {&nothing, 1}, /*detached=*/true);
    EXPECT_EQ(session_->Ask(SynchronizeDevice{}), CudaError::kInvalidValue) << i;
    EXPECT_EQ(session_->Ask(SynchronizeDevice{}), kOk) << i;
  }
}
// nor the wait itself.
TEST_F(ReplayTest, ARefusedWaitIsNeverAnsweredHere) {
  Open();
  for (int i = 0; i < 20; ++i) {
    Run(kAdd, kSum, kInput);
    Synchronize();
    EXPECT_EQ(session_->Ask(SynchronizeStream{99}), CudaError::kInvalidHandle) << i;  // no such stream
  }
}

// An operation that only the server predicted is no error of the program's, even if it cannot be queued.
TEST_F(ReplayTest, WhatCannotRunAheadIsNoErrorOfTheProgram) {
  Open();
  for (int i = 0; i < 4; ++i) {
    Synchronize();
    Run(kAdd, kSum, kInput);
    Download(kSum);
  }
  for (int i = 0; i < 4; ++i) {
    Upload(kInput, 1);
    device_->RefuseLaunches(true);
    Download(kSum);  // and what followed it is tried
    EXPECT_EQ(session_->Ask(QueryEvent{99}), CudaError::kInvalidHandle) << i;
    device_->RefuseLaunches(false);
    Synchronize();
    Run(kAdd, kSum, kInput);
    EXPECT_EQ(Download(kSum), i + 1) << i;
  }
}

TEST_F(ReplayTest, MemoryLentToTheUndoLogIsGivenBack) {
  Open();
  for (uint8_t i = 1; i <= 4; ++i) Infer(i);
  ASSERT_GT(server_->executor().Counters().replay.run_ahead, 0u);
  const uint64_t quota = session_->welcome().memory_quota;
  ASSERT_EQ(session_->Post(MapMemory{kResult + 65536, quota - 3 * 4096}), kOk);
  Synchronize();
  Infer(5);
  EXPECT_EQ(sums_.back(), 20);
}

// The program writes what it has read, and now and then, when the server is sure of that, something else.
TEST_F(ReplayTest, WhatFollowsFromAnAnswerMayBeSomethingElseAfterAll) {
  Open();
  for (uint32_t i = 0; i < 400; ++i) {
    Upload(kInput, static_cast<uint8_t>(1 + i * i % 11));
    uint32_t seen = 0;
    ASSERT_EQ(
        session_->Ask(CopyToHost{0, {kInput, 4, 4}, {4, 1, 1}}, nullptr, std::as_writable_bytes(std::span(&seen, 1))),
        kOk);
    const uint32_t written = i % 29 == 28 ? seen ^ 1 : seen;
    Run(kWrite, kResult, written);
    ASSERT_EQ(Download(kResult), static_cast<int>(written & 0xff)) << i;
    Run(kAdd, kResult, kInput);
    ASSERT_EQ(Download(kResult), static_cast<int>((written + seen) & 0xff)) << i;
  }
  EXPECT_GT(Replayed().run_ahead, 400u);
}

}  // namespace
}  // namespace wharf::offload
