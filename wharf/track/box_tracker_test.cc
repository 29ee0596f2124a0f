#include "wharf/track/box_tracker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "wharf/track/metrics.h"
#include "wharf/track/street_testing.h"

namespace wharf::track {
namespace {

using absl::StatusCode;
using scene::Box;
using scene::Image;
using scene::ObjectClass;

// A textured square on a textured ground, both from noise.
Image Picture(double left, double top, double side) {
  Image image{160, 96, {}};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const double u = (x + 0.5 - left) / side, v = (y + 0.5 - top) / side;
      const bool inside = u >= 0 && u < 1 && v >= 0 && v < 1;
      const double grey = inside ? TextureAt(4 * u, 4 * v, 5) : 0.4 * TextureAt(x / 16.0, y / 16.0, 9);
      image.rgb.insert(image.rgb.end(), 3, static_cast<uint8_t>(grey));
    }
  }
  return image;
}

Box Square(double left, double top, double side) {
  return {.left = static_cast<float>(left),
          .top = static_cast<float>(top),
          .right = static_cast<float>(left + side),
          .bottom = static_cast<float>(top + side),
          .object_class = ObjectClass::kPerson,
          .score = 0.7f};
}

TEST(BoxTracker, FollowsABoxThatMovesAndGrows) {
  BoxTracker tracker;
  ASSERT_EQ(tracker.Start(Picture(30, 30, 24), {Square(30, 30, 24)}), absl::OkStatus());
  for (int frame = 1; frame <= 20; ++frame) {
    const double left = 30 + 2.5 * frame, top = 30 + 0.7 * frame, side = 24 * std::pow(1.01, frame);
    const std::vector<Box> boxes = *tracker.Track(Picture(left, top, side));
    ASSERT_EQ(boxes.size(), 1u) << frame;
    EXPECT_GT(Iou(boxes[0], Square(left, top, side)), 0.85) << frame;
    EXPECT_EQ(boxes[0].object_class, ObjectClass::kPerson);
    EXPECT_EQ(boxes[0].score, 0.7f);
  }
}

TEST(BoxTracker, CatchesUpOverALongStrideInOneStep) {
  BoxTracker tracker;
  ASSERT_EQ(tracker.Start(Picture(30, 30, 24), {Square(30, 30, 24)}), absl::OkStatus());
  const std::vector<Box> boxes = *tracker.Track(Picture(44, 33, 26));
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_GT(Iou(boxes[0], Square(44, 33, 26)), 0.85);
}

TEST(BoxTracker, DropsWhatIsGoneOrLeavesThePicture) {
  BoxTracker tracker;
  ASSERT_EQ(tracker.Start(Picture(130, 30, 24), {Square(130, 30, 24)}), absl::OkStatus());
  size_t left = 1;
  for (int frame = 1; frame <= 12; ++frame) {
    const std::vector<Box> boxes = *tracker.Track(Picture(130 + 3 * frame, 30, 24));
    EXPECT_LE(boxes.size(), left) << "once lost, for good";
    left = boxes.size();
    for (const Box& box : boxes) EXPECT_LE(box.right, 160);
  }
  EXPECT_EQ(left, 0u);

  Image blank = Picture(30, 30, 24);
  ASSERT_EQ(tracker.Start(blank, {Square(30, 30, 24)}), absl::OkStatus());
  std::fill(blank.rgb.begin(), blank.rgb.end(), 128);
  EXPECT_TRUE(tracker.Track(blank)->empty());
}

TEST(BoxTracker, TakesAnyBoxes) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), big = std::numeric_limits<float>::max();
  BoxTracker tracker;
  const std::vector<Box> odd{{.left = nan, .top = 0, .right = 9, .bottom = 9},
                             {.left = -big, .top = -big, .right = big, .bottom = big},
                             {.left = 50, .top = 50, .right = 20, .bottom = 20},
                             {.left = 500, .top = 500, .right = 600, .bottom = 600},
                             {.left = 10, .top = 10, .right = 11, .bottom = 11}};
  ASSERT_EQ(tracker.Start(Picture(30, 30, 24), odd), absl::OkStatus());
  const std::vector<Box> tracked = *tracker.Track(Picture(31, 30, 24));
  for (const Box& box : tracked) {
    EXPECT_TRUE(box.left >= 0 && box.right <= 160 && box.top >= 0 && box.bottom <= 96);
  }
}

TEST(BoxTracker, RefusesWhatItCannotTrack) {
  BoxTracker tracker;
  EXPECT_EQ(tracker.Track(Picture(0, 0, 9)).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(tracker.Start({4, 4, {1, 2, 3}}, {}).code(), StatusCode::kInvalidArgument);
  ASSERT_EQ(tracker.Start(Picture(0, 0, 9), {}), absl::OkStatus());
  EXPECT_EQ(tracker.Track({96, 160, std::vector<uint8_t>(3 * 96 * 160)}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::track
