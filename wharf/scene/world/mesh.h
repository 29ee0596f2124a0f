// Flat convex faces with a material on them, and the few solids the world is made of. Metres; z is up.
#pragma once

#include <Eigen/Geometry>
#include <array>
#include <vector>

#include "wharf/base/random.h"
#include "wharf/scene/world/sin_cos.h"
#include "wharf/scene/world/texture.h"

namespace wharf::scene {

using Tint = Eigen::Vector3f;  // times a texel's colour, where it takes tint

struct Face {
  std::array<Eigen::Vector3f, 4> corners;  // counter-clockwise from outside
  int count = 4;
  Eigen::Vector3f normal;
  // Texture coordinates at p: (u_axis.dot(p - corners[0]) + u, v_axis.dot(p - corners[0]) + v).
  Eigen::Vector3f u_axis, v_axis;
  float u = 0, v = 0;
  Material material = Material::kPlaster;
  bool painted = false;  // takes its object's tint in place of its own
  Tint tint = Tint::Ones();
};

// How a face's picture lies on it: its upper left corner at (u, v), and so many times over its width and height.
struct Cover {
  Material material;
  float across = 1, down = 1;
  float u = 0, v = 0;
  Tint tint = Tint::Ones();
  bool painted = false;
};

struct Mesh {
  std::vector<Face> faces;
};

// From outside: its corners counter-clockwise from the lower left. Trapezoids are fine.
void AddQuad(Mesh& mesh, const std::array<Eigen::Vector3f, 4>& corners, const Cover& cover);
void AddTriangle(Mesh& mesh, const std::array<Eigen::Vector3f, 3>& corners, const Cover& cover);

// A box or a frustum: a rectangle at `bottom` and another at `top`, both along x and y.
struct Frustum {
  float x0, x1, y0, y1, bottom;
  float top_x0, top_x1, top_y0, top_y1, top;
};
Frustum Cuboid(float x0, float x1, float y0, float y1, float bottom, float top);
struct FrustumCovers {
  Cover front, back, left, right, roof;  // front: towards +x, left: towards +y
};
// Without its underside, which nobody sees.
void AddFrustum(Mesh& mesh, const Frustum& frustum, const FrustumCovers& covers);
// All sides alike; the pictures repeat every `tile` metres.
void AddBox(Mesh& mesh, const Frustum& box, Material material, float tile, const Tint& tint);
// Standing, six-sided.
void AddColumn(Mesh& mesh, float x, float y, float radius, float bottom, float top, Material material,
               const Tint& tint);
// a bumpy ball of 32 faces, as of leaves.
void AddBall(Mesh& mesh, const Eigen::Vector3f& centre, const Eigen::Vector3f& radii, Material material,
             const Tint& tint, Random& random);

// Turned by `angle` about z, and then moved.
Face Placed(const Face& face, const SineCosine& angle, const Eigen::Vector3f& by);
void AddPlaced(Mesh& mesh, const Mesh& from, const SineCosine& angle, const Eigen::Vector3f& by);

}  // namespace wharf::scene
