// Sessions over streams in memory: what clients get, what each can do wrong, and that another is served all the while.
#include "wharf/ar/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wharf/ar/server/testing.h"
#include "wharf/link/testing.h"
#include "wharf/split/codec/jpeg.h"
#include "wharf/wire/proof_testing.h"

namespace wharf::ar {
namespace {

using ::testing::HasSubstr;

void ExpectGoodbye(const link::ReceivedFrame& frame, const char* why) {
  ASSERT_EQ(frame.header.kind, static_cast<uint16_t>(FrameKind::kGoodbye));
  const auto goodbye = wire::Decode<Goodbye>(link::AsBytes(frame.head));
  ASSERT_TRUE(goodbye.ok());
  EXPECT_THAT(goodbye->message, HasSubstr(why));
}

class ArServerTest : public ::testing::Test {
 protected:
  ArServerTest() {
    config_ = TestServerConfig(queue_, coordination_, batches_);
    config_.make_solo = [](const Hello& hello) -> absl::StatusOr<std::unique_ptr<SoloFinder>> {
      if ((hello.tasks & Bits({Task::kBoxes})) != 0) return FailedPrecondition("no network finds boxes here");
      return std::make_unique<BrightnessFinder>();
    };
    server_ = std::make_unique<Server>(config_);
  }
  // Another with what `change` does to its configuration; the sessions of the one before end.
  void StartServer(const std::function<void(ServerConfig&)>& change) {
    change(config_);
    server_ = std::make_unique<Server>(config_);
  }

  std::unique_ptr<link::ByteStream> Dial() { return DialInProcess(*server_, "right"); }
  absl::StatusOr<std::unique_ptr<Connection>> Open(const Hello& hello, Ear& ear, const std::string& token = "right") {
    return Connection::Open(Dial(), hello, token, ear, kPatience);
  }
  std::unique_ptr<Connection> MustOpen(const Hello& hello, Ear& ear) {
    auto connection = Open(hello, ear);
    EXPECT_TRUE(connection.ok()) << ToString(connection.status());
    return connection.ok() ? *std::move(connection) : nullptr;
  }
  void ExpectCounts(const ServerCounts& expected) {
    const ServerCounts counts = server_->Counts();
    EXPECT_EQ(counts.clients, expected.clients);
    EXPECT_EQ(counts.agreed, expected.agreed);
    EXPECT_EQ(counts.pictures, expected.pictures);
  }
  // Whether somebody who does everything right is served.
  bool ServesOthers() {
    Ear ear;
    const auto client = MustOpen(GoodHello(), ear);
    if (client == nullptr || !client->Send(5, Bits({Task::kDepth}), GreyPicture(160), 95).ok()) return false;
    const Ear::Heard heard = ear.Next();
    return heard.frame == 5 && heard.status.ok() && heard.found == BrightnessOf(GreyPicture(160));
  }

