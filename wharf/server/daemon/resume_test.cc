// Sessions that outlive their connections: a real server process, and between it and a bare client a proxy that is
// taken away and comes back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstring>

#include "wharf/link/emulation/emulator.h"
#include "wharf/link/resume/resumable_stream.h"
#include "wharf/server/front/waiting_list.h"
#include "wharf/server/testing/testing.h"

namespace wharf::server {
namespace {

using device::CudaError;
using offload::FrameKind;
using offload::Hello;
using offload::RawClient;
using offload::Welcome;
using ::testing::HasSubstr;

auto SessionsAre(size_t count) {
  return [count](const nlohmann::json& status) { return status.at("sessions").size() == count; };
}
bool OneWaits(const nlohmann::json& status) {
  return status.at("sessions").size() == 1 && status.at("sessions").at(0).at("waiting") == true;
}

// Whether the connection is encrypted.
class ServerResumeTest : public testing::TestWithParam<bool> {
 protected:
  void Serve(std::vector<std::string> options = {}) {
    if (GetParam()) {
      MakeIdentity(directory_, "server");
      const std::vector<std::string> tls = {"--tls-cert", directory_.File("server.crt"), "--tls-key",
                                            directory_.File("server.key")};
      options.insert(options.end(), tls.begin(), tls.end());
      connect_.tls = link::TlsClientOptions{.ca_file = directory_.File("server.crt")};
    }
    server_ = std::make_unique<ServerProcess>(options);
    Restore();
  }
  // Every connection through the proxy breaks, and no new one can be made.
  void Break() { proxy_.reset(); }
  void Restore() {
    auto proxy = link::LinkProxy::Start(address_, server_->Address(), {});
    ASSERT_TRUE(proxy.ok()) << proxy.status();
    proxy_ = *std::move(proxy);
    address_ = proxy_->Address();
  }
  link::Dial Dialer() {
    return [address = address_, connect = connect_] { return link::Connect(address, connect); };
  }
  // A client that can resume, through the proxy.
  std::unique_ptr<RawClient> Greet(Nanoseconds limit = std::chrono::minutes(2)) {
    link::ResumeOptions options;
    options.limit = limit;
    options.attempt = std::chrono::seconds(60);
    auto stream = link::OpenResumable(Dialer(), options);
    EXPECT_TRUE(stream.ok()) << stream.status();
    if (!stream.ok()) return nullptr;
    auto client = std::make_unique<RawClient>(*std::move(stream));
    EXPECT_TRUE(client->SendControl(FrameKind::kHello, Hello{}).ok());
    const auto welcome = client->Next(FrameKind::kWelcome);
    EXPECT_TRUE(welcome.ok()) << welcome.status();
    if (welcome.ok()) welcome_ = welcome->As<Welcome>();
    return client;
  }
  static std::vector<std::byte> Cell(uint64_t value) {
    std::vector<std::byte> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
  }
  void Put(RawClient& client, uint64_t value) {
    offload::CopyToDevice copy;
    copy.to.address = welcome_.arena.base;
    copy.extent.width = sizeof(value);
    ASSERT_TRUE(client.Post(copy, Cell(value)).ok());
  }
  offload::CopyToHost ReadCell() const {
    offload::CopyToHost read;
    read.from.address = welcome_.arena.base;
    read.extent.width = sizeof(uint64_t);
    return read;
  }
  void Map(RawClient& client) {
    ASSERT_TRUE(client.Post(offload::MapMemory{welcome_.arena.base, welcome_.arena.granularity}).ok());
  }

