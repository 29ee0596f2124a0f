// Acceptors whose listener fails, and real ones; nobody on this machine has another address than loopback, so a
// per-address limit is tested with Handshakes alone.
#include "wharf/server/front/acceptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "wharf/server/front/stream_server.h"

namespace wharf::server {
namespace {

// Accepts what it is told to, then nothing until it is shut down. Thread-safe.
class FakeListener final : public link::Listener {
 public:
  explicit FakeListener(std::deque<absl::StatusOr<int>> accepted) : accepted_(std::move(accepted)) {}
  std::string Address() const override { return "fake"; }
  absl::StatusOr<int> Accept() override {
    const auto any = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return shut_down_ || !accepted_.empty(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&any));
    if (shut_down_) return Aborted("shut down");
    absl::StatusOr<int> next = accepted_.front();
    accepted_.pop_front();
    return next;
  }
  void Shutdown() override {
    absl::MutexLock lock(&mutex_);
    shut_down_ = true;
  }

 private:
  absl::Mutex mutex_;
  std::deque<absl::StatusOr<int>> accepted_ ABSL_GUARDED_BY(mutex_);
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
};

// Keeps what is accepted. Thread-safe.
class Accepted {
 public:
  ~Accepted() {
    for (const int socket : sockets_) close(socket);
  }
  Acceptor::OnConnection Keep() {
    return [this](int socket, Handshake handshake) {
      absl::MutexLock lock(&mutex_);
      sockets_.push_back(socket);
      handshakes_.push_back(std::move(handshake));
    };
  }
  std::vector<int> Await(size_t count) {
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return sockets_.size() >= count; };
    absl::MutexLock lock(&mutex_, absl::Condition(&enough));
    return sockets_;
  }
  void EndHandshakes() {
    absl::MutexLock lock(&mutex_);
    handshakes_.clear();
  }

 private:
  absl::Mutex mutex_;
  std::vector<int> sockets_ ABSL_GUARDED_BY(mutex_);
  std::vector<Handshake> handshakes_ ABSL_GUARDED_BY(mutex_);
};

int ASocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

TEST(AcceptorTest, ErrorsOfTheSystemDoNotEndIt) {
  const int first = ASocket(), second = ASocket();
  Accepted accepted;
  Acceptor acceptor(std::make_unique<FakeListener>(std::deque<absl::StatusOr<int>>{
                        ErrnoStatus(EMFILE, "accepting"), ErrnoStatus(ENFILE, "accepting"), first,
                        ErrnoStatus(ENOMEM, "accepting"), Internal("anything"), second}),
                    accepted.Keep());
  EXPECT_EQ(accepted.Await(2), (std::vector{first, second}));
}

TEST(AcceptorTest, StopEndsAPause) {
  Accepted accepted;
  std::deque<absl::StatusOr<int>> failures(1000, ErrnoStatus(EMFILE, "accepting"));
  Acceptor acceptor(std::make_unique<FakeListener>(std::move(failures)), accepted.Keep());
  acceptor.Stop();
  acceptor.Stop();
  EXPECT_EQ(accepted.Await(0).size(), 0u);
}

// Tells when accepting failed.
class WatchedListener final : public link::Listener {
 public:
  explicit WatchedListener(std::unique_ptr<link::Listener> listener) : listener_(std::move(listener)) {}
  std::string Address() const override { return listener_->Address(); }
  absl::StatusOr<int> Accept() override {
    absl::StatusOr<int> accepted = listener_->Accept();
    absl::MutexLock lock(&mutex_);
    if (!accepted.ok()) failure_ = accepted.status();
    return accepted;
  }
  void Shutdown() override { listener_->Shutdown(); }
  absl::Status AwaitFailure() {
    const auto failed = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !failure_.ok(); };
    absl::MutexLock lock(&mutex_, absl::Condition(&failed));
    return failure_;
  }

 private:
  const std::unique_ptr<link::Listener> listener_;
  absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

TEST(AcceptorTest, WithoutDescriptorsConnectionsWait) {
  std::string folder = (std::filesystem::temp_directory_path() / "wharf-acceptor-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder + "/socket";
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  auto listener = link::Listener::Create("unix:" + path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  auto watched = std::make_unique<WatchedListener>(*std::move(listener));
  WatchedListener& watch = *watched;
  {
    Accepted accepted;
    Acceptor acceptor(std::move(watched), accepted.Keep());
    const int client = ASocket();
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);  // the lowest that is free
    close(next);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none_left{static_cast<rlim_t>(next), before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
    const int connected = connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    const absl::Status failure = connected == 0 ? watch.AwaitFailure() : absl::OkStatus();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_EQ(connected, 0);
    EXPECT_EQ(failure.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(accepted.Await(1).size(), 1u);
    close(client);
  }
  std::filesystem::remove_all(folder);
}

TEST(AcceptorTest, WhatIsMoreThanTheLimitWaits) {
  auto listener = link::Listener::Create("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  Accepted accepted;
  Acceptor acceptor(*std::move(listener), accepted.Keep(), {.in_all = 2, .per_address = 1});
  std::vector<std::unique_ptr<link::ByteStream>> clients;
  for (int i = 0; i < 3; ++i) {
    auto client = link::Connect(acceptor.Address());
    ASSERT_TRUE(client.ok()) << client.status();
    clients.push_back(*std::move(client));
  }
  EXPECT_EQ(accepted.Await(2).size(), 2u);  // loopback has no limit of its own
  accepted.EndHandshakes();
  EXPECT_EQ(accepted.Await(3).size(), 3u);
}

TEST(StreamServerTest, ServesUntilItIsDestroyed) {
  auto listener = link::Listener::Create("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::string address;
  std::vector<std::byte> greeting(5);
  {
    const StreamServer server(*std::move(listener), std::nullopt, [](std::unique_ptr<link::ByteStream> stream) {
      const std::span<const std::byte> hello = std::as_bytes(std::span("hello", 5));
      EXPECT_EQ(stream->Write(std::span(&hello, 1)), absl::OkStatus());
    });
    address = server.Address();
    const auto client = link::Connect(address);
    ASSERT_TRUE(client.ok()) << client.status();
    for (size_t got = 0; got < greeting.size();) {
      const auto read = (*client)->Read(std::span(greeting).subspan(got));
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_GT(*read, 0u);
      got += *read;
    }
  }
  EXPECT_EQ(link::Connect(address).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace wharf::server
