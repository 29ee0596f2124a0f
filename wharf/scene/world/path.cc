#include "wharf/scene/world/path.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wharf::scene {

Spline::Spline(double begin_s, double interval_s, std::vector<double> controls)
    : begin_s_(begin_s), interval_s_(interval_s), controls_(std::move(controls)) {}

double Spline::At(double time_s, int derivative) const {
  const double at = (time_s - begin_s_) / interval_s_, whole = std::floor(at), t = at - whole;
  const auto control = [&](int64_t offset) {
    const int64_t last = static_cast<int64_t>(controls_.size()) - 1;
    return controls_[static_cast<size_t>(std::clamp(static_cast<int64_t>(whole) + offset, int64_t{0}, last))];
  };
  const double a = control(-1), b = control(0), c = control(1), d = control(2), s = 1 - t;
  if (derivative == 0) {
    return (s * s * s * a + (3 * t * t * t - 6 * t * t + 4) * b + (3 * s * s * s - 6 * s * s + 4) * c + t * t * t * d) /
           6;
  }
  if (derivative == 1) {
    return (-s * s * a + (3 * t * t - 4 * t) * b - (3 * s * s - 4 * s) * c + t * t * d) / (2 * interval_s_);
  }
  return (s * a + (3 * t - 2) * b + (3 * s - 2) * c + t * d) / (interval_s_ * interval_s_);
}

std::vector<double> Smoothed(std::vector<double> values, int reach) {
  const auto last = static_cast<int>(values.size()) - 1;
  for (int round = 0; round < 2; ++round) {
    const std::vector<double> from = values;
    for (int i = 0; i <= last; ++i) {
      double sum = 0;
      for (int j = i - reach; j <= i + reach; ++j) sum += from[static_cast<size_t>(std::clamp(j, 0, last))];
      values[static_cast<size_t>(i)] = sum / (2 * reach + 1);
    }
  }
  return values;
}

namespace {

Path::Point Along(const Path::Point& from, double metres) {
  Path::Point to = from;
  if (from.curvature == 0) {
    to.position += from.Forward() * metres;
  } else {
    to.heading += from.curvature * metres;
    to.position += (from.Right() * -1 + to.Right()) / from.curvature;
  }
  return to;
}

}  // namespace

Path::Path(const Eigen::Vector2d& start, double heading) : end_{start, heading, 0} {}

void Path::Straight(double metres) {
  end_.curvature = 0;
  pieces_.push_back({length_, end_});
  length_ += metres;
  end_ = Along(end_, metres);
}

void Path::Turn(double radians, double radius) {
  end_.curvature = (radians > 0 ? 1 : -1) / radius;
  pieces_.push_back({length_, end_});
  const double metres = std::abs(radians) * radius;
  length_ += metres;
  end_ = Along(end_, metres);
  end_.curvature = 0;
}

Path::Point Path::At(double metres) const {
  if (metres >= length_ || pieces_.empty()) return Along(end_, metres - length_);
  const auto beyond =
      std::partition_point(pieces_.begin(), pieces_.end(), [&](const Piece& piece) { return piece.begin <= metres; });
  const Piece& piece = beyond == pieces_.begin() ? *beyond : *(beyond - 1);
  return Along(piece.at, metres - piece.begin);
}

}  // namespace wharf::scene
