#include "wharf/scene/world/shadow.h"

#include <algorithm>

namespace wharf::scene {
namespace {

using Eigen::Vector2f;

float Turn(const Vector2f& a, const Vector2f& b, const Vector2f& c) {
  return (b - a).x() * (c - a).y() - (b - a).y() * (c - a).x();
}

// Andrew's monotone chain (1979).
std::vector<Vector2f> ConvexHull(std::vector<Vector2f> points) {
  std::sort(points.begin(), points.end(),
            [](const Vector2f& a, const Vector2f& b) { return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y(); });
  std::vector<Vector2f> hull;
  for (int side = 0; side < 2; ++side) {
    const size_t base = hull.size();
    for (const Vector2f& point : points) {
      while (hull.size() >= base + 2 && Turn(hull[hull.size() - 2], hull.back(), point) <= 0) hull.pop_back();
      hull.push_back(point);
    }
    hull.pop_back();  // the next side begins with it
    std::reverse(points.begin(), points.end());
  }
  return hull;
}

}  // namespace

std::vector<Vector2f> ShadowOf(const std::vector<Vector2f>& corners, float height, const Eigen::Vector3f& sun) {
  const Vector2f shift = -sun.head<2>() / sun.z() * height;
  std::vector<Vector2f> points = corners;
  for (const Vector2f& corner : corners) points.push_back(corner + shift);
  return ConvexHull(std::move(points));
}

}  // namespace wharf::scene
