// What a relay lets through, between a client and a server that are frames of this test's.
#include "wharf/ar/relay/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "wharf/ar/relay/picture.h"
#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"
#include "wharf/split/codec/jpeg.h"
#include "wharf/wire/proof_testing.h"

namespace wharf::ar {
namespace {

using ::testing::HasSubstr;

constexpr int kWide = 48, kHigh = 32;

Hello RelayedHello() {
  Hello hello;
  hello.tasks = 1;
  hello.width = kWide;
  hello.height = kHigh;
  hello.fx = hello.fy = 20;
  return hello;
}

std::vector<std::byte> JpegOf(int width = kWide, int height = kHigh) {
  std::vector<uint8_t> pixels(static_cast<size_t>(3 * width * height));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i / 7 % 251);
  return *split::EncodeJpeg({width, height, 3, pixels}, 90);
}

std::vector<FrameKind> KindsOf(const std::vector<link::ReceivedFrame>& frames) {
  std::vector<FrameKind> kinds;
  for (const auto& frame : frames) kinds.push_back(static_cast<FrameKind>(frame.header.kind));
  return kinds;
}

absl::Status ReasonOf(const link::ReceivedFrame& frame) {
  const auto goodbye = wire::Decode<Goodbye>(link::AsBytes(frame.head));
  return goodbye.ok() ? wire::StatusOf(*goodbye) : goodbye.status();
}

// One end of a connection: what it heard, and its channel.
struct Side {
  explicit Side(std::unique_ptr<link::ByteStream> stream)
      : channel(link::Channel::Create(std::move(stream), {.limits = kRelayFrameLimits})) {
    channel->Start(&heard);
  }
  ~Side() { channel->Stop(); }
  template <typename M>
  void Say(FrameKind kind, const M& message, uint64_t tag = 0, std::span<const std::byte> bulk = {}) {
    EXPECT_EQ(SendMessage(*channel, kind, message, tag, bulk), absl::OkStatus());
  }
  link::ReceivedFrame Next() {
    auto frames = heard.Take(1);
    EXPECT_EQ(frames.size(), 1u);
    return frames.empty() ? link::ReceivedFrame() : frames[0];
  }

  link::Recorder heard;
  std::unique_ptr<link::Channel> channel;
};

class RelayTest : public ::testing::Test {
 protected:
  RelayTest() { Begin(""); }
  void Begin(const std::string& token) {
    auto [client, near] = link::MemoryPair();
    auto [server, far] = link::MemoryPair();
    relay_.reset();
    client_.emplace(std::move(client));
    server_.emplace(std::move(server));
    relay_ = std::make_unique<Relay>(std::move(near), std::move(far), wire::ClientsWith(token));
  }
  void LetIn() {
    client_->Say(FrameKind::kHello, RelayedHello());
    EXPECT_EQ(KindsOf(server_->heard.Take(1)), std::vector{FrameKind::kHello});
    server_->Say(FrameKind::kWelcome, Welcome());
    EXPECT_EQ(KindsOf(client_->heard.Take(1)), std::vector{FrameKind::kWelcome});
  }
  // Both are told the same.
  absl::Status ExpectSentAway() {
    const auto to_client = client_->Next(), to_server = server_->Next();
    EXPECT_EQ(KindsOf({to_client, to_server}), std::vector(2, FrameKind::kGoodbye));
    EXPECT_EQ(ReasonOf(to_client), ReasonOf(to_server));
    relay_->AwaitEnd();
    return ReasonOf(to_client);
  }

  std::optional<Side> client_, server_;
  std::unique_ptr<Relay> relay_;  // first to go
};

TEST_F(RelayTest, PicturesArriveAsPixels) {
  LetIn();
  for (uint64_t frame = 1; frame < 4; ++frame) client_->Say(FrameKind::kPicture, Picture{1}, frame, JpegOf());
  std::vector<link::ReceivedFrame> frames;
  while (frames.size() < 3) {
    for (auto& frame : server_->heard.Take(1)) frames.push_back(std::move(frame));
  }
  const auto expected = DecodePicture(JpegOf(), kWide, kHigh);
  ASSERT_TRUE(expected.ok());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(static_cast<FrameKind>(frames[i].header.kind), FrameKind::kPicture);
    EXPECT_EQ(frames[i].header.tag, i + 1);
    EXPECT_EQ(wire::Decode<Picture>(link::AsBytes(frames[i].head))->tasks, 1);
    const auto pixels = std::as_bytes(std::span(expected->rgb));
    EXPECT_TRUE(std::ranges::equal(frames[i].bulk, pixels));
  }
}

