// Hostile clients whose every message is well-formed, and which share the server's batches with honest ones: liars,
// floods of reports and of pictures, clients that promise frames and send none, that never read, that hang up at any
// time, and that take all the sessions there are. The honest ones, two with an agreed accuracy and one with a plan of
// its own, must get answers to their own pictures only, in their own coding.
//
// Time is virtual: it passes frame by frame of the honest clients' cameras, so that nobody is late because a machine is
// slow. What hostile clients do, they do as fast as they can.
//
// WHARF_HOSTILE_CLIENTS=n plays n of them instead of the default, WHARF_HOSTILE_SEED=n starts at another seed.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <list>
#include <set>
#include <thread>

#include "absl/synchronization/notification.h"
#include "wharf/ar/server/server.h"
#include "wharf/ar/server/testing.h"
#include "wharf/base/random.h"
#include "wharf/base/test_environment.h"

namespace wharf::ar {
namespace {

constexpr int kCameraRate = 20;
constexpr Nanoseconds kFrameTime = std::chrono::milliseconds(50);
constexpr size_t kMostSessions = 16;
constexpr int kWantedAnswers = 30, kWantedShared = 10;
constexpr uint64_t kHostilePlays = 120;

// Shades of pictures, so many to each client: what a finder says tells whose picture it was.
constexpr int kShades = 16;
struct Shades {
  int first = 0, count = 0;
  int Of(int64_t frame) const { return first + static_cast<int>(frame % count); }
  bool Has(int shade) const { return shade >= first && shade < first + count; }
};
constexpr Shades kOne = {0, 4}, kOther = {4, 4}, kOwnPlan = {8, 2}, kHostile = {10, 6};

scene::Image ShadeOf(int shade) { return GreyPicture(static_cast<uint8_t>(shade * 256 / kShades + 8)); }
std::vector<std::byte> ShadeAndCoding(int shade, DepthCoding coding) {
  return {static_cast<std::byte>(shade), static_cast<std::byte>(coding)};
}

// Says the shade of each picture and how its client wants depth, and whose pictures were in one batch.
class ShadeBatches final : public BatchFinder {
 public:
  std::string_view TaskName() const override { return "depth"; }
  int Width() const override { return kTestWidth; }
  int Height() const override { return kTestHeight; }
  std::vector<Finding> Find(std::span<const scene::Image> pictures, std::span<const DepthCoding> codings) override {
    std::vector<Finding> findings;
    bool one = false, other = false, hostile = false;
    for (size_t i = 0; i < pictures.size(); ++i) {
      const int shade = pictures[i].rgb.at(0) * kShades / 256;
      findings.emplace_back(ShadeAndCoding(shade, codings[i]));
      one = one || kOne.Has(shade);
      other = other || kOther.Has(shade);
      hostile = hostile || kHostile.Has(shade);
    }
    honest_together += one && other ? 1 : 0;
    with_hostile += (one || other) && hostile ? 1 : 0;
    return findings;
  }
  std::atomic<int> honest_together = 0, with_hostile = 0;  // batches
};

Hello AgreedHello(DepthCoding coding, double sla = 0.05) {
  Hello hello = HelloWithSla(sla);
  hello.depth_coding = coding;
  hello.frames_per_s = kCameraRate;
  return hello;
}

// A client that offloads what it is told, and holds each answer against what it sent.
class AgreedClient {
 public:
  AgreedClient(Shades shades, DepthCoding coding) : shades_(shades), coding_(coding) {}
  virtual ~AgreedClient() = default;

  void Enter(std::unique_ptr<link::ByteStream> stream, double sla = 0.05) {
    auto connection = Connection::Open(std::move(stream), AgreedHello(coding_, sla), "right", ear_, kLongPatience);
    ASSERT_TRUE(connection.ok()) << ToString(connection.status());
    connection_ = *std::move(connection);
  }
  void OnCameraFrame(int64_t frame) {
    for (const Ear::Heard& heard : ear_.Take()) Check(heard);
    if (!Takes(frame)) return;
    last_ = frame;
    asked_.insert(frame);
    ASSERT_EQ(connection_->Send(frame, Bits({Task::kDepth}), ShadeOf(shades_.Of(frame)), 95), absl::OkStatus());
  }
  void Leave() { connection_.reset(); }
  int answers() const { return answers_; }

 protected:
  static constexpr Nanoseconds kLongPatience = std::chrono::seconds(60);
  // What it says of itself after an answer.
  virtual Report Measured() { return {.drop_rate = 0.01, .network_s = 0.02}; }
  virtual bool Obeys() { return true; }
  Ear ear_;

