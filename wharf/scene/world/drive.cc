#include "wharf/scene/world/drive.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "wharf/base/random.h"
#include "wharf/scene/world/sin_cos.h"

namespace wharf::scene {
namespace {

using Eigen::Vector2d;

constexpr double kQuarter = std::numbers::pi / 2;
constexpr double kKnot = 0.1;     // seconds between the splines' control points
constexpr double kBegin = -1;     // seconds
constexpr double kLateral = 2.8;  // m/s^2 in turns
constexpr double kBraking = 2.0;  // m/s^2, and speeding up

// How fast one may be along a path: slower in arcs, and as braking before them and speeding up after them allows.
class SpeedLimit {
 public:
  SpeedLimit(const Path& path, double cruise, uint64_t seed) {
    Random random(seed, 11);
    const auto count = static_cast<size_t>(path.Length() / kStep);
    std::vector<double> moods;
    for (size_t i = 0; i < count; i += 50) moods.push_back(cruise * random.Uniform(0.8, 1.15));
    const Spline mood(0, 50, moods);
    for (size_t i = 0; i < count; ++i) {
      const double curvature = std::abs(path.At(static_cast<double>(i) * kStep).curvature);
      const double most = mood.At(static_cast<double>(i));
      limits_.push_back(curvature == 0 ? most : std::min(most, std::sqrt(kLateral / curvature)));
    }
    const auto reach = [](double speed) { return std::sqrt(speed * speed + 2 * kBraking * kStep); };
    for (size_t i = count - 1; i > 0; --i) limits_[i - 1] = std::min(limits_[i - 1], reach(limits_[i]));
    for (size_t i = 1; i < count; ++i) limits_[i] = std::min(limits_[i], reach(limits_[i - 1]));
  }
  double At(double metres) const {
    const double at = std::max(0.0, metres / kStep);
    return limits_[std::min(static_cast<size_t>(at), limits_.size() - 1)];
  }

 private:
  static constexpr double kStep = 0.5;  // metres
  std::vector<double> limits_;
};

// Control points that come back to 0 between glances; each is a smooth step to a side, a while there, and back.
struct Glances {
  std::vector<double> yaw, pitch;
};
Glances MakeGlances(size_t count, bool many, Random& random) {
  Glances glances{std::vector<double>(count), std::vector<double>(count)};
  double begin = random.Uniform(0.5, 2);
  while (begin < static_cast<double>(count) * kKnot) {
    const double rise = random.Uniform(0.5, 1.0), stay = random.Uniform(0.3, 1.2);
    const double side = random.Sign();
    const double yaw = side * (many ? random.Uniform(0.35, 0.85) : random.Uniform(0.02, 0.05));
    const double pitch = many ? random.Uniform(-0.10, 0.12) : random.Uniform(-0.01, 0.01);
    for (size_t i = 0; i < count; ++i) {
      const double time = static_cast<double>(i) * kKnot - begin;
      const double up = std::clamp(time / rise, 0.0, 1.0), down = std::clamp((time - rise - stay) / rise, 0.0, 1.0);
      const auto ease = [](double t) { return t * t * (3 - 2 * t); };
      glances.yaw[i] += yaw * (ease(up) - ease(down));
      glances.pitch[i] += pitch * (ease(up) - ease(down));
    }
    begin += 2 * rise + stay + (many ? random.Uniform(0.4, 2.2) : random.Uniform(2, 6));
  }
  return glances;
}

// Shaking, as a vehicle's or a head's, over slow sway.
class Shake {
 public:
  Shake(double sway, double jitter, Random& random)
      : sway_(sway), jitter_(jitter), rate_(random.Uniform(0.5, 1.2)), phase_(random.Uniform(0, 6)), random_(random) {}
  double At(double time) { return sway_ * SinCos(rate_ * time + phase_).sine + jitter_ * random_.Normal(); }