  TurnQueue queue_;
  BrightnessBatches batches_;
  Coordination coordination_{
      {.finder = &batches_, .profile = *serving::InferenceProfile::Make("test", {{1, 10}, {4, 16}})}};
  VirtualClock clock_;
  ServerConfig config_;
  std::unique_ptr<Server> server_;  // first to go
};

TEST_F(ArServerTest, FindsThingsInPictures) {
  Ear ear;
  const auto client = MustOpen(GoodHello(), ear);
  ASSERT_NE(client, nullptr);
  ASSERT_EQ(client->Send(7, Bits({Task::kDepth, Task::kOdometry}), GreyPicture(64), 95), absl::OkStatus());
  const Ear::Heard depth = ear.Next(), odometry = ear.Next();
  EXPECT_EQ(depth.task, Task::kDepth);
  EXPECT_EQ(depth.frame, 7);
  EXPECT_EQ(depth.status, absl::OkStatus());
  EXPECT_EQ(depth.found, BrightnessOf(GreyPicture(64)));
  EXPECT_EQ(odometry.task, Task::kOdometry);
  EXPECT_EQ(odometry.status, NotFound("nothing moves"));
  ExpectCounts({.clients = 1, .agreed = 0, .pictures = 1});
}

TEST_F(ArServerTest, RefusesWhatItCannotServe) {
  Ear ear;
  const auto refusal = [&](auto change) {
    Hello hello = GoodHello();
    change(hello);
    return Open(hello, ear).status();
  };
  EXPECT_EQ(Open(GoodHello(), ear, "wrong").status(),
            Unauthenticated("the token is wrong: use the server's token file"));
  EXPECT_EQ(refusal([](Hello& hello) { hello.major = 9; }).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refusal([](Hello& hello) { hello.tasks = Bits({Task::kBoxes}); }),
            FailedPrecondition("no network finds boxes here"));
  EXPECT_EQ(refusal([](Hello& hello) { hello.sla = 0.1; }),
            InvalidArgument("an accuracy can be agreed for one task a session"));
  EXPECT_EQ(refusal([](Hello& hello) {
              hello.sla = 0.1;
              hello.tasks = Bits({Task::kDepth});
              hello.width = 64;
            }),
            InvalidArgument("pictures of 64 x 16 for a network that takes 32 x 16"));
  EXPECT_EQ(refusal([](Hello& hello) {
              hello = HelloWithSla(0.1);
              hello.frames_per_s = 121;
            }),
            InvalidArgument("an accuracy can be agreed for at most 120 frames a second"));
  ExpectCounts({});
  EXPECT_TRUE(ServesOthers());
}

// Each ends its own session, with the reason.
TEST_F(ArServerTest, GarbageEndsOneSession) {
  const std::vector<std::byte> head = wire::Encode(Picture{Bits({Task::kDepth})});
  const std::vector<std::byte> jpeg = *split::EncodeJpeg({kTestWidth, kTestHeight, 3, GreyPicture(9).rgb}, 90);
  const std::vector<std::byte> large = *split::EncodeJpeg({64, 64, 3, GreyPicture(9, 64, 64).rgb}, 90);
  struct Wrong {
    FrameKind kind;
    std::vector<std::byte> head, bulk;
    const char* why;
  };
  const Wrong wrongs[] = {
      {FrameKind::kPicture, head, link::Pattern(500), "JPEG"},
      {FrameKind::kPicture, head, large, "a picture of 64 x 64, not 32 x 16"},
      {FrameKind::kPicture, head, {jpeg.begin(), jpeg.begin() + 40}, "JPEG"},
      {FrameKind::kPicture, link::Pattern(3), jpeg, "a picture's head is malformed"},
      {FrameKind::kPicture, wire::Encode(Picture{Bits({Task::kBoxes})}), jpeg, "tasks that the Hello does not name"},
      {FrameKind::kReport, wire::Encode(Report{}), {}, "without an agreed accuracy"},
      {FrameKind::kReport, head, jpeg, "bytes that a message"},
      {FrameKind::kHello, wire::Encode(GoodHello()), {}, "unknown message"},
      {static_cast<FrameKind>(999), {}, {}, "unknown message 999"},
  };
  for (const Wrong& wrong : wrongs) {
    SCOPED_TRACE(wrong.why);
    link::Recorder seen;
    const auto channel = link::Channel::Create(Dial());
    channel->Start(&seen);
    ASSERT_TRUE(SendMessage(*channel, FrameKind::kHello, GoodHello()).ok());
    const auto challenge = seen.Take(1);
    ASSERT_EQ(challenge.size(), 1u);
    const auto proof = wire::AnswerTo<ArProtocol>(link::AsBytes(challenge[0].head), GoodHello(), "right");
    ASSERT_TRUE(SendMessage(*channel, FrameKind::kProof, proof).ok());
    ASSERT_TRUE(channel->Send(static_cast<uint16_t>(wrong.kind), 1, wrong.head, wrong.bulk).ok());
    const auto frames = seen.Take(3);  // the server's proof, the Welcome
    ASSERT_EQ(frames.size(), 3u);
    ExpectGoodbye(frames[2], wrong.why);
  }
  EXPECT_TRUE(ServesOthers());
}

// What a relay says that was taken over by its client.
TEST_F(ArServerTest, ARelayThatLiesEndsItsSession) {
  const std::vector<std::byte> head = wire::Encode(Picture{Bits({Task::kDepth})});
  const size_t pixels = GreyPicture(9).rgb.size();
  struct Lie {
    FrameKind kind;
    std::vector<std::byte> head, bulk;
    const char* why;
  };
  const Lie lies[] = {
      {FrameKind::kPicture, head, link::Pattern(pixels - 1), "a picture of 1535 bytes in place of 1536"},
      {FrameKind::kPicture, head, link::Pattern(pixels + 1), "a picture of 1537 bytes in place of 1536"},
      {FrameKind::kPicture, head, {}, "a picture without pixels"},
      {FrameKind::kPicture, link::Pattern(3), link::Pattern(pixels), "a picture's head is malformed"},
      {FrameKind::kGoodbye, link::Pattern(3), {}, "the Goodbye is malformed"},
      {FrameKind::kProof, {}, {}, "unknown message 202"},
  };
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.why);
    auto [theirs, ours] = link::MemoryPair();
    server_->Accept(std::move(theirs));
    link::Recorder seen;
    const auto channel = link::Channel::Create(std::move(ours));
    channel->Start(&seen);
    ASSERT_TRUE(SendMessage(*channel, FrameKind::kHello, GoodHello()).ok());
    ASSERT_EQ(seen.Take(1).size(), 1u);  // the Welcome: a relay has judged already
    ASSERT_TRUE(channel->Send(static_cast<uint16_t>(lie.kind), 1, lie.head, lie.bulk).ok());
    const auto frames = seen.Take(1);
    ASSERT_EQ(frames.size(), 1u);
    ExpectGoodbye(frames[0], lie.why);
  }
  EXPECT_TRUE(ServesOthers());
}

