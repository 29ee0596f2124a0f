// What hostile and broken clients send: the session ends with one status that says what was wrong, and others go on.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "wharf/link/testing.h"
#include "wharf/split/planners/layer_cut.h"
#include "wharf/split/runtime/session_testing.h"

namespace wharf::split {
namespace {

using testing::ModelName;
using testing::TestServer;

constexpr ModelName kModel{11, 8};

// Speaks frames by hand.
class RawClient {
 public:
  explicit RawClient(TestServer& server) {
    link::ChannelOptions options;
    options.limits = SplitFrameLimits();
    channel_ = link::Channel::Create(server.Dial(), options);
    channel_->Start(&recorder_);
  }
  template <typename T>
  void Send(FrameKind kind, const T& message, uint64_t tag = 0, size_t bulk = 0) {
    const std::vector<std::byte> bytes(bulk);
    SendMessage(*channel_, kind, message, tag, bytes).IgnoreError();
  }
  void SendEmpty(FrameKind kind, size_t bulk = 0) {
    const std::vector<std::byte> bytes(bulk);
    channel_->Send(static_cast<uint16_t>(kind), 0, {}, bytes).IgnoreError();
  }
  void SendPiece(std::span<const std::byte> piece) {
    channel_->Send(static_cast<uint16_t>(FrameKind::kModelPiece), 0, {}, piece).IgnoreError();
  }
  void Greet() {
    Send(FrameKind::kHello, Hello());
    EXPECT_EQ(Next(), FrameKind::kWelcome);
  }
  void Open() {
    Greet();
    const auto bytes = testing::BytesOf(kModel);
    Send(FrameKind::kOpenModel, OpenModel{wire::HashOf(bytes), bytes.size()});
    EXPECT_EQ(Next(), FrameKind::kModelState);  // it is there already
  }
  // The next frame's kind.
  FrameKind Next() {
    while (frames_.empty()) {
      frames_ = recorder_.Take(1);
      if (frames_.empty()) return FrameKind{};  // closed
    }
    const FrameKind kind{frames_.front().header.kind};
    last_head_ = frames_.front().head;
    frames_.erase(frames_.begin());
    return kind;
  }
  // Why the server ended it, by its Goodbye.
  absl::Status WhyEnded() {
    for (FrameKind kind = Next(); kind != FrameKind{}; kind = Next()) {
      if (kind != FrameKind::kGoodbye) continue;
      const auto goodbye = wire::Decode<Goodbye>(link::AsBytes(last_head_));
      return goodbye.ok() ? StatusOf(*goodbye) : goodbye.status();
    }
    return absl::OkStatus();
  }

 private:
  link::Recorder recorder_;
  std::vector<link::ReceivedFrame> frames_;
  std::string last_head_;
  std::unique_ptr<link::Channel> channel_;
};

class Hostile : public ::testing::Test {
 protected:
  // A good client was there before and is afterwards.
  void SetUp() override {
    auto session = SplitClient::Open(
        testing::BytesOf(kModel),
        [this]() -> absl::StatusOr<std::unique_ptr<link::ByteStream>> { return server_.Dial(); },
        testing::TestOptions());
    ASSERT_TRUE(session.ok()) << ToString(session.status());
    good_ = *std::move(session);
    model_ = *testing::LoadRandom(testing::BytesOf(kModel));
  }
  void TearDown() override {
    const exec::TensorPtr input = testing::RandomInput(*model_, 1);
    const auto results = good_->Run(input);
    ASSERT_TRUE(results.ok()) << ToString(results.status());
    EXPECT_TRUE(testing::IsWhole(*model_, input, *results));
    EXPECT_EQ(good_->Report().lost, absl::OkStatus());
  }
  Plan ServerOnly() const { return ServerOnlyPlan(model_->View().rows); }
  // The model is there, and an inference of which the server wants the input.
  void Begin(RawClient& client) const {
    client.Open();
    client.Send(FrameKind::kPlan, EncodePlan(1, ServerOnly()));
    client.Send(FrameKind::kBegin, split::Begin{1}, 5);
  }
  RowsHead Input() const {
    const int value = model_->Graph().inputs[0];
    return {value, 0, exec::AllRows(model_->Program(), value).hi};
  }
  size_t InputBytes() const { return model_->Graph().Type(model_->Graph().inputs[0]).Bytes(); }

