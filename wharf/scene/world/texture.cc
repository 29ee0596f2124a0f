#include "wharf/scene/world/texture.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "wharf/base/random.h"

namespace wharf::scene {
namespace {

struct Colour {
  double red, green, blue;  // of 255
  double tinted = 0;        // of 1
  Colour operator*(double by) const { return {red * by, green * by, blue * by, tinted}; }
};

Colour Blend(const Colour& a, const Colour& b, double part) {
  const auto mix = [&](double from, double to) { return from + (to - from) * part; };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue), mix(a.tinted, b.tinted)};
}

Texel Pack(const Colour& colour) {
  const auto byte = [](double value) { return static_cast<Texel>(std::clamp(value + 0.5, 0.0, 255.0)); };
  return byte(colour.red) | byte(colour.green) << 8 | byte(colour.blue) << 16 | byte(colour.tinted * 255) << 24;
}

// Value noise that repeats beyond [0, 1), in [0, 1].
class Noise {
 public:
  explicit Noise(uint64_t seed) : seed_(seed) {}

  double Smooth(double u, double v, int cells_u, int cells_v) const {
    const double x = u * cells_u, y = v * cells_v;
    const auto left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
    const auto ease = [](double t) { return t * t * (3 - 2 * t); };
    const double a = ease(x - left), b = ease(y - top);
    const auto at = [&](int i, int j) { return Cell(i, j, cells_u, cells_v); };
    return (at(left, top) * (1 - a) + at(left + 1, top) * a) * (1 - b) +
           (at(left, top + 1) * (1 - a) + at(left + 1, top + 1) * a) * b;
  }
  // Octaves from `cells` up to the texels, each `falloff` times as strong as the one before.
  double Rough(double u, double v, int cells, double falloff = 0.6) const {
    double sum = 0, weight = 1, total = 0;
    for (; cells <= Texture::kSize / 2; cells *= 2, weight *= falloff) {
      sum += weight * Smooth(u, v, cells, cells);
      total += weight;
    }
    return sum / total;
  }
  double Cell(int i, int j, int cells_u, int cells_v) const {
    const auto wrap = [](int index, int period) { return static_cast<uint64_t>((index % period + period) % period); };
    const uint64_t key = wrap(i, cells_u) | wrap(j, cells_v) << 16 | static_cast<uint64_t>(cells_u) << 32;
    return static_cast<double>(MixBits(seed_, key) >> 11) * 0x1p-53;
  }

 private:
  uint64_t seed_;
};

double Part(double x) { return x - std::floor(x); }
bool Within(double x, double low, double high) { return x >= low && x < high; }
// Brighter and darker around 1 by `strength`.
double Grain(const Noise& noise, double u, double v, int cells, double strength) {
  return 1 + strength * (noise.Rough(u, v, cells, 0.8) * 2 - 1);
}

using Draw = std::function<Colour(double u, double v, const Noise& noise)>;

Colour Asphalt(double u, double v, const Noise& noise) {
  Colour colour = Colour{98, 98, 102} * Grain(noise, u, v, 4, 0.45);
  if (noise.Smooth(u, v, 5, 5) > 0.72) colour = colour * 0.72;               // patches
  if (std::abs(noise.Rough(u, v, 3) - 0.5) < 0.006) colour = colour * 0.45;  // cracks
  if (noise.Cell(static_cast<int>(u * 128), static_cast<int>(v * 128), 128, 128) > 0.985) colour = colour * 1.6;
  return colour;
}

Colour Paving(double u, double v, const Noise& noise) {
  const double rows = 8, row = std::floor(v * rows), x = u * rows + (static_cast<int>(row) % 2) * 0.5;
  const double shade = 0.75 + 0.5 * noise.Cell(static_cast<int>(std::floor(x)), static_cast<int>(row), 8, 9);
  Colour colour = Colour{150, 143, 132} * (shade * Grain(noise, u, v, 8, 0.25));
  if (Part(x) < 0.06 || Part(v * rows) < 0.06) colour = colour * 0.5;
  return colour;
}

