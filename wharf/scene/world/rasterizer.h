// Which face a ray through each sample of a picture meets first, and how far away.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "wharf/scene/scene.h"
#include "wharf/scene/world/mesh.h"

namespace wharf::scene {

// A camera at one time. Single precision, so positions are taken less the camera's own.
struct View {
  View(const Intrinsics& camera, const Pose& pose);

  Intrinsics camera;
  Eigen::Matrix3f to_camera;
  Eigen::Vector3f position;
};

// What shading needs of a face as this camera sees it. At sample (x, y): 1 / z = inverse_depth.dot(x, y, 1), and
// u = z * u_numerator.dot(x, y, 1) + u, v likewise.
struct Surface {
  Eigen::Vector3f inverse_depth, u_numerator, v_numerator;
  float u = 0, v = 0;
  Material material = Material::kPlaster;
  Tint light = Tint::Ones(), tint = Tint::Ones();
  uint32_t object = 0;  // 0: nothing that moves
};

// Numbers of surfaces with a meaning of their own.
inline constexpr uint32_t kSkySurface = 0, kGroundSurface = 1;

inline constexpr float kFarthest = 380;  // metres ahead; what is wholly beyond is not drawn

class Rasterizer {
 public:
  // The ground is the plane z = 0; beyond `horizon_m` there is sky.
  Rasterizer(const View& view, float horizon_m);

  // Whether anything within a box may show: not if it is out of view, or wholly behind what is drawn already.
  bool MayBeSeen(const Eigen::Vector3f& low, const Eigen::Vector3f& high) const;

  // Clips, projects, and keeps what is nearer than what is there. `tint` is for painted faces.
  void Draw(const Face& face, const Tint& light, const Tint& tint, uint32_t object);
  // Darkens the ground within a convex polygon on it.
  void DrawShadow(const std::vector<Eigen::Vector2f>& corners);

  // Row-major, a value a sample.
  const std::vector<float>& InverseDepths() const { return inverse_depths_; }
  const std::vector<uint32_t>& SurfaceNumbers() const { return numbers_; }
  const std::vector<uint8_t>& Shadows() const { return shadows_; }
  const Surface& At(uint32_t number) const { return surfaces_[number]; }
  const View& Viewed() const { return view_; }

 private:
  // The samples from first to last, exclusive, that each row of a convex polygon covers.
  struct Span {
    double left, right;
  };
  // Polygon in camera coordinates; the rows covered are [top_, bottom_) of spans_. False: none.
  bool Project(const Eigen::Vector3f* corners, int count);
  void AddEdge(double x0, double y0, double x1, double y1);
  bool AllNearer(int left, int top, int right, int bottom, float inverse_depth) const;
  Surface MakeSurface(const Face& face, const Eigen::Vector3f& corner) const;
  void FillFace(const Surface& surface);
  void FillShadow();

  View view_;
  std::vector<float> inverse_depths_;
  std::vector<uint32_t> numbers_;
  std::vector<uint8_t> shadows_;
  std::vector<Surface> surfaces_;
  std::vector<Span> spans_;
  int top_ = 0, bottom_ = 0;
};

}  // namespace wharf::scene
