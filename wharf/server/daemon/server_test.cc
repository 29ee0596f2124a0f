// Real server processes on loopback, and a client that speaks the bare protocol to them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "wharf/base/sandbox/policies.h"
#include "wharf/server/testing/testing.h"

namespace wharf::server {
namespace {

using device::CudaError;
using offload::FrameKind;
using offload::Hello;
using offload::RawClient;
using offload::Refusal;
using offload::RefusalReason;
using offload::Welcome;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

constexpr const char* kKernels = R"(
.version 7.5
.target sm_75
.address_size 64
.visible .entry spin()
{
$again:
  bra.uni $again;
}
.visible .entry wild()
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, 16;
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

std::vector<std::byte> Bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

Welcome AwaitWelcome(RawClient& client) {
  const auto frame = client.Next(FrameKind::kWelcome);
  EXPECT_TRUE(frame.ok()) << frame.status();
  return frame.ok() ? frame->As<Welcome>() : Welcome{};
}

void ExpectRefusal(RawClient& client, RefusalReason reason, const std::string& message) {
  const auto frame = client.Next(FrameKind::kRefusal);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->As<Refusal>().reason, reason);
  EXPECT_THAT(frame->As<Refusal>().message, HasSubstr(message));
  EXPECT_EQ(client.AwaitClosed().code(), absl::StatusCode::kUnavailable);
}

CudaError PostedErrorOf(RawClient& client) {
  const auto answered = client.Ask(offload::SynchronizeDevice{});
  EXPECT_TRUE(answered.ok()) << answered.status();
  return answered.ok() ? answered->header.posted_error : CudaError::kRemoteLost;
}

CudaError Map(RawClient& client, uint64_t address, uint64_t size) {
  offload::MapMemory map;
  map.address = address;
  map.size = size;
  EXPECT_TRUE(client.Post(map).ok());
  return PostedErrorOf(client);
}

// Launches one of kKernels, which must not have been defined before.
void Launch(RawClient& client, const std::string& kernel) {
  offload::LoadModule load;
  load.module = 100;
  ASSERT_TRUE(client.Post(load, Bytes(kKernels)).ok());
  offload::DefineFunction define;
  define.function = 101;
  define.module = 100;
  define.name = kernel;
  ASSERT_TRUE(client.Post(define).ok());
  offload::Launch launch;
  launch.function = 101;
  ASSERT_TRUE(client.Post(launch).ok());
}

auto RefusedAre(int count) {
  return [count](const nlohmann::json& status) { return status.at("refused") == count; };
}
auto SessionsAre(size_t count) {
  return [count](const nlohmann::json& status) { return status.at("sessions").size() == count; };
}

bool Gone(pid_t pid) { return kill(pid, 0) != 0; }

TEST(ServerTest, ServesASession) {
  const ServerProcess server;
  const auto client = server.Greet();
  ASSERT_NE(client, nullptr);
  const Welcome welcome = AwaitWelcome(*client);
  EXPECT_EQ(welcome.properties.driver, "soft");
  EXPECT_EQ(welcome.memory_quota, uint64_t{2} << 30);
  const uint64_t base = welcome.arena.base;
  ASSERT_EQ(Map(*client, base, welcome.arena.granularity), CudaError::kSuccess);
  offload::CopyToDevice copy;
  copy.to.address = base;
  copy.extent.width = 5;
  ASSERT_TRUE(client->Post(copy, Bytes("hello")).ok());
  offload::CopyToHost read;
  read.from.address = base;
  read.extent.width = 5;
  const auto answered = client->Ask(read);
  ASSERT_TRUE(answered.ok()) << answered.status();
  EXPECT_EQ(answered->bulk, Bytes("hello"));
  ASSERT_TRUE(client->SendControl(FrameKind::kGoodbye, offload::Goodbye{}).ok());
  EXPECT_TRUE(server.AwaitStatus(
      [](const nlohmann::json& status) { return status.at("sessions_closed") == 1 && status.at("operations") >= 3; }));
  EXPECT_THAT(server.Log(), HasSubstr("session opened session=1"));
  EXPECT_THAT(server.Log(), HasSubstr("session closed session=1"));
}

TEST(ServerTest, ATokenIsWantedAndSaidSo) {
  const TemporaryDirectory directory;
  directory.Write("token", std::string(kToken) + "\n");
  const ServerProcess server({"--token-file", directory.File("token")});
  EXPECT_TRUE(server.Greet()->Next(FrameKind::kChallenge).ok());
  std::string almost = kToken;
  almost.back() = 'x';
  ExpectRefusal(*server.Greet({}, {}, almost), RefusalReason::kUnauthenticated, "the token is wrong");
  const auto client = server.Greet({}, {}, kToken);
  EXPECT_EQ(AwaitWelcome(*client).session, 3U);
  EXPECT_THAT(server.Log(), Not(HasSubstr(kToken)));
}

TEST(ServerTest, WhoAnswersNoChallengeIsLetGo) {
  const TemporaryDirectory directory;
  directory.Write("token", kToken);
  const ServerProcess server({"--token-file", directory.File("token"), "--hello-timeout", "3s"});
  ExpectRefusal(*server.Greet(), RefusalReason::kMalformed, "did not say who it is in time");
}

TEST(ServerTest, AProofIsForOneConnection) {
  const TemporaryDirectory directory;
  directory.Write("token", kToken);
  MakeIdentity(directory, "server");
  for (const bool encrypted : {false, true}) {
    std::vector<std::string> options = {"--token-file", directory.File("token")};
    link::ConnectOptions connect;
    if (encrypted) {
      options.insert(options.end(),
                     {"--tls-cert", directory.File("server.crt"), "--tls-key", directory.File("server.key")});
      connect.tls = link::TlsClientOptions{.ca_file = directory.File("server.crt")};
    }
    const ServerProcess server(options);
    // A man in the middle asks a client for the proof that the server asks him for.
    const auto stranger = server.Greet({}, connect);
    const auto challenge = stranger->Next(FrameKind::kChallenge);
    ASSERT_TRUE(challenge.ok()) << challenge.status();
    const wire::HandshakeFacts facts = {offload::kProtocolMagic,
                                        wire::kClientRole,
                                        {},
                                        challenge->As<wire::Challenge>().nonce,
                                        encrypted ? "another connection" : ""};
    wire::Proof proof{wire::ProofOf(wire::TokenKey::Of(kToken, wire::kClientRole), wire::Side::kClient, facts)};
    if (!encrypted) {
      // Without TLS only the nonces bind it: it is worth nothing in the next session.
      const auto next = server.Greet({}, connect);
      ASSERT_TRUE(next->Next(FrameKind::kChallenge).ok());
      ASSERT_TRUE(next->SendControl(FrameKind::kProof, proof).ok());
      ExpectRefusal(*next, RefusalReason::kUnauthenticated, "the token is wrong");
      continue;
    }
    ASSERT_TRUE(stranger->SendControl(FrameKind::kProof, proof).ok());
    ExpectRefusal(*stranger, RefusalReason::kUnauthenticated, "the token is wrong");
    EXPECT_EQ(AwaitWelcome(*server.Greet({}, connect, kToken)).properties.driver, "soft");
  }
}

TEST(ServerTest, AnotherVersionIsToldBothNumbers) {
  const ServerProcess server;
  Hello hello;
  hello.major = 9;
  hello.minor = 4;
  ExpectRefusal(*server.Greet(hello), RefusalReason::kVersion,
                fmt::format("the server speaks protocol {}.{}, the client 9.4", offload::kProtocolMajor,
                            offload::kProtocolMinor));
  // A later version's Hello may have more fields.
  auto stream = server.Connect();
  ASSERT_TRUE(stream.ok());
  RawClient future(*std::move(stream));
  std::vector<std::byte> head = wire::Encode(hello);
  head.resize(head.size() + 100);
  ASSERT_TRUE(future.SendFrame(static_cast<uint16_t>(FrameKind::kHello), 0, head).ok());
  ExpectRefusal(future, RefusalReason::kVersion, "install the same version");
}

TEST(ServerTest, AHigherMinorVersionIsServedWithTheLower) {
  const ServerProcess server;
  Hello hello;
  hello.minor = 77;
  EXPECT_EQ(AwaitWelcome(*server.Greet(hello)).minor, offload::kProtocolMinor);
}

TEST(ServerTest, WhatIsNoHelloIsRefused) {
  const ServerProcess server;
  auto stream = server.Connect();
  ASSERT_TRUE(stream.ok());
  RawClient client(*std::move(stream));
  client.Begin(offload::Acknowledge{});
  ExpectRefusal(client, RefusalReason::kMalformed, "must be a Hello");
  Hello hello;
  hello.magic = 1;
  ExpectRefusal(*server.Greet(hello), RefusalReason::kMalformed, "not a Wharf client");
}

TEST(ServerTest, GarbageClosesTheConnectionOnly) {
  const ServerProcess server;
  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\nHost: edge\r\n\r\n"), std::string(4096, '\0')}) {
    auto stream = server.Connect();
    ASSERT_TRUE(stream.ok());
    const std::vector<std::byte> bytes = Bytes(garbage);
    const std::span<const std::byte> pieces[] = {bytes};
    ASSERT_TRUE((*stream)->Write(pieces).ok());
    std::array<std::byte, 64> answer;
    absl::StatusOr<size_t> got = size_t{1};
    while (got.ok() && *got > 0) got = (*stream)->Read(answer);  // until it is closed
  }
  EXPECT_EQ(AwaitWelcome(*server.Greet()).session, 3U);
  EXPECT_EQ(server.Status().at("crashes"), 0);
}

