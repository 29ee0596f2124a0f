#include "wharf/link/estimator.h"

#include <gtest/gtest.h>

namespace wharf::link {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kTransfer = 1'000'000;

class EstimatorTest : public testing::Test {
 protected:
  // A transfer at that rate, finished now.
  void Upload(double mbps) { estimator_.OnUpload(kTransfer, FromSeconds(kTransfer * 8 / (mbps * 1e6))); }
  double UpMbps() const { return estimator_.Estimate().up_bits_per_second / 1e6; }

  VirtualClock clock_;
  LinkEstimator estimator_{clock_};
};

TEST_F(EstimatorTest, KnowsNothingAtFirst) {
  const LinkEstimate estimate = estimator_.Estimate();
  EXPECT_EQ(estimate.up_bits_per_second, 0);
  EXPECT_EQ(estimate.down_bits_per_second, 0);
  EXPECT_EQ(estimate.round_trip, Nanoseconds{0});
}

TEST_F(EstimatorTest, OneTransferGivesTheRateOfItsDirection) {
  Upload(80);
  EXPECT_NEAR(UpMbps(), 80, 1e-3);
  EXPECT_EQ(estimator_.Estimate().down_bits_per_second, 0);
  estimator_.OnDownload(kTransfer, milliseconds(100));
  EXPECT_NEAR(estimator_.Estimate().down_bits_per_second, 80e6, 1);
}

TEST_F(EstimatorTest, SmallAndImpossibleTransfersAreIgnored) {
  estimator_.OnUpload((16 << 10) - 1, milliseconds(1));
  estimator_.OnUpload(kTransfer, Nanoseconds{0});
  estimator_.OnUpload(kTransfer, Nanoseconds{-5});
  EXPECT_EQ(UpMbps(), 0);
  estimator_.OnUpload(16 << 10, milliseconds(1));
  EXPECT_GT(UpMbps(), 0);
}

TEST_F(EstimatorTest, FollowsTheLinkDownAndUpWithinEightTransfers) {
  for (int i = 0; i < 20; ++i, clock_.Advance(milliseconds(100))) Upload(100);
  EXPECT_NEAR(UpMbps(), 100, 1e-3);
  for (int i = 0; i < 8; ++i, clock_.Advance(milliseconds(100))) Upload(10);
  EXPECT_NEAR(UpMbps(), 10, 1e-3);
  for (int i = 0; i < 8; ++i, clock_.Advance(milliseconds(100))) Upload(100);
  EXPECT_NEAR(UpMbps(), 100, 1e-3);
}

TEST_F(EstimatorTest, OldTransfersDoNotHideADrop) {
  for (int i = 0; i < 8; ++i) Upload(100);
  clock_.Advance(seconds(3));
  Upload(10);
  EXPECT_NEAR(UpMbps(), 10, 1e-3);
}

TEST_F(EstimatorTest, TransfersHeldUpByComputeDoNotLowerTheRate) {
  // Most transfers are slowed by a busy peer; the link itself is fast, and some transfers show it.
  for (int i = 0; i < 40; ++i, clock_.Advance(milliseconds(100))) {
    Upload(i % 3 == 0 ? 90 : 5);
    if (i >= 8) {
      EXPECT_NEAR(UpMbps(), 90, 1e-3);
    }
  }
}

TEST_F(EstimatorTest, IsNeverStuckLow) {
  // The trap: during an outage one transfer looked hopeless, so the controller computes locally and sends nothing more,
  // so there is nothing to measure, so the estimate stays hopeless for ever.
  for (int i = 0; i < 10; ++i, clock_.Advance(milliseconds(100))) Upload(90);
  clock_.Advance(seconds(10));
  Upload(0.5);
  EXPECT_NEAR(UpMbps(), 0.5, 1e-3);
  double last = UpMbps();
  for (int i = 0; i < 30; ++i) {
    clock_.Advance(seconds(1));
    EXPECT_GE(UpMbps(), last);
    last = UpMbps();
  }
  EXPECT_GT(last, 70);  // high enough to try again
  Upload(0.5);          // still bad: believed at once
  EXPECT_NEAR(UpMbps(), 0.5, 1e-3);
}

TEST_F(EstimatorTest, HopeSurvivesManyFailedAttempts) {
  for (int i = 0; i < 10; ++i, clock_.Advance(milliseconds(100))) Upload(90);
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(seconds(30));
    Upload(0.5);
  }
  clock_.Advance(seconds(30));
  EXPECT_GT(UpMbps(), 50);
}

TEST_F(EstimatorTest, AFreshEstimateIsNotEmbellished) {
  Upload(90);
  clock_.Advance(seconds(3));
  Upload(10);
  clock_.Advance(seconds(1));
  EXPECT_NEAR(UpMbps(), 10, 1e-3);
}

TEST_F(EstimatorTest, RoundTripIsWithoutTheServersTime) {
  estimator_.OnRoundTrip(milliseconds(105), milliseconds(100));
  EXPECT_EQ(estimator_.Estimate().round_trip, milliseconds(5));
  // However long the server computes, it stays what the link takes.
  for (int i = 0; i < 50; ++i) estimator_.OnRoundTrip(milliseconds(5 + i * 100), milliseconds(i * 100));
  EXPECT_EQ(estimator_.Estimate().round_trip, milliseconds(5));
}

TEST_F(EstimatorTest, RoundTripMovesBothWays) {
  for (int i = 0; i < 60; ++i) estimator_.OnRoundTrip(milliseconds(40), Nanoseconds{0});
  EXPECT_NEAR(Milliseconds(estimator_.Estimate().round_trip), 40, 0.1);
  for (int i = 0; i < 60; ++i) estimator_.OnRoundTrip(milliseconds(3), Nanoseconds{0});
  EXPECT_NEAR(Milliseconds(estimator_.Estimate().round_trip), 3, 0.1);
}

TEST_F(EstimatorTest, ImpossibleServerTimesAreIgnored) {
  estimator_.OnRoundTrip(milliseconds(10), milliseconds(11));
  estimator_.OnRoundTrip(milliseconds(10), milliseconds(-1));
  EXPECT_EQ(estimator_.Estimate().round_trip, Nanoseconds{0});
}

}  // namespace
}  // namespace wharf::link