TEST_F(ArServerTest, AFloodIsRefusedPictureByPicture) {
  Ear ear;
  const auto client = MustOpen(GoodHello(), ear);
  ASSERT_NE(client, nullptr);
  constexpr int kPictures = 300;
  for (int i = 0; i < kPictures; ++i) ASSERT_TRUE(client->Send(i, Bits({Task::kDepth}), GreyPicture(64), 95).ok());
  EXPECT_TRUE(ServesOthers());
  for (int i = 0; i < kPictures; ++i) {
    const Ear::Heard heard = ear.Next();
    ASSERT_GE(heard.frame, 0);
    if (!heard.status.ok()) {
      EXPECT_EQ(heard.status.code(), absl::StatusCode::kResourceExhausted);
    }
  }
}

// So many messages in a burst, then so many a second, whatever they are.
TEST_F(ArServerTest, TooManyMessagesEndOneSession) {
  StartServer([this](ServerConfig& config) { config.clock = &clock_; });
  const absl::Status too_many = ResourceExhausted(
      "more than 4 messages a second: a client sends its camera's pictures, at the rate that its Hello says and at "
      "most 120 a second, and a report for each");
  Hello hello = HelloWithSla(0.2);
  hello.frames_per_s = 2;
  const auto report = [](Connection& client) { client.Tell({.drop_rate = 0.01, .network_s = 0.01}).IgnoreError(); };
  // A picture that is answered at once shows that the session lives, and how many messages were let in before it.
  const auto lives = [](Connection& client, Ear& ear) {
    return client.Send(1, Bits({Task::kDepth}), GreyPicture(64), 95).ok() && ear.Next().frame == 1;
  };
  Ear ear, other_ear;
  const auto client = MustOpen(hello, ear), other = MustOpen(hello, other_ear);
  ASSERT_NE(client, nullptr);
  ASSERT_NE(other, nullptr);
  for (int i = 0; i < 39; ++i) report(*client);
  EXPECT_TRUE(lives(*client, ear));
  clock_.Advance(std::chrono::seconds(1));
  for (int i = 0; i < 3; ++i) report(*client);
  EXPECT_TRUE(lives(*client, ear));
  report(*client);
  EXPECT_EQ(ear.WaitClosed(), too_many);
  EXPECT_TRUE(lives(*other, other_ear));
  for (int i = 0; i < 50; ++i) other->Send(1, Bits({Task::kDepth}), GreyPicture(64), 95).IgnoreError();
  EXPECT_EQ(other_ear.WaitClosed(), too_many);
  EXPECT_TRUE(ServesOthers());
}

