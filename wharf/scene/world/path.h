// Ways through the plane and functions of time, smooth enough to be differentiated twice.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "wharf/scene/world/sin_cos.h"

namespace wharf::scene {

// A uniform cubic B-spline: it follows its control points, one every `interval_s`, without passing through them, and
// is twice continuously differentiable. Before the first and after the last it holds their values.
class Spline {
 public:
  Spline() = default;
  Spline(double begin_s, double interval_s, std::vector<double> controls);
  // Of derivative 0 (its value), 1 or 2.
  double At(double time_s, int derivative = 0) const;

 private:
  double begin_s_ = 0, interval_s_ = 1;
  std::vector<double> controls_;
};

// Every value becomes the mean of those up to `reach` away, twice over.
std::vector<double> Smoothed(std::vector<double> values, int reach);

// Straight lines with arcs between them.
class Path {
 public:
  struct Point {
    Eigen::Vector2d position;
    double heading = 0, curvature = 0;  // radians, anticlockwise from x; 1 / m, positive to the left
    Eigen::Vector2d Forward() const {
      const SineCosine at = SinCos(heading);
      return {at.cosine, at.sine};
    }
    Eigen::Vector2d Right() const { return {Forward().y(), -Forward().x()}; }
  };

  Path(const Eigen::Vector2d& start, double heading);
  void Straight(double metres);
  void Turn(double radians, double radius);  // to the left; negative: to the right

  double Length() const { return length_; }
  Point At(double metres) const;  // before the start and beyond the end, straight on

 private:
  struct Piece {
    double begin;  // along the path
    Point at;
  };
  std::vector<Piece> pieces_;
  Point end_;
  double length_ = 0;
};

}  // namespace wharf::scene