  TestServer server_;
  std::unique_ptr<SplitClient> good_;
  std::shared_ptr<const Model> model_;
};

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST_F(Hostile, DoesNotSayHello) {
  RawClient client(server_);
  client.Send(FrameKind::kBegin, split::Begin{1});
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("the first frame must be a Hello"));
}

TEST_F(Hostile, IsNoSplitClient) {
  RawClient client(server_);
  client.Send(FrameKind::kHello, Hello{.magic = 0x46524857});
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("this is not a split session's Hello"));
}

TEST_F(Hostile, SpeaksAnotherVersion) {
  RawClient client(server_);
  client.Send(FrameKind::kHello, Hello{.major = kSplitMajor + 1});
  EXPECT_EQ(client.WhyEnded().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Hostile, MalformedHeads) {
  for (const FrameKind kind : {FrameKind::kOpenModel, FrameKind::kPlan, FrameKind::kBegin, FrameKind::kRows}) {
    RawClient client(server_);
    kind == FrameKind::kOpenModel ? client.Greet() : Begin(client);
    client.SendEmpty(kind);
    EXPECT_EQ(client.WhyEnded().code(), kInvalid) << static_cast<int>(kind);
  }
}

TEST_F(Hostile, UnknownMessagesAndThoseOfTheServer) {
  for (const uint16_t kind : {0, 1, 129, 132, 141, 999}) {
    RawClient client(server_);
    Begin(client);
    client.SendEmpty(FrameKind{kind});
    EXPECT_EQ(client.WhyEnded(), InvalidArgument("unknown message {}", kind));
  }
}

TEST_F(Hostile, SendsBulkWhereNoneBelongs) {
  for (const FrameKind kind : {FrameKind::kHello, FrameKind::kBegin, FrameKind::kModelPiece}) {
    RawClient client(server_);
    Begin(client);
    client.SendEmpty(kind, 8);
    EXPECT_EQ(client.WhyEnded().code(), kInvalid) << static_cast<int>(kind);
  }
  RawClient client(server_);
  client.Greet();
  client.SendEmpty(FrameKind::kProbe, kProbeBytes + 1);
  EXPECT_EQ(client.WhyEnded().code(), kInvalid);
}

TEST_F(Hostile, SendsMoreProbesThanAnybodyNeeds) {
  RawClient client(server_);
  client.Greet();
  for (int i = 0; i < 17; ++i) client.SendEmpty(FrameKind::kProbe, kProbeBytes);
  EXPECT_EQ(client.WhyEnded(), ResourceExhausted("more than 16 probes"));
}

TEST_F(Hostile, SendsAModelThatIsNotTheOneAnnounced) {
  RawClient client(server_);
  client.Greet();
  client.Send(FrameKind::kOpenModel, OpenModel{wire::HashOf(testing::BytesOf({99, 2})), sizeof(ModelName)});
  ASSERT_EQ(client.Next(), FrameKind::kModelState);
  client.SendPiece(testing::BytesOf({98, 2}));
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("the model that came is not the one that was announced"));
}

TEST_F(Hostile, SendsMoreThanTheModel) {
  RawClient client(server_);
  client.Greet();
  client.Send(FrameKind::kOpenModel, OpenModel{wire::HashOf(testing::BytesOf({99, 2})), sizeof(ModelName)});
  ASSERT_EQ(client.Next(), FrameKind::kModelState);
  client.SendPiece(std::vector<std::byte>(sizeof(ModelName) + 1));
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("a piece of a model that was not asked for"));
}

TEST_F(Hostile, OpensTwoModels) {
  RawClient client(server_);
  client.Open();
  client.Send(FrameKind::kOpenModel, OpenModel{wire::HashOf(testing::BytesOf({99, 2})), sizeof(ModelName)});
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("a session has one model"));
}

TEST_F(Hostile, PlansThatCannotBeCarriedOut) {
  std::vector<Plan> plans = {Plan(0), Plan(3), ServerOnly(), ServerOnly(), ServerOnly()};
  plans[2].rows[kServer][0] = {0, 1};         // the input is the device's
  plans[3].rows[kServer][1] = {-5, 1 << 30};  // rows that do not exist
  plans[4].rows[kServer].back() = {};
  plans[4].rows[kServer][model_->View().rows.Output() - 1] = {};  // nobody makes the result
  for (const Plan& plan : plans) {
    RawClient client(server_);
    client.Open();
    client.Send(FrameKind::kPlan, EncodePlan(1, plan));
    EXPECT_EQ(client.WhyEnded().code(), kInvalid);
  }
  RawClient client(server_);
  client.Open();
  for (int twice = 0; twice < 2; ++twice) client.Send(FrameKind::kPlan, EncodePlan(1, ServerOnly()));
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("plan 1 is there already"));
}

