#include "wharf/track/depth_accuracy.h"

#include <gtest/gtest.h>

#include "wharf/track/depth_warp.h"
#include "wharf/track/metrics.h"
#include "wharf/track/street_testing.h"

namespace wharf::track {
namespace {

using absl::StatusCode;
using scene::DepthMap;
using scene::Pose;

constexpr int kStride = 8;

// A street before and after a stride in which the camera moved, and a van across its way did.
struct Stride {
  View before, after;
  Pose motion;
};

Stride DriveOn(double van_moves) {
  Street street;
  street.solids.push_back({{-2.5, -0.6, 8}, {-0.5, 1.5, 10}});
  Stride stride{.motion = PoseAtPlace({0, 0, 0.6}, 0.02)};
  stride.before = Render(street, StreetCamera(), Pose());
  street.solids.back().low.x() += van_moves;
  street.solids.back().high.x() += van_moves;
  stride.after = Render(street, StreetCamera(), stride.motion);
  for (View* view : {&stride.before, &stride.after}) {
    for (float& metres : view->depth.metres) metres = metres > 0 ? metres : 500;  // a server's network sees all
  }
  return stride;
}

double Estimated(const Stride& stride) {
  return *DepthTrackerDropRate(stride.before.image, stride.before.depth, stride.after.image, StreetCamera(),
                               stride.motion, kStride);
}

double Actual(const Stride& stride) {
  return *AbsRel(WarpDepth(stride.before.depth, StreetCamera(), stride.motion), stride.after.depth) / kStride;
}

TEST(DepthTrackerDropRate, GrowsWithWhatMoves) {
  const Stride still = DriveOn(0), slow = DriveOn(0.4), fast = DriveOn(1.2);
  EXPECT_LT(Estimated(still), Estimated(slow));
  EXPECT_LT(Estimated(slow), Estimated(fast));
  EXPECT_GT(Estimated(fast), 2 * Estimated(still));
}

TEST(DepthTrackerDropRate, IsOfTheSizeOfTheDropItself) {
  for (const double moves : {0.4, 0.8, 1.2}) {
    const Stride stride = DriveOn(moves);
    EXPECT_GT(Estimated(stride), 0.3 * Actual(stride)) << moves;
    EXPECT_LT(Estimated(stride), 3 * Actual(stride)) << moves;
  }
}

TEST(DepthTrackerDropRate, RefusesWhatDoesNotFit) {
  const Stride stride = DriveOn(0);
  const auto code = [&](const scene::Intrinsics& camera, int frames) {
    return DepthTrackerDropRate(stride.before.image, stride.before.depth, stride.after.image, camera, stride.motion,
                                frames)
        .status()
        .code();
  };
  EXPECT_EQ(code(StreetCamera(), 0), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(scene::Resized(StreetCamera(), 224, 64), 1), StatusCode::kInvalidArgument);
  const scene::Intrinsics tiny = scene::Resized(StreetCamera(), 16, 16);
  const scene::Image picture{16, 16, std::vector<uint8_t>(3 * 16 * 16)};
  const DepthMap depth{16, 16, std::vector<float>(16 * 16, 1)};
  EXPECT_EQ(DepthTrackerDropRate(picture, depth, picture, tiny, Pose(), 1).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(DepthTrackerDropRate, WithoutAnyDepthThereIsNone) {
  const Stride stride = DriveOn(0);
  const DepthMap unknown{448, 128, std::vector<float>(448 * 128, 0)};
  EXPECT_EQ(
      DepthTrackerDropRate(stride.before.image, unknown, stride.after.image, StreetCamera(), Pose(), 1).status().code(),
      StatusCode::kFailedPrecondition);
}

// The smallest pictures that it takes, and narrow ones: OpenCV must not throw at any.
TEST(DepthTrackerDropRate, TakesSmallPictures) {
  for (const auto& [width, height] : {std::pair{32, 32}, std::pair{400, 33}, std::pair{35, 200}}) {
    const scene::Intrinsics camera = scene::Resized(StreetCamera(), width, height);
    const View view = Render(Street(), camera, Pose());
    DepthMap depth = view.depth;
    for (float& metres : depth.metres) metres = metres > 0 ? metres : 500;
    EXPECT_LT(*DepthTrackerDropRate(view.image, depth, view.image, camera, Pose(), 1), 0.05);
  }
}

TEST(LiteDepthDrop, IsWhatItIsWorseByThanTheServer) {
  const DepthMap server{2, 1, {10, 20}}, lite{2, 1, {12, 20}};
  EXPECT_NEAR(*LiteDepthDrop(lite, server, 0.04), 0.06, 1e-7);
  EXPECT_NEAR(*LiteDepthDrop(server, server, 0.04), -0.04, 1e-7);
  EXPECT_EQ(LiteDepthDrop(lite, {1, 1, {2}}, 0).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace wharf::track