 private:
  void Check(const Ear::Heard& heard) {
    ASSERT_EQ(asked_.erase(heard.frame), 1) << "an answer to a picture that it did not send, or a second one";
    if (!heard.status.ok()) {
      ASSERT_EQ(heard.status.code(), absl::StatusCode::kResourceExhausted);
      return;
    }
    ASSERT_EQ(heard.found, ShadeAndCoding(shades_.Of(heard.frame), coding_));
    ++answers_;
    ASSERT_EQ(connection_->Tell(Measured()), absl::OkStatus());
  }
  bool Takes(int64_t frame) {
    const auto plan = ear_.Plan();
    if (!plan || !Obeys()) return false;
    if (std::ranges::find(plan->frames, frame) != plan->frames.end()) return true;
    return plan->interval > 0 && frame >= last_ + plan->interval;
  }

  const Shades shades_;
  const DepthCoding coding_;
  std::unique_ptr<Connection> connection_;
  int64_t last_ = -1000;
  std::set<int64_t> asked_;
  int answers_ = 0;
};

// Shares batches, and says of itself what it likes.
class Liar final : public AgreedClient {
 public:
  Liar(DepthCoding coding, std::vector<Report> lies) : AgreedClient(kHostile, coding), lies_(std::move(lies)) {}

 private:
  Report Measured() override { return lies_[next_++ % lies_.size()]; }
  const std::vector<Report> lies_;
  size_t next_ = 0;
};

// Sends pictures until it is served, and nothing then.
class Deserter final : public AgreedClient {
 public:
  Deserter() : AgreedClient(kHostile, DepthCoding::kHalf) {}

 private:
  bool Obeys() override { return !ear_.Served(); }
};

// Hears nothing until it is told to.
class DeafEar final : public ConnectionListener {
 public:
  void OnResult(const Result&, int64_t, std::vector<std::byte>) override { hears.WaitForNotification(); }
  void OnFailed(Task, int64_t, const absl::Status&) override { hears.WaitForNotification(); }
  void OnClosed(const absl::Status&) override {}
  absl::Notification hears;
};

class HostileAgreementsTest : public ::testing::Test {
 protected:
  HostileAgreementsTest() {
    ServerConfig config = TestServerConfig(queue_, coordination_, batches_);
    config.max_sessions = kMostSessions;
    config.max_unread_bytes = 64 << 10;
    config.clock = &clock_;
    server_ = std::make_unique<Server>(config);
  }

  std::unique_ptr<link::ByteStream> Dial() { return DialInProcess(*server_, "right"); }
  absl::StatusOr<std::unique_ptr<Connection>> Open(const Hello& hello, ConnectionListener& listener) {
    return Connection::Open(Dial(), hello, "right", listener, kPatience);
  }
  // Or hangs up, when it has said so to many at a time.
  static bool SaysFull(const absl::Status& refused) {
    return absl::IsResourceExhausted(refused) || absl::IsUnavailable(refused);
  }
  // Tries until there is a session left for it.
  std::unique_ptr<Connection> GetIn(const Hello& hello, ConnectionListener& listener) {
    for (;;) {
      auto connection = Open(hello, listener);
      if (connection.ok()) return *std::move(connection);
      EXPECT_TRUE(SaysFull(connection.status())) << ToString(connection.status());
    }
  }

  // One after the other until it is sent away for it: exactly for that.
  void Flood(bool with_pictures) {
    Ear ear;
    const auto client = GetIn(AgreedHello(DepthCoding::kJpeg), ear);
    absl::Status sent;
    for (int64_t i = 0; sent.ok(); ++i) {
      sent = with_pictures ? client->Send(i, Bits({Task::kDepth}), ShadeOf(kHostile.Of(i)), 50)
                           : client->Tell({.drop_rate = 0.01 * static_cast<double>(i % 7), .network_s = 0.02});
    }
    EXPECT_EQ(
        ear.WaitClosed(),
        ResourceExhausted("more than 40 messages a second: a client sends its camera's pictures, at the rate that "
                          "its Hello says and at most 120 a second, and a report for each"));
    ++floods_ended_;
  }

  void NeverRead() {
    DeafEar ear;
    const auto client = GetIn(AgreedHello(DepthCoding::kHalf), ear);
    for (int64_t i = 0; client->Send(i, Bits({Task::kDepth}), ShadeOf(kHostile.Of(i)), 50).ok(); ++i) {
    }
    ear.hears.Notify();
  }

  // Comes, does as it is told for a while, and is gone, with pictures in a batch or without.
  void HangUp(uint64_t seed) {
    Random random(seed);
    Ear ear;
    const auto client = GetIn(AgreedHello(DepthCoding::kHalf, random.Chance(0.5) ? 10 : 1e-6), ear);
    for (int i = random.Below(8); i > 0; --i) {
      const auto frame = static_cast<int64_t>(clock_.Now().since_epoch / kFrameTime);
      if (!client->Send(frame, Bits({Task::kDepth}), ShadeOf(kHostile.Of(frame)), 50).ok()) return;
      const TimePoint until = clock_.Now() + random.Below(4) * kFrameTime;
      while (clock_.Now() < until && ear.Take().empty()) std::this_thread::yield();
      if (random.Chance(0.3)) client->Tell({.drop_rate = 0, .network_s = 0}).IgnoreError();
    }
  }

