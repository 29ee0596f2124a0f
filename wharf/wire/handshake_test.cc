// Both halves against each other and against peers that are silent, speak nonsense or go away.
#include "wharf/wire/handshake.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"

namespace wharf::wire {
namespace {

enum class FrameKind : uint16_t { kHello = 1, kWelcome = 2, kGoodbye = 3, kOther = 4, kChallenge = 5, kProof = 6 };
constexpr uint32_t kMagic = 0x54534554;
constexpr uint32_t kAnothersWish = 77;  // who wishes this says that it is something else than a client
constexpr const char* kToken = "a token of these tests";

struct TestProtocol {
  static constexpr ProtocolVersion kVersion = {"test session", "test protocol", kMagic, 3, 5};
  struct Hello {
    uint32_t magic = kMagic;
    uint16_t major = 3, minor = 5;
    Nonce nonce{};
    uint32_t wish = 0;
    auto Fields() { return std::tie(magic, major, minor, nonce, wish); }
  };
  struct Welcome {
    uint16_t major = 3, minor = 5;
    uint32_t granted = 0;
    auto Fields() { return std::tie(major, minor, granted); }
  };
  using Goodbye = wire::Goodbye;
  static constexpr FrameKind kHello = FrameKind::kHello, kWelcome = FrameKind::kWelcome, kGoodbye = FrameKind::kGoodbye,
                             kChallenge = FrameKind::kChallenge, kProof = FrameKind::kProof;
  static std::string RoleOf(const Hello& hello) { return hello.wish == kAnothersWish ? "stranger" : kClientRole; }
};
using Hello = TestProtocol::Hello;
using Welcome = TestProtocol::Welcome;
using Server = ServerHandshake<TestProtocol>;

constexpr Nanoseconds kLong = std::chrono::minutes(1);

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

// --- The server's judgement ---

link::FrameHeader HeaderOf(FrameKind kind) { return {.kind = static_cast<uint16_t>(kind)}; }

// A connection of which only the binding matters.
class BoundStream final : public link::ByteStream {
 public:
  explicit BoundStream(std::string binding = "", std::vector<std::string> units = {})
      : binding_(std::move(binding)), units_(std::move(units)) {}
  absl::StatusOr<size_t> Read(std::span<std::byte>) override { return 0; }
  absl::Status Write(std::span<const std::span<const std::byte>>) override { return absl::OkStatus(); }
  void Shutdown() override {}
  std::string Peer() const override { return "test"; }
  bool IsLocal() const override { return true; }
  std::string ChannelBinding() const override { return binding_; }
  std::vector<std::string> PeerUnits() const override { return units_; }

 private:
  const std::string binding_;
  const std::vector<std::string> units_;
};

// A server that wants a token, and who connects to it.
class Proving : public ::testing::Test {
 protected:
  static ClientCheck Check() {
    ClientCheck check = ClientsWith(kToken);
    check.keys["stranger"] = TokenKey::Of("the token of others", "stranger");
    return check;
  }
  // The Challenge's nonce.
  static Nonce Challenged(Server& server, const Hello& hello, const link::ByteStream& stream = BoundStream()) {
    const auto heard = server.Judge(HeaderOf(FrameKind::kHello), Encode(hello), stream);
    EXPECT_TRUE(heard.ok()) << heard.status();
    if (!heard.ok()) return {};
    EXPECT_FALSE(heard->hello.has_value());
    EXPECT_EQ(heard->answer->kind, FrameKind::kChallenge);
    return Decode<Challenge>(heard->answer->head).value().nonce;
  }
  static Proof ProofFor(const HandshakeFacts& facts, const std::string& token = kToken) {
    return {ProofOf(TokenKey::Of(token, facts.role), Side::kClient, facts)};
  }
  static auto Answer(Server& server, const Proof& proof) {
    return server.Judge(HeaderOf(FrameKind::kProof), Encode(proof), BoundStream());
  }
  static HandshakeFacts Facts(const Hello& hello, const Nonce& server) {
    return {kMagic, RoleOf<TestProtocol>(hello), hello.nonce, server, ""};
  }

