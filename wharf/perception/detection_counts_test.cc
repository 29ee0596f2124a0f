#include "wharf/perception/detection_counts.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace wharf::perception {
namespace {

using scene::Box;
using scene::ObjectClass;

Box At(float left, float score = 1, float height = 10) {
  return {.left = left, .top = 0, .right = left + 10, .bottom = height, .score = score};
}

testing::AssertionResult Are(const DetectionCounts& counts, int truths, int detections, int matches) {
  if (counts.truths == truths && counts.detections == detections && counts.matches == matches) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << counts.truths << " truths, " << counts.detections << " detections, "
                                     << counts.matches << " matches";
}

DetectionCounts Count(const std::vector<Box>& detections, const std::vector<Box>& truths, float least_height = 0) {
  return CountDetections(detections, truths, {.least_height = least_height});
}

TEST(CountDetections, MatchesWhatOverlapsEnough) {
  EXPECT_TRUE(Are(Count({At(3)}, {At(0)}), 1, 1, 1));  // IoU 7/13
  EXPECT_TRUE(Are(Count({At(4)}, {At(0)}), 1, 1, 0));  // 6/14
}

TEST(CountDetections, MatchesEveryTruthOnce) {
  EXPECT_TRUE(Are(Count({At(0), At(1)}, {At(0)}), 1, 2, 1));
  EXPECT_TRUE(Are(Count({At(0)}, {At(0), At(1)}), 2, 1, 1));
}

TEST(CountDetections, LetsTheBestDetectionChooseFirst) {
  // The second would take the truth at 0 too, and leaves it to the better first.
  EXPECT_TRUE(Are(Count({At(2, 0.5F), At(1, 0.9F)}, {At(0), At(4)}), 2, 2, 2));
}

TEST(CountDetections, TellsClassesApart) {
  Box person = At(0);
  person.object_class = ObjectClass::kPerson;
  EXPECT_TRUE(Are(Count({person}, {At(0)}), 1, 1, 0));
}

TEST(CountDetections, LeavesOutWhatIsTooLow) {
  EXPECT_TRUE(Are(Count({At(0), At(50)}, {At(0, 1, 7), At(50)}, 8), 1, 1, 1));
  EXPECT_TRUE(Are(Count({}, {At(0, 1, 7)}, 8), 0, 0, 0));
  EXPECT_TRUE(Are(Count({At(0, 1, 7)}, {}, 8), 0, 0, 0));
}

TEST(DetectionCounts, AreSharesOfWhatThereIs) {
  const DetectionCounts nothing;
  EXPECT_EQ(nothing.Recall(), 1);
  EXPECT_EQ(nothing.Precision(), 1);
  DetectionCounts sum{.truths = 4, .detections = 2, .matches = 1};
  sum += {.truths = 4, .detections = 3, .matches = 1};
  EXPECT_EQ(sum.Recall(), 0.25);
  EXPECT_EQ(sum.Precision(), 0.4);
}

std::vector<Box> RandomBoxes() {
  std::vector<Box> boxes(*rc::gen::inRange(0, 6));
  for (Box& box : boxes) {
    box = At(static_cast<float>(*rc::gen::inRange(0, 30)), static_cast<float>(*rc::gen::inRange(0, 4)) / 4,
             static_cast<float>(*rc::gen::inRange(6, 14)));
    box.object_class = static_cast<ObjectClass>(*rc::gen::inRange(0, scene::kObjectClasses));
  }
  return boxes;
}

TEST(CountDetections, NeverMatchesMoreThanThereIs) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Box> detections = RandomBoxes(), truths = RandomBoxes();
    const DetectionCounts counts = Count(detections, truths, 8);
    RC_ASSERT(counts.matches <= std::min(counts.truths, counts.detections));
    RC_ASSERT(counts.truths <= static_cast<int>(truths.size()));
    RC_ASSERT(counts.detections <= static_cast<int>(detections.size()));
  }));
}

TEST(CountDetections, FindsTheTruthInItself) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Box> truths = RandomBoxes();
    const DetectionCounts counts = Count(truths, truths, 8);
    RC_ASSERT(counts.matches == counts.truths);
    RC_ASSERT(counts.detections == counts.truths);
  }));
}

}  // namespace
}  // namespace wharf::perception
