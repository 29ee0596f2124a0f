// Acceptors whose listener fails, and real ones on loopback, which has no limits of addresses (address_limits_test.cc).
#include "wharf/server/front/acceptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "wharf/server/front/acceptor_testing.h"
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

int ASocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }
// Connected, and its peer has said something and is gone.
int ASpokenSocket() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  EXPECT_EQ(send(ends[1], "x", 1, 0), 1);
  close(ends[1]);
  return ends[0];
}

// The lines of the log that say that something could not be accepted, while `work` is done: errors are always logged.
std::vector<std::string> SaidNotToAccept(const std::function<void()>& work) {
  testing::internal::CaptureStderr();
  work();
  const std::string said = testing::internal::GetCapturedStderr();
  std::vector<std::string> lines;
  for (const auto line : absl::StrSplit(said, '\n')) {
    if (absl::StrContains(line, " error cannot accept why=")) lines.emplace_back(line);
  }
  return lines;
}

TEST(AcceptorTest, ErrorsOfTheSystemDoNotEndItAndAreSaidOnceInARow) {
  const int first = ASpokenSocket(), second = ASpokenSocket();
  const auto lines = SaidNotToAccept([&] {
    Accepted accepted;
    Acceptor acceptor(std::make_unique<FakeListener>(std::deque<absl::StatusOr<int>>{
                          ErrnoStatus(EMFILE, "accepting"), ErrnoStatus(ENFILE, "accepting"), first,
                          ErrnoStatus(ENOMEM, "accepting"), Internal("anything"), second}),
                      accepted.Keep());
    EXPECT_THAT(accepted.Await(2), testing::UnorderedElementsAre(first, second));
  });
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], testing::HasSubstr("Too many open files"));
  EXPECT_THAT(lines[1], testing::HasSubstr("Cannot allocate memory"));
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
  const auto lines = SaidNotToAccept([&] {
    auto watched = std::make_unique<WatchedListener>(*std::move(listener));
    WatchedListener& watch = *watched;
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
    const bool spoke = connected == 0 && send(client, "x", 1, 0) == 1;
    const absl::Status failure = connected == 0 ? watch.AwaitFailure() : absl::OkStatus();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_EQ(connected, 0);
    EXPECT_TRUE(spoke);
    EXPECT_EQ(failure.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(accepted.Await(1).size(), 1u);
    close(client);
  });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], testing::HasSubstr("Too many open files"));
  std::filesystem::remove_all(folder);
}

absl::Status Say(link::ByteStream& stream, std::string_view words) {
  const std::span<const std::byte> piece = std::as_bytes(std::span(words.data(), words.size()));
  return stream.Write({&piece, 1});
}

// Waits until the peer has closed.
bool IsClosed(link::ByteStream& stream) {
  std::vector<std::byte> byte(1);
  const auto count = stream.Read(byte);
  return !count.ok() || *count == 0;
}

class FrontTest : public testing::Test {
 protected:
  std::unique_ptr<link::Listener> Listen() {
    auto listener = link::Listener::Create("127.0.0.1:0");
    EXPECT_TRUE(listener.ok()) << listener.status();
    return *std::move(listener);
  }
  static std::unique_ptr<link::ByteStream> Connect(const std::string& address, std::string_view words = "") {
    auto client = link::Connect(address, {.timeout = std::chrono::minutes(1)});
    EXPECT_TRUE(client.ok()) << client.status();
    if (!words.empty()) {
      EXPECT_EQ(Say(**client, words), absl::OkStatus());
    }
    return *std::move(client);
  }
  Accepted accepted_;
};

TEST_F(FrontTest, OnlyThoseThatSpeakAreHandedOn) {
  Acceptor acceptor(Listen(), accepted_.Keep());
  const auto silent = Connect(acceptor.Address());
  const auto speaks = Connect(acceptor.Address(), "hello");
  ASSERT_EQ(accepted_.Await(1).size(), 1u);
  std::array<char, 8> read{};
  EXPECT_EQ(recv(accepted_.Await(1)[0], read.data(), read.size(), 0), 5);
  EXPECT_EQ(Say(*silent, "now"), absl::OkStatus());
  EXPECT_EQ(accepted_.Await(2).size(), 2u);
}

TEST_F(FrontTest, WhoEndsWithoutAWordIsClosed) {
  Acceptor acceptor(Listen(), accepted_.Keep());
  const auto client = Connect(acceptor.Address());
  client->FinishWriting();
  EXPECT_TRUE(IsClosed(*client));
  EXPECT_EQ(accepted_.Await(0).size(), 0u);
}

