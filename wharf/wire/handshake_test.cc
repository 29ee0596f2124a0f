// Both halves against each other and against peers that are silent, speak nonsense or go away.
#include "wharf/wire/handshake.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"
#include "wharf/wire/handshake_testing.h"

namespace wharf::wire {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

// --- The client against a scripted peer ---

class Client final : public link::FrameHandler {
 public:
  Client(std::unique_ptr<link::ByteStream> stream, Clock& clock)
      : handshake_(
            "the server", [this](const Welcome& welcome) { heard_ = welcome.granted; }, clock),
        channel_(link::Channel::Create(std::move(stream))) {
    channel_->Start(this);
  }
  ~Client() override { channel_->Stop(); }

  absl::StatusOr<Welcome> Greet(Nanoseconds timeout = kLong, const std::string& token = "") {
    return handshake_.Greet(*channel_, Hello(), token, timeout);
  }
  void SayHello() { handshake_.SayHello(*channel_, Hello(), ""); }
  absl::StatusOr<Welcome> Await(Nanoseconds timeout) { return handshake_.Await(timeout); }
  absl::Status AwaitEnd() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](absl::Status* ended) { return !ended->ok(); }, &ended_));
    return ended_;
  }
  bool Welcomed() const { return handshake_.Welcomed(); }
  uint32_t Heard() const { return heard_; }
  link::Channel& Channel() { return *channel_; }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    if (handshake_.Takes(header)) return handshake_.OnFrame(header, head);
    return InvalidArgument("unknown message {}", header.kind);
  }
  void OnClosed(const absl::Status& why) override {
    absl::MutexLock lock(&mutex_);
    ended_ = handshake_.OnClosed(why);
  }

  ClientHandshake<TestProtocol> handshake_;
  std::atomic<uint32_t> heard_ = 0;
  absl::Mutex mutex_;
  absl::Status ended_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<link::Channel> channel_;
};

class ClientHandshakeTest : public ::testing::Test {
 protected:
  void Connect(const link::Faults& up = {}, const link::Faults& down = {}) {
    auto [near, far] = link::MemoryPair(up, down);
    server_stream_ = std::move(far);
    client_ = std::make_unique<Client>(std::move(near), clock_);
  }
  // What the peer does once the Hello came; returns what the client makes of it.
  template <typename Answer>
  absl::StatusOr<Welcome> GreetAnd(const Answer& answer, const std::string& token = "") {
    peer_ = link::Channel::Create(std::move(server_stream_));
    recorder_.on_frame = [this, &answer](const link::FrameHeader& header, std::span<const std::byte>) {
      if (header.kind == static_cast<uint16_t>(FrameKind::kHello)) answer(*peer_);
      return absl::OkStatus();
    };
    peer_->Start(&recorder_);
    auto welcome = client_->Greet(kLong, token);
    recorder_.Take(1);
    return welcome;
  }
  ~ClientHandshakeTest() override {
    client_.reset();
    if (peer_ != nullptr) peer_->Stop();
  }

  VirtualClock clock_;  // stands still unless a test says otherwise
  link::Recorder recorder_;
  std::unique_ptr<link::ByteStream> server_stream_;
  std::unique_ptr<link::Channel> peer_;
  std::unique_ptr<Client> client_;
};

const absl::Status kUnanswered =
    Unavailable("the server closed the connection without an answer: does it want --tls, or is it no Wharf server?");

TEST_F(ClientHandshakeTest, GivesTheWelcomeThatItHeard) {
  Connect();
  const auto welcome = GreetAnd(
      [](link::Channel& peer) { SendMessage(peer, FrameKind::kWelcome, Welcome{.granted = 7}).IgnoreError(); });
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(welcome->granted, 7u);
  EXPECT_EQ(client_->Heard(), 7u) << "before Await returns";
  EXPECT_TRUE(client_->Welcomed());
}

TEST_F(ClientHandshakeTest, SaysWhatTheServerSays) {
  Connect();
  const absl::Status full = ResourceExhausted("the server is full");
  EXPECT_EQ(GreetAnd([&](link::Channel& peer) {
              SendMessage(peer, FrameKind::kGoodbye, GoodbyeOf(full)).IgnoreError();
              peer.Close(kLong);
            }).status(),
            full);
  EXPECT_EQ(client_->AwaitEnd(), full);
  EXPECT_FALSE(client_->Welcomed());
}