TEST(ServerTest, ACheckIsAnsweredWithoutASession) {
  const TemporaryDirectory directory;
  directory.Write("token", kToken);
  const ServerProcess server({"--token-file", directory.File("token")});
  Hello hello;
  hello.features = offload::kFeatureCheckOnly;
  ExpectRefusal(*server.Greet(hello, {}, "a token of somebody else"), RefusalReason::kUnauthenticated,
                "the token is wrong");
  EXPECT_TRUE(server.AwaitStatus(RefusedAre(1)));
  const auto client = server.Greet(hello, {}, kToken);
  const offload::Welcome welcome = AwaitWelcome(*client);
  EXPECT_EQ(welcome.properties.driver, "soft");
  EXPECT_EQ(welcome.session, 0u);
  EXPECT_GT(welcome.memory_quota, 0u);
  EXPECT_EQ(client->AwaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server.Status().at("sessions_opened"), 0);
  EXPECT_EQ(server.Status().at("refused"), 1);
}

TEST(ServerTest, ACheckSaysHowBusyTheServerIs) {
  const ServerProcess server({"--max-sessions", "2"});
  Hello hello;
  hello.features = offload::kFeatureCheckOnly;
  const auto first = server.Greet();
  AwaitWelcome(*first);
  const offload::Welcome busy = AwaitWelcome(*server.Greet(hello));
  EXPECT_EQ(busy.session, 1u);
  EXPECT_GT(busy.memory_quota, 0u);
  const auto second = server.Greet();
  AwaitWelcome(*second);
  const offload::Welcome full = AwaitWelcome(*server.Greet(hello));
  EXPECT_EQ(full.session, 2u);
  EXPECT_EQ(full.memory_quota, 0u) << "there is no room";
}

