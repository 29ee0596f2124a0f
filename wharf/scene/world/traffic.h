// Everything that moves, or could: vehicles and people.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "wharf/scene/scene.h"
#include "wharf/scene/world/drive.h"
#include "wharf/scene/world/mesh.h"

namespace wharf::scene {

struct TrafficOptions {
  double oncoming_gap_s = 6;       // between vehicles on a lane the other way
  int beside = 0;                  // vehicles on the lane beside the camera's, that pass and fall back
  bool leader = false;             // somebody drives close ahead, now and then
  double crossing_chance = 0.3;    // that something crosses at a junction as the camera comes
  double walkers_per_100m = 6;     // on the pavements
  double crossers_per_100m = 0.5;  // across the street, ahead of the camera
  double parked_chance = 0.1;      // that a bay at the kerb is taken
};

// Something that moves: along splines, or stands at their only point.
struct Mover {
  ObjectClass object_class = ObjectClass::kVehicle;
  size_t shape = 0;  // of Shapes; of a person, the first of its steps
  Tint tint = Tint::Ones();
  Spline x, y, heading;
  double stride_m = 0;  // of people: metres a cycle of their steps
  double speed_mps = 0;
};

// Meshes in their own axes: x ahead, z up, on the ground at the origin.
struct Shape {
  Mesh mesh;
  Eigen::Vector3f low, high;  // of the box around it
};
inline constexpr size_t kVehicleShapes = 5, kPeople = 4, kSteps = 8;
// Vehicles, and then each person's steps.
std::vector<Shape> BuildShapes(uint64_t seed);

std::vector<Mover> PlanTraffic(const Route& route, const Drive& drive, double lane, const TrafficOptions& options,
                               double seconds, uint64_t seed);

}  // namespace wharf::scene