TEST_F(ClientHandshakeTest, AGoodbyeThatSaysUnavailableIsNotTakenForSilence) {
  Connect();
  const absl::Status draining = Unavailable("the server is shutting down");
  EXPECT_EQ(GreetAnd([&](link::Channel& peer) {
              SendMessage(peer, FrameKind::kGoodbye, GoodbyeOf(draining)).IgnoreError();
            }).status(),
            draining);
}

TEST_F(ClientHandshakeTest, RefusesAnotherVersion) {
  Connect();
  EXPECT_EQ(GreetAnd([](link::Channel& peer) {
              SendMessage(peer, FrameKind::kWelcome, Welcome{.major = 4, .minor = 1}).IgnoreError();
            }).status(),
            FailedPrecondition("the client speaks test protocol 3.5, the server 4.1: install the same version of wharf "
                               "on both machines"));
}

TEST_F(ClientHandshakeTest, RefusesAMalformedWelcome) {
  const absl::Status malformed = FailedPrecondition("the server's Welcome is malformed");
  for (const size_t bytes : {0, 3, 7, 9}) {
    Connect();
    std::vector<std::byte> head = Encode(Welcome{});
    head.resize(bytes);
    EXPECT_EQ(GreetAnd([&](link::Channel& peer) {
                peer.Send(static_cast<uint16_t>(FrameKind::kWelcome), 0, head).IgnoreError();
              }).status(),
              malformed)
        << bytes;
    EXPECT_EQ(client_->AwaitEnd(), malformed);
    client_.reset();
    peer_->Stop();
  }
}

TEST_F(ClientHandshakeTest, AMalformedGoodbyeEndsItToo) {
  Connect();
  EXPECT_EQ(GreetAnd([](link::Channel& peer) {
              peer.Send(static_cast<uint16_t>(FrameKind::kGoodbye), 0, link::AsBytes("?")).IgnoreError();
            }).status(),
            InvalidArgument("the Goodbye is malformed"));
}

TEST_F(ClientHandshakeTest, AFrameThatIsNoAnswerEndsItAsItsHandlerSays) {
  Connect();
  EXPECT_EQ(GreetAnd([](link::Channel& peer) {
              peer.Send(static_cast<uint16_t>(FrameKind::kOther), 0, {}).IgnoreError();
            }).status(),
            InvalidArgument("unknown message 4"));
}

TEST_F(ClientHandshakeTest, ASecondWelcomeEndsTheSession) {
  Connect();
  EXPECT_TRUE(GreetAnd([](link::Channel& peer) {
                for (int i = 0; i < 2; ++i) SendMessage(peer, FrameKind::kWelcome, Welcome()).IgnoreError();
              }).ok());
  EXPECT_EQ(client_->AwaitEnd(), InvalidArgument("a second Welcome"));
}

TEST_F(ClientHandshakeTest, AGoodbyeAfterTheWelcomeIsHowTheSessionEnds) {
  Connect();
  const absl::Status over = Aborted("the model is gone");
  EXPECT_TRUE(GreetAnd([&](link::Channel& peer) {
                SendMessage(peer, FrameKind::kWelcome, Welcome()).IgnoreError();
                SendMessage(peer, FrameKind::kGoodbye, GoodbyeOf(over)).IgnoreError();
              }).ok());
  EXPECT_EQ(client_->AwaitEnd(), over);
}

TEST_F(ClientHandshakeTest, AConnectionThatEndsAfterTheWelcomeIsNotUnanswered) {
  Connect();
  EXPECT_TRUE(GreetAnd([](link::Channel& peer) {
                SendMessage(peer, FrameKind::kWelcome, Welcome()).IgnoreError();
                peer.Close(kLong);
              }).ok());
  EXPECT_EQ(client_->AwaitEnd(), Unavailable("closed by peer"));
}

TEST_F(ClientHandshakeTest, OurOwnCloseIsNotThePeersDoing) {
  Connect();
  client_->Channel().Close();
  EXPECT_EQ(client_->Greet().status(), Aborted("closed"));
}

