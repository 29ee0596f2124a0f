#include "wharf/scene/world/videos.h"

#include <gtest/gtest.h>

#include <set>

namespace wharf::scene {
namespace {

TEST(Videos, LieOnTheirCategorysSides) {  // `wharf ar render --list` measures all of them, and more finely
  for (const Category& category : kCategories) {
    for (const int number : {0, 13}) {
      const auto video = FindVideo(category, number, Split::kEvaluation);
      ASSERT_TRUE(video.ok());
      const VideoMeasures measures = MeasureVideo(World(video->seed, video->Options()), 120);
      EXPECT_TRUE(IsOf(category, measures)) << CategoryName(category) << ' ' << number << ": " << measures.dynamic_share
                                            << " of the pixels, " << measures.angular_velocity << " rad/s";
      EXPECT_GT(measures.speed_mps, 5);
    }
  }
}

TEST(Videos, NoSeedIsOfTwoVideos) {
  std::set<uint64_t> seeds;
  size_t count = 0;
  for (const Split split : {Split::kTraining, Split::kCalibration, Split::kEvaluation}) {
    for (const Category& category : kCategories) {
      for (int number = 0; number < 1000; ++number) {
        const auto video = FindVideo(category, number, split);
        if (!video.ok()) continue;
        seeds.insert(video->seed);
        ++count;
      }
    }
  }
  EXPECT_EQ(seeds.size(), count);
  EXPECT_EQ(count, 4 * (1000u + 1000 + kVideosPerCategory));
}

TEST(Videos, RefuseWhatThereIsNot) {
  EXPECT_EQ(FindVideo(kCategories[0], kVideosPerCategory, Split::kEvaluation).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FindVideo(kCategories[0], -1, Split::kTraining).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseCategory("H").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseSplit("test").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Videos, NamesAreReadBack) {
  for (const Category& category : kCategories) {
    const auto parsed = ParseCategory(CategoryName(category));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(CategoryName(*parsed), CategoryName(category));
  }
}

TEST(Videos, BetweenTheThresholdsIsNeither) {
  const VideoMeasures between{(kLowShare + kHighShare) / 2, (kLowAngularVelocity + kHighAngularVelocity) / 2, 10};
  for (const Category& category : kCategories) EXPECT_FALSE(IsOf(category, between));
}

}  // namespace
}  // namespace wharf::scene
