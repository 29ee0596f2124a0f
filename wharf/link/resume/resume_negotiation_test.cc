// How a stream that can be resumed begins: with peers that know no resume, hang up or say nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "wharf/link/resume/resume_testing.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A server's side of one connection after another.
class OldServer {
 public:
  using Serve = std::function<void(int connection, std::unique_ptr<ByteStream>)>;
  explicit OldServer(Serve serve) : serve_(std::move(serve)) {}
  ~OldServer() {
    for (std::thread& thread : threads_) thread.join();
  }
  absl::StatusOr<std::unique_ptr<ByteStream>> Connect() {
    auto [near, far] = MemoryPair();
    auto stream = std::make_shared<std::unique_ptr<ByteStream>>(std::move(far));
    threads_.emplace_back([this, stream, number = connections++] { serve_(number, std::move(*stream)); });
    return std::move(near);
  }
  int connections = 0;

 private:
  const Serve serve_;
  std::vector<std::thread> threads_;
};

TEST(ResumeNegotiationTest, AServerThatDeclinesGetsPlainBytesAndThatIsSaid) {
  OldServer server([](int, std::unique_ptr<ByteStream> stream) {
    auto begun = ReadBeginning(std::move(stream), seconds(60));
    ASSERT_TRUE(begun.ok() && begun->opening.has_value());
    ASSERT_TRUE(WriteOpening(*begun->stream, {OpeningKind::kDeclined, {}, 0}).ok());
    EXPECT_EQ(ReadText(*begun->stream, 5), "hello");
  });
  int told = 0;
  ResumeOptions options;
  options.on_declined = [&] { ++told; };
  auto client = OpenResumable([&] { return server.Connect(); }, options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(Write(**client, "hello").ok());
  EXPECT_EQ(server.connections, 1);
}

// Answers the first `unlucky` connections with `words`, and accepts the next one.
class UnluckyListener {
 public:
  UnluckyListener(int unlucky, std::string words)
      : old_([words](int, std::unique_ptr<ByteStream> stream) {
          ReadText(*stream, kOpeningBytes);
          if (!words.empty()) {
            EXPECT_TRUE(Write(*stream, words).ok());
          }
        }),
        unlucky_(unlucky) {}
  link::Dial Dialer() {
    return [this] { return old_.connections < unlucky_ ? old_.Connect() : listener_.Connect(); };
  }
  int Connections() const { return old_.connections; }
  ResumableListener& Resumable() { return listener_; }

 private:
  OldServer old_;
  ResumableListener listener_;
  const int unlucky_;
};

TEST(ResumeNegotiationTest, HoweverOftenAServerHangsUpTheStreamCanBeResumedInTheEnd) {
  UnluckyListener listener(4, "");
  ResumeOptions options;
  options.on_declined = [] { ADD_FAILURE() << "nobody has declined"; };
  auto client = OpenResumable(listener.Dialer(), options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(listener.Connections(), 4);
  auto server = listener.Resumable().Accept();
  ASSERT_TRUE(Write(**client, "hello").ok());
  EXPECT_EQ(ReadText(*server, 5), "hello");
}

TEST(ResumeNegotiationTest, AServerThatOnlyHangsUpIsGivenUpInTime) {
  UnluckyListener listener(1 << 20, "");
  ResumeOptions options;
  options.opening = milliseconds(200);
  EXPECT_EQ(OpenResumable(listener.Dialer(), options).status(),
            Unavailable("the server closed the connection without an answer: does it want --tls, or is it no Wharf "
                        "server?"));
}

TEST(ResumeNegotiationTest, AServerOfAnotherKindIsSaidSoAtOnce) {
  UnluckyListener listener(1, "HTTP/1.1 400 Bad Request, and some more bytes than an opening");
  EXPECT_EQ(OpenResumable(listener.Dialer()).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(listener.Connections(), 1);
}

TEST(ResumeNegotiationTest, AFirstDialThatFailsIsTriedAgain) {
  for (const absl::Status& failure : {Unavailable("TLS broke off"), DeadlineExceeded("no answer in time")}) {
    ResumableListener listener;
    int dials = 0;
    auto client = OpenResumable([&]() -> absl::StatusOr<std::unique_ptr<ByteStream>> {
      if (++dials < 3) return failure;
      return listener.Connect();
    });
    EXPECT_TRUE(client.ok()) << client.status();
    EXPECT_EQ(dials, 3);
    listener.Accept();
  }
}

TEST(ResumeNegotiationTest, WhatCannotPassIsNotTriedAgain) {
  int dials = 0;
  const auto never = [&]() -> absl::StatusOr<std::unique_ptr<ByteStream>> {
    ++dials;
    return Unauthenticated("TLS: the server's certificate is not accepted");
  };
  EXPECT_EQ(OpenResumable(never).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(dials, 1);
  const auto nobody = [&] {
    ++dials;
    return link::Connect("127.0.0.1:1");
  };
  const absl::Status refused = OpenResumable(nobody).status();
  EXPECT_TRUE(IsRefused(refused)) << refused;
  EXPECT_EQ(dials, 2);
}

TEST(ResumeNegotiationTest, ADropWhileOpeningIsTriedAgain) {
  ResumableListener listener(
      {}, [](int number) { return number == 0 ? std::pair(Faults{}, Faults{20}) : std::pair<Faults, Faults>(); });
  auto client = OpenResumable(listener.Dialer());
  ASSERT_TRUE(client.ok()) << client.status();
  listener.Accept();  // the one whose answer was lost
  auto server = listener.Accept();
  ASSERT_TRUE(Write(**client, "hello").ok());
  EXPECT_EQ(ReadText(*server, 5), "hello");
}

TEST(ResumeNegotiationTest, AServerThatSaysNothingIsUnavailable) {
  ResumeOptions options;
  options.attempt = milliseconds(1);
  options.opening = milliseconds(20);
  OldServer server([](int, std::unique_ptr<ByteStream> stream) { ReadText(*stream, 100); });
  EXPECT_EQ(OpenResumable([&] { return server.Connect(); }, options).status().code(), absl::StatusCode::kUnavailable);
}

TEST(ResumeNegotiationTest, APlainClientKeepsItsBytes) {
  for (const std::string text : {"WHF1 and a frame", "x", "GET / HTTP/1.1"}) {
    auto [near, far] = MemoryPair();
    ASSERT_TRUE(Write(*near, text).ok());
    near->FinishWriting();
    auto begun = ReadBeginning(std::move(far), seconds(60));
    ASSERT_TRUE(begun.ok()) << begun.status();
    EXPECT_FALSE(begun->opening.has_value());
    EXPECT_EQ(ReadText(*begun->stream, 100), text);
    ASSERT_TRUE(Write(*begun->stream, "answer").ok());
    EXPECT_EQ(ReadText(*near, 6), "answer");
  }
}

TEST(ResumeNegotiationTest, AnUnknownVersionIsToBeDeclined) {
  auto [near, far] = MemoryPair();
  auto bytes = EncodeOpening({});
  bytes[4] = std::byte{77};
  ASSERT_TRUE(Write(*near, bytes).ok());
  auto begun = ReadBeginning(std::move(far), seconds(60));
  ASSERT_TRUE(begun.ok());
  EXPECT_TRUE(begun->opening.has_value());
  EXPECT_FALSE(begun->known_version);
}

TEST(ResumeNegotiationTest, MalformedOpeningsAreErrors) {
  const auto begin_with = [](std::span<const std::byte> bytes) {
    auto [near, far] = MemoryPair();
    EXPECT_TRUE(Write(*near, bytes).ok());
    near->FinishWriting();
    return ReadBeginning(std::move(far), seconds(60)).status().code();
  };
  auto bytes = EncodeOpening({});
  EXPECT_EQ(begin_with(std::span(bytes).first(39)), absl::StatusCode::kUnavailable);
  bytes[6] = std::byte{9};
  EXPECT_EQ(begin_with(bytes), absl::StatusCode::kDataLoss);
  bytes[6] = std::byte{3};  // a server's
  EXPECT_EQ(begin_with(bytes), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace wharf::link
