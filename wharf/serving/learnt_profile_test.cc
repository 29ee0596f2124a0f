#include "wharf/serving/learnt_profile.h"

#include <gtest/gtest.h>

namespace wharf::serving {
namespace {

using std::chrono::milliseconds;

class LearntProfileTest : public testing::Test {
 protected:
  void AddMany(int batch, Nanoseconds took) {
    for (int i = 0; i < 200; ++i) learnt_.Add(batch, took);
  }

  const InferenceProfile profile_ = *InferenceProfile::Make("a GPU", {{1, 10}, {2, 16}});
  LearntProfile learnt_{profile_};
};

TEST_F(LearntProfileTest, BeginsAndStaysAsMeasured) {
  EXPECT_EQ(learnt_.Now().Seconds(2), profile_.Seconds(2));
  AddMany(2, profile_.Latency(2) + std::chrono::nanoseconds(1));
  EXPECT_EQ(learnt_.Now().Seconds(1), profile_.Seconds(1));
}

TEST_F(LearntProfileTest, LearnsFromOneSizeAboutAll) {
  AddMany(2, milliseconds(24));
  EXPECT_NEAR(learnt_.Now().Seconds(1), 0.015, 1e-4);
  EXPECT_NEAR(learnt_.Now().Seconds(2), 0.024, 1e-4);
  AddMany(1, milliseconds(8));
  EXPECT_NEAR(learnt_.Now().Seconds(1), 0.008, 1e-4);
}

TEST_F(LearntProfileTest, OneBatchSaysLittle) {
  learnt_.Add(1, std::chrono::hours(1));
  EXPECT_LE(learnt_.Now().Seconds(1), 0.011);
}

TEST_F(LearntProfileTest, IgnoresWhatCannotBe) {
  AddMany(3, milliseconds(24));
  AddMany(0, milliseconds(24));
  AddMany(1, milliseconds(0));
  AddMany(1, milliseconds(-5));
  EXPECT_EQ(learnt_.Now().Seconds(1), profile_.Seconds(1));
}

}  // namespace
}  // namespace wharf::serving