TEST(ServerTest, ReplayWithoutAWayBackIsThereOnlyIfTheServerWasToldTo) {
  Hello hello;
  hello.features = offload::kFeatureReplay | offload::kFeatureUnsafeReplay;
  const ServerProcess server;
  ExpectRefusal(*server.Greet(hello), RefusalReason::kNotOffered,
                "use --mode replay, or start it with --unsafe-replay");
  EXPECT_TRUE(server.AwaitStatus(RefusedAre(1)));
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(0)));
  hello.features = offload::kFeatureUnsafeReplay;
  ExpectRefusal(*server.Greet(hello), RefusalReason::kNotOffered, "--unsafe-replay");

  const ServerProcess of_benchmarks({"--unsafe-replay"});
  hello.features = offload::kFeatureReplay | offload::kFeatureUnsafeReplay;
  const auto client = of_benchmarks.Greet(hello);
  EXPECT_EQ(AwaitWelcome(*client).features, hello.features);
}

TEST(ServerTest, TooManySessionsAreRefusedUntilOneEnds) {
  const ServerProcess server({"--max-sessions", "2"});
  auto first = server.Greet(), second = server.Greet();
  AwaitWelcome(*first);
  AwaitWelcome(*second);
  ExpectRefusal(*server.Greet(), RefusalReason::kFull, "the server is full");
  first.reset();
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(1)));
  AwaitWelcome(*server.Greet());
  EXPECT_TRUE(server.AwaitStatus(RefusedAre(1)));
}

