// A multitask client's offloads over streams in memory, with a server whose networks are stand-ins.
#include "wharf/ar/client/link_offloader.h"

#include <gtest/gtest.h>

#include "wharf/ar/client/model_answer.h"
#include "wharf/ar/result_coding.h"
#include "wharf/ar/server/testing.h"
#include "wharf/multitask/tasks/boxes_task.h"
#include "wharf/multitask/tasks/depth_task.h"
#include "wharf/multitask/tasks/odometry_task.h"

namespace wharf::ar {
namespace {

constexpr int kDepthTask = 0, kOdometryTask = 1, kBoxesTask = 2;

const std::vector<Task> kTasksAsked = {Task::kDepth, Task::kOdometry, Task::kBoxes};

// Everything is as far away in metres as the picture is bright.
class StandIn final : public SoloFinder {
 public:
  Finding Find(Task task, const multitask::FramePointer& frame) override {
    if (task == ModelTaskAt(0)) {
      const std::vector<float> brightness = {static_cast<float>(frame->image.rgb[0])};
      return EncodeOutputs(std::vector{graph::Constant::Of<float>(graph::ElementType::kFloat, {1}, brightness)});
    }
    if (task == ModelTaskAt(1)) return std::vector<std::byte>(3);  // nothing that can be
    if (task == Task::kBoxes) return EncodeBoxes(std::vector<scene::Box>{{1, 2, 3, 4}});
    if (task == Task::kDepth) {
      const float metres = frame->image.rgb[0];
      return EncodeDepth({kTestWidth, kTestHeight, std::vector<float>(kTestWidth * kTestHeight, metres)},
                         DepthCoding::kHalf);
    }
    const int64_t before = std::exchange(before_, frame->index);
    if (before < 0) return std::vector<std::byte>();
    return EncodeMotion({.from = before});
  }

 private:
  int64_t before_ = -1;
};

class LinkOffloaderTest : public ::testing::Test {
 protected:
  LinkOffloaderTest() : server_(MakeServer()) {}

  std::unique_ptr<Server> MakeServer() {
    ServerConfig config;
    config.make_solo = [](const Hello&) { return std::make_unique<StandIn>(); };
    config.solo = &lane_;
    return std::make_unique<Server>(config);
  }
  static UplinkOptions Options() {
    UplinkOptions options;
    options.hello.width = kTestWidth;
    options.hello.height = kTestHeight;
    options.hello.fx = options.hello.fy = 20;
    options.timeout = std::chrono::seconds(60);
    options.first_pause = std::chrono::milliseconds(1);
    return options;
  }
  std::unique_ptr<LinkOffloader> MustOpen() {
    auto offloader = LinkOffloader::Open([this](const std::string&) { return Connect(); }, Options(), kTasksAsked);
    EXPECT_TRUE(offloader.ok()) << ToString(offloader.status());
    return offloader.ok() ? *std::move(offloader) : nullptr;
  }
  absl::StatusOr<std::unique_ptr<link::ByteStream>> Connect() {
    absl::MutexLock lock(&mutex_);
    if (server_ == nullptr) return Unavailable("no server answers");
    return DialInProcess(*server_, server_token_);
  }
  void SetServer(std::unique_ptr<Server> server) {
    absl::MutexLock lock(&mutex_);
    server_ = std::move(server);
  }
  static multitask::FramePointer FrameOf(int64_t index, uint8_t grey) {
    auto frame = std::make_shared<scene::Frame>();
    frame->index = index;
    frame->image = GreyPicture(grey);
    return frame;
  }
  static absl::StatusOr<multitask::Reply> Await(LinkOffloader& offloader) {
    for (;;) {
      if (auto reply = offloader.Poll()) return *std::move(reply);
      Clock::Real().SleepFor(std::chrono::milliseconds(1));
    }
  }
  // Sends until there is a connection to send on.
  static absl::StatusOr<multitask::Reply> Ask(LinkOffloader& offloader, int64_t frame, std::vector<int> tasks) {
    while (!offloader.Send(FrameOf(frame, 40), tasks).ok()) Clock::Real().SleepFor(std::chrono::milliseconds(1));
    return Await(offloader);
  }