TEST_F(Hostile, PlansInBandsThatCannotBeComputed) {
  const RowGraph& rows = model_->View().rows;
  Layout whole;
  for (int op = 0; op < rows.Size(); ++op) whole.bands.push_back({op, {0, rows.Rows(op)}});
  std::vector<Layout> layouts(5, whole);
  layouts[0].bands[0].rows.hi += 1;                              // a row that does not exist
  layouts[1].bands[1].op = 1 << 30;                              // an operator that does not exist
  layouts[2].bands.push_back(whole.bands.front());               // the input twice
  std::swap(layouts[3].bands.front(), layouts[3].bands.back());  // the result before the input
  layouts[4].bands.assign(1 << 15, {0, {0, rows.Rows(0)}});      // the input, over and over
  for (const Layout& layout : layouts) {
    RawClient client(server_);
    client.Open();
    Plan plan = ServerOnly();
    plan.layout = layout;
    client.Send(FrameKind::kPlan, EncodePlan(1, plan));
    EXPECT_EQ(client.WhyEnded().code(), kInvalid);
  }
  RawClient client(server_);
  client.Open();
  PlanMessage message = EncodePlan(1, ServerOnly());
  message.bands.resize(7);  // no band
  client.Send(FrameKind::kPlan, message);
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("plan 1 is malformed"));
}

TEST_F(Hostile, BeginsWithAPlanThatIsNotThere) {
  RawClient client(server_);
  client.Open();
  client.Send(FrameKind::kBegin, split::Begin{3});
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("there is no plan 3"));
}

TEST_F(Hostile, RowsThatThePlanDoesNotHave) {
  struct Case {
    RowsHead head;
    uint64_t inference;
    size_t bulk;
  };
  const RowsHead input = Input();
  const std::vector<Case> cases = {
      {{input.value + 1, input.lo, input.hi}, 5, InputBytes()},  // another value
      {{-1, 0, 0}, 5, 0},
      {{input.value, input.lo, input.hi - 1}, 5, InputBytes()},  // fewer rows
      {{input.value, 0, 1 << 30}, 5, InputBytes()},
      {input, 6, InputBytes()},      // another inference
      {input, 5, InputBytes() + 4},  // too long
      {input, 5, InputBytes() - 4},  // too short
      {input, 5, 0},
      {input, 5, 16 << 20},
  };
  for (const Case& one : cases) {
    RawClient client(server_);
    Begin(client);
    client.Send(FrameKind::kRows, one.head, one.inference, one.bulk);
    EXPECT_EQ(client.WhyEnded().code(), kInvalid) << one.head.value << " " << one.bulk;
  }
}

TEST_F(Hostile, RowsThatAreNotEncodedAsThePlanSays) {
  Plan plan = ServerOnly();
  for (const RowCoding coding : {RowCoding::kPacked, RowCoding::kHalf, RowCoding::kPackedHalf}) {
    plan.encoding.input.coding = coding;
    const bool half = coding != RowCoding::kPacked;
    for (const size_t bulk : {InputBytes() / (half ? 2 : 1) + 4, InputBytes() / 4, size_t{0}}) {
      RawClient client(server_);
      client.Open();
      client.Send(FrameKind::kPlan, EncodePlan(1, plan));
      client.Send(FrameKind::kBegin, split::Begin{1}, 5);
      client.Send(FrameKind::kRows, Input(), 5, bulk);
      EXPECT_EQ(client.WhyEnded().code(), kInvalid) << static_cast<int>(coding) << " " << bulk;
    }
  }
}

TEST_F(Hostile, PlansOfEncodingsThatThereAreNot) {
  for (const auto& [input, quality, rows] :
       std::vector<std::array<uint8_t, 3>>{{5, 0, 0}, {0, 1, 0}, {4, 0, 0}, {4, 101, 0}, {0, 0, 4}, {0, 0, 255}}) {
    PlanMessage message = EncodePlan(1, ServerOnly());
    message.input_coding = input, message.jpeg_quality = quality, message.rows_coding = rows;
    RawClient client(server_);
    client.Open();
    client.Send(FrameKind::kPlan, message);
    EXPECT_EQ(client.WhyEnded(), InvalidArgument("plan 1 is malformed"));
  }
}