TEST(ServerTest, ASessionGetsItsQuotaAndNoMore) {
  const ServerProcess server({"--memory", "64MiB"});
  Hello hello;
  hello.memory_wish = 8 << 20;
  const auto modest = server.Greet(hello);
  Welcome welcome = AwaitWelcome(*modest);
  EXPECT_EQ(welcome.memory_quota, 8U << 20);
  EXPECT_EQ(Map(*modest, welcome.arena.base, 16 << 20), CudaError::kOutOfMemory);
  hello.memory_wish = uint64_t{1} << 40;
  const auto greedy = server.Greet(hello);
  welcome = AwaitWelcome(*greedy);
  EXPECT_EQ(welcome.memory_quota, 64U << 20);
  EXPECT_EQ(Map(*greedy, welcome.arena.base, 32 << 20), CudaError::kSuccess);
  EXPECT_EQ(Map(*greedy, welcome.arena.base + (256 << 20), 40 << 20), CudaError::kOutOfMemory);
}

TEST(ServerTest, AFaultAndACrashStayWithTheirSession) {
  const ServerProcess server;
  const auto faulty = server.Greet(), doomed = server.Greet(), other = server.Greet();
  AwaitWelcome(*faulty);
  const uint64_t doomed_session = AwaitWelcome(*doomed).session;
  const Welcome welcome = AwaitWelcome(*other);
  Launch(*faulty, "wild");
  const auto fault = faulty->Ask(offload::SynchronizeDevice{});
  ASSERT_TRUE(fault.ok()) << fault.status();
  EXPECT_EQ(fault->header.fault, CudaError::kIllegalAddress);

  pid_t victim = 0;
  const nlohmann::json status = server.Status();
  for (const auto& session : status.at("sessions")) {
    if (session.at("session") == doomed_session) victim = session.at("pid");
  }
  ASSERT_GT(victim, 0) << status.dump();
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  EXPECT_EQ(doomed->AwaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status.at("crashes") == 1; }));
  EXPECT_THAT(server.Log(), HasSubstr("worker crashed"));
  EXPECT_EQ(Map(*other, welcome.arena.base, 1 << 20), CudaError::kSuccess);
}

// Takes turns on the device: more of them than one session may have in advance.
void WorkHard(RawClient& client, const Welcome& welcome) {
  constexpr uint64_t kBytes = 8 << 20;
  ASSERT_EQ(Map(client, welcome.arena.base, kBytes), CudaError::kSuccess);
  offload::Fill fill;
  fill.to.address = welcome.arena.base;
  fill.extent.width = kBytes;
  fill.element_bytes = 1;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Post(fill).ok());
  EXPECT_EQ(PostedErrorOf(client), CudaError::kSuccess);
}

const nlohmann::json& SessionIn(const nlohmann::json& status, uint64_t id) {
  for (const nlohmann::json& session : status.at("sessions")) {
    if (session.at("session") == id) return session;
  }
  ADD_FAILURE() << "no session " << id << " in " << status.dump();
  return status.at("sessions").at(0);
}

// Process ids of the server's workers.
std::vector<pid_t> WorkersOf(pid_t server) {
  std::vector<pid_t> workers;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(process.path().filename().c_str());
    std::ifstream file(process.path() / "stat");
    std::string number, name, state;
    pid_t parent = 0;
    if (pid > 0 && file >> number >> name >> state >> parent && parent == server && state != "Z") {
      workers.push_back(pid);
    }
  }
  return workers;
}

TEST(ServerTest, AClientWhoseWorkerDiesBeforeItTakesItGetsAnother) {
  ServerProcess server;
  std::vector<pid_t> idle;
  ASSERT_TRUE(Eventually([&] { return !(idle = WorkersOf(server.Process().Pid())).empty(); }));
  ASSERT_EQ(idle.size(), 1u);
  kill(idle[0], SIGSTOP);
  const auto client = server.Greet();
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status.at("connections") == 1; }));
  kill(idle[0], SIGKILL);
  EXPECT_EQ(AwaitWelcome(*client).properties.driver, "soft");
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(1)));
}