  const absl::Status wrong_ = Unauthenticated("the token is wrong: use the server's token file");
};

TEST_F(Proving, WhoKnowsTheTokenIsHeardAndLearnsThatTheServerDoes) {
  Server server(Check());
  const Hello hello{.nonce = MakeNonce(), .wish = 4};
  const HandshakeFacts facts = Facts(hello, Challenged(server, hello));
  const auto heard = Answer(server, ProofFor(facts));
  ASSERT_TRUE(heard.ok()) << heard.status();
  ASSERT_TRUE(heard->hello.has_value());
  EXPECT_EQ(heard->hello->wish, 4u);
  EXPECT_EQ(heard->answer->kind, FrameKind::kProof);
  EXPECT_EQ(Decode<Proof>(heard->answer->head).value().mac,
            ProofOf(TokenKey::Of(kToken, kClientRole), Side::kServer, facts));
}

TEST_F(Proving, AnotherTokenDoesNotDo) {
  Server server(Check());
  const Hello hello{.nonce = MakeNonce()};
  const Nonce nonce = Challenged(server, hello);
  EXPECT_EQ(Answer(server, ProofFor(Facts(hello, nonce), "a token of somebody")).status(), wrong_);
}

TEST_F(Proving, AProofIsForOneHandshake) {
  const Hello hello{.nonce = MakeNonce()};
  Server first(Check()), second(Check());
  const Proof proof = ProofFor(Facts(hello, Challenged(first, hello)));
  Challenged(second, hello);
  EXPECT_EQ(Answer(second, proof).status(), wrong_);
  EXPECT_TRUE(Answer(first, proof).ok());
}

TEST_F(Proving, AProofIsForOneRole) {
  const Hello hello{.nonce = MakeNonce(), .wish = kAnothersWish};
  Server server(Check());
  HandshakeFacts facts = Facts(hello, Challenged(server, hello));
  facts.role = kClientRole;
  EXPECT_EQ(Answer(server, ProofFor(facts)).status(), wrong_) << "a client's";
  Server again(Check());
  facts = Facts(hello, Challenged(again, hello));
  EXPECT_EQ(Answer(again, ProofFor(facts)).status(), wrong_) << "the client's token in another role";
  Server right(Check());
  facts = Facts(hello, Challenged(right, hello));
  EXPECT_TRUE(Answer(right, ProofFor(facts, "the token of others")).ok());
}

TEST_F(Proving, ARoleWithoutATokenIsNotLetIn) {
  Server server(ClientsWith(kToken));
  EXPECT_EQ(server.Judge(HeaderOf(FrameKind::kHello), Encode(Hello{.wish = kAnothersWish}), BoundStream()).status(),
            Unauthenticated("this server lets nobody in who is a stranger"));
}

TEST_F(Proving, AProofIsForOneEncryptedConnection) {
  for (const char* const binding : {"this connection", "another one", ""}) {
    Server server(Check());
    const Hello hello{.nonce = MakeNonce()};
    HandshakeFacts facts = Facts(hello, Challenged(server, hello, BoundStream("this connection")));
    facts.binding = binding;
    EXPECT_EQ(Answer(server, ProofFor(facts)).ok(), facts.binding == "this connection") << binding;
  }
}

TEST_F(Proving, AProofIsAskedForOnceAndHeardOnce) {
  Server server(Check());
  EXPECT_EQ(Answer(server, Proof()).status(), InvalidArgument("the first frame must be a Hello"));
  const Hello hello{.nonce = MakeNonce()};
  const Proof proof = ProofFor(Facts(hello, Challenged(server, hello)));
  EXPECT_TRUE(Answer(server, proof).ok());
  EXPECT_EQ(Answer(server, proof).status(), InvalidArgument("the first frame must be a Hello"));
  EXPECT_EQ(server.Judge(HeaderOf(FrameKind::kHello), Encode(hello), BoundStream()).status(),
            InvalidArgument("the first frame must be a Hello"))
      << "nor a second Hello";
}

TEST_F(Proving, NoSecondTryAfterAWrongOne) {
  Server server(Check());
  const Hello hello{.nonce = MakeNonce()};
  const Proof proof = ProofFor(Facts(hello, Challenged(server, hello)));
  EXPECT_EQ(Answer(server, Proof()).status(), wrong_);
  EXPECT_EQ(Answer(server, proof).status(), InvalidArgument("the first frame must be a Hello"));
}

TEST_F(Proving, EveryCutOfAProofAndEveryOtherFrameIsRefused) {
  for (size_t kept = 0; kept < sizeof(Mac); ++kept) {
    Server server(Check());
    const Hello hello{.nonce = MakeNonce()};
    const auto proof = Encode(ProofFor(Facts(hello, Challenged(server, hello))));
    EXPECT_EQ(server.Judge(HeaderOf(FrameKind::kProof), std::span(proof).first(kept), BoundStream()).status(),
              InvalidArgument("the Proof is malformed"));
  }
  for (const FrameKind kind : {FrameKind::kHello, FrameKind::kWelcome, FrameKind::kChallenge, FrameKind::kOther}) {
    Server server(Check());
    Challenged(server, Hello());
    EXPECT_EQ(server.Judge(HeaderOf(kind), Encode(Hello()), BoundStream()).status(),
              InvalidArgument("the answer to a Challenge must be a Proof"));
  }
}

TEST(UnitsTest, ACertificateIsForTheRolesThatItNames) {
  const auto is_for = [](const std::vector<std::string>& units, const std::string& role) {
    return CheckUnits(units, role).ok();
  };
  EXPECT_TRUE(is_for({}, "client"));
  EXPECT_TRUE(is_for({"Research"}, "client"));
  EXPECT_FALSE(is_for({}, "worker"));
  EXPECT_FALSE(is_for({"Research", "worker"}, "worker"));
  EXPECT_TRUE(is_for({"Research", "wharf-worker"}, "worker"));
  EXPECT_FALSE(is_for({"wharf-worker"}, "client"));
  EXPECT_FALSE(is_for({"wharf-worker"}, "scheduler"));
  EXPECT_TRUE(is_for({"wharf-worker", "wharf-scheduler"}, "scheduler"));
  EXPECT_FALSE(is_for({"wharf-"}, ""));
  EXPECT_EQ(CheckUnits({"wharf-client"}, "scheduler"),
            Unauthenticated("the certificate is not for a scheduler: its subject needs OU=wharf-scheduler"));
}

TEST(ServerHandshakeTest, LooksAtTheCertificateOnlyWhereOneIsAskedFor) {
  const BoundStream worker("binding", {"wharf-worker"});
  const auto judge = [&](const ClientCheck& check) {
    return Server(check).Judge(HeaderOf(FrameKind::kHello), Encode(Hello()), worker).status();
  };
  EXPECT_EQ(judge({}), absl::OkStatus());
  EXPECT_EQ(judge({.by_certificate = true}).code(), absl::StatusCode::kUnauthenticated);
  ClientCheck both = ClientsWith(kToken);
  both.by_certificate = true;
  EXPECT_EQ(judge(both).code(), absl::StatusCode::kUnauthenticated) << "the token does not make up for it";
}

TEST(ServerHandshakeTest, WithoutATokenWhoeverSaysHelloIsHeard) {
  Server server;
  const auto heard = server.Judge(HeaderOf(FrameKind::kHello), Encode(Hello{.wish = 4}), BoundStream());
  ASSERT_TRUE(heard.ok()) << heard.status();
  EXPECT_EQ(heard->hello->wish, 4u);
  EXPECT_FALSE(heard->answer.has_value());
}

TEST(ServerHandshakeTest, SaysWhyNot) {
  const auto refusal = [](const Hello& hello, const ClientCheck& check = {}) {
    return Server(check).Judge(HeaderOf(FrameKind::kHello), Encode(hello), BoundStream()).status();
  };
  EXPECT_EQ(Server().Judge(HeaderOf(FrameKind::kOther), Encode(Hello()), BoundStream()).status(),
            InvalidArgument("the first frame must be a Hello"));
  EXPECT_EQ(refusal({.magic = 1}), InvalidArgument("this is not a test session's Hello"));
  EXPECT_EQ(refusal({.major = 2}),
            FailedPrecondition("the server speaks test protocol 3.5, the client 2.5: install the "
                               "same version of wharf on both machines"));
  EXPECT_EQ(refusal({.major = 2}, ClientsWith(kToken)).code(), absl::StatusCode::kFailedPrecondition)
      << "whoever does not fit need not know a token";
}

TEST(ServerHandshakeTest, EveryCutOfAHelloIsRefused) {
  const std::vector<std::byte> hello = Encode(Hello{});
  for (size_t kept = 0; kept < hello.size(); ++kept) {
    const absl::Status status =
        Server().Judge(HeaderOf(FrameKind::kHello), std::span(hello).first(kept), BoundStream()).status();
    EXPECT_EQ(status, kept < 8 ? InvalidArgument("this is not a test session's Hello")
                               : InvalidArgument("the Hello is malformed"));
  }
}

TEST(ServerHandshakeTest, AcceptsInTheLowerMinorVersion) {
  auto [near, far] = link::MemoryPair();
  const auto channel = link::Channel::Create(std::move(far)), client = link::Channel::Create(std::move(near));
  link::Recorder recorder;
  client->Start(&recorder);
  Server server;
  for (const uint16_t minor : {2, 9}) {
    ASSERT_TRUE(server.Accept(*channel, {.minor = minor}, {.granted = 6}).ok());
    const auto frames = recorder.Take(1);
    ASSERT_EQ(frames.size(), 1u);
    const auto welcome = Decode<Welcome>(link::AsBytes(frames[0].head));
    ASSERT_TRUE(welcome.ok());
    EXPECT_EQ(welcome->minor, std::min<uint16_t>(minor, 5));
    EXPECT_EQ(welcome->granted, 6u);
  }
  EXPECT_TRUE(server.Greeted());
  EXPECT_FALSE(server.Late(Clock::Real().Now() + std::chrono::hours(1)));
  client->Stop();
}

// A peer whose first frame may come later or never.
TEST(ServerHandshakeTest, IsLateAfterTenSecondsUnlessItGreeted) {
  VirtualClock clock;
  Server server({}, clock);
  clock.Advance(std::chrono::seconds(10));
  EXPECT_FALSE(server.Late(clock.Now()));
  clock.Advance(Nanoseconds(1));
  EXPECT_TRUE(server.Late(clock.Now()));
  EXPECT_FALSE(server.Greeted());
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
