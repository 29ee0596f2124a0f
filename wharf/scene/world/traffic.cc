#include "wharf/scene/world/traffic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "wharf/base/random.h"
#include "wharf/scene/world/sin_cos.h"

namespace wharf::scene {
namespace {

using Eigen::Vector2d;

constexpr double kKnot = 0.2;  // seconds between control points
constexpr double kBegin = -0.6;

Tint Paint(Random& random) {
  static const Tint kPaints[] = {{0.92f, 0.92f, 0.92f}, {0.12f, 0.12f, 0.14f}, {0.55f, 0.57f, 0.6f},
                                 {0.62f, 0.1f, 0.1f},   {0.12f, 0.2f, 0.5f},   {0.8f, 0.68f, 0.2f},
                                 {0.16f, 0.36f, 0.22f}, {0.75f, 0.4f, 0.15f}};
  const auto bright = static_cast<float>(random.Uniform(0.85, 1.1));
  return kPaints[random.ScaledBelow(8)] * bright;
}

Tint Clothes(Random& random) {
  const auto part = [&] { return static_cast<float>(random.Uniform(0.1, 1.0)); };
  return {part(), part(), part()};
}

class Planner {
 public:
  Planner(const Route& route, const Drive& drive, double lane, double seconds, uint64_t seed)
      : route_(route), drive_(drive), lane_(lane), seconds_(seconds), random_(seed, 31) {
    bends_ = std::any_of(route.legs.begin(), route.legs.end(),
                         [&](const Leg& leg) { return leg.heading != route.legs.front().heading; });
  }

  void Oncoming(double gap_s);
  void Beside(int count);
  void Leader();
  void Crossing(double chance);
  void Walkers(double per_100m);
  void Crossers(double per_100m);
  void Parked(double chance);
  std::vector<Mover> Take() { return std::move(movers_); }

 private:
  using Where = std::function<Path::Point(double time_s)>;
  void Add(ObjectClass object_class, size_t shape, const Where& where);
  void AddVehicle(const Where& where) { Add(ObjectClass::kVehicle, VehicleShape(), where); }
  void AddPerson(double speed, const Where& where);
  // Along the route, `lateral` metres right of the camera's lane.
  Path::Point OnRoute(double station, double lateral, bool reversed) const;
  size_t VehicleShape();  // any
  size_t CarShape() { return static_cast<size_t>(random_.ScaledBelow(3)); }
  // The part of a leg that the camera comes along, away from the junctions.
  bool Travelled(const Leg& leg) const { return leg.begin < drive_.Station(seconds_) + 60; }
  // A station's place on a leg's street, `right` metres right of its middle.
  Vector2d OnLeg(const Leg& leg, double station, double right) const;