TEST(ServerTest, ASessionThatUsesUpItsWorkersMemoryIsToldAndEnds) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer has memory of its own";
  const ServerProcess server({"--memory", "640MiB", "--worker-memory", "64MiB"});
  const auto other = server.Greet();
  AwaitWelcome(*other);
  const auto client = server.Greet();
  const Welcome welcome = AwaitWelcome(*client);
  ASSERT_EQ(Map(*client, welcome.arena.base, welcome.memory_quota), CudaError::kSuccess);
  // Pieces of modules that never become whole: within the limit of modules, beyond that of the worker.
  offload::LoadModule load;
  load.final = false;
  const std::vector<std::byte> piece(size_t{15} << 20);
  for (load.module = 1; load.module <= 40 && client->Post(load, piece).ok(); ++load.module) {
  }
  const auto goodbye = client->Next(FrameKind::kGoodbye);
  ASSERT_TRUE(goodbye.ok()) << goodbye.status() << server.Log();
  EXPECT_THAT(goodbye->As<offload::Goodbye>().reason, HasSubstr("--worker-memory"));
  EXPECT_EQ(Map(*other, 0, 0), CudaError::kInvalidValue);  // is served
}

// A kernel that takes long to compile: many operations, each of which depends on many others.
std::string LongKernel(int lines) {
  std::string text = ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry long()\n{\n";
  text += ".reg .b32 %r<1000>;\n.reg .pred %p<1000>;\n";
  for (int i = 0; i < lines; ++i) {
    text += fmt::format("$l{0}:\n  setp.lt.u32 %p{1}, %r{1}, %r{2};\n  mad.lo.u32 %r{3}, %r{1}, %r{2}, %r{3};\n", i,
                        i % 1000, i * 7 % 1000, i * 13 % 1000);
    text += fmt::format("  @%p{} bra $l{};\n", i % 1000, i * 31 % lines);
  }
  return text + "  ret;\n}\n";
}

TEST(ServerTest, CodeThatTakesLongToCompileIsAnErrorOfItsKernel) {
  if (kSanitized) GTEST_SKIP() << "reading the code, which a sanitizer slows down, takes longer than compiling it";
  const ServerProcess server({"--compile-limit", "3s"});
  const auto client = server.Greet();
  AwaitWelcome(*client);
  offload::LoadModule load;
  load.module = 100;
  const std::vector<std::byte> text = Bytes(LongKernel(10'000));
  ASSERT_TRUE(client->Post(load, text).ok());
  offload::DefineFunction define;
  define.function = 101;
  define.module = 100;
  define.name = "long";
  ASSERT_TRUE(client->Post(define).ok());
  offload::Launch launch;
  launch.function = 101;
  ASSERT_TRUE(client->Post(launch).ok());
  const auto answered = client->Ask(offload::SynchronizeDevice{});
  ASSERT_TRUE(answered.ok()) << answered.status() << server.Log();
  EXPECT_EQ(answered->header.posted_error, CudaError::kInvalidPtx);
}

TEST(ServerTest, AnEndlessKernelAndADeadWorkerKeepNobodyFromTheDevice) {
  const ServerProcess server;
  const auto endless = server.Greet(), other = server.Greet();
  const Welcome doomed = AwaitWelcome(*endless), welcome = AwaitWelcome(*other);
  Launch(*endless, "spin");
  EXPECT_TRUE(endless->Ask(offload::Acknowledge{}).ok());
  WorkHard(*other, welcome);
  const nlohmann::json status = server.Status();
  ASSERT_EQ(kill(SessionIn(status, doomed.session).at("pid").get<pid_t>(), SIGKILL), 0);
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(1)));
  const nlohmann::json after = server.Status();
  EXPECT_GT(SessionIn(after, welcome.session).at("device_ms"), 0);
  EXPECT_EQ(SessionIn(after, welcome.session).at("device_share"), 1.0);
}

TEST(ServerTest, WithoutSharesNobodyWaitsAndNothingIsCounted) {
  const ServerProcess server({"--share", "none"});
  const auto client = server.Greet(), another = server.Greet();
  const Welcome welcome = AwaitWelcome(*client);
  AwaitWelcome(*another);
  WorkHard(*client, welcome);
  EXPECT_TRUE(another->SendControl(FrameKind::kGoodbye, offload::Goodbye{}).ok());
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(1)));
  const nlohmann::json status = server.Status();
  EXPECT_EQ(SessionIn(status, welcome.session).at("device_ms"), 0);
}

