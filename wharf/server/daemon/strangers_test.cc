// What strangers, whom a real server does not let in, can do to its log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "wharf/base/log_limit.h"
#include "wharf/link/resume/resume_opening.h"
#include "wharf/server/testing/attacked_server.h"

namespace wharf::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::vector<std::string> LinesOf(const std::string& log) {
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = log.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(log.substr(begin, end - begin));
  }
  return lines;
}

// What a log says of an event.
struct Said {
  uint64_t written = 0, left_out = 0;
  size_t longest = 0;
  uint64_t All() const { return written + left_out; }
};
Said SaidOf(const std::string& event, const std::string& log) {
  Said said;
  for (const std::string& line : LinesOf(log)) {
    const std::string left_out = "lines left out event=\"" + event + "\" count=";
    if (const size_t at = line.find(left_out); at != std::string::npos) {
      said.left_out += std::stoull(line.substr(at + left_out.size()));
    } else if (line.find(" " + event + " ") != std::string::npos) {
      ++said.written;
      said.longest = std::max(said.longest, line.size());
    }
  }
  return said;
}

// How many lines of one event a log may have of the time since `begin`.
uint64_t MostLinesSince(TimePoint begin) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::Real().Now() - begin);
  return LogLimit::kLinesPerSecond * static_cast<uint64_t>(seconds.count() + 1);
}

class StrangersTest : public ::testing::Test {
 protected:
  void Serve() {
    directory_.Write("token", "0123456789abcdef0123456789abcdef");
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{"--token-file", directory_.File("token"), "--hello-timeout", "600s"});
  }
  // So many at once, none of whom knows the token, and all of whom are told.
  void Come(int count) {
    std::vector<std::unique_ptr<offload::RawClient>> strangers;
    while (static_cast<int>(strangers.size()) < count) strangers.push_back(server_->Greet());
    for (const auto& one : strangers) ASSERT_TRUE(one->Next(offload::FrameKind::kChallenge).ok());
    for (const auto& one : strangers) {
      ASSERT_TRUE(one->SendControl(offload::FrameKind::kProof, wire::Proof{}).ok());
    }
    for (const auto& one : strangers) {
      const auto frame = one->Next(offload::FrameKind::kRefusal);
      ASSERT_TRUE(frame.ok()) << frame.status();
      EXPECT_EQ(frame->As<offload::Refusal>().reason, offload::RefusalReason::kUnauthenticated);
    }
    strangers.clear();
    refused_ += static_cast<uint64_t>(count);
    EXPECT_TRUE(server_->AwaitStatus([&](const auto& status) { return status.at("refused") == refused_; }));
  }

  TemporaryDirectory directory_;
  std::unique_ptr<ServerProcess> server_;
  uint64_t refused_ = 0;
};

TEST_F(StrangersTest, ACrowdWithWrongTokensDoesNotFillTheLog) {
  Serve();
  const TimePoint begin = Clock::Real().Now();
  const int at_once = kSanitized ? 10 : 50;  // of 64 places for handshakes
  for (int crowd = 0; crowd < 4; ++crowd) Come(at_once);
  const Said crowds = SaidOf("client refused", server_->Log());
  EXPECT_LE(crowds.written, MostLinesSince(begin));
  // What was left out is said with the next line that is not.
  Said said;
  ASSERT_TRUE(Eventually([&] {
    Come(1);
    said = SaidOf("client refused", server_->Log());
    return HasFatalFailure() || said.written > crowds.written;
  }));
  EXPECT_EQ(said.All(), refused_) << server_->Log();
  EXPECT_THAT(server_->Log(),
              ContainsRegex("client refused session=[0-9]+ peer=127.0.0.1:[0-9]+ why=\"the token is wrong"));
  fmt::print("{} clients refused in {:.1f} s: {} lines, {} left out\n", refused_, Seconds(Clock::Real().Now() - begin),
             said.written, said.left_out);
}

TEST_F(StrangersTest, WhoSpeaksNoTlsIsALineOfTheSameLog) {
  MakeIdentity(directory_, "server");
  const ServerProcess server({"--tls-cert", directory_.File("server.crt"), "--tls-key", directory_.File("server.key")});
  auto stranger = server.Connect();
  ASSERT_TRUE(stranger.ok()) << stranger.status();
  const std::string words = "GET / HTTP/1.1\r\n\r\n";
  const std::span<const std::byte> piece = std::as_bytes(std::span(words));
  ASSERT_TRUE((*stranger)->Write({&piece, 1}).ok());
  EXPECT_TRUE(Eventually([&] { return SaidOf("TLS failed", server.Log()).All() == 1; })) << server.Log();
  EXPECT_THAT(server.Log(),
              ContainsRegex("TLS failed session=1 peer=127.0.0.1:[0-9]+ why=\"TLS with the client failed"));
  EXPECT_EQ(server.Status().at("refused"), 0);
}

TEST_F(StrangersTest, WhoResumesWhatIsNotThereIsALineOfTheSameLog) {
  const ServerProcess server;
  auto stranger = server.Connect();
  ASSERT_TRUE(stranger.ok()) << stranger.status();
  const link::Opening guess{link::OpeningKind::kResume, link::ResumeKey::Make(4711).value(), 0};
  EXPECT_EQ(link::ExchangeOpenings(**stranger, guess, std::chrono::seconds(60)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(server.Log(), HasSubstr("no such session to resume session=4711\n"));
}

constexpr uint64_t kLies = 5000;

// Workers that were taken over say what they like to the daemon.
class LyingWorkerTest : public AttackedServerTest {};
INSTANTIATE_TEST_SUITE_P(Modes, LyingWorkerTest, ::testing::Values("strong", "weak"),
                         [](const auto& info) { return info.param; });

TEST_P(LyingWorkerTest, WritesNothingThatALogIsNotFor) {
  Serve({});
  if (IsSkipped()) return;
  const TimePoint begin = Clock::Real().Now();
  EXPECT_EQ(TakenOver(*server_->Connect()).Try("lie-in-log " + std::to_string(kLies)), 0);
  ASSERT_TRUE(server_->AwaitStatus([](const auto& status) { return status.at("refused") == kLies; }));
  const std::string log = server_->Log();
  const Said said = SaidOf("client refused", log);
  EXPECT_GE(said.written, 1U);
  EXPECT_LE(said.written, MostLinesSince(begin));
  EXPECT_LE(said.longest, 700U);
  EXPECT_TRUE(std::ranges::all_of(log, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

}  // namespace
}  // namespace wharf::server