TEST_F(Hostile, MoreRowsThanThePlanHas) {
  RawClient client(server_);
  Begin(client);
  for (int twice = 0; twice < 2; ++twice) client.Send(FrameKind::kRows, Input(), 5, InputBytes());
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("rows that the plan does not have"));
}

TEST_F(Hostile, RowsBeforeAnInference) {
  RawClient client(server_);
  client.Open();
  client.Send(FrameKind::kRows, Input(), 5, InputBytes());
  EXPECT_EQ(client.WhyEnded(), InvalidArgument("rows of an inference that is not running"));
}

TEST_F(Hostile, GarbageInsteadOfFrames) {
  auto stream = server_.Dial();
  const std::string garbage(1000, 'x');
  const std::span<const std::byte> piece = link::AsBytes(garbage);
  ASSERT_TRUE(stream->Write({&piece, 1}).ok());
  std::byte byte{};
  EXPECT_FALSE(stream->Read({&byte, 1}).value_or(0) > 0) << "the server closes";
}

TEST_F(Hostile, AnInferenceMayBeAbandoned) {
  RawClient client(server_);
  Begin(client);
  client.Send(FrameKind::kBegin, split::Begin{1}, 6);
  client.Send(FrameKind::kRows, Input(), 6, InputBytes());
  EXPECT_EQ(client.Next(), FrameKind::kRows);
  EXPECT_EQ(client.Next(), FrameKind::kDone);
}

// What a client has asked for before there can be inferences, and that does not end by itself.
class EndlessSetup : public ::testing::Test {
 protected:
  EndlessSetup() {
    server_.config.machine = [this](const Model&, const Sha256&, const GoOn& go_on) -> absl::StatusOr<std::string> {
      begun_.Notify();
      absl::Status status = go_on();
      while (status.ok()) {
        std::this_thread::yield();
        status = go_on();
      }
      return status;
    };
  }
  // Up to the question how fast the machine is.
  std::unique_ptr<RawClient> Asking() {
    auto client = std::make_unique<RawClient>(server_);
    client->Greet();
    const auto bytes = testing::BytesOf(kModel);
    client->Send(FrameKind::kOpenModel, OpenModel{wire::HashOf(bytes), bytes.size()});
    EXPECT_EQ(client->Next(), FrameKind::kModelState);
    client->SendPiece(bytes);
    EXPECT_EQ(client->Next(), FrameKind::kModelState);
    client->SendEmpty(FrameKind::kAskMachine);
    return client;
  }

  absl::Notification begun_;
  TestServer server_;
};

TEST_F(EndlessSetup, EndsWithItsClient) {
  auto client = Asking();
  begun_.WaitForNotification();
  client.reset();
  EXPECT_EQ(server_.WaitForFirst().code(), absl::StatusCode::kUnavailable);
}

