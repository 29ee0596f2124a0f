// Vehicles and people, of boxes and frustums.
#include <numbers>

#include "wharf/base/random.h"
#include "wharf/scene/world/sin_cos.h"
#include "wharf/scene/world/traffic.h"

namespace wharf::scene {
namespace {

using Eigen::Vector3f;

Cover Once(Material material) { return {material, 1, 1, 0, 0, Tint::Ones(), true}; }
Cover Mirrored(Material material) { return {material, -1, 1, 1, 0, Tint::Ones(), true}; }

void AddWheels(Mesh& mesh, float front, float back, float half_width, float radius) {
  for (const float x : {front, back}) {
    for (const float side : {-1.0f, 1.0f}) {
      const float y0 = side > 0 ? half_width - 0.24f : -half_width + 0.02f;
      AddBox(mesh, Cuboid(x - radius, x + radius, y0, y0 + 0.22f, 0, radius), Material::kDark, 1, Tint::Ones());
    }
  }
}

// Pictures of a side begin at the front, which is on the right of the left side as seen from outside.
void AddBody(Mesh& mesh, const Frustum& body, Material side) {
  AddFrustum(mesh, body,
             {Once(Material::kCarFront), Once(Material::kCarRear), Once(side), Mirrored(side), Once(Material::kPaint)});
}

Mesh Car(float length, float width, float hood, float height, float cabin_front, float cabin_back) {
  Mesh mesh;
  const float x = length / 2, y = width / 2;
  AddWheels(mesh, x * 0.62f, -x * 0.6f, y, 0.31f);
  AddBody(mesh, Cuboid(-x, x, -y, y, 0.2f, hood), Material::kCarSide);
  const Frustum cabin{cabin_back,         cabin_front,         -y + 0.05f, y - 0.05f, hood,
                      cabin_back + 0.35f, cabin_front - 0.65f, -y + 0.2f,  y - 0.2f,  height};
  const Cover glass = Once(Material::kGlass);
  AddFrustum(mesh, cabin, {glass, glass, glass, glass, Once(Material::kPaint)});
  for (const float side : {-1.0f, 1.0f}) {  // mirrors
    const float at = side * (y + 0.08f);
    AddBox(mesh, Cuboid(cabin_front - 0.45f, cabin_front - 0.3f, at - 0.09f, at + 0.09f, hood, hood + 0.16f),
           Material::kDark, 1, Tint::Ones());
  }
  return mesh;
}

Mesh Bus() {
  Mesh mesh;
  AddWheels(mesh, 3.3f, -3.0f, 1.25f, 0.45f);
  AddBody(mesh, Cuboid(-5.5f, 5.5f, -1.25f, 1.25f, 0.3f, 3.05f), Material::kBusSide);
  const Cover glass = Once(Material::kGlass);  // lies on the ends, a finger's breadth out
  AddFrustum(mesh, Cuboid(-5.53f, 5.53f, -1.1f, 1.1f, 1.5f, 2.8f), {glass, glass, glass, glass, glass});
  return mesh;
}

Mesh Truck() {
  Mesh mesh;
  AddWheels(mesh, 2.6f, -2.2f, 1.15f, 0.45f);
  AddFrustum(mesh, Cuboid(-3.8f, 1.6f, -1.2f, 1.2f, 0.7f, 3.3f),
             {Once(Material::kTruckSide), Once(Material::kTruckSide), Once(Material::kTruckSide),
              Once(Material::kTruckSide), Once(Material::kPaint)});
  AddFrustum(mesh, Cuboid(-3.8f, 3.3f, -1.0f, 1.0f, 0.4f, 0.7f),
             {Once(Material::kDark), Once(Material::kCarRear), Once(Material::kDark), Once(Material::kDark),
              Once(Material::kDark)});
  AddBody(mesh, Cuboid(1.75f, 3.6f, -1.1f, 1.1f, 0.45f, 1.4f), Material::kPaint);
  const Cover glass = Once(Material::kGlass);
  AddFrustum(mesh, {1.75f, 3.6f, -1.1f, 1.1f, 1.4f, 1.75f, 3.3f, -1.05f, 1.05f, 2.4f},
             {glass, glass, glass, glass, Once(Material::kPaint)});
  return mesh;
}

// `swing`: of the legs, from -1 to 1.
Mesh Person(float height, float girth, const Tint& trousers, float swing) {
  Mesh mesh;
  const float hip = 0.5f * height, shoulder = 0.83f * height, half = 0.21f * girth;
  for (const float side : {-1.0f, 1.0f}) {
    const float foot = 0.28f * swing * side, y0 = side > 0 ? 0.02f : -0.17f * girth,
                y1 = side > 0 ? 0.17f * girth : -0.02f;
    const Frustum leg{foot - 0.09f, foot + 0.12f, y0, y1, 0, -0.1f, 0.1f, y0, y1, hip};
    const Cover cloth{Material::kCloth, 0.5f, 1, 0, 0, trousers};
    AddFrustum(mesh, leg, {cloth, cloth, cloth, cloth, cloth});
    const float hand = -0.3f * swing * side, arm0 = side > 0 ? half : -half - 0.1f;
    const Cover sleeve = Once(Material::kCloth);
    AddFrustum(mesh,
               {hand - 0.05f, hand + 0.05f, arm0, arm0 + 0.1f, hip - 0.05f, -0.06f, 0.06f, arm0, arm0 + 0.1f, shoulder},
               {sleeve, sleeve, sleeve, sleeve, sleeve});
  }
  const Cover shirt = Once(Material::kCloth);
  AddFrustum(
      mesh,
      {-0.12f * girth, 0.13f * girth, -half * 0.85f, half * 0.85f, hip - 0.04f, -0.11f, 0.11f, -half, half, shoulder},
      {shirt, shirt, shirt, shirt, shirt});
  const Cover skin{Material::kSkin, 0.3f, 0.3f, 0, 0, Tint::Ones()},
      hair{Material::kDark, 0.3f, 0.3f, 0, 0, Tint::Ones()};
  AddFrustum(mesh, Cuboid(-0.1f, 0.1f, -0.08f, 0.08f, shoulder, height - 0.06f), {skin, hair, skin, skin, hair});
  AddFrustum(mesh, Cuboid(-0.11f, 0.07f, -0.09f, 0.09f, height - 0.07f, height), {hair, hair, hair, hair, hair});
  return mesh;
}

Shape Bounded(Mesh mesh) {
  Shape shape{std::move(mesh), Vector3f::Constant(1e9f), Vector3f::Constant(-1e9f)};
  for (const Face& face : shape.mesh.faces) {
    for (const Vector3f& corner : face.corners) {
      shape.low = shape.low.cwiseMin(corner);
      shape.high = shape.high.cwiseMax(corner);
    }
  }
  return shape;
}

}  // namespace

std::vector<Shape> BuildShapes(uint64_t seed) {
  Random random(seed, 21);
  std::vector<Shape> shapes;
  shapes.push_back(Bounded(Car(4.3f, 1.78f, 0.88f, 1.45f, 1.05f, -1.75f)));  // a saloon
  shapes.push_back(Bounded(Car(3.9f, 1.72f, 0.95f, 1.52f, 1.0f, -1.93f)));   // a hatchback
  shapes.push_back(Bounded(Car(4.9f, 1.95f, 1.15f, 2.15f, 1.75f, -2.43f)));  // a van
  shapes.push_back(Bounded(Bus()));
  shapes.push_back(Bounded(Truck()));
  for (size_t person = 0; person < kPeople; ++person) {
    const auto height = static_cast<float>(random.Uniform(1.58, 1.9)),
               girth = static_cast<float>(random.Uniform(0.9, 1.25));
    const Tint trousers = Tint::Constant(static_cast<float>(random.Uniform(0.2, 0.6)));
    for (size_t step = 0; step < kSteps; ++step) {
      const double phase = 2 * std::numbers::pi * static_cast<double>(step) / kSteps;
      shapes.push_back(Bounded(Person(height, girth, trousers, static_cast<float>(SinCos(phase).sine))));
    }
  }
  return shapes;
}

}  // namespace wharf::scene
