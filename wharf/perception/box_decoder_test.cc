#include "wharf/perception/box_decoder.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "wharf/track/metrics.h"

namespace wharf::perception {
namespace {

using scene::Box;
using scene::ObjectClass;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kRows = 6, kColumns = 9, kCell = 4;
constexpr int kWidth = kColumns * kCell, kHeight = kRows * kCell;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// Maps of a small picture; every cell's box is the cell itself until it is set.
class Maps {
 public:
  Maps() {
    for (int cell = 0; cell < kCells; ++cell) {
      const float x = static_cast<float>(cell % kColumns * kCell), y = static_cast<float>(cell / kColumns * kCell);
      SetBox(cell, {.left = x, .top = y, .right = x + kCell, .bottom = y + kCell});
    }
  }
  Maps& Score(int row, int column, float score, ObjectClass object_class = ObjectClass::kVehicle) {
    scores_[static_cast<int>(object_class) * kCells + row * kColumns + column] = score;
    return *this;
  }
  Maps& Put(int row, int column, const Box& box) {
    SetBox(row * kColumns + column, box);
    return Score(row, column, box.score, box.object_class);
  }
  std::vector<Box> Decode(const DecodeOptions& options = {}) const {
    return DecodeBoxes({kRows, kColumns, scores_, boxes_}, kWidth, kHeight, options);
  }

  static constexpr int kCells = kRows * kColumns;

 private:
  void SetBox(int cell, const Box& box) {
    const float sides[] = {box.left, box.top, box.right, box.bottom};
    for (int side = 0; side < 4; ++side) boxes_[side * kCells + cell] = sides[side];
  }

