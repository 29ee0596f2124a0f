#include "wharf/link/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "absl/synchronization/notification.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

using StreamPair = std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>>;

StreamPair SocketPair(const std::string& address) {
  auto listener = Listener::Create(address).value();
  auto accepted = std::async(std::launch::async, [&] { return listener->Accept().value(); });
  auto client = Connect(listener->Address()).value();
  return {std::move(client), FromSocket(accepted.get())};
}

StreamPair Make(const std::string& transport) {
  if (transport == "tcp") return SocketPair("127.0.0.1:0");
  if (transport == "unix") return SocketPair(fmt::format("unix:{}wharf_link_{}", testing::TempDir(), getpid()));
  return MemoryPair();
}

// Two channels over one transport.
class ChannelTest : public testing::TestWithParam<std::string> {
 protected:
  void Open(ChannelOptions options = {}) {
    auto [first, second] = Make(GetParam());
    a_ = Channel::Create(std::move(first), options);
    b_ = Channel::Create(std::move(second), options);
  }
  void OpenAndStart(ChannelOptions options = {}) {
    Open(options);
    a_->Start(&at_a_);
    b_->Start(&at_b_);
  }
  Recorder at_a_, at_b_;
  std::unique_ptr<Channel> a_, b_;
};

INSTANTIATE_TEST_SUITE_P(Transports, ChannelTest, testing::Values("tcp", "unix", "memory"),
                         [](const auto& info) { return info.param; });

TEST_P(ChannelTest, CarriesKindTagHeadAndBulk) {
  OpenAndStart();
  const auto bulk = Pattern(3 << 20);
  ASSERT_TRUE(a_->Send(7, 0x1122334455667788, AsBytes("head"), bulk).ok());
  ASSERT_TRUE(a_->Send(8, 9, {}, {}, BulkOwnership::kCopy, Urgency::kNow, 0xbeef).ok());
  const auto frames = at_b_.Take(2);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].header.kind, 7);
  EXPECT_EQ(frames[0].header.tag, 0x1122334455667788u);
  EXPECT_EQ(frames[0].head, "head");
  EXPECT_EQ(frames[0].bulk, bulk);
  EXPECT_EQ(frames[0].header.flags, 0);
  EXPECT_EQ(frames[1].header.kind, 8);
  EXPECT_EQ(frames[1].header.flags, 0xbeef);
  EXPECT_EQ(frames[1].head, "");
  EXPECT_TRUE(frames[1].bulk.empty());
}

