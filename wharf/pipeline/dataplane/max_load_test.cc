#include "wharf/pipeline/dataplane/max_load.h"

#include <gtest/gtest.h>

#include "wharf/pipeline/dataplane/testing.h"

namespace wharf::pipeline {
namespace {

// One model on ten GPUs of 10 ms: 1000 requests/s at most, plenty of time for each.
Deployment TenGpus() {
  DeploymentBuilder builder;
  builder.AddPipeline(builder.AddModel(std::chrono::milliseconds(200), 1000),
                      {{builder.AddHost(10, 1), {std::chrono::milliseconds(10)}, 0}});
  return builder.Build();
}

TEST(MaxLoad, IsWhereTheGpusAreUsedUp) {
  LoadSearch search;
  search.seconds = 20;
  const MaxLoad found = FindMaxLoad(TenGpus(), {1000}, search);
  EXPECT_NEAR(found.Mean(), 1, 0.03);
  ASSERT_EQ(found.utilisation.size(), 1u);
  EXPECT_NEAR(found.utilisation[0], 1, 0.03);
}

TEST(MaxLoad, TheCurveFallsWhereTheGpusAreUsedUp) {
  LoadSearch search;
  search.seconds = 5;
  search.curve_steps = 25;
  const std::vector<double> curve = FindMaxLoad(TenGpus(), {2000}, search).curve;
  ASSERT_EQ(curve.size(), 4u);  // at 500, 1000, 1500 and 2000 requests/s
  EXPECT_EQ(curve[0], 1);
  EXPECT_GT(curve[1], 0.97);
  EXPECT_NEAR(curve[2], 1000.0 / 1500, 0.05);
  EXPECT_NEAR(curve[3], 1000.0 / 2000, 0.05);
}

TEST(MaxLoad, ScalesWithWhatLoadOneIs) {
  LoadSearch search;
  search.seconds = 10;
  EXPECT_NEAR(FindMaxLoad(TenGpus(), {2000}, search).Mean(), 0.5, 0.03);
}

TEST(MaxLoad, IsNothingWhereNoRequestCanBeInTime) {
  DeploymentBuilder builder;
  builder.AddPipeline(builder.AddModel(std::chrono::milliseconds(5), 100),
                      {{builder.AddHost(1, 1), {std::chrono::milliseconds(10)}, 0}});
  LoadSearch search;
  search.seconds = 2;
  EXPECT_EQ(FindMaxLoad(builder.Build(), {100}, search).Mean(), 0);
}

TEST(MaxLoad, IsNotAboveTheHighestAskedFor) {
  LoadSearch search;
  search.seconds = 2;
  search.highest = 1.2;
  EXPECT_NEAR(FindMaxLoad(TenGpus(), {10}, search).Mean(), 1.2, 1e-9);
}

}  // namespace
}  // namespace wharf::pipeline