  std::vector<float> scores_ = std::vector<float>(scene::kObjectClasses * kCells);
  std::vector<float> boxes_ = std::vector<float>(4 * kCells);
};

bool Same(const Box& a, const Box& b) {
  return a.left == b.left && a.top == b.top && a.right == b.right && a.bottom == b.bottom &&
         a.object_class == b.object_class && a.score == b.score;
}

TEST(DecodeBoxes, FindsNothingInNothing) { EXPECT_THAT(Maps().Decode(), IsEmpty()); }

TEST(DecodeBoxes, FindsAnObjectWithItsClassAndScore) {
  const Box person{
      .left = 8, .top = 2, .right = 13, .bottom = 20, .object_class = ObjectClass::kPerson, .score = 0.75F};
  const std::vector<Box> boxes = Maps().Put(2, 2, person).Decode();
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_TRUE(Same(boxes[0], person));
}

TEST(DecodeBoxes, TakesOnlyTheBestOfNeighbours) {
  const std::vector<Box> boxes = Maps().Score(2, 2, 0.5F).Score(2, 3, 0.75F).Score(3, 4, 0.625F).Decode();
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_EQ(boxes[0].score, 0.75F);
}

TEST(DecodeBoxes, TakesOneOfEqualNeighbours) {
  EXPECT_THAT(Maps().Score(2, 2, 0.5F).Score(2, 3, 0.5F).Score(3, 2, 0.5F).Decode(), SizeIs(1));
}

TEST(DecodeBoxes, KeepsObjectsOfBothClassesInOnePlace) {
  EXPECT_THAT(Maps().Score(2, 2, 0.5F).Score(2, 2, 0.5F, ObjectClass::kPerson).Decode(), SizeIs(2));
}

TEST(DecodeBoxes, DropsWhatABetterBoxOfItsClassCovers) {
  const Box large{.left = 4, .top = 4, .right = 24, .bottom = 20, .score = 0.9F};
  Box shifted = large;
  shifted.left += 2;
  shifted.score = 0.8F;
  EXPECT_THAT(Maps().Put(2, 2, large).Put(2, 5, shifted).Decode(), SizeIs(1));
  shifted.object_class = ObjectClass::kPerson;
  EXPECT_THAT(Maps().Put(2, 2, large).Put(2, 5, shifted).Decode(), SizeIs(2));
}

TEST(DecodeBoxes, ClipsToThePicture) {
  const std::vector<Box> boxes =
      Maps().Put(0, 0, {.left = -7, .top = -1, .right = 900, .bottom = 5, .score = 0.5F}).Decode();
  ASSERT_THAT(boxes, SizeIs(1));
  EXPECT_TRUE(Same(boxes[0], {.left = 0, .top = 0, .right = kWidth, .bottom = 5, .score = 0.5F}));
}

TEST(DecodeBoxes, LeavesOutBoxesWithoutArea) {
  EXPECT_THAT(Maps().Put(1, 1, {.left = 5, .top = 5, .right = 5, .bottom = 9, .score = 0.5F}).Decode(), IsEmpty());
  EXPECT_THAT(Maps().Put(1, 1, {.left = 90, .top = 5, .right = 99, .bottom = 9, .score = 0.5F}).Decode(), IsEmpty());
  EXPECT_THAT(Maps().Put(1, 1, {.left = kNone, .top = 5, .right = 9, .bottom = 9, .score = 0.5F}).Decode(), IsEmpty());
  EXPECT_THAT(Maps().Put(1, 1, {.left = 5, .top = 5, .right = 9, .bottom = 9, .score = kNone}).Decode(), IsEmpty());
}

TEST(DecodeBoxes, StopsAtTheMostBoxes) {
  const std::vector<Box> boxes =
      Maps().Score(0, 0, 0.5F).Score(2, 2, 0.75F).Score(4, 4, 0.625F).Decode({.most_boxes = 2});
  ASSERT_THAT(boxes, SizeIs(2));
  EXPECT_EQ(boxes[0].score, 0.75F);
  EXPECT_EQ(boxes[1].score, 0.625F);
}

Maps RandomMaps() {
  Maps maps;
  for (int i = 0; i < 2 * Maps::kCells; ++i) {
    // Few different scores, so that neighbours are often equal.
    const auto score = static_cast<float>(*rc::gen::inRange(0, 9)) / 8;
    const auto object_class = static_cast<ObjectClass>(i % 2);
    const float left = static_cast<float>(*rc::gen::inRange(-4, kWidth)),
                top = static_cast<float>(*rc::gen::inRange(-4, kHeight));
    const Box box{.left = left,
                  .top = top,
                  .right = left + static_cast<float>(*rc::gen::inRange(0, 20)),
                  .bottom = top + static_cast<float>(*rc::gen::inRange(0, 20)),
                  .object_class = object_class,
                  .score = score};
    maps.Put(i / 2 / kColumns, i / 2 % kColumns, box);
  }
  return maps;
}

TEST(DecodeBoxes, IsSortedClippedAndWithoutOverlaps) {
  EXPECT_TRUE(rc::check([] {
    const DecodeOptions options{.most_overlap = static_cast<float>(*rc::gen::inRange(1, 10)) / 10};
    const std::vector<Box> boxes = RandomMaps().Decode(options);
    RC_ASSERT(std::ranges::is_sorted(boxes, std::ranges::greater(), &Box::score));
    for (size_t i = 0; i < boxes.size(); ++i) {
      const Box& box = boxes[i];
      RC_ASSERT(box.score >= options.least_score);
      RC_ASSERT(0 <= box.left && box.left < box.right && box.right <= kWidth);
      RC_ASSERT(0 <= box.top && box.top < box.bottom && box.bottom <= kHeight);
      for (size_t j = 0; j < i; ++j) {
        RC_ASSERT(boxes[j].object_class != box.object_class || track::Iou(boxes[j], box) <= options.most_overlap);
      }
    }
  }));
}

TEST(DecodeBoxes, LosesNothingThatNoBetterBoxCovers) {
  EXPECT_TRUE(rc::check([] {
    const Maps maps = RandomMaps();
    const std::vector<Box> all = maps.Decode({.most_overlap = 1, .most_boxes = 1000});  // nothing is covered
    const std::vector<Box> kept = maps.Decode({.most_overlap = 0.5F, .most_boxes = 1000});
    for (const Box& box : all) {
      RC_ASSERT(std::any_of(kept.begin(), kept.end(), [&](const Box& other) {
        return Same(other, box) ||
               (other.object_class == box.object_class && other.score >= box.score && track::Iou(other, box) > 0.5);
      }));
    }
  }));
}

}  // namespace
}  // namespace wharf::perception
