// What stands in the sun's way, on the ground.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace wharf::scene {

// The convex polygon that a box standing on the ground darkens. `corners`: its footprint's four; `sun`: towards it.
std::vector<Eigen::Vector2f> ShadowOf(const std::vector<Eigen::Vector2f>& corners, float height,
                                      const Eigen::Vector3f& sun);

}  // namespace wharf::scene
