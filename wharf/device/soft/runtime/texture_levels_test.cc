// Fetches among the levels of mipmapped arrays.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "wharf/device/soft/runtime/texture.h"

namespace wharf::device::soft {
namespace {

constexpr ChannelFormat kOneSingle{ChannelKind::kFloat, 32, 1};

// Texels of level l are 100 * l and up, in 16 x 8 x layers.
struct LevelledTexture {
  LevelledTexture(FilterMode between, float bias = 0, float lowest = 0, float highest = 100) : memory(4096) {
    const auto begin = reinterpret_cast<DeviceAddress>(memory.data());
    described.image = {.kind = ImageKind::kArray, .format = kOneSingle, .width = 16, .height = 8};
    described.image.base = (begin + kTextureAlignment - 1) / kTextureAlignment * kTextureAlignment;
    LayOutArray(&described.image);
    described.normalized_coordinates = true;
    described.mipmap = {.levels = 5, .filter = between, .bias = bias, .lowest = lowest, .highest = highest};
    for (uint32_t level = 0; level < 5; ++level) {
      const ImageDescription at = LevelOf(described.image, level);
      for (uint32_t y = 0; y < at.height; ++y) {
        auto* row = reinterpret_cast<float*>(at.base + y * at.row_pitch);
        for (uint32_t x = 0; x < at.width; ++x) row[x] = 100 * level + static_cast<float>(y * at.width + x);
      }
    }
  }
  float At(float x, float y, float level) const {
    const auto u = std::bit_cast<uint32_t>(x), v = std::bit_cast<uint32_t>(y);
    return std::bit_cast<float>(
        FetchTexel(MakeImage(described), {.geometry = ImageGeometry::k2D}, 0, u, v, 0, level)[0]);
  }
  std::vector<float> memory;
  TextureDescription described;
};

TEST(TextureLevels, EachHasItsTexels) {
  const LevelledTexture levels(FilterMode::kPoint);
  for (uint32_t level = 0; level < 5; ++level) {
    const uint32_t width = 16 >> level, height = std::max(1, 8 >> level);
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        const float u = (static_cast<float>(x) + 0.5F) / static_cast<float>(width);
        const float v = (static_cast<float>(y) + 0.5F) / static_cast<float>(height);
        EXPECT_EQ(levels.At(u, v, static_cast<float>(level)), 100 * level + static_cast<float>(y * width + x));
      }
    }
  }
}

// The nearest level, or the weighted mean of two, at the level that is asked for with its bias and within the bounds.
RC_GTEST_PROP(TextureLevelsProperty, AreChosenAndMixed, ()) {
  const auto quarter = [](int from, int to) { return static_cast<float>(*rc::gen::inRange(from, to)) / 4; };
  const float bias = quarter(-8, 8), lowest = quarter(-4, 20), highest = quarter(-4, 24), wanted = quarter(-20, 40);
  const bool linear = *rc::gen::arbitrary<bool>();
  const float u = static_cast<float>(*rc::gen::inRange(0, 64)) / 64 + 1.F / 128, v = 0.3F;
  const LevelledTexture levels(linear ? FilterMode::kLinear : FilterMode::kPoint, bias, lowest, highest);
  const LevelledTexture plain(FilterMode::kPoint);
  const float at = std::clamp(std::min(std::max(wanted + bias, lowest), highest), 0.F, 4.F);
  const float below = std::floor(at), above = std::min(below + 1, 4.F), weight = at - below;
  const float expected = !linear ? plain.At(u, v, std::floor(at + 0.5F))
                                 : (1 - weight) * plain.At(u, v, below) + weight * plain.At(u, v, above);
  RC_ASSERT(std::fabs(levels.At(u, v, wanted) - expected) <= 1e-4F * (1 + std::fabs(expected)));
}

TEST(TextureLevels, AnyLevelIsTaken) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const FilterMode between : {FilterMode::kPoint, FilterMode::kLinear}) {
    const LevelledTexture levels(between);
    EXPECT_EQ(levels.At(0, 0, kInfinity), 400);
    EXPECT_EQ(levels.At(0, 0, 3e38F), 400);
    EXPECT_EQ(levels.At(0, 0, -kInfinity), 0);
    EXPECT_EQ(levels.At(0, 0, std::numeric_limits<float>::quiet_NaN()), 0);
    EXPECT_EQ(LevelledTexture(between, kInfinity).At(0, 0, -kInfinity), 0);
    EXPECT_EQ(LevelledTexture(between, 0, kInfinity, -kInfinity).At(0, 0, 3), 0);
    EXPECT_EQ(LevelledTexture(between, 0, 3, 2).At(0, 0, 0), 200);  // the upper bound holds
  }
}

TEST(TextureLevels, GradientsAreCountedInTexels) {
  const LevelledTexture levels(FilterMode::kPoint);
  const Image image = MakeImage(levels.described);
  const auto level = [&](ImageGeometry geometry, const Gradient& at, const Gradient& dx, const Gradient& dy) {
    return LevelByGradients(image, {.geometry = geometry}, at, dx, dy);
  };
  EXPECT_EQ(level(ImageGeometry::k2D, {}, {1.F / 16, 0, 9}, {0, 1.F / 8, 9}), 0);
  EXPECT_EQ(level(ImageGeometry::k2D, {}, {1.F / 16, 0, 0}, {0, 0.5F, 0}), 2);
  EXPECT_EQ(level(ImageGeometry::k2D, {}, {0, 0, 0}, {8.F / 16, 0, 0}), 3);
  EXPECT_NEAR(level(ImageGeometry::k2D, {}, {3.F / 16, 4.F / 8, 0}, {}), std::log2(5), 1e-6);
  EXPECT_EQ(level(ImageGeometry::k1D, {}, {4.F / 16, 7, 7}, {}), 2);
  EXPECT_EQ(level(ImageGeometry::k2D, {}, {}, {}), -std::numeric_limits<float>::infinity());
}

// A step on a cube is as long as the way from face coordinate to face coordinate, for small steps.
TEST(TextureLevels, GradientsOnCubesAreThoseOfTheirFaces) {
  ImageDescription described{.kind = ImageKind::kArray, .format = kOneSingle, .width = 64, .height = 64, .depth = 6};
  described.cubemap = true;
  LayOutArray(&described);
  const Image image = MakeImage(TextureDescription{.image = described});
  const TextureFetch fetch{.geometry = ImageGeometry::kCube};
  // On face +z: s = x / z, t = -y / z; a face is 64 texels for two units.
  EXPECT_NEAR(LevelByGradients(image, fetch, {0.2F, 0.1F, 2}, {4.F / 32, 0, 0}, {}), 1, 1e-6);
  EXPECT_NEAR(LevelByGradients(image, fetch, {0, 0, -2}, {}, {0, 8.F / 32, 0}), 2, 1e-6);
  // Along the direction nothing moves; away from the centre everything does.
  EXPECT_LT(LevelByGradients(image, fetch, {1, 2, 3}, {0.1F, 0.2F, 0.3F}, {}), -10);
  EXPECT_NEAR(LevelByGradients(image, fetch, {1, 0, 2}, {0, 0, 0.5F}, {}), std::log2(0.5 * 1 / 4 * 32), 1e-6);
}

TEST(TextureLevels, AreCounted) {
  const Image image = MakeImage(LevelledTexture(FilterMode::kPoint).described);
  EXPECT_EQ(QueryImage(image, ImageQuery::kLevels), 5u);
  EXPECT_EQ(QueryImage(image, ImageQuery::kWidth), 16u);
}

}  // namespace
}  // namespace wharf::device::soft