  TurnQueue lane_;
  std::string server_token_;
  absl::Mutex mutex_;
  std::unique_ptr<Server> server_;
};

TEST_F(LinkOffloaderTest, BringsEveryTasksAnswer) {
  const auto offloader = MustOpen();
  ASSERT_NE(offloader, nullptr);
  const auto first = Ask(*offloader, 3, {kDepthTask, kOdometryTask, kBoxesTask});
  ASSERT_TRUE(first.ok()) << ToString(first.status());
  EXPECT_EQ(first->frame, 3);
  ASSERT_EQ(first->answers.size(), 3u);
  for (const auto& answer : first->answers) ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  EXPECT_NEAR(dynamic_cast<const multitask::DepthAnswer&>(**first->answers[0]).depth->metres[0], 40, 2);
  EXPECT_FALSE(dynamic_cast<const multitask::OdometryAnswer&>(**first->answers[1]).measured.has_value());
  EXPECT_EQ(dynamic_cast<const multitask::BoxesAnswer&>(**first->answers[2]).boxes.size(), 1u);

  const auto second = Ask(*offloader, 9, {kOdometryTask});
  ASSERT_TRUE(second.ok()) << ToString(second.status());
  const auto& odometry = dynamic_cast<const multitask::OdometryAnswer&>(**second->answers.at(0));
  ASSERT_TRUE(odometry.measured.has_value());
  EXPECT_EQ(odometry.measured->from, 3);
}

TEST_F(LinkOffloaderTest, BringsWhatModelsOfTheServersSay) {
  UplinkOptions options = Options();
  options.hello.models = "light,broken";
  const auto offloader = LinkOffloader::Open([this](const std::string&) { return Connect(); }, options,
                                             {Task::kBoxes, ModelTaskAt(0), ModelTaskAt(1)});
  ASSERT_TRUE(offloader.ok()) << ToString(offloader.status());
  const auto reply = Ask(**offloader, 1, {0, 1, 2});
  ASSERT_TRUE(reply.ok()) << ToString(reply.status());
  ASSERT_EQ(reply->answers.size(), 3u);
  EXPECT_TRUE(reply->answers[0].ok());
  ASSERT_TRUE(reply->answers[1].ok()) << ToString(reply->answers[1].status());
  const auto& light = dynamic_cast<const ModelAnswer&>(**reply->answers[1]);
  ASSERT_EQ(light.outputs.size(), 1u);
  EXPECT_NEAR(light.outputs[0].As<float>()[0], 40, 2);
  EXPECT_EQ(reply->answers[2].status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LinkOffloaderTest, GivesUpWhatIsCancelled) {
  const auto offloader = MustOpen();
  ASSERT_NE(offloader, nullptr);
  ASSERT_TRUE(offloader->Send(FrameOf(1, 40), std::vector<int>{kDepthTask}).ok());
  offloader->Cancel();
  EXPECT_FALSE(offloader->Poll().has_value());
  const auto reply = Ask(*offloader, 2, {kBoxesTask});
  ASSERT_TRUE(reply.ok()) << ToString(reply.status());
  EXPECT_EQ(reply->frame, 2);
}

TEST_F(LinkOffloaderTest, GoesOnWhenTheServerIsBack) {
  const auto offloader = MustOpen();
  ASSERT_NE(offloader, nullptr);
  ASSERT_TRUE(Ask(*offloader, 1, {kBoxesTask}).ok());
  SetServer(nullptr);
  while (offloader->Send(FrameOf(2, 40), std::vector<int>{kBoxesTask}).ok()) {  // until the loss is noticed
    const auto reply = Await(*offloader);
    if (!reply.ok()) break;
  }
  SetServer(MakeServer());
  const auto reply = Ask(*offloader, 3, {kBoxesTask});
  ASSERT_TRUE(reply.ok()) << ToString(reply.status());
  EXPECT_EQ(reply->frame, 3);
}

TEST_F(LinkOffloaderTest, AFirstConnectionThatIsHungUpOnIsTriedAgain) {
  int dials = 0;
  UplinkOptions options = Options();
  options.opening = std::chrono::hours(1);
  const auto offloader = LinkOffloader::Open(
      [&](const std::string&) -> absl::StatusOr<std::unique_ptr<link::ByteStream>> {
        if (++dials == 1) return Unavailable("TLS broke off");
        if (dials == 2) return std::move(link::MemoryPair().first);  // ends without an answer
        return Connect();
      },
      options, kTasksAsked);
  ASSERT_TRUE(offloader.ok()) << ToString(offloader.status());
  EXPECT_EQ(dials, 3);
  EXPECT_TRUE(Ask(**offloader, 1, {kBoxesTask}).ok());
}

TEST_F(LinkOffloaderTest, SaysWhyTheServerRefuses) {
  server_token_ = "another";
  const auto offloader = LinkOffloader::Open([this](const std::string&) { return Connect(); }, Options(), kTasksAsked);
  EXPECT_EQ(offloader.status(),
            Unauthenticated("the server wants a token: give --token-file FILE (or set WHARF_TOKEN_FILE)"));
}

}  // namespace
}  // namespace wharf::ar