TEST(ServerTest, AClientThatVanishesDuringAnEndlessKernelFreesItsWorker) {
  const ServerProcess server;
  auto client = server.Greet();
  AwaitWelcome(*client);
  Launch(*client, "spin");
  EXPECT_TRUE(client->Ask(offload::Acknowledge{}).ok());
  ASSERT_TRUE(server.AwaitStatus(SessionsAre(1)));
  const pid_t worker = server.Status().at("sessions").at(0).at("pid");
  client.reset();
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(0)));
  EXPECT_TRUE(Gone(worker));
  EXPECT_EQ(server.Status().at("crashes"), 0);
}

TEST(ServerTest, AKilledClientFreesItsWorker) {
  const ServerProcess server;
  const TemporaryDirectory directory;
  // A process of its own that says Hello and then waits for more than it gets.
  const std::vector<std::byte> head = wire::Encode(Hello{});
  std::array<std::byte, link::kFrameHeaderBytes> header;
  link::EncodeFrameHeader(
      {.kind = static_cast<uint16_t>(FrameKind::kHello), .head_bytes = static_cast<uint32_t>(head.size())}, header);
  std::string hello(reinterpret_cast<const char*>(header.data()), header.size());
  hello.append(reinterpret_cast<const char*>(head.data()), head.size());
  directory.Write("hello", hello);
  const std::string port = server.Address().substr(server.Address().rfind(':') + 1);
  Child client({"/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port + "; cat >&3; read -u 3 -N 1000000000"},
               directory.File("output"), directory.File("error"), directory.File("hello"));
  ASSERT_TRUE(server.AwaitStatus(SessionsAre(1)));
  const pid_t worker = server.Status().at("sessions").at(0).at("pid");
  client.Signal(SIGKILL);
  client.AwaitExit();
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(0)));
  EXPECT_TRUE(Gone(worker));
}

TEST(ServerTest, ASilentClientIsLetGo) {
  const ServerProcess server({"--idle-timeout", "1s"});
  const auto client = server.Greet();
  AwaitWelcome(*client);
  // The bare client answers no ping.
  EXPECT_TRUE(client->Next(FrameKind::kPing).ok());
  const auto goodbye = client->Next(FrameKind::kGoodbye);
  ASSERT_TRUE(goodbye.ok()) << goodbye.status();
  EXPECT_THAT(goodbye->As<offload::Goodbye>().reason, HasSubstr("nothing was heard"));
  EXPECT_TRUE(server.AwaitStatus(SessionsAre(0)));
}

TEST(ServerTest, AConnectionThatSaysNothingIsClosed) {
  const ServerProcess server({"--hello-timeout", "0.2s"});
  auto stream = server.Connect();
  ASSERT_TRUE(stream.ok());
  RawClient client(*std::move(stream));
  EXPECT_EQ(client.AwaitClosed().code(), absl::StatusCode::kUnavailable);
}

TEST(ServerTest, AConnectionThatSaysTooLittleIsRefused) {
  const ServerProcess server({"--hello-timeout", "0.2s"});
  auto stream = server.Connect();
  ASSERT_TRUE(stream.ok());
  const std::vector<std::byte> beginning(link::kFrameHeaderBytes - 1);
  const std::span<const std::byte> piece(beginning);
  ASSERT_TRUE((*stream)->Write({&piece, 1}).ok());
  RawClient client(*std::move(stream));
  EXPECT_EQ(client.AwaitClosed().code(), absl::StatusCode::kUnavailable);
}

TEST(ServerTest, TermDrainsAndEndsWithZero) {
  ServerProcess server({"--drain-timeout", "2s"});
  const auto client = server.Greet();
  AwaitWelcome(*client);
  server.Process().Signal(SIGTERM);
  ASSERT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status.at("draining") == true; }));
  EXPECT_FALSE(server.Connect().ok());
  const auto goodbye = client->Next(FrameKind::kGoodbye);
  ASSERT_TRUE(goodbye.ok()) << goodbye.status();
  EXPECT_THAT(goodbye->As<offload::Goodbye>().reason, HasSubstr("shutting down"));
  EXPECT_EQ(server.Process().AwaitExit(), 0);
  EXPECT_THAT(server.Log(), HasSubstr("stopped"));
}

TEST(ServerTest, DrainingKillsWhatDoesNotEnd) {
  ServerProcess server({"--drain-timeout", "0s"});
  const auto client = server.Greet();
  AwaitWelcome(*client);
  Launch(*client, "spin");
  EXPECT_TRUE(client->Ask(offload::Acknowledge{}).ok());
  server.Process().Signal(SIGTERM);
  EXPECT_EQ(server.Process().AwaitExit(), 0);
  EXPECT_EQ(client->AwaitClosed().code(), absl::StatusCode::kUnavailable);
}

