#include "wharf/scene/world/city.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "wharf/base/random.h"
#include "wharf/scene/world/shadow.h"
#include "wharf/scene/world/sin_cos.h"

namespace wharf::scene {
namespace {

using Eigen::Vector2f;
using Eigen::Vector3f;

constexpr float kWallTile = 3.2f;  // metres

Tint Pick(Random& random, float darkest) {
  const auto part = [&] { return static_cast<float>(random.Uniform(darkest, 1.0)); };
  // The last first, here and below: so g++ for x86-64 drew a call's arguments when networks were trained.
  const float grey = part(), blue = part(), green = part(), red = part();
  return Tint(red, green, blue) * 0.45f + Tint::Constant(grey) * 0.55f;
}

float Between(Random& random, double low, double high) { return static_cast<float>(random.Uniform(low, high)); }

// One side of a block: x along it, y inwards from the houses' fronts, so the pavement and the street are at y < 0.
class Side {
 public:
  Side(Block& block, const SineCosine& angle, const Vector3f& origin, const Vector3f& sun, Random& random)
      : block_(block), angle_(angle), origin_(origin), sun_(sun), random_(random) {}

  void House(float x0, float x1, float depth);
  void Garden(float x0, float x1, float depth);
  void Pavement(float length);

 private:
  void Storeys(float x0, float x1, float y0, float y1, float ground_floor, float height, Material facade,
               const Tint& tint);
  void Roof(float x0, float x1, float y0, float y1, float height, const Tint& tint);
  void Details(float x0, float x1, float y0, float ground_floor, float height, const Tint& tint);
  void Tree(float x, float y, float size);
  void Lamp(float x);
  void Furniture(float x);
  void Shadow(float x0, float x1, float y0, float y1, float height);
  void Finish() {
    AddPlaced(block_.mesh, mesh_, angle_, origin_);
    mesh_.faces.clear();
  }

