#include "wharf/cli/bench/serving/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wharf::cli {
namespace {

using serving::VideoFrame;
using testing::ElementsAre;
using testing::SizeIs;

// Remembers how many pictures its batches had.
class CountingFinder final : public ar::BatchFinder {
 public:
  std::string_view TaskName() const override { return "depth"; }
  int Width() const override { return 224; }
  int Height() const override { return 64; }
  std::vector<ar::Finding> Find(std::span<const scene::Image> pictures,
                                std::span<const ar::DepthCoding> codings) override {
    EXPECT_EQ(codings.size(), pictures.size());
    for (const scene::Image& picture : pictures) EXPECT_THAT(picture.rgb, SizeIs(224 * 64 * 3));
    sizes.push_back(pictures.size());
    if (fails) return {Internal("tired")};
    return std::vector<ar::Finding>(pictures.size(), std::vector<std::byte>(1));
  }
  std::vector<size_t> sizes;
  bool fails = false;
};

class ServingBatchesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::vector<std::string> videos = {"LL-00", "HH-01"};
    pictures_ = new TownPictures(*TownPictures::Render(videos, {.width = 224, .height = 64, .step = 1200}));
  }
  static void TearDownTestSuite() { delete pictures_; }

  static TownPictures* pictures_;
  CountingFinder finder_;
};
TownPictures* ServingBatchesTest::pictures_ = nullptr;

TEST_F(ServingBatchesTest, FramesShareThePictureBeforeThem) {
  const auto jpeg = [](int64_t frame) { return pictures_->Jpeg({"LL-00", frame}).data(); };
  ASSERT_NE(jpeg(0), nullptr);
  EXPECT_EQ(jpeg(1199), jpeg(0));
  EXPECT_NE(jpeg(1200), jpeg(0));
  EXPECT_EQ(jpeg(2399), jpeg(1200));
  EXPECT_EQ(jpeg(1'000'000), jpeg(1200));
  EXPECT_EQ(jpeg(-1'000'000), jpeg(0));
  EXPECT_NE(pictures_->Jpeg({"HH-01", 0}).data(), jpeg(0));
  EXPECT_TRUE(pictures_->Jpeg({"HH-02", 0}).empty());
  EXPECT_THAT(pictures_->Samples(), SizeIs(2));
}

TEST_F(ServingBatchesTest, ABatchIsOneCall) {
  const serving::RunBatch run = ServingBatches(finder_, *pictures_);
  const std::vector<VideoFrame> batch = {{"LL-00", 3}, {"HH-01", 1300}, {"LL-00", 2000}};
  EXPECT_EQ(run(batch), absl::OkStatus());
  EXPECT_THAT(finder_.sizes, ElementsAre(3));
}

TEST_F(ServingBatchesTest, FailsWithWhatFailed) {
  const serving::RunBatch run = ServingBatches(finder_, *pictures_);
  EXPECT_EQ(run(std::vector<VideoFrame>{{"LL-07", 0}}).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(finder_.sizes, ElementsAre());
  finder_.fails = true;
  EXPECT_EQ(run(std::vector<VideoFrame>{{"LL-00", 0}}).code(), absl::StatusCode::kInternal);
}

TEST_F(ServingBatchesTest, MeasuresEverySizeUpToTheLargest) {
  const auto engine = serving::MakeThreadedEngine(ServingBatches(finder_, *pictures_), Clock::Real());
  const auto frames = pictures_->Samples();
  const auto measured = MeasureBatches(*engine, frames, 5, 2);
  ASSERT_TRUE(measured.ok()) << ToString(measured.status());
  ASSERT_THAT(*measured, SizeIs(5));
  EXPECT_EQ(measured->back().batch, 5);
  for (const perception::BatchLatency& one : *measured) EXPECT_GT(one.ms, 0);
  EXPECT_THAT(finder_.sizes, ElementsAre(1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5));
}

TEST(TownPicturesTest, KnowsTheTownsVideosOnly) {
  for (const char* name : {"made up 1", "", "HH-", "HH-99", "XX-01", "HHH01", "HH--1"}) {
    const std::vector<std::string> videos = {name};
    EXPECT_EQ(TownPictures::Render(videos, {}).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(TownPictures::Render({}, {.step = 0}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::cli
