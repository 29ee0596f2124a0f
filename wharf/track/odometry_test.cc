#include "wharf/track/odometry.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <random>

#include "wharf/track/street_testing.h"

namespace wharf::track {
namespace {

using absl::StatusCode;
using scene::DepthMap;
using scene::Pose;

const View& Start() {
  static const View view = Render(Street(), StreetCamera(), Pose());
  return view;
}

View After(const Pose& motion) { return Render(Street(), StreetCamera(), motion); }

double Degrees(const Pose& a, const Pose& b) { return a.rotation.angularDistance(b.rotation) * 180 / M_PI; }

DepthMap Noisy(DepthMap depth, double relative_sd, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(1, static_cast<float>(relative_sd));
  for (float& metres : depth.metres) metres *= std::max(0.1f, noise(random));
  return depth;
}

const Pose kMotions[] = {PoseAtPlace({0, 0, 0.5}), PoseAtPlace({0.3, 0, 0.1}), PoseAtPlace({0, 0, 0}, 0.1),
                         PoseAtPlace({0.1, -0.05, 1.2}, -0.05, 0.02)};

TEST(EstimateMotion, FindsTheMotionWithExactDepth) {
  for (const Pose& motion : kMotions) {
    const auto found = EstimateMotion(Start().image, Start().depth, After(motion).image, StreetCamera());
    ASSERT_EQ(found.status(), absl::OkStatus());
    EXPECT_LT((found->motion.position - motion.position).norm(), 0.02 + 0.03 * motion.position.norm());
    EXPECT_LT(Degrees(found->motion, motion), 0.15);
    EXPECT_GE(found->inliers, 20);
  }
}

TEST(EstimateMotion, BearsDepthOfTenPerCentNoise) {
  const DepthMap depth = Noisy(Start().depth, 0.1, 1);
  for (const Pose& motion : kMotions) {
    const auto found = EstimateMotion(Start().image, depth, After(motion).image, StreetCamera());
    ASSERT_EQ(found.status(), absl::OkStatus());
    EXPECT_LT((found->motion.position - motion.position).norm(), 0.03 + 0.05 * motion.position.norm());
    EXPECT_LT(Degrees(found->motion, motion), 0.25);
  }
}

// What it says of its own error is about right: neither ten times too sure nor ten times too shy.
TEST(EstimateMotion, KnowsHowSureItIs) {
  const Pose motion = PoseAtPlace({0.05, 0, 0.8}, 0.03);
  const View after = After(motion);
  double sum = 0;
  const unsigned seeds = 12;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    const MotionEstimate found =
        *EstimateMotion(Start().image, Noisy(Start().depth, 0.1, seed), after.image, StreetCamera());
    Eigen::Matrix<double, 6, 1> error;
    error.head<3>() = motion.position - found.motion.position;
    const Eigen::AngleAxisd turn(found.motion.rotation.conjugate() * motion.rotation);
    error.tail<3>() = turn.angle() * turn.axis();
    sum += error.dot(found.covariance.llt().solve(error));
  }
  EXPECT_GT(sum / seeds, 0.6);
  EXPECT_LT(sum / seeds, 60);  // 6 for one that is exactly right
}

TEST(EstimateMotion, IsNotTakenInByAVanThatMoves) {
  Street street;
  street.solids.push_back({{-2.5, -0.6, 8}, {0, 1.5, 10}});
  const View before = Render(street, StreetCamera(), Pose());
  const Pose motion = PoseAtPlace({0, 0, 0.5});
  street.solids.back().low.x() += 0.8;
  street.solids.back().high.x() += 0.8;
  const auto found =
      EstimateMotion(before.image, before.depth, Render(street, StreetCamera(), motion).image, StreetCamera());
  ASSERT_EQ(found.status(), absl::OkStatus());
  EXPECT_LT((found->motion.position - motion.position).norm(), 0.04);
}

TEST(EstimateMotion, IsTakenInByALorryAheadUnlessToldOfIt) {
  Street street;
  street.solids.push_back({{-6, -4, 8}, {6, 1.5, 12}});
  const View before = Render(street, StreetCamera(), Pose());
  const Pose motion = PoseAtPlace({0, 0, 0.5});
  street.solids.back().low.z() += 0.5;  // as fast as the camera
  street.solids.back().high.z() += 0.5;
  const View after = Render(street, StreetCamera(), motion);
  const auto error = [&](std::span<const scene::Box> movable) {
    const auto found = EstimateMotion(before.image, before.depth, after.image, StreetCamera(), {}, movable);
    return found.ok() ? (found->motion.position - motion.position).norm() : -1;
  };
  EXPECT_GT(error({}), 0.4);
  const scene::Box lorry{224 - 6 * 28, -10, 224 + 6 * 28, 64 + 1.5 * 26};  // beyond the picture's edge, too
  EXPECT_LT(error(std::span(&lorry, 1)), 0.1);                             // by what little is left on both sides
  EXPECT_GE(error(std::span(&lorry, 1)), 0);
  const scene::Box all{0, 0, 448, 128};
  EXPECT_EQ(error(std::span(&all, 1)), -1);
}

TEST(EstimateMotion, SaysWhyThereIsNone) {
  const scene::Image blank{448, 128, std::vector<uint8_t>(3 * 448 * 128, 90)};
  const DepthMap unknown{448, 128, std::vector<float>(448 * 128, 0)};
  const auto code = [](const scene::Image& first, const DepthMap& depth, const scene::Image& second) {
    return EstimateMotion(first, depth, second, StreetCamera()).status().code();
  };
  EXPECT_EQ(code(blank, Start().depth, blank), StatusCode::kNotFound);
  EXPECT_EQ(code(Start().image, Start().depth, blank), StatusCode::kNotFound);
  EXPECT_EQ(code(Start().image, unknown, Start().image), StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(Start().image, {2, 2, {1, 1, 1, 1}}, Start().image), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({4, 4, {}}, Start().depth, Start().image), StatusCode::kInvalidArgument);
}

TEST(EstimateMotion, IsTheSameEachTime) {
  const View after = After(kMotions[3]);
  const MotionEstimate a = *EstimateMotion(Start().image, Start().depth, after.image, StreetCamera());
  const MotionEstimate b = *EstimateMotion(Start().image, Start().depth, after.image, StreetCamera());
  EXPECT_EQ(a.motion.position, b.motion.position);
  EXPECT_EQ(a.motion.rotation.coeffs(), b.motion.rotation.coeffs());
}

}  // namespace
}  // namespace wharf::track
