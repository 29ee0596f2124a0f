// A street for tests: ground, a far wall, houses at both sides and boxes on it, with random texture, cast ray by ray.
// World: x to the right, y down, z along the street; a camera at the identity looks along it, 1.6 m over the ground.
#pragma once

#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "wharf/base/random.h"
#include "wharf/scene/scene.h"

namespace wharf::track {

struct Solid {
  Eigen::Vector3d low, high;
};

// Grey, 0 to 255, from noise in three sizes; the same everywhere on every machine.
inline double TextureAt(double u, double v, uint32_t seed) {
  const auto lattice = [seed](int64_t i, int64_t j) {
    uint64_t h = static_cast<uint64_t>(i) * kGoldenRatio ^ static_cast<uint64_t>(j) * 0xC2B2AE3D27D4EB4Fu ^ seed;
    h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9u;
    return static_cast<double>((h ^ (h >> 32)) & 0xFFFF) / 65535.0;
  };
  double value = 0;
  for (const double cell : {2.0, 0.7, 0.25}) {
    const double x = u / cell, y = v / cell;
    const auto i = static_cast<int64_t>(std::floor(x)), j = static_cast<int64_t>(std::floor(y));
    const double a = x - std::floor(x), b = y - std::floor(y);
    value += (1 - b) * ((1 - a) * lattice(i, j) + a * lattice(i + 1, j)) +
             b * ((1 - a) * lattice(i, j + 1) + a * lattice(i + 1, j + 1));
  }
  return 255 * value / 3;
}

struct Street {
  std::vector<Solid> solids;  // the ones after `still` can be moved by a test
  size_t still = 0;

  Street() {
    solids.push_back({{-60, 1.6, -50}, {60, 2, 200}});  // ground
    solids.push_back({{-60, -30, 120}, {60, 2, 125}});  // wall at the end
    for (int i = 0; i < 12; ++i) {
      const double z = 11.0 * i - 20, depth = 6 + i % 3, height = 4 + 3 * (i % 4);
      solids.push_back({{-16, -height, z}, {-6.0 - i % 2, 1.6, z + depth}});
      solids.push_back({{6.5 + i % 2, -height - 1, z + 3}, {16, 1.6, z + 3 + depth}});
    }
    solids.push_back({{-3.5, 0.2, 9}, {-2, 1.6, 12}});
    solids.push_back({{2.2, 0.4, 16}, {3.8, 1.6, 19}});
    still = solids.size();
  }
};

struct View {
  scene::Image image;
  scene::DepthMap depth;
};

struct Hit {
  double distance = std::numeric_limits<double>::infinity();  // in units of the ray
  size_t solid = 0;
  int face = 0;  // the axis that it is across
};

inline Hit Cast(const Street& street, const Eigen::Vector3d& from, const Eigen::Vector3d& ray) {
  Hit hit;
  const Eigen::Array3d inverse = ray.array().inverse();
  for (size_t i = 0; i < street.solids.size(); ++i) {
    const Eigen::Array3d a = (street.solids[i].low - from).array() * inverse;
    const Eigen::Array3d b = (street.solids[i].high - from).array() * inverse;
    int face = 0;
    const double enter = a.min(b).maxCoeff(&face), leave = a.max(b).minCoeff();
    if (enter > 0.05 && enter <= leave && enter < hit.distance) hit = {enter, i, face};
  }
  return hit;
}

inline View Render(const Street& street, const scene::Intrinsics& camera, const scene::Pose& pose) {
  View view;
  view.image = {camera.width, camera.height, {}};
  view.depth = {camera.width, camera.height, {}};
  const Eigen::Matrix3d rotation = pose.rotation.toRotationMatrix();
  for (int v = 0; v < camera.height; ++v) {
    for (int u = 0; u < camera.width; ++u) {
      const Eigen::Vector3d ray =
          rotation * Eigen::Vector3d((u - camera.cx) / camera.fx, (v - camera.cy) / camera.fy, 1);
      const Hit hit = Cast(street, pose.position, ray);
      const bool sky = !std::isfinite(hit.distance);
      double grey = 200;
      if (!sky) {
        // Texture sticks to the solid.
        const Eigen::Vector3d p = pose.position + hit.distance * ray - street.solids[hit.solid].low;
        grey = TextureAt(p[(hit.face + 1) % 3], p[(hit.face + 2) % 3], static_cast<uint32_t>(hit.solid * 3 + hit.face));
      }
      view.image.rgb.insert(view.image.rgb.end(), 3, static_cast<uint8_t>(grey));
      view.depth.metres.push_back(sky ? 0 : static_cast<float>(hit.distance));
    }
  }
  return view;
}

// 448x128, 90 degrees wide.
inline scene::Intrinsics StreetCamera() {
  return {.width = 448, .height = 128, .fx = 224, .fy = 224, .cx = 223.5, .cy = 63.5};
}

inline scene::Pose PoseAtPlace(const Eigen::Vector3d& position, double yaw = 0, double pitch = 0) {
  return {Eigen::Quaterniond(Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitY()) *
                             Eigen::AngleAxisd(pitch, Eigen::Vector3d::UnitX())),
          position};
}

}  // namespace wharf::track
