#include "wharf/scene/world/mesh.h"

#include <cmath>
#include <map>
#include <utility>

#include "wharf/base/random.h"
#include "wharf/scene/world/products.h"
#include "wharf/scene/world/sin_cos.h"

namespace wharf::scene {
namespace {

using Eigen::Vector3f;

Face MakeFace(const Vector3f* corners, int count, const Vector3f& across, const Vector3f& up, const Cover& cover) {
  Face face;
  for (int i = 0; i < count; ++i) face.corners[static_cast<size_t>(i)] = corners[i];
  face.count = count;
  face.normal = Normalized((corners[1] - corners[0]).cross(corners[count - 1] - corners[0]));
  const float width = Norm(across), height = Norm(up);
  face.u_axis = across / (width * width) * cover.across;
  face.v_axis = -up / (height * height) * cover.down;
  face.u = cover.u;
  face.v = cover.v + cover.down;
  face.material = cover.material;
  face.tint = cover.tint;
  face.painted = cover.painted;
  return face;
}

}  // namespace

void AddQuad(Mesh& mesh, const std::array<Vector3f, 4>& corners, const Cover& cover) {
  const Vector3f across = corners[1] - corners[0];
  Vector3f up = (corners[2] + corners[3] - corners[1] - corners[0]) / 2;
  up -= across * (Dot(across, up) / SquaredNorm(across));  // a trapezoid's picture is not sheared
  mesh.faces.push_back(MakeFace(corners.data(), 4, across, up, cover));
}

void AddTriangle(Mesh& mesh, const std::array<Vector3f, 3>& corners, const Cover& cover) {
  const Vector3f across = corners[1] - corners[0];
  Vector3f up = corners[2] - corners[0];
  up -= across * (Dot(across, up) / SquaredNorm(across));
  mesh.faces.push_back(MakeFace(corners.data(), 3, across, up, cover));
}

Frustum Cuboid(float x0, float x1, float y0, float y1, float bottom, float top) {
  return {x0, x1, y0, y1, bottom, x0, x1, y0, y1, top};
}

void AddFrustum(Mesh& mesh, const Frustum& f, const FrustumCovers& covers) {
  const auto low = [&](float x, float y) { return Vector3f(x, y, f.bottom); };
  const auto high = [&](float x, float y) { return Vector3f(x, y, f.top); };
  AddQuad(mesh, {low(f.x1, f.y0), low(f.x1, f.y1), high(f.top_x1, f.top_y1), high(f.top_x1, f.top_y0)}, covers.front);
  AddQuad(mesh, {low(f.x0, f.y1), low(f.x0, f.y0), high(f.top_x0, f.top_y0), high(f.top_x0, f.top_y1)}, covers.back);
  AddQuad(mesh, {low(f.x1, f.y1), low(f.x0, f.y1), high(f.top_x0, f.top_y1), high(f.top_x1, f.top_y1)}, covers.left);
  AddQuad(mesh, {low(f.x0, f.y0), low(f.x1, f.y0), high(f.top_x1, f.top_y0), high(f.top_x0, f.top_y0)}, covers.right);
  AddQuad(mesh,
          {high(f.top_x0, f.top_y0), high(f.top_x1, f.top_y0), high(f.top_x1, f.top_y1), high(f.top_x0, f.top_y1)},
          covers.roof);
}

void AddBox(Mesh& mesh, const Frustum& box, Material material, float tile, const Tint& tint) {
  const float x = (box.x1 - box.x0) / tile, y = (box.y1 - box.y0) / tile, z = (box.top - box.bottom) / tile;
  const Cover along_y{material, y, z, 0, 0, tint}, along_x{material, x, z, 0, 0, tint};
  AddFrustum(mesh, box, {along_y, along_y, along_x, along_x, {material, x, y, 0, 0, tint}});
}

void AddColumn(Mesh& mesh, float x, float y, float radius, float bottom, float top, Material material,
               const Tint& tint) {
  constexpr int kSides = 6;
  const auto corner = [&](int i, float z) {
    const SineCosine at = SinCos(i * (6.283185307179586 / kSides));
    return Vector3f(x + radius * static_cast<float>(at.cosine), y + radius * static_cast<float>(at.sine), z);
  };
  const float down = (top - bottom) / 2;
  for (int i = 0; i < kSides; ++i) {
    const Cover cover{material, 1.0f / kSides, down, static_cast<float>(i) / kSides, 0, tint};
    AddQuad(mesh, {corner(i, bottom), corner(i + 1, bottom), corner(i + 1, top), corner(i, top)}, cover);
  }
}

void AddBall(Mesh& mesh, const Vector3f& centre, const Vector3f& radii, Material material, const Tint& tint,
             Random& random) {
  // An octahedron, its faces cut in four.
  std::vector<Vector3f> points = {{1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  std::vector<std::array<int, 3>> faces = {{0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4},
                                           {1, 0, 5}, {2, 1, 5}, {3, 2, 5}, {0, 3, 5}};
  std::map<std::pair<int, int>, int> middles;
  const auto middle = [&](int a, int b) {
    const auto [found, made] = middles.try_emplace(std::minmax(a, b), static_cast<int>(points.size()));
    if (made) points.push_back(Normalized(points[static_cast<size_t>(a)] + points[static_cast<size_t>(b)]));
    return found->second;
  };
  std::vector<std::array<int, 3>> finer;
  for (const auto& [a, b, c] : faces) {
    const int ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
    for (const auto& one : {std::array{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}}) finer.push_back(one);
  }
  for (Vector3f& point : points) {
    point = centre + radii.cwiseProduct(point) * static_cast<float>(random.Uniform(0.78, 1.18));
  }
  for (const auto& [a, b, c] : finer) {
    const std::array corners{points[static_cast<size_t>(a)], points[static_cast<size_t>(b)],
                             points[static_cast<size_t>(c)]};
    const float tile = 2.2f, width = Norm(corners[1] - corners[0]) / tile;
    AddTriangle(mesh, corners, {material, width, width, static_cast<float>(random.Uniform()), 0, tint});
  }
}

Face Placed(const Face& face, const SineCosine& angle, const Vector3f& by) {
  const auto cosine = static_cast<float>(angle.cosine), sine = static_cast<float>(angle.sine);
  const auto turn = [&](const Vector3f& v) {
    return Vector3f(cosine * v.x() - sine * v.y(), sine * v.x() + cosine * v.y(), v.z());
  };
  Face placed = face;
  for (Vector3f& corner : placed.corners) corner = turn(corner) + by;
  placed.normal = turn(face.normal);
  placed.u_axis = turn(face.u_axis);
  placed.v_axis = turn(face.v_axis);
  return placed;
}

void AddPlaced(Mesh& mesh, const Mesh& from, const SineCosine& angle, const Vector3f& by) {
  for (const Face& face : from.faces) mesh.faces.push_back(Placed(face, angle, by));
}

}  // namespace wharf::scene