Colour Grass(double u, double v, const Noise& noise) {
  const Colour colour = Blend({60, 88, 36}, {124, 128, 62}, noise.Smooth(u, v, 6, 6));
  return colour * Grain(noise, u, v, 8, 0.8);
}

Colour Concrete(double u, double v, const Noise& noise) {
  Colour colour = Colour{165, 163, 158, 0.6} * Grain(noise, u, v, 3, 0.35);
  if (Part(u * 2) < 0.015 || Part(v * 2) < 0.015) colour = colour * 0.55;
  return colour;
}

Colour Brick(double u, double v, const Noise& noise) {
  const double row = std::floor(v * 16), x = u * 8 + (static_cast<int>(row) % 2) * 0.5;
  const double shade = 0.6 + 0.7 * noise.Cell(static_cast<int>(std::floor(x)), static_cast<int>(row), 8, 17);
  if (Part(x) < 0.07 || Part(v * 16) < 0.14) return Colour{176, 168, 156} * Grain(noise, u, v, 8, 0.2);
  return Colour{170, 98, 76, 0.5} * (shade * Grain(noise, u, v, 8, 0.3));
}

Colour Plaster(double u, double v, const Noise& noise) {
  Colour colour = Colour{232, 228, 220, 1} * Grain(noise, u, v, 3, 0.4);
  return colour * (1 - 0.35 * std::max(0.0, noise.Smooth(u, v, 24, 2) - 0.55));  // what the rain left
}

// Four bays by four floors. `wall`: what is around the windows.
Colour Facade(double u, double v, const Noise& noise, const Draw& wall, double width, double height, bool cross) {
  const double x = Part(u * 4), y = Part(v * 4);
  const int bay = static_cast<int>(u * 4), floor = static_cast<int>(v * 4);
  const double character = noise.Cell(bay, floor, 4, 5), left = (1 - width) / 2, top = (1 - height) / 2;
  const double inner_x = (x - left) / width, inner_y = (y - top) / height;
  if (Within(inner_x, -0.1, 1.1) && Within(inner_y, 1.0, 1.12))
    return Colour{205, 200, 190} * Grain(noise, u, v, 16, 0.2);  // sill
  if (!Within(inner_x, 0, 1) || !Within(inner_y, 0, 1)) {
    const bool ledge = y > 0.965;
    return wall(u, v, noise) * (ledge ? 0.6 : 1);
  }
  const bool frame = inner_x < 0.07 || inner_x > 0.93 || inner_y < 0.06 || inner_y > 0.94 ||
                     std::abs(inner_x - 0.5) < 0.035 || (cross && std::abs(inner_y - 0.35) < 0.03);
  if (frame) return character > 0.5 ? Colour{222, 220, 214} : Colour{84, 66, 52};
  const double sky = 0.55 + 0.6 * noise.Smooth(u, v, 10, 14);
  if (inner_y < character * 0.7) return Colour{196, 188, 170} * (0.7 + 0.3 * Part(inner_x * 6));  // a blind or curtain
  return Colour{58, 72, 88} * sky;
}

// A tile is four shops wide and one storey high.
Colour Shop(double u, double v, const Noise& noise, int style) {
  const double x = Part(u * 4);
  const int shop = static_cast<int>(u * 4);
  const auto pick = [&](int which) { return noise.Cell(shop, which + 40 * style, 4, 97); };
  const Colour sign{70 + 140 * pick(1), 60 + 130 * pick(2), 60 + 130 * pick(3)};
  if (v < 0.22) {  // the sign, with letters
    const bool letters = Within(v, 0.06, 0.17) && Within(x, 0.15, 0.85) &&
                         noise.Cell(static_cast<int>(u * 96), static_cast<int>(v * 30), 96, 31) > 0.45;
    return letters ? Colour{240, 236, 220} : sign * Grain(noise, u, v, 8, 0.15);
  }
  if (x < 0.05 || x > 0.95 || v > 0.9) return Plaster(u, v, noise) * 0.75;
  if (Within(x, 0.62, 0.84)) {
    return (Within(x, 0.65, 0.81) && Within(v, 0.3, 0.86) ? Colour{48, 52, 58} : Colour{110, 74, 50}) *
           Grain(noise, u, v, 16, 0.3);
  }
  if (std::abs(x - 0.34) < 0.01 || v > 0.84) return {70, 66, 62};
  const double goods = noise.Cell(static_cast<int>(u * 56), static_cast<int>(v * 14), 56, 15);
  if (goods > 0.62)
    return Colour{60 + 150 * pick(5), 60 + 130 * pick(6), 50 + 120 * goods} * Grain(noise, u, v, 16, 0.4);
  return Colour{62, 70, 78} * (0.6 + 0.8 * noise.Smooth(u, v, 9, 5));
}