  // Takes session after session until it is refused one.
  void TakeAllSessions() {
    std::list<Ear> ears;
    std::vector<std::unique_ptr<Connection>> taken;
    for (;;) {
      auto connection = Open(AgreedHello(DepthCoding::kHalf, 10), ears.emplace_back());
      if (!connection.ok()) {
        EXPECT_TRUE(SaysFull(connection.status())) << ToString(connection.status());
        break;
      }
      taken.push_back(*std::move(connection));
    }
    EXPECT_LT(taken.size(), kMostSessions);
    ++limits_met_;
  }

  void PlayHostile(uint64_t seed) {
    switch (seed % 10) {
      case 0:
        return Flood(/*with_pictures=*/false);
      case 1:
        return Flood(/*with_pictures=*/true);
      case 2:
        return NeverRead();
      case 3:
        return TakeAllSessions();
      default:
        return HangUp(seed);
    }
  }

  // Returns when the coordination has heard all that was said before.
  void Settle() {
    for (int i = 0; i < 2; ++i) {
      const uint64_t steps = coordination_.Counts().steps;
      coordination_.Leave(0);  // nobody, but it wakes the thread
      while (coordination_.Counts().steps == steps) std::this_thread::yield();
    }
  }
  void PassOneFrame() {
    constexpr int kPieces = 10;
    for (int i = 0; i < kPieces; ++i) {
      Settle();
      clock_.Advance(kFrameTime / kPieces);
    }
  }

  VirtualClock clock_;
  TurnQueue queue_;
  ShadeBatches batches_;
  // Plans are kept for longer than usual, so that a client has its own in time however slow its connection's threads.
  Coordination coordination_{{.finder = &batches_,
                              .profile = *serving::InferenceProfile::Make("test", {{1, 5}, {4, 8}, {8, 12}}),
                              .options = {.horizon = std::chrono::milliseconds(1500),
                                          .overlap = std::chrono::milliseconds(300),
                                          .charge_growth = true},
                              .waiting_interval = 4,
                              .clock = &clock_}};
  std::atomic<int> floods_ended_ = 0, limits_met_ = 0;
  std::unique_ptr<Server> server_;  // first to go
};

TEST_F(HostileAgreementsTest, HonestClientsGetTheirOwnAnswers) {
  const uint64_t first = FromEnvironment("WHARF_HOSTILE_SEED", 1);
  const uint64_t plays = FromEnvironment("WHARF_HOSTILE_CLIENTS", kHostilePlays);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  AgreedClient one(kOne, DepthCoding::kJpeg), other(kOther, DepthCoding::kHalf);
  Liar modest(DepthCoding::kHalf, {{0, 0}}),
      greedy(DepthCoding::kJpeg, {{1e300, 1e300}, {0, 0, 1e6, 1e6}, {0.02, 0.5, 1, 1}}),
      mad(DepthCoding::kJpeg, {{std::nan(""), -1}, {-kInfinity, kInfinity, -1, kInfinity}});
  Deserter deserter;
  const std::vector<AgreedClient*> cameras = {&one, &other, &modest, &greedy, &mad, &deserter};
  for (AgreedClient* const camera : cameras) camera->Enter(Dial(), camera == &modest ? 10 : 0.05);
  Ear ear;
  const auto own_plan = Open(GoodHello(), ear);
  ASSERT_TRUE(own_plan.ok()) << ToString(own_plan.status());

  std::atomic<uint64_t> next = first;
  std::atomic<int> playing = 2;
  std::vector<std::thread> hostile;
  for (int i = playing; i > 0; --i) {
    hostile.emplace_back([&] {
      for (uint64_t seed = next++; seed < first + plays; seed = next++) PlayHostile(seed);
      --playing;
    });
  }
  const auto enough = [&] {
    return playing == 0 && one.answers() >= kWantedAnswers && other.answers() >= kWantedAnswers &&
           batches_.honest_together >= kWantedShared && batches_.with_hostile >= kWantedShared;
  };
  for (int64_t frame = 0; !enough() && !HasFailure(); ++frame) {
    for (AgreedClient* const camera : cameras) camera->OnCameraFrame(frame);
    EXPECT_EQ((*own_plan)->Send(frame, Bits({Task::kDepth}), ShadeOf(kOwnPlan.Of(frame)), 95), absl::OkStatus());
    const Ear::Heard heard = ear.Next();
    EXPECT_EQ(heard.frame, frame);
    EXPECT_EQ(heard.status, absl::OkStatus());
    EXPECT_EQ(heard.found, BrightnessOf(ShadeOf(kOwnPlan.Of(frame))));
    PassOneFrame();
  }
  while (playing > 0) PassOneFrame();  // only after a failure
  for (std::thread& thread : hostile) thread.join();
  for (AgreedClient* const camera : cameras) camera->Leave();
  while (coordination_.Counts().served + coordination_.Counts().waiting > 0) Settle();
  EXPECT_GT(floods_ended_, 0);
  EXPECT_GT(limits_met_, 0);
}

}  // namespace
}  // namespace wharf::ar
