#include "wharf/track/depth_warp.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <string>

#include "wharf/track/metrics.h"
#include "wharf/track/street_testing.h"

namespace wharf::track {
namespace {

using Eigen::Vector3d;
using scene::DepthMap;
using scene::Intrinsics;
using scene::Pose;

Intrinsics Small(int width, int height) {
  return {.width = width, .height = height, .fx = 10, .fy = 10, .cx = (width - 1) / 2.0, .cy = (height - 1) / 2.0};
}

DepthMap Flat(const Intrinsics& camera, float metres) {
  return {camera.width, camera.height, std::vector<float>(static_cast<size_t>(camera.width * camera.height), metres)};
}

Pose Moved(double x, double y, double z) { return {Eigen::Quaterniond::Identity(), {x, y, z}}; }

TEST(DepthWarp, WithoutMotionNothingChanges) {
  EXPECT_TRUE(rc::check([] {
    const int width = *rc::gen::inRange(1, 30), height = *rc::gen::inRange(1, 20);
    DepthMap depth = Flat(Small(width, height), 0);
    for (float& metres : depth.metres) metres = static_cast<float>(*rc::gen::inRange(1, 10000)) / 100.0f;
    RC_ASSERT(WarpDepth(depth, Small(width, height), Pose()).metres == depth.metres);
  }));
}

TEST(DepthWarp, APictureWithoutMotionStaysTheSame) {
  const View view = Render(Street(), StreetCamera(), PoseAtPlace({0, 0, 0}));
  DepthMap known = view.depth;
  for (float& metres : known.metres) metres = metres > 0 ? metres : 1000;  // the sky
  const WarpedImage warped = WarpImage(view.image, known, StreetCamera(), Pose());
  EXPECT_EQ(warped.image.rgb, view.image.rgb);
  EXPECT_EQ(warped.depth.metres, known.metres);
}

TEST(DepthWarp, AWallComesCloserByTheWayTowardsIt) {
  EXPECT_TRUE(rc::check([] {
    const Intrinsics camera = Small(40, 24);
    const double metres = *rc::gen::inRange(500, 5000) / 100.0, way = *rc::gen::inRange(-400, 400) / 100.0;
    const DepthMap warped = WarpDepth(Flat(camera, static_cast<float>(metres)), camera, Moved(0, 0, way));
    for (const float z : warped.metres) RC_ASSERT(std::abs(z - (metres - way)) < 1e-4 * metres);
  }));
}

TEST(DepthWarp, ShiftsByTheParallaxOfItsDepth) {
  const Intrinsics camera = Small(40, 8);
  DepthMap depth = Flat(camera, 100);
  depth.metres[4 * 40 + 20] = 2;
  // 1 m to the right: the near point goes f / z = 5 pixels to the left, the wall 0.1.
  const DepthMap warped = WarpDepth(depth, camera, Moved(1, 0, 0));
  EXPECT_FLOAT_EQ(warped.metres[4 * 40 + 15], 2);
  EXPECT_FLOAT_EQ(warped.metres[4 * 40 + 20], 100) << "where it was is filled with what is behind";
}

TEST(DepthWarp, TheNearestOfWhatMeetsInAPixelIsSeen) {
  const Intrinsics camera = Small(41, 1);
  DepthMap depth = Flat(camera, 0);
  depth.metres[30] = 2;   // goes 5 to the left
  depth.metres[26] = 10;  // goes 1 to the left
  EXPECT_FLOAT_EQ(WarpDepth(depth, camera, Moved(1, 0, 0)).metres[25], 2);
}

TEST(DepthWarp, HolesTakeTheFartherEnd) {
  const Intrinsics camera = Small(8, 3);
  DepthMap depth = Flat(camera, 0);
  depth.metres[8 + 2] = 3;
  depth.metres[8 + 5] = 7;
  const DepthMap warped = WarpDepth(depth, camera, Pose());
  const std::vector<float> row{3, 3, 3, 7, 7, 7, 7, 7};
  for (int y = 0; y < 3; ++y) {
    EXPECT_EQ(std::vector<float>(warped.metres.begin() + y * 8, warped.metres.begin() + y * 8 + 8), row) << y;
  }
}

TEST(DepthWarp, NothingKnownStaysUnknown) {
  const Intrinsics camera = Small(8, 4);
  EXPECT_EQ(WarpDepth(Flat(camera, 0), camera, Moved(1, 0, 0)).metres, Flat(camera, 0).metres);
  const WarpedImage warped = WarpImage({8, 4, std::vector<uint8_t>(96, 7)}, Flat(camera, 0), camera, Pose());
  EXPECT_EQ(warped.image.rgb, std::vector<uint8_t>(96, 0));
}

// A server's answer may hold anything.
TEST(DepthWarp, TakesAnyDepthAndAnyMotion) {
  const Intrinsics camera = Small(5, 5);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> odd{nan, infinity, -infinity, -1, 0, 1e-30f, 1e30f, std::numeric_limits<float>::max(), 1};
  EXPECT_TRUE(rc::check([&] {
    DepthMap depth = Flat(camera, 1);
    for (float& metres : depth.metres) metres = *rc::gen::elementOf(odd);
    const double x = *rc::gen::elementOf(std::vector<double>{0, 1, -3, 1e20, nan});
    const DepthMap warped = WarpDepth(depth, camera, Moved(x, 0, x));
    for (const float metres : warped.metres) RC_ASSERT(metres >= 0);
  }));
}

struct Step {
  const char* name;
  Pose motion;
  double most;  // error
};

// The whole way: warped by the exact motion, a still street's map is what is true there. What is left comes from
// nearest pixels (half a pixel on a slanting ground), from what was hidden, and from what had not been in view: moving
// backwards shows a border of it.
TEST(DepthWarp, AStillStreetIsNearlyTrue) {
  const Street street;
  const View before = Render(street, StreetCamera(), PoseAtPlace({0, 0, 0}));
  const Step steps[] = {{"forward", PoseAtPlace({0, 0, 1.0}), 0.03},
                        {"backward", PoseAtPlace({0, 0, -1.0}), 0.06},
                        {"sideways", PoseAtPlace({0.5, 0, 0}), 0.03},
                        {"turning", PoseAtPlace({0, 0, 0}, 0.1), 0.04},
                        {"all", PoseAtPlace({0.2, 0.1, 0.8}, -0.08, 0.03), 0.04}};
  for (const Step& step : steps) {
    const View after = Render(street, StreetCamera(), step.motion);
    const double error = *AbsRel(WarpDepth(before.depth, StreetCamera(), step.motion), after.depth);
    RecordProperty(step.name, std::to_string(error));
    EXPECT_LT(error, step.most) << step.name;
    if (step.motion.position.z() >= 0) {
      EXPECT_LT(error, 0.6 * *AbsRel(before.depth, after.depth)) << step.name;
    }
  }
}

}  // namespace
}  // namespace wharf::track
