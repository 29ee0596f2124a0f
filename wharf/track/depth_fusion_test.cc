#include "wharf/track/depth_fusion.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace wharf::track {
namespace {

scene::DepthMap Row(std::vector<float> metres) {
  const int width = static_cast<int>(metres.size());
  return {width, 1, std::move(metres)};
}

TEST(DepthScale, IsTheGeometricMeanOfWhatBothKnow) {
  const float infinite = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NEAR(DepthScale(Row({4, 9, 0, 5, infinite, 1}), Row({2, 2, 7, none, 3, -1})), 3, 1e-6);
  EXPECT_EQ(DepthScale(Row({0, 5}), Row({5, 0})), 1);
  EXPECT_EQ(DepthScale(Row({}), Row({})), 1);
}

TEST(FuseDepth, TakesWhatIsMuchNearerNow) {
  // Scaled to 6, 8, 100, 3: of warped depths of 10 all but the first and the last stay.
  EXPECT_EQ(FuseDepth(Row({10, 10, 10, 10}), Row({3, 4, 50, 1.5}), 2).metres, (std::vector<float>{6, 10, 10, 3}));
}

TEST(FuseDepth, FillsWhatTheWarpedMapDoesNotKnow) {
  const float none = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(FuseDepth(Row({0, 0, 10}), Row({20, 0, none}), 2).metres, (std::vector<float>{40, 0, 10}));
}

// A lite network that is the server's but for a factor changes nothing where nothing has changed, and what is new is as
// near as it is.
RC_GTEST_PROP(FuseDepth, ALiteNetworkThatIsOnlyScaledIsAsGoodAsTheServers, ()) {
  const auto metres = [] { return static_cast<float>(*rc::gen::inRange(100, 8000)) / 100; };
  const float factor = static_cast<float>(*rc::gen::inRange(20, 500)) / 100;
  const int width = *rc::gen::inRange(1, 40);
  scene::DepthMap server{width, 1, {}}, lite = server, now = server;
  for (int i = 0; i < width; ++i) {
    server.metres.push_back(metres());
    lite.metres.push_back(server.metres.back() / factor);
  }
  const double scale = DepthScale(server, lite);
  RC_ASSERT(std::abs(scale - factor) < 1e-4 * factor);
  now = lite;
  const int changed = *rc::gen::inRange(0, width);
  const float near = server.metres[changed] / static_cast<float>(*rc::gen::inRange(2, 9));
  now.metres[changed] = near / factor;
  const scene::DepthMap fused = FuseDepth(server, now, scale);
  for (int i = 0; i < width; ++i) {
    const float wanted = i == changed ? near : server.metres[i];
    RC_ASSERT(std::abs(fused.metres[i] - wanted) < 1e-3 * wanted);
  }
}

}  // namespace
}  // namespace wharf::track