  const Route& route_;
  const Drive& drive_;
  const double lane_, seconds_;
  Random random_;
  bool bends_;
  std::vector<Mover> movers_;
};

size_t Planner::VehicleShape() {
  const double draw = random_.Uniform();
  return draw < 0.36 ? 0 : draw < 0.66 ? 1 : draw < 0.84 ? 2 : draw < 0.92 ? 3 : 4;
}

Path::Point Planner::OnRoute(double station, double lateral, bool reversed) const {
  Path::Point at = route_.path.At(station);
  at.position += at.Right() * lateral;
  if (reversed) at.heading += std::numbers::pi;
  return at;
}

Vector2d Planner::OnLeg(const Leg& leg, double station, double right) const {
  const Path::Point street{leg.junction, leg.heading, 0};
  return street.position + street.Forward() * (station - leg.end) + street.Right() * right;
}

void Planner::Add(ObjectClass object_class, size_t shape, const Where& where) {
  std::vector<double> x, y, heading;
  for (double time = kBegin; time <= seconds_ + 0.8; time += kKnot) {
    const Path::Point at = where(time);
    x.push_back(at.position.x());
    y.push_back(at.position.y());
    heading.push_back(at.heading);
  }
  Mover& mover = movers_.emplace_back();
  mover.object_class = object_class;
  mover.shape = shape;
  mover.tint = object_class == ObjectClass::kVehicle ? Paint(random_) : Clothes(random_);
  mover.x = Spline(kBegin, kKnot, Smoothed(std::move(x), 1));
  mover.y = Spline(kBegin, kKnot, Smoothed(std::move(y), 1));
  mover.heading = Spline(kBegin, kKnot, Smoothed(std::move(heading), 2));
}

void Planner::AddPerson(double speed, const Where& where) {
  Add(ObjectClass::kPerson, kVehicleShapes + static_cast<size_t>(random_.ScaledBelow(kPeople)) * kSteps, where);
  movers_.back().stride_m = 1.45;
  movers_.back().speed_mps = speed;
}

void Planner::Oncoming(double gap_s) {
  for (const double street : {kInnerLane, kOuterLane}) {
    if (bends_ && street == kOuterLane) continue;  // too tight a bend for them
    const double speed = random_.Uniform(7, 10.5), lateral = -(lane_ + street);
    const double last = drive_.Station(seconds_) + speed * seconds_ + 80;
    for (double start = random_.Uniform(15, 40); start < last;) {
      AddVehicle([&](double time) { return OnRoute(start - speed * time, lateral, true); });
      start += std::max(15.0, gap_s * (speed + 8) * random_.Uniform(0.4, 1.6));
    }
  }
}

void Planner::Beside(int count) {
  const double reach = random_.Uniform(8, 16), period = random_.Uniform(11, 18), phase = random_.Uniform(0, 6);
  double base = -10.0 - 6.5 * count;
  for (int i = 0; i < 2 * count; ++i) {
    Add(ObjectClass::kVehicle, random_.Chance(0.1) ? VehicleShape() : CarShape(), [&](double time) {
      const double drift = reach * SinCos(2 * std::numbers::pi * time / period + phase).sine;
      return OnRoute(drive_.Station(time) + base + drift, kInnerLane - lane_, false);
    });
    base += random_.Uniform(12.5, 16);
  }
}

void Planner::Leader() {
  std::vector<double> gaps;
  double gap = random_.Uniform(9, 14);
  for (double time = kBegin; time < seconds_ + 1;) {
    const bool close = random_.Chance(0.75);
    const double stay = random_.Uniform(3, 8), towards = close ? random_.Uniform(8, 12) : random_.Uniform(25, 45);
    for (double end = time + stay; time < end; time += kKnot) {
      gap += std::clamp(towards - gap, -5 * kKnot, 4 * kKnot);
      gaps.push_back(gap);
    }
  }
  const Spline spline(kBegin, kKnot, Smoothed(std::move(gaps), 5));
  Add(ObjectClass::kVehicle, CarShape(),
      [&](double time) { return OnRoute(drive_.Station(time) + spline.At(time), 0, false); });
  Add(ObjectClass::kVehicle, CarShape(),
      [&](double time) { return OnRoute(drive_.Station(time) + spline.At(time) + 17, 0, false); });
}

void Planner::Crossing(double chance) {
  for (const Leg& leg : route_.legs) {
    if (!Travelled(leg)) continue;
    for (const double distance : {19.0, 33.0}) {
      if (!random_.Chance(chance)) continue;
      const double station = leg.end - distance - random_.Uniform(0, 9);
      if (station < drive_.Station(0) - 30 || station > drive_.Station(seconds_)) continue;
      const double when = drive_.TimeAt(station), speed = random_.Uniform(6, 9), side = random_.Sign();
      const Path::Point street{leg.junction, leg.heading + side * std::numbers::pi / 2, 0};
      const double lane = random_.Chance(0.5) ? kInnerLane : kOuterLane;
      AddVehicle([&](double time) {
        Path::Point at = street;
        at.position += street.Forward() * (speed * (time - when)) + street.Right() * lane;
        return at;
      });
    }
  }
}

void Planner::Walkers(double per_100m) {
  for (const Leg& leg : route_.legs) {
    if (!Travelled(leg)) continue;
    const int count = static_cast<int>((leg.end - leg.begin) / 100 * per_100m + random_.Uniform());
    for (int i = 0; i < count; ++i) {
      const double station = random_.Uniform(leg.begin, leg.end), when = drive_.TimeAt(station);
      const double pavement = random_.Chance(0.65) ? 1 : -1, right = pavement * random_.Uniform(10.6, 12.6);
      const double direction = random_.Sign(), speed = random_.Uniform(0.9, 1.7);
      const double heading = leg.heading + (direction > 0 ? 0 : std::numbers::pi);
      AddPerson(speed, [&](double time) {
        return Path::Point{OnLeg(leg, station + direction * speed * (time - when), right), heading, 0};
      });
    }
  }
}

void Planner::Crossers(double per_100m) {
  constexpr double kPavement = 10.8;
  for (const Leg& leg : route_.legs) {
    if (!Travelled(leg) || leg.end - leg.begin < 45) continue;
    const int count = static_cast<int>((leg.end - leg.begin) / 100 * per_100m + random_.Uniform());
    for (int i = 0; i < count; ++i) {
      const double station = random_.Uniform(leg.begin + 18, leg.end - 18), when = drive_.TimeAt(station);
      const double direction = random_.Sign(), speed = random_.Uniform(1.1, 1.7);
      // Past the camera's lane, towards the left, or not yet there, when the camera comes.
      const double right = direction < 0 ? random_.Uniform(-4, 1.5) : random_.Uniform(-6, 0.5);
      AddPerson(speed, [&](double time) {
        const double at =
            std::clamp(right + direction * speed * (time - when), -kPavement, direction > 0 ? 1.5 : kPavement);
        return Path::Point{OnLeg(leg, station, at), leg.heading - direction * std::numbers::pi / 2, 0};
      });
    }
  }
}

void Planner::Parked(double chance) {
  for (const Leg& leg : route_.legs) {
    for (double station = leg.begin + 20; station < leg.end - 20; station += 6.2) {
      for (const double side : {-1.0, 1.0}) {
        if (!random_.Chance(chance)) continue;
        const Vector2d position = OnLeg(leg, station, side * kParking);
        Mover& mover = movers_.emplace_back();
        mover.shape = CarShape();
        mover.tint = Paint(random_);
        mover.x = Spline(0, 1, {position.x()});
        mover.y = Spline(0, 1, {position.y()});
        mover.heading = Spline(0, 1, {leg.heading + (side > 0 ? 0 : std::numbers::pi)});
      }
    }
  }
}

}  // namespace

std::vector<Mover> PlanTraffic(const Route& route, const Drive& drive, double lane, const TrafficOptions& options,
                               double seconds, uint64_t seed) {
  Planner planner(route, drive, lane, seconds, seed);
  planner.Oncoming(options.oncoming_gap_s);
  if (options.beside > 0) planner.Beside(options.beside);
  if (options.leader) planner.Leader();
  planner.Crossing(options.crossing_chance);
  planner.Walkers(options.walkers_per_100m);
  planner.Crossers(options.crossers_per_100m);
  planner.Parked(options.parked_chance);
  return planner.Take();
}

}  // namespace wharf::scene
