// Pictures of materials, drawn by noise and ruler from a seed: 256 x 256, repeating, with their smaller versions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace wharf::scene {

// Red, green, blue from the lowest byte up; the highest says how much of a surface's own tint the texel takes.
using Texel = uint32_t;

enum class Material : uint8_t {
  kAsphalt,
  kPaving,
  kGrass,
  kConcrete,
  kBrick,
  kPlaster,
  kFacadeA,
  kFacadeB,
  kFacadeC,
  kFacadeD,
  kShopA,
  kShopB,
  kRoofTiles,
  kLeaves,
  kBark,
  kCarSide,
  kCarFront,
  kCarRear,
  kGlass,
  kPaint,
  kBusSide,
  kTruckSide,
  kCloth,
  kSkin,
  kPoster,
  kMetal,
  kDark,
  kDetail,
  kClouds,
};
inline constexpr int kMaterials = static_cast<int>(Material::kClouds) + 1;

class Texture {
 public:
  static constexpr int kLog2Size = 8, kSize = 1 << kLog2Size;

  // `texels`: kSize * kSize, row-major.
  explicit Texture(std::vector<Texel> texels);
  // Bilinear, repeating beyond [0, 1), from the version of level 0 (full size) to kLog2Size (one texel).
  Texel Sample(float u, float v, int level) const {
    const int size = kSize >> level, mask = size - 1;
    const float x = u * static_cast<float>(size) - 0.5f, y = v * static_cast<float>(size) - 0.5f;
    const int left = Floor(x), top = Floor(y);
    const auto right_part = static_cast<uint32_t>((x - static_cast<float>(left)) * 256.0f);
    const auto lower_part = static_cast<uint32_t>((y - static_cast<float>(top)) * 256.0f);
    const Texel* at = levels_[static_cast<size_t>(level)].data();
    const Texel* upper = at + (top & mask) * size;
    const Texel* lower = at + ((top + 1) & mask) * size;
    const int x0 = left & mask, x1 = (left + 1) & mask;
    return Between(Between(upper[x0], upper[x1], right_part), Between(lower[x0], lower[x1], right_part), lower_part);
  }

 private:
  static int Floor(float x) {
    const int whole = static_cast<int>(x);
    return whole - (x < static_cast<float>(whole));
  }
  // Two channels at a time; `part` of 256 is b's.
  static Texel Between(Texel a, Texel b, uint32_t part) {
    const uint32_t rest = 256 - part;
    const uint32_t even = ((a & 0xff00ffu) * rest + (b & 0xff00ffu) * part) >> 8 & 0xff00ffu;
    const uint32_t odd = ((a >> 8 & 0xff00ffu) * rest + (b >> 8 & 0xff00ffu) * part) & 0xff00ff00u;
    return even | odd;
  }

  std::array<std::vector<Texel>, kLog2Size + 1> levels_;
};

// All of them, by Material. Some 100 ms.
std::vector<Texture> DrawTextures(uint64_t seed);

}  // namespace wharf::scene