  Block& block_;
  const SineCosine angle_;
  const Vector3f origin_;
  const Vector3f sun_;
  Random& random_;
  Mesh mesh_;
};

void Side::Shadow(float x0, float x1, float y0, float y1, float height) {
  std::vector<Vector2f> corners;
  const auto cosine = static_cast<float>(angle_.cosine), sine = static_cast<float>(angle_.sine);
  for (const auto& [x, y] : {std::pair{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}) {
    corners.emplace_back(cosine * x - sine * y + origin_.x(), sine * x + cosine * y + origin_.y());
  }
  block_.shadows.push_back(ShadowOf(corners, height, sun_));
}

void Side::Storeys(float x0, float x1, float y0, float y1, float ground_floor, float height, Material facade,
                   const Tint& tint) {
  const float bay = Between(random_, 2.3, 3.3), storey = Between(random_, 2.9, 3.5);
  const auto bays = [&](float width) { return std::max(1.0f, std::round(width / bay)) / 4; };
  const float storeys = std::max(1.0f, std::round((height - ground_floor) / storey)) / 4;
  const float u = static_cast<float>(random_.ScaledBelow(4)) / 4, v = static_cast<float>(random_.ScaledBelow(4)) / 4;
  const Cover front{facade, bays(x1 - x0), storeys, u, v, tint}, side{facade, bays(y1 - y0), storeys, v, u, tint};
  const Material blank = random_.Chance(0.5) ? Material::kPlaster : Material::kBrick;
  const Cover wall{blank, (y1 - y0) / kWallTile, (height - ground_floor) / kWallTile, u, v, tint};
  const Cover roof{Material::kConcrete, (x1 - x0) / 6, (y1 - y0) / 6, 0, 0, tint};
  const bool windows = random_.Chance(0.5);
  AddFrustum(mesh_, Cuboid(x0, x1, y0, y1, ground_floor, height),
             {windows ? side : wall, windows ? side : wall, front, front, roof});
  const float shops = std::max(1.0f, std::round((x1 - x0) / 4)) / 4;
  const Cover shop{random_.Chance(0.5) ? Material::kShopA : Material::kShopB, shops, 1, u, 0, tint};
  const Cover base{random_.Chance(0.5) ? Material::kConcrete : Material::kBrick,
                   (x1 - x0) / kWallTile,
                   ground_floor / kWallTile,
                   u,
                   0,
                   tint};
  const Cover below = random_.Chance(0.6) ? shop : base;
  const Cover flank{blank, (y1 - y0) / kWallTile, ground_floor / kWallTile, v, 0, tint};
  AddFrustum(mesh_, Cuboid(x0, x1, y0, y1, 0, ground_floor), {flank, flank, flank, below, roof});
}

void Side::Roof(float x0, float x1, float y0, float y1, float height, const Tint& tint) {
  if (random_.Chance(0.4)) {  // a gable
    const float ridge = height + Between(random_, 2.5, 4.5), middle = (y0 + y1) / 2, eave = 0.4f;
    const Tint tiles = Pick(random_, 0.5);
    const Cover slope{Material::kRoofTiles, (x1 - x0) / 5, 1.4f, 0, 0, tiles};
    const Vector3f left(x0, middle, ridge), right(x1, middle, ridge);
    AddQuad(mesh_, {Vector3f(x0, y0 - eave, height), Vector3f(x1, y0 - eave, height), right, left}, slope);
    AddQuad(mesh_, {Vector3f(x1, y1 + eave, height), Vector3f(x0, y1 + eave, height), left, right}, slope);
    const Cover gable{Material::kPlaster, 2, 1, 0, 0, tint};
    AddTriangle(mesh_, {Vector3f(x1, y0, height), Vector3f(x1, y1, height), right}, gable);
    AddTriangle(mesh_, {Vector3f(x0, y1, height), Vector3f(x0, y0, height), left}, gable);
    return;
  }
  const float out = 0.25f;  // a cornice, and something on the roof
  AddBox(mesh_, Cuboid(x0 - out, x1 + out, y0 - out, y1 + out, height - 0.1f, height + 0.5f), Material::kConcrete, 3,
         tint);
  const float x = Between(random_, x0 + 1, x1 - 2), y = (y0 + y1) / 2;
  AddBox(mesh_, Cuboid(x, x + 1.2f, y, y + 1.5f, height + 0.5f, height + Between(random_, 1.2, 3)), Material::kBrick, 3,
         tint);
}

void Side::Details(float x0, float x1, float y0, float ground_floor, float height, const Tint& tint) {
  if (random_.Chance(0.45)) {  // a bay window up the house
    const float width = Between(random_, 2.2, 3.2), x = Between(random_, x0 + 0.3f, x1 - width - 0.3f);
    AddBox(mesh_, Cuboid(x, x + width, y0 - 0.9f, y0, ground_floor, height - 0.8f), Material::kFacadeC, 11, tint);
  } else {
    const Tint rail = Pick(random_, 0.3);
    for (float z = ground_floor + 2.9f; z < height - 2; z += 3.1f) {
      const float x = Between(random_, x0 + 0.5f, x1 - 3.5f);
      AddBox(mesh_, Cuboid(x, x + 2.8f, y0 - 1.0f, y0, z, z + 1.0f), Material::kConcrete, 2, rail);
    }
  }
  if (random_.Chance(0.5)) {  // an awning
    const float x = Between(random_, x0, x1 - 4), z = ground_floor - 0.5f;
    const Cover cloth{Material::kCloth, 3, 1, 0, 0, Pick(random_, 0.2)};
    AddQuad(mesh_,
            {Vector3f(x, y0 - 1.5f, z - 0.7f), Vector3f(x + 3.6f, y0 - 1.5f, z - 0.7f), Vector3f(x + 3.6f, y0, z),
             Vector3f(x, y0, z)},
            cloth);
  }
  if (random_.Chance(0.6)) {  // a sign across the pavement
    const float x = Between(random_, x0 + 0.5f, x1 - 0.5f), z = Between(random_, ground_floor, ground_floor + 1.5f);
    AddBox(mesh_, Cuboid(x, x + 0.15f, y0 - 1.2f, y0 - 0.2f, z, z + 1.1f), Material::kPoster, 1.1f, Tint::Ones());
  }
}

void Side::House(float x0, float x1, float depth) {
  const float setback = random_.Chance(0.3) ? Between(random_, 0.5, 2.0) : 0;
  const float ground_floor = Between(random_, 3.3, 4.0),
              height = ground_floor + 3.1f * static_cast<float>(1 + random_.ScaledBelow(6));
  const Material facades[] = {Material::kFacadeA, Material::kFacadeB, Material::kFacadeC, Material::kFacadeD};
  const Tint tint = Pick(random_, 0.55);
  Storeys(x0, x1, setback, depth, ground_floor, height, facades[random_.ScaledBelow(4)], tint);
  Roof(x0, x1, setback, depth, height, tint);
  if (x1 - x0 > 6) Details(x0, x1, setback, ground_floor, height, tint);
  Shadow(x0, x1, setback, depth, height);
  Finish();
}

void Side::Tree(float x, float y, float size) {
  const float blue = Between(random_, 0.6, 1.1), green = Between(random_, 0.8, 1.1), red = Between(random_, 0.7, 1.25);
  const Tint leaves(red, green, blue);
  const float trunk = 1.3f + 0.9f * size, radius = 0.9f * size;
  AddColumn(mesh_, x, y, 0.09f * size, 0, trunk + 0.6f, Material::kBark, Tint::Ones());
  AddBall(mesh_, {x, y, trunk + radius}, {radius, radius, radius * 1.15f}, Material::kLeaves, leaves, random_);
  AddBall(mesh_,
          {x + Between(random_, -0.5, 0.5) * size, y + Between(random_, -0.5, 0.5) * size, trunk + 0.8f * radius},
          {radius * 0.75f, radius * 0.75f, radius * 0.6f}, Material::kLeaves, leaves, random_);
  Shadow(x - radius * 0.8f, x + radius * 0.8f, y - radius * 0.8f, y + radius * 0.8f, trunk + radius * 1.6f);
}

void Side::Garden(float x0, float x1, float depth) {
  if (random_.Chance(0.5)) {
    const Tint tint = Pick(random_, 0.6);
    AddBox(mesh_, Cuboid(x0, x1, 0.2f, 0.5f, 0, Between(random_, 0.8, 2.2)), Material::kBrick, 3, tint);
  } else {
    AddBox(mesh_, Cuboid(x0, x1, 0.2f, 1.1f, 0, Between(random_, 0.7, 1.8)), Material::kLeaves, 2, Tint::Ones());
  }
  for (float x = x0 + 1.5f; x < x1 - 1; x += Between(random_, 2.5, 6)) {
    const float size = Between(random_, 1.6, 3.4);
    Tree(x, Between(random_, 2, std::max(2.5f, depth - 1)), size);
  }
  Finish();
}

void Side::Lamp(float x) {
  const float y = -3.5f;
  AddColumn(mesh_, x, y, 0.08f, 0, 6.5f, Material::kMetal, Tint::Constant(0.5f));
  AddBox(mesh_, Cuboid(x - 0.08f, x + 0.08f, y - 1.6f, y, 6.4f, 6.52f), Material::kMetal, 2, Tint::Constant(0.5f));
  AddBox(mesh_, Cuboid(x - 0.18f, x + 0.18f, y - 2.0f, y - 1.4f, 6.25f, 6.42f), Material::kMetal, 1, Tint::Ones());
}

void Side::Furniture(float x) {
  const float y = -3.3f;
  switch (random_.ScaledBelow(5)) {
    case 0:  // an advertising column
      AddColumn(mesh_, x, y, 0.55f, 0, 3.0f, Material::kPoster, Tint::Ones());
      AddColumn(mesh_, x, y, 0.65f, 3.0f, 3.3f, Material::kMetal, Tint::Constant(0.6f));
      Shadow(x - 0.5f, x + 0.5f, y - 0.5f, y + 0.5f, 3.2f);
      break;
    case 1:  // a traffic sign
      AddColumn(mesh_, x, y, 0.04f, 0, 2.9f, Material::kMetal, Tint::Ones());
      AddBox(mesh_, Cuboid(x - 0.04f, x, y - 0.35f, y + 0.35f, 2.1f, 2.8f), Material::kPoster, 0.7f,
             Pick(random_, 0.5));
      break;
    case 2:  // a bin
      AddBox(mesh_, Cuboid(x, x + 0.6f, y, y + 0.6f, 0, 1.05f), Material::kMetal, 1, Pick(random_, 0.3));
      break;
    case 3:  // a bench
      AddBox(mesh_, Cuboid(x, x + 1.8f, y, y + 0.5f, 0.35f, 0.45f), Material::kBark, 1, Tint::Ones());
      AddBox(mesh_, Cuboid(x, x + 1.8f, y, y + 0.08f, 0.45f, 0.95f), Material::kBark, 1, Tint::Ones());
      break;
    default:  // a shelter
      AddBox(mesh_, Cuboid(x, x + 3.6f, y + 1.3f, y + 1.4f, 0, 2.4f), Material::kPoster, 1.8f, Tint::Ones());
      AddBox(mesh_, Cuboid(x - 0.2f, x + 3.8f, y - 0.2f, y + 1.5f, 2.4f, 2.55f), Material::kMetal, 2, Tint::Ones());
      Shadow(x, x + 3.6f, y, y + 1.4f, 2.4f);
  }
}

void Side::Pavement(float length) {
  const double trees = random_.Chance(0.6) ? 0.75 : 0.15;
  for (float x = 3; x < length - 3; x += Between(random_, 4.5, 8.5)) {
    if (random_.Chance(trees)) {
      Tree(x, -3.2f, Between(random_, 1.7, 2.8));
    } else if (random_.Chance(0.7)) {
      Furniture(x);
    }
  }
  for (float x = 1.5f; x < length; x += 24) Lamp(x);
  Finish();
}

void FillSide(Side& side, float length, float depth, bool park, Random& random) {
  side.Pavement(length);
  for (float x = 0; x < length - 4;) {
    const float width = std::min(Between(random, 7, 18), length - x);
    if (park || width < 5 || random.Chance(0.14)) {
      side.Garden(x, x + width, depth);
    } else {
      side.House(x, x + width, depth);
    }
    x += width + (random.Chance(0.2) ? Between(random, 1.5, 4) : 0);
  }
}

void Bound(Block& block) {
  block.low = Vector3f::Constant(1e9f);
  block.high = Vector3f::Constant(-1e9f);
  for (const Face& face : block.mesh.faces) {
    for (int i = 0; i < face.count; ++i) {
      block.low = block.low.cwiseMin(face.corners[static_cast<size_t>(i)]);
      block.high = block.high.cwiseMax(face.corners[static_cast<size_t>(i)]);
    }
  }
}

}  // namespace

Block BuildBlock(const Streets& streets, int column, int row, uint64_t seed, const Vector3f& sun) {
  Block block;
  Random random(MixBits(seed, static_cast<uint64_t>(column)), static_cast<uint64_t>(row));
  const auto x0 = static_cast<float>(streets.Line(0, column) + kFronts);
  const auto x1 = static_cast<float>(streets.Line(0, column + 1) - kFronts);
  const auto y0 = static_cast<float>(streets.Line(1, row) + kFronts);
  const auto y1 = static_cast<float>(streets.Line(1, row + 1) - kFronts);
  const float depth = std::min({Between(random, 8, 13), (x1 - x0) / 2 - 0.3f, (y1 - y0) / 2 - 0.3f});
  const bool park = random.Chance(0.12);
  const float width = x1 - x0, height = y1 - y0;
  const struct {
    double quarter_turns;
    Vector3f origin;
    float length;
  } sides[] = {{0, {x0, y0, 0}, width},
               {1, {x1, y0 + depth, 0}, height - 2 * depth},
               {2, {x1, y1, 0}, width},
               {3, {x0, y1 - depth, 0}, height - 2 * depth}};
  for (const auto& [quarter_turns, origin, length] : sides) {
    Side side(block, SinCos(quarter_turns * std::numbers::pi / 2), origin, sun, random);
    FillSide(side, length, depth, park, random);
  }
  Bound(block);
  return block;
}

}  // namespace wharf::scene
