// Sockets, addresses and what they say when something is wrong.
#include "wharf/link/byte_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "wharf/link/address.h"
#include "wharf/link/channel.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(AddressTest, ParsesEveryForm) {
  EXPECT_EQ(ParseAddress("edge.test:7070")->host, "edge.test");
  EXPECT_EQ(ParseAddress("edge.test:7070")->port, "7070");
  EXPECT_EQ(ParseAddress("[::1]:80")->host, "::1");
  EXPECT_TRUE(ParseAddress("unix:/tmp/x:1")->is_unix);
  EXPECT_EQ(ParseAddress("unix:/tmp/x:1")->host, "/tmp/x:1");
}

TEST(AddressTest, RefusesOthersAndSaysWhatAnAddressIs) {
  for (const char* text : {"", "edge.test", ":7070", "edge.test:", "edge.test:http", "edge.test:65536", "edge.test:-1",
                           "::1:80", "unix:", "[]:80", "host:80 "}) {
    const auto status = ParseAddress(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(ToString(status), HasSubstr("HOST:PORT")) << text;
  }
  EXPECT_EQ(Connect("nonsense").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Connect("127.0.0.1:0").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Connect("unix:/" + std::string(200, 'x')).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Listener::Create("nonsense").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(AddressTest, KnowsANumberFromANameAndAFile) {
  for (const char* text : {"192.0.2.1:7090", "[2001:db8::1]:7090", "[::1]:80"}) {
    EXPECT_EQ(CheckNumber(text), absl::OkStatus()) << text;
  }
  for (const char* text : {"localhost:7090", "10.0.0:7090", "unix:/tmp/10.0.0.7:7090", "[fe80::1%eth0]:7090", "7090"}) {
    EXPECT_EQ(CheckNumber(text).code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ConnectTest, ByNumberNothingElseIsTried) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  const std::string port = listener->Address().substr(listener->Address().rfind(':'));
  const ConnectOptions options{.tls = std::nullopt, .tls_client = nullptr, .by_number = true};
  EXPECT_TRUE(Connect(listener->Address(), options).ok());
  EXPECT_EQ(Connect("localhost" + port, options).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Connect("unix:/tmp/wharf", options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ListenerTest, TellsItsRealPort) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  EXPECT_THAT(listener->Address(), testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
}

TEST(ListenerTest, APortInUseIsSaidSo) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  const auto status = Listener::Create(listener->Address()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(ToString(status), HasSubstr("is in use"));
}

TEST(ListenerTest, ShutdownEndsAcceptNowAndLater) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  std::thread waiting([&] { EXPECT_EQ(listener->Accept().status().code(), absl::StatusCode::kAborted); });
  listener->Shutdown();
  waiting.join();
  EXPECT_EQ(listener->Accept().status().code(), absl::StatusCode::kAborted);
}

TEST(ListenerTest, AUnixSocketOfADeadServerIsTakenOverThatOfALiveOneIsNot) {
  const std::string path = fmt::format("{}wharf_listener_{}", testing::TempDir(), getpid());
  const int dead = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const SocketAddress where = Resolve(ParseAddress("unix:" + path).value(), true)->front();
  ASSERT_EQ(bind(dead, where.get(), where.length), 0);
  close(dead);  // the file stays
  auto listener = Listener::Create("unix:" + path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(Listener::Create("unix:" + path).status().code(), absl::StatusCode::kAlreadyExists);
  listener->reset();
  EXPECT_NE(access(path.c_str(), F_OK), 0);  // and is gone with its listener
}

TEST(ConnectTest, NoServerIsSaidSo) {
  std::string address;
  {
    auto listener = Listener::Create("127.0.0.1:0").value();
    address = listener->Address();
  }
  const auto status = Connect(address).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ToString(status), HasSubstr("no server answers at " + address));
  EXPECT_EQ(Connect("unix:/nowhere/at/all").status().code(), absl::StatusCode::kUnavailable);
}

TEST(ConnectTest, AServerThatDoesNotAnswerIsGivenUp) {
  // A listening socket whose backlog is full drops further attempts.
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(in);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&in), length), 0);
  ASSERT_EQ(listen(fd, 0), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&in), &length), 0);
  const std::string address = fmt::format("127.0.0.1:{}", ntohs(in.sin_port));
  ConnectOptions options;
  options.timeout = milliseconds(100);
  std::vector<std::unique_ptr<ByteStream>> accepted;
  absl::Status status;
  for (int i = 0; i < 10 && status.ok(); ++i) {
    auto stream = Connect(address, options);
    status = stream.status();
    if (stream.ok()) accepted.push_back(*std::move(stream));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  close(fd);
}

struct Sockets {
  std::unique_ptr<ByteStream> client, server;
  int server_fd = -1;  // owned by `server`
};

Sockets TcpPair() {
  auto listener = Listener::Create("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async, [&] { return listener->Accept().value(); });
  Sockets sockets;
  sockets.client = Connect(listener->Address()).value();
  sockets.server_fd = accepted.get();
  sockets.server = FromSocket(sockets.server_fd);
  return sockets;
}

int Option(int fd, int level, int option) {
  int value = -1;
  socklen_t length = sizeof(value);
  EXPECT_EQ(getsockopt(fd, level, option, &value, &length), 0);
  return value;
}

TEST(SocketStreamTest, OptionsForALinkThatMayGoAway) {
  const Sockets sockets = TcpPair();
  EXPECT_EQ(Option(sockets.server_fd, IPPROTO_TCP, TCP_NODELAY), 1);
  EXPECT_EQ(Option(sockets.server_fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_NE(fcntl(sockets.server_fd, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(fcntl(sockets.server_fd, F_GETFL) & O_NONBLOCK, 0);
}

TEST(SocketStreamTest, KnowsItsPeerAndTheKernelsView) {
  const Sockets sockets = TcpPair();
  EXPECT_THAT(sockets.client->Peer(), testing::StartsWith("127.0.0.1:"));
  EXPECT_TRUE(sockets.client->IsLocal());
  EXPECT_GT(sockets.client->Info().value_or(TransportInfo()).smoothed_rtt, Nanoseconds{0});
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  auto one = FromSocket(fds[0]);
  auto other = FromSocket(fds[1]);
  EXPECT_EQ(one->Peer(), "unix");
  EXPECT_TRUE(one->IsLocal());
  EXPECT_FALSE(one->Info().has_value());
}

TEST(SocketStreamTest, WritesManyPiecesInOrder) {
  Sockets sockets = TcpPair();
  std::vector<std::vector<std::byte>> data;
  std::vector<std::span<const std::byte>> pieces;
  std::vector<std::byte> expected;
  for (uint32_t i = 0; i < 500; ++i) data.push_back(Pattern(i % 5 == 0 ? 0 : i * 13, i));
  for (const auto& piece : data) {
    pieces.emplace_back(piece);
    expected.insert(expected.end(), piece.begin(), piece.end());
  }
  std::thread writer([&] {
    EXPECT_TRUE(sockets.client->Write(pieces).ok());
    sockets.client->FinishWriting();
  });
  std::vector<std::byte> got;
  std::byte buffer[10'000];
  while (true) {
    const size_t count = sockets.server->Read(buffer).value();
    if (count == 0) break;
    got.insert(got.end(), buffer, buffer + count);
  }
  writer.join();
  EXPECT_EQ(got, expected);
}

TEST(SocketStreamTest, WritingToAClosedPeerIsAnErrorAndNoSignal) {
  Sockets sockets = TcpPair();
  sockets.server.reset();
  const auto bytes = Pattern(1 << 20);
  const std::span<const std::byte> piece(bytes);
  absl::Status status;
  for (int i = 0; i < 1000 && status.ok(); ++i) status = sockets.client->Write(std::span(&piece, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

TEST(ForkTest, TheChildsCopyIsDeadAndTheParentsGoesOn) {
  Sockets sockets = TcpPair();
  Recorder at_a, at_b;
  auto a = Channel::Create(std::move(sockets.client));
  auto b = Channel::Create(std::move(sockets.server));
  a->Start(&at_a);
  b->Start(&at_b);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = a->Send(1, 1, {}).code() == absl::StatusCode::kFailedPrecondition;
    a->Close(seconds(1));
    a.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(a->Send(1, 2, AsBytes("still here")).ok());
  EXPECT_EQ(at_b.Take(1).at(0).head, "still here");
}

TEST(UnixSocket, AFileThatIsNoSocketStaysWhereItIs) {
  const std::string path = fmt::format("{}wharf_link_file_{}", testing::TempDir(), getpid());
  std::ofstream(path) << "precious";
  EXPECT_EQ(Listener::Create("unix:" + path).status().code(), absl::StatusCode::kAlreadyExists);
  std::string text;
  EXPECT_TRUE(std::getline(std::ifstream(path), text));
  EXPECT_EQ(text, "precious");
  unlink(path.c_str());
}

}  // namespace
}  // namespace wharf::link