Colour RoofTiles(double u, double v, const Noise& noise) {
  const double row = std::floor(v * 16), x = u * 16 + (static_cast<int>(row) % 2) * 0.5;
  const double shade = 0.7 + 0.5 * noise.Cell(static_cast<int>(std::floor(x)), static_cast<int>(row), 16, 17);
  return Colour{160, 92, 72, 0.7} * (shade * (1 - 0.4 * Part(v * 16)) * Grain(noise, u, v, 8, 0.2));
}

Colour Leaves(double u, double v, const Noise& noise) {
  const double leaf = noise.Rough(u, v, 12, 0.9), light = noise.Smooth(u, v, 5, 5);
  return Blend({30, 46, 20, 0.4}, {142, 164, 72, 0.8}, std::clamp((leaf - 0.3) * 2.2 + (light - 0.5) * 0.5, 0.0, 1.0));
}

Colour Bark(double u, double v, const Noise& noise) {
  return Colour{112, 92, 72} * (0.4 + 1.1 * noise.Smooth(u, v, 24, 6)) * Grain(noise, u, v, 8, 0.3);
}

// A car's side from its front to its rear, below the windows.
Colour CarSide(double u, double v, const Noise& noise) {
  for (const double wheel : {0.19, 0.8}) {
    const double x = (u - wheel) * 4.3, y = (v - 0.72) * 0.75, r = std::sqrt(x * x + y * y);
    if (r < 0.17) return Colour{150, 150, 155} * (Part(r * 14) < 0.4 ? 0.6 : 1);
    if (r < 0.31) return {30, 30, 32};
    if (r < 0.36) return {18, 18, 18};
  }
  const bool gap = std::abs(u - 0.36) < 0.006 || std::abs(u - 0.58) < 0.006 || std::abs(u - 0.72) < 0.006;
  if (gap && v < 0.85) return {40, 40, 40};
  if (v > 0.86) return {52, 52, 54};
  if (Within(v, 0.18, 0.24) && (Within(u, 0.5, 0.55) || Within(u, 0.65, 0.7))) return {200, 200, 205};  // handles
  if (u < 0.04 && v < 0.45) return {235, 235, 220};
  if (u > 0.96 && v < 0.45) return {190, 30, 26};
  return Colour{255, 255, 255, 1} * ((1.08 - 0.35 * v) * Grain(noise, u, v, 3, 0.12));
}

Colour CarEnd(double u, double v, const Noise& noise, bool rear) {
  const double side = std::min(u, 1 - u);
  if (Within(v, 0.12, 0.42) && side < 0.24 && side > 0.03) {
    if (!rear) return side < 0.13 ? Colour{250, 250, 238} : Colour{190, 195, 200};
    return Within(v, 0.22, 0.3) && side > 0.12 ? Colour{238, 190, 90} : Colour{196, 24, 22};
  }
  if (rear && Within(v, 0.42, 0.62) && Within(u, 0.36, 0.64)) {
    const bool letters = Within(v, 0.47, 0.57) && noise.Cell(static_cast<int>(u * 64), 3, 64, 8) > 0.5;
    return letters ? Colour{25, 25, 30} : Colour{240, 240, 232};
  }
  if (!rear && Within(v, 0.15, 0.4)) return Part(v * 32) < 0.5 ? Colour{26, 26, 28} : Colour{110, 110, 114};  // grille
  if (v > 0.78) return {40, 40, 42};
  if (std::abs(v - 0.66) < 0.012) return {70, 70, 70};
  return Colour{255, 255, 255, 1} * ((1.05 - 0.3 * v) * Grain(noise, u, v, 3, 0.1));
}

