// Clients of a served model: what they are answered, and what hostile ones get.
#include "wharf/pipeline/runtime/request_frontend.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/synchronization/notification.h"
#include "wharf/link/testing.h"
#include "wharf/pipeline/runtime/load_client.h"
#include "wharf/pipeline/runtime/worker_testing.h"
#include "wharf/wire/proof_testing.h"

namespace wharf::pipeline {
namespace {

using testing::kLong;

class RequestFrontendTest : public ::testing::Test {
 protected:
  virtual void Adjust(PipelineServerConfig&, RequestFrontendConfig& frontend) { frontend.max_unanswered = 64; }
  void SetUp() override {
    worker_.emplace("unix:" + folder_.path() + "/worker");
    registration_ = *membership_.Join({"one", "fast", worker_->Address()});
    PipelineServerConfig config;
    config.plan.cluster.name = "test";
    config.plan.cluster.classes = {{"fast", 1, 1}};
    config.plan.cluster.hosts = {{0, 1, 1, 1e9}};
    config.plan.models = {{"net", 2, 20e6, 0, 1, 100}};
    Pipeline pipeline;
    pipeline.throughput = 100;
    pipeline.stages = {{0, 2, 0, 1, 1, {2000}, 0, 0}};
    config.plan.pipelines = {pipeline};
    config.models = {model_};
    config.membership = &membership_;
    RequestFrontendConfig frontend;
    Adjust(config, frontend);
    auto server = PipelineServer::Start(config);
    ASSERT_TRUE(server.ok()) << ToString(server.status());
    server_ = *std::move(server);
    ASSERT_TRUE(server_->AwaitState([](const auto& state) { return state.ready == 1; }, kLong));
    frontend.server = server_.get();
    frontend.check = wire::ClientsWith("right");
    frontend.max_unread_bytes = size_t{1} << 20;
    frontend_.emplace(frontend);
    listener_ = *link::Listener::Create("unix:" + folder_.path() + "/frontend");
    accepting_ = std::thread([this] {
      for (auto socket = listener_->Accept(); socket.ok(); socket = listener_->Accept()) {
        auto stream = link::FromSocket(*socket);
        if (hang_ups_-- <= 0) frontend_->Accept(std::move(stream));
      }
    });
  }
  void TearDown() override { CloseFrontend(); }
  // Nobody comes in while it goes.
  void CloseFrontend() {
    listener_->Shutdown();
    if (accepting_.joinable()) accepting_.join();
    frontend_.reset();
  }
  absl::StatusOr<std::unique_ptr<LoadClient>> Open(const std::string& token = "right") {
    return LoadClient::Open(listener_->Address(), {token});
  }
  // A client that was let in; what came until then is taken. Null: it was not.
  std::unique_ptr<link::Channel> Enter(link::Recorder& recorder) {
    auto stream = link::Connect(listener_->Address());
    EXPECT_TRUE(stream.ok());
    auto channel =
        link::Channel::Create(*std::move(stream), {.limits = PipelineFrameLimits(), .send_queue_bytes = 1 << 20});
    channel->Start(&recorder);
    Hello hello;
    SendMessage(*channel, FrameKind::kHello, hello).IgnoreError();
    const auto challenge = recorder.Take(1);
    if (challenge.empty()) return nullptr;
    const auto proof = wire::AnswerTo<PipelineProtocol>(link::AsBytes(challenge[0].head), hello, "right");
    SendMessage(*channel, FrameKind::kProof, proof).IgnoreError();
    recorder.Take(2);  // the server's, and the Welcome
    return channel;
  }
  // The code of the Goodbye to what a client sends after its Hello.
  absl::StatusCode Goodbye(const std::function<void(link::Channel&)>& send) {
    link::Recorder recorder;
    const auto channel = Enter(recorder);
    if (channel == nullptr) return absl::StatusCode::kOk;
    send(*channel);
    const auto frames = recorder.Take(1);
    if (frames.empty() || frames[0].header.kind != static_cast<uint16_t>(FrameKind::kGoodbye)) {
      return absl::StatusCode::kOk;
    }
    const auto goodbye = wire::Decode<pipeline::Goodbye>(link::AsBytes(frames[0].head));
    return goodbye.ok() ? static_cast<absl::StatusCode>(goodbye->code) : absl::StatusCode::kOk;
  }

