// Colours for what the rasterizer found: materials, markings on the streets, light, haze, and what a sensor does.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "wharf/scene/scene.h"
#include "wharf/scene/world/products.h"
#include "wharf/scene/world/rasterizer.h"
#include "wharf/scene/world/streets.h"
#include "wharf/scene/world/texture.h"

namespace wharf::scene {

// Samples of the rasterizer's picture along each axis of a pixel of the painter's.
inline constexpr int kSamples = 2;
inline constexpr float kHorizon = 900;  // metres; beyond is sky

struct Weather {
  Eigen::Vector3f sun;  // towards it, of length 1
  Tint sunlight, skylight, haze;
  float visibility = 300;  // metres at which half of what is seen is haze
};
// Light that falls on a face.
inline Tint LightOn(const Weather& weather, const Eigen::Vector3f& normal) {
  const float facing = Dot(normal, weather.sun);
  return weather.skylight * (0.9f + 0.1f * normal.z()) + weather.sunlight * (facing > 0 ? facing : 0);
}

// What one exposure does to a picture.
struct Exposure {
  float gain = 1;
  uint64_t noise_seed = 0;
};

// Safe to use from several threads at once.
class Painter {
 public:
  Painter(const Streets& streets, const Weather& weather, uint64_t seed);
  // `seen` has kSamples times the picture's width and height.
  Image Paint(const Rasterizer& seen, const Exposure& exposure) const;

 private:
  struct Spot;
  Tint At(const Rasterizer& seen, uint32_t number, float x, float y, float shadow) const;
  Tint Sky(const Rasterizer& seen, float x, float y) const;
  Tint Ground(const Spot& spot, float shadow) const;
  Tint Covered(const Surface& surface, const Spot& spot) const;
  Tint Look(Material material, float u, float v, float texels, const Tint& tint) const;
  Tint Markings(const Tint& road, const Spot& spot, float from_x, float from_y) const;
  float Detail(float u, float v, float texels) const;

  const Streets& streets_;
  const Weather weather_;
  const std::vector<Texture> textures_;
  std::vector<int8_t> noise_;
};

}  // namespace wharf::scene
