#include "wharf/scene/world/path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numbers>

#include "wharf/scene/world/sin_cos.h"

namespace wharf::scene {
namespace {

std::vector<double> Controls() {
  std::vector<double> controls;
  for (const int one : *rc::gen::container<std::vector<int>>(12, rc::gen::inRange(-1000, 1000)))
    controls.push_back(one / 100.0);
  return controls;
}

RC_GTEST_PROP(Spline, DerivativesAreItsSlopes, ()) {
  const Spline spline(-1, 0.25, Controls());
  const double at = *rc::gen::inRange(-1000, 2500) / 1000.0, step = 1e-5;
  for (const int derivative : {0, 1}) {
    const double slope = (spline.At(at + step, derivative) - spline.At(at - step, derivative)) / (2 * step);
    // The second derivative is continuous but has corners, at which the middle slope is off by a step's worth.
    RC_ASSERT(std::abs(slope - spline.At(at, derivative + 1)) < 0.05 + 1e-4 * std::abs(slope));
  }
}

RC_GTEST_PROP(Spline, StaysWithinItsControls, ()) {
  const std::vector<double> controls = Controls();
  const Spline spline(0, 1, controls);
  const double value = spline.At(*rc::gen::inRange(-500, 1500) / 100.0);
  RC_ASSERT(value >= *std::min_element(controls.begin(), controls.end()) - 1e-9);
  RC_ASSERT(value <= *std::max_element(controls.begin(), controls.end()) + 1e-9);
}

TEST(Spline, RestsBeforeAndAfter) {
  const Spline spline(0, 1, {1, 2, 5});
  EXPECT_DOUBLE_EQ(spline.At(-10), 1);
  EXPECT_DOUBLE_EQ(spline.At(20), 5);
  EXPECT_DOUBLE_EQ(spline.At(20, 1), 0);
  EXPECT_DOUBLE_EQ(Spline(0, 1, {4}).At(3), 4);
}

RC_GTEST_PROP(Path, GoesAMetreAMetreAndTurnsByItsCurvature, ()) {
  Path path({3, 4}, 0.3);
  for (const int turn : *rc::gen::container<std::vector<int>>(4, rc::gen::inRange(-150, 150))) {
    path.Straight(10 + std::abs(turn) / 10.0);
    if (turn != 0) path.Turn(turn / 100.0, 8);
  }
  const double at = *rc::gen::inRange(-500, 12000) / 100.0, step = 1e-4;
  const Path::Point before = path.At(at - step), here = path.At(at), after = path.At(at + step);
  const Eigen::Vector2d velocity = (after.position - before.position) / (2 * step);
  RC_ASSERT((velocity - here.Forward()).norm() < 1e-3);
  RC_ASSERT(std::abs(after.heading - before.heading) < 2 * step / 8 + 1e-9);
}

TEST(Path, AQuarterToTheLeftEndsUpToTheLeft) {
  Path path({0, 0}, 0);
  path.Straight(10);
  path.Turn(std::numbers::pi / 2, 5);
  const Path::Point end = path.At(path.Length());
  EXPECT_NEAR(end.position.x(), 15, 1e-6);
  EXPECT_NEAR(end.position.y(), 5, 1e-6);
  EXPECT_NEAR(end.heading, std::numbers::pi / 2, 1e-9);
  EXPECT_NEAR(path.At(path.Length() + 7).position.y(), 12, 1e-6);
}

RC_GTEST_PROP(SinCos, AreTheStandardLibrarysToTenDigits, ()) {
  const double angle = *rc::gen::inRange(-100'000'000, 100'000'000) / 1e5;
  const SineCosine at = SinCos(angle);
  RC_ASSERT(std::abs(at.sine - std::sin(angle)) < 1e-10);
  RC_ASSERT(std::abs(at.cosine - std::cos(angle)) < 1e-10);
}

}  // namespace
}  // namespace wharf::scene