TEST_P(ChannelTest, KeepsTheOrderOfSmallLargeCopiedAndBorrowedFrames) {
  OpenAndStart();
  std::vector<std::vector<std::byte>> bulks;
  for (uint32_t i = 0; i < 200; ++i) {
    bulks.push_back(Pattern(i % 7 == 0 ? 300'000 + i : i, i));
    const auto ownership = i % 3 == 0 ? BulkOwnership::kBorrow : BulkOwnership::kCopy;
    const auto urgency = i % 5 == 0 ? Urgency::kNow : Urgency::kSoon;
    ASSERT_TRUE(a_->Send(1, i, AsBytes("h"), bulks[i], ownership, urgency).ok());
  }
  ASSERT_TRUE(a_->Flush().ok());
  std::vector<ReceivedFrame> frames;
  while (frames.size() < 200) {
    for (auto& frame : at_b_.Take(1)) frames.push_back(std::move(frame));
  }
  for (uint32_t i = 0; i < 200; ++i) {
    ASSERT_EQ(frames[i].header.tag, i);
    ASSERT_EQ(frames[i].bulk, bulks[i]);
  }
}

TEST_P(ChannelTest, NothingIsReadBeforeStart) {
  Open();
  b_->Start(&at_b_);
  ASSERT_TRUE(b_->Send(1, 1, AsBytes("early")).ok());
  ASSERT_TRUE(b_->Flush().ok());
  EXPECT_EQ(a_->Stats().frames_received, 0u);
  a_->Start(&at_a_);
  EXPECT_EQ(at_a_.Take(1).at(0).head, "early");
}

TEST_P(ChannelTest, BulkGoesStraightIntoTheHandlersMemory) {
  struct Placing : Recorder {
    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
    absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader& header,
                                                         std::span<const std::byte> head) override {
      EXPECT_EQ(AsText(head), "where");
      return std::span(memory).first(header.bulk_bytes);
    }
  } placing;
  Open();
  b_->Start(&placing);
  const auto bulk = Pattern(1 << 20);
  ASSERT_TRUE(a_->Send(1, 1, AsBytes("where"), bulk, BulkOwnership::kBorrow).ok());
  const auto frames = placing.Take(1);
  EXPECT_TRUE(frames.at(0).bulk.empty());
  EXPECT_EQ(placing.memory, bulk);
  b_.reset();
}

TEST_P(ChannelTest, BothSidesMaySendFromTheirHandlersHoweverMuch) {
  // Every frame is answered by the handler with a larger one, both ways at once, far beyond what sockets hold.
  ChannelOptions options;
  options.send_queue_bytes = 1 << 10;
  Open(options);
  const auto bulk = Pattern(200'000);
  for (auto [recorder, channel] : {std::pair(&at_a_, a_.get()), std::pair(&at_b_, b_.get())}) {
    recorder->on_frame = [&bulk, channel = channel](const FrameHeader& header, std::span<const std::byte>) {
      return header.kind == 1 ? channel->Send(2, header.tag, {}, bulk, BulkOwnership::kBorrow) : absl::OkStatus();
    };
  }
  a_->Start(&at_a_);
  b_->Start(&at_b_);
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(b_->Send(1, i, {}, bulk).ok());
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(a_->Send(1, i, {}, bulk).ok());
  other.join();
  size_t got = 0;
  while (got < 200) got += at_a_.Take(1).size();
  got = 0;
  while (got < 200) {
    const auto frames = at_b_.Take(1);
    got += frames.size();
    for (const auto& frame : frames) EXPECT_EQ(frame.bulk, bulk);
  }
}

TEST_P(ChannelTest, ManyThreadsSendWholeFrames) {
  OpenAndStart();
  constexpr int kThreads = 4, kEach = 300;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const auto bulk = Pattern(i * 37 % 5000, t * kEach + i);
        const auto ownership = i % 2 == 0 ? BulkOwnership::kBorrow : BulkOwnership::kCopy;
        EXPECT_TRUE(a_->Send(static_cast<uint16_t>(t), i, {}, bulk, ownership).ok());
      }
    });
  }
  std::vector<uint64_t> next(kThreads, 0);
  for (size_t got = 0; got < kThreads * kEach;) {
    for (const auto& frame : at_b_.Take(1)) {
      ++got;
      const uint32_t t = frame.header.kind;
      EXPECT_EQ(frame.header.tag, next[t]++);  // each thread's own order is kept
      EXPECT_EQ(frame.bulk, Pattern(frame.header.tag * 37 % 5000, t * kEach + frame.header.tag));
    }
  }
  for (auto& thread : threads) thread.join();
}

TEST_P(ChannelTest, FramesThatMayWaitLeaveByThemselves) {
  OpenAndStart();
  ASSERT_TRUE(a_->Send(1, 5, AsBytes("soon"), {}, BulkOwnership::kCopy, Urgency::kSoon).ok());
  EXPECT_EQ(at_b_.Take(1).at(0).head, "soon");
}

TEST_P(ChannelTest, AnUrgentFrameTakesWaitingOnesAlong) {
  ChannelOptions options;
  options.linger = seconds(3600);
  OpenAndStart(options);
  ASSERT_TRUE(a_->Send(1, 1, AsBytes("waits"), {}, BulkOwnership::kCopy, Urgency::kSoon).ok());
  ASSERT_TRUE(a_->Send(1, 2, AsBytes("goes")).ok());
  std::vector<ReceivedFrame> frames;
  while (frames.size() < 2) {
    for (auto& frame : at_b_.Take(1)) frames.push_back(std::move(frame));
  }
  EXPECT_EQ(frames[0].head, "waits");
  EXPECT_EQ(frames[1].head, "goes");
}

TEST_P(ChannelTest, AFullQueueDoesNotWaitForCompany) {
  ChannelOptions options;
  options.linger = seconds(3600);
  options.send_queue_bytes = 100;
  OpenAndStart(options);
  for (uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(a_->Send(1, i, AsBytes("soon"), {}, BulkOwnership::kCopy, Urgency::kSoon).ok());
  }
  ASSERT_TRUE(a_->Flush().ok());
  for (size_t got = 0; got < 50;) got += at_b_.Take(1).size();
}

