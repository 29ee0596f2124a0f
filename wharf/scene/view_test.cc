#include "wharf/scene/view.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::scene {
namespace {

constexpr int kWidth = 32, kHeight = 16;

Image Grey() { return {kWidth, kHeight, std::vector<uint8_t>(kWidth * kHeight * 3, 128)}; }

std::array<int, 3> At(const Image& image, int x, int y) {
  const size_t at = 3 * (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x));
  return {image.rgb[at], image.rgb[at + 1], image.rgb[at + 2]};
}

TEST(View, ShowsTheFrameAndNothingElseOfIt) {
  const Image frame = Grey();
  const Image view = DrawView({.frame = &frame});
  EXPECT_EQ(view.width, 2 * kWidth);
  EXPECT_EQ(view.height, kHeight + kHeight / 2);
  EXPECT_EQ(view.rgb.size(), static_cast<size_t>(view.width * view.height * 3));
  EXPECT_EQ(At(view, 5, 5), (std::array{128, 128, 128}));
  EXPECT_EQ(At(view, kWidth + 5, 5), At(view, 5, kHeight + 5));  // both empty
}

TEST(View, OutlinesBoxesByClass) {
  const Image frame = Grey();
  const Image view = DrawView(
      {.frame = &frame, .boxes = {{2, 3, 10, 9, ObjectClass::kVehicle, 1}, {20, 3, 25, 9, ObjectClass::kPerson, 1}}});
  EXPECT_EQ(At(view, 2, 5), At(view, 9, 8));
  EXPECT_NE(At(view, 2, 5), (std::array{128, 128, 128}));
  EXPECT_NE(At(view, 20, 5), At(view, 2, 5));
  EXPECT_EQ(At(view, 5, 5), (std::array{128, 128, 128}));  // inside
}

TEST(View, DepthGoesFromRedToBlueAndUnknownIsBlack) {
  const Image frame = Grey();
  DepthMap depth{kWidth, kHeight, std::vector<float>(kWidth * kHeight, 1.0f)};
  depth.metres[1] = 200;
  depth.metres[2] = 0;
  const Image view = DrawView({.frame = &frame, .depth = &depth});
  EXPECT_EQ(At(view, kWidth, 0), (std::array{255, 0, 0}));
  EXPECT_EQ(At(view, kWidth + 1, 0), (std::array{0, 0, 255}));
  EXPECT_EQ(At(view, kWidth + 2, 0), (std::array{0, 0, 0}));
}

TEST(View, TheScheduleEndsWithThisFrame) {
  const Image frame = Grey();
  const ScheduleRow first{{true, false, true}}, second{{false, false, false}};
  const Image view = DrawView({.frame = &frame, .schedule = {first, second}});
  const auto none = At(view, kWidth + 1, kHeight + 6);
  EXPECT_NE(At(view, kWidth + 1, kHeight + 2), none);  // a frame is four pixels wide
  EXPECT_EQ(At(view, kWidth + 5, kHeight + 2), none);
  EXPECT_NE(At(view, kWidth + 9, kHeight + 2), none);
  EXPECT_EQ(At(view, kWidth + 13, kHeight + 2), none);
}

RC_GTEST_PROP(View, DrawsNothingBeyondItsPanels, ()) {
  const Image frame = Grey();
  const auto number = [](int low, int high) { return static_cast<float>(*rc::gen::inRange(low, high)); };
  ViewContent content{.frame = &frame};
  content.boxes = {{number(-90, 90), number(-90, 90), number(-90, 90), number(-90, 90), ObjectClass::kPerson, 1}};
  for (int i = 0; i < 5; ++i) {
    Pose pose;
    pose.position = {number(-900, 900), number(-900, 900), 0};
    content.estimated.push_back(pose);
  }
  const Image view = DrawView(content), empty = DrawView({.frame = &frame});
  for (int y = 0; y < view.height; ++y) {
    for (int x = kWidth; x < view.width; ++x) RC_ASSERT(At(view, x, y) == At(empty, x, y));
  }
}

}  // namespace
}  // namespace wharf::scene
