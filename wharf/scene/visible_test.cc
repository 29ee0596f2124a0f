#include "wharf/scene/visible.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wharf::scene {
namespace {

constexpr int kWidth = 16;

TEST(Visible, ABoxIsJustAroundItsPixels) {
  std::vector<uint32_t> objects(kWidth * 8, 0);
  for (const int at : {2 * kWidth + 3, 2 * kWidth + 9, 5 * kWidth + 7}) objects[static_cast<size_t>(at)] = 2;
  const Visible visible = FindVisible(objects, kWidth, {ObjectClass::kVehicle, ObjectClass::kPerson});
  ASSERT_EQ(visible.boxes.size(), 1u);
  const Box& box = visible.boxes[0];
  EXPECT_EQ(box.left, 3);
  EXPECT_EQ(box.top, 2);
  EXPECT_EQ(box.right, 10);
  EXPECT_EQ(box.bottom, 6);
  EXPECT_EQ(box.object_class, ObjectClass::kPerson);
  EXPECT_DOUBLE_EQ(visible.dynamic_share, 3.0 / (kWidth * 8));
}

TEST(Visible, AnObjectOfWhichHardlyAnyShowsHasNone) {
  std::vector<uint32_t> objects(100 * 100, 0);  // a box takes 2.5 pixels
  objects[17] = objects[18] = 1;
  EXPECT_TRUE(FindVisible(objects, 100, {ObjectClass::kVehicle}).boxes.empty());
  objects[19] = 1;
  EXPECT_EQ(FindVisible(objects, 100, {ObjectClass::kVehicle}).boxes.size(), 1u);
}

RC_GTEST_PROP(Visible, EveryPixelIsInItsObjectsBoxAndEverySideTouchesOne, ()) {
  const auto objects = *rc::gen::container<std::vector<uint32_t>>(kWidth * 12, rc::gen::inRange<uint32_t>(0, 4));
  const std::vector<ObjectClass> classes(3, ObjectClass::kVehicle);
  const Visible visible = FindVisible(objects, kWidth, classes);
  size_t next = 0;
  for (uint32_t object = 1; object <= 3; ++object) {
    int left = kWidth, top = 12, right = 0, bottom = 0;
    for (int i = 0; i < kWidth * 12; ++i) {
      if (objects[static_cast<size_t>(i)] != object) continue;
      left = std::min(left, i % kWidth);
      right = std::max(right, i % kWidth + 1);
      top = std::min(top, i / kWidth);
      bottom = std::max(bottom, i / kWidth + 1);
    }
    if (right == 0) continue;
    RC_ASSERT(next < visible.boxes.size());
    const Box& box = visible.boxes[next++];
    RC_ASSERT(box.left == static_cast<float>(left) && box.right == static_cast<float>(right));
    RC_ASSERT(box.top == static_cast<float>(top) && box.bottom == static_cast<float>(bottom));
  }
  RC_ASSERT(next == visible.boxes.size());
}

}  // namespace
}  // namespace wharf::scene
