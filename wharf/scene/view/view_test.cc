#include "wharf/scene/view/view.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::scene {
namespace {

constexpr int kWidth = 448, kHeight = 128;

Image Grey(uint8_t light = 100) { return {kWidth, kHeight, std::vector<uint8_t>(kWidth * kHeight * 3, light)}; }

using Rgb = std::array<int, 3>;
Rgb At(const Image& image, int x, int y) {
  const size_t at = 3 * (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x));
  return {image.rgb[at], image.rgb[at + 1], image.rgb[at + 2]};
}
// How many pixels of a part differ.
int Differences(const Image& a, const Image& b, int left, int top, int right, int bottom) {
  int count = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) count += At(a, x, y) != At(b, x, y) ? 1 : 0;
  }
  return count;
}

TEST(View, IsWideEnoughToReadAndOfTheSizeThatItSays) {
  const Image frame = Grey();
  const Image view = DrawView({.frame = &frame});
  const ViewSize size = SizeOfView(kWidth, kHeight);
  EXPECT_GE(view.width, 1280);
  EXPECT_EQ(view.width, size.width);
  EXPECT_EQ(view.height, size.height);
  EXPECT_EQ(view.height % 2, 0);
  EXPECT_EQ(view.rgb.size(), static_cast<size_t>(view.width) * static_cast<size_t>(view.height) * 3);
}

TEST(View, SaysFrameTimeStateScheduleAndAgreement) {
  const Image frame = Grey();
  const Image plain = DrawView({.frame = &frame});
  const auto changes = [&](const ViewContent& content) {
    const Image view = DrawView(content);
    return Differences(plain, view, 0, 0, view.width, view.height);
  };
  EXPECT_GT(changes({.frame = &frame, .index = 77, .time_s = 1.28}), 20);
  EXPECT_GT(changes({.frame = &frame, .title = "a client"}), 20);
  EXPECT_GT(changes({.frame = &frame, .pose_state = "unreliable"}), 100);
  EXPECT_GT(changes({.frame = &frame, .agreement = "SLA 0.05"}), 50);
  EXPECT_GT(changes({.frame = &frame, .schedule = {{"depth", {true, false}}}}), 100);
}

TEST(View, DepthIsColouredTheSkyAndTheUnknownAreGrey) {
  Image frame = Grey(40);
  for (int i = 0; i < 20 * kWidth; ++i) frame.rgb[3 * i] = 150, frame.rgb[3 * i + 1] = 180, frame.rgb[3 * i + 2] = 220;
  DepthMap depth{kWidth, kHeight, std::vector<float>(kWidth * kHeight, 3.0f)};
  depth.metres[60 * kWidth + 1] = 200;
  depth.metres[60 * kWidth + 2] = 0;
  const Image picture = DepthPicture(depth, frame);
  EXPECT_EQ(At(picture, 5, 60), (Rgb{255, 0, 0}));
  EXPECT_EQ(At(picture, 1, 60), (Rgb{0, 0, 255}));
  EXPECT_EQ(At(picture, 2, 60), At(picture, 5, 5));  // the sky
  EXPECT_EQ(At(picture, 5, 19), At(picture, 5, 5));
  EXPECT_NE(At(picture, 5, 21), At(picture, 5, 5));
}

TEST(View, TheSkyReachesTheUpperBorder) {
  Image frame = Grey(40);
  const auto paint = [&](int x, int y) {
    uint8_t* rgb = &frame.rgb[3 * static_cast<size_t>(y * kWidth + x)];
    rgb[0] = 150, rgb[1] = 180, rgb[2] = 220;
  };
  for (int x = 0; x < 50; ++x) paint(x, 0), paint(x, 1), paint(x, 90);
  const std::vector<bool> sky = SkyIn(frame);
  EXPECT_TRUE(sky[kWidth + 10]);
  EXPECT_FALSE(sky[90 * kWidth + 10]) << "a window";
  EXPECT_FALSE(sky[60]);
}

TEST(View, BoxesAreOutlinedByClass) {
  const Image frame = Grey();
  const auto outline = [&](ObjectClass kind) {
    const Image view = DrawView({.frame = &frame, .boxes = {{100, 30, 200, 90, kind, 1}}}),
                plain = DrawView({.frame = &frame});
    return std::pair(Differences(plain, view, 0, 0, 640, 300), At(view, 8 + 140 * 628 / 448, 70 + 30 * 628 / 448));
  };
  const auto [vehicle, orange] = outline(ObjectClass::kVehicle);
  const auto [person, green] = outline(ObjectClass::kPerson);
  EXPECT_GT(vehicle, 300);
  EXPECT_NE(orange, green);
}

RC_GTEST_PROP(View, BoxesAndWaysOfAnySizeStayInTheirPanels, ()) {
  const Image frame = Grey();
  const auto number = [](int low, int high) { return static_cast<float>(*rc::gen::inRange(low, high)); };
  ViewContent content{.frame = &frame};
  content.boxes = {
      {number(-900, 900), number(-900, 900), number(-900, 900), number(-900, 900), ObjectClass::kPerson, 1}};
  for (int i = 0; i < 5; ++i) {
    Pose pose;
    pose.position = {number(-900, 900), number(-900, 900), 0};
    content.estimated.push_back(pose);
  }
  content.position_sd_m = number(0, 1000);
  const Image view = DrawView(content), empty = DrawView({.frame = &frame});
  RC_ASSERT(Differences(view, empty, 640, 0, view.width, view.height) == 0);
}

TEST(View, AnEstimateGoneAstrayIsNotDrawn) {
  const Image frame = Grey();
  Pose pose;
  pose.position = {1e300, 0, 0};
  const Image view = DrawView({.frame = &frame, .estimated = {pose, pose}, .truth = {}, .pose_state = "unreliable"});
  EXPECT_EQ(view.width, 1280);
}

}  // namespace
}  // namespace wharf::scene