TEST_F(ClientHandshakeTest, SilenceEndsAtTheDeadlineOfTheClock) {
  for (const bool stalled : {false, true}) {
    Connect({}, {.stall = stalled});
    std::thread time([this] {
      std::byte first;  // the Hello is on its way, so Greet waits or is about to
      EXPECT_TRUE(server_stream_->Read({&first, 1}).ok());
      clock_.Advance(std::chrono::milliseconds(2500));
    });
    const absl::Status status = client_->Greet(std::chrono::milliseconds(1500)).status();
    time.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_EQ(status, DeadlineExceeded("the server gave no answer within 1.5 s"));
    client_.reset();
  }
}

TEST_F(ClientHandshakeTest, TimeCountsFromTheHello) {
  Connect();
  client_->SayHello();
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(client_->Await(std::chrono::seconds(2)).status(), DeadlineExceeded("the server gave no answer within 2 s"));
}

TEST_F(ClientHandshakeTest, ACutAtAnyByteIsNoAnswer) {
  const size_t hello = link::kFrameHeaderBytes + Encode(Hello()).size();
  const size_t welcome = link::kFrameHeaderBytes + Encode(Welcome()).size();
  const auto answer = [](link::Channel& peer) { SendMessage(peer, FrameKind::kWelcome, Welcome()).IgnoreError(); };
  for (size_t cut = 0; cut <= hello + welcome; ++cut) {
    const bool on_the_way_up = cut < hello;
    if (on_the_way_up) {
      Connect({.cut_after_bytes = cut});
    } else {
      Connect({}, {.cut_after_bytes = cut - hello});
    }
    const auto got = GreetAnd(answer);
    if (cut == hello + welcome) {
      EXPECT_TRUE(got.ok()) << "cut after the Welcome: " << got.status();
    } else {
      EXPECT_EQ(got.status(), kUnanswered) << cut;
    }
    client_.reset();
    peer_->Stop();
  }
}

TEST_F(ClientHandshakeTest, AnotherKindOfServerIsNamed) {
  Connect();
  const std::string page = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
  const auto bytes = link::AsBytes(page);
  ASSERT_TRUE(server_stream_->Write({&bytes, 1}).ok());
  EXPECT_EQ(client_->Greet().status(), kUnanswered);
}

// --- The client and a server that is not the one it means ---

TEST_F(ClientHandshakeTest, WithoutATokenAChallengeIsSaidToTheUser) {
  Connect();
  EXPECT_EQ(GreetAnd([](link::Channel& peer) {
              SendMessage(peer, FrameKind::kChallenge, Challenge()).IgnoreError();
            }).status(),
            Unauthenticated("the server wants a token: give --token-file FILE (or set WHARF_TOKEN_FILE)"));
}

TEST_F(ClientHandshakeTest, WithATokenAServerThatDoesNotAskForItIsAnother) {
  Connect();
  const auto welcome =
      GreetAnd([](link::Channel& peer) { SendMessage(peer, FrameKind::kWelcome, Welcome()).IgnoreError(); }, kToken);
  EXPECT_EQ(welcome.status().code(), absl::StatusCode::kUnauthenticated) << welcome.status();
  EXPECT_FALSE(client_->Welcomed());
}

TEST_F(ClientHandshakeTest, AServerThatProvesNothingIsAnother) {
  for (const bool guesses : {false, true}) {
    Connect();
    const auto welcome = GreetAnd(
        [guesses](link::Channel& peer) {
          SendMessage(peer, FrameKind::kChallenge, Challenge{MakeNonce()}).IgnoreError();
          if (guesses) SendMessage(peer, FrameKind::kProof, Proof{MakeNonce()}).IgnoreError();
          SendMessage(peer, FrameKind::kWelcome, Welcome()).IgnoreError();
        },
        kToken);
    EXPECT_EQ(welcome.status(),
              guesses ? Unauthenticated("the server does not know the token: it is another server than was meant")
                      : Unauthenticated("the server does not prove that it knows the token"));
    client_.reset();
    peer_->Stop();
  }
}