TEST_F(EndlessSetup, EndsWhenItsTimeIsUp) {
  server_.config.max_setup = std::chrono::milliseconds(200);
  const auto client = Asking();
  EXPECT_EQ(client->WhyEnded().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(EndlessSetup, IsAskedForOnce) {
  server_.config.max_setup = std::chrono::hours(1);
  const auto client = Asking();
  begun_.WaitForNotification();
  for (int i = 0; i < 2; ++i) client->SendEmpty(FrameKind::kAskMachine);
  EXPECT_EQ(client->WhyEnded(), InvalidArgument("a question came before the last was answered"));
}

// Windows with gaps cost a step for each of their rows whenever somebody asks what they read.
absl::StatusOr<std::shared_ptr<const Model>> LoadManyWideWindows(std::span<const std::byte>) {
  constexpr int64_t kRows = 1 << 16, kKernel = 1 << 14, kReach = 2 * (kKernel - 1) + 1;
  const std::map<std::string, graph::Attribute, std::less<>> windows = {
      {"kernel_shape", std::vector<int64_t>{kKernel, 1}}, {"dilations", std::vector<int64_t>{2, 1}}};
  const graph::TensorType input{graph::ElementType::kFloat, {1, 1, kRows, 1}};
  const graph::TensorType pooled{graph::ElementType::kFloat, {1, 1, kRows - kReach + 1, 1}};
  graph::Graph graph;
  graph.values.push_back({"input", input, {}});
  graph.inputs = {0};
  graph::Node sum{"Sum", "sum", {}, {}, {}};
  for (int n = 1; n <= 200; ++n) {
    graph.values.push_back({fmt::format("v{}", n), pooled, {}});
    graph.nodes.push_back({"MaxPool", fmt::format("n{}", n), {0}, {n}, windows});
    sum.inputs.push_back(n);
  }
  graph.outputs = {static_cast<int>(graph.values.size())};
  sum.outputs = graph.outputs;
  graph.values.push_back({"output", pooled, {}});
  graph.nodes.push_back(std::move(sum));
  return Model::Make(exec::testing::TestEngine(), std::move(graph));
}

// The thread that reads is the one that compiles plans: it sees neither that its time is up nor that the client is
// gone.
TEST(EndlessPlan, EndsTheSessionWhenItsTimeIsUp) {
  ModelStore models(LoadManyWideWindows, "", 0);
  std::atomic<int> closed = 0;
  ServerConfig config{.models = &models, .max_planning = std::chrono::milliseconds(1)};
  config.on_closed = [&] { ++closed; };
  const auto model = *LoadManyWideWindows({});
  auto [ours, theirs] = link::MemoryPair();
  auto session = std::make_unique<SplitServerSession>(std::move(theirs), config);
  link::Recorder seen;
  const auto channel = link::Channel::Create(std::move(ours));
  channel->Start(&seen);
  const std::vector<std::byte> name(1);
  SendMessage(*channel, FrameKind::kHello, Hello()).IgnoreError();
  SendMessage(*channel, FrameKind::kOpenModel, OpenModel{wire::HashOf(name), name.size()}).IgnoreError();
  ASSERT_EQ(seen.Take(2).size(), 2u);  // welcome, and it is not there
  channel->Send(static_cast<uint16_t>(FrameKind::kModelPiece), 0, {}, name).IgnoreError();
  ASSERT_EQ(seen.Take(1).size(), 1u);  // it is there
  SendMessage(*channel, FrameKind::kPlan, EncodePlan(1, ServerOnlyPlan(model->View().rows))).IgnoreError();
  SendMessage(*channel, FrameKind::kGoodbye, Goodbye()).IgnoreError();  // or it would last for ever
  EXPECT_EQ(session->Wait().code(), absl::StatusCode::kDeadlineExceeded);
  channel->Stop();
  session.reset();  // it tells after it has let Wait go
  EXPECT_EQ(closed, 2) << "once while the plan was being compiled";
}

// Nothing that the loader does can be interrupted, but the session is over, and others load.
TEST(EndlessLoading, IsNoticedToBeForNobody) {
  absl::Notification begun, go_on;
  const auto slow_name = testing::BytesOf({99, 2});
  ModelStore models(
      [&](std::span<const std::byte> bytes) {
        if (wire::HashOf(bytes) == wire::HashOf(slow_name)) {
          begun.Notify();
          go_on.WaitForNotification();
        }
        return testing::LoadRandom(bytes);
      },
      "", 0);
  const auto open = [&](link::Recorder& seen, std::span<const std::byte> name) {
    auto [ours, theirs] = link::MemoryPair();
    auto session = std::make_unique<SplitServerSession>(std::move(theirs), ServerConfig{.models = &models});
    auto channel = link::Channel::Create(std::move(ours));
    channel->Start(&seen);
    SendMessage(*channel, FrameKind::kHello, Hello()).IgnoreError();
    SendMessage(*channel, FrameKind::kOpenModel, OpenModel{wire::HashOf(name), name.size()}).IgnoreError();
    EXPECT_EQ(seen.Take(2).size(), 2u);  // welcome, and it is not there
    channel->Send(static_cast<uint16_t>(FrameKind::kModelPiece), 0, {}, name).IgnoreError();
    return std::pair(std::move(session), std::move(channel));
  };
  link::Recorder of_slow, of_other;
  auto [slow, client] = open(of_slow, slow_name);
  begun.WaitForNotification();
  auto [other, other_client] = open(of_other, testing::BytesOf(kModel));
  EXPECT_EQ(of_other.Take(1).size(), 1u) << "its model is there";
  client.reset();
  EXPECT_EQ(slow->Wait().code(), absl::StatusCode::kUnavailable);
  go_on.Notify();
}

}  // namespace
}  // namespace wharf::split
