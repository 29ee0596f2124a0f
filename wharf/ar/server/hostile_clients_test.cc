// Whole hostile clients beside honest ones on one server: any messages in any order, with any values, floods, silence,
// half messages and hang-ups; some of them have taken over the relay that stands before them. The honest ones must get
// exactly the answers that they would get alone, and nothing of the hostile ones may stay.
//
// WHARF_HOSTILE_CLIENTS=n plays n of them instead of the default, WHARF_HOSTILE_SEED=n starts at another seed.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "absl/synchronization/notification.h"
#include "wharf/ar/server/server.h"
#include "wharf/ar/server/testing.h"
#include "wharf/base/random.h"
#include "wharf/base/test_environment.h"
#include "wharf/link/testing.h"
#include "wharf/split/codec/jpeg.h"
#include "wharf/wire/proof_testing.h"

namespace wharf::ar {
namespace {

constexpr uint64_t kClients = 2000;
constexpr int kAtOnce = 3;
constexpr auto kBetweenPictures = std::chrono::milliseconds(17);  // what GoodHello says its camera does

template <typename T, size_t kSize>
T Pick(Random& random, const T (&from)[kSize]) {
  return from[random.Below(kSize)];
}

double StrangeNumber(Random& random) {
  using Limits = std::numeric_limits<double>;
  const double numbers[] = {0,
                            -1,
                            1e-300,
                            1e300,
                            0.2,
                            60,
                            Limits::infinity(),
                            -Limits::infinity(),
                            1e-12,
                            1073741824.,
                            1,
                            Limits::quiet_NaN()};
  return Pick(random, numbers);
}

std::vector<std::byte> RandomBytes(Random& random, int most) {
  std::vector<std::byte> bytes(static_cast<size_t>(random.Below(most + 1)));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

// One client that does what no client should.
class HostileClient {
 public:
  HostileClient(Server& server, uint64_t seed) : random_(seed), is_relay_(random_.Chance(0.4)) {
    if (!is_relay_) {
      stream_ = DialInProcess(server, "right");
      return;
    }
    auto [theirs, ours] = link::MemoryPair();
    server.Accept(std::move(theirs));
    stream_ = std::move(ours);
  }

  void Play() {
    if (random_.Chance(0.15)) return SayNonsense();
    channel_ = link::Channel::Create(std::move(stream_));
    if (random_.Chance(0.2)) seen_.on_frame = [this](const auto&, auto) { return TurnDeaf(); };
    channel_->Start(&seen_);
    if (Enter()) {
      const int messages = random_.Chance(0.1) ? 400 : random_.Below(20);
      for (int i = 0; i < messages && Say(); ++i) {
      }
    }
    listening_.Notify();
    channel_.reset();  // hangs up, whatever it was told
  }

 private:
  // Bytes that are no frames, or the beginning of one.
  void SayNonsense() {
    std::vector<std::byte> bytes = RandomBytes(random_, 300);
    if (bytes.size() > 1 && random_.Chance(0.5)) {  // so that the beginning may mean something
      const auto hello = wire::Encode(GoodHello());
      bytes[0] = static_cast<std::byte>(FrameKind::kHello);
      bytes[1] = {};
      bytes.insert(bytes.end(), hello.begin(), hello.end());
    }
    const std::span<const std::byte> pieces[] = {bytes};
    stream_->Write(pieces).IgnoreError();
    stream_.reset();
  }

  absl::Status TurnDeaf() {
    if (++heard_ > 4) listening_.WaitForNotification();
    return absl::OkStatus();
  }

  Hello MakeHello() {
    Hello hello = random_.Chance(0.3) ? HelloWithSla(0.2) : GoodHello();
    if (random_.Chance(0.6)) return hello;
    const int32_t sides[] = {0, -1, 1, kTestWidth, kMaxSide, kMaxSide + 1, std::numeric_limits<int32_t>::max()};
    const char* const models[] = {"", "mine", "mine,mine", "/etc/passwd", "../../model", "a,b,c,d,e,f", ",,"};
    switch (random_.Below(7)) {
      case 0:
        hello.tasks = static_cast<uint8_t>(random_.Next());
        break;
      case 1:
        hello.width = Pick(random_, sides);
        hello.height = Pick(random_, sides);
        break;
      case 2:
        hello.frames_per_s = StrangeNumber(random_);
        break;
      case 3:
        hello.fx = StrangeNumber(random_);
        hello.cy = StrangeNumber(random_);
        break;
      case 4:
        hello.sla = StrangeNumber(random_);
        hello.tasks = Bits({Task::kDepth});
        break;
      case 5:
        hello.models = Pick(random_, models);
        hello.tasks = static_cast<uint8_t>(random_.Next());
        break;
      default:
        hello.depth_coding = static_cast<DepthCoding>(random_.Next());
    }
    return hello;
  }

  // True if it may go on. Most know the token.
  bool Enter() {
    const Hello hello = MakeHello();
    if (!wire::SendMessage(*channel_, FrameKind::kHello, hello).ok()) return false;
    if (random_.Chance(0.05)) return true;                                   // does not wait for an answer
    if (is_relay_) return random_.Chance(0.2) || seen_.Take(1).size() == 1;  // of whom nothing is asked
    const auto challenge = seen_.Take(1);
    if (challenge.size() != 1) return false;
    const std::string token = random_.Chance(0.1) ? "wrong" : "right";
    const auto proof = wire::AnswerTo<ArProtocol>(link::AsBytes(challenge[0].head), hello, token);
    if (!wire::SendMessage(*channel_, FrameKind::kProof, proof).ok()) return false;
    if (random_.Chance(0.8)) seen_.Take(2);  // the server's proof and its Welcome, or the end
    return true;
  }

  uint64_t Tag() {
    const uint64_t tags[] = {0, 1, 1'000'000'000'000, uint64_t{1} << 63, ~uint64_t{0}, tag_, tag_ - 1, ++tag_, ++tag_};
    return Pick(random_, tags);
  }

  // As the one to whom it speaks takes them, often.
  std::vector<std::byte> Pixels() {
    const size_t whole = GreyPicture(9).rgb.size();
    return std::vector<std::byte>(random_.Chance(0.9) ? whole : whole + static_cast<size_t>(random_.Below(9)) - 4);
  }
  std::vector<std::byte> Bulk() { return is_relay_ ? Pixels() : Jpeg(); }

  std::vector<std::byte> Jpeg() {
    const int side = random_.Chance(0.7) ? kTestWidth : 8 + random_.Below(200);
    const int height = random_.Chance(0.7) ? kTestHeight : 8 + random_.Below(200);
    auto jpeg = split::EncodeJpeg({side, height, 3, GreyPicture(9, side, height).rgb}, 60);
    std::vector<std::byte> bytes = jpeg.ok() ? *jpeg : std::vector<std::byte>();
    if (random_.Chance(0.2)) bytes.resize(bytes.size() * static_cast<size_t>(random_.Below(100)) / 100);
    for (int i = random_.Chance(0.3) ? random_.Below(20) : 0; i > 0 && !bytes.empty(); --i) {
      bytes[random_.Next() % bytes.size()] = static_cast<std::byte>(random_.Next());
    }
    return bytes;
  }

  // False: the connection has ended.
  bool Say() {
    const auto send = [this](FrameKind kind, std::span<const std::byte> head, std::span<const std::byte> bulk) {
      return channel_->Send(static_cast<uint16_t>(kind), Tag(), head, bulk).ok();
    };
    switch (random_.Below(12)) {
      case 0:
        return send(FrameKind::kReport,
                    wire::Encode(Report{StrangeNumber(random_), StrangeNumber(random_), StrangeNumber(random_),
                                        StrangeNumber(random_)}),
                    {});
      case 1:
        return send(static_cast<FrameKind>(random_.Below(260)), RandomBytes(random_, 60), RandomBytes(random_, 60));
      case 2:
        return send(FrameKind::kPicture, RandomBytes(random_, 4), Bulk());
      case 3:
        return send(FrameKind::kPicture, wire::Encode(Picture{static_cast<uint8_t>(random_.Next())}), Bulk());
      default:
        return send(FrameKind::kPicture, wire::Encode(Picture{Bits({Task::kDepth})}), Bulk());
    }
  }

  Random random_;
  const bool is_relay_;
  std::unique_ptr<link::ByteStream> stream_;
  link::Recorder seen_;
  std::unique_ptr<link::Channel> channel_;
  absl::Notification listening_;
  std::atomic<int> heard_ = 0;
  uint64_t tag_ = 1;
};

void Await(const std::function<bool()>& condition) {
  while (!condition()) Clock::Real().SleepFor(std::chrono::milliseconds(1));
}

class HostileClientsTest : public ::testing::Test {
 protected:
  HostileClientsTest() {
    ServerConfig config = TestServerConfig(queue_, coordination_, batches_);
    config.max_unread_bytes = 64 << 10;
    server_ = std::make_unique<Server>(config);
  }

  // Each picture has its answers, the right ones, once.
  void BeHonest(const std::atomic<bool>& enough) {
    Ear ear;
    const auto client = Connection::Open(DialInProcess(*server_, "right"), GoodHello(), "right", ear, kPatience);
    ASSERT_TRUE(client.ok()) << ToString(client.status());
    for (int64_t frame = 0; !enough; ++frame) {
      const auto grey = static_cast<uint8_t>(frame * 16 % 256);
      ASSERT_EQ((*client)->Send(frame, Bits({Task::kDepth, Task::kOdometry}), GreyPicture(grey), 95), absl::OkStatus());
      for (int i = 0; i < 2; ++i) {
        const Ear::Heard heard = ear.Next();
        ASSERT_EQ(heard.frame, frame);
        if (heard.task == Task::kDepth) {
          ASSERT_EQ(heard.status, absl::OkStatus());
          ASSERT_EQ(heard.found, BrightnessOf(GreyPicture(grey)));
        } else {
          ASSERT_EQ(heard.status, NotFound("nothing moves"));
        }
      }
      ++honest_answers_;
      Clock::Real().SleepFor(kBetweenPictures);
      ASSERT_TRUE(ear.Take().empty()) << "an answer too many";
    }
  }

  std::atomic<int> honest_answers_ = 0;
  TurnQueue queue_;
  BrightnessBatches batches_;
  Coordination coordination_{
      {.finder = &batches_, .profile = *serving::InferenceProfile::Make("test", {{1, 10}, {4, 16}})}};
  std::unique_ptr<Server> server_;  // first to go
};

TEST_F(HostileClientsTest, OthersAreServedAsIfTheyWereAloneAndNothingStays) {
  const uint64_t first = FromEnvironment("WHARF_HOSTILE_SEED", 1);
  const uint64_t count = FromEnvironment("WHARF_HOSTILE_CLIENTS", kClients);
  const size_t descriptors = Entries("/proc/self/fd"), threads = Entries("/proc/self/task");
  std::atomic<bool> enough = false;
  std::thread honest([&] { BeHonest(enough); });
  std::atomic<uint64_t> next = first;
  std::vector<std::thread> hostile;
  for (int i = 0; i < kAtOnce; ++i) {
    hostile.emplace_back([&] {
      for (uint64_t seed = next++; seed < first + count; seed = next++) HostileClient(*server_, seed).Play();
    });
  }
  for (std::thread& thread : hostile) thread.join();
  enough = true;
  honest.join();
  EXPECT_GT(honest_answers_, 1);
  Await([&] { return coordination_.Counts().served + coordination_.Counts().waiting == 0; });
  Await([&] { return Entries("/proc/self/task") <= threads; });
  Await([&] { return Entries("/proc/self/fd") <= descriptors; });
}

}  // namespace
}  // namespace wharf::ar