TEST_F(FrontTest, WhoSaysNothingForTooLongIsClosed) {
  Acceptor acceptor(Listen(), accepted_.Keep(), {.waiting = {.time = std::chrono::milliseconds(50)}});
  EXPECT_TRUE(IsClosed(*Connect(acceptor.Address())));
}

TEST_F(FrontTest, TheOldestSilentOneMakesRoom) {
  Acceptor acceptor(Listen(), accepted_.Keep(), {.waiting = {.in_all = 2, .time = std::chrono::hours(1)}});
  std::vector<std::unique_ptr<link::ByteStream>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Connect(acceptor.Address()));
  EXPECT_TRUE(IsClosed(*clients[0]));
  for (int i = 1; i < 3; ++i) EXPECT_EQ(Say(*clients[i], "hello"), absl::OkStatus());
  EXPECT_EQ(accepted_.Await(2).size(), 2u);
}

TEST_F(FrontTest, WhatIsMoreThanTheLimitTakesThePlaceOfTheOldest) {
  Acceptor acceptor(Listen(), accepted_.Keep(), {.handshakes = {.new_ones = 2, .resumes = 1}});
  const auto resuming = Connect(acceptor.Address(), std::string("WHR1\x01\0\x02\0", 8));
  EXPECT_EQ(accepted_.Await(1).size(), 1u);
  std::vector<std::unique_ptr<link::ByteStream>> clients;
  for (size_t i = 0; i < 3; ++i) {
    clients.push_back(Connect(acceptor.Address(), "hello"));
    EXPECT_EQ(accepted_.Await(i + 2).size(), i + 2);
  }
  EXPECT_EQ(accepted_.WhichAreEvicted(), (std::vector{false, true, false, false}));
}

TEST_F(FrontTest, WhoGoesOnWithASessionHasAPlaceApartUnderTlsToo) {
  Acceptor acceptor(Listen(), accepted_.Keep(), {.handshakes = {.new_ones = 2, .resumes = 1}});
  const std::string tls("\x16\x03\x01\x02\0\x01\0", 7);  // how its first message begins
  const auto resuming = Connect(acceptor.Address(), tls + "more\x0cwharf-resume");
  EXPECT_EQ(accepted_.Await(1).size(), 1u);
  std::vector<std::unique_ptr<link::ByteStream>> clients;
  for (size_t i = 0; i < 3; ++i) {
    clients.push_back(Connect(acceptor.Address(), tls));
    EXPECT_EQ(accepted_.Await(i + 2).size(), i + 2);
  }
  EXPECT_EQ(accepted_.WhichAreEvicted(), (std::vector{false, true, false, false}));
}

// How long one that speaks waits among 2,000 that never do, and 200 that begin and go no further.
TEST_F(FrontTest, ACrowdKeepsNobodyOut) {
  const WaitingLimits limits = WaitingLimitsOfProcess(std::chrono::hours(1));
  if (limits.in_all < 2600) GTEST_SKIP() << "needs 5,200 descriptors: ulimit -Hn";
  Acceptor acceptor(Listen(), accepted_.Keep(), {.waiting = limits});
  std::vector<std::unique_ptr<link::ByteStream>> crowd;
  for (int i = 0; i < 2000; ++i) crowd.push_back(Connect(acceptor.Address()));
  for (int i = 0; i < 200; ++i) crowd.push_back(Connect(acceptor.Address(), "W"));
  ASSERT_EQ(accepted_.Await(200).size(), 200u);
  const TimePoint begin = Clock::Real().Now();
  const auto client = Connect(acceptor.Address(), "hello");
  ASSERT_EQ(accepted_.Await(201).size(), 201u);
  fmt::print("handed on after {:.1f} ms\n", Milliseconds(Clock::Real().Now() - begin));
  EXPECT_FALSE(accepted_.WhichAreEvicted().back());
  EXPECT_EQ(Say(*crowd[0], "hello"), absl::OkStatus()) << "the first one still waits";
  EXPECT_EQ(accepted_.Await(202).size(), 202u);
}