TEST_P(ChannelTest, FlushAndCloseSendWhatWaits) {
  ChannelOptions options;
  options.linger = seconds(3600);
  OpenAndStart(options);
  ASSERT_TRUE(a_->Send(1, 1, AsBytes("flushed"), {}, BulkOwnership::kCopy, Urgency::kSoon).ok());
  ASSERT_TRUE(a_->Flush().ok());
  EXPECT_EQ(a_->Stats().frames_sent, 1u);
  EXPECT_EQ(at_b_.Take(1).at(0).head, "flushed");
  ASSERT_TRUE(a_->Send(1, 1, AsBytes("closed"), {}, BulkOwnership::kCopy, Urgency::kSoon).ok());
  a_->Close(seconds(30));
  EXPECT_EQ(at_b_.WaitClosed(), absl::UnavailableError("closed by peer"));
  EXPECT_EQ(at_b_.Take(1).at(0).head, "closed");
}

TEST_P(ChannelTest, CloseDrainsEvenWhenThePeerStillSends) {
  OpenAndStart();
  // What the closing side has not read must not cost the peer what was sent to it.
  std::atomic<bool> stop = false;
  std::thread noise([&] {
    while (!stop && b_->Send(1, 0, {}, Pattern(1000)).ok()) {
    }
  });
  at_a_.Take(1);
  const auto bulk = Pattern(2 << 20);
  ASSERT_TRUE(a_->Send(9, 9, AsBytes("last words"), bulk).ok());
  a_->Close(seconds(30));
  EXPECT_EQ(at_b_.WaitClosed().code(), absl::StatusCode::kUnavailable);
  stop = true;
  noise.join();
  const auto frames = at_b_.Take(1);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].head, "last words");
  EXPECT_EQ(frames[0].bulk, bulk);
  EXPECT_EQ(at_a_.WaitClosed(), absl::AbortedError("closed"));
}

