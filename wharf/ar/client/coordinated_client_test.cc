// Clients with an agreed accuracy over streams in memory: what they are given, what they measure, and where they go
// when there is no room. The servers' networks are stand-ins; frames come as fast as the test asks, or by a camera's
// clock where a schedule needs one.
#include "wharf/ar/client/coordinated_client.h"

#include <gtest/gtest.h>

#include <array>

#include "wharf/ar/result_coding.h"
#include "wharf/ar/server/testing.h"

namespace wharf::ar {
namespace {

// Everything is as far away in metres as the picture is bright.
class FlatDepths final : public BatchFinder {
 public:
  std::string_view TaskName() const override { return "depth"; }
  int Width() const override { return kTestWidth; }
  int Height() const override { return kTestHeight; }
  std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding> codings) override {
    std::vector<Finding> findings;
    for (size_t i = 0; i < pictures.size(); ++i) {
      const std::vector<float> metres(kTestWidth * kTestHeight, pictures[i].rgb[0]);
      findings.emplace_back(EncodeDepth({kTestWidth, kTestHeight, metres}, codings[i]));
    }
    return findings;
  }
};

// Milliseconds of a batch: a server that can keep an accuracy, and one that knows at once that it cannot.
constexpr double kFast = 2, kHopeless = 60'000;
constexpr Nanoseconds kForever = std::chrono::hours(1);

class TestServer {
 public:
  TestServer(double batch_ms, std::string next)
      : coordination_({.finder = &finder_,
                       .profile = *serving::InferenceProfile::Make("test", {{1, batch_ms}}),
                       .patience = batch_ms == kHopeless ? Nanoseconds(0) : kForever}),
        server_({.coordination = &coordination_, .batch_finder = &finder_, .next = std::move(next)}) {}
  Server& server() { return server_; }
  CoordinationCounts Counts() const { return coordination_.Counts(); }

 private:
  FlatDepths finder_;
  Coordination coordination_;
  Server server_;
};

// Two servers in this process, by name.
class CoordinatedClientTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<link::ByteStream>> Connect(const std::string& name) {
    absl::MutexLock lock(&mutex_);
    dialled_.push_back(name);
    const auto found = servers_.find(name);
    if (found == servers_.end()) return Unavailable("no server answers at {}", name);
    return DialInProcess(found->second->server());
  }
  void AddServer(const std::string& name, double batch_ms, std::string next = "") {
    absl::MutexLock lock(&mutex_);
    servers_[name] = std::make_unique<TestServer>(batch_ms, std::move(next));
  }
  void EndServer(const std::string& name) {
    std::unique_ptr<TestServer> gone;
    absl::MutexLock lock(&mutex_);
    gone = std::move(servers_.at(name));
    servers_.erase(name);
  }
  CoordinatedClientConfig Config(double sla = 1) {
    CoordinatedClientConfig config;
    config.camera = {kTestWidth, kTestHeight, 20, 20, 16, 8};
    config.sla = sla;
    config.dial = [this](const std::string& name) { return Connect(name); };
    config.server = "home:1";
    return config;
  }
  std::unique_ptr<CoordinatedClient> MustOpen(CoordinatedClientConfig config) {
    auto client = CoordinatedClient::Open(std::move(config));
    EXPECT_TRUE(client.ok()) << ToString(client.status());
    return client.ok() ? *std::move(client) : nullptr;
  }
  // The next frame of a camera at 60 a second that stands still.
  TrackedResult Next(CoordinatedClient& client, uint8_t grey = 40) {
    auto frame = std::make_shared<scene::Frame>();
    frame->index = next_frame_++;
    frame->time_s = static_cast<double>(frame->index + 1) / 60;  // the filter begins at 0
    frame->image = GreyPicture(grey);
    for (int i = 1; i <= 4; ++i) {
      const double time = frame->time_s - (4 - i) / 240.0;
      frame->imu.push_back({time, Eigen::Vector3d::Zero(), Eigen::Vector3d(0, 0, 9.81)});
    }
    const Nanoseconds interval = FromSeconds(1.0 / 60);
    if (!due_) due_ = Clock::Real().Now();
    Clock::Real().SleepUntil(*due_);
    due_ = std::max(*due_ + interval, Clock::Real().Now());
    return client.OnFrame(frame);
  }
  // Frames until `there`.
  template <typename Predicate>
  TrackedResult Until(CoordinatedClient& client, const Predicate& there) {
    for (;;) {
      TrackedResult result = Next(client);
      if (there(result)) return result;
    }
  }
  std::vector<std::string> Dialled() {
    absl::MutexLock lock(&mutex_);
    return dialled_;
  }

