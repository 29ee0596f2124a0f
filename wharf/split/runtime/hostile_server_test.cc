// What hostile and broken servers send: the device gives them up, and finishes alone.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "wharf/split/runtime/session_testing.h"

namespace wharf::split {
namespace {

constexpr testing::ModelName kModel{11, 8};
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// A server that behaves until a message of some kind comes, and then does something else.
class BadServer final : public link::FrameHandler {
 public:
  using Instead = std::function<absl::Status(link::Channel& channel, const link::FrameHeader& header)>;
  BadServer(std::unique_ptr<link::ByteStream> stream, std::map<FrameKind, Instead> instead)
      : instead_(std::move(instead)), channel_(link::Channel::Create(std::move(stream), Options())) {
    channel_->Start(this);
  }
  ~BadServer() override { channel_->Stop(); }

 private:
  static link::ChannelOptions Options() {
    link::ChannelOptions options;
    options.limits = SplitFrameLimits();
    return options;
  }
  absl::StatusOr<std::span<std::byte>> BulkDestination(const link::FrameHeader&, std::span<const std::byte>) override {
    return std::span<std::byte>();
  }
  absl::Status OnFrame(const link::FrameHeader& header, std::span<const std::byte>,
                       std::vector<std::byte> bulk) override {
    const FrameKind kind{header.kind};
    if (const auto found = instead_.find(kind); found != instead_.end()) return found->second(*channel_, header);
    switch (kind) {
      case FrameKind::kHello:
        return SendMessage(*channel_, FrameKind::kWelcome, Welcome());
      case FrameKind::kOpenModel:
        return SendMessage(*channel_, FrameKind::kModelState, ModelState{true});
      case FrameKind::kProbe:
        return channel_->Send(static_cast<uint16_t>(FrameKind::kProbed), 0, {}, bulk);
      case FrameKind::kAskMachine:
        return channel_->Send(static_cast<uint16_t>(FrameKind::kMachine), 0, {});
      default:
        return absl::OkStatus();
    }
  }
  void OnClosed(const absl::Status&) override {}

  const std::map<FrameKind, Instead> instead_;
  std::unique_ptr<link::Channel> channel_;
};

class HostileServer : public ::testing::Test {
 protected:
  // The server does everything.
  absl::StatusOr<std::unique_ptr<SplitClient>> Open(std::map<FrameKind, BadServer::Instead> instead) {
    SplitClientOptions options = testing::TestOptions();
    options.planner = "server-only";
    return SplitClient::Open(
        testing::BytesOf(kModel),
        [this, instead = std::move(instead)]() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
          auto [ours, theirs] = link::MemoryPair();
          servers_.push_back(std::make_unique<BadServer>(std::move(theirs), instead));
          return std::move(ours);
        },
        options);
  }
  // The results are right, and the first inference was lost.
  void ExpectGivenUp(SplitClient& session) {
    const Model& model = session.GetModel();
    const exec::TensorPtr input = testing::RandomInput(model, 3);
    for (int i = 0; i < 2; ++i) {
      const auto results = session.Run(input);
      ASSERT_TRUE(results.ok()) << ToString(results.status());
      EXPECT_TRUE(testing::IsWhole(model, input, *results));
      EXPECT_EQ(session.Report().lost.code(), i == 0 ? kInvalid : absl::StatusCode::kOk);
    }
    while (session.GivenUp().ok()) std::this_thread::yield();
    EXPECT_EQ(session.GivenUp().code(), kInvalid);
    EXPECT_EQ(servers_.size(), 1u);
  }