TEST_F(RelayTest, WhatTheServerSaysArrivesAsItIs) {
  LetIn();
  const std::vector<std::byte> found = link::Pattern(5000);
  server_->Say(FrameKind::kResult, Result{Task::kDepth, 7, 8}, 3, found);
  const auto result = client_->Next();
  EXPECT_EQ(result.header.tag, 3u);
  EXPECT_EQ(result.bulk, found);
  EXPECT_EQ(wire::Decode<Result>(link::AsBytes(result.head))->computed_nanoseconds, 8u);
  for (const FrameKind kind : {FrameKind::kFailed, FrameKind::kSchedule, FrameKind::kRedirect}) {
    server_->Say(kind, Failed{Task::kDepth, 5, "why"}, 9);
    const auto frame = client_->Next();
    EXPECT_EQ(static_cast<FrameKind>(frame.header.kind), kind);
    EXPECT_EQ(frame.head, link::AsText(wire::Encode(Failed{Task::kDepth, 5, "why"})));
  }
  client_->Say(FrameKind::kReport, Report{.drop_rate = 0.5});
  EXPECT_EQ(wire::Decode<Report>(link::AsBytes(server_->Next().head))->drop_rate, 0.5);
}

TEST_F(RelayTest, AStrangerDoesNotReachTheServer) {
  Begin("right");
  client_->Say(FrameKind::kHello, RelayedHello());
  const auto challenge = client_->Next();
  ASSERT_EQ(static_cast<FrameKind>(challenge.header.kind), FrameKind::kChallenge);
  client_->Say(FrameKind::kProof, wire::AnswerTo<ArProtocol>(link::AsBytes(challenge.head), RelayedHello(), "wrong"));
  EXPECT_EQ(ExpectSentAway(), Unauthenticated("the token is wrong: use the server's token file"));
}

TEST_F(RelayTest, WhoKnowsTheTokenDoes) {
  Begin("right");
  client_->Say(FrameKind::kHello, RelayedHello());
  const auto challenge = client_->Next();
  client_->Say(FrameKind::kProof, wire::AnswerTo<ArProtocol>(link::AsBytes(challenge.head), RelayedHello(), "right"));
  EXPECT_EQ(static_cast<FrameKind>(server_->Next().header.kind), FrameKind::kHello);
}

TEST_F(RelayTest, NothingIsHeardBeforeTheServerHasAnswered) {
  client_->Say(FrameKind::kHello, RelayedHello());
  client_->Say(FrameKind::kPicture, Picture{1}, 1, JpegOf());
  EXPECT_EQ(KindsOf(server_->heard.Take(1)), std::vector{FrameKind::kHello});
  EXPECT_EQ(server_->heard.frames_kept(), 0u);
  server_->Say(FrameKind::kWelcome, Welcome());
  EXPECT_EQ(static_cast<FrameKind>(server_->Next().header.kind), FrameKind::kPicture);
}

TEST_F(RelayTest, ARefusalArrives) {
  client_->Say(FrameKind::kHello, RelayedHello());
  server_->Next();
  server_->Say(FrameKind::kGoodbye, wire::GoodbyeOf(ResourceExhausted("no room")));
  EXPECT_EQ(ReasonOf(client_->Next()), ResourceExhausted("no room"));
  client_->channel->Close();
  server_->channel->Close();
  relay_->AwaitEnd();
}