  absl::Mutex mutex_;
  std::map<std::string, std::unique_ptr<TestServer>> servers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> dialled_ ABSL_GUARDED_BY(mutex_);
  int64_t next_frame_ = 0;
  std::optional<TimePoint> due_;
};

bool IsServed(const TrackedResult& result) { return result.standing == Standing::kServed; }

TEST_F(CoordinatedClientTest, HasDepthForEveryFrameOnceServed) {
  AddServer("home:1", kFast);
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, [&](const TrackedResult& result) { return IsServed(result) && client->Summary().answered >= 5; });
  const TrackedResult result = Next(*client);
  ASSERT_NE(result.depth, nullptr);
  EXPECT_NEAR(result.depth->metres[0], 40, 2);
  EXPECT_GE(result.stride, 1);
  const AgreedSummary summary = client->Summary();
  EXPECT_GT(summary.served, 0);
  EXPECT_GT(summary.network_s, 0);
  EXPECT_GE(summary.offloads, summary.answered);
  EXPECT_EQ(summary.link.server, "home:1");
  EXPECT_EQ(summary.link.redirects, 0);
}

// That it comes late, or from elsewhere, is nothing that it is refused for.
TEST_F(CoordinatedClientTest, IsServedHoweverFarItsVideoIs) {
  AddServer("home:1", kFast);
  const auto client = MustOpen(Config(0.1));
  ASSERT_NE(client, nullptr);
  next_frame_ = 100'000;
  Until(*client, IsServed);
}

// What stands still costs no accuracy to track; what grows brighter, and so farther, does.
TEST_F(CoordinatedClientTest, MeasuresWhatTrackingCosts) {
  AddServer("home:1", kFast);
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, [&](const TrackedResult&) { return client->Summary().drop_rate < 0.001; });
  // Brighter with every frame: whatever the stride, each is off by its share.
  for (int grey = 40; client->Summary().drop_rate <= 0.001; grey = grey < 250 ? grey + 1 : 40) {
    Next(*client, static_cast<uint8_t>(grey));
  }
}

// Its frames come later than the server has learned, by more than it plans ahead.
TEST_F(CoordinatedClientTest, IsServedAgainAfterItsCameraPaused) {
  AddServer("home:1", kFast);
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, [&](const TrackedResult& result) { return IsServed(result) && client->Summary().answered >= 3; });
  due_ = *due_ + std::chrono::seconds(2);
  const int64_t before = client->Summary().answered;
  Until(*client,
        [&](const TrackedResult& result) { return IsServed(result) && client->Summary().answered >= before + 5; });
}

