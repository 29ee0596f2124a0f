#include "wharf/track/odometry_accuracy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace wharf::track {
namespace {

using absl::StatusCode;

double Loss(const Line& line, const std::vector<double>& x, const std::vector<double>& y, double quantile) {
  double loss = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double r = y[i] - line.At(x[i]);
    loss += std::max(quantile * r, (quantile - 1) * r);
  }
  return loss;
}

// An optimal line goes through two points: tries all of them.
double LeastLoss(const std::vector<double>& x, const std::vector<double>& y, double quantile) {
  double least = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (x[i] == x[j]) continue;
      const double slope = (y[i] - y[j]) / (x[i] - x[j]);
      least = std::min(least, Loss({y[i] - slope * x[i], slope}, x, y, quantile));
    }
  }
  return least;
}

struct Points {
  std::vector<double> x, y;
};

Points SomePoints(int most) {
  Points points{{0, 1}, {}};  // not all x equal
  for (int i = *rc::gen::inRange(0, most); i > 0; --i) points.x.push_back(*rc::gen::inRange(-20, 20));
  for (size_t i = 0; i < points.x.size(); ++i) points.y.push_back(*rc::gen::inRange(-50, 50) / 7.0);
  return points;
}

TEST(FitQuantile, IsAsGoodAsTheBestOfAllLines) {
  EXPECT_TRUE(rc::check([] {
    const auto [x, y] = SomePoints(25);
    const double quantile = *rc::gen::element(0.05, 0.5, 0.8, 0.95);
    const Line line = *FitQuantile(x, y, quantile);
    RC_ASSERT(Loss(line, x, y, quantile) <= LeastLoss(x, y, quantile) + 1e-7);
  }));
}

TEST(FitQuantile, LeavesItsShareOfThePointsBelow) {
  EXPECT_TRUE(rc::check([] {
    const auto [x, y] = SomePoints(200);
    const double quantile = 0.95;
    const Line line = *FitQuantile(x, y, quantile);
    double above = 0, below = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      above += y[i] > line.At(x[i]) + 1e-7;
      below += y[i] < line.At(x[i]) - 1e-7;
    }
    const auto n = static_cast<double>(x.size());
    RC_ASSERT(above <= (1 - quantile) * n + 1e-9);
    RC_ASSERT(below <= quantile * n + 1e-9);
  }));
}

// Points whose spread grows with x, as drops do with angular velocity: their 95 % quantile is a known line.
TEST(FitQuantile, FindsTheQuantileOfAGrowingSpread) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> x, y;
  for (int i = 0; i < 20000; ++i) {
    x.push_back(uniform(random));
    y.push_back((0.01 + 0.2 * x.back()) * uniform(random));
  }
  const Line line = *FitQuantile(x, y, 0.95);
  EXPECT_NEAR(line.slope, 0.95 * 0.2, 0.004);
  EXPECT_NEAR(line.intercept, 0.95 * 0.01, 0.001);
}

TEST(FitQuantile, RefusesWhatHasNoLine) {
  const std::vector<double> two{1, 2}, same{1, 1}, one{1}, odd{1, std::nan("")};
  EXPECT_EQ(FitQuantile(two, one, 0.5).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FitQuantile(one, one, 0.5).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FitQuantile(two, odd, 0.5).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FitQuantile(two, two, 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FitQuantile(same, two, 0.5).status().code(), StatusCode::kFailedPrecondition);
}

TEST(MeanAngularVelocity, OfATurn) {
  std::vector<scene::Pose> poses(1);
  const scene::Pose turn{Eigen::Quaterniond(Eigen::AngleAxisd(0.01, Eigen::Vector3d::UnitY())), {1, 0, 0}};
  for (int i = 0; i < 30; ++i) poses.push_back(poses.back() * turn);
  EXPECT_NEAR(MeanAngularVelocity(poses, 1 / 60.0), 0.6, 1e-9);
  EXPECT_EQ(MeanAngularVelocity(std::span(poses).first(1), 1 / 60.0), 0);
}

TEST(OdometryAccuracyModel, SpreadsTheBoundOverTheStridesBetween) {
  const OdometryAccuracyModel model{.bound = {.intercept = -0.01, .slope = 0.1}, .base_stride = 4, .stride = 8};
  EXPECT_NEAR(model.DropRate(0.5), 0.04 / 4, 1e-12);
  EXPECT_EQ(model.DropRate(0), 0);
}

}  // namespace
}  // namespace wharf::track