  TemporaryDirectory directory_;
  link::ConnectOptions connect_{.timeout = std::chrono::seconds(60)};
  std::unique_ptr<ServerProcess> server_;
  std::string address_ = "127.0.0.1:0";
  std::unique_ptr<link::LinkProxy> proxy_;
  Welcome welcome_;
};

TEST_P(ServerResumeTest, ASessionOutlivesItsConnections) {
  Serve();
  const auto client = Greet();
  ASSERT_NE(client, nullptr);
  Map(*client);
  for (uint64_t round = 1; round <= 5; ++round) {
    Put(*client, round);
    Break();
    const uint64_t asked = client->Begin(ReadCell());
    Restore();
    const auto answered = client->Await<offload::CopyToHost>(asked);
    ASSERT_TRUE(answered.ok()) << answered.status();
    ASSERT_EQ(answered->bulk, Cell(round));
  }
  EXPECT_TRUE(server_->AwaitStatus([](const nlohmann::json& status) { return status.at("resumed") >= 5; }));
  EXPECT_EQ(server_->Status().at("sessions_opened"), 1);
  EXPECT_EQ(server_->Status().at("crashes"), 0);
}

TEST_P(ServerResumeTest, AnEndInOrderFreesTheSessionAtOnce) {
  Serve({"--resume-timeout", "3600s"});
  auto client = Greet();
  ASSERT_TRUE(server_->AwaitStatus(SessionsAre(1)));
  client.reset();
  EXPECT_TRUE(server_->AwaitStatus(SessionsAre(0)));
}

TEST_P(ServerResumeTest, AClientThatStaysAwayLosesItsSession) {
  Serve({"--resume-timeout", "0.2s"});
  const auto client = Greet();
  Break();
  EXPECT_TRUE(server_->AwaitStatus(SessionsAre(0)));
  Restore();
  const absl::Status why = client->AwaitClosed();
  EXPECT_EQ(why.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(why)), HasSubstr("does not have the session any more"));
}

TEST_P(ServerResumeTest, WhoWaitsGivesWayToWhoIsHere) {
  Serve({"--resume-timeout", "3600s", "--max-sessions", "1"});
  const auto gone = Greet();
  Break();
  ASSERT_TRUE(server_->AwaitStatus(OneWaits));
  const auto other = server_->Greet({}, connect_);
  EXPECT_TRUE(other->Next(FrameKind::kWelcome).ok());
  Restore();
  EXPECT_EQ(gone->AwaitClosed().code(), absl::StatusCode::kUnavailable);
  // Who is here gives way to nobody.
  EXPECT_TRUE(server_->Greet({}, connect_)->Next(FrameKind::kRefusal).ok());
}

TEST_P(ServerResumeTest, NobodyTakesAnothersSession) {
  Serve();
  const auto client = Greet();
  Map(*client);
  Put(*client, 42);
  link::Opening guess{link::OpeningKind::kResume, link::ResumeKey::Make(welcome_.session).value(), 0};
  const uint64_t mine = welcome_.session;
  for (const uint64_t session : {mine, mine, mine, mine + 1, uint64_t{0}}) {
    guess.key.session = session;
    auto stranger = Dialer()();
    ASSERT_TRUE(stranger.ok());
    EXPECT_EQ(link::ExchangeOpenings(**stranger, guess, std::chrono::seconds(60)).status().code(),
              absl::StatusCode::kNotFound);
  }
  EXPECT_EQ(client->Ask(ReadCell())->bulk, Cell(42));
  // Said once: strangers try as often as they like.
  const std::string log = server_->Log(), line = "may not resume this session";
  EXPECT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find(line), log.rfind(line)) << log;
}

TEST_P(ServerResumeTest, WithoutResumeASessionEndsWithItsConnection) {
  Serve({"--resume-timeout", "0s"});
  const auto client = Greet();
  Map(*client);
  Put(*client, 7);
  EXPECT_EQ(client->Ask(ReadCell())->bulk, Cell(7));
  Break();
  EXPECT_EQ(client->AwaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(server_->AwaitStatus(SessionsAre(0)));
}

// Connections of strangers who say `words` and no more.
class Crowd {
 public:
  void Add(int count, std::span<const std::byte> words, const ServerProcess& server) {
    for (int i = 0; i < count; ++i) {
      auto stream = server.Connect();
      ASSERT_TRUE(stream.ok()) << i << ": " << stream.status();
      if (!words.empty()) {
        ASSERT_TRUE((*stream)->Write({&words, 1}).ok());
      }
      streams_.push_back(*std::move(stream));
    }
  }

 private:
  std::vector<std::unique_ptr<link::ByteStream>> streams_;
};

// 2,000 connections that say nothing, and 100 that begin a Hello and say no more. None of them ends before this test.
TEST_P(ServerResumeTest, ACrowdOfStrangersKeepsNobodyOut) {
  const WaitingLimits limits = WaitingLimitsOfProcess(std::chrono::hours(1));
  if (limits.in_all < 2400) GTEST_SKIP() << "needs 4,800 descriptors: ulimit -Hn";
  Serve({"--hello-timeout", "3600s"});
  const auto client = Greet();
  ASSERT_NE(client, nullptr);
  Map(*client);
  Put(*client, 42);
  Crowd silent, halfhearted;
  silent.Add(2000, {}, *server_);
  link::FrameHeader header{.kind = static_cast<uint16_t>(FrameKind::kHello), .head_bytes = 100};
  std::array<std::byte, link::kFrameHeaderBytes> half_a_hello{};
  link::EncodeFrameHeader(header, half_a_hello);
  halfhearted.Add(100, half_a_hello, *server_);

  const TimePoint begin = Clock::Real().Now();
  const auto other = server_->Greet({}, connect_);
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(other->Next(FrameKind::kWelcome).ok());
  const TimePoint greeted = Clock::Real().Now();
  Break();
  const uint64_t asked = client->Begin(ReadCell());
  Restore();
  const TimePoint restored = Clock::Real().Now();
  const auto answered = client->Await<offload::CopyToHost>(asked);
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(answered->bulk, Cell(42));
  fmt::print("a new client was greeted after {:.0f} ms, a session resumed after {:.0f} ms\n",
             Milliseconds(greeted - begin), Milliseconds(Clock::Real().Now() - restored));
}

TEST_P(ServerResumeTest, AServerThatDrainsDoesNotWait) {
  Serve({"--resume-timeout", "3600s", "--drain-timeout", "2s"});
  const auto client = Greet();
  Break();
  ASSERT_TRUE(server_->AwaitStatus(OneWaits));
  server_->Process().Signal(SIGTERM);
  EXPECT_EQ(server_->Process().AwaitExit(), 0);
}

INSTANTIATE_TEST_SUITE_P(Transport, ServerResumeTest, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Tls" : "Plain"); });

}  // namespace
}  // namespace wharf::server
