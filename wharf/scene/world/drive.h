// Where the camera goes: a way through the town, how fast along it, and where it looks.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "wharf/scene/scene.h"
#include "wharf/scene/world/path.h"
#include "wharf/scene/world/streets.h"

namespace wharf::scene {

// A stretch of the way along one street, and the junction at its end.
struct Leg {
  double begin, end;         // along the way, in metres; a turn's arc belongs half to each
  Eigen::Vector2d middle;    // a point on the street's middle
  double heading;            // of the street, in the direction of travel
  Eigen::Vector2d junction;  // where it ends
};

struct Route {
  Path path;
  std::vector<Leg> legs;
};

struct RouteOptions {
  double lane = 0;                // metres right of the streets' middles
  double turns_per_junction = 0;  // the chance of one
  int most_turns = 1000;
  double metres = 0;  // it is at least as long
};
// From the middle junction on.
Route PlanRoute(const Streets& streets, const RouteOptions& options, uint64_t seed);

struct DriveOptions {
  double cruise_mps = 10;
  bool glances = false;  // the head turns to the sides, again and again
};

// The camera's motion, twice continuously differentiable; from -1 s on, and then for ever at rest.
class Drive {
 public:
  Drive(const Route& route, const DriveOptions& options, double seconds, uint64_t seed);

  Pose PoseAt(double time_s) const;
  Eigen::Vector3d Velocity(double time_s) const;                       // in the world
  Eigen::Vector3d Acceleration(double time_s) const;                   // in the world
  Eigen::Vector3d AngularVelocity(double time_s) const;                // in the camera's axes
  double Station(double time_s) const { return station_.At(time_s); }  // metres along the route
  double TimeAt(double station) const;                                 // the inverse, within the drive

 private:
  double seconds_;
  Spline station_, x_, y_, z_, yaw_, pitch_, roll_;
};

}  // namespace wharf::scene
