// Frames that are read by whoever waits for them.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

constexpr Nanoseconds kForever = std::chrono::hours(1), kShort = std::chrono::milliseconds(1);

// A channel to which a peer pushes frames, numbered from 1.
class ReadHereTest : public testing::Test {
 protected:
  ReadHereTest() {
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
    channel_ = Channel::Create(FromSocket(fds[0]));
    peer_ = Channel::Create(FromSocket(fds[1]));
    recorder_.on_frame = [this](const FrameHeader& header, std::span<const std::byte>) {
      EXPECT_EQ(header.tag, last_ + 1) << "one after the other, in their order";
      reader_ = std::this_thread::get_id();
      last_ = header.tag;
      return absl::OkStatus();
    };
    channel_->Start(&recorder_);
    peer_->Start(&at_peer_);
    // A reader thread that is reading already learns with the next frame that others want to read, too.
    channel_->ReadHere([] { return true; }, kForever);
    Push();
    AwaitLast();
  }
  ~ReadHereTest() override {
    channel_->Stop();
    peer_->Stop();
  }

  void Push() { EXPECT_TRUE(peer_->Send(1, ++pushed_, {}).ok()); }
  void AwaitLast() {
    while (last_ < pushed_) std::this_thread::yield();
  }
  // Does something when this thread has the right to read; reads until `done`.
  template <typename Act, typename Done>
  void ActAndRead(const Act& act, const Done& done, Nanoseconds limit = kForever) {
    bool acted = false;
    const auto act_first = [&] {
      if (!std::exchange(acted, true)) act();
      return done();
    };
    while (!channel_->ReadHere(act_first, limit)) std::this_thread::yield();
  }
  void PushAndRead() {
    ActAndRead([this] { Push(); }, [this] { return last_ >= pushed_; });
  }

  std::atomic<uint64_t> last_{0};        // tag of the last frame that was handled
  std::atomic<std::thread::id> reader_;  // who handled it
  std::atomic<uint64_t> pushed_{0};
  Recorder recorder_, at_peer_;
  std::unique_ptr<Channel> channel_, peer_;
};

TEST_F(ReadHereTest, FramesAreHandledOnTheThreadThatWaits) {
  for (int i = 0; i < 100; ++i) {
    PushAndRead();
    EXPECT_EQ(last_, pushed_);
    EXPECT_EQ(reader_, std::this_thread::get_id());
  }
}

TEST_F(ReadHereTest, TheReaderThreadTakesOver) {
  PushAndRead();
  Push();
  AwaitLast();
  EXPECT_NE(reader_, std::this_thread::get_id());
}

TEST_F(ReadHereTest, WhatCameAlongIsReadToo) {
  const auto push_three = [this] {
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(peer_->Send(1, ++pushed_, {}, {}, BulkOwnership::kCopy, Urgency::kSoon).ok());
    EXPECT_TRUE(peer_->Flush().ok());
  };
  ActAndRead(push_three, [this] { return last_ >= 2u; });
  AwaitLast();
}

TEST_F(ReadHereTest, GivesUpWhenNothingComes) {
  ActAndRead([] {}, [] { return false; }, kShort);
  PushAndRead();
}

TEST_F(ReadHereTest, TheEndIsReportedOnce) {
  ActAndRead([this] { peer_->Close(); }, [] { return false; });
  EXPECT_EQ(recorder_.WaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(channel_->ReadHere([] { return false; }, kForever));
  channel_->Stop();
  EXPECT_EQ(recorder_.times_closed(), 1u);
}

TEST_F(ReadHereTest, AnErrorOfTheHandlerCloses) {
  recorder_.on_frame = [](const FrameHeader&, std::span<const std::byte>) { return PermissionDenied("not this one"); };
  ActAndRead([this] { Push(); }, [] { return false; });
  EXPECT_EQ(recorder_.WaitClosed(), absl::PermissionDeniedError("not this one"));
}

TEST_F(ReadHereTest, StopEndsReading) {
  std::atomic<bool> reading{false};
  std::thread reader([&] { ActAndRead([&] { reading = true; }, [] { return false; }); });
  while (!reading) std::this_thread::yield();
  EXPECT_FALSE(channel_->ReadHere([] { return false; }, kForever)) << "one at a time";
  channel_->Stop();
  reader.join();
  EXPECT_EQ(recorder_.times_closed(), 1u);
}

TEST_F(ReadHereTest, HandlersDoNotRead) {
  std::atomic<bool> asked{false};
  recorder_.on_frame = [&](const FrameHeader& header, std::span<const std::byte>) {
    EXPECT_FALSE(channel_->ReadHere([] { return false; }, kForever));
    asked = true;
    last_ = header.tag;
    return absl::OkStatus();
  };
  PushAndRead();
  EXPECT_TRUE(asked);
}

TEST_F(ReadHereTest, NoFrameIsLostAmongMany) {
  constexpr uint64_t kFrames = 20'000;
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (uint64_t mark = last_; !stop; mark = last_) {
        if (!channel_->ReadHere([&] { return last_ > mark || stop; }, kShort)) std::this_thread::yield();
      }
    });
  }
  while (pushed_ < kFrames) {
    Push();
    if (pushed_ % 64 == 0) AwaitLast();
  }
  AwaitLast();
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(last_, kFrames);
}

TEST(ReadHereInMemoryTest, AStreamThatCannotTellIsReadByTheReaderThread) {
  auto [first, second] = MemoryPair();
  Recorder recorder, at_peer;
  const auto channel = Channel::Create(std::move(first)), peer = Channel::Create(std::move(second));
  channel->Start(&recorder);
  peer->Start(&at_peer);
  for (uint64_t tag = 1; tag <= 3; ++tag) {
    EXPECT_FALSE(channel->ReadHere([] { return false; }, kForever));
    ASSERT_TRUE(peer->Send(1, tag, {}).ok());
    EXPECT_EQ(recorder.Take(1).at(0).header.tag, tag);
  }
}

}  // namespace
}  // namespace wharf::link