  std::vector<std::unique_ptr<BadServer>> servers_;
};

TEST_F(HostileServer, IsGivenUpAndTheDeviceFinishesAlone) {
  const auto session = Open({{FrameKind::kRows, [](link::Channel& channel, const link::FrameHeader& header) {
                                return SendMessage(channel, FrameKind::kRows, RowsHead{1, 0, 1 << 20}, header.tag,
                                                   std::vector<std::byte>(64));
                              }}});
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  ExpectGivenUp(**session);
}

// Also before it has said who it is.
TEST_F(HostileServer, HasDoneWhatNobodyBegan) {
  for (const FrameKind when : {FrameKind::kHello, FrameKind::kOpenModel, FrameKind::kProbe, FrameKind::kAskMachine}) {
    for (const uint64_t inference : {uint64_t{0}, uint64_t{1}, UINT64_MAX}) {
      const auto session = Open({{when, [&](link::Channel& channel, const link::FrameHeader&) {
                                    return SendMessage(channel, FrameKind::kDone, Done(), inference);
                                  }}});
      EXPECT_EQ(session.status().code(), kInvalid) << static_cast<int>(when) << " " << inference;
    }
  }
}

TEST_F(HostileServer, HasDoneTheSameTwice) {
  const auto session = Open({{FrameKind::kBegin, [](link::Channel& channel, const link::FrameHeader& header) {
                                SendMessage(channel, FrameKind::kDone, Done(), header.tag).IgnoreError();
                                return SendMessage(channel, FrameKind::kDone, Done(), header.tag);
                              }}});
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  ExpectGivenUp(**session);
}

TEST_F(HostileServer, AnswersProbesWithFewerBytes) {
  for (const size_t bytes : {size_t{0}, size_t{kProbeBytes} - 1}) {
    const auto session = Open({{FrameKind::kProbe, [&](link::Channel& channel, const link::FrameHeader& header) {
                                  const std::vector<std::byte> bulk(std::min<size_t>(bytes, header.bulk_bytes));
                                  return channel.Send(static_cast<uint16_t>(FrameKind::kProbed), 0, {}, bulk);
                                }}});
    EXPECT_EQ(session.status().code(), kInvalid) << bytes;
  }
}

// It answers what it has not read, and reads no more: the input is on its way for as long as it likes.
TEST(SilentServer, IsNotWaitedForWhenItIsAskedWhatItDid) {
  constexpr int kSide = 1024;
  const auto load = [](std::span<const std::byte>) {
    const graph::TensorType type{graph::ElementType::kFloat, {1, 1, kSide, kSide}};
    graph::Graph graph;
    graph.values = {{"input", type, {}}, {"output", type, {}}};
    graph.inputs = {0}, graph.outputs = {1};
    graph.nodes = {{"Relu", "relu", {0}, {1}, {}}};
    return Model::Make(exec::testing::TestEngine(), std::move(graph));
  };
  SplitClientOptions options = testing::TestOptions();
  options.load = load;
  options.planner = "server-only";
  absl::Notification reads_on;
  std::unique_ptr<BadServer> server;
  const auto session = SplitClient::Open(
      std::vector<std::byte>(1),
      [&]() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
        int sockets[2] = {-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
        server = std::make_unique<BadServer>(
            link::FromSocket(sockets[1]),
            std::map<FrameKind, BadServer::Instead>{
                {FrameKind::kBegin, [&](link::Channel& channel, const link::FrameHeader& header) {
                   const std::vector<std::byte> zeros(sizeof(float) * kSide * kSide);
                   SendMessage(channel, FrameKind::kRows, RowsHead{1, 0, kSide}, header.tag, zeros).IgnoreError();
                   reads_on.WaitForNotification();
                   return absl::OkStatus();
                 }}});
        return link::FromSocket(sockets[0]);
      },
      options);
  ASSERT_TRUE(session.ok()) << ToString(session.status());
  ASSERT_TRUE((*session)->Run(testing::RandomInput((*session)->GetModel(), 1)).ok());
  EXPECT_EQ((*session)->Report().lost, absl::OkStatus());
  std::future<void> asked = std::async(std::launch::async, [&] { (*session)->MeasuredEvents(); });
  EXPECT_EQ(asked.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  reads_on.Notify();
}

}  // namespace
}  // namespace wharf::split