TEST_F(ArServerTest, AVanishedClientIsForgotten) {
  {
    Ear ear;
    const auto client = MustOpen(HelloWithSla(0.2), ear);
    ASSERT_NE(client, nullptr);
    ASSERT_TRUE(client->Send(1, Bits({Task::kDepth}), GreyPicture(64), 95).ok());
  }
  EXPECT_TRUE(ServesOthers());
  while (coordination_.Counts().served + coordination_.Counts().waiting > 0)
    Clock::Real().SleepFor(std::chrono::milliseconds(1));
}

// Sessions with pictures of one size, as many as there is memory for.
TEST_F(ArServerTest, PicturesOfAllClientsTogetherHaveALimit) {
  constexpr uint64_t kClients = 3;
  StartServer([](ServerConfig& config) {
    config.picture_memory = (kClients + 1) * PictureMemory::Of(kTestWidth, kTestHeight) - 1;
  });
  Ear ears[kClients], ear;
  std::unique_ptr<Connection> clients[kClients];
  for (uint64_t i = 0; i < kClients; ++i) {
    clients[i] = MustOpen(i == 0 ? HelloWithSla(0.2) : GoodHello(), ears[i]);
    ASSERT_NE(clients[i], nullptr);
  }
  const absl::Status refused = Open(GoodHello(), ear).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(Message(refused)), HasSubstr("no room for pictures of 32 x 16"));
  // Those that are there are served as before.
  ASSERT_TRUE(clients[1]->Send(5, Bits({Task::kDepth}), GreyPicture(160), 95).ok());
  EXPECT_EQ(ears[1].Next().found, BrightnessOf(GreyPicture(160)));
  // The room of one that leaves is the next one's.
  clients[0].reset();
  absl::Status opened;
  do {
    opened = Open(GoodHello(), ear).status();
  } while (opened.code() == absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(opened, absl::OkStatus());
}

TEST_F(ArServerTest, WhoComesWhenItIsFullIsToldSo) {
  StartServer([](ServerConfig& config) { config.max_sessions = 1; });
  Ear first_ear, ear;
  auto first = MustOpen(GoodHello(), first_ear);
  ASSERT_NE(first, nullptr);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Open(GoodHello(), ear).status(),
              ResourceExhausted("this server has 1 clients, as many as it may have (--max-sessions): try again later"));
  }
  // One that says nothing keeps nobody waiting.
  const auto silent = Dial();
  ASSERT_TRUE(first->Send(5, Bits({Task::kDepth}), GreyPicture(160), 95).ok());
  EXPECT_EQ(first_ear.Next().found, BrightnessOf(GreyPicture(160)));
  first.reset();
  absl::Status opened;
  do {
    opened = Open(GoodHello(), ear).status();
  } while (opened.code() == absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(opened, absl::OkStatus());
}

