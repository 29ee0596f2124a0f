// Everything that stands still: a block of houses, or a park, between every four streets.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "wharf/scene/world/mesh.h"
#include "wharf/scene/world/streets.h"

namespace wharf::scene {

struct Block {
  Mesh mesh;
  Eigen::Vector3f low, high;                          // of the box around it
  std::vector<std::vector<Eigen::Vector2f>> shadows;  // on the ground, convex
};

// The block east of street `column` and north of street `row`. `sun`: towards it.
Block BuildBlock(const Streets& streets, int column, int row, uint64_t seed, const Eigen::Vector3f& sun);

}  // namespace wharf::scene