Colour Glass(double u, double v, const Noise& noise) {
  const double border = std::min(std::min(u, 1 - u), std::min(v, 1 - v));
  if (border < 0.07 || std::abs(u - 0.52) < 0.02) return {255, 255, 255, 1};
  return Colour{48, 58, 68} * (0.6 + 1.0 * (1 - v) * noise.Smooth(u, v, 4, 3));
}

Colour BusSide(double u, double v, const Noise& noise) {
  if (Within(v, 0.14, 0.5)) {
    if (Part(u * 8) < 0.07) return {30, 30, 32};
    const double seat = noise.Cell(static_cast<int>(u * 24), 7, 24, 8);
    return Colour{54, 66, 78} * (v > 0.38 && seat > 0.4 ? 1.7 : 0.7 + 0.6 * noise.Smooth(u, v, 12, 6));
  }
  for (const double wheel : {0.2, 0.76}) {
    const double x = (u - wheel) * 11, y = (v - 0.96) * 2.8;
    if (x * x + y * y < 0.3) return {28, 28, 30};
  }
  const bool poster = Within(v, 0.56, 0.8) && Within(u, 0.3, 0.68);
  if (poster)
    return Blend({240, 200, 60}, {40, 70, 150}, noise.Cell(static_cast<int>(u * 32), static_cast<int>(v * 18), 32, 19));
  return Colour{250, 250, 250, 1} * Grain(noise, u, v, 3, 0.12);
}

Colour TruckSide(double u, double v, const Noise& noise) {
  const bool letters = Within(v, 0.3, 0.6) && Within(u, 0.15, 0.85) &&
                       noise.Cell(static_cast<int>(u * 20), static_cast<int>(v * 14), 20, 15) > 0.5;
  if (letters) return {40, 60, 120};
  if (Part(u * 12) < 0.04) return Colour{190, 190, 190, 1} * 0.75;
  if (v > 0.93) return {36, 36, 38};
  return Colour{245, 245, 245, 1} * Grain(noise, u, v, 3, 0.2);
}

Colour Cloth(double u, double v, const Noise& noise) {
  const double fold = noise.Smooth(u, v, 10, 3),
               check = noise.Cell(static_cast<int>(u * 6), static_cast<int>(v * 8), 6, 9);
  return Colour{255, 255, 255, 1} * ((0.55 + 0.5 * fold) * (check > 0.7 ? 0.62 : 1) * Grain(noise, u, v, 8, 0.2));
}

Colour Poster(double u, double v, const Noise& noise) {
  if (u < 0.04 || u > 0.96 || v < 0.03 || v > 0.97) return {60, 60, 64};
  const int i = static_cast<int>(u * 5), j = static_cast<int>(v * 7);
  const auto pick = [&](int which) { return noise.Cell(i + 5 * which, j, 31, 9); };
  const Colour field{70 + 150 * pick(0), 70 + 130 * pick(1), 70 + 130 * pick(2)};
  const bool letters = noise.Cell(static_cast<int>(u * 40), static_cast<int>(v * 44), 40, 45) > 0.72;
  return letters ? Colour{22, 20, 24} : field * Grain(noise, u, v, 8, 0.2);
}

Colour Plain(double u, double v, const Noise& noise, const Colour& colour, double grain) {
  return colour * Grain(noise, u, v, 4, grain);
}

Colour Clouds(double u, double v, const Noise& noise) {
  const double cover = std::clamp((noise.Rough(u, v, 4, 0.55) - 0.45) * 4, 0.0, 1.0);
  return Blend({128, 166, 212}, {236, 238, 242}, cover);
}

