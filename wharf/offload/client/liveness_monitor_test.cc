#include "wharf/offload/client/liveness_monitor.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "wharf/offload/testing/scripted_server.h"

namespace wharf::offload {
namespace {

constexpr Nanoseconds kTimeout = std::chrono::seconds(10);

// A channel to a server that answers pings, unless it is silent. Nothing here depends on how long anything takes.
class LivenessMonitorTest : public testing::Test, private link::FrameHandler {
 protected:
  LivenessMonitorTest() {
    auto [client, server] = link::MemoryPair();
    server_ = std::make_unique<ScriptedServer>(std::move(server));
    server_->Start();
    channel_ = link::Channel::Create(std::move(client));
    monitor_.emplace(channel_.get(), &clock_, kTimeout);
    channel_->Start(this);
  }
  ~LivenessMonitorTest() override {
    monitor_.reset();
    channel_->Stop();
  }

  void WaitForPongs(int count) {
    absl::MutexLock lock(&mutex_);
    const auto reached = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return pongs_ >= count; };
    mutex_.Await(absl::Condition(&reached));
  }

  VirtualClock clock_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<link::Channel> channel_;
  std::optional<LivenessMonitor> monitor_;

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader&, std::span<const std::byte>, std::vector<std::byte>) override {
    monitor_->NoteFrame();
    absl::MutexLock lock(&mutex_);
    ++pongs_;
    return absl::OkStatus();
  }
  void OnClosed(const absl::Status&) override {}

  absl::Mutex mutex_;
  int pongs_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(LivenessMonitorTest, NobodyMindsSilenceWhileNobodyIsBusy) {
  clock_.Advance(10 * kTimeout);
  EXPECT_FALSE(monitor_->IsSilent());
}

TEST_F(LivenessMonitorTest, ADeadServerIsSilentAfterTheTimeout) {
  const LivenessMonitor::Busy busy(*monitor_);
  EXPECT_FALSE(monitor_->IsSilent());
  clock_.Advance(kTimeout - Nanoseconds(1));
  EXPECT_FALSE(monitor_->IsSilent());
  clock_.Advance(Nanoseconds(1));
  EXPECT_TRUE(monitor_->IsSilent());
}

TEST_F(LivenessMonitorTest, OurOwnPingsAreNoSignOfLife) {
  server_->Silence(/*dead=*/true);
  const LivenessMonitor::Busy busy(*monitor_);
  for (int i = 1; i <= 4; ++i) {
    EXPECT_FALSE(monitor_->IsSilent());
    clock_.Advance(monitor_->PingInterval());
    monitor_->Ping();
    server_->WaitForPings(i);
  }
  EXPECT_TRUE(monitor_->IsSilent());
}

TEST_F(LivenessMonitorTest, ABusyServerThatAnswersPingsIsNotSilent) {
  const LivenessMonitor::Busy busy(*monitor_);
  for (int i = 1; i <= 20; ++i) {
    clock_.Advance(monitor_->PingInterval());
    monitor_->Ping();
    WaitForPongs(i);
    EXPECT_FALSE(monitor_->IsSilent()) << i;
  }
  clock_.Advance(kTimeout);
  EXPECT_TRUE(monitor_->IsSilent());
}

TEST_F(LivenessMonitorTest, WhatIsSentIsASignOfLife) {
  const LivenessMonitor::Busy busy(*monitor_);
  clock_.Advance(kTimeout);
  ASSERT_TRUE(channel_->Send(static_cast<uint16_t>(FrameKind::kPong), 0, {}).ok());
  ASSERT_TRUE(channel_->Flush().ok());
  EXPECT_FALSE(monitor_->IsSilent());
}

TEST_F(LivenessMonitorTest, TheTimeBeginsWhenSomebodyIsBusy) {
  { const LivenessMonitor::Busy busy(*monitor_); }
  clock_.Advance(kTimeout);
  const LivenessMonitor::Busy busy(*monitor_);
  EXPECT_FALSE(monitor_->IsSilent());
  clock_.Advance(kTimeout / 2);
  { const LivenessMonitor::Busy another(*monitor_); }
  clock_.Advance(kTimeout / 2);
  EXPECT_TRUE(monitor_->IsSilent());
}

TEST_F(LivenessMonitorTest, ItsThreadTellsOnce) {
  absl::Notification silent;
  monitor_->Start([&silent] { silent.Notify(); });
  const LivenessMonitor::Busy busy(*monitor_);
  while (!silent.HasBeenNotified()) {
    clock_.Advance(kTimeout);
    std::this_thread::yield();
  }
  monitor_->Stop();
  monitor_->Join();
}

TEST_F(LivenessMonitorTest, AStoppedOneTellsNothing) {
  monitor_->Stop();
  monitor_->Start([] { ADD_FAILURE() << "after Stop"; });
  const LivenessMonitor::Busy busy(*monitor_);
  clock_.Advance(2 * kTimeout);
  monitor_->Join();
}

}  // namespace
}  // namespace wharf::offload
