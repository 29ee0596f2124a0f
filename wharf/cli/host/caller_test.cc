// A caller and the program that it calls, in a thread.
#include "wharf/cli/host/caller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "wharf/cli/host/packets.h"

namespace wharf::cli {
namespace {

class CallerTest : public ::testing::Test {
 protected:
  CallerTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_), 0);
    caller_.emplace(ends_[0]);
    caller_->Begin(7, Caller::AfterError::kGoOn);
  }
  ~CallerTest() override {
    close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
  }

  // What comes of a call that the program answers so; what it was told is in told_.
  absl::StatusOr<CalledRequest> CallAnswered(const std::string& answer) {
    std::thread program([&] {
      const auto packet = ReceivePacket(ends_[1], size_t{1} << 16);
      ASSERT_TRUE(packet.ok() && *packet) << packet.status();
      told_ = nlohmann::json::parse(**packet, nullptr, false);
      EXPECT_EQ(SendPacket(ends_[1], answer), absl::OkStatus());
    });
    auto called = caller_->Call({{"function", "track"}});
    program.join();
    return called;
  }

  int ends_[2] = {-1, -1};
  std::optional<Caller> caller_;
  nlohmann::json told_;
};

TEST_F(CallerTest, GivesWhatTheFunctionGives) {
  const auto called = CallAnswered(R"({"id": 7, "ask": "called", "result": 3})");
  ASSERT_TRUE(called.ok()) << called.status();
  EXPECT_EQ(*called, (CalledRequest{3, std::nullopt, ""}));
  EXPECT_EQ(told_,
            (nlohmann::json{{"id", 7}, {"call", {{"function", "track"}}}, {"dropped", nlohmann::json::array()}}));
  EXPECT_EQ(CallAnswered(R"({"id": 7, "ask": "called"})")->result, std::nullopt);
  EXPECT_EQ(CallAnswered(R"({"id": 7, "ask": "called", "loss": 0.5})")->loss, 0.5);
}

TEST_F(CallerTest, SaysOnceWhichResultsNobodyHolds) {
  Held first = caller_->Hold(1), second = caller_->Hold(2);
  const Held again = second;
  first.reset();
  second.reset();
  ASSERT_TRUE(CallAnswered(R"({"id": 7, "ask": "called"})").ok());
  EXPECT_EQ(told_["dropped"], nlohmann::json({1}));
  EXPECT_EQ(caller_->TakeDropped(), nlohmann::json::array());
}

TEST_F(CallerTest, AFunctionThatFailsIsOneResultLess) {
  const std::string failed = R"({"id": 7, "ask": "called", "error": "track raised ValueError"})";
  EXPECT_EQ(CallAnswered(failed).status(), Aborted("track raised ValueError"));
  EXPECT_EQ(caller_->Stopped(), absl::OkStatus());
  EXPECT_TRUE(CallAnswered(R"({"id": 7, "ask": "called"})").ok());
  caller_->Begin(7, Caller::AfterError::kStop);
  EXPECT_EQ(CallAnswered(failed).status(), Aborted("track raised ValueError"));
  EXPECT_EQ(caller_->Call({}).status(), Aborted("track raised ValueError")) << "nothing is called any more";
}

TEST_F(CallerTest, KeepsWhatAProgramSaysThatDoesNotWaitAnyMore) {
  for (const std::string said : {R"({"id": 8, "ask": "frame"})", R"({"id": 6, "ask": "called"})", "no JSON"}) {
    caller_->Begin(7, Caller::AfterError::kGoOn);
    EXPECT_EQ(CallAnswered(said).status().code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(caller_->Call({}).status().code(), absl::StatusCode::kCancelled) << "nothing is called any more";
    EXPECT_EQ(caller_->TakeUnserved(), said);
    EXPECT_EQ(caller_->TakeUnserved(), std::nullopt);
  }
  caller_->Begin(8, Caller::AfterError::kGoOn);
  EXPECT_TRUE(CallAnswered(R"({"id": 8, "ask": "called"})").ok());
}

TEST_F(CallerTest, TheProgramMayBeGone) {
  close(std::exchange(ends_[1], -1));
  EXPECT_EQ(caller_->Call({}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(caller_->Stopped().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace wharf::cli
