#include "wharf/serving/arrival_predictor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

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