std::vector<std::pair<Material, Draw>> Drawings() {
  const auto facade = [](Draw wall, double width, double height, bool cross) -> Draw {
    return [=](double u, double v, const Noise& n) { return Facade(u, v, n, wall, width, height, cross); };
  };
  const auto plain = [](Colour colour, double grain) -> Draw {
    return [=](double u, double v, const Noise& n) { return Plain(u, v, n, colour, grain); };
  };
  using M = Material;
  return {
      {M::kAsphalt, Asphalt},
      {M::kPaving, Paving},
      {M::kGrass, Grass},
      {M::kConcrete, Concrete},
      {M::kBrick, Brick},
      {M::kPlaster, Plaster},
      {M::kRoofTiles, RoofTiles},
      {M::kLeaves, Leaves},
      {M::kBark, Bark},
      {M::kFacadeA, facade(Plaster, 0.42, 0.55, true)},
      {M::kFacadeB, facade(Brick, 0.5, 0.6, true)},
      {M::kFacadeC, facade(Concrete, 0.86, 0.5, false)},
      {M::kFacadeD, facade(Plaster, 0.6, 0.72, false)},
      {M::kShopA, [](double u, double v, const Noise& n) { return Shop(u, v, n, 0); }},
      {M::kShopB, [](double u, double v, const Noise& n) { return Shop(u, v, n, 1); }},
      {M::kCarSide, CarSide},
      {M::kCarFront, [](double u, double v, const Noise& n) { return CarEnd(u, v, n, false); }},
      {M::kCarRear, [](double u, double v, const Noise& n) { return CarEnd(u, v, n, true); }},
      {M::kGlass, Glass},
      {M::kPaint, plain({255, 255, 255, 1}, 0.1)},
      {M::kBusSide, BusSide},
      {M::kTruckSide, TruckSide},
      {M::kCloth, Cloth},
      {M::kSkin, plain({214, 164, 132}, 0.2)},
      {M::kPoster, Poster},
      {M::kMetal, plain({130, 134, 138, 0.5}, 0.35)},
      {M::kDark, plain({34, 34, 36}, 0.3)},
      {M::kDetail, plain({128, 128, 128}, 1.0)},
      {M::kClouds, Clouds},
  };
}

}  // namespace

Texture::Texture(std::vector<Texel> texels) {
  levels_[0] = std::move(texels);
  for (size_t level = 1; level < levels_.size(); ++level) {
    const std::vector<Texel>& from = levels_[level - 1];
    const size_t size = static_cast<size_t>(kSize) >> level;
    levels_[level].resize(size * size);
    for (size_t i = 0; i < size * size; ++i) {
      const size_t at = (i / size) * 4 * size + (i % size) * 2;
      Texel& to = levels_[level][i];
      for (int shift = 0; shift < 32; shift += 8) {
        uint32_t sum = 2;
        for (const size_t one : {at, at + 1, at + 2 * size, at + 2 * size + 1}) sum += from[one] >> shift & 255;
        to |= sum / 4 << shift;
      }
    }
  }
}

std::vector<Texture> DrawTextures(uint64_t seed) {
  std::vector<std::vector<Texel>> texels(kMaterials);
  for (const auto& [material, draw] : Drawings()) {
    const Noise noise(MixBits(seed, static_cast<uint64_t>(material)));
    auto& to = texels[static_cast<size_t>(material)];
    to.reserve(Texture::kSize * Texture::kSize);
    for (int y = 0; y < Texture::kSize; ++y) {
      for (int x = 0; x < Texture::kSize; ++x) {
        to.push_back(Pack(draw((x + 0.5) / Texture::kSize, (y + 0.5) / Texture::kSize, noise)));
      }
    }
  }
  std::vector<Texture> textures;
  textures.reserve(texels.size());
  for (auto& one : texels) textures.emplace_back(std::move(one));
  return textures;
}

}  // namespace wharf::scene