// Keeps the streams of a server and lets nobody in but those it is told to. Thread-safe.
class Streams {
 public:
  StreamServer::OnStream Keep() {
    return [this](std::unique_ptr<link::ByteStream> stream) {
      absl::MutexLock lock(&mutex_);
      streams_.push_back(std::move(stream));
    };
  }
  link::ByteStream& Await(size_t index) {
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return streams_.size() > index; };
    absl::MutexLock lock(&mutex_, absl::Condition(&enough));
    return *streams_[index];
  }

 private:
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<link::ByteStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(FrontTest, AStreamKeepsItsPlaceUntilItsClientIsLetIn) {
  Streams streams;
  const StreamServer server(Listen(), nullptr, streams.Keep(), {.handshakes = {.new_ones = 2}});
  std::vector<std::unique_ptr<link::ByteStream>> clients;
  for (size_t i = 0; i < 4; ++i) {
    clients.push_back(Connect(server.Address(), "hello"));
    streams.Await(i);
    if (i == 0) streams.Await(0).SetAdmitted();
  }
  EXPECT_TRUE(IsClosed(*clients[1])) << "the oldest that was not let in";
  for (const size_t served : {0, 2, 3}) {
    EXPECT_EQ(Say(streams.Await(served), "x"), absl::OkStatus());
    EXPECT_FALSE(IsClosed(*clients[served])) << served;
  }
}

// Opens nothing until it is told to, and counts. Thread-safe.
class SlowOpening {
 public:
  OpenStream Open() {
    return [this](int socket) -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
      absl::MutexLock lock(&mutex_);
      ++begun_;
      mutex_.Await(absl::Condition(&told_));
      return link::FromSocket(socket);
    };
  }
  void AwaitBegun(int count) {
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return begun_ >= count; };
    absl::MutexLock lock(&mutex_, absl::Condition(&enough));
  }
  int Begun() {
    absl::MutexLock lock(&mutex_);
    return begun_;
  }
  void Go() {
    absl::MutexLock lock(&mutex_);
    told_ = true;
  }

 private:
  absl::Mutex mutex_;
  int begun_ ABSL_GUARDED_BY(mutex_) = 0;
  bool told_ ABSL_GUARDED_BY(mutex_) = false;
};

// Also where opening a stream takes no notice of its client's end, as starting a process does.
TEST_F(FrontTest, ACrowdIsOpenedByAsManyThreadsAsThereArePlaces) {
  constexpr int kPlaces = 2, kThreads = 3, kCrowd = 20;
  SlowOpening opening;
  Streams streams;
  const StreamServer server(Listen(), opening.Open(), streams.Keep(),
                            {.handshakes = {.new_ones = kPlaces, .resumes = kThreads - kPlaces}});
  std::vector<std::unique_ptr<link::ByteStream>> clients;
  for (int i = 0; i < kCrowd; ++i) {
    clients.push_back(Connect(server.Address(), "hello"));
    if (i < kThreads) opening.AwaitBegun(i + 1);
    if (i >= kPlaces) {
      EXPECT_TRUE(IsClosed(*clients[i - kPlaces])) << i;
    }
  }
  EXPECT_EQ(opening.Begun(), kThreads);
  opening.Go();
  for (size_t i = 0; i < kThreads + kPlaces; ++i) streams.Await(i);
  EXPECT_EQ(opening.Begun(), kThreads + kPlaces) << "who has lost its place is not opened any more";
  for (size_t i = 0; i < kThreads + kPlaces; ++i) Say(streams.Await(i), "x").IgnoreError();  // in any order
  for (const auto& last : {&clients[kCrowd - 2], &clients[kCrowd - 1]}) EXPECT_FALSE(IsClosed(**last));
}

TEST_F(FrontTest, WhoWaitsToBeOpenedIsClosedAtTheEnd) {
  SlowOpening opening;
  Streams streams;
  auto server = std::make_unique<StreamServer>(Listen(), opening.Open(), streams.Keep(),
                                               AcceptorLimits{.handshakes = {.new_ones = 1, .resumes = 0}});
  const auto first = Connect(server->Address(), "hello");
  opening.AwaitBegun(1);
  const auto second = Connect(server->Address(), "hello");
  EXPECT_TRUE(IsClosed(*first)) << "the second has its place";
  std::thread end([&] { server.reset(); });
  EXPECT_TRUE(IsClosed(*second));
  opening.Go();
  end.join();
  EXPECT_EQ(opening.Begun(), 1);
}

TEST_F(FrontTest, ServesUntilItIsDestroyed) {
  std::string address;
  {
    const StreamServer server(Listen(), nullptr, [](std::unique_ptr<link::ByteStream> stream) {
      EXPECT_EQ(Say(*stream, "hello"), absl::OkStatus());
    });
    address = server.Address();
    const auto client = Connect(address, "hello");
    std::vector<std::byte> greeting(5);
    for (size_t got = 0; got < greeting.size();) {
      const auto read = client->Read(std::span(greeting).subspan(got));
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_GT(*read, 0u);
      got += *read;
    }
  }
  EXPECT_EQ(link::Connect(address).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace wharf::server
