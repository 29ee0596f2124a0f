#include "wharf/serving/inference_profile.h"

#include <gtest/gtest.h>

#include <limits>

namespace wharf::serving {
namespace {

TEST(InferenceProfileTest, SaysWhatABatchTakes) {
  const auto profile = InferenceProfile::Make("a GPU", {{1, 8}, {2, 12.5}});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->name(), "a GPU");
  EXPECT_EQ(profile->MaxBatch(), 2);
  EXPECT_DOUBLE_EQ(profile->Seconds(2), 0.0125);
  EXPECT_EQ(profile->Latency(1), std::chrono::milliseconds(8));
  EXPECT_DOUBLE_EQ(profile->Throughput(2), 160);
}

TEST(InferenceProfileTest, FillsWhatWasNotMeasured) {
  const auto profile = InferenceProfile::Make("a GPU", {{1, 8}, {2, 10}, {5, 19}});
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->MaxBatch(), 5);
  EXPECT_DOUBLE_EQ(profile->Seconds(3), 0.013);
  EXPECT_DOUBLE_EQ(profile->Seconds(4), 0.016);
  EXPECT_DOUBLE_EQ(profile->Seconds(5), 0.019);
}

TEST(InferenceProfileTest, RefusesWhatIsNone) {
  const std::map<int, double> wrong[] = {{},
                                         {{0, 1}, {1, 2}},
                                         {{2, 1}},
                                         {{1, 0}},
                                         {{1, -1}},
                                         {{1, 1e9}},
                                         {{1, 5}, {kMaxBatch + 1, 6}},
                                         {{1, std::numeric_limits<double>::quiet_NaN()}}};
  for (const auto& batch_ms : wrong) {
    EXPECT_EQ(InferenceProfile::Make("x", batch_ms).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace wharf::serving