TEST_P(ChannelTest, AHandlerMayRefuseAndClose) {
  Open();
  at_b_.on_frame = [this](const FrameHeader&, std::span<const std::byte>) {
    EXPECT_TRUE(b_->Send(3, 0, AsBytes("refused")).ok());
    b_->Close(seconds(30));
    return absl::OkStatus();
  };
  a_->Start(&at_a_);
  b_->Start(&at_b_);
  ASSERT_TRUE(a_->Send(1, 0, AsBytes("hello")).ok());
  EXPECT_EQ(at_a_.WaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(at_a_.Take(1).at(0).head, "refused");
  EXPECT_EQ(at_b_.WaitClosed(), absl::AbortedError("closed"));
}

TEST_P(ChannelTest, ARefusalReachesAPeerThatHasSentMuchMore) {
  for (int round = 0; round < 20; ++round) {
    Recorder at_a, at_b;
    Open();
    at_b.on_frame = [this](const FrameHeader&, std::span<const std::byte>) {
      EXPECT_TRUE(b_->Send(3, 0, AsBytes("refused")).ok());
      b_->Close(seconds(30));
      return FailedPrecondition("refused");
    };
    ASSERT_TRUE(a_->Send(1, 0, AsBytes("hello"), Pattern(1000)).ok());
    ASSERT_TRUE(a_->Send(1, 0, AsBytes("hello"), Pattern(100'000)).ok());
    a_->Start(&at_a);
    b_->Start(&at_b);
    EXPECT_EQ(at_a.WaitClosed().code(), absl::StatusCode::kUnavailable);
    const auto frames = at_a.Take(1);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].head, "refused");
    EXPECT_EQ(at_b.WaitClosed(), absl::AbortedError("closed"));
    a_.reset();
    b_.reset();
  }
}

TEST_P(ChannelTest, SendAfterCloseSaysWhy) {
  OpenAndStart();
  a_->Close();
  a_->Close(seconds(1));
  EXPECT_EQ(a_->Send(1, 1, {}), absl::AbortedError("closed"));
  EXPECT_EQ(at_b_.WaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(b_->Send(1, 1, {}).code(), absl::StatusCode::kUnavailable);
  a_.reset();
  b_.reset();
  EXPECT_EQ(at_a_.times_closed(), 1u);
  EXPECT_EQ(at_b_.times_closed(), 1u);
}

TEST_P(ChannelTest, StopWaitsForTheHandlerThatMayStillUseTheChannel) {
  Open();
  absl::Notification entered, leave;
  absl::Status in_handler;
  at_b_.on_frame = [&](const FrameHeader&, std::span<const std::byte>) {
    entered.Notify();
    leave.WaitForNotification();
    in_handler = b_->Send(1, 1, {});
    return absl::OkStatus();
  };
  a_->Start(&at_a_);
  b_->Start(&at_b_);
  ASSERT_TRUE(a_->Send(1, 1, {}).ok());
  entered.WaitForNotification();
  b_->Close();
  leave.Notify();
  b_->Stop();
  b_->Stop();
  EXPECT_EQ(in_handler, absl::AbortedError("closed"));
  EXPECT_EQ(at_b_.times_closed(), 1u);
  EXPECT_EQ(b_->Send(1, 1, {}), absl::AbortedError("closed"));
}

TEST_P(ChannelTest, AnErrorOfTheHandlerCloses) {
  OpenAndStart();
  at_b_.on_frame = [](const FrameHeader&, std::span<const std::byte>) { return PermissionDenied("not this one"); };
  ASSERT_TRUE(a_->Send(1, 1, {}).ok());
  EXPECT_EQ(at_b_.WaitClosed(), absl::PermissionDeniedError("not this one"));
  EXPECT_EQ(at_a_.WaitClosed().code(), absl::StatusCode::kUnavailable);
}

TEST_P(ChannelTest, AnErrorOfBulkDestinationCloses) {
  struct Refusing : Recorder {
    absl::StatusOr<std::span<std::byte>> BulkDestination(const FrameHeader&, std::span<const std::byte>) override {
      return NotFound("no such buffer");
    }
  } refusing;
  Open();
  b_->Start(&refusing);
  a_->Start(&at_a_);
  ASSERT_TRUE(a_->Send(1, 1, {}, Pattern(10)).ok());
  EXPECT_EQ(refusing.WaitClosed(), absl::NotFoundError("no such buffer"));
  b_.reset();
}

TEST_P(ChannelTest, SendersWaitWhileThePeerDoesNotRead) {
  ChannelOptions options;
  options.send_queue_bytes = 64 << 10;
  Open(options);
  a_->Start(&at_a_);
  std::atomic<int> sent = 0;
  std::thread sender([&] {
    const auto bulk = Pattern(32 << 10);
    while (sent < 4000 && a_->Send(1, sent, {}, bulk).ok()) ++sent;
  });
  // 125 MiB do not fit into the queue and the sockets; without flow control the sender would come to its end.
  a_->Close(std::chrono::milliseconds(1));
  sender.join();
  EXPECT_LT(sent, 4000);
}

TEST_P(ChannelTest, FlowControlLosesNothing) {
  ChannelOptions options;
  options.send_queue_bytes = 4 << 10;
  Open(options);
  std::promise<void> go;
  auto gate = go.get_future().share();
  at_b_.on_frame = [gate](const FrameHeader&, std::span<const std::byte>) {
    gate.wait();
    return absl::OkStatus();
  };
  b_->Start(&at_b_);
  std::thread sender([&] {
    for (uint32_t i = 0; i < 500; ++i) EXPECT_TRUE(a_->Send(1, i, {}, Pattern(10'000, i)).ok());
  });
  go.set_value();
  for (uint32_t got = 0; got < 500;) {
    for (const auto& frame : at_b_.Take(1)) {
      EXPECT_EQ(frame.header.tag, got);
      EXPECT_EQ(frame.bulk, Pattern(10'000, got));
      ++got;
    }
  }
  sender.join();
}

TEST_P(ChannelTest, RefusesFramesBeyondTheLimits) {
  ChannelOptions options;
  options.limits = {100, 1000};
  OpenAndStart(options);
  EXPECT_EQ(a_->Send(1, 1, Pattern(101)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(a_->Send(1, 1, {}, Pattern(1001)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(a_->Send(1, 1, Pattern(100), Pattern(1000)).ok());
  EXPECT_EQ(at_b_.Take(1).at(0).bulk.size(), 1000u);
}

TEST_P(ChannelTest, CountsFramesAndBytes) {
  OpenAndStart();
  ASSERT_TRUE(a_->Send(1, 1, AsBytes("12345"), Pattern(10)).ok());
  ASSERT_TRUE(a_->Send(1, 2, {}).ok());
  ASSERT_TRUE(a_->Flush().ok());
  size_t got = 0;
  while (got < 2) got += at_b_.Take(1).size();
  EXPECT_EQ(a_->Stats().frames_sent, 2u);
  EXPECT_EQ(a_->Stats().bytes_sent, 2 * kFrameHeaderBytes + 15);
  EXPECT_EQ(b_->Stats().frames_received, 2u);
  EXPECT_EQ(b_->Stats().bytes_received, 2 * kFrameHeaderBytes + 15);
}

TEST_P(ChannelTest, ChannelsThatWereNeverStartedGoQuietly) {
  Open();
  ASSERT_TRUE(a_->Send(1, 1, AsBytes("into the void")).ok());
}

}  // namespace
}  // namespace wharf::link