TEST_F(ClientHandshakeTest, AClientsOwnProofIsNotTheServers) {
  Connect();
  peer_ = link::Channel::Create(std::move(server_stream_));
  recorder_.on_frame = [this](const link::FrameHeader& header, std::span<const std::byte> head) {
    const bool hello = header.kind == static_cast<uint16_t>(FrameKind::kHello);
    if (hello) return SendMessage(*peer_, FrameKind::kChallenge, Challenge{MakeNonce()});
    return peer_->Send(static_cast<uint16_t>(FrameKind::kProof), 0, head);  // sent back as it is
  };
  peer_->Start(&recorder_);
  EXPECT_EQ(client_->Greet(kLong, kToken).status(),
            Unauthenticated("the server does not know the token: it is another server than was meant"));
  recorder_.Take(2);
}

TEST_F(ClientHandshakeTest, AnswersOneChallengeOnly) {
  Connect();
  const auto welcome = GreetAnd(
      [](link::Channel& peer) {
        for (int i = 0; i < 2; ++i) {
          SendMessage(peer, FrameKind::kChallenge, Challenge{MakeNonce()}).IgnoreError();
        }
      },
      kToken);
  EXPECT_EQ(welcome.status(), InvalidArgument("a Challenge that nobody expects"));
}

TEST_F(ClientHandshakeTest, NothingIsTakenBeforeTheHello) {
  for (const FrameKind kind : {FrameKind::kChallenge, FrameKind::kProof, FrameKind::kWelcome}) {
    Connect();
    peer_ = link::Channel::Create(std::move(server_stream_));
    peer_->Start(&recorder_);
    const auto head = kind == FrameKind::kWelcome ? Encode(Welcome()) : Encode(Challenge());
    ASSERT_TRUE(peer_->Send(static_cast<uint16_t>(kind), 0, head).ok());
    EXPECT_EQ(client_->AwaitEnd().code(), absl::StatusCode::kInvalidArgument);
    client_.reset();
    peer_->Stop();
  }
}

// --- Both ---

class Session final : public link::FrameHandler {
 public:
  Session(std::unique_ptr<link::ByteStream> stream, ClientCheck check)
      : handshake_(std::move(check)), channel_(link::Channel::Create(std::move(stream))) {
    channel_->Start(this);
  }
  ~Session() override { channel_->Stop(); }
  bool Greeted() const { return handshake_.Greeted(); }

 private:
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte> head,
                       std::vector<std::byte>) override {
    const auto heard = handshake_.Hear(*channel_, header, head);
    if (!heard.ok()) return EndSession<TestProtocol>(*channel_, heard.status(), "client sent away", kLong);
    if (!heard->has_value()) return absl::OkStatus();
    return handshake_.Accept(*channel_, **heard, {.granted = (*heard)->wish + 1});
  }
  void OnClosed(const absl::Status&) override {}

  Server handshake_;
  std::unique_ptr<link::Channel> channel_;
};

TEST(HandshakeTest, BothHalvesUnderstandEachOther) {
  auto [near, far] = link::MemoryPair();
  const Session session(std::move(far), {});
  Client client(std::move(near), Clock::Real());
  const auto welcome = client.Greet();
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(welcome->granted, 1u);
  EXPECT_EQ(welcome->minor, 5);
}

TEST(HandshakeTest, BothProveTheToken) {
  for (const char* known : {kToken, "a token of somebody", ""}) {
    auto [near, far] = link::MemoryPair();
    const Session session(std::move(far), ClientsWith(kToken));
    Client client(std::move(near), Clock::Real());
    const absl::Status greeted = client.Greet(kLong, known).status();
    EXPECT_EQ(greeted.code(), known == kToken ? absl::StatusCode::kOk : absl::StatusCode::kUnauthenticated) << greeted;
    // The Welcome may be here before the server has noted that it sent it.
    while (greeted.ok() && !session.Greeted()) Clock::Real().SleepFor(std::chrono::milliseconds(1));
    EXPECT_EQ(session.Greeted(), known == kToken);
  }
}

TEST(HandshakeTest, ARefusalReachesTheClient) {
  auto [near, far] = link::MemoryPair();
  const Session session(std::move(far), ClientsWith(kToken));
  Client client(std::move(near), Clock::Real());
  EXPECT_EQ(client.Greet(kLong, "a token of somebody").status(),
            Unauthenticated("the token is wrong: use the server's token file"));
  EXPECT_FALSE(session.Greeted());
}

}  // namespace
}  // namespace wharf::wire