TEST(ServerTest, WorkersDieWithTheirServer) {
  ServerProcess server;
  const auto client = server.Greet();
  AwaitWelcome(*client);
  ASSERT_TRUE(server.AwaitStatus(SessionsAre(1)));
  const pid_t worker = server.Status().at("sessions").at(0).at("pid");
  server.Process().Signal(SIGKILL);
  EXPECT_EQ(server.Process().AwaitExit(), 128 + SIGKILL);
  EXPECT_EQ(client->AwaitClosed().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Eventually([worker] { return Gone(worker); }));
}

TEST(ServerTest, AWorkerCanDoLittleAndKnowsNoSecretItNeedNot) {
  const TemporaryDirectory directory;
  directory.Write("token", kToken);
  const ServerProcess server({"--token-file", directory.File("token")});
  const auto client = server.Greet({}, {}, kToken);
  AwaitWelcome(*client);
  ASSERT_TRUE(server.AwaitStatus(SessionsAre(1)));
  const std::string proc = fmt::format("/proc/{}/", server.Status().at("sessions").at(0).at("pid").get<int>());
  const auto read = [&proc](const char* name) {
    std::ifstream file(proc + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_THAT(read("status"), HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(read("status"), HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(read("limits"), ::testing::ContainsRegex("Max core file size +0 +0"));
  EXPECT_EQ(read("oom_score_adj"), "500\n");
  EXPECT_THAT(read("cmdline"), Not(HasSubstr(kToken)));
  EXPECT_THAT(read("environ"), Not(HasSubstr(kToken)));
}

TEST(ServerTest, CountersAreLoggedOnRequest) {
  ServerProcess server;
  AwaitWelcome(*server.Greet());
  ASSERT_TRUE(server.AwaitStatus([](const nlohmann::json& status) { return status.at("sessions_closed") == 1; }));
  server.Process().Signal(SIGUSR1);
  EXPECT_TRUE(Eventually([&] { return server.Log().find("counters sessions=0") != std::string::npos; }));
}

TEST(ServerTest, AUnixSocketIsServedAndRemoved) {
  const TemporaryDirectory directory;
  ServerProcess server({}, "unix:" + directory.File("socket"));
  AwaitWelcome(*server.Greet());
  server.Process().Signal(SIGTERM);
  EXPECT_EQ(server.Process().AwaitExit(), 0);
  EXPECT_FALSE(std::filesystem::exists(directory.File("socket")));
}

TEST(ServerTlsTest, EncryptsForWhoTrustsTheCertificate) {
  const TemporaryDirectory directory;
  MakeIdentity(directory, "server");
  MakeIdentity(directory, "other");
  const ServerProcess server({"--tls-cert", directory.File("server.crt"), "--tls-key", directory.File("server.key")});
  link::ConnectOptions options;
  options.tls = link::TlsClientOptions{.ca_file = directory.File("server.crt")};
  AwaitWelcome(*server.Greet({}, options));
  options.tls->ca_file = directory.File("other.crt");
  EXPECT_EQ(server.Connect(options).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST(ServerTlsTest, MutualTlsWantsTheClientsCertificate) {
  const TemporaryDirectory directory;
  for (const char* name : {"server", "client", "stranger"}) MakeIdentity(directory, name);
  const ServerProcess server({"--tls-cert", directory.File("server.crt"), "--tls-key", directory.File("server.key"),
                              "--tls-client-ca", directory.File("client.crt")});
  link::ConnectOptions options;
  options.tls = link::TlsClientOptions{.ca_file = directory.File("server.crt"),
                                       .certificate_file = directory.File("client.crt"),
                                       .key_file = directory.File("client.key")};
  AwaitWelcome(*server.Greet({}, options));
  options.tls->certificate_file = directory.File("stranger.crt");
  options.tls->key_file = directory.File("stranger.key");
  // In TLS 1.3 the client learns of its refusal when it next reads.
  const auto stranger = server.Greet({}, options);
  if (stranger != nullptr) {
    EXPECT_FALSE(stranger->Next(FrameKind::kWelcome).ok());
  }
  EXPECT_EQ(server.Status().at("sessions_opened"), 1);
}

}  // namespace
}  // namespace wharf::server