  const testing::TempFolder folder_;
  const ModelSource model_ = testing::SourceOf("net", {.channels = 4, .stages = 1, .size = 16}, {0, 4});
  MemoryMembership membership_;
  std::optional<testing::TestWorker> worker_;
  std::unique_ptr<Registration> registration_;
  std::unique_ptr<PipelineServer> server_;
  std::optional<RequestFrontend> frontend_;
  std::unique_ptr<link::Listener> listener_;
  std::atomic<int> hang_ups_ = 0;  // on those who come next
  std::thread accepting_;
};

TEST_F(RequestFrontendTest, WhoIsHungUpOnAtFirstComesInLater) {
  hang_ups_ = 2;
  const auto client = Open();
  ASSERT_TRUE(client.ok()) << ToString(client.status());
  EXPECT_EQ((*client)->Models().size(), 1u);
}

TEST_F(RequestFrontendTest, AnswersWithWhatTheModelMakes) {
  const auto client = Open();
  ASSERT_TRUE(client.ok()) << ToString(client.status());
  ASSERT_EQ((*client)->Models().size(), 1u);
  EXPECT_EQ((*client)->Models()[0].name, "net");
  EXPECT_EQ((*client)->Models()[0].input_bytes, model_.input_bytes);
  const Sample input = testing::RandomInput(model_, 1);
  const auto outputs = (*client)->Ask("net", input);
  ASSERT_TRUE(outputs.ok()) << ToString(outputs.status());
  EXPECT_TRUE(testing::NearlyEqual(*outputs, testing::WholeModel(model_, input)));
}

TEST_F(RequestFrontendTest, ALoadIsCounted) {
  const auto client = Open();
  ASSERT_TRUE(client.ok());
  const auto result = (*client)->Run({"net", 200, 0.3, 1});
  ASSERT_TRUE(result.ok()) << ToString(result.status());
  EXPECT_GT(result->sent, 0u);
  EXPECT_EQ(result->Of(Fate::kOnTime), result->sent);
  EXPECT_EQ(result->latency_ms.size(), result->sent);
  EXPECT_EQ((*client)->Run({"other", 1, 0.1, 1}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RequestFrontendTest, WhenTheServerGoesTheRestIsUnanswered) {
  const auto client = Open();
  ASSERT_TRUE(client.ok());
  CloseFrontend();
  EXPECT_EQ((*client)->Ask("net", testing::RandomInput(model_, 1)).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(RequestFrontendTest, AsksForTheToken) {
  EXPECT_EQ(Open("wrong").status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(RequestFrontendTest, SendsHostileClientsAway) {
  EXPECT_EQ(Goodbye([&](link::Channel& channel) {
              const std::vector<std::byte> bulk(model_.input_bytes + 1);
              SendMessage(channel, FrameKind::kRequest, ModelRequest{"net"}, 1, bulk).IgnoreError();
            }),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Goodbye([&](link::Channel& channel) {
              const std::vector<std::byte> bulk(model_.input_bytes);
              SendMessage(channel, FrameKind::kRequest, ModelRequest{"other"}, 1, bulk).IgnoreError();
            }),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Goodbye([&](link::Channel& channel) {
              SendMessage(channel, FrameKind::kRequest, ModelRequest{"net"}, 1).IgnoreError();
            }),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Goodbye([&](link::Channel& channel) {
              SendMessage(channel, FrameKind::kCompute, Compute{1, {}}, 1).IgnoreError();
            }),
            absl::StatusCode::kInvalidArgument);
  const auto client = Open();  // others do not notice
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE((*client)->Ask("net", testing::RandomInput(model_, 1)).ok());
}

// The server's memory must not have to hold what a client asks for faster than it can be computed.
TEST_F(RequestFrontendTest, WhoAsksFasterThanItIsAnsweredIsReadNoFaster) {
  constexpr int kRequests = 3000;
  std::atomic<int> answered = 0;
  link::Recorder recorder;
  recorder.on_frame = [&](const link::FrameHeader& header, auto) {
    answered += header.kind == static_cast<uint16_t>(FrameKind::kResponse);
    return absl::OkStatus();
  };
  const auto channel = Enter(recorder);
  ASSERT_NE(channel, nullptr);
  const std::vector<std::byte> input(model_.input_bytes);
  int sent = 0, most = 0;
  for (; sent < kRequests; ++sent) {
    if (!SendMessage(*channel, FrameKind::kRequest, ModelRequest{"net"}, 1, input).ok()) break;
    most = std::max(most, sent + 1 - answered);
  }
  EXPECT_EQ(sent, kRequests);
  EXPECT_LT(most, kRequests / 2);  // what may be unanswered, and what socket and channels hold
  const auto other = Open();
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE((*other)->Ask("net", testing::RandomInput(model_, 1)).ok());
  channel->Stop();
}

// With room for a hundred requests a second.
class SlowFrontendTest : public RequestFrontendTest {
  void Adjust(PipelineServerConfig& config, RequestFrontendConfig&) override {
    config.plan.models[0].slo_us = 1e6;
    config.plan.models[0].throughput = 100;
    config.plan.pipelines[0].stages[0].latency_us = {10'000};
    config.paced = true;
  }
};

TEST_F(SlowFrontendTest, AFloodTakesNothingFromWhoAsksForItsShare) {
  const auto flooding = Open(), modest = Open();
  ASSERT_TRUE(flooding.ok() && modest.ok());
  std::thread flood([&] { EXPECT_TRUE((*flooding)->Run({"net", 2000, 4, 1}).ok()); });
  EXPECT_TRUE((*modest)->Run({"net", 20, 1.5, 2}).ok());  // meanwhile the server notices
  const auto result = (*modest)->Run({"net", 20, 2, 3});
  flood.join();
  ASSERT_TRUE(result.ok()) << ToString(result.status());
  EXPECT_LT(result->Of(Fate::kNoCapacity), result->sent / 10);
}

// Questions are smaller than their answers, which the server's memory must not have to hold.
TEST_F(RequestFrontendTest, WhoAsksForModelsWithoutReadingIsSentAway) {
  constexpr int kQuestions = 2'000'000;
  absl::Notification reads_again;
  link::Recorder recorder;
  recorder.on_frame = [&](const link::FrameHeader& header, auto) {
    if (header.kind == static_cast<uint16_t>(FrameKind::kModels)) reads_again.WaitForNotification();
    return absl::OkStatus();
  };
  const auto channel = Enter(recorder);
  ASSERT_NE(channel, nullptr);
  int asked = 0;
  while (asked < kQuestions && channel->Send(static_cast<uint16_t>(FrameKind::kAskModels), 0, {}).ok()) ++asked;
  EXPECT_LT(asked, kQuestions);
  reads_again.Notify();
  channel->Stop();
}

}  // namespace
}  // namespace wharf::pipeline
