#include "wharf/serving/arrival_predictor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace wharf::serving {
namespace {

TimePoint At(double seconds) { return {FromSeconds(seconds)}; }

TEST(ArrivalPredictorTest, GoesOnFromOneArrivalAtTheCamerasRate) {
  ArrivalPredictor predictor(50);
  EXPECT_FALSE(predictor.Known());
  predictor.Add(100, At(7));
  ASSERT_TRUE(predictor.Known());
  EXPECT_NEAR(Seconds(predictor.At(105).since_epoch), 7.1, 1e-6);
  EXPECT_EQ(predictor.LatestBy(At(7.099)), 104);
  EXPECT_EQ(predictor.LatestBy(At(7.1001)), 105);
}

TEST(ArrivalPredictorTest, AveragesWhatTheNetworkAdds) {
  ArrivalPredictor predictor(60);
  for (int frame = 0; frame < 160; frame += 5)
    predictor.Add(frame, At(frame / 60.0 + (frame % 2 == 0 ? 0.010 : 0.014)));
  EXPECT_NEAR(Seconds(predictor.At(180).since_epoch), 3.012, 0.001);
}

TEST(ArrivalPredictorTest, FollowsACameraThatIsALittleOff) {
  ArrivalPredictor predictor(60);
  for (int frame = 0; frame < 2000; frame += 20) predictor.Add(frame, At(frame / 59.94));
  EXPECT_NEAR(Seconds(predictor.At(2060).since_epoch), 2060 / 59.94, 1e-4);
}

TEST(ArrivalPredictorTest, DoesNotLetFramesGoBack) {
  ArrivalPredictor predictor(60);
  predictor.Add(60, At(1));
  predictor.Add(60, At(5));
  predictor.Add(3, At(9));
  EXPECT_EQ(predictor.last_frame(), 60);
  EXPECT_NEAR(Seconds(predictor.At(120).since_epoch), 2, 1e-6);
}

TEST(ArrivalPredictorTest, TakesNoFrameThatACameraCannotHave) {
  ArrivalPredictor predictor(60);
  EXPECT_FALSE(predictor.Add(-1, At(1)));
  EXPECT_FALSE(predictor.Add(std::numeric_limits<FrameId>::max(), At(1)));
  EXPECT_FALSE(predictor.Known());
  EXPECT_TRUE(predictor.Add(1, At(1)));
  EXPECT_FALSE(predictor.Add(1'000'000'000'000, At(2)));
  EXPECT_FALSE(predictor.Add(1 + 60 * 4, At(2)));  // a second's frames, and those of two that were late
  EXPECT_TRUE(predictor.Add(1 + 60 * 3, At(2)));
  EXPECT_EQ(predictor.last_frame(), 181);
}

FrameId HostileFrame() {
  using Limits = std::numeric_limits<FrameId>;
  return *rc::gen::oneOf(
      rc::gen::element<FrameId>(Limits::min(), Limits::min() + 1, -1, 0, 1, 60, 1'000'000'000'000,
                                ArrivalPredictor::kMostFrame, ArrivalPredictor::kMostFrame + 1, Limits::max()),
      rc::gen::arbitrary<FrameId>(), rc::gen::inRange<FrameId>(0, 1000));
}

// Whatever frames a client says it has: time goes forward with them, and what is near in time is near in frames.
RC_GTEST_PROP(ArrivalPredictorTest, NoFramesBendTheLine, ()) {
  const double fps = *rc::gen::element(1.0, 60.0, 1000.0);
  ArrivalPredictor predictor(fps);
  TimePoint now = At(*rc::gen::inRange(0, 1'000'000));
  for (int n = *rc::gen::inRange(1, 40); n > 0; --n) {
    now = now + std::chrono::milliseconds(*rc::gen::element(0, 1, 16, 5000));
    const FrameId before = predictor.last_frame();
    const FrameId frame = *rc::gen::arbitrary<bool>() ? HostileFrame() : before + *rc::gen::inRange(0, 200);
    const bool taken = predictor.Add(frame, now);
    RC_ASSERT(taken == (predictor.last_frame() != before));
  }
  if (!predictor.Known()) return;
  const FrameId latest = predictor.LatestBy(now);
  RC_ASSERT(predictor.At(latest) <= now + std::chrono::microseconds(2));
  RC_ASSERT(predictor.At(latest + 1) > now);
  // Sixteen arrivals, each with two seconds' frames too many.
  RC_ASSERT(std::abs(static_cast<double>(predictor.last_frame() - latest)) <= 40 * (5 + 2) * fps);
  RC_ASSERT(predictor.At(latest + 2 * static_cast<FrameId>(fps)) >= now + std::chrono::seconds(1));
  const FrameId a = HostileFrame(), b = HostileFrame();
  RC_ASSERT(predictor.At(std::min(a, b)) <= predictor.At(std::max(a, b)));
}

RC_GTEST_PROP(ArrivalPredictorTest, LatestByIsTheLastFrameThatIsThere, ()) {
  ArrivalPredictor predictor(60);
  FrameId frame = 0;
  for (int n = *rc::gen::inRange(1, 40); n > 0; --n) {
    frame += *rc::gen::inRange(1, 30);
    predictor.Add(frame, At(static_cast<double>(frame) / 60 + *rc::gen::inRange(0, 30) * 1e-3));
  }
  const TimePoint time = At(static_cast<double>(frame) / 60 + *rc::gen::inRange(0, 2000) * 1e-3);
  const FrameId latest = predictor.LatestBy(time);
  RC_ASSERT(predictor.At(latest) <= time + std::chrono::microseconds(1));
  RC_ASSERT(predictor.At(latest + 1) > time);
}

}  // namespace
}  // namespace wharf::serving
