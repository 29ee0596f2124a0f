// wharf-relay as a process: what comes through it, what it sees, and how it ends.
#include "wharf/ar/relay/relay_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "wharf/ar/connection.h"
#include "wharf/ar/relay/picture.h"
#include "wharf/ar/relay/relay.h"
#include "wharf/base/sandbox/policies.h"
#include "wharf/cli/relay/relay_arguments.h"
#include "wharf/link/testing.h"
#include "wharf/server/front/self_signed.h"
#include "wharf/split/codec/jpeg.h"

namespace wharf::cli {
namespace {

using ::testing::HasSubstr;

constexpr Nanoseconds kPatience = std::chrono::seconds(60);

// Processes of a process of ours.
std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code gone;
  const std::filesystem::path tasks = "/proc/" + std::to_string(parent) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    std::ifstream file(task.path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

void Await(const std::function<bool()>& condition) {
  while (!condition()) Clock::Real().SleepFor(std::chrono::milliseconds(1));
}

// The server's half of a session: lets the client in, and keeps what comes.
struct ServersEnd {
  explicit ServersEnd(std::unique_ptr<link::ByteStream> stream)
      : peer(stream->Peer()), channel(link::Channel::Create(std::move(stream), {.limits = ar::kRelayFrameLimits})) {
    heard.on_frame = [this](const link::FrameHeader& header, auto) {
      if (static_cast<ar::FrameKind>(header.kind) == ar::FrameKind::kHello)
        SendMessage(*channel, ar::FrameKind::kWelcome, ar::Welcome()).IgnoreError();
      return absl::OkStatus();
    };
    channel->Start(&heard);
  }
  ~ServersEnd() { channel->Stop(); }

  const std::string peer;
  link::Recorder heard;
  std::unique_ptr<link::Channel> channel;
};

class Deaf final : public ar::ConnectionListener {
  void OnResult(const ar::Result&, int64_t, std::vector<std::byte>) override {}
  void OnFailed(ar::Task, int64_t, const absl::Status&) override {}
  void OnClosed(const absl::Status&) override {}
};

ar::Hello HelloOf(int width, int height) {
  ar::Hello hello;
  hello.tasks = 1;
  hello.width = width;
  hello.height = height;
  hello.fx = hello.fy = 20;
  return hello;
}

scene::Image PictureOf(int width, int height) {
  scene::Image picture{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
  for (size_t i = 0; i < picture.rgb.size(); ++i) picture.rgb[i] = static_cast<uint8_t>(i / 7 % 251);
  return picture;
}

class RelayProcessTest : public ::testing::Test {
 protected:
  void StartStarter(const RelayArguments& arguments, Isolation isolation = Isolation::kNone) {
    auto process = ar::RelayStarter::StartProcess(WHARF_RELAY, isolation, ToArguments(arguments));
    ASSERT_TRUE(process.ok()) << process.status();
    starter_.emplace(std::move(process->process));
    relays_ = ar::RelayStarter::At(process->socket);
  }
  // Of this test; gone with it.
  const std::filesystem::path& Folder() {
    std::string name = ::testing::TempDir() + "/wharf-relay-XXXXXX";
    if (!folder_) folder_ = mkdtemp(name.data());
    return *folder_;
  }
  void TearDown() override {
    if (folder_) std::filesystem::remove_all(*folder_);
    relays_.reset();
    if (!starter_) return;
    EXPECT_EQ(starter_->Wait(), ProcessEnd()) << "it ends with the server";
  }
  // The client's end of a connection, and the server's behind a relay.
  std::pair<int, std::unique_ptr<ServersEnd>> Connect() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    auto stream = relays_->Start(ends[0]);
    EXPECT_TRUE(stream.ok()) << stream.status();
    return {ends[1], stream.ok() ? std::make_unique<ServersEnd>(*std::move(stream)) : nullptr};
  }
  void ExpectPictures(ar::Connection& client, ServersEnd& server, int width, int height) {
    const scene::Image picture = PictureOf(width, height);
    const auto jpeg = split::EncodeJpeg({width, height, 3, picture.rgb}, 90);
    const auto expected = ar::DecodePicture(*jpeg, width, height);
    server.heard.Take(1);  // the Hello
    for (int64_t frame = 0; frame < 3; ++frame) {
      ASSERT_EQ(client.Send(frame, 1, picture, 90), absl::OkStatus());
      const auto frames = server.heard.Take(1);
      ASSERT_EQ(frames.size(), 1u);
      EXPECT_EQ(frames[0].header.tag, static_cast<uint64_t>(frame));
      EXPECT_TRUE(std::ranges::equal(frames[0].bulk, std::as_bytes(std::span(expected->rgb))));
    }
  }
  absl::StatusOr<std::unique_ptr<ar::Connection>> Open(int socket, int width = 48, int height = 32,
                                                       const std::string& token = "") {
    return ar::Connection::Open(link::FromSocket(socket), HelloOf(width, height), token, deaf_, kPatience);
  }
  std::optional<std::filesystem::path> folder_;
  Deaf deaf_;
  std::optional<Subprocess> starter_;
  std::unique_ptr<ar::RelayStarter> relays_;
};

const RelayArguments kOpen{.listen = "127.0.0.1:0", .access = {}};

TEST_F(RelayProcessTest, PicturesOfAnySizeComeThrough) {
  ASSERT_NO_FATAL_FAILURE(StartStarter(kOpen));
  for (const auto& [width, height] : {std::pair(48, 32), std::pair(4096, 4096)}) {
    const auto [socket, server] = Connect();
    const auto client = Open(socket, width, height);
    ASSERT_TRUE(client.ok()) << client.status();
    EXPECT_EQ(server->peer, "unix");
    ExpectPictures(**client, *server, width, height);
  }
}

TEST_F(RelayProcessTest, TheTokenIsTheRelaysAffair) {
  const std::string token = "0123456789abcdef0123456789abcdef";
  const std::filesystem::path file = Folder() / "token";
  std::ofstream(file) << token;
  ASSERT_NO_FATAL_FAILURE(StartStarter({"127.0.0.1:0", {.token_file = file}}));
  {
    const auto [socket, server] = Connect();
    EXPECT_EQ(Open(socket, 48, 32, "another").status().code(), absl::StatusCode::kUnauthenticated);
    const auto frames = server->heard.Take(1);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(static_cast<ar::FrameKind>(frames[0].header.kind), ar::FrameKind::kGoodbye);
  }
  const auto [socket, server] = Connect();
  const auto client = Open(socket, 48, 32, token);
  ASSERT_TRUE(client.ok()) << client.status();
  ExpectPictures(**client, *server, 48, 32);
}

TEST_F(RelayProcessTest, SoIsTheEncryption) {
  const auto pair = server::FindSelfSigned(Folder() / "tls");
  ASSERT_TRUE(pair.ok()) << pair.status();
  ASSERT_NO_FATAL_FAILURE(StartStarter({"127.0.0.1:0", {.tls_certificate = pair->certificate, .tls_key = pair->key}},
                                       FindIsolation().value_or(Isolation::kNone)));
  const auto listener = link::Listener::Create("127.0.0.1:0");
  ASSERT_TRUE(listener.ok());
  std::unique_ptr<ServersEnd> server;
  std::thread accepting([&] {
    const auto connection = (*listener)->Accept();
    if (connection.ok()) server = std::make_unique<ServersEnd>(*relays_->Start(*connection));
  });
  auto stream =
      link::Connect((*listener)->Address(), {.tls = link::TlsClientOptions{.fingerprint = pair->fingerprint}});
  accepting.join();
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_THAT(server->peer, testing::StartsWith("127.0.0.1:"));
  const auto client = ar::Connection::Open(*std::move(stream), HelloOf(48, 32), "", deaf_, kPatience);
  ASSERT_TRUE(client.ok()) << client.status();
  ExpectPictures(**client, *server, 48, 32);
}

TEST_F(RelayProcessTest, WhatItCannotReadTheServerHears) {
  ASSERT_NO_FATAL_FAILURE(StartStarter({"127.0.0.1:0", {.token_file = "/nowhere/token"}}));
  const auto [socket, server] = Connect();
  const auto frames = server->heard.Take(1);
  ASSERT_EQ(frames.size(), 1u);
  const auto goodbye = wire::Decode<ar::Goodbye>(link::AsBytes(frames[0].head));
  EXPECT_THAT(goodbye->message, HasSubstr("cannot read the token file"));
  EXPECT_FALSE(Open(socket).ok());
}

TEST_F(RelayProcessTest, SeesNeitherFilesNorProcessesNorTheNetwork) {
  if (geteuid() != 0) GTEST_SKIP() << "only root sees what another process sees";
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps the files";
  const auto isolation = FindIsolation();
  if (!isolation.ok()) GTEST_SKIP() << isolation.status();
  ASSERT_NO_FATAL_FAILURE(StartStarter(kOpen, *isolation));
  const auto [socket, server] = Connect();
  const auto client = Open(socket);
  ASSERT_TRUE(client.ok()) << client.status();
  const std::vector<pid_t> relays = ChildrenOf(starter_->Pid());
  ASSERT_EQ(relays.size(), 1u);
  const std::filesystem::path process = "/proc/" + std::to_string(relays[0]);
  EXPECT_TRUE(std::filesystem::is_empty(process / "root/."));
  for (const char* const kind : {"mnt", "pid", "net", "ipc", "uts"}) {
    EXPECT_NE(std::filesystem::read_symlink(process / "ns" / kind),
              std::filesystem::read_symlink(std::filesystem::path("/proc/self/ns") / kind));
  }
}

TEST_F(RelayProcessTest, HasNoLogToWriteToOrShutDown) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer reports there";
  ASSERT_NO_FATAL_FAILURE(StartStarter(kOpen));
  const auto [socket, server] = Connect();
  const auto client = Open(socket);
  ASSERT_TRUE(client.ok()) << client.status();
  const std::filesystem::path descriptors = "/proc/" + std::to_string(ChildrenOf(starter_->Pid()).at(0)) + "/fd";
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    EXPECT_EQ(std::filesystem::read_symlink(descriptors / std::to_string(standard)), "/dev/null");
  }
}

TEST_F(RelayProcessTest, ItsDeathIsTheEndOfOneSession) {
  ASSERT_NO_FATAL_FAILURE(StartStarter(kOpen));
  const auto [socket, server] = Connect();
  const auto client = Open(socket);
  ASSERT_TRUE(client.ok()) << client.status();
  kill(ChildrenOf(starter_->Pid()).at(0), SIGKILL);
  EXPECT_EQ(server->heard.WaitClosed().code(), absl::StatusCode::kUnavailable);
  const auto [other_socket, other_server] = Connect();
  const auto other = Open(other_socket);
  ASSERT_TRUE(other.ok()) << other.status();
  ExpectPictures(**other, *other_server, 48, 32);
}

// One that does nothing any more has to be made to end.
TEST_F(RelayProcessTest, ARelayEndsWithItsStream) {
  ASSERT_NO_FATAL_FAILURE(StartStarter(kOpen));
  for (const bool stopped : {false, true}) {
    auto [socket, server] = Connect();
    const auto client = Open(socket);
    ASSERT_TRUE(client.ok()) << client.status();
    const std::vector<pid_t> relays = ChildrenOf(starter_->Pid());
    ASSERT_EQ(relays.size(), 1u);
    if (stopped) kill(relays[0], SIGSTOP);
    server.reset();
    Await([&] { return ChildrenOf(starter_->Pid()).empty(); });
  }
}

TEST_F(RelayProcessTest, AllEndWithTheirStarter) {
  ASSERT_NO_FATAL_FAILURE(StartStarter(kOpen));
  const auto [socket, server] = Connect();
  const auto client = Open(socket);
  ASSERT_TRUE(client.ok()) << client.status();
  relays_.reset();
  EXPECT_EQ(std::exchange(starter_, std::nullopt)->Wait(), ProcessEnd());
  EXPECT_EQ(server->heard.WaitClosed().code(), absl::StatusCode::kUnavailable);
}

TEST_F(RelayProcessTest, WithoutAStarterThereIsNone) {
  ASSERT_NO_FATAL_FAILURE(StartStarter(kOpen));
  std::exchange(starter_, std::nullopt)->Signal(SIGKILL);
  absl::Status started;
  do {  // it may take a moment to die
    started = relays_->Start(dup(STDERR_FILENO)).status();
  } while (started.ok());
  EXPECT_EQ(started.code(), absl::StatusCode::kUnavailable);
}

TEST(RelayProgramTest, OneThatIsNotThereIsNotStarted) {
  EXPECT_EQ(ar::RelayStarter::StartProcess("/nowhere/wharf-relay", Isolation::kNone, {}).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace wharf::cli