TEST_F(ArServerTest, WhoOnlyAsksIsAnsweredAndHasNoPlace) {
  StartServer([](ServerConfig& config) { config.picture_memory = 3 * PictureMemory::Of(kTestWidth, kTestHeight) - 1; });
  const auto ask = [this](Hello hello, Ear& ear, const std::string& token = "right") {
    hello.features = kFeatureCheckOnly;
    const auto asked = Open(hello, ear, token);
    if (asked.ok()) ear.WaitClosed().IgnoreError();
    return asked.status();
  };
  Ear first_ear, second_ear, ear;
  const auto first = MustOpen(GoodHello(), first_ear);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first_ear.Welcome().sessions, 0u);
  for (const Hello& hello : {GoodHello(), HelloWithSla(0.2)}) {
    EXPECT_EQ(ask(hello, ear), absl::OkStatus());
    EXPECT_EQ(ear.Welcome().features, kFeatureCheckOnly);
    EXPECT_EQ(ear.Welcome().sessions, 1u);
  }
  EXPECT_EQ(coordination_.Counts().served + coordination_.Counts().waiting, 0);
  EXPECT_EQ(ask(GoodHello(), ear, "wrong").code(), absl::StatusCode::kUnauthenticated);
  Hello boxes = GoodHello();
  boxes.tasks = Bits({Task::kBoxes});
  EXPECT_EQ(ask(boxes, ear), FailedPrecondition("no network finds boxes here"));
  const auto second = MustOpen(GoodHello(), second_ear);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second_ear.Welcome().sessions, 1u);
  EXPECT_EQ(ask(GoodHello(), ear).code(), absl::StatusCode::kResourceExhausted) << "there is no room";
  ASSERT_TRUE(first->Send(5, Bits({Task::kDepth}), GreyPicture(160), 95).ok());
  EXPECT_EQ(first_ear.Next().found, BrightnessOf(GreyPicture(160)));
}

TEST_F(ArServerTest, WhoWasSilentForLongestGivesWay) {
  StartServer([this](ServerConfig& config) {
    config.max_sessions = 2;
    config.clock = &clock_;
  });
  Ear silent_ear, speaking_ear, third_ear, ear;
  const auto silent = MustOpen(GoodHello(), silent_ear);
  const auto speaking = MustOpen(GoodHello(), speaking_ear);
  ASSERT_TRUE(silent != nullptr && speaking != nullptr);
  const auto speaks = [&](int64_t frame) {
    return speaking->Send(frame, Bits({Task::kDepth}), GreyPicture(160), 95).ok() &&
           speaking_ear.Next().found == BrightnessOf(GreyPicture(160));
  };
  clock_.Advance(std::chrono::seconds(20));
  EXPECT_EQ(Open(GoodHello(), ear).status().code(), absl::StatusCode::kResourceExhausted);  // nobody is silent for long
  ASSERT_TRUE(speaks(1));
  clock_.Advance(std::chrono::seconds(20));
  const auto third = MustOpen(GoodHello(), third_ear);
  EXPECT_NE(third, nullptr);
  EXPECT_EQ(silent_ear.WaitClosed().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(speaks(2));
  EXPECT_EQ(Open(GoodHello(), ear).status().code(), absl::StatusCode::kResourceExhausted);
}

// Nobody else comes who would have it looked after.
TEST_F(ArServerTest, AnEndedSessionKeepsNothing) {
  const size_t before = Entries("/proc/self/fd");
  {
    Ear ear;
    const auto client = MustOpen(GoodHello(), ear);
    ASSERT_NE(client, nullptr);
  }
  while (Entries("/proc/self/fd") > before) Clock::Real().SleepFor(std::chrono::milliseconds(1));
}

TEST_F(ArServerTest, ClientsWithAnAccuracyAreScheduled) {
  Ear ear;
  const auto client = MustOpen(HelloWithSla(0.2), ear);
  ASSERT_NE(client, nullptr);
  // A camera that goes on, as asked, until something was found for it, whether it is served or waits by then.
  const TimePoint start = Clock::Real().Now();
  bool answered = false;
  for (int64_t frame = 0; !answered;) {
    Clock::Real().SleepUntil(start + FromSeconds(static_cast<double>(frame) / 60));
    for (const Ear::Heard& heard : ear.Take()) answered = answered || heard.status.ok();
    const auto plan = ear.Plan();
    const bool asked = plan && (std::ranges::find(plan->frames, frame) != plan->frames.end() ||
                                (plan->interval > 0 && frame % plan->interval == 0));
    if (asked) {
      ASSERT_TRUE(client->Send(frame, Bits({Task::kDepth}), GreyPicture(64), 95).ok());
    }
    ++frame;
  }
  EXPECT_EQ(server_->Counts().agreed, 1);
  EXPECT_GE(server_->Counts().pictures, 1);
  ASSERT_TRUE(client->Tell({.drop_rate = 0.02, .network_s = 0.01}).ok());
}

}  // namespace
}  // namespace wharf::ar
