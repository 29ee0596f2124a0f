// The server's half, frame by frame: what it judges, and what proves a token.
#include <gtest/gtest.h>

#include <memory>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/testing.h"
#include "wharf/wire/handshake.h"
#include "wharf/wire/handshake_testing.h"

namespace wharf::wire {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

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

}  // namespace
}  // namespace wharf::wire