TEST_F(CoordinatedClientTest, RefusesWhatNoServerAgreesOn) {
  CoordinatedClientConfig config = Config();
  config.task = Task::kOdometry;
  EXPECT_EQ(CoordinatedClient::Open(config).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CoordinatedClient::Open(Config(0)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CoordinatedClientTest, AServerThatIsNotThereIsTriedForAsLongAsItIsTold) {
  CoordinatedClientConfig config = Config();
  config.opening = {};
  EXPECT_EQ(CoordinatedClient::Open(config).status(), Unavailable("no server answers at home:1"));
  EXPECT_EQ(Dialled().size(), 1u);
  config.opening = std::chrono::milliseconds(100);
  EXPECT_EQ(CoordinatedClient::Open(config).status(), Unavailable("no server answers at home:1"));
  EXPECT_GT(Dialled().size(), 2u);
}

TEST_F(CoordinatedClientTest, GoesToTheServerThatHasRoom) {
  AddServer("home:1", kHopeless, "next:1");
  AddServer("next:1", kFast, "home:1");
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, IsServed);
  const AgreedSummary summary = client->Summary();
  EXPECT_EQ(summary.link.server, "next:1");
  EXPECT_EQ(summary.link.redirects, 1);
  EXPECT_FALSE(summary.link.nowhere);
  EXPECT_EQ(Dialled(), (std::vector<std::string>{"home:1", "next:1"}));
}

// Two full servers that name each other: each is tried once.
TEST_F(CoordinatedClientTest, IsNotSentToAndFroBetweenFullServers) {
  AddServer("home:1", kHopeless, "next:1,gone:1");
  AddServer("next:1", kHopeless, "home:1,gone:1");
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, [&](const TrackedResult&) { return client->Summary().link.nowhere; });
  for (int i = 0; i < 60; ++i) EXPECT_NE(Next(*client).standing, Standing::kServed);
  const AgreedSummary summary = client->Summary();
  EXPECT_EQ(summary.link.server, "next:1");
  EXPECT_EQ(Dialled(), (std::vector<std::string>{"home:1", "next:1"}));
  EXPECT_GT(summary.waiting, 0);
  EXPECT_NE(summary.why_waiting, "");
}

TEST_F(CoordinatedClientTest, TracksOnWhileItsServerIsGone) {
  AddServer("home:1", kFast);
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, [](const TrackedResult& result) { return IsServed(result) && result.stride > 0; });
  EndServer("home:1");
  const TrackedResult away =
      Until(*client, [](const TrackedResult& result) { return result.standing == Standing::kAway; });
  EXPECT_NE(away.depth, nullptr);
  EXPECT_FALSE(away.offloaded);
  AddServer("home:1", kFast);
  Until(*client, IsServed);
}

TEST_F(CoordinatedClientTest, ADrainingServerSendsItsClientsOn) {
  AddServer("home:1", kFast, "next:1");
  AddServer("next:1", kFast);
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, IsServed);
  Server* home = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    home = &servers_.at("home:1")->server();
  }
  home->Drain(std::chrono::seconds(60));  // ends when the client has left
  Until(*client,
        [&](const TrackedResult& result) { return IsServed(result) && client->Summary().link.server == "next:1"; });
  EXPECT_EQ(client->Summary().link.redirects, 1);
}

TEST_F(CoordinatedClientTest, ComesBackHomeWhenTheNextServerIsNotThere) {
  AddServer("home:1", kHopeless, "gone:1");
  const auto client = MustOpen(Config());
  ASSERT_NE(client, nullptr);
  Until(*client, [&](const TrackedResult&) { return client->Summary().link.nowhere; });
  EXPECT_EQ(client->Summary().link.server, "home:1");
  EXPECT_EQ(client->Summary().link.redirects, 0);
  EXPECT_EQ(Dialled(), (std::vector<std::string>{"home:1", "gone:1", "home:1"}));
}

TEST(ServersOf, TakesOnlyWhatAClientCanConnectTo) {
  EXPECT_EQ(*ServersOf({"a:1,[::1]:2,b.example.org:65535"}),
            (std::vector<std::string>{"a:1", "[::1]:2", "b.example.org:65535"}));
  for (const char* wrong : {"", "a:1,", "unix:/run/x", "a", "a:1 b:2", "a:1\n"}) {
    EXPECT_EQ(ServersOf({wrong}).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
  std::string many = "a:1";
  for (size_t i = 0; i < kMaxServers; ++i) many += ",a:1";
  EXPECT_EQ(ServersOf({many}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::ar