TEST_F(RelayTest, WhatNoClientMaySayIsItsEnd) {
  const std::vector<std::byte> jpeg = JpegOf(), head = wire::Encode(Picture{1});
  const struct {
    FrameKind kind;
    std::vector<std::byte> head, bulk;
    const char* why;
  } wrongs[] = {
      {FrameKind::kPicture, head, link::Pattern(500), "JPEG"},
      {FrameKind::kPicture, head, JpegOf(64, 64), "a picture of 64 x 64, not 48 x 32"},
      {FrameKind::kPicture, head, {jpeg.begin(), jpeg.begin() + 40}, "JPEG"},
      {FrameKind::kPicture, head, {}, "JPEG"},
      {FrameKind::kPicture, head, std::vector<std::byte>(kMaxPictureBytes + 1), "a picture of 4194305 bytes"},
      {FrameKind::kPicture, link::Pattern(3), jpeg, "a picture's head is malformed"},
      {FrameKind::kReport, link::Pattern(3), {}, "the report is malformed"},
      {FrameKind::kReport, wire::Encode(Report()), jpeg, "bytes that a message 198 does not have"},
      {FrameKind::kHello, wire::Encode(RelayedHello()), {}, "unknown message 192"},
      {FrameKind::kResult, head, {}, "unknown message 196"},
  };
  for (const auto& wrong : wrongs) {
    SCOPED_TRACE(wrong.why);
    Begin("");
    LetIn();
    // It may hang up before all of that has gone.
    client_->channel->Send(static_cast<uint16_t>(wrong.kind), 1, wrong.head, wrong.bulk).IgnoreError();
    EXPECT_THAT(std::string(Message(ExpectSentAway())), HasSubstr(wrong.why));
  }
}

TEST_F(RelayTest, AHelloThatAsksForTheImpossibleDoesNotReachTheServer) {
  Hello hello = RelayedHello();
  hello.width = kMaxSide + 1;
  client_->Say(FrameKind::kHello, hello);
  EXPECT_EQ(ExpectSentAway().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RelayTest, WhatNoServerSaysIsTheEnd) {
  LetIn();
  server_->Say(FrameKind::kWelcome, Welcome());
  relay_->AwaitEnd();
  EXPECT_EQ(client_->heard.WaitClosed().code(), absl::StatusCode::kUnavailable);
}

// Either way.
TEST_F(RelayTest, OneEndFollowsTheOther) {
  LetIn();
  client_->channel->Close();
  relay_->AwaitEnd();
  EXPECT_EQ(server_->heard.WaitClosed().code(), absl::StatusCode::kUnavailable);
  Begin("");
  LetIn();
  server_->channel->Close();
  relay_->AwaitEnd();
  EXPECT_EQ(client_->heard.WaitClosed().code(), absl::StatusCode::kUnavailable);
  Begin("");  // nobody has said anything
  server_->channel->Close();
  relay_->AwaitEnd();
}

// A client that does not read holds up the server, which has its own limit.
TEST_F(RelayTest, AClientThatDoesNotReadIsWaitedFor) {
  absl::Notification reads;
  client_->heard.on_frame = [&](const link::FrameHeader& header, auto) {
    if (header.kind == static_cast<uint16_t>(FrameKind::kResult)) reads.WaitForNotification();
    return absl::OkStatus();
  };
  LetIn();
  const std::vector<std::byte> found = link::Pattern(1 << 20);
  std::atomic<int> said = 0;
  constexpr int kResults = 200;
  std::thread server([&] {
    for (int i = 0; i < kResults; ++i) {
      server_->Say(FrameKind::kResult, Result(), static_cast<uint64_t>(i), found);
      ++said;
    }
  });
  int before = -1;
  while (std::exchange(before, said.load()) != said) Clock::Real().SleepFor(std::chrono::milliseconds(200));
  EXPECT_LT(said, kResults) << "somebody keeps 200 MiB";
  reads.Notify();
  server.join();
  size_t heard = 0;
  while (heard < kResults) heard += client_->heard.Take(1).size();
  EXPECT_EQ(heard, static_cast<size_t>(kResults));
}

TEST_F(RelayTest, GoesWithWhateverIsUnderWay) {
  client_->Say(FrameKind::kHello, RelayedHello());
  server_->Next();
  relay_.reset();  // the client waits to be let in
  Begin("");
  LetIn();
  relay_.reset();
  EXPECT_EQ(client_->heard.WaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server_->heard.WaitClosed().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace wharf::ar
