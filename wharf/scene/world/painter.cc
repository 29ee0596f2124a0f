#include "wharf/scene/world/painter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "wharf/base/random.h"
#include "wharf/scene/world/products.h"

namespace wharf::scene {
namespace {

constexpr size_t kNoise = 1 << 16;
constexpr double kNoiseSigma = 2.0;  // of 255

// The level of a texture at which a footprint of so many texels at full size is about one.
int LevelFor(float texels) {
  const int twice = static_cast<int>(std::bit_cast<uint32_t>(texels * texels) >> 23) - 127;  // 2 log2
  return std::clamp((twice + 1) >> 1, 0, Texture::kLog2Size);
}

Tint Colour(Texel texel) {
  return {static_cast<float>(texel & 255), static_cast<float>(texel >> 8 & 255), static_cast<float>(texel >> 16 & 255)};
}

// How much of a footprint a stripe of `half` metres to both sides covers, `from` its middle.
float Stripe(float from, float half, float footprint) {
  const float within = (half - std::abs(from)) / std::max(footprint, 0.02f) + 0.5f;
  return std::clamp(within, 0.0f, 1.0f) * std::min(1.0f, 2 * half / footprint);
}

float Repeat(float x, float period) { return x - period * std::floor(x / period); }

}  // namespace

// A point of a surface: where, and how wide a sample is there, in units of u and v.
struct Painter::Spot {
  float u, v, z, footprint;
};

Painter::Painter(const Streets& streets, const Weather& weather, uint64_t seed)
    : streets_(streets), weather_(weather), textures_(DrawTextures(MixBits(seed, 41))) {
  Random random(seed, 42);
  noise_.reserve(kNoise);
  for (size_t i = 0; i < kNoise; ++i)
    noise_.push_back(static_cast<int8_t>(std::floor(random.Normal() * kNoiseSigma + 0.5)));
}

Tint Painter::Look(Material material, float u, float v, float texels, const Tint& tint) const {
  const Texel texel = textures_[static_cast<size_t>(material)].Sample(u, v, LevelFor(texels));
  const float tinted = static_cast<float>(texel >> 24) * (1.0f / 255);
  return Colour(texel).cwiseProduct(Tint::Ones() + (tint - Tint::Ones()) * tinted);
}

float Painter::Detail(float u, float v, float texels) const {
  const Texel texel = textures_[static_cast<size_t>(Material::kDetail)].Sample(u, v, LevelFor(texels));
  return static_cast<float>(texel & 255) * (1.0f / 128);  // it is grey
}

Tint Painter::Covered(const Surface& surface, const Spot& spot) const {
  const float texels = spot.footprint * Texture::kSize;
  const float detail = Detail(spot.u * 3.7f, spot.v * 3.7f, texels * 3.7f);
  return Look(surface.material, spot.u, spot.v, texels, surface.tint).cwiseProduct(surface.light) *
         (0.45f + 0.55f * detail);
}

Tint Painter::Markings(const Tint& road, const Spot& spot, float from_x, float from_y) const {
  const auto kerb = static_cast<float>(kKerb);
  const bool north = std::abs(from_x) < kerb, east = std::abs(from_y) < kerb;
  if (north == east) return road;  // a junction
  const float across = std::abs(north ? from_x : from_y), along = north ? spot.v : spot.u;
  const float to_junction = std::abs(north ? from_y : from_x) - kerb, wide = spot.footprint;
  float paint = 0;
  if (to_junction < 5.5f) {
    if (to_junction > 1.2f && to_junction < 4.2f && across < 7)
      paint = Stripe(Repeat(across, 1.0f) - 0.5f, 0.26f, wide);  // crossing
    if (to_junction > 4.9f && across < 7) paint = 1;             // stop line
  } else {
    const float dash = Stripe(Repeat(along, 9.0f) - 4.5f, 1.6f, wide);
    paint = std::max({Stripe(across - 0.16f, 0.06f, wide), dash * Stripe(across - 3.5f, 0.07f, wide),
                      Stripe(across - 7.0f, 0.07f, wide)});
    if (across > 7) paint = std::max(paint, Stripe(Repeat(along, 6.2f) - 3.1f, 0.05f, wide));  // bays
  }
  const float worn = 0.75f * paint;
  return road * (1 - worn) + Tint(214, 212, 204) * worn;
}

Tint Painter::Ground(const Spot& spot, float shadow) const {
  const float from_x = streets_.Offset(0, spot.u), from_y = streets_.Offset(1, spot.v);
  const float beyond_x = std::abs(from_x) - static_cast<float>(kKerb),
              beyond_y = std::abs(from_y) - static_cast<float>(kKerb);
  float beyond = std::min(beyond_x, beyond_y);  // the kerb, in metres
  const float radius = kCornerRadius;
  if (beyond > 0 && beyond_x < radius && beyond_y < radius) {
    beyond = radius - std::sqrt((radius - beyond_x) * (radius - beyond_x) + (radius - beyond_y) * (radius - beyond_y));
  }
  const float texels = spot.footprint * Texture::kSize;
  const auto look = [&](Material material, float tile) {
    return Look(material, spot.u / tile, spot.v / tile, texels / tile, Tint::Ones());
  };
  Tint colour;
  if (beyond < 0) {
    colour = Markings(look(Material::kAsphalt, 7), spot, from_x, from_y);
  } else if (beyond < 0.25f) {
    colour = look(Material::kConcrete, 3);
  } else {
    colour = look(beyond < 4.2f ? Material::kPaving : Material::kGrass, 5);
  }
  const float detail = 0.4f + 0.6f * Detail(spot.u / 1.9f, spot.v / 1.9f, texels / 1.9f);
  const float stains = 0.6f + 0.4f * Detail(spot.u / 31, spot.v / 31, texels / 31);
  const Tint light = weather_.skylight + weather_.sunlight * (weather_.sun.z() * (1 - shadow));
  return colour.cwiseProduct(light) * (detail * stains);
}

Tint Painter::Sky(const Rasterizer& seen, float x, float y) const {
  const View& view = seen.Viewed();
  const Eigen::Vector3f ray((x - static_cast<float>(view.camera.cx)) / static_cast<float>(view.camera.fx),
                            (y - static_cast<float>(view.camera.cy)) / static_cast<float>(view.camera.fy), 1);
  const Eigen::Vector3f ahead = Normalized(Times(view.to_camera.transpose(), ray));
  const float level = std::sqrt(ahead.x() * ahead.x() + ahead.y() * ahead.y());
  const float hills = 0.09f * Detail(ahead.x() / level * 0.21f, ahead.y() / level * 0.21f, 2) - 0.045f;
  if (ahead.z() < hills * level) {
    return weather_.haze * 0.82f * (0.9f + 0.1f * Detail(ahead.x() * 2, ahead.z() * 9 + ahead.y(), 2));
  }
  const float height = std::max(ahead.z(), 0.02f), scale = 0.12f / (height + 0.05f);
  const Tint clouds = Look(Material::kClouds, ahead.x() * scale, ahead.y() * scale, 1.0f, Tint::Ones());
  const float clear = height / (height + 0.12f);
  return weather_.haze * (1 - clear) + clouds * clear;
}

Tint Painter::At(const Rasterizer& seen, uint32_t number, float x, float y, float shadow) const {
  if (number == kSkySurface) return Sky(seen, x, y);
  const Surface& surface = seen.At(number);
  const auto along = [&](const Eigen::Vector3f& of) { return of.x() * x + of.y() * y + of.z(); };
  const Eigen::Vector3f& inverse = surface.inverse_depth;
  const float z = 1 / std::max(along(inverse), 1e-5f);
  const float u = along(surface.u_numerator) * z, v = along(surface.v_numerator) * z;
  // The change of u and v from one sample to the next.
  const float ux = surface.u_numerator.x() - u * inverse.x(), uy = surface.u_numerator.y() - u * inverse.y();
  const float vx = surface.v_numerator.x() - v * inverse.x(), vy = surface.v_numerator.y() - v * inverse.y();
  const float area = std::abs(ux * vy - uy * vx), longest = std::max(ux * ux + vx * vx, uy * uy + vy * vy);
  // Between the footprint's mean and its longer side: neither flickering nor a blur.
  const float footprint = z * kSamples * std::sqrt(std::sqrt(area * longest));
  const Spot spot{u + surface.u, v + surface.v, z, footprint};
  const Tint colour = number == kGroundSurface ? Ground(spot, shadow) : Covered(surface, spot);
  const float far = z / weather_.visibility, hazy = far * far / (1 + far * far);
  return colour * (1 - hazy) + weather_.haze * hazy;
}

Image Painter::Paint(const Rasterizer& seen, const Exposure& exposure) const {
  const int width = seen.Viewed().camera.width / kSamples, height = seen.Viewed().camera.height / kSamples;
  const size_t row = static_cast<size_t>(width) * kSamples;
  Image image{width, height, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)};
  for (int y = 0; y < height; ++y) {
    const size_t noise = MixBits(exposure.noise_seed, static_cast<uint64_t>(y));
    for (int x = 0; x < width; ++x) {
      const size_t first = static_cast<size_t>(y) * kSamples * row + static_cast<size_t>(x) * kSamples;
      const std::array<size_t, 4> samples = {first, first + 1, first + row, first + row + 1};
      std::array<uint32_t, 4> numbers;
      float shadow = 0;
      for (size_t i = 0; i < 4; ++i) {
        numbers[i] = seen.SurfaceNumbers()[samples[i]];
        shadow += 0.25f * seen.Shadows()[samples[i]];
      }
      const auto left = static_cast<float>(x * kSamples), top = static_cast<float>(y * kSamples);
      Tint colour;
      if (numbers[0] == numbers[1] && numbers[0] == numbers[2] && numbers[0] == numbers[3]) {
        colour = At(seen, numbers[0], left + 0.5f, top + 0.5f, shadow);
      } else {
        colour = Tint::Zero();
        for (size_t i = 0; i < 4; ++i) {
          colour +=
              0.25f * At(seen, numbers[i], left + static_cast<float>(i % 2), top + static_cast<float>(i / 2), shadow);
        }
      }
      uint8_t* to = &image.rgb[(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3];
      for (int channel = 0; channel < 3; ++channel) {
        const auto grain = noise_[(noise + static_cast<size_t>(x * 3 + channel)) % kNoise];
        const float value = colour[channel] * exposure.gain + static_cast<float>(grain) + 0.5f;
        to[channel] = static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
      }
    }
  }
  return image;
}

}  // namespace wharf::scene
