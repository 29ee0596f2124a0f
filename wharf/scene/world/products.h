// Products of vectors of three, whose terms are always added in this order: x + (y + z). Eigen adds as it suits the
// width of a processor's vectors, in this order with SSE and as (x + y) + z with NEON, and a float's last bit differs.
// Doubles come in twos with both.
#pragma once

#include <Eigen/Core>
#include <cmath>

namespace wharf::scene {

inline float Dot(const Eigen::Vector3f& a, const Eigen::Vector3f& b) {
  return a.x() * b.x() + (a.y() * b.y() + a.z() * b.z());
}
inline float SquaredNorm(const Eigen::Vector3f& a) { return Dot(a, a); }
inline float Norm(const Eigen::Vector3f& a) { return std::sqrt(Dot(a, a)); }
// REQUIRES: `a` is not zero.
inline Eigen::Vector3f Normalized(const Eigen::Vector3f& a) { return a / Norm(a); }
inline Eigen::Vector3f Times(const Eigen::Matrix3f& m, const Eigen::Vector3f& v) {
  return {Dot(m.row(0), v), Dot(m.row(1), v), Dot(m.row(2), v)};
}

}  // namespace wharf::scene