 private:
  double sway_, jitter_, rate_, phase_;
  Random& random_;
};

// The camera's axes (x right, y down, z ahead) in those of the body (x ahead, y left, z up).
Eigen::Matrix3d CameraInBody() {
  Eigen::Matrix3d axes;
  axes << 0, 0, 1, -1, 0, 0, 0, -1, 0;
  return axes;
}

Eigen::Matrix3d RotationOf(double yaw, double pitch, double roll) {
  const auto [sy, cy] = SinCos(yaw);
  const auto [sp, cp] = SinCos(-pitch);  // turning about y to the left lowers the nose
  const auto [sr, cr] = SinCos(roll);
  Eigen::Matrix3d rotation;
  rotation << cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr,  //
      sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr,          //
      -sp, cp * sr, cp * cr;
  return rotation;
}

}  // namespace

Route PlanRoute(const Streets& streets, const RouteOptions& options, uint64_t seed) {
  const double lane = options.lane;
  int turns_left = options.most_turns;
  Random random(seed, 12);
  int quarter = random.ScaledBelow(4), at[2] = {Streets::kMiddle, Streets::kMiddle};
  const auto junction = [&] { return Vector2d(streets.Line(0, at[0]), streets.Line(1, at[1])); };
  const auto ahead = [&] { return Path::Point{Vector2d::Zero(), quarter * kQuarter, 0}; };
  const Vector2d start = junction() + ahead().Right() * lane;
  Route route{Path(start, quarter * kQuarter), {}};
  Vector2d lane_corner = start;
  double arc_end = 0;  // how far past lane_corner the last arc ends
  double leg_begin = 0;
  while (route.path.Length() < options.metres) {
    const Vector2d from = junction();
    const int step = quarter % 4 < 2 ? 1 : -1;  // east and north count up
    at[quarter % 2] += step;
    const bool turns = turns_left > 0 && random.Chance(options.turns_per_junction);
    turns_left -= turns;
    const int side = turns ? (random.Chance(0.5) ? 1 : -1) : 0;
    const double radius = side > 0 ? random.Uniform(12, 15) : random.Uniform(8, 10);
    const Path::Point direction = ahead();
    Vector2d corner = junction() + direction.Right() * lane;
    if (side != 0) corner += Path::Point{Vector2d::Zero(), (quarter + side) * kQuarter, 0}.Right() * lane;
    const double metres_straight = (corner - lane_corner).dot(direction.Forward()) - arc_end - (turns ? radius : 0);
    route.path.Straight(metres_straight);
    if (turns) route.path.Turn(side * kQuarter, radius);
    const double leg_end = route.path.Length() - (turns ? kQuarter * radius / 2 : 0);
    route.legs.push_back({leg_begin, leg_end, from, direction.heading, junction()});
    leg_begin = leg_end;
    lane_corner = corner;
    arc_end = turns ? radius : 0;
    quarter = (quarter + side + 4) % 4;
  }
  return route;
}

Drive::Drive(const Route& route, const DriveOptions& options, double seconds, uint64_t seed) : seconds_(seconds) {
  Random random(seed, 13);
  const auto count = static_cast<size_t>((seconds + 3) / kKnot);
  const SpeedLimit limit(route.path, options.cruise_mps, seed);
  std::vector<double> stations;
  double station = random.Uniform(5, 15);
  constexpr int kSteps = 10;
  for (size_t i = 0; i < count; ++i) {
    stations.push_back(station);
    for (int step = 0; step < kSteps; ++step) station += limit.At(station) * kKnot / kSteps;
  }
  stations = Smoothed(std::move(stations), 3);
  const Glances glances = MakeGlances(count, options.glances, random);
  Shake weave(0.12, 0, random), bob(0.015, 0.0015, random), roll(0.008, 0.0004, random), pitch(0.004, 0.0005, random),
      yaw(0.006, 0.0003, random);
  const double height = random.Uniform(1.5, 1.7);
  std::vector<double> x, y, z, yaws, pitches, rolls;
  for (size_t i = 0; i < count; ++i) {
    const double time = kBegin + static_cast<double>(i) * kKnot;
    const Path::Point at = route.path.At(stations[i]);
    const Vector2d position = at.position + at.Right() * weave.At(time);
    x.push_back(position.x());
    y.push_back(position.y());
    z.push_back(height + bob.At(time));
    yaws.push_back(at.heading + yaw.At(time));
    pitches.push_back(pitch.At(time) + glances.pitch[i] - 0.02);
    rolls.push_back(roll.At(time));
  }
  yaws = Smoothed(std::move(yaws), 3);  // as one steers into a bend
  for (size_t i = 0; i < count; ++i) yaws[i] += glances.yaw[i];
  station_ = Spline(kBegin, kKnot, stations);
  x_ = Spline(kBegin, kKnot, Smoothed(std::move(x), 3));
  y_ = Spline(kBegin, kKnot, Smoothed(std::move(y), 3));
  z_ = Spline(kBegin, kKnot, std::move(z));
  yaw_ = Spline(kBegin, kKnot, std::move(yaws));
  pitch_ = Spline(kBegin, kKnot, std::move(pitches));
  roll_ = Spline(kBegin, kKnot, std::move(rolls));
}

Pose Drive::PoseAt(double time_s) const {
  const Eigen::Matrix3d rotation = RotationOf(yaw_.At(time_s), pitch_.At(time_s), roll_.At(time_s)) * CameraInBody();
  return {Eigen::Quaterniond(rotation), {x_.At(time_s), y_.At(time_s), z_.At(time_s)}};
}

Eigen::Vector3d Drive::Velocity(double time_s) const { return {x_.At(time_s, 1), y_.At(time_s, 1), z_.At(time_s, 1)}; }

Eigen::Vector3d Drive::Acceleration(double time_s) const {
  return {x_.At(time_s, 2), y_.At(time_s, 2), z_.At(time_s, 2)};
}

Eigen::Vector3d Drive::AngularVelocity(double time_s) const {
  const auto [st, ct] = SinCos(-pitch_.At(time_s));
  const auto [sr, cr] = SinCos(roll_.At(time_s));
  const double yaw = yaw_.At(time_s, 1), turn = -pitch_.At(time_s, 1), roll = roll_.At(time_s, 1);
  // The rates of the angles about z, then y, then x, in the body's axes.
  const Eigen::Vector3d body(roll - yaw * st, turn * cr + yaw * ct * sr, -turn * sr + yaw * ct * cr);
  return CameraInBody().transpose() * body;
}

double Drive::TimeAt(double station) const {
  double low = 0, high = seconds_;
  for (int i = 0; i < 40; ++i) (Station((low + high) / 2) < station ? low : high) = (low + high) / 2;
  return low;
}

}  // namespace wharf::scene
